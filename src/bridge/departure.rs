//! What the bridge wants done, in the order it must be done.

use crate::acp::dropped::Dropped;
use crate::core::effect::{Anomaly, StopAct};
use crate::core::ids::{Generation, SessionId, StopId, ThreadId, WatchId};
use crate::core::vitals::WatchAct;

/// One thing to do. Lines come without their newline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Departure {
    /// Write a line to the client.
    ToClient(String),
    /// Write a line to this app-server.
    ToCodex { generation: Generation, line: String },
    /// Start the app-server.
    StartCodex(Generation),
    /// End the app-server.
    EndCodex(Generation),
    /// End what these threads left running; `whole`: and all else that the app-server has started.
    Sweep { generation: Generation, threads: Vec<ThreadId>, whole: bool },
    /// Reach for the processes of a command.
    Stop { stop: StopId, act: StopAct },
    /// Look at what the commands of a thread have running.
    Survey { session: SessionId, thread: ThreadId },
    /// Watch the processes of a command, or no longer.
    Watch { watch: WatchId, act: WatchAct },
    /// Open a page in the browser of this machine.
    OpenPage(String),
    /// Leave, once everything before is written.
    Exit { code: i32 },
    /// Nothing to do, but worth knowing.
    Noted(Note),
}

/// What is written down and changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Something did not fit.
    Anomaly(Anomaly),
    /// An update made no line for this client.
    Dropped { session: SessionId, why: Dropped },
}
