//! The adapter of today, fetched from npm once per target directory.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::Contender;

const PACKAGE: &str = include_str!("package.json");
const LOCK: &str = include_str!("package-lock.json");

/// Installs `@agentclientprotocol/codex-acp` without its own Codex: all contenders run the same one.
pub(crate) fn codex_acp() -> anyhow::Result<Contender> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().context("the target directory")?;
    let dir = target.join("bench");
    let script = dir.join("node_modules/@agentclientprotocol/codex-acp/dist/index.js");
    let lock = dir.join("package-lock.json");
    // An unreadable lock means the same as another one: fetch.
    if !script.is_file() || fs::read_to_string(&lock).ok().as_deref() != Some(LOCK) {
        fs::create_dir_all(&dir)?;
        fs::write(dir.join("package.json"), PACKAGE)?;
        fs::write(&lock, LOCK)?;
        let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
        let output = Command::new(npm)
            .args(["ci", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund"])
            .current_dir(&dir)
            .stdin(Stdio::null())
            .output()
            .context("run npm: the comparison needs Node.js 20 or later")?;
        ensure!(output.status.success(), "npm ci failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    let command = vec!["node".to_owned(), script.display().to_string()];
    Ok(Contender { name: "codex-acp 2.6.0".to_owned(), command })
}
