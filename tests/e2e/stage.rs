//! One test's world: the real Codex in a home of its own, the scripted model, and clients that start our binary.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::codex::{self, Codex};
use testkit::home::{Config, Home};
use testkit::model::Model;
use testkit::processes::{self, Census, Found, NoneLeft, Signal};
use tokio::process::Command;

use crate::client::Client;
use crate::session::Session;

pub(crate) struct Stage {
    pub(crate) model: Model,
    pub(crate) home: Home,
    codex: Codex,
    /// Set by a client that was dropped and not ended.
    is_client_lost: Arc<AtomicBool>,
}

/// Names a python with the packages of `tests/clients/requirements.txt`.
pub(crate) const PYTHON: &str = "APPSERVER_ACP_TEST_PYTHON";

/// Sets how long the adapter waits for what it asked to end; in seconds.
pub(crate) const GRACE: &str = "APPSERVER_ACP_STOP_GRACE";

/// How a client introduces itself and its adapter.
#[derive(Debug)]
pub(crate) struct Casting {
    pub(crate) version: Version,
    program: OsString,
    script: &'static str,
    pub(crate) capabilities: Value,
    pub(crate) env: Vec<(&'static str, OsString)>,
    /// Of the adapter.
    args: Vec<String>,
}

impl Casting {
    pub(crate) fn v2() -> Self {
        let capabilities = json!({"elicitation": {"form": {}, "url": {}}});
        Self { version: Version::V2, capabilities, script: "v2.mjs", ..Self::v1() }
    }

    /// A v1 client with live terminals, as Zed is.
    pub(crate) fn v1() -> Self {
        let capabilities = json!({"_meta": {"terminal_output": true}});
        // What ends when it is asked to is not to be killed because the machine is slow.
        let (program, env) = ("node".into(), vec![(GRACE, "30".into())]);
        Self { version: Version::V1, program, script: "v1.mjs", capabilities, env, args: Vec::new() }
    }

    /// A v1 client on the SDK for python, whose models are strict; `None` where there is no such python.
    pub(crate) fn python() -> Option<Self> {
        let program = std::env::var_os(PYTHON)?;
        Some(Self { program, script: "v1.py", ..Self::v1() })
    }

    pub(crate) fn of(version: Version) -> Self {
        match version {
            Version::V1 => Self::v1(),
            Version::V2 => Self::v2(),
        }
    }

    pub(crate) fn capabilities(mut self, capabilities: Value) -> Self {
        self.capabilities = capabilities;
        self
    }

    pub(crate) fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.env.push((name, value.into()));
        self
    }
}

/// Runs a test on a stage with a `gpt-5.5` that asks for nothing; fails on whatever is left behind.
pub(crate) async fn play(test: impl AsyncFnOnce(&Stage) -> anyhow::Result<()>) {
    play_with(|it| it, test).await;
}

/// As [`play`], with a configuration of its own.
pub(crate) async fn play_with(
    config: impl FnOnce(Config) -> Config,
    test: impl AsyncFnOnce(&Stage) -> anyhow::Result<()>,
) {
    let stage = Stage::new(config).await.expect("the stage is set");
    let none_left = NoneLeft::new("CODEX_HOME", stage.home.codex_home().display());
    if let Err(error) = test(&stage).await.and_then(|()| stage.check()) {
        panic!("{error:#}");
    }
    // What was killed needs a moment to take that; what was not lives on.
    none_left.check_within(testkit::PATIENCE).await;
}

impl Stage {
    /// A stage of its own, to be [checked](Self::check) or [cleared](Self::clear) at the end.
    pub(crate) async fn new(config: impl FnOnce(Config) -> Config) -> anyhow::Result<Self> {
        let codex = codex::install()?;
        let model = Model::start().await?;
        let home = config(Config::new(model.base_url())).build()?;
        Ok(Self { model, home, codex, is_client_lost: Arc::new(AtomicBool::new(false)) })
    }

    /// A client that has started the adapter and initialized.
    pub(crate) async fn client(&self, casting: Casting) -> anyhow::Result<Client> {
        let client = self.stranger(&casting)?;
        let answer = client.call("initialize", json!({"capabilities": casting.capabilities})).await?;
        let wanted = match casting.version {
            Version::V1 => 1,
            Version::V2 => 2,
        };
        ensure!(answer["protocolVersion"] == wanted, "another version than asked for: {answer}");
        Ok(client)
    }

