//! appserver-acp: an ACP agent that drives a Codex-style app-server.

pub mod acp;
pub mod background;
pub mod cmd;
pub mod codex;
pub mod core;
pub mod envelope;
pub mod map;
