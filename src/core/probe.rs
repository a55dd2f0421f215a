//! Has the app-server hung? Decided by silence and a probe, never by how long something takes (D10).
//!
//! Owns the silence and its one timer. Knows neither sessions nor what is awaited.

use super::Core;
use super::codex::CodexRequest;
use super::effect::{Effect, Effects};
use super::ids::{Generation, Tick};
use super::leaving::Loss;
use super::link::Purpose;
use super::timer::Timer;

/// So long a call may be unanswered and nothing at all be heard before Codex is probed, in ms.
const SILENCE: u64 = 15_000;
/// So long after a probe something has to be heard, in ms.
const ANSWER: u64 = 10_000;
/// A verdict that comes so much too late finds that we stood still ourselves, in ms.
const LATE: u64 = 1_000;
/// So long the end of a hung process may take before we go on without, in ms. Its killing takes 2.5 s.
const END: u64 = 5_000;

/// What is known of the silence of one app-server.
#[derive(Debug)]
pub(crate) struct Watch {
    generation: Generation,
    state: State,
    /// A `Timer::Silence` is under way. There is at most one.
    is_armed: bool,
}

#[derive(Debug)]
enum State {
    /// No call is unanswered.
    Unasked,
    /// Calls are unanswered, and nothing was heard since.
    Silent { since: Tick },
    /// A probe is out.
    Probed { since: Tick, at: Tick },
    /// Given up, and being ended.
    Hung { at: Tick, observed: String },
}

/// What the one timer comes to.
enum Wake {
    Nothing,
    Again(Tick),
    Probe {
        since: Tick,
    },
    Hung {
        since: Tick,
    },
    /// It was to be ended, and is still there.
    Unended,
}

impl Default for Watch {
    fn default() -> Self {
        Self { generation: Generation(0), state: State::Unasked, is_armed: false }
    }
}

impl Watch {
    /// A line came, whatever was in it.
    fn heard(&mut self, now: Tick) {
        match &mut self.state {
            State::Silent { since } => *since = now,
            State::Probed { .. } => self.state = State::Silent { since: now },
            State::Unasked | State::Hung { .. } => {}
        }
    }

    /// Looks at what a step has changed. Returns when to wake, if no timer is under way yet.
    ///
    /// An answer is a line: while calls are unanswered, the oldest of them was sent before `since`.
    fn look(&mut self, now: Tick, generation: Generation, is_asked: bool) -> Option<Tick> {
        if generation != self.generation {
            (self.generation, self.state) = (generation, State::Unasked);
        }
        if !is_asked {
            self.state = State::Unasked;
            return None;
        }
        if let State::Unasked = self.state {
            self.state = State::Silent { since: now };
        }
        let is_armed = std::mem::replace(&mut self.is_armed, true);
        (!is_armed).then(|| now.plus(SILENCE))
    }

    fn woken(&mut self, now: Tick) -> Wake {
        let (due, wake) = match self.state {
            State::Unasked => (now, Wake::Nothing),
            State::Silent { since } => (since.plus(SILENCE), Wake::Probe { since }),
            // The answer may be in the pipe, unread by us who slept: it is asked for again.
            State::Probed { since, at } if now > at.plus(ANSWER + LATE) => (now, Wake::Probe { since }),
            State::Probed { since, at } => (at.plus(ANSWER), Wake::Hung { since }),
            State::Hung { at, .. } => (at.plus(END), Wake::Unended),
        };
        if due > now { Wake::Again(due) } else { wake }
    }

    /// What was observed of an app-server that hung, read before "; ".
    pub(crate) fn observed(&self) -> Option<&str> {
        match &self.state {
            State::Hung { observed, .. } => Some(observed),
            State::Unasked | State::Silent { .. } | State::Probed { .. } => None,
        }
    }
}

impl Core {
    /// A line of the app-server came, also one that nobody could read.
    pub(super) fn codex_heard(&mut self, now: Tick) {
        self.link.watch.heard(now);
    }

    /// After each step: begins and ends the watch.
    pub(super) fn watch_codex(&mut self, now: Tick) {
        let (generation, is_asked) = (self.link.generation(), self.link.awaited().is_some());
        if let Some(at) = self.link.watch.look(now, generation, is_asked) {
            self.timers.arm(at, Timer::Silence);
        }
    }

    /// The timer of the watch.
    pub(super) fn silence(&mut self, now: Tick, out: &mut Effects) {
        let generation = self.link.generation();
        let next = match self.link.watch.woken(now) {
            Wake::Nothing => None,
            Wake::Again(due) => Some(due),
            Wake::Probe { since } => {
                // Answered within 2 ms, measured with 0.171.0: idle, in a turn, while thread/start waits
                // for an MCP server, and while thread/resume reads 70 MB. Before `initialize` with an error.
                self.link.call_at_once(Purpose::Probe, CodexRequest::LoadedList, out);
                self.link.watch.state = State::Probed { since, at: now };
                Some(now.plus(ANSWER))
            }
            Wake::Hung { since } => {
                let observed = format!(
                    "the codex app-server hung: {} was not answered, nothing else came from it for {} s, and \
                     no answer to a probe",
                    self.link.awaited().unwrap_or("a request"),
                    now.0.saturating_sub(since.0) / 1000,
                );
                self.link.watch.state = State::Hung { at: now, observed };
                // Its end is waited for: a thread has one writer, and until then that is the hung one.
                out.push(Effect::EndCodex { generation });
                Some(now.plus(END))
            }
            Wake::Unended => {
                let observed = self.link.watch.observed().unwrap_or_default();
                let message = format!("{observed}; it could not be ended; the next prompt starts another");
                self.lost(now, generation, Loss { message, stderr: None, was_running: true }, out);
                None
            }
        };
        self.link.watch.is_armed = next.is_some();
        if let Some(at) = next {
            self.timers.arm(at, Timer::Silence);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Watch;
    use crate::core::ids::{Generation, Tick};

    #[test]
    fn neither_lines_nor_calls_arm_a_second_timer() {
        let mut watch = Watch::default();
        let mut n_armed = 0;
        for tick in (0..10_000).map(Tick) {
            watch.heard(tick);
            n_armed += usize::from(watch.look(tick, Generation(1), tick.0 % 3 != 0).is_some());
        }
        assert_eq!(n_armed, 1);
    }
}
