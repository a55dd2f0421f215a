//! What the core is told once, at the start.

use super::codex::Preset;

/// Settings of one run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Makes our prompt keys unique among all runs; ASCII without spaces.
    pub nonce: String,
    /// `INITIAL_AGENT_MODE`: the preset of new sessions; `None` keeps Codex's configuration.
    pub preset: Option<Preset>,
}
