//! appserver-acp: an ACP agent that drives a Codex-style app-server.
pub mod acp;
pub mod core;
pub mod envelope;
