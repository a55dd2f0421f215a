//! One usage limit of the account on Codex's wire: the same when asked for and when it changes.

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireLimit {
    pub(crate) limit_id: Option<String>,
    pub(crate) limit_name: Option<String>,
    pub(crate) primary: Option<WireWindow>,
    pub(crate) secondary: Option<WireWindow>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireWindow {
    pub(crate) used_percent: f64,
    pub(crate) window_duration_mins: Option<u64>,
    /// Seconds since the epoch.
    pub(crate) resets_at: Option<i64>,
}
