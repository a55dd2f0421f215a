//! Everything that can happen, merged into one stream.
//!
//! Owns the order of precedence: signals and the client before Codex. Does no work on an event.

#[cfg(test)]
mod tests;

use super::event::Event;
use crate::child::FromChild;
use crate::queue::Report;
use crate::transport::{CLIENT_LINE_MAX, Lines, READ};
use async_stream::stream;
use std::cell::Cell;
use std::io;
use std::rc::Rc;
use tokio::io::AsyncRead;
use tokio::sync::mpsc::{Receiver, UnboundedReceiver};
use tokio::time::{Instant, sleep_until};
use tokio_stream::{Stream, StreamExt};
use tokio_util::codec::FramedRead;

/// What the loop tells the stream between two events.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    pub(crate) deadline: Cell<Option<Instant>>,
    /// Codex is not read for now.
    pub(crate) paused: Cell<bool>,
}

/// Where events come from, besides signals.
pub(crate) struct Sources<'a, C> {
    /// What the client writes.
    pub(crate) client: C,
    pub(crate) reported: UnboundedReceiver<Report>,
    pub(crate) happened: UnboundedReceiver<Event>,
    pub(crate) from_children: &'a mut Receiver<FromChild>,
}

/// The stream of all events. It says `ClientEof` once, whichever side of the client ends first.
///
/// # Errors
/// If the signal handlers cannot be set.
pub(crate) fn merge<C: AsyncRead + Unpin>(
    sources: Sources<'_, C>,
    gate: Rc<Gate>,
) -> io::Result<impl Stream<Item = Event>> {
    let Sources { client, mut reported, mut happened, from_children } = sources;
    let mut signals = signals::Signals::listen()?;
    let mut client = FramedRead::with_capacity(client, Lines::capped(CLIENT_LINE_MAX), READ);
    let mut has_client = true;
    Ok(stream! {
        loop {
            let event = tokio::select! {
                biased;
                number = signals.next() => Event::Signal(number),
                frame = client.next(), if has_client => match frame {
                    Some(Ok(frame)) => Event::of_client(frame),
                    Some(Err(error)) => {
                        tracing::info!(%error, "stdin failed");
                        Event::ClientEof
                    }
                    None => Event::ClientEof,
                },
                Some(report) = reported.recv() => match report {
                    Report::Gone { reason } => {
                        tracing::warn!(reason, "the client is gone");
                        if !has_client {
                            continue;
                        }
                        Event::ClientEof
                    }
                    Report::Fill(pressure) => Event::ClientQueue(pressure),
                },
                Some(event) = happened.recv() => event,
                () = until(gate.deadline.get()) => Event::Deadline,
                Some(event) = from_children.recv(), if !gate.paused.get() => Event::Child(event),
            };
            has_client &= !matches!(event, Event::ClientEof);
            yield event;
        }
    })
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        // A timer fires only when the runtime gets to it, which a talkative Codex can put off.
        Some(deadline) if deadline <= Instant::now() => {}
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

#[cfg(unix)]
mod signals {
    use tokio::signal::unix::{Signal, SignalKind, signal};

    /// SIGTERM, SIGINT and SIGHUP of ours.
    pub(super) struct Signals {
        term: Signal,
        int: Signal,
        hup: Signal,
    }

    impl Signals {
        pub(super) fn listen() -> std::io::Result<Self> {
            Ok(Self {
                term: signal(SignalKind::terminate())?,
                int: signal(SignalKind::interrupt())?,
                hup: signal(SignalKind::hangup())?,
            })
        }

        pub(super) async fn next(&mut self) -> i32 {
            tokio::select! {
                biased;
                Some(()) = self.term.recv() => SignalKind::terminate().as_raw_value(),
                Some(()) = self.int.recv() => SignalKind::interrupt().as_raw_value(),
                Some(()) = self.hup.recv() => SignalKind::hangup().as_raw_value(),
                else => std::future::pending().await,
            }
        }
    }
}

#[cfg(not(unix))]
mod signals {
    /// Ctrl-C of our console, which counts as SIGINT.
    pub(super) struct Signals;

    impl Signals {
        pub(super) fn listen() -> std::io::Result<Self> {
            Ok(Self)
        }

        pub(super) async fn next(&mut self) -> i32 {
            match tokio::signal::ctrl_c().await {
                Ok(()) => 2,
                Err(_) => std::future::pending().await,
            }
        }
    }
}
