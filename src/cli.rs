//! The command line and the environment: the only place that reads either.

mod config;
#[cfg(test)]
mod tests;

use crate::cmd::doctor::setup::{Setup, absolute};
use crate::cmd::{doctor, explain, login, map, replay};
use crate::connect::Target;
use crate::connect::address::{Address, NotAnAddress};
use crate::core::codex::Preset;
use crate::core::settings::Settings;
use crate::core::sign_in::{Means, Program, Secret};
use crate::locate::Sought;
use crate::logging;
use crate::run::{self, Options, RunError};
use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// More would look like a stop that does not work, in seconds.
const STOP_GRACE_MAX: f64 = 60.0;

const EXAMPLES: &str = "\
Without a command, appserver-acp is an ACP agent: a client starts it and talks to it over stdin and
stdout, one JSON message per line.

Zed, in settings.json:
  \"agent_servers\": { \"Codex\": { \"type\": \"custom\", \"command\": \"appserver-acp\", \"args\": [] } }

acpx, in a session that stays:
  acpx --agent appserver-acp sessions new
  acpx --agent appserver-acp prompt \"start the dev server and leave it running\"
acpx, for one answer; exec hangs up after it, and what still runs is ended:
  acpx --agent appserver-acp exec \"what does this project do?\"

Is this machine ready?
  appserver-acp doctor

Report a problem with what was said on both sides (secrets are taken out; look before you share):
  appserver-acp --trace /tmp/acp.jsonl
  appserver-acp explain /tmp/acp.jsonl

Environment:
  CODEX_PATH           the codex program, like --codex
  CODEX_HOME           codex's own home; passed on
  CODEX_API_KEY        an API key, given to codex where nobody is signed in
  OPENAI_API_KEY       an API key, given to codex where the client chooses that method
  NO_BROWSER           sign in with a code, not with a page on this machine
  BROWSER              the program that opens a page, for a client that shows none
  CODEX_CONFIG         a JSON object of codex settings, like several -c
  MODEL_PROVIDER       like -c model_provider=...
  INITIAL_AGENT_MODE   read-only, auto or full-access for new sessions
  APPSERVER_ACP_STOP_GRACE  like --stop-grace
  APPSERVER_ACP_TRACE  like --trace
  APPSERVER_ACP_CONNECT  like --connect
  APPSERVER_ACP_CONNECT_TOKEN  the token that such an app-server wants (its --ws-auth)
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

// The variables are read in `Environment`: clap takes an empty one for a value.
#[derive(Debug, Args)]
struct AgentArgs {
    #[command(flatten)]
    codex: CodexArgs,
    /// Write every message of both sides to this file, without secrets [env: APPSERVER_ACP_TRACE]
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Seconds that a command being stopped has to end by itself before it is killed; at most 2 when
    /// its session closes [default: 3] [env: APPSERVER_ACP_STOP_GRACE]
    #[arg(long, value_name = "SECONDS", value_parser = stop_grace)]
    stop_grace: Option<u64>,
    /// Log more to stderr: -v what happens, -vv why, -vvv everything
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    verbose: u8,
}

#[derive(Debug, Args)]
struct CodexArgs {
    /// The codex program: a path, or a name to look up on PATH [env: CODEX_PATH]
    #[arg(long, value_name = "PATH")]
    codex: Option<PathBuf>,
    /// Use an app-server that already runs: unix:PATH or ws://127.0.0.1:PORT. Its settings hold, not
    /// those of -c; what it runs outlives us [env: APPSERVER_ACP_CONNECT]
    #[arg(long, value_name = "ADDRESS")]
    connect: Option<Address>,
    /// A codex setting; may be given several times
    #[arg(short = 'c', long = "config", value_name = "KEY=VALUE")]
    config: Vec<String>,
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
    Doctor(CodexArgs),
    /// Sign in: `codex login` of the codex that the agent runs
    Login(login::LoginArgs),
}

