//! Threads that Codex had not saved when its app-server ended: the session goes on with another one.
//!
//! Codex saves a thread with its first turn. What a client may know of the thread is the session's id, which stays.

#[cfg(test)]
mod tests;

use super::Core;
use super::codex::{Choices, CodexError, CodexRequest, ThreadOpened};
use super::effect::Effects;
use super::ids::{SessionId, ThreadId, Tick};
use super::link::Purpose;
use super::prompts::refusal;
use super::session::{History, Session, Tie};
use std::collections::BTreeMap;

/// Which session shows which thread, where that is not the thread of the session's id.
#[derive(Debug, Default)]
pub(crate) struct Renewals(BTreeMap<ThreadId, SessionId>);

impl Renewals {
    /// The session that shows `thread`.
    pub(crate) fn session(&self, thread: &ThreadId) -> SessionId {
        self.0.get(thread).cloned().unwrap_or_else(|| SessionId::of(thread))
    }

    /// The thread behind `session`.
    pub(crate) fn thread(&self, session: &SessionId) -> ThreadId {
        let renewed = self.0.iter().find(|(_, shown)| *shown == session);
        renewed.map_or_else(|| session.thread(), |(thread, _)| thread.clone())
    }

    fn add(&mut self, thread: ThreadId, session: &SessionId) {
        self.0.retain(|_, shown| shown != session);
        if SessionId::of(&thread) != *session {
            self.0.insert(thread, session.clone());
        }
    }
}

impl Core {
    /// Whether Codex refused to load a thread because it never saved it: nothing of it is lost with it.
    pub(super) fn is_unsaved(&self, session: &SessionId, result: &Result<ThreadOpened, CodexError>) -> bool {
        let is_blank = self.sessions.get(session).is_some_and(|it| it.is_blank);
        is_blank && result.as_ref().is_err_and(|error| error.message.contains("no rollout"))
    }

    /// Starts another thread for a session; its prompts wait for it.
    pub(super) fn renew(&mut self, now: Tick, session: &SessionId, out: &mut Effects) {
        let choices = Choices { preset: self.settings.preset, ..Default::default() };
        self.with(now, session, out, |session, cx| {
            let request = CodexRequest::ThreadStart {
                cwd: session.place.cwd.clone(),
                roots: session.place.additional_directories.clone(),
                mcp_servers: session.place.mcp_servers.clone(),
                instructions: session.place.instructions.clone(),
                gateway: session.place.gateway.clone(),
                choices,
            };
            cx.link.call(Purpose::Renew { session: session.id.clone() }, request, cx.out);
        });
    }

    pub(super) fn renewed(
        &mut self,
        now: Tick,
        id: &SessionId,
        result: Result<ThreadOpened, CodexError>,
        out: &mut Effects,
    ) {
        match &result {
            Ok(opened) if self.sessions.contains_key(id) => self.renewals.add(opened.thread.clone(), id),
            Ok(opened) => {
                let request = CodexRequest::Unsubscribe { thread: opened.thread.clone() };
                return self.link.call(Purpose::Parting, request, out);
            }
            Err(_) => {}
        }
        self.with(now, id, out, |session, cx| match result {
            Ok(opened) => {
                session.take_thread(&opened);
                session.revived(cx, Ok(opened));
            }
            Err(error) => {
                session.tie = Tie::Unloaded;
                let failure = refusal("thread/start", &error);
                session.locals_lost(cx, &failure, true);
                session.refuse_all(cx, &failure);
            }
        });
    }
}

impl Session {
    fn take_thread(&mut self, opened: &ThreadOpened) {
        self.thread = opened.thread.clone();
        self.chosen.renew(opened);
        // Nothing was ever said in it.
        self.history = History::Known;
    }
}
