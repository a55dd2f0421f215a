//! The ladder of one stop: ask, wait, end, look, report (D5).
//!
//! Pure: events in, acts out. Who sends signals is `reach.rs`; who ends groups is Codex.

#[cfg(test)]
mod tests;

use crate::core::input::{Gentle, StopReport};

/// Milliseconds between the gentle signal and Codex's terminate.
pub(crate) const GRACE: u64 = 3_000;
/// Milliseconds after that in which the last look must be over: the report comes then in any case.
pub(crate) const BOUND: u64 = 2_500;

/// Where a stop stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    stage: Stage,
    members: Members,
    /// The gentle signal that was sent.
    gentle: Option<Gentle>,
    terminate: Terminate,
    /// Codex reported the end of the leader.
    ended: bool,
    /// The hard end is wanted before anybody has looked.
    hurried: bool,
    /// A bound has passed.
    bound: bool,
}

/// Codex's `terminate`: one SIGKILL to the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Terminate {
    No,
    Asked,
    /// Whether it had such a process.
    Answered(bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Asked to end; the grace runs.
    Asked,
    /// The hard end is under way.
    Ending,
    /// Reported: nothing matters any more.
    Reported,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Members {
    /// The first look is not over.
    Sought,
    Alive,
    NotFound,
    Gone {
        escaped: u32,
        killed: u32,
    },
    Left {
        left: u32,
        escaped: u32,
        killed: u32,
    },
}

/// What happens to a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Reached(StopReport),
    /// Codex reported the end of the command.
    Ended,
    /// The grace is over, or the client asked again.
    Hurry,
    /// Codex answered `terminate`: whether it had such a process.
    Terminated(bool),
    /// Nothing is waited for any longer.
    Bound,
}

/// What a stop wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// `backgroundTerminals/terminate`; arm the bound.
    Terminate,
    /// `StopAct::Finish`; arm the bound.
    Finish,
    /// The exit may be told.
    Report,
}

/// What is known of the processes at the report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) gentle: Option<Gentle>,
    /// Codex killed the group, as far as it has said.
    pub(crate) terminated: bool,
    /// None of its processes was found: Codex's end was the only one.
    pub(crate) not_found: bool,
    pub(crate) escaped: u32,
    pub(crate) killed: u32,
    pub(crate) left: u32,
}

impl Plan {
    /// A stop whose `StopAct::Ask` goes out now.
    pub(crate) fn asked() -> Self {
        Self {
            stage: Stage::Asked,
            members: Members::Sought,
            gentle: None,
            terminate: Terminate::No,
            ended: false,
            hurried: false,
            bound: false,
        }
    }

    /// Takes an event; what has to be done, in order.
    pub(crate) fn on(&mut self, event: Event) -> Vec<Act> {
        if self.stage == Stage::Reported {
            return Vec::new();
        }
        let mut acts = match event {
            Event::Reached(report) => self.reached(report),
            Event::Ended => {
                self.ended = true;
                Vec::new()
            }
            // Whoever kills before the first look never learns what has left the group.
            Event::Hurry if self.members == Members::Sought => {
                self.hurried = true;
                Vec::new()
            }
            Event::Hurry => self.end(),
            Event::Terminated(had_it) => {
                if self.terminate == Terminate::Asked {
                    self.terminate = Terminate::Answered(had_it);
                }
                Vec::new()
            }
            Event::Bound => {
                self.bound = true;
                self.end()
            }
        };
        // Without Codex's word there is no exit to tell; the list says what became of it.
        if self.ended && (self.bound || self.is_settled()) {
            acts.push(Act::Report);
            self.stage = Stage::Reported;
        }
        acts
    }

    /// Whether all is known that will be known of the processes.
    fn is_settled(&self) -> bool {
        match self.members {
            Members::Sought | Members::Alive => false,
            // Only Codex's answer tells whether it ended by itself.
            Members::NotFound => self.terminate != Terminate::Asked,
            Members::Gone { .. } | Members::Left { .. } => true,
        }
    }

    /// Whether the exit was told, or may be.
    pub(crate) fn is_reported(&self) -> bool {
        self.stage == Stage::Reported
    }

    pub(crate) fn account(&self) -> Account {
        let (escaped, killed, left) = match self.members {
            Members::Sought | Members::Alive | Members::NotFound => (0, 0, 0),
            Members::Gone { escaped, killed } => (escaped, killed, 0),
            Members::Left { left, escaped, killed } => (escaped, killed, left),
        };
        let not_found = self.members == Members::NotFound;
        let terminated = matches!(self.terminate, Terminate::Asked | Terminate::Answered(true));
        Account { gentle: self.gentle, terminated, not_found, escaped, killed, left }
    }

    fn reached(&mut self, report: StopReport) -> Vec<Act> {
        match report {
            StopReport::Signalled { with, members: _ } => {
                self.gentle = Some(with);
                self.members = Members::Alive;
                if self.hurried { self.end() } else { Vec::new() }
            }
            // Codex can still end what we cannot see.
            StopReport::NotFound => {
                self.members = Members::NotFound;
                self.end()
            }
            StopReport::Gone { escaped, killed } => {
                self.members = Members::Gone { escaped, killed };
                Vec::new()
            }
            StopReport::Left { left, escaped, killed } => {
                self.members = Members::Left { left, escaped, killed };
                Vec::new()
            }
        }
    }

    fn end(&mut self) -> Vec<Act> {
        if self.stage != Stage::Asked {
            return Vec::new();
        }
        self.stage = Stage::Ending;
        let mut acts = Vec::new();
        if !self.ended {
            self.terminate = Terminate::Asked;
            acts.push(Act::Terminate);
        }
        if matches!(self.members, Members::Sought | Members::Alive) {
            acts.push(Act::Finish);
        }
        acts
    }
}
