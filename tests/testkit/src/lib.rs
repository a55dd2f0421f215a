//! Test equipment shared by the tests, the demo and the benches.

pub mod belief;
pub mod codex;
pub mod fake;
pub mod home;
pub mod issuer;
pub mod model;
pub mod processes;
#[cfg(unix)]
pub mod program;
pub mod wire;

/// How long a wait of this crate lasts before it gives up with an error.
///
/// Generous on purpose: it is only ever reached when something is broken, also on a loaded machine.
pub const PATIENCE: std::time::Duration = std::time::Duration::from_secs(120);
