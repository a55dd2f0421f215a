//! Finds or makes what the demo needs: node, the real Codex, the adapter.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use testkit::codex;

use super::progress;

/// How long a program may take to say its version.
const SHORT: Duration = Duration::from_secs(60);

/// The version of node, which runs the commands of the story.
pub(crate) async fn node() -> anyhow::Result<String> {
    let said = version("node".as_ref()).await;
    said.context("run node: the commands of the demo need Node.js on PATH")
}

/// The Codex to use: the one that is named, else the pinned one, found in the build folder or fetched.
pub(crate) async fn codex(named: Option<PathBuf>) -> anyhow::Result<(PathBuf, String)> {
    let binary = match named {
        Some(path) => path,
        None => {
            let what = format!("finding Codex {}, or fetching it from npm", codex::pinned_version());
            let install = progress::blocking(&what, codex::install).await;
            let found = install.context("find Codex; with --codex PATH the demo uses one that you have")?;
            found.binary().to_owned()
        }
    };
    let said = version(&binary).await.with_context(|| format!("run {}", binary.display()))?;
    let version = said.rsplit(' ').next().unwrap_or_default().to_owned();
    Ok((binary, version))
}

/// The adapter of this build: cargo says whether it is there and fresh, and makes it otherwise.
pub(crate) async fn adapter() -> anyhow::Result<PathBuf> {
    let place = Place::of(&env::current_exe().context("find the running program")?)?;
    let binary = place.dir.join(format!("appserver-acp{}", env::consts::EXE_SUFFIX));
    let mut build = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // With the example beside it the dependencies are those that are built already: the same features.
    build.args(["build", "--quiet", "--bin", "appserver-acp", "--example", "demo"]).args(&place.flags);
    build.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
    let made = progress::blocking("building the adapter (cargo build)", move || {
        build.output().context("run cargo: with --adapter PATH the demo uses an adapter that you have")
    });
    let made = made.await?;
    ensure!(made.status.success(), "cargo could not build:\n{}", String::from_utf8_lossy(&made.stderr));
    ensure!(binary.is_file(), "cargo built no {}", binary.display());
    Ok(binary)
}

/// Where cargo put this build, and the flags that put another one beside it.
struct Place {
    dir: PathBuf,
    flags: Vec<OsString>,
}

impl Place {
    /// From `<target>[/<triple>]/<profile>/examples/demo`.
    fn of(program: &Path) -> anyhow::Result<Self> {
        let dir = program
            .ancestors()
            .nth(2)
            .filter(|_| program.parent().is_some_and(|it| it.ends_with("examples")));
        // Cargo tags the folder only if it made it; its own notes are always there.
        let is_target =
            |it: &&Path| it.join(".rustc_info.json").is_file() || it.join("CACHEDIR.TAG").is_file();
        let target = program.ancestors().find(is_target);
        let (Some(dir), Some(target)) = (dir, target) else {
            bail!("{} is in no build folder of cargo; name an adapter by --adapter PATH", program.display())
        };
        let between: Vec<_> = dir.strip_prefix(target)?.iter().collect();
        let mut flags = vec!["--target-dir".into(), target.into()];
        let profile = match *between {
            [profile] => profile,
            [triple, profile] => {
                flags.extend(["--target".into(), triple.to_owned()]);
                profile
            }
            _ => bail!("{} is in an unknown layout of a build folder", program.display()),
        };
        let profile = if profile == "debug" { "dev".as_ref() } else { profile };
        flags.extend(["--profile".into(), profile.to_owned()]);
        Ok(Self { dir: dir.to_owned(), flags })
    }
}

/// What `program --version` says.
async fn version(program: &Path) -> anyhow::Result<String> {
    let mut command = tokio::process::Command::new(program);
    command.arg("--version").stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(SHORT, command.output()).await;
    let output = output.context("no answer in time")??;
    ensure!(output.status.success(), "it ended with {}", output.status);
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.trim().to_owned())
}
