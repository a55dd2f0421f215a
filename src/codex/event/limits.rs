//! Usage limits of the account.

use crate::codex::misfit::{Misfit, decode_json};
use crate::core::codex::Event;
use crate::core::limits::{LimitWindow, RateLimit};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireUpdated {
    rate_limits: WireSnapshot,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSnapshot {
    limit_id: Option<String>,
    limit_name: Option<String>,
    primary: Option<WireWindow>,
    secondary: Option<WireWindow>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireWindow {
    used_percent: f64,
    window_duration_mins: Option<u64>,
    resets_at: Option<i64>,
}

pub(super) fn updated(params: &RawValue) -> Result<Event, Misfit> {
    let WireUpdated { rate_limits } = decode_json(params)?;
    let WireSnapshot { limit_id, limit_name, primary, secondary } = rate_limits;
    Ok(Event::RateLimit(RateLimit {
        id: limit_id.unwrap_or_default(),
        name: limit_name,
        windows: [primary, secondary].into_iter().map(|it| it.map(window)).collect(),
    }))
}

fn window(wire: WireWindow) -> LimitWindow {
    let resets_at = wire.resets_at.and_then(|at| jiff::Timestamp::from_second(at).ok());
    LimitWindow {
        // A float becomes the nearest `u32` and never wraps; NaN becomes 0.
        used_percent: wire.used_percent.floor() as u32,
        minutes: wire.window_duration_mins,
        resets_at: resets_at.map(|at| at.to_string()),
    }
}
