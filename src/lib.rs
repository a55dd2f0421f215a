//! appserver-acp: an ACP agent that drives a Codex-style app-server.
pub mod codex;
pub mod core;
pub mod envelope;