    /// A client that has started the adapter and not initialized.
    pub(crate) fn stranger(&self, casting: &Casting) -> anyhow::Result<Client> {
        let scripts = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
        let mut command = Command::new(&casting.program);
        command
            .arg(scripts.join(casting.script))
            .arg(env!("CARGO_BIN_EXE_appserver-acp"))
            .args(&casting.args);
        self.house(&mut command)
            .env("ACP_SDK_NODE_MODULES", codex::node_modules()?)
            .envs(casting.env.iter().map(|(name, value)| (name, value)));
        Client::new(casting.version, command, Arc::clone(&self.is_client_lost))
    }

    /// The adapter itself, for a client of one's own.
    pub(crate) fn adapter(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_appserver-acp"));
        self.house(&mut command);
        command
    }

    /// The real Codex.
    pub(crate) fn codex_binary(&self) -> &Path {
        self.codex.binary()
    }

    fn house<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env_clear()
            .envs(self.home.env())
            .env("CODEX_PATH", self.codex.binary())
            .current_dir(self.home.workspace())
    }

    /// Opens a session in the workspace.
    pub(crate) async fn open<'a>(&self, client: &'a Client) -> anyhow::Result<Session<'a>> {
        let answer = client.call("new", json!({"cwd": self.home.workspace()})).await?;
        let id = answer["sessionId"].as_str().context("a session has an id")?.to_owned();
        Ok(Session { client, id })
    }

    /// Creates a file that a command waits for; see [`wait_for`].
    pub(crate) fn signal_file(&self, name: &str) -> anyhow::Result<()> {
        std::fs::write(self.home.workspace().join(name), "").context("write a file")
    }

    /// Waits until a command has created a file.
    pub(crate) async fn file(&self, name: &str) -> anyhow::Result<()> {
        let path = self.home.workspace().join(name);
        let deadline = tokio::time::Instant::now() + testkit::PATIENCE;
        while !path.exists() {
            ensure!(tokio::time::Instant::now() < deadline, "no file {name}");
            // Not every system that Codex runs on tells of new files.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    /// The program of the real Codex.
    pub(crate) fn codex(&self) -> &std::path::Path {
        self.codex.binary()
    }

    /// The app-servers of this home.
    pub(crate) fn app_servers(&self) -> Vec<u32> {
        self.app_server_processes().iter().map(|it| it.pid).collect()
    }

    /// The same, with what is known of them.
    pub(crate) fn app_server_processes(&self) -> Vec<Found> {
        let is_server =
            |cmd: &str| cmd.contains("app-server") && !cmd.contains("CARGO") && !cmd.contains(".mjs");
        let all = Census::of_env("CODEX_HOME", self.home.codex_home().display());
        let binary = self.codex.binary().display().to_string();
        all.into_iter().filter(|it| it.cmd.starts_with(&binary) && is_server(&it.cmd)).collect()
    }

    /// Ends what a failed test left: by pid, and only what carries this home in its environment.
    pub(crate) fn clear(&self) {
        let census = Census::new("CODEX_HOME", self.home.codex_home().display());
        for _ in 0..20 {
            for process in census.take() {
                // It may have ended since it was listed.
                let _ = processes::signal(process.pid, Signal::KILL);
            }
        }
    }

    pub(crate) fn check(&self) -> anyhow::Result<()> {
        ensure!(!self.is_client_lost.load(Ordering::Relaxed), "a client was dropped without end()");
        let errors = self.model.errors();
        ensure!(errors.is_empty(), "the scripts were wrong: {errors:?}");
        Ok(())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.clear();
        }
    }
}

/// A command that runs until [`Stage::signal_file`] has made `end-<id>`.
pub(crate) fn forever(id: &str) -> String {
    wait_for(&format!("end-{id}"))
}

/// A shell condition that waits until [`Stage::signal_file`] has made `name`.
pub(crate) fn wait_for(name: &str) -> String {
    format!("until [ -e {name} ]; do sleep 0.05; done")
}
