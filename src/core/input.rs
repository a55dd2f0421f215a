//! Everything that can happen to the core, one at a time.

use super::ask::Answer;
use super::codex::FromCodex;
use super::ids::{AskId, Generation, ItemId, RequestId, SessionId, StopId, WatchId};
use super::request::{ClientProfile, Request, Ticket};
use super::vitals::WatchReport;

/// One input of `Core::step`.
#[derive(Debug, PartialEq)]
pub enum Input {
    /// From the client's wire.
    Client(FromClient),
    /// From the app-server's wire or process.
    Codex(FromCodex),
    /// A line of the app-server came. What was in it, if anybody could read it, is the next input.
    CodexHeard,
    /// The deadline that `Core::next_deadline` named is reached.
    Deadline,
    /// The queue of bytes to the client crossed a mark.
    ClientQueue(Pressure),
    /// A sweep for processes of lost threads is over.
    Swept { generation: Generation, report: SweepReport },
    /// What became of the processes of a command that is being stopped.
    Stop { stop: StopId, report: StopReport },
    /// What a session's commands have running, as an `Effect::Survey` asked.
    Surveyed { session: SessionId, found: Vec<Found> },
    /// What the processes of a listed command do.
    Watched { watch: WatchId, report: WatchReport },
    /// An `Effect::OpenPage` did not work.
    PageNotOpened { why: String },
    /// SIGTERM, SIGINT or SIGHUP reached us; the number becomes the exit code 128+n.
    Signal(i32),
}

/// From the client.
#[derive(Debug, PartialEq)]
pub enum FromClient {
    /// `initialize` succeeded (again): who is there.
    Hello(ClientProfile),
    /// A request that is owed an answer.
    Request { ticket: Ticket, request: Request },
    /// `session/cancel`.
    CancelSession { session: SessionId },
    /// `$/cancel_request` of a request of the client's.
    CancelRequest { request: RequestId },
    /// The answer to one of our asks.
    Answered { ask: AskId, answer: Answer },
    /// stdin ended.
    Eof,
}

/// Fill of the queue to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pressure {
    /// The client does not keep up: hold back output.
    High,
    /// It does again.
    Low,
}

/// What a reach for the processes of a command found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReport {
    /// They were asked to end, with SIGINT (the leader has a tty) or SIGTERM.
    Signalled { with: Gentle, members: u32 },
    /// No living process carries the marker: wiped environment, other user, elsewhere, or ended.
    NotFound,
    /// None of them is alive. `escaped` had left the leader's process group, `killed` took SIGKILL.
    Gone { escaped: u32, killed: u32 },
    /// `left` of them could not be ended.
    Left { left: u32, escaped: u32, killed: u32 },
}

/// The signal that asks a command to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gentle {
    Int,
    Term,
}

/// The living processes of one command, running or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub item: ItemId,
    /// The process that leads them.
    pub pid: u32,
    pub processes: u32,
    /// Of one core, all processes together.
    pub cpu_percent: u32,
    /// Resident bytes, all processes together; what they share is counted for each.
    pub memory: u64,
    /// Seconds since the leader started.
    pub age: u64,
    /// Command line of the leader.
    pub line: String,
}

/// What a sweep found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Processes that were still there and were ended.
    pub ended: u32,
    /// Processes that could not be ended.
    pub left: u32,
}
