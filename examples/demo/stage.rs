//! The running session: sends, and takes in what comes back, until something is as it should be.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use serde_json::{Value, json};
use testkit::home::{Config, Home};
use testkit::model::Model;
use tokio::time::{Instant, timeout_at};

use super::belief::{Belief, Turn};
use super::client::Client;
use super::event::Event;
use super::project;
use super::screen::{Detail, Screen};
use super::wire::Version;

/// The longest that any single thing may take; reached only when something is broken.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Stage {
    pub(crate) model: Model,
    pub(crate) home: Home,
    pub(crate) screen: Screen,
    pub(crate) belief: Belief,
    pub(crate) version: Version,
    pub(crate) session: String,
    client: Client,
    /// The answers that nobody has asked for yet.
    answers: BTreeMap<u64, Result<Value, String>>,
    /// The open prompt of a version 1 session.
    prompt: Option<u64>,
}

/// The two programs.
pub(crate) struct Programs {
    pub(crate) adapter: PathBuf,
    pub(crate) codex: PathBuf,
}

impl Stage {
    /// Starts the model server and the adapter; no session yet.
    pub(crate) async fn set(programs: &Programs, version: Version, detail: Detail) -> anyhow::Result<Self> {
        let model = Model::start().await?;
        let home = Config::new(model.base_url()).build()?;
        project::write(home.workspace())?;
        let client = Client::start(&programs.adapter, &programs.codex, &home)?;
        Ok(Self {
            model,
            home,
            screen: Screen::new(detail),
            belief: Belief::default(),
            version,
            session: String::new(),
            client,
            answers: BTreeMap::new(),
            prompt: None,
        })
    }

    /// `initialize`: returns what the adapter calls itself.
    pub(crate) async fn initialize(&mut self) -> anyhow::Result<String> {
        let info = json!({"name": "appserver-acp-demo", "version": env!("CARGO_PKG_VERSION")});
        let params = match self.version {
            Version::V1 => json!({
                "protocolVersion": 1,
                "clientInfo": info,
                "clientCapabilities": {"_meta": {"terminal_output": true}},
            }),
            Version::V2 => json!({"protocolVersion": 2, "info": info, "capabilities": {}}),
        };
        let result = self.call("initialize", params).await?;
        let spoken = &result["protocolVersion"];
        ensure!(*spoken == self.version.number(), "the adapter speaks ACP {spoken} only");
        let info = match self.version {
            Version::V1 => &result["agentInfo"],
            Version::V2 => &result["info"],
        };
        let [name, version] = ["name", "version"].map(|it| info[it].as_str().unwrap_or("?"));
        Ok(format!("{name} {version}"))
    }

    pub(crate) async fn new_session(&mut self) -> anyhow::Result<()> {
        let cwd = self.home.workspace();
        let result = self.call("session/new", json!({"cwd": cwd, "mcpServers": []})).await?;
        result["sessionId"].as_str().context("session/new gave no id")?.clone_into(&mut self.session);
        Ok(())
    }

    /// Sends a prompt; its turn ends when [`Belief::turns_ended`] goes up.
    pub(crate) async fn prompt(&mut self, text: &str) -> anyhow::Result<()> {
        self.belief.turn = Turn::Running;
        let params = json!({"sessionId": self.session, "prompt": [{"type": "text", "text": text}]});
        match self.version {
            Version::V1 => self.prompt = Some(self.request("session/prompt", params).await?),
            Version::V2 => {
                self.call("session/prompt", params).await?;
            }
        }
        Ok(())
    }

    /// Waits for the end of the turn, which must be a good one.
    pub(crate) async fn turn_end(&mut self, turns: usize) -> anyhow::Result<()> {
        self.until("the end of the turn", |it| it.turns_ended >= turns || it.turn == Turn::Lost).await?;
        ensure!(
            self.belief.turn == Turn::Over("end_turn".to_owned()),
            "the turn ended badly: {:?}{}",
            self.belief.turn,
            self.client.log()
        );
        Ok(())
    }

