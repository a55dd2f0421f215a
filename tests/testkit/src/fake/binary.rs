//! Where the fake app-server is.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::codex::target_dir;

/// Names a `fake-app-server` that is built already.
const BINARY_VARIABLE: &str = "APPSERVER_ACP_TEST_FAKE";

/// Builds the fake app-server (nothing to do when it is fresh) and returns the program.
///
/// Cargo hands the programs of a package to the tests of that package only, hence the call of cargo.
///
/// # Errors
/// When cargo is missing, or the build fails.
pub fn binary() -> anyhow::Result<PathBuf> {
    if let Some(path) = env::var_os(BINARY_VARIABLE) {
        return Ok(path.into());
    }
    let target = target_dir()?;
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // With the whole workspace the features, and so the compiled dependencies, are those of the tests.
    let output = Command::new(cargo)
        .args(["build", "--quiet", "--workspace", "--bin", "fake-app-server", "--target-dir"])
        .arg(&target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .context("run cargo to build the fake app-server")?;
    let log = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "build the fake app-server:\n{log}");
    let name = format!("fake-app-server{}", env::consts::EXE_SUFFIX);
    Ok(target.join("debug").join(name))
}