/// What the environment says, read once.
#[derive(Clone, Debug, Default)]
struct Environment {
    path: Option<OsString>,
    extensions: Option<OsString>,
    codex: Option<PathBuf>,
    codex_home: Option<PathBuf>,
    trace: Option<PathBuf>,
    codex_config: Option<String>,
    model_provider: Option<String>,
    initial_agent_mode: Option<String>,
    stop_grace: Option<String>,
    no_browser: bool,
    browser: Option<String>,
    has_display: bool,
    codex_key: Option<Secret>,
    openai_key: Option<Secret>,
    connect: Option<String>,
    connect_token: Option<Secret>,
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
    fn run(mut self, environment: &Environment) -> anyhow::Result<u8> {
        let stdout = &mut std::io::stdout();
        match self.command {
            None => self.agent.serve(environment),
            Some(Command::Explain(args)) => Ok(explain::run(&args, stdout)?),
            Some(Command::Replay(args)) => Ok(replay::run(&args, stdout)?),
            Some(Command::Map(args)) => {
                let outcome = map::run(&args, &self.agent.codex.sought(environment), stdout);
                let code = map::exit_code(&outcome);
                match outcome {
                    Err(error) if is_cut_short(&error) => return Ok(0),
                    Err(error) => say(&format!("appserver-acp: {:#}", anyhow::Error::new(error))),
                    Ok(map::Outcome::NoRow) => say("appserver-acp: no row has all of these words"),
                    Ok(map::Outcome::Same | map::Outcome::Different) => {}
                }
                Ok(code)
            }
            Some(Command::Login(args)) => {
                let options = self.agent.options(environment)?;
                Ok(login::run(&args, &options.codex, &options.overrides, environment.no_browser)?)
            }
            Some(Command::Doctor(args)) => {
                self.agent.codex.extend(args);
                let options = self.agent.options(environment)?;
                let setup = self.agent.codex.setup(environment);
                Ok(doctor::run(&options.codex, &options.overrides, options.connect.as_ref(), &setup, stdout)?)
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
        let options = self.options(environment)?;
        let trace = options.trace.clone().unwrap_or_default();
        let code = run::run(options).map_err(|error| match error {
            RunError::Trace(_) => anyhow::Error::new(error).context(format!(
                "trace to {}; name a file that can be written with --trace or APPSERVER_ACP_TRACE, or set neither",
                trace.display()
            )),
            RunError::Runtime(_) | RunError::NoInput => error.into(),
        })?;
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
        overrides.extend(self.codex.config.iter().cloned());
        let preset = environment.initial_agent_mode.as_deref().and_then(|mode| {
            let preset = Preset::named(mode);
            if preset.is_none() {
                tracing::warn!(mode, "INITIAL_AGENT_MODE is none of read-only, auto, full-access");
            }
            preset
        });
        let plain = Settings::plain(run::nonce());
        let grace = match (self.stop_grace, &environment.stop_grace) {
            (Some(grace), _) => grace,
            (None, Some(text)) => stop_grace(text)
                .map_err(|why| anyhow::anyhow!("{why}, not {text:?}"))
                .context("read APPSERVER_ACP_STOP_GRACE")?,
            (None, None) => plain.stop_grace,
        };
        let connect = self.codex.target(environment).context("read APPSERVER_ACP_CONNECT")?;
        if connect.is_some() && !overrides.is_empty() {
            tracing::warn!(
                "-c, CODEX_CONFIG and MODEL_PROVIDER have no effect on an app-server that runs already"
            );
        }
        let sign_in = self.codex.means(environment);
        let address = connect.as_ref().map(|it| it.address.to_string());
        Ok(Options {
            codex: self.codex.sought(environment),
            overrides,
            browser: environment.browser(),
            connect,
            trace: self.trace.clone().or_else(|| environment.trace.clone()),
            settings: Settings { preset, stop_grace: grace, sign_in, connect: address, ..plain },
        })
    }
}

impl CodexArgs {
    /// Adds what was said after the subcommand, which comes later and so wins.
    fn extend(&mut self, later: Self) {
        self.codex = later.codex.or(self.codex.take());
        self.connect = later.connect.or(self.connect.take());
        self.config.extend(later.config);
    }

    fn sought(&self, environment: &Environment) -> Sought {
        Sought {
            named: self.codex.clone().or_else(|| environment.codex.clone()),
            path: environment.path.clone(),
            extensions: environment.extensions.clone(),
        }
    }

    /// The app-server that runs already, if one is named.
    fn target(&self, environment: &Environment) -> Result<Option<Target>, NotAnAddress> {
        let named = environment.connect.as_deref().filter(|_| self.connect.is_none());
        let address = named.map(str::parse).transpose()?.or(self.connect.clone());
        Ok(address.map(|address| Target { address, token: environment.connect_token.clone() }))
    }

    /// What there is to sign in with.
    fn means(&self, environment: &Environment) -> Means {
        let codex = self.codex.as_ref().or(environment.codex.as_ref());
        let codex = codex.map(|it| ("CODEX_PATH".to_owned(), program(it)));
        let home = environment.codex_home.as_ref().map(|it| ("CODEX_HOME".to_owned(), absolute(it)));
        let us = std::env::current_exe().ok();
        Means {
            no_browser: environment.no_browser,
            opens_pages: environment.opens_pages(),
            codex_key: environment.codex_key.clone(),
            openai_key: environment.openai_key.clone(),
            program: us.map(|us| Program {
                path: us.display().to_string(),
                env: codex.into_iter().chain(home).collect(),
            }),
        }
    }

    /// What a client has to give us, so that we find there what we find here.
    fn setup(&self, environment: &Environment) -> Setup {
        let home = environment.codex_home.as_ref().map(|it| ("CODEX_HOME", absolute(it)));
        let provider = environment.model_provider.clone().map(|it| ("MODEL_PROVIDER", it));
        Setup {
            config: self.config.clone(),
            env: home.into_iter().chain(provider).collect(),
            has_codex_config: environment.codex_config.is_some(),
            has_codex_key: environment.codex_key.is_some(),
            connect: self.connect.as_ref().map(Address::to_string).or_else(|| environment.connect.clone()),
            has_connect_token: environment.connect_token.is_some(),
        }
    }
}

impl Environment {
    /// Whether a page would be seen: macOS and Windows have a desktop, others may have none.
    fn opens_pages(&self) -> bool {
        let has_desktop = cfg!(any(target_os = "macos", windows)) || self.has_display;
        !self.no_browser && (has_desktop || self.browser.is_some())
    }

    /// The program that `BROWSER` names. Unix has a list there; one with arguments is left to the desktop.
    fn browser(&self) -> Option<String> {
        let separator = if cfg!(windows) { ';' } else { ':' };
        let mut programs = self.browser.as_deref()?.split(separator);
        programs.find(|it| !it.is_empty() && !it.contains('%')).map(str::to_owned)
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one place that may read it")]
    fn read() -> Self {
        // An empty variable is how a client's settings spell "not set".
        let text = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let file = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self {
            path: std::env::var_os("PATH"),
            extensions: std::env::var_os("PATHEXT"),
            codex: file("CODEX_PATH"),
            codex_home: file("CODEX_HOME"),
            trace: file("APPSERVER_ACP_TRACE"),
            codex_config: text("CODEX_CONFIG"),
            model_provider: text("MODEL_PROVIDER"),
            initial_agent_mode: text("INITIAL_AGENT_MODE"),
            stop_grace: text("APPSERVER_ACP_STOP_GRACE"),
            no_browser: text("NO_BROWSER").is_some(),
            browser: text("BROWSER"),
            has_display: ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"]
                .iter()
                .any(|it| text(it).is_some()),
            codex_key: text("CODEX_API_KEY").map(Secret::new),
            openai_key: text("OPENAI_API_KEY").map(Secret::new),
            connect: text("APPSERVER_ACP_CONNECT"),
            connect_token: text("APPSERVER_ACP_CONNECT_TOKEN").map(Secret::new),
        }
    }
}

/// A program as it is found from another directory; a bare name is looked up on PATH there too.
fn program(codex: &Path) -> String {
    match codex.components().count() {
        0 | 1 => codex.display().to_string(),
        _ => absolute(codex),
    }
}

/// Seconds, decimals allowed, as milliseconds.
fn stop_grace(text: &str) -> Result<u64, String> {
    let seconds: f64 =
        text.parse().ok().filter(|it| (0.0..=STOP_GRACE_MAX).contains(it)).ok_or_else(|| {
            format!("a stop grace is a number of seconds from 0 to {STOP_GRACE_MAX}, such as 3 or 0.5")
        })?;
    let grace = Duration::from_secs_f64(seconds);
    Ok(u64::try_from(grace.as_millis()).unwrap_or(u64::MAX))
}

fn say(message: &str) {
    // A stderr that is closed cannot be complained about.
    let _ = writeln!(std::io::stderr(), "{message}");
}