    /// Sends a request and waits for its result.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let id = self.request(method, params).await?;
        let deadline = Instant::now() + PATIENCE;
        while !self.answers.contains_key(&id) {
            let next = timeout_at(deadline, self.client.receive()).await;
            let message = next.map_err(|_| self.too_late(&format!("the answer to {method}")))??;
            self.take(&message).await?;
        }
        let answer = self.answers.remove(&id).context("the answer was there")?;
        answer.map_err(|error| anyhow!("{method} was refused: {error}"))
    }

    /// Takes in what comes until the client believes what it should.
    pub(crate) async fn until(&mut self, what: &str, is_so: impl Fn(&Belief) -> bool) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(&self.belief) {
            let next = timeout_at(deadline, self.client.receive()).await;
            let message = next.map_err(|_| self.too_late(what))??;
            self.take(&message).await?;
        }
        Ok(())
    }

    /// A pause for the person who watches. What comes meanwhile is taken in and shown.
    pub(crate) async fn let_watch(&mut self, pause: Duration) -> anyhow::Result<()> {
        let end = Instant::now() + pause;
        while let Ok(message) = timeout_at(end, self.client.receive()).await {
            self.take(&message?).await?;
        }
        Ok(())
    }

    /// Ends the adapter as an editor that is closed does.
    pub(crate) async fn leave(self) -> Left {
        let Self { model, home, screen, client, .. } = self;
        let adapter = client.leave().await;
        model.stop().await;
        Left { home, screen, adapter }
    }

    async fn request(&mut self, method: &str, params: Value) -> anyhow::Result<u64> {
        let (id, message) = self.client.request(method, params).await?;
        self.screen.raw("→", &message);
        Ok(id)
    }

    async fn take(&mut self, message: &Value) -> anyhow::Result<()> {
        self.screen.raw("←", message);
        match (message["method"].as_str(), message.get("id")) {
            (Some("session/update"), None) => {
                for event in self.version.events(&message["params"]["update"]) {
                    self.apply(&event);
                }
            }
            (Some(_), None) => {}
            (Some(method), Some(id)) => {
                let error = json!({"code": -32601, "message": "the demo answers no questions"});
                self.client.send(&json!({"jsonrpc": "2.0", "id": id, "error": error})).await?;
                bail!("the adapter asked for {method}, although nothing needs an approval here");
            }
            (None, _) => {
                let id = message["id"].as_u64().with_context(|| format!("a strange message: {message}"))?;
                self.answered(id, message);
            }
        }
        Ok(())
    }

    fn answered(&mut self, id: u64, message: &Value) {
        let answer = match message.get("error") {
            Some(error) => Err(error["message"].as_str().unwrap_or_default().to_owned()),
            None => Ok(message["result"].clone()),
        };
        if self.prompt == Some(id) {
            self.prompt = None;
            let event = match &answer {
                Ok(result) => self.version.prompt_answered(result),
                Err(error) => Some(Event::Idle { reason: Some(error.clone()), background: None }),
            };
            if let Some(event) = event {
                self.apply(&event);
            }
            return;
        }
        self.answers.insert(id, answer);
    }

    fn apply(&mut self, event: &Event) {
        self.belief.apply(event);
        self.screen.show(event, &self.belief);
    }

    fn too_late(&self, what: &str) -> anyhow::Error {
        let errors = self.model.errors();
        let script = if errors.is_empty() { String::new() } else { format!("; script errors: {errors:?}") };
        anyhow!("{what} did not come within {PATIENCE:?}{script}{}", self.client.log())
    }

    pub(crate) fn workspace(&self) -> &Path {
        self.home.workspace()
    }
}

/// After the adapter's end.
pub(crate) struct Left {
    /// Kept: dropping it deletes the directories.
    pub(crate) home: Home,
    pub(crate) screen: Screen,
    /// How the adapter ended.
    pub(crate) adapter: anyhow::Result<ExitStatus>,
}
