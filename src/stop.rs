//! Ending processes that Codex left behind.

pub mod signal;
pub mod sweep;
pub mod tree;
