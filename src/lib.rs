//! appserver-acp: an ACP agent that drives a Codex-style app-server.

pub mod background;
pub mod cmd;
pub mod core;
pub mod envelope;
pub mod map;
