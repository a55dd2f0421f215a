//! appserver-acp: an ACP agent that drives a Codex-style app-server.
pub mod cmd;
pub mod map;
