//! The one loop: what arrives goes through the bridge, what departs is done in that order.
//!
//! Owns the clock, the runtime and the exit. Decides nothing about the protocols.

mod event;
mod inputs;
mod link;
#[cfg(all(test, target_os = "linux"))]
mod tests;
mod world;

use crate::bridge::Bridge;
use crate::bridge::departure::{Departure, Note};
use crate::child::FromChild;
use crate::connect::Target;
use crate::core::ids::Tick;
use crate::core::settings::Settings;
use crate::locate::Sought;
use crate::queue::{self, Limits, Outbox, Report};
use crate::redact;
use crate::stop::sweep::{kill, sweep};
use crate::stop::tree::{Marked, Scope};
use crate::trace::line::note_text;
use crate::trace::rules::rules_of;
use crate::trace::{Record, Trace};
use event::Event;
use inputs::{Gate, Sources};
use link::Source;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::AsyncWrite;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{self, Receiver, UnboundedReceiver};
use tokio::time::{Instant, timeout};
use tokio_stream::StreamExt;
use world::World;

/// Exit code after a panic.
const PANICKED: i32 = 101;
/// A client that does not take our last words within this time does not get them.
const FLUSH: Duration = Duration::from_secs(2);
/// For the last look at what runs, after a second signal.
const KILL_ALL: Duration = Duration::from_secs(2);
/// More than a child needs at most to be ended.
const CHILDREN_END: Duration = Duration::from_secs(4);
/// Frames of Codex that wait between its reader and the loop.
const CODEX_FRAMES: usize = 64;
/// With so many bytes waiting for the client, Codex is not read. Output is held back by the core
/// long before, so that this is a backlog of messages.
const PAUSE_AT: usize = 32 << 20;

/// How to run the agent.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where Codex is; looked up at each start of it.
    pub codex: Sought,
    /// `key=value` of Codex's `-c`.
    pub overrides: Vec<String>,
    /// The program that opens a page; `None` leaves it to the desktop.
    pub browser: Option<String>,
    /// The app-server that runs already and is used instead.
    pub connect: Option<Target>,
    /// Where to write the trace.
    pub trace: Option<PathBuf>,
    pub settings: Settings,
}

/// The agent could not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("open the trace file")]
    Trace(#[source] io::Error),
    #[error("start the runtime")]
    Runtime(#[source] io::Error),
    #[error("wait for input: all its sources ended")]
    NoInput,
}

/// Serves one client on stdin and stdout until it leaves; the exit code.
///
/// # Errors
/// If the runtime cannot start, or the trace file cannot be opened.
pub fn run(options: Options) -> Result<i32, RunError> {
    let trace = options.trace.as_deref().map(|path| Trace::create(path, &options.settings)).transpose();
    let trace = trace.map_err(RunError::Trace)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(RunError::Runtime)?;
    let nonce = options.settings.nonce.clone();
    guarded(runtime, &nonce, tokio::io::stdout, async |ends| serve(options, trace, ends).await)
}

/// The loop's ends of what outlives it.
struct Ends<'a> {
    client: Outbox,
    reported: UnboundedReceiver<Report>,
    children: mpsc::Sender<FromChild>,
    from_children: &'a mut Receiver<FromChild>,
}

/// Serves, and cleans up however that ends, a panic of ours included: the client gets what is queued
/// for it, and neither Codex nor a command of this run (`nonce`) is left. The exit code.
fn guarded<W: AsyncWrite + Unpin + Send + 'static>(
    runtime: Runtime,
    nonce: &str,
    stdout: impl FnOnce() -> W,
    serving: impl AsyncFnOnce(Ends<'_>) -> Result<Leave, RunError>,
) -> Result<i32, RunError> {
    let (reports, reported) = mpsc::unbounded_channel::<Report>();
    let (client, writer) = queue::open(Limits::default(), reports);
    let (children, mut from_children) = mpsc::channel(CODEX_FRAMES);
    let mut writer = runtime.spawn({
        let _context = runtime.enter();
        writer.run(stdout())
    });
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let ends = Ends { client: client.clone(), reported, children, from_children: &mut from_children };
        runtime.block_on(serving(ends))
    }));
    if !matches!(outcome, Ok(Ok(Leave::AtOnce(_)))) {
        runtime.block_on(async {
            client.close();
            if timeout(FLUSH, &mut writer).await.is_err() {
                tracing::warn!("the client did not take the last messages");
            }
            // Everything that holds a child is dropped by now, which ends it; this waits until it has.
            ended(&mut from_children).await;
        });
    }
    // A read of stdin may still block a thread; it must not hold the exit.
    runtime.shutdown_background();
    match outcome {
        Ok(Ok(Leave::AtOnce(code))) => {
            // Codex and all it has started, the commands that left its groups included.
            kill_all(nonce);
            Ok(code)
        }
        Ok(left) => left.map(|(Leave::Clean(code) | Leave::AtOnce(code))| code),
        Err(_) => {
            // Nobody is left to say which threads there were.
            sweep(&Scope { marked: Marked::Run(nonce.to_owned()), app_server: None });
            tracing::error!("internal error, leaving; please report it with a trace");
            Ok(PANICKED)
        }
    }
}

