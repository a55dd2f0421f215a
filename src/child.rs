//! The app-server process: start, lines both ways, last words, end.
//!
//! Owns the process and reaps it. Does not read a line and does not decide to start or end it.

mod tail;
#[cfg(test)]
mod tests;

use crate::core::ids::Generation;
use crate::queue::{self, Limits, Outbox, Report};
use crate::stop::tree::RUN_MARKER;
use crate::transport::{CODEX_LINE_MAX, Frame, Lines, READ};
use process_wrap::tokio::{ChildWrapper, CommandWrap};
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tail::Tail;
use tokio::process::ChildStdout;
use tokio::sync::mpsc::{self, Sender, UnboundedReceiver};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_stream::StreamExt;
use tokio_util::codec::FramedRead;
use tokio_util::sync::CancellationToken;

// A descendant may write on for ever too: this is more than a pipe holds by default.
const LEFTOVER_MAX: usize = 256 * 1024;

/// How long is waited at its end.
#[derive(Clone, Copy, Debug)]
struct Grace {
    /// After an exit a descendant may hold stdout open; what is in the pipe by then is what counts.
    drain: Duration,
    after_eof: Duration,
    after_term: Duration,
}

const GRACE: Grace = Grace {
    drain: Duration::from_millis(250),
    after_eof: Duration::from_millis(1000),
    after_term: Duration::from_millis(500),
};

/// How to run Codex.
#[derive(Clone, Debug)]
pub struct Program {
    pub path: PathBuf,
    /// `key=value` of Codex's `-c`.
    pub overrides: Vec<String>,
    /// Marks it and everything below it as of this run, in the environment.
    pub run: Option<String>,
}

/// What comes from a child, in the order it happened; `Died` is the last.
#[derive(Debug)]
pub enum FromChild {
    /// One line of its stdout.
    Frame { generation: Generation, frame: Frame },
    /// One that runs already could not be connected to; `message` is for people.
    NotStarted { generation: Generation, message: String },
    /// It is gone and reaped. `how` reads after "codex ended: "; `stderr` is its last lines.
    Died { generation: Generation, how: String, stderr: Option<String> },
}

/// Hold of a running app-server. Dropping it ends the process like `end`.
#[derive(Debug)]
pub struct Child {
    generation: Generation,
    pid: Option<u32>,
    stdin: Outbox,
    end: Option<oneshot::Sender<()>>,
}

/// The program could not be started.
#[derive(Debug, thiserror::Error)]
#[error("{} could not be started: {source}; check --codex or CODEX_PATH", path.display())]
pub struct NotStarted {
    path: PathBuf,
    #[source]
    source: io::Error,
}

impl Child {
    /// Starts `codex app-server` in a process group of its own, with our environment.
    ///
    /// # Errors
    /// `NotStarted` if the system refuses.
    pub fn start(
        program: &Program,
        generation: Generation,
        events: Sender<FromChild>,
    ) -> Result<Self, NotStarted> {
        Self::start_with(GRACE, program, generation, events)
    }

    fn start_with(
        grace: Grace,
        program: &Program,
        generation: Generation,
        events: Sender<FromChild>,
    ) -> Result<Self, NotStarted> {
        let failed = |source| NotStarted { path: program.path.clone(), source };
        let mut process = command(program).spawn().map_err(failed)?;
        let pid = process.id();
        let pipes = (process.stdin().take(), process.stdout().take(), process.stderr().take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(failed(io::Error::other("its pipes are missing")));
        };
        let (reports, reported) = mpsc::unbounded_channel();
        let (outbox, writer) = queue::open(Limits::default(), reports);
        let (end, end_asked) = oneshot::channel();
        let drained = CancellationToken::new();
        let supervisor = Supervisor {
            generation,
            grace,
            process,
            stdin: outbox.clone(),
            writer: tokio::spawn(writer.run(stdin)),
            reported,
            reader: tokio::spawn(read(generation, stdout, events.clone(), drained.clone())),
            stderr: tokio::spawn(Tail::default().follow(stderr, drained.clone())),
            drained,
            events,
        };
        tokio::spawn(supervisor.run(end_asked));
        Ok(Self { generation, pid, stdin: outbox, end: Some(end) })
    }

    /// Which start this is.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Its process id, to tell its descendants from strangers.
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// Sends one line, given without its newline. Never waits.
    pub fn send(&self, line: String) {
        self.stdin.push(line);
    }

    /// Ends it: stdin closed, then TERM, then KILL of its group. `FromChild::Died` follows.
    pub fn end(&mut self) {
        if let Some(end) = self.end.take() {
            // The supervisor is gone only if the process is.
            let _ = end.send(());
        }
    }
}

