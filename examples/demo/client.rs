//! The adapter as a child process, and the JSON lines to and from it.

use std::collections::VecDeque;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::{Value, json};
use testkit::home::Home;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Lines of the adapter's log that are kept for an error message.
const KEPT_LOG: usize = 12;
/// How long the adapter may take to leave; it promises 5 s.
const LEAVING: Duration = Duration::from_secs(60);

pub(crate) struct Client {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    log: Arc<Mutex<VecDeque<String>>>,
    last_id: u64,
}

impl Client {
    /// Starts the adapter in an environment of its own, with this Codex.
    pub(crate) fn start(adapter: &Path, codex: &Path, home: &Home) -> anyhow::Result<Self> {
        let mut child = Command::new(adapter)
            .env_clear()
            .envs(home.env())
            .env("CODEX_PATH", codex)
            .current_dir(home.workspace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("start {}", adapter.display()))?;
        let stdin = child.stdin.take().expect("stdin is piped");
        let lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
        let mut errors = BufReader::new(child.stderr.take().expect("stderr is piped")).lines();
        let log = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&log);
        tokio::spawn(async move {
            while let Ok(Some(line)) = errors.next_line().await {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.push_back(line);
                if kept.len() > KEPT_LOG {
                    kept.pop_front();
                }
            }
        });
        Ok(Self { child, stdin, lines, log, last_id: 0 })
    }

    /// Sends a request; the answer comes by [`Client::receive`], with the id that is in the message.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> anyhow::Result<(u64, Value)> {
        self.last_id += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params});
        self.send(&message).await.with_context(|| format!("send {method}"))?;
        Ok((self.last_id, message))
    }

    pub(crate) async fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        self.stdin.write_all(format!("{message}\n").as_bytes()).await?;
        Ok(self.stdin.flush().await?)
    }

    /// The next message. Cancel safe.
    pub(crate) async fn receive(&mut self) -> anyhow::Result<Value> {
        let Some(line) = self.lines.next_line().await.context("read from the adapter")? else {
            bail!("the adapter ended unasked{}", self.log());
        };
        serde_json::from_str(&line).with_context(|| format!("the adapter wrote what is no JSON: {line}"))
    }

    /// Says goodbye as editors do, by closing the pipe, and waits for the adapter's end.
    pub(crate) async fn leave(self) -> anyhow::Result<ExitStatus> {
        let Self { mut child, stdin, mut lines, .. } = self;
        drop(stdin);
        let left = tokio::time::timeout(LEAVING, async {
            // Whatever is still said must be read, or the adapter may wait for us.
            while let Ok(Some(_)) = lines.next_line().await {}
            child.wait().await
        });
        match left.await {
            Ok(status) => status.context("wait for the adapter"),
            Err(_) => {
                child.kill().await.context("kill the adapter")?;
                bail!("the adapter had not left {LEAVING:?} after its editor, and was killed")
            }
        }
    }

    /// The end of the adapter's log, for an error message.
    pub(crate) fn log(&self) -> String {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.iter().map(|line| format!("\n    | {line}")).collect()
    }
}
