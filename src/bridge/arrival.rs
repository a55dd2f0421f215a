//! What reaches the bridge: lines, and what happened around them.
//!
//! Borrows everything, so that a trace, a test and the loop can all offer what they hold.

use crate::core::ids::{Generation, SessionId, StopId, WatchId};
use crate::core::input::{Found, Pressure, StopReport, SweepReport};
use crate::core::vitals::WatchReport;
use crate::envelope::remains::Remains;

/// One thing that happened. Lines come without their line ending.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrival<'a> {
    /// A line of the client.
    ClientLine(&'a [u8]),
    /// A line of the client was longer than `transport::CLIENT_LINE_MAX` and is lost; this is known of it.
    ClientOversized(&'a Remains),
    /// The client closed our stdin, or cannot be written to any more.
    ClientEof,
    /// A line of Codex.
    CodexLine { generation: Generation, line: &'a [u8] },
    /// A line of Codex was longer than `transport::CODEX_LINE_MAX` and is lost.
    CodexOversized { generation: Generation },
    /// Codex could not be started.
    CodexNotStarted { generation: Generation, message: &'a str },
    /// Codex is gone and reaped.
    CodexDied { generation: Generation, how: &'a str, stderr: Option<&'a str> },
    /// The deadline that `Bridge::next_deadline` named is reached.
    Deadline,
    /// The queue to the client crossed a mark.
    ClientQueue(Pressure),
    /// A sweep is over.
    Swept { generation: Generation, report: SweepReport },
    /// What became of the processes of a command that is being stopped.
    Stop { stop: StopId, report: StopReport },
    /// A survey of what runs is over.
    Surveyed { session: &'a SessionId, found: &'a [Found] },
    /// What the processes of a listed command do.
    Watched { watch: WatchId, report: WatchReport },
    /// A page could not be opened.
    PageNotOpened(&'a str),
    /// A signal reached us.
    Signal(i32),
}