fn command(program: &Program) -> CommandWrap {
    let mut command = CommandWrap::with_new(&program.path, |command| {
        command.arg("app-server");
        for setting in &program.overrides {
            command.arg("-c").arg(setting);
        }
        if let Some(run) = &program.run {
            command.env(RUN_MARKER, run);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    });
    // A Ctrl-C of our terminal must not reach Codex: its commands would outlive a SIGINT.
    #[cfg(unix)]
    command.wrap(process_wrap::tokio::ProcessGroup::leader());
    #[cfg(windows)]
    command.wrap(process_wrap::tokio::JobObject);
    command
}

/// Sends frames until the pipe ends; after `drained` only what is there already, and not without end.
async fn read(
    generation: Generation,
    stdout: ChildStdout,
    events: Sender<FromChild>,
    drained: CancellationToken,
) {
    let mut frames = FramedRead::with_capacity(stdout, Lines::capped(CODEX_LINE_MAX), READ);
    let mut leftover = 0;
    while leftover < LEFTOVER_MAX {
        let frame = tokio::select! {
            biased;
            frame = frames.next() => frame,
            () = drained.cancelled() => return,
        };
        let Some(Ok(frame)) = frame else {
            return;
        };
        if drained.is_cancelled() {
            leftover += frame.bytes();
        }
        if events.send(FromChild::Frame { generation, frame }).await.is_err() {
            return;
        }
    }
}

struct Supervisor {
    generation: Generation,
    grace: Grace,
    process: Box<dyn ChildWrapper>,
    stdin: Outbox,
    writer: JoinHandle<()>,
    reported: UnboundedReceiver<Report>,
    reader: JoinHandle<()>,
    stderr: JoinHandle<Option<String>>,
    /// Says that what is in stdout and stderr now is all.
    drained: CancellationToken,
    events: Sender<FromChild>,
}

/// Why the process is at its end.
enum Cause {
    Exited(io::Result<ExitStatus>),
    ClosedOutput,
    Unwritable(String),
    Asked,
}

impl Supervisor {
    async fn run(mut self, end_asked: oneshot::Receiver<()>) {
        let cause = self.wait(end_asked).await;
        let how = match cause {
            Cause::Exited(status) => describe(status),
            Cause::ClosedOutput => format!("closed its output, {}", self.wind_down().await),
            Cause::Unwritable(reason) => format!("stopped reading ({reason}), {}", self.wind_down().await),
            Cause::Asked => self.wind_down().await,
        };
        self.stdin.close();
        self.writer.abort();
        let stderr = self.last_words().await;
        tracing::info!(generation = self.generation.0, how, "codex ended");
        let died = FromChild::Died { generation: self.generation, how, stderr };
        // Without a loop there is nobody to tell.
        let _ = self.events.send(died).await;
    }

    async fn wait(&mut self, end_asked: oneshot::Receiver<()>) -> Cause {
        let cause = tokio::select! {
            biased;
            status = self.process.wait() => return Cause::Exited(status),
            _ = end_asked => return Cause::Asked,
            _ = &mut self.reader => Cause::ClosedOutput,
            reason = gone(&mut self.reported) => Cause::Unwritable(reason),
        };
        // An exit closes the pipes a moment before it can be waited for, and says more.
        match timeout(self.grace.drain, self.process.wait()).await {
            Ok(status) => Cause::Exited(status),
            Err(_) => cause,
        }
    }

    async fn wind_down(&mut self) -> String {
        self.stdin.close();
        if let Ok(status) = timeout(self.grace.after_eof, self.process.wait()).await {
            return describe(status);
        }
        self.terminate();
        if let Ok(status) = timeout(self.grace.after_term, self.process.wait()).await {
            return describe(status);
        }
        if let Err(error) = self.process.start_kill() {
            tracing::warn!(%error, "codex cannot be killed");
        }
        describe(self.process.wait().await)
    }

    #[cfg(unix)]
    fn terminate(&self) {
        if let Err(error) = self.process.signal(rustix::process::Signal::TERM.as_raw()) {
            tracing::warn!(%error, "codex cannot be signalled");
        }
    }

    // Windows knows no gentle end of a process without a console; closing stdin was it.
    #[cfg(not(unix))]
    fn terminate(&self) {}

    async fn last_words(&mut self) -> Option<String> {
        if !self.reader.is_finished() && timeout(self.grace.drain, &mut self.reader).await.is_err() {
            self.drained.cancel();
            if let Err(error) = (&mut self.reader).await {
                tracing::warn!(%error, "the reader of codex failed");
            }
        }
        self.drained.cancel();
        (&mut self.stderr).await.unwrap_or_default()
    }
}

pub(crate) async fn gone(reported: &mut UnboundedReceiver<Report>) -> String {
    loop {
        match reported.recv().await {
            Some(Report::Gone { reason }) => return reason,
            Some(Report::Fill(_)) => {}
            None => std::future::pending().await,
        }
    }
}

fn describe(status: io::Result<ExitStatus>) -> String {
    let status = match status {
        Ok(status) => status,
        Err(error) => return format!("its exit is unknown ({error})"),
    };
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("signal {signal}");
    }
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => "its exit is unknown".to_owned(),
    }
}
