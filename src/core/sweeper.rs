//! Sweeps: one at a time, for a lost app-server or for sessions that close.
//!
//! A report names no reason; the order of asking does.

use super::effect::{Effect, Effects};
use super::ids::{Generation, SessionId, ThreadId};
use std::collections::VecDeque;

/// Who waits for a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The app-server is gone.
    Loss,
    /// These sessions close.
    Close(Vec<SessionId>),
}

/// The sweep under way and those that follow.
#[derive(Debug, Default)]
pub(crate) struct Sweeper {
    running: Option<(Generation, Cause)>,
    next: VecDeque<(Generation, Cause, Vec<ThreadId>)>,
}

impl Sweeper {
    /// Asks for a sweep; sessions that close together share one.
    pub(crate) fn sweep(
        &mut self,
        generation: Generation,
        cause: Cause,
        threads: Vec<ThreadId>,
        out: &mut Effects,
    ) {
        match (self.next.back_mut(), cause) {
            (Some((waiting, Cause::Close(sessions), others)), Cause::Close(more))
                if *waiting == generation =>
            {
                sessions.extend(more);
                others.extend(threads);
            }
            (_, cause) => self.next.push_back((generation, cause, threads)),
        }
        self.start(out);
    }

    /// A report is here: who waited for it. `None` if nobody does any more.
    pub(crate) fn swept(&mut self, generation: Generation, out: &mut Effects) -> Option<Cause> {
        match self.running.take() {
            Some((running, cause)) if running == generation => {
                self.start(out);
                Some(cause)
            }
            other => {
                self.running = other;
                None
            }
        }
    }

    /// No report will come of this app-server's sweeps.
    pub(crate) fn give_up(&mut self, generation: Generation) -> Vec<Cause> {
        let is_its = |it: Generation| it == generation;
        let mut causes = Vec::new();
        if let Some((_, cause)) = self.running.take_if(|(it, _)| is_its(*it)) {
            causes.push(cause);
        }
        for (it, cause, threads) in std::mem::take(&mut self.next) {
            match is_its(it) {
                true => causes.push(cause),
                false => self.next.push_back((it, cause, threads)),
            }
        }
        causes
    }

    fn start(&mut self, out: &mut Effects) {
        if self.running.is_some() {
            return;
        }
        if let Some((generation, cause, threads)) = self.next.pop_front() {
            let whole = cause == Cause::Loss;
            self.running = Some((generation, cause));
            out.push(Effect::Sweep { generation, threads, whole });
        }
    }
}
