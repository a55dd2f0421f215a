//! Deadlines of the core: what has to be looked at again, when, and why.
//!
//! A timer is never cancelled: whoever it wakes checks whether it still matters.

use super::ids::{CodexCallId, Generation, ItemId, PromptKey, SessionId, StopId, ThreadId, Tick, TurnId};
use std::collections::BTreeMap;

/// Something to look at later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// Output of a command waits to be sent.
    Flush { session: SessionId, item: ItemId },
    /// A command was missing from a complete list.
    Recheck { session: SessionId },
    /// A listed command cannot be watched: only Codex's list can tell of its end.
    Unwatchable { session: SessionId },
    /// A cancelled turn waits for the ends of its commands.
    TurnBound { session: SessionId, turn: TurnId },
    /// The grace of a stop is over.
    Grace { stop: StopId },
    /// The last look of a stop must be over.
    StopBound { stop: StopId },
    /// A cancelled turn has not shown that it runs: it is interrupted all the same.
    Interrupt { session: SessionId },
    /// Codex calls the thread idle, but no end of the turn came.
    QuietTurn { session: SessionId, turn: TurnId },
    /// A local prompt waits for a look at what runs.
    Survey { session: SessionId },
    /// A local prompt waits for Codex.
    Local { session: SessionId, key: PromptKey },
    /// A message left the queue, or a turn of a stopped goal may come.
    Standing { session: SessionId },
    /// Background work ended a moment ago: the model is woken.
    Wake { session: SessionId },
    /// A closing session waits for the ends of its work.
    CloseBound { session: SessionId },
    /// Codex could not read a thread yet.
    ReadAgain { thread: ThreadId },
    /// A thread that nobody has announced waits.
    Announcement { thread: ThreadId },
    /// Session answers wait for the permission profiles of this directory.
    Profiles { cwd: String },
    /// Session answers wait for the model list.
    Models,
    /// Sessions wait for `account/read` number `read`.
    Account { read: u32 },
    /// Nobody is signed in, and Codex may not have noticed yet that somebody is.
    LookAgain,
    /// Codex had no time for a call.
    Again { call: CodexCallId },
    /// A sweep gives no report.
    SweepBound { generation: Generation },
    /// We are leaving, and some session does not close.
    LeaveBound,
    /// The app-server does not end.
    EndBound,
    /// The app-server was asked something and is silent.
    Silence,
    /// The connection to an app-server was lost: it is looked for.
    Reconnect,
}

impl Timer {
    fn reason(&self) -> &'static str {
        match self {
            Self::Flush { .. } => "output waits to be sent",
            Self::Recheck { .. } => "a command was missing from the list",
            Self::Unwatchable { .. } => "a listed command cannot be watched",
            Self::TurnBound { .. } => "a cancelled turn waits for its commands",
            Self::Grace { .. } => "a stopped command has its grace",
            Self::StopBound { .. } => "the last look at a stopped command is awaited",
            Self::Interrupt { .. } => "a cancelled turn has not shown that it runs",
            Self::QuietTurn { .. } => "the thread is idle without an end of its turn",
            Self::Survey { .. } => "a look at what runs is awaited",
            Self::Local { .. } => "codex is asked for a local prompt",
            Self::Standing { .. } => "a turn of a queued message or of a stopped goal is awaited",
            Self::Wake { .. } => "the model is woken by what ended",
            Self::CloseBound { .. } => "a closing session waits for its work",
            Self::ReadAgain { .. } => "codex could not read the thread of a subagent yet",
            Self::Announcement { .. } => "a subagent waits to be announced",
            Self::Profiles { .. } => "permission profiles are awaited",
            Self::Models => "the model list is awaited",
            Self::Account { .. } => "the account is awaited",
            Self::LookAgain => "somebody may have signed in elsewhere",
            Self::Again { .. } => "a call that codex had no time for is made again",
            Self::SweepBound { .. } => "a sweep is awaited",
            Self::LeaveBound => "the sessions are closing before we leave",
            Self::EndBound => "the end of the app-server is awaited",
            Self::Silence => "the app-server was asked and is silent",
            Self::Reconnect => "a lost connection is tried again",
        }
    }
}

/// All deadlines, in order.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    armed: BTreeMap<(Tick, u64), Timer>,
    seq: u64,
}

impl Timers {
    /// Wakes the core for `timer` at `at`.
    pub(crate) fn arm(&mut self, at: Tick, timer: Timer) {
        self.seq += 1;
        self.armed.insert((at, self.seq), timer);
    }

    /// Takes the next timer that is due.
    pub(crate) fn due(&mut self, now: Tick) -> Option<Timer> {
        let entry = self.armed.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }

    /// The next deadline and its reason.
    pub(crate) fn next(&self) -> Option<(Tick, &'static str)> {
        self.armed.first_key_value().map(|((at, _), timer)| (*at, timer.reason()))
    }
}
