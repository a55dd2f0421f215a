//! Requests that come to nothing while they are under way: the client cancels them, or their directory is not there.
//!
//! What such a request began is undone: nothing is open that was not, and what was held back is told. What cannot
//! be undone (a deletion, a title) goes on, and is answered as ever (V2-06).

use super::Core;
use super::account::Opening;
use super::codex::{CodexError, CodexReply, CodexRequest};
use super::effect::{Anomaly, Effects};
use super::failure::Failure;
use super::ids::{RequestId, ThreadId, Tick};
use super::link::{Link, Purpose};
use super::opening::Resuming;
use super::request::{Shelf, Ticket};

/// A thread that comes for a request which is refused by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unwanted {
    /// Codex has not saved it.
    New,
    /// A copy, which Codex has saved.
    Copy,
    /// It was deleted, as far as we are concerned.
    Gone,
}

impl Core {
    /// `$/cancel_request`.
    pub(super) fn cancel_request(&mut self, now: Tick, request: &RequestId, out: &mut Effects) {
        if self.cancel_waiting(now, request, out) || self.withdraw(now, request, &Failure::Cancelled, out) {
            return;
        }
        let (sessions, mut cx) = self.split(now, out);
        for session in sessions.values_mut() {
            if session.cancel_request(&mut cx, request) {
                return;
            }
        }
    }

    /// Refuses a request that opens or lists sessions; `false` if none of those that are under way has this id.
    pub(super) fn withdraw(
        &mut self,
        now: Tick,
        request: &RequestId,
        failure: &Failure,
        out: &mut Effects,
    ) -> bool {
        if let Some(ticket) = self.link.give_up(request) {
            out.refuse(ticket, failure.clone());
            return true;
        }
        self.withdraw_welcome(request, failure, out) || self.withdraw_resume(now, request, failure, out)
    }

    /// One whose session is there already, and only its answer is not.
    fn withdraw_welcome(&mut self, request: &RequestId, failure: &Failure, out: &mut Effects) -> bool {
        let Some(at) = self.unanswered.iter().position(|(ticket, _)| ticket.id() == request) else {
            return false;
        };
        let (ticket, id) = self.unanswered.remove(at);
        out.refuse(ticket, failure.clone());
        if let Some(session) = self.sessions.get(&id) {
            let unwanted = if session.is_blank { Unwanted::New } else { Unwanted::Copy };
            self.link.put_away(session.thread.clone(), unwanted, out);
            self.desk.closed.push(id);
        }
        true
    }

    fn withdraw_resume(
        &mut self,
        now: Tick,
        request: &RequestId,
        failure: &Failure,
        out: &mut Effects,
    ) -> bool {
        let is_its = |resuming: &Resuming| resuming.request_id() == Some(request);
        if let Some(at) = self.late_resumes.iter().position(|(_, resuming)| is_its(resuming)) {
            let (_, resuming) = self.late_resumes.remove(at);
            resuming.refuse(failure.clone(), out);
            return true;
        }
        let arriving = self.arriving.iter().find(|(_, resuming)| is_its(resuming));
        if let Some(session) = arriving.map(|(session, _)| session.clone()) {
            let is_it = |opening: &Opening| matches!(opening, Opening::Resume(it) if *it == session);
            self.account.held().retain(|opening| !is_it(opening));
            self.refuse_arriving(&session, failure, out);
            return true;
        }
        let (sessions, mut cx) = self.split(now, out);
        for session in sessions.values_mut() {
            if let Some(resuming) = session.resuming.take_if(|it| is_its(it)) {
                session.resume_failed(&mut cx, resuming, failure.clone());
                return true;
            }
        }
        false
    }

    /// A thread was started or copied for a request that is refused by now.
    pub(super) fn unwanted(
        &mut self,
        unwanted: Unwanted,
        result: Result<CodexReply, CodexError>,
        out: &mut Effects,
    ) {
        match result {
            Ok(CodexReply::ThreadOpened(opened)) => self.link.put_away(opened.thread, unwanted, out),
            // A list that nobody waits for brings none.
            Ok(_) => {}
            Err(error) if unwanted == Unwanted::Gone => {
                out.anomaly(Anomaly::CodexRefused { method: "thread/delete", message: error.message });
            }
            Err(_) => {}
        }
    }
}

impl Link {
    /// Whoever asked for a thread or a list waits no longer; `None` if this request does not wait for one here.
    fn give_up(&mut self, request: &RequestId) -> Option<Ticket> {
        let found = self.awaited_by(request)?;
        let is_copy = matches!(found, Purpose::Fork { .. });
        let unwanted = if is_copy { Unwanted::Copy } else { Unwanted::New };
        let former = std::mem::replace(found, Purpose::Unwanted(unwanted));
        if let Purpose::Open { ticket, .. }
        | Purpose::LookFirst { ticket, .. }
        | Purpose::Fork { ticket, .. }
        | Purpose::ListThreads { ticket, .. } = former
        {
            Some(ticket)
        } else {
            None
        }
    }

    /// Lets go of a thread that nobody wanted.
    fn put_away(&mut self, thread: ThreadId, unwanted: Unwanted, out: &mut Effects) {
        let (purpose, request) = match unwanted {
            Unwanted::New => (Purpose::Parting, CodexRequest::Unsubscribe { thread }),
            Unwanted::Copy | Unwanted::Gone => {
                let delete = CodexRequest::ThreadPut { thread, shelf: Shelf::Deleted };
                (Purpose::Unwanted(Unwanted::Gone), delete)
            }
        };
        self.call(purpose, request, out);
    }

    /// Whether a copy that nobody wanted may still be there.
    pub(crate) fn has_unwanted_copies(&self) -> bool {
        self.has_pending(|it| matches!(it, Purpose::Unwanted(Unwanted::Copy | Unwanted::Gone)))
    }
}

impl Purpose {
    /// The request that waits, if it can be given up.
    pub(crate) fn is_given_up_by(&self, request: &RequestId) -> bool {
        if let Self::Open { ticket, .. }
        | Self::LookFirst { ticket, .. }
        | Self::Fork { ticket, .. }
        | Self::ListThreads { ticket, .. } = self
        {
            ticket.id() == request
        } else {
            false
        }
    }
}
