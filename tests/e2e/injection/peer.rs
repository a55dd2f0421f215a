//! A client without an SDK, which has both pipes of the adapter in its own hands.

use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, bail};
use serde_json::{Value, json};
use testkit::PATIENCE;
use testkit::belief::Version;
use testkit::processes::{self, Found, Signal};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::seen::{Dir, Seen};
use crate::stage::Stage;

/// A client and the adapter that it started.
#[derive(Debug)]
pub(super) struct Peer {
    adapter: Child,
    pid: u32,
    lines: Option<mpsc::UnboundedSender<String>>,
    seen: Arc<watch::Sender<Seen>>,
    last_id: AtomicU64,
    /// Hold the client's ends of the pipes.
    pipes: [JoinHandle<()>; 2],
}

impl Peer {
    pub(super) fn start(stage: &Stage, version: Version) -> anyhow::Result<Self> {
        let mut command = stage.adapter();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut adapter = command.spawn().context("start the adapter")?;
        let seen = Arc::new(watch::Sender::new(Seen::new(version)));
        let (lines, queue) = mpsc::unbounded_channel();
        let stdin = adapter.stdin.take().context("stdin is a pipe")?;
        let stdout = adapter.stdout.take().context("stdout is a pipe")?;
        let pipes = [tokio::spawn(write(stdin, queue)), tokio::spawn(read(stdout, Arc::clone(&seen)))];
        let pid = adapter.id().context("the adapter has a pid")?;
        Ok(Self { adapter, pid, lines: Some(lines), seen, last_id: AtomicU64::new(0), pipes })
    }

    /// Sends a request; its id.
    pub(super) fn request(&self, method: &str, params: Value) -> u64 {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub(super) fn notify(&self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn send(&self, message: Value) {
        let Some(lines) = &self.lines else { return };
        self.seen.send_modify(|it| it.sent(0.0, message.clone()));
        // An adapter that is gone shows in whatever is waited for next.
        let _ = lines.send(format!("{message}\n"));
    }

    /// The outcome of a request: the error is the JSON-RPC error.
    pub(super) async fn outcome(&self, id: u64) -> anyhow::Result<Result<Value, Value>> {
        self.wait(&format!("answer to request {id}"), |it| answer(it, id)).await
    }

    /// Looks at what was seen so far.
    pub(super) fn look<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&self.seen.borrow())
    }

    /// Changes what was seen, without waking those who wait.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Seen) -> T) -> T {
        let mut change = Some(change);
        let mut changed = None;
        self.seen.send_if_modified(|it| {
            changed = change.take().map(|change| change(it));
            false
        });
        changed.expect("send_if_modified calls its function once")
    }

    /// Waits until `ready` gives something.
    pub(super) async fn wait<T>(
        &self,
        what: &str,
        mut ready: impl FnMut(&Seen) -> Option<T>,
    ) -> anyhow::Result<T> {
        let mut found = None;
        let mut seen = self.seen.subscribe();
        let until = seen.wait_for(|it| {
            found = ready(it);
            found.is_some() || it.is_over
        });
        let waited = tokio::time::timeout(PATIENCE, until).await.map(drop);
        match found {
            Some(found) => Ok(found),
            None => bail!("no {what} ({waited:?}); {}", self.look(|it| it.tail(40))),
        }
    }

    /// Closes the adapter's input, and reads on.
    pub(super) fn close_input(&mut self) {
        drop(self.lines.take());
    }

    /// Closes both pipes, as the system does for a client that is killed.
    pub(super) async fn hang_up(&mut self) {
        drop(self.lines.take());
        for pipe in &mut self.pipes {
            pipe.abort();
            // The pipe is closed when its task is gone; that it was aborted is no news.
            let _ = pipe.await;
        }
    }

    pub(super) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        Ok(processes::signal(self.pid, signal)?)
    }

    /// Whether this is the app-server of this adapter, and not a fork of it on its way to a command.
    pub(super) fn owns(&self, process: &Found) -> bool {
        process.ppid == Some(self.pid)
    }

    /// Waits for the end of the adapter, and for its last messages.
    pub(super) async fn exit(&mut self) -> anyhow::Result<ExitStatus> {
        let status = tokio::time::timeout(PATIENCE, self.adapter.wait()).await;
        let status =
            status.with_context(|| format!("the adapter stays; {}", self.look(|it| it.tail(40))))??;
        let [_, reader] = &mut self.pipes;
        if !reader.is_finished() {
            tokio::time::timeout(PATIENCE, reader).await.context("somebody holds the adapter's output")??;
        }
        Ok(status)
    }
}

/// The answer to a request of the client.
pub(super) fn answer(seen: &Seen, id: u64) -> Option<Result<Value, Value>> {
    let is_it = |body: &Value| body["id"] == id && body.get("method").is_none();
    let message = seen.wire.iter().find(|it| it.dir == Dir::FromAdapter && is_it(&it.body))?;
    Some(match message.body.get("error") {
        Some(error) => Err(error.clone()),
        None => Ok(message.body["result"].clone()),
    })
}

async fn write(mut stdin: ChildStdin, mut queue: mpsc::UnboundedReceiver<String>) {
    while let Some(line) = queue.recv().await {
        if stdin.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn read(stdout: ChildStdout, seen: Arc<watch::Sender<Seen>>) {
    let mut lines = BufReader::new(stdout);
    let mut line = Vec::new();
    while let Ok(1..) = lines.read_until(b'\n', &mut line).await {
        let event = match serde_json::from_slice::<Value>(&line) {
            Ok(message) => json!({"ev": "wire", "dir": "in", "msg": message}),
            Err(error) => json!({"ev": "bad_line", "error": error.to_string()}),
        };
        seen.send_modify(|it| it.take(event));
        line.clear();
    }
    seen.send_modify(|it| it.is_over = true);
}
