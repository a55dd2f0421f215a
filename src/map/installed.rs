//! The inventory of an installed Codex: runs the binary, which writes its schema to a directory
//! of ours.

use crate::map::error::MapError;
use crate::map::inventory::Inventory;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

impl Inventory {
    /// Ask a Codex binary for its version and its schema. Blocks until it has answered (about a
    /// second); it gets an empty `CODEX_HOME`, so that no configuration of the user is read or written.
    pub fn of_codex(codex: &Path) -> Result<Self, MapError> {
        let scratch = Scratch::create()?;
        let home = scratch.subdir("home")?;
        let schema = scratch.subdir("schema")?;
        let mut version = command(codex, &home);
        let version = run(codex, version.arg("--version"), "--version")?;
        let version = String::from_utf8_lossy(&version.stdout);
        let version = version.split_whitespace().last().unwrap_or_default().to_owned();
        let mut generate = command(codex, &home);
        generate.args(["app-server", "generate-json-schema", "--experimental", "--out"]);
        run(codex, generate.arg(&schema), "app-server generate-json-schema")?;
        let is_empty = schema.read_dir().is_ok_and(|mut files| files.next().is_none());
        if is_empty {
            return Err(MapError::NoSchema { codex: codex.to_path_buf() });
        }
        Self::of_schema(&schema, version)
    }
}

fn command(codex: &Path, home: &Path) -> Command {
    let mut command = Command::new(codex);
    command.env("CODEX_HOME", home).stdin(Stdio::null());
    command
}

fn run(codex: &Path, command: &mut Command, args: &'static str) -> Result<Output, MapError> {
    let codex = codex.to_path_buf();
    let output = match command.output() {
        Ok(output) => output,
        Err(source) => return Err(MapError::Spawn { codex, source }),
    };
    if output.status.success() {
        return Ok(output);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let stderr = stderr.lines().last().unwrap_or("no message").to_owned();
    Err(MapError::Codex { codex, args, status: output.status, stderr })
}

/// A directory of ours that goes away with the value.
struct Scratch(PathBuf);

impl Scratch {
    fn create() -> Result<Self, MapError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("appserver-acp-map-{}-{count}", std::process::id());
        // `create_dir` fails on anything that is already there, a planted link as well.
        make(std::env::temp_dir().join(name)).map(Self)
    }

    fn subdir(&self, name: &str) -> Result<PathBuf, MapError> {
        make(self.0.join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A scratch directory that cannot be removed is left to the system; nobody reads it.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn make(path: PathBuf) -> Result<PathBuf, MapError> {
    match std::fs::create_dir(&path) {
        Ok(()) => Ok(path),
        Err(source) => Err(MapError::File { action: "create", path, source }),
    }
}
