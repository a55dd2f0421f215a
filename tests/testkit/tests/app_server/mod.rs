//! A tiny JSON-RPC client of an app-server on stdio.

use std::collections::VecDeque;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, bail};
use serde_json::{Value, json};
use testkit::PATIENCE;
use testkit::home::Home;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

pub(crate) struct AppServer {
    child: Child,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
    /// What came while something else was waited for.
    kept: VecDeque<Value>,
    last_id: u64,
}

impl AppServer {
    /// Starts `codex app-server` in the workspace of a home and initializes it.
    pub(crate) async fn start(binary: &Path, home: &Home) -> anyhow::Result<Self> {
        let mut command = Command::new(binary);
        command.arg("app-server").env_clear().envs(home.env()).current_dir(home.workspace());
        let mut server = Self::spawn(command)?;
        let client = json!({"name": "testkit", "title": "testkit", "version": "0"});
        let capabilities = json!({"experimentalApi": true});
        server.request("initialize", json!({"clientInfo": client, "capabilities": capabilities})).await?;
        server.send(&json!({"method": "initialized"})).await?;
        Ok(server)
    }

    pub(crate) fn spawn(mut command: Command) -> anyhow::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().with_context(|| format!("start {command:?}"))?;
        let stdin = child.stdin.take().context("stdin was asked for")?;
        let stdout = child.stdout.take().context("stdout was asked for")?;
        let stdout = BufReader::new(stdout).lines();
        Ok(Self { child, stdin, stdout, kept: VecDeque::new(), last_id: 0 })
    }

    /// The result of a request, or its error as an error.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"id": id, "method": method, "params": params})).await?;
        let response = self.wait(|it| it["id"] == id && it.get("method").is_none()).await?;
        match response.get("result") {
            Some(result) => Ok(result.clone()),
            None => bail!("{method}: {response}"),
        }
    }

    /// The params of the next notification of that method which `matches`.
    pub(crate) async fn notification(
        &mut self,
        method: &str,
        matches: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<Value> {
        let message = self.wait(|it| it["method"] == method && matches(&it["params"])).await;
        let mut message = message.with_context(|| format!("wait for {method}"))?;
        Ok(message["params"].take())
    }

    /// The first message that `matches` and was not taken yet.
    async fn wait(&mut self, matches: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
        if let Some(at) = self.kept.iter().position(&matches) {
            return self.kept.remove(at).context("the position was just found");
        }
        loop {
            let line = self.line().await?.context("the app-server closed its stdout")?;
            let message: Value = serde_json::from_str(&line)?;
            if matches(&message) {
                return Ok(message);
            }
            self.kept.push_back(message);
        }
    }

    /// The next line as it comes; `None` at the end of stdout.
    pub(crate) async fn line(&mut self) -> anyhow::Result<Option<String>> {
        let line = timeout(PATIENCE, self.stdout.next_line()).await;
        Ok(line.with_context(|| format!("nothing came; kept: {:#?}", self.kept))??)
    }

    pub(crate) async fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        self.stdin.write_all(format!("{message}\n").as_bytes()).await?;
        Ok(())
    }

    /// Closes stdin and waits for the end.
    pub(crate) async fn stop(self) -> anyhow::Result<std::process::ExitStatus> {
        let Self { mut child, stdin, .. } = self;
        drop(stdin);
        Ok(timeout(PATIENCE, child.wait()).await.context("the app-server did not end")??)
    }
}
