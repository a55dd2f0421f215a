//! What Codex says of a thread before it answers the request that opens it: a warning, a tool server that is not there.

use super::Core;
use super::codex::Event;
use super::effect::Effects;
use super::ids::Tick;
use super::link::Purpose;

/// So many words are kept; more are lost.
const KEPT: usize = 16;

/// Words about threads that no session shows, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Early(Vec<Event>);

impl Core {
    /// Keeps a word about a thread that may be one of those being opened; gives back every other event.
    pub(super) fn keep_early(&mut self, event: Event) -> Option<Event> {
        let (Event::Warning { thread: Some(thread), .. }
        | Event::Notice { thread: Some(thread), .. }
        | Event::ToolServer { thread, .. }) = &event
        else {
            return Some(event);
        };
        let is_shown = self.sessions.contains_key(&self.renewals.session(thread));
        if is_shown || !self.link.has_pending(Purpose::opens) || self.early.0.len() >= KEPT {
            return Some(event);
        }
        self.early.0.push(event);
        None
    }

    /// A thread is open, or could not be opened: what was kept has its session now, or waits for another answer.
    pub(super) fn tell_early(&mut self, now: Tick, out: &mut Effects) {
        for event in std::mem::take(&mut self.early.0) {
            self.event(now, event, out);
        }
    }

    /// The app-server is gone, and with it every thread that was being opened.
    pub(super) fn forget_early(&mut self) {
        self.early.0.clear();
    }
}

impl Purpose {
    /// Whether the answer brings a thread that a session is going to show.
    pub(crate) fn opens(&self) -> bool {
        matches!(self, Self::Open { .. } | Self::Fork { .. } | Self::Resume { .. })
    }
}
