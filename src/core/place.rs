//! Whether the directory of a session that opens is there: Codex, which would work in it, is asked.
//!
//! Codex itself opens a thread anywhere, and the first command fails.

use super::Core;
use super::codex::{CodexError, CodexReply, CodexRequest};
use super::effect::Effects;
use super::failure::Failure;
use super::ids::{RequestId, SessionId, Tick};
use super::link::Purpose;
use super::request::{Place, Ticket};

impl Core {
    /// Asked before the thread is started or loaded, and answered before it, so that nothing waits for this.
    pub(super) fn look_at_place(&mut self, ticket: &Ticket, place: &Place, out: &mut Effects) {
        let purpose = Purpose::Look { opening: ticket.id().clone() };
        self.link.call(purpose, CodexRequest::LookAt { path: place.cwd.clone() }, out);
    }

    /// What is at the directory of a session that opens.
    pub(super) fn looked_at(
        &mut self,
        now: Tick,
        opening: &RequestId,
        result: Result<CodexReply, CodexError>,
        out: &mut Effects,
    ) {
        if let Some(why) = why_not(result) {
            self.withdraw(now, opening, &Failure::InvalidParams(why.to_owned()), out);
        }
    }

    /// Asked before a fork is called for, which waits for this.
    pub(super) fn look_first(&mut self, ticket: Ticket, session: SessionId, place: Place, out: &mut Effects) {
        let path = place.cwd.clone();
        self.link.call(Purpose::LookFirst { ticket, session, place }, CodexRequest::LookAt { path }, out);
    }

    /// What is at the directory of a fork.
    pub(super) fn looked_first(
        &mut self,
        ticket: Ticket,
        session: SessionId,
        place: Place,
        result: Result<CodexReply, CodexError>,
        out: &mut Effects,
    ) {
        match why_not(result) {
            Some(why) => out.refuse(ticket, Failure::InvalidParams(why.to_owned())),
            None => self.call_fork(ticket, session, place, out),
        }
    }
}

/// Why nothing can work there. What cannot be looked at may be there all the same.
fn why_not(result: Result<CodexReply, CodexError>) -> Option<&'static str> {
    match result {
        Ok(CodexReply::LookedAt { is_directory: false }) => Some("cwd is not a directory"),
        Err(error) if is_missing(&error.message) => Some("cwd does not exist"),
        Ok(_) | Err(_) => None,
    }
}

/// By the number of the system's error: its words are in the language of the system.
fn is_missing(message: &str) -> bool {
    // ENOENT and ERROR_FILE_NOT_FOUND are 2, ERROR_PATH_NOT_FOUND is 3.
    ["(os error 2)", "(os error 3)"].iter().any(|it| message.ends_with(it))
}
