//! The pinned real Codex, fetched once per target directory.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

const PACKAGE: &str = include_str!("../package.json");
const LOCK: &str = include_str!("../package-lock.json");

/// Names a Codex binary to use instead of the pinned one.
pub const BINARY_VARIABLE: &str = "APPSERVER_ACP_TEST_CODEX";

static VERSION: LazyLock<String> = LazyLock::new(|| {
    let package: Value = serde_json::from_str(PACKAGE).expect("package.json of this crate is JSON");
    let version = package["dependencies"]["@openai/codex"].as_str();
    version.expect("package.json of this crate pins codex").to_owned()
});

/// The Codex version that the tests are written against; `package.json` is the one place that says it.
#[must_use]
pub fn pinned_version() -> &'static str {
    &VERSION
}

/// A Codex binary on this machine.
#[derive(Clone, Debug)]
pub struct Codex {
    binary: PathBuf,
}

/// Finds the Codex to test with: the one named by [`BINARY_VARIABLE`], else the pinned one from npm.
///
/// Blocks while npm runs (some 10 s, once per target directory); other processes wait for it.
///
/// # Errors
/// When the named binary is missing, or npm is, or the download fails.
pub fn install() -> anyhow::Result<Codex> {
    let binary = match env::var_os(BINARY_VARIABLE) {
        Some(path) => PathBuf::from(path),
        None => native_binary(&node_modules()?)?,
    };
    ensure!(binary.is_file(), "no codex binary at {}", binary.display());
    Ok(Codex { binary })
}

impl Codex {
    /// The native binary, not the script that npm puts in front of it.
    #[must_use]
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// The `node_modules` directory that holds the ACP TypeScript SDK, for clients run by node.
    ///
    /// # Errors
    /// As [`install`].
    pub fn sdk_dir(&self) -> anyhow::Result<PathBuf> {
        node_modules()
    }
}

/// The `node_modules` directory with what `package.json` of this crate pins, fetched when missing.
///
/// # Errors
/// When npm is missing, or the download fails.
pub fn node_modules() -> anyhow::Result<PathBuf> {
    let dir = target_dir()?.join("testkit");
    fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
    let guard = File::create(dir.join("lock")).context("create the lock of the npm directory")?;
    guard.lock().context("lock the npm directory")?;

    let stamp = dir.join("complete");
    let wanted = format!("{PACKAGE}{LOCK}");
    // An unreadable stamp means the same as none: fetch.
    if fs::read_to_string(&stamp).ok().as_deref() != Some(&*wanted) {
        fs::write(dir.join("package.json"), PACKAGE)?;
        fs::write(dir.join("package-lock.json"), LOCK)?;
        npm_ci(&dir)?;
        fs::write(&stamp, wanted)?;
    }
    Ok(dir.join("node_modules"))
}

#[expect(clippy::print_stderr, reason = "the user sees why the first test takes long")]
fn npm_ci(dir: &Path) -> anyhow::Result<()> {
    eprintln!("testkit: fetching codex {} into {} (once)", pinned_version(), dir.display());
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let output = Command::new(npm)
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(dir)
        .stdin(Stdio::null())
        .output()
        .with_context(|| {
            format!(
                "run npm: install Node.js 20 or later with npm, or set {BINARY_VARIABLE} to a codex binary"
            )
        })?;
    let log = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "npm ci in {} ended with {}:\n{log}", dir.display(), output.status);
    Ok(())
}

/// The binary inside the package of this platform: `@openai/codex-<platform>/vendor/<triple>/bin/codex`.
fn native_binary(node_modules: &Path) -> anyhow::Result<PathBuf> {
    let scope = node_modules.join("@openai");
    let name = OsString::from(format!("codex{}", env::consts::EXE_SUFFIX));
    for package in subdirectories(&scope)? {
        let vendor = package.join("vendor");
        if !vendor.is_dir() {
            continue;
        }
        for triple in subdirectories(&vendor)? {
            let binary = triple.join("bin").join(&name);
            if binary.is_file() {
                return Ok(binary);
            }
        }
    }
    bail!(
        "codex {} has no binary for this platform in {}; set {BINARY_VARIABLE} to one",
        pinned_version(),
        scope.display()
    )
}

fn subdirectories(dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(dir).with_context(|| format!("list {}", dir.display()))?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

/// The target directory that this program was built into; cargo marks it by a tag file.
pub(crate) fn target_dir() -> anyhow::Result<PathBuf> {
    let program = env::current_exe().context("find the running program")?;
    let tagged = program.ancestors().find(|dir| dir.join("CACHEDIR.TAG").is_file());
    match tagged {
        Some(dir) => Ok(dir.to_owned()),
        None => Ok(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target")),
    }
}
