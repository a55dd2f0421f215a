//! Queue of outgoing lines in front of one pipe, with one writer that batches.
//!
//! Putting a line in never waits. Does not decide what is held back: it only reports its fill.

#[cfg(test)]
mod tests;

use crate::core::input::Pressure;
use std::collections::VecDeque;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;

/// As much as a pipe holds by default.
const PIECE: usize = 64 << 10;

/// Sizes in bytes. `low < high < cap < runaway`.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// At this fill the core is told to hold back output.
    pub high: usize,
    /// At this fill it is told to go on.
    pub low: usize,
    /// Beyond this fill a peer that takes nothing for `stall` counts as gone. One that reads, however
    /// slowly, is waited for: a replay may put in more than this at once.
    pub cap: usize,
    pub stall: Duration,
    /// Beyond this fill the peer counts as gone in any case: our memory has an end.
    pub runaway: usize,
    /// Lines are put together into writes of about this size.
    pub batch: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            high: 8 << 20,
            low: 2 << 20,
            cap: 64 << 20,
            stall: Duration::from_secs(30),
            runaway: 512 << 20,
            batch: 256 << 10,
        }
    }
}

/// What the queue has to say. Marks alternate; `Gone` is the last report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// A mark was crossed.
    Fill(Pressure),
    /// Nothing can be delivered any more, and why.
    Gone { reason: String },
}

/// The end where lines go in. Lines after `close` or `Gone` are dropped.
#[derive(Clone, Debug)]
pub struct Outbox(Arc<Shared>);

/// The end that writes; runs until the queue is closed and empty, or the pipe fails.
#[derive(Debug)]
pub struct Writer(Arc<Shared>);

/// A queue with these limits; `reports` hears of its fill and of its end.
pub fn open(limits: Limits, reports: UnboundedSender<Report>) -> (Outbox, Writer) {
    let shared = Arc::new(Shared { limits, reports, state: Mutex::default(), changed: Notify::new() });
    (Outbox(Arc::clone(&shared)), Writer(shared))
}

#[derive(Debug)]
struct Shared {
    limits: Limits,
    reports: UnboundedSender<Report>,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    lines: VecDeque<String>,
    /// Bytes waiting or being written, newlines included.
    bytes: usize,
    is_high: bool,
    /// The peer took nothing for `stall` while it could have.
    is_stalled: bool,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Open,
    /// Takes nothing more; writes what it has.
    Closing,
    Gone,
}

impl Outbox {
    /// Puts in one line, given without its newline.
    pub fn push(&self, line: String) {
        let mut state = self.0.lock();
        if state.phase != Phase::Open {
            return;
        }
        state.bytes += line.len() + 1;
        state.lines.push_back(line);
        if self.0.is_hopeless(&state) {
            self.0.give_up_reading(&mut state);
        } else if state.bytes >= self.0.limits.high && !state.is_high {
            state.is_high = true;
            self.0.report(Report::Fill(Pressure::High));
        }
        self.0.changed.notify_one();
    }

    /// Ends the queue: what is in it is still written, then the pipe is closed.
    pub fn close(&self) {
        let mut state = self.0.lock();
        if state.phase == Phase::Open {
            state.phase = Phase::Closing;
        }
        self.0.changed.notify_one();
    }

    /// Bytes that are not written yet.
    pub fn bytes(&self) -> usize {
        self.0.lock().bytes
    }
}

impl Writer {
    /// Writes to `pipe` until the queue ends.
    pub async fn run(self, mut pipe: impl AsyncWrite + Unpin) {
        let mut batch = Vec::new();
        loop {
            match self.0.take(&mut batch) {
                Taken::Batch => {
                    let written = tokio::select! {
                        written = self.0.write(&mut pipe, &batch) => written,
                        () = self.0.gone() => return,
                    };
                    if let Err(error) = written {
                        let mut state = self.0.lock();
                        return self.0.give_up(&mut state, format!("its pipe failed: {error}"));
                    }
                }
                Taken::Nothing => self.0.changed.notified().await,
                Taken::End => {
                    // The peer may be gone already, and there is nobody left to tell.
                    let _ = pipe.shutdown().await;
                    return;
                }
            }
        }
    }
}

enum Taken {
    Batch,
    Nothing,
    End,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, report: Report) {
        // Nobody listens any more once the loop is over.
        let _ = self.reports.send(report);
    }

    fn give_up(&self, state: &mut State, reason: String) {
        if state.phase == Phase::Gone {
            return;
        }
        state.phase = Phase::Gone;
        state.lines = VecDeque::new();
        state.bytes = 0;
        self.report(Report::Gone { reason });
    }

    fn is_hopeless(&self, state: &State) -> bool {
        state.bytes > self.limits.runaway || (state.is_stalled && state.bytes > self.limits.cap)
    }

    fn give_up_reading(&self, state: &mut State) {
        let n_bytes = state.bytes;
        self.give_up(state, format!("it does not read, and {n_bytes} bytes wait for it"));
    }

    fn take(&self, batch: &mut Vec<u8>) -> Taken {
        batch.clear();
        batch.shrink_to(self.limits.batch);
        let mut state = self.lock();
        while let Some(line) = state.lines.front() {
            if !batch.is_empty() && batch.len() + line.len() >= self.limits.batch {
                break;
            }
            batch.extend_from_slice(line.as_bytes());
            batch.push(b'\n');
            state.lines.pop_front();
        }
        match state.phase {
            Phase::Gone => Taken::End,
            Phase::Open | Phase::Closing if !batch.is_empty() => Taken::Batch,
            Phase::Open => Taken::Nothing,
            Phase::Closing => Taken::End,
        }
    }

    // In pieces, so that a peer that reads slowly is seen to read. Each is flushed: `bytes` must not
    // count as written what still sits in a buffer of ours.
    async fn write(&self, pipe: &mut (impl AsyncWrite + Unpin), batch: &[u8]) -> io::Result<()> {
        for piece in batch.chunks(PIECE) {
            let mut written = pin!(async {
                pipe.write_all(piece).await?;
                pipe.flush().await
            });
            loop {
                match timeout(self.limits.stall, &mut written).await {
                    Ok(result) => break result?,
                    Err(_) => self.stalled(),
                }
            }
            self.written(piece.len());
        }
        Ok(())
    }

    fn stalled(&self) {
        let mut state = self.lock();
        state.is_stalled = true;
        if self.is_hopeless(&state) {
            self.give_up_reading(&mut state);
            self.changed.notify_one();
        }
    }

    fn written(&self, bytes: usize) {
        let mut state = self.lock();
        state.is_stalled = false;
        state.bytes = state.bytes.saturating_sub(bytes);
        if state.is_high && state.bytes <= self.limits.low {
            state.is_high = false;
            self.report(Report::Fill(Pressure::Low));
        }
    }

    async fn gone(&self) {
        while self.lock().phase != Phase::Gone {
            self.changed.notified().await;
        }
    }
}
