//! The demo: what becomes of a dev server that an agent started, when its turn ends.
//!
//! Plays the editor. Codex is the real one, the model is scripted, and every claim is checked.

mod belief;
mod claim;
mod client;
mod event;
mod progress;
mod project;
mod screen;
mod setup;
mod stage;
mod story;
mod wire;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::anyhow;
use clap::Parser;

use claim::{Claim, Proofs};
use screen::{Detail, Screen};
use stage::{Left, Programs, Stage};
use story::{Pace, Story};
use wire::Version;

/// Shows, in about 20 s, what becomes of a dev server that a coding agent started.
///
/// The demo plays the editor: it starts the adapter, which starts the real Codex. The model is a script on
/// this machine, so that no account is needed. The dev server is started, the turn ends, the server goes on in
/// the list of background work with its output, is stopped alone, and the list empties. Every step is checked:
/// the exit code is 0 only if all of it was proved.
///
/// Codex is found in the build folder, or fetched from npm into it, once.
#[derive(Debug, Parser)]
#[command(name = "demo")]
struct Args {
    /// Play an editor that speaks ACP version 1: live terminals, no list
    #[arg(long)]
    v1: bool,
    /// Show every JSON message as well
    #[arg(long, visible_alias = "json")]
    raw: bool,
    /// No pauses for a person who watches
    #[arg(long)]
    quick: bool,
    /// A Codex that is there already
    #[arg(long, value_name = "PATH")]
    codex: Option<PathBuf>,
    /// An adapter that is there already, instead of the one of this source
    #[arg(long, value_name = "PATH")]
    adapter: Option<PathBuf>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let args = Args::parse();
    let mut screen = Screen::new(args.detail());
    screen.title("A coding agent starts a dev server. Its turn ends. What becomes of the server?");
    match prepare(&args, &mut screen).await {
        Ok(programs) => show(&args, &programs, screen).await,
        Err(error) => {
            screen.failed(&format!("The demo cannot start: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Finds the programs, and says what the person is about to see.
async fn prepare(args: &Args, screen: &mut Screen) -> anyhow::Result<Programs> {
    let node = setup::node().await?;
    let (codex, version) = setup::codex(args.codex.clone()).await?;
    let adapter = match &args.adapter {
        Some(path) => path.clone(),
        None => setup::adapter().await?,
    };
    screen.fact(
        "editor",
        format_args!(
            "this demo; it speaks version {} of ACP, the Agent Client Protocol",
            args.version().number()
        ),
    );
    let here = std::env::current_dir().unwrap_or_default();
    screen.fact("adapter", adapter.strip_prefix(here).unwrap_or(&adapter).display());
    let pinned = testkit::codex::pinned_version();
    let remark =
        if version == pinned { String::new() } else { format!(" (the demo is written for {pinned})") };
    screen.fact("Codex", format_args!("{version}, the real one{remark}"));
    screen.fact("model", "scripted, on this machine: no account, no network");
    screen.fact("commands", format_args!("node {node}, in an empty project"));
    Ok(Programs { adapter, codex })
}

/// Plays the story, then looks for what it left behind, whatever came of it.
async fn show(args: &Args, programs: &Programs, mut screen: Screen) -> ExitCode {
    let mut stage = match Stage::set(programs, args.version(), args.detail()).await {
        Ok(stage) => stage,
        Err(error) => {
            screen.failed(&format!("The demo cannot start: {error:#}"));
            return ExitCode::FAILURE;
        }
    };
    let pace = if args.quick { Pace::QUICK } else { Pace::FOR_A_PERSON };
    let mut proofs = Proofs::new();
    let told = tokio::select! {
        told = Story::new(&mut stage, &mut proofs, pace).tell() => told,
        _ = tokio::signal::ctrl_c() => Err(anyhow!("interrupted")),
    };
    let told = told.map_err(|error| (proofs.at, error));
    let session = std::mem::take(&mut stage.session);
    let mut left = stage.leave().await;
    let gone = story::nothing_left(&mut left, &session, &mut proofs).await;
    let failures: Vec<_> =
        told.err().into_iter().chain(gone.err().map(|error| (Claim::NothingLeft, error))).collect();
    conclude(&proofs, &failures, left)
}

/// Says what was proved and what was not.
fn conclude(proofs: &Proofs, failures: &[(Claim, anyhow::Error)], left: Left) -> ExitCode {
    let mut screen = left.screen;
    let seconds = screen.seconds();
    screen.title("What was proved");
    for (claim, seen) in proofs.each() {
        screen.proved(claim, seen);
    }
    for (claim, error) in failures {
        screen.failed(&format!("NOT proved: {claim}: {error:#}"));
    }
    if failures.is_empty() {
        screen.closing(&proofs.in_short(seconds));
        ExitCode::SUCCESS
    } else {
        screen.hint("With --raw the demo shows every message as well.");
        ExitCode::FAILURE
    }
}

impl Args {
    fn version(&self) -> Version {
        if self.v1 { Version::V1 } else { Version::V2 }
    }

    fn detail(&self) -> Detail {
        if self.raw { Detail::Raw } else { Detail::Story }
    }
}
