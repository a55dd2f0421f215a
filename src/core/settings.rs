//! What the core is told once, at the start.

use super::codex::Preset;
use super::sign_in::Means;
use crate::stop::plan::GRACE;

/// Settings of one run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Makes our prompt keys unique among all runs; ASCII without spaces.
    pub nonce: String,
    /// `INITIAL_AGENT_MODE`: the preset of new sessions; `None` keeps Codex's configuration.
    pub preset: Option<Preset>,
    /// Milliseconds that a stopped command has to end by itself before it is killed (D5). A close
    /// has a bound of its own and gives less where this is more.
    pub stop_grace: u64,
    /// What the environment gives us to sign in with.
    pub sign_in: Means,
    /// Where the app-server listens that we connect to; `None`: one of our own is started.
    pub connect: Option<String>,
}

impl Settings {
    /// Everything as it is without options; `nonce` as above.
    pub fn plain(nonce: impl Into<String>) -> Self {
        let (nonce, sign_in) = (nonce.into(), Means::default());
        Self { nonce, preset: None, stop_grace: GRACE, sign_in, connect: None }
    }
}
