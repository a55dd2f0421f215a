//! The command line and the environment: the only place that reads either.

mod config;
#[cfg(test)]
mod tests;

use crate::cmd::{doctor, explain, map, replay};
use crate::core::codex::Preset;
use crate::core::settings::Settings;
use crate::locate::Sought;
use crate::logging;
use crate::run::{self, Options};
use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Without a command, appserver-acp is an ACP agent: a client starts it and talks to it over stdin and
stdout, one JSON message per line.

Zed, in settings.json:
  \"agent_servers\": { \"Codex\": { \"type\": \"custom\", \"command\": \"appserver-acp\", \"args\": [] } }

acpx:
  acpx --agent appserver-acp exec \"what does this project do?\"

Is this machine ready?
  appserver-acp doctor

Report a problem with what was said on both sides (secrets are taken out; look before you share):
  appserver-acp --trace /tmp/acp.jsonl
  appserver-acp explain /tmp/acp.jsonl

Environment:
  CODEX_PATH           the codex program, like --codex
  CODEX_HOME           codex's own home; passed on, as is CODEX_API_KEY and OPENAI_API_KEY
  CODEX_CONFIG         a JSON object of codex settings, like several -c
  MODEL_PROVIDER       like -c model_provider=...
  INITIAL_AGENT_MODE   read-only, auto or full-access for new sessions
  APPSERVER_ACP_TRACE  like --trace
  RUST_LOG             a log filter, instead of -v";

/// An ACP agent that drives Codex, and keeps account of work that outlives the turn.
#[derive(Debug, Parser)]
#[command(name = "appserver-acp", version, after_long_help = EXAMPLES)]
pub struct Cli {
    #[command(flatten)]
    agent: AgentArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Args)]
struct AgentArgs {
    /// The codex program: a path, or a name to look up on PATH
    #[arg(long, value_name = "PATH", env = "CODEX_PATH", global = true)]
    codex: Option<PathBuf>,
    /// A codex setting; may be given several times
    #[arg(short = 'c', long = "config", value_name = "KEY=VALUE", global = true)]
    config: Vec<String>,
    /// Write every message of both sides to this file, without secrets
    #[arg(long, value_name = "FILE", env = "APPSERVER_ACP_TRACE")]
    trace: Option<PathBuf>,
    /// Log more to stderr: -v what happens, -vv why, -vvv everything
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    verbose: u8,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Tell a trace as a story: codex on the left, the client on the right
    Explain(explain::ExplainArgs),
    /// Run a trace again and report every difference
    Replay(replay::ReplayArgs),
    /// Show what becomes of every message of both protocols
    Map(map::MapArgs),
    /// Say whether this machine is ready, and how to set up a client
    Doctor,
}

/// What the environment says, read once.
#[derive(Clone, Debug, Default)]
struct Environment {
    path: Option<OsString>,
    extensions: Option<OsString>,
    codex_config: Option<String>,
    model_provider: Option<String>,
    initial_agent_mode: Option<String>,
}

/// Runs the program.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let logging = logging::start(cli.agent.verbose);
    let outcome = cli.run(&Environment::read());
    match &outcome {
        Err(error) if is_cut_short(error.as_ref()) => return ExitCode::SUCCESS,
        Err(error) => say(&format!("appserver-acp: {error:#}")),
        Ok(_) => {}
    }
    drop(logging);
    outcome.map_or(ExitCode::from(2), ExitCode::from)
}

/// `appserver-acp map | head` is no failure.
fn is_cut_short(error: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(error), |error| error.source())
        .filter_map(|error| error.downcast_ref::<std::io::Error>())
        .any(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

impl Cli {
    fn run(self, environment: &Environment) -> anyhow::Result<u8> {
        let stdout = &mut std::io::stdout();
        match &self.command {
            None => self.agent.serve(environment),
            Some(Command::Explain(args)) => Ok(explain::run(args, stdout)?),
            Some(Command::Replay(args)) => Ok(replay::run(args, stdout)?),
            Some(Command::Map(args)) => {
                let outcome = map::run(args, stdout);
                let code = map::exit_code(&outcome);
                match outcome {
                    Err(error) if is_cut_short(&error) => return Ok(0),
                    Err(error) => say(&format!("appserver-acp: {error}")),
                    Ok(_) => {}
                }
                Ok(code)
            }
            Some(Command::Doctor) => {
                let options = self.agent.options(environment)?;
                Ok(doctor::run(&options.codex, &options.overrides, stdout)?)
            }
        }
    }
}

impl AgentArgs {
    fn serve(&self, environment: &Environment) -> anyhow::Result<u8> {
        if std::io::stdin().is_terminal() {
            say(
                "appserver-acp is an ACP agent and waits for JSON-RPC on stdin; a client such as Zed starts it, see --help",
            );
        }
        let code = run::run(self.options(environment)?)?;
        Ok(u8::try_from(code).unwrap_or(u8::MAX))
    }

    fn options(&self, environment: &Environment) -> anyhow::Result<Options> {
        let mut overrides = Vec::new();
        if let Some(json) = environment.codex_config.as_deref() {
            overrides.extend(config::overrides(json).context("read CODEX_CONFIG")?);
        }
        if let Some(provider) = &environment.model_provider {
            overrides.push(config::setting("model_provider", provider));
        }
        overrides.extend(self.config.iter().cloned());
        let preset = environment.initial_agent_mode.as_deref().and_then(|mode| {
            let preset = Preset::named(mode);
            if preset.is_none() {
                tracing::warn!(mode, "INITIAL_AGENT_MODE is none of read-only, auto, full-access");
            }
            preset
        });
        Ok(Options {
            codex: Sought {
                named: self.codex.clone(),
                path: environment.path.clone(),
                extensions: environment.extensions.clone(),
            },
            overrides,
            trace: self.trace.clone(),
            settings: Settings { nonce: run::nonce(), preset },
        })
    }
}

impl Environment {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that may read it")]
    fn read() -> Self {
        // An empty variable is how a client's settings spell "not set".
        let text = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            path: std::env::var_os("PATH"),
            extensions: std::env::var_os("PATHEXT"),
            codex_config: text("CODEX_CONFIG"),
            model_provider: text("MODEL_PROVIDER"),
            initial_agent_mode: text("INITIAL_AGENT_MODE"),
        }
    }
}

fn say(message: &str) {
    // A stderr that is closed cannot be complained about.
    let _ = writeln!(std::io::stderr(), "{message}");
}
