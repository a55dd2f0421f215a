//! Under which rules Codex works, beyond the presets of ours.

/// How Codex works together with the user, and with what: a mode brings model and effort along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collaboration {
    pub mode: CollaborationMode,
    pub model: String,
    pub effort: Option<String>,
}

/// Codex's two ways of working.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CollaborationMode {
    /// It does what it is asked.
    #[default]
    Default,
    /// It plans, and changes nothing.
    Plan,
}

/// What holds without a preset, in Codex's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    pub approval: String,
    pub sandbox: String,
}
