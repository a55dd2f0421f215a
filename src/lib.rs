//! appserver-acp: an ACP agent that drives a Codex-style app-server.
pub mod bridge;
pub mod child;
pub mod core;
pub mod envelope;
pub mod locate;
pub mod queue;
pub mod redact;
pub mod stop;
pub mod trace;
pub mod transport;
