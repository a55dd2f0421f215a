//! The `login` subcommand: `codex login`, of the same Codex that the agent runs.
//!
//! A client starts it in a terminal. Reads and writes nothing itself.

use crate::locate::{NotFound, Sought, locate};
use std::ffi::OsString;
use std::io;
use std::process::Command;

/// Exit code if `codex login` was ended by a signal.
const ENDED: u8 = 1;

/// Sign in to Codex with `codex login`, in this terminal; its exit code.
#[derive(Debug, clap::Args)]
pub struct LoginArgs {
    /// Arguments of `codex login`, e.g. `status` or `--device-auth`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

/// `codex login` could not be run.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    #[error(transparent)]
    NotFound(#[from] NotFound),
    #[error("run {codex} login")]
    Run {
        codex: String,
        #[source]
        source: io::Error,
    },
}

/// Runs the subcommand; the exit code. Without a browser the login is by a code, unless `args` say more.
///
/// # Errors
/// If there is no Codex, or it cannot be run.
pub fn run(
    args: &LoginArgs,
    codex: &Sought,
    overrides: &[String],
    no_browser: bool,
) -> Result<u8, LoginError> {
    let path = locate(codex)?;
    let mut command = Command::new(&path);
    command.arg("login").args(overrides.iter().flat_map(|it| ["-c", it])).args(&args.args);
    if no_browser && args.args.is_empty() {
        command.arg("--device-auth");
    }
    let status =
        command.status().map_err(|source| LoginError::Run { codex: path.display().to_string(), source })?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(ENDED))
}