/// Kills whatever carries the mark of this run; gives up after a while. In a thread of its own: each
/// further signal interrupts this one.
fn kill_all(nonce: &str) {
    let scope = Scope { marked: Marked::Run(nonce.to_owned()), app_server: None };
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        kill(&scope);
        // Nobody waits any more if that took too long.
        let _ = done.send(());
    });
    if is_done.recv_timeout(KILL_ALL).is_err() {
        tracing::warn!("not everything could be looked at before leaving");
    }
}

/// How the loop ended, with the exit code.
enum Leave {
    /// Everything was done.
    Clean(i32),
    /// Somebody insists: everything is killed.
    AtOnce(i32),
}

async fn serve(options: Options, trace: Option<Trace>, ends: Ends<'_>) -> Result<Leave, RunError> {
    let started = Instant::now();
    let Ends { client: outbox, reported, children, from_children } = ends;
    let (world_events, happened) = mpsc::unbounded_channel();
    let gate = Rc::new(Gate::default());
    let sources = Sources { client: tokio::io::stdin(), reported, happened, from_children };
    let mut inputs = std::pin::pin!(inputs::merge(sources, Rc::clone(&gate)).map_err(RunError::Runtime)?);
    let nonce = options.settings.nonce.clone();
    let mut bridge = Bridge::new(options.settings);
    let source = match options.connect {
        Some(target) => Source::Running(target),
        None => Source::Program { codex: options.codex, overrides: options.overrides },
    };
    let mut world = World::new(outbox.clone(), (source, nonce), children, world_events);
    world.browser = options.browser;
    let mut trace = trace;
    let mut departures = Vec::new();
    let mut signalled = false;
    while let Some(event) = inputs.next().await {
        if let Event::Signal(number) = event
            && std::mem::replace(&mut signalled, true)
        {
            tracing::warn!(number, "second signal, leaving at once");
            return Ok(Leave::AtOnce(128 + number));
        }
        let arrival = event.arrival();
        let now = Tick(u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX));
        let deadline = bridge.next_deadline();
        bridge.step(now, arrival, &mut departures);
        let record = Record {
            now,
            deadline: deadline.map(|(_, reason)| reason),
            version: bridge.version(),
            arrival,
            departures: &departures,
        };
        log(&record);
        if let Some(trace) = &mut trace {
            trace.record(&record);
        }
        world.seen(&event);
        for departure in departures.drain(..) {
            if let Departure::StartCodex(_) = departure {
                // Starting a process takes milliseconds; what is queued before it goes out first.
                tokio::task::yield_now().await;
            }
            if let Some(code) = world.perform(departure) {
                return Ok(Leave::Clean(code));
            }
        }
        let next = bridge.next_deadline();
        gate.deadline.set(next.map(|(tick, _)| started + Duration::from_millis(tick.0)));
        gate.paused.set(outbox.bytes() > PAUSE_AT && !bridge.needs_codex());
    }
    Err(RunError::NoInput)
}

fn log(record: &Record<'_>) {
    if tracing::enabled!(tracing::Level::DEBUG) {
        let rule = rules_of(&record.arrival, record.version);
        tracing::debug!(at = record.now.0, ?rule, departures = record.departures.len(), "step");
    }
    for departure in record.departures {
        match departure {
            Departure::Noted(note @ Note::Anomaly(_)) => tracing::warn!(note = note_text(note), "anomaly"),
            Departure::Noted(Note::Dropped { session, why }) => {
                tracing::debug!(%session, ?why, "update without a line");
            }
            Departure::ToClient(line) => tracing::trace!(line = %redact::message(line), "to client"),
            Departure::ToCodex { line, .. } => {
                tracing::trace!(line = %redact::message(line), "to codex");
            }
            Departure::StartCodex(_)
            | Departure::EndCodex(_)
            | Departure::Sweep { .. }
            | Departure::Stop { .. }
            | Departure::Survey { .. }
            | Departure::Watch { .. }
            | Departure::OpenPage(_)
            | Departure::Exit { .. } => {}
        }
    }
}

/// Text that no other run has, for ids that must not repeat.
#[expect(clippy::disallowed_methods, reason = "the core gets the result as a value")]
pub fn nonce() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:x}-{:x}", since.as_nanos(), std::process::id())
}

async fn ended(from_children: &mut Receiver<FromChild>) {
    let drained = async { while from_children.recv().await.is_some() {} };
    if timeout(CHILDREN_END, drained).await.is_err() {
        tracing::error!("codex could not be ended");
    }
}
