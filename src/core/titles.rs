//! `session/set_title`: the title is Codex's name of the thread, open here or not.

use super::Core;
use super::codex::{CodexError, CodexReply, CodexRequest};
use super::effect::Effects;
use super::failure::Failure;
use super::ids::{SessionId, Tick};
use super::inquiry::Inquiry;
use super::link::Purpose;
use super::opening::is_unknown;
use super::request::{Reply, Ticket};

impl Core {
    pub(super) fn set_title(
        &mut self,
        now: Tick,
        ticket: Ticket,
        session: SessionId,
        title: String,
        out: &mut Effects,
    ) {
        if let Err(failure) = self.link.ensure(now, out) {
            return out.refuse(ticket, failure);
        }
        let rename = Inquiry::Rename { thread: self.renewals.thread(&session), name: title.clone() };
        self.link.call(Purpose::Title { ticket, session, title }, CodexRequest::Inquiry(rename), out);
    }

    /// Codex has stored a title, or not.
    pub(super) fn titled(
        &mut self,
        ticket: Ticket,
        session: SessionId,
        title: String,
        result: Result<CodexReply, CodexError>,
        out: &mut Effects,
    ) {
        match result {
            Ok(_) => out.respond(ticket, Reply::Titled(title)),
            // Of an archived thread Codex says the same as of one that never was.
            Err(error) if is_unknown(&error) => {
                let archived = Reply::Failed(Failure::Archived(session.clone()));
                let missing = Failure::UnknownSession(session.clone());
                self.look_on_shelf(ticket, &session, true, (archived, missing), out);
            }
            Err(error) => self.refuse_by_codex(ticket, &session, ("thread/name/set", &error), out),
        }
    }
}
