//! `session/fork`: a session that begins with the history of another one.
//!
//! Codex copies what was said and nothing that runs: no command, no goal, no queue (V2-74).

use super::Core;
use super::account::Opening;
use super::answers::thread_opened;
use super::codex::{CodexError, CodexReply, CodexRequest};
use super::effect::Effects;
use super::ids::{SessionId, Tick};
use super::link::Purpose;
use super::request::{Place, Ticket};
use super::session::{History, Session};

impl Core {
    pub(super) fn fork_session(
        &mut self,
        now: Tick,
        ticket: Ticket,
        session: SessionId,
        place: Place,
        out: &mut Effects,
    ) {
        if let Err(failure) = self.link.ensure(now, out) {
            return out.refuse(ticket, failure);
        }
        self.admit(now, Opening::Fork { ticket, session, place }, out);
    }

    pub(super) fn call_fork(
        &mut self,
        ticket: Ticket,
        session: SessionId,
        mut place: Place,
        out: &mut Effects,
    ) {
        place.gateway.clone_from(&self.account.gateway);
        let request = CodexRequest::ThreadFork {
            thread: self.renewals.thread(&session),
            cwd: place.cwd.clone(),
            roots: place.additional_directories.clone(),
            mcp_servers: place.mcp_servers.clone(),
            instructions: place.instructions.clone(),
            gateway: place.gateway.clone(),
        };
        self.link.call(Purpose::Fork { ticket, session, place }, request, out);
    }

    pub(super) fn forked(
        &mut self,
        now: Tick,
        ticket: Ticket,
        source: &SessionId,
        place: Place,
        result: Result<CodexReply, CodexError>,
        out: &mut Effects,
    ) {
        let opened = match thread_opened(result) {
            Ok(opened) => opened,
            // Codex saves a thread with its first turn: without one, a new session is the same.
            result if self.is_unsaved(source, &result) => {
                return self.admit(now, Opening::New { ticket, place }, out);
            }
            Err(error) => return self.refuse_by_codex(ticket, source, ("thread/fork", &error), out),
        };
        let mut session = Session::new(&opened, place, History::Unread);
        if let Some(source) = self.sessions.get(source) {
            session.chosen = source.chosen.forked(&opened);
        }
        self.welcome(now, ticket, session, out);
    }
}
