//! The test equipment itself, tested.

mod app_server;
mod fake;
#[cfg(unix)]
mod processes;
mod real_codex;
