//! A client process: commands go in, what it sees comes out.

use std::cell::Cell;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, anyhow, bail, ensure};
use serde_json::{Value, json};
use testkit::PATIENCE;
use testkit::belief::Version;
use testkit::processes::{self, Signal};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, watch};

use crate::seen::{Exit, Seen};

/// A running client with the adapter that it started. Must be ended by [`Client::end`].
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) version: Version,
    child: Child,
    commands: Option<mpsc::UnboundedSender<Vec<u8>>>,
    seen: Arc<watch::Sender<Seen>>,
    last_command: Cell<u64>,
    expected_faults: Vec<&'static str>,
    is_lost: Arc<AtomicBool>,
    is_ended: bool,
}

/// A command under way in the client.
#[derive(Clone, Copy, Debug)]
#[must_use = "a command has a result"]
pub(crate) struct Pending(u64);

impl Client {
    /// `is_lost` is set when the client is dropped without [`Client::end`].
    pub(crate) fn new(
        version: Version,
        mut command: Command,
        is_lost: Arc<AtomicBool>,
    ) -> anyhow::Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("start {command:?}"))?;
        let seen = Arc::new(watch::Sender::new(Seen::new(version)));
        let (commands, queue) = mpsc::unbounded_channel();
        tokio::spawn(write(child.stdin.take().context("stdin is a pipe")?, queue));
        tokio::spawn(read(child.stdout.take().context("stdout is a pipe")?, Arc::clone(&seen)));
        Ok(Self {
            version,
            child,
            commands: Some(commands),
            seen,
            last_command: Cell::new(0),
            expected_faults: Vec::new(),
            is_lost,
            is_ended: false,
        })
    }

    /// Faults that hold this text are part of the test.
    pub(crate) fn expect_fault(&mut self, text: &'static str) {
        self.expected_faults.push(text);
    }

    /// Looks at what was seen so far.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&self.seen.borrow())
    }

    /// Waits until `ready` gives something.
    ///
    /// # Errors
    /// After [`PATIENCE`], or when the client has ended before; with the last messages.
    pub(crate) async fn wait<T>(
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

    /// Starts a command of the client, e.g. `("list", json!({}))`.
    pub(crate) fn start(&self, name: &str, args: Value) -> Pending {
        let id = self.last_command.get() + 1;
        self.last_command.set(id);
        let mut command = json!({"id": id, "do": name});
        if let (Some(command), Value::Object(args)) = (command.as_object_mut(), args) {
            command.extend(args);
        }
        if let Some(commands) = &self.commands {
            // A client that is gone shows in whatever is waited for next.
            let _ = commands.send(format!("{command}\n").into_bytes());
        }
        Pending(id)
    }

    /// The outcome of a command: the error is `{code, message, data}`.
    pub(crate) async fn outcome(&self, pending: Pending) -> anyhow::Result<Result<Value, Value>> {
        self.wait(&format!("end of command {}", pending.0), |it| it.done.get(&pending.0).cloned()).await
    }

    /// Runs a command that must succeed.
    pub(crate) async fn call(&self, name: &str, args: Value) -> anyhow::Result<Value> {
        let outcome = self.outcome(self.start(name, args)).await?;
        outcome.map_err(|error| anyhow!("{name} failed: {error}; {}", self.look(|it| it.tail(20))))
    }

    /// Runs a command that must fail, and returns the error.
    pub(crate) async fn refused(&self, name: &str, args: Value) -> anyhow::Result<Value> {
        match self.outcome(self.start(name, args)).await? {
            Ok(result) => bail!("{name} was not refused: {result}"),
            Err(error) => Ok(error),
        }
    }

    /// Writes bytes to the adapter past the SDK; they are lines that are no messages.
    pub(crate) async fn garbage(&self, lines: &[u8]) -> anyhow::Result<()> {
        use base64::Engine as _;
        let n_lines = lines.split(|it| *it == b'\n').filter(|it| !it.is_empty()).count();
        self.seen.send_modify(|it| (0..n_lines).for_each(|_| it.sent_garbage()));
        let base64 = base64::engine::general_purpose::STANDARD.encode(lines);
        self.call("raw", json!({"base64": base64})).await.map(drop)
    }

    /// Changes what was seen, without waking those who wait.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Seen) -> T) -> T {
        let mut change = Some(change);
        let mut changed = None;
        self.seen.send_if_modified(|it| {
            changed = change.take().map(|change| change(it));
            false
        });
        changed.expect("send_if_modified calls its function once")
    }

    pub(crate) fn adapter_pid(&self) -> anyhow::Result<u32> {
        self.look(|it| it.adapter_pid).context("the client has not started the adapter")
    }

    /// Sends a signal to the adapter.
    pub(crate) fn signal_adapter(&self, signal: Signal) -> anyhow::Result<()> {
        Ok(processes::signal(self.adapter_pid()?, signal)?)
    }

    /// Closes the adapter's input, waits until it is gone, and fails on everything that was wrong.
    ///
    /// # Errors
    /// With the faults of the whole run.
    pub(crate) async fn end(mut self) -> anyhow::Result<Exit> {
        self.is_ended = true;
        let from = self.look(|it| it.wire.len());
        drop(self.commands.take());
        let exit = self.wait("exit of the adapter", |it| it.exit.clone()).await?;
        self.wait("end of the client", |it| it.is_over.then_some(())).await?;
        let status = tokio::time::timeout(PATIENCE, self.child.wait()).await??;
        ensure!(status.success(), "the client itself ended with {status}");
        let faults = self.look(|it| it.faults(&self.expected_faults));
        ensure!(faults.is_empty(), "faults:\n{}\n{}", faults.join("\n"), self.look(|it| it.tail(40)));
        Ok(Exit { remarks: self.look(|it| it.remarks(from)), ..exit })
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if !self.is_ended {
            self.is_lost.store(true, Ordering::Relaxed);
        }
    }
}

async fn write(mut stdin: ChildStdin, mut queue: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(bytes) = queue.recv().await {
        if stdin.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

async fn read(stdout: ChildStdout, seen: Arc<watch::Sender<Seen>>) {
    let mut lines = BufReader::with_capacity(1 << 18, stdout);
    let mut line = Vec::new();
    while let Ok(1..) = lines.read_until(b'\n', &mut line).await {
        match serde_json::from_slice(&line) {
            Ok(event) => seen.send_modify(|it| it.take(event)),
            Err(error) => seen.send_modify(|it| it.take(json!({"ev": "client", "error": error.to_string()}))),
        }
        line.clear();
    }
    seen.send_modify(|it| it.is_over = true);
}
