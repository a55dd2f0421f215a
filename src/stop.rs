//! Ending processes that Codex left behind.

pub(crate) mod plan;
pub mod signal;
pub mod sweep;
pub mod tree;
