//! appserver-acp: an ACP agent that drives a Codex-style app-server.

pub mod acp;
pub mod background;
pub mod bridge;
pub mod child;
pub mod cli;
pub mod cmd;
pub mod codex;
pub mod connect;
pub mod core;
pub mod envelope;
pub mod locate;
pub mod logging;
pub mod map;
pub mod queue;
pub mod redact;
pub mod run;
pub mod stop;
pub mod trace;
pub mod transport;
