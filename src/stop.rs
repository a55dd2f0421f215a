//! Ending processes: those of a command, and those that Codex left behind.

mod place;
pub(crate) mod plan;
mod pulse;
mod pursuit;
pub mod reach;
pub mod signal;
pub mod survey;
pub mod sweep;
pub mod tree;
pub mod watch;
mod watched;
