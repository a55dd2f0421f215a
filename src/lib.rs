//! appserver-acp: an ACP agent that drives a Codex-style app-server.
pub mod core;
pub mod envelope;
pub mod transport;
