//! Sessions that are listed and put away: `session/list`, `delete`, `archive`, `unarchive`.
//!
//! One that is open is closed first, with everything it runs (D8). What Codex then does to its thread is one call.

use super::Core;
use super::beginning::title_as_typed;
use super::codex::{CodexError, CodexReply, CodexRequest};
use super::cx::Cx;
use super::effect::Effects;
use super::failure::Failure;
use super::ids::{SessionId, Tick};
use super::link::{Link, Purpose};
use super::opening::{is_held, is_unknown, open_failure};
use super::request::{Archived, Reply, SessionEntry, Shelf, Ticket};
use super::session::Session;
use super::update::Severity;

/// Sessions per page of `session/list`.
const LIST_PAGE: u32 = 50;
/// How the cursor of a page of archived sessions begins, in a list of both.
const ARCHIVED: &str = "archived:";

impl Core {
    pub(super) fn list_sessions(
        &mut self,
        now: Tick,
        ticket: Ticket,
        cwd: Option<String>,
        cursor: Option<String>,
        archived: Archived,
        out: &mut Effects,
    ) {
        if let Err(failure) = self.link.ensure(now, out) {
            return out.refuse(ticket, failure);
        }
        let (of_archived, cursor) = match (archived, cursor) {
            (Archived::Exclude, cursor) => (false, cursor),
            (Archived::Only, cursor) => (true, cursor),
            (Archived::Include, cursor) => match cursor.as_deref().and_then(|it| it.strip_prefix(ARCHIVED)) {
                Some(rest) => (true, Some(rest.to_owned()).filter(|it| !it.is_empty())),
                None => (false, cursor),
            },
        };
        let request = CodexRequest::ThreadList { cwd, cursor, limit: LIST_PAGE, archived: of_archived };
        self.link.call(Purpose::ListThreads { ticket, archived, of_archived }, request, out);
    }

    pub(super) fn sessions_listed(
        &mut self,
        ticket: Ticket,
        archived: Archived,
        of_archived: bool,
        result: Result<CodexReply, CodexError>,
        out: &mut Effects,
    ) {
        let (threads, next) = match result {
            Ok(CodexReply::Threads { threads, next }) => (threads, next),
            Ok(_) => return out.refuse(ticket, open_failure("thread/list", None, &CodexError::unexpected())),
            Err(error) if error.message.contains("cursor") => {
                let message = "unknown cursor; start again without one".to_owned();
                return out.refuse(ticket, Failure::InvalidParams(message));
            }
            Err(error) => return out.refuse(ticket, open_failure("thread/list", None, &error)),
        };
        let next = match (archived, of_archived) {
            (Archived::Exclude | Archived::Only, _) => next,
            (Archived::Include, false) => next.or_else(|| Some(ARCHIVED.to_owned())),
            (Archived::Include, true) => next.map(|it| format!("{ARCHIVED}{it}")),
        };
        let sessions = threads
            .into_iter()
            .map(|it| SessionEntry {
                session: self.renewals.session(&it.thread),
                cwd: it.cwd,
                title: it.title.map(title_as_typed),
                updated_at: it.updated_at,
                is_archived: of_archived,
            })
            .collect();
        out.respond(ticket, Reply::Sessions { sessions, next });
    }

    /// `session/delete`, `session/archive`, `session/unarchive`.
    pub(super) fn shelve(
        &mut self,
        now: Tick,
        ticket: Ticket,
        session: SessionId,
        shelf: Shelf,
        out: &mut Effects,
    ) {
        let is_open = match shelf {
            Shelf::Deleted | Shelf::Archive => {
                self.give_up_resume(now, &session, out);
                self.cancel_all_barred(now, &session, out);
                self.sessions.contains_key(&session)
            }
            Shelf::Open => false,
        };
        if !is_open {
            return self.put(now, ticket, session, shelf, out);
        }
        self.shelving.entry(session.clone()).or_default().push((ticket, shelf));
        self.close_tree(now, &session, None, out);
    }

    /// A session is closed: what waited for that goes on.
    pub(super) fn shelve_closed(&mut self, now: Tick, session: &SessionId, out: &mut Effects) {
        for (ticket, shelf) in self.shelving.remove(session).into_iter().flatten() {
            self.put(now, ticket, session.clone(), shelf, out);
        }
    }

    fn put(&mut self, now: Tick, ticket: Ticket, session: SessionId, shelf: Shelf, out: &mut Effects) {
        if let Err(failure) = self.link.ensure(now, out) {
            return out.refuse(ticket, failure);
        }
        let request = CodexRequest::ThreadPut { thread: self.renewals.thread(&session), shelf };
        self.link.call(Purpose::Shelve { ticket, session, shelf }, request, out);
    }

    pub(super) fn shelved(
        &mut self,
        ticket: Ticket,
        session: SessionId,
        shelf: Shelf,
        result: Result<CodexReply, CodexError>,
        out: &mut Effects,
    ) {
        let error = match result {
            Ok(_) => return out.respond(ticket, Reply::Shelved),
            Err(error) => error,
        };
        match shelf {
            // It is gone, which is what was asked for.
            Shelf::Deleted if is_unknown(&error) => out.respond(ticket, Reply::Shelved),
            // It may be there already: Codex says the same of that.
            // And whoever writes a thread keeps Codex from looking, ourselves included.
            Shelf::Archive | Shelf::Open
                if is_unknown(&error) || (shelf == Shelf::Open && is_held(&error)) =>
            {
                let missing = open_failure(shelf.method(), Some(&session), &error);
                let is_archive = shelf == Shelf::Archive;
                self.look_on_shelf(ticket, &session, is_archive, (Reply::Shelved, missing), out);
            }
            Shelf::Deleted if error.message.contains("still references it") => {
                out.refuse(ticket, Failure::HasForks(session));
            }
            Shelf::Deleted | Shelf::Archive | Shelf::Open => {
                self.refuse_by_codex(ticket, &session, (shelf.method(), &error), out);
            }
        }
    }

    /// Refuses what Codex refused. One that is being deleted cannot be read: it is gone, and not damaged.
    pub(super) fn refuse_by_codex(
        &mut self,
        ticket: Ticket,
        session: &SessionId,
        (method, error): (&'static str, &CodexError),
        out: &mut Effects,
    ) {
        let failure = open_failure(method, Some(session), error);
        if !matches!(failure, Failure::Damaged { .. }) {
            return out.refuse(ticket, failure);
        }
        let missing = Failure::UnknownSession(session.clone());
        match self.link.is_deleting(session) {
            true => out.refuse(ticket, missing),
            false => self.look_on_shelf(ticket, session, false, (Reply::Failed(failure), missing), out),
        }
    }

    /// Looks for a session among the archived or the others: if it is there, `found` is the answer, else `missing`.
    pub(super) fn look_on_shelf(
        &mut self,
        ticket: Ticket,
        session: &SessionId,
        archived: bool,
        (found, missing): (Reply, Failure),
        out: &mut Effects,
    ) {
        let request = CodexRequest::ThreadFind { thread: self.renewals.thread(session), archived };
        self.link.call(Purpose::Find { ticket, found: Box::new(found), missing }, request, out);
    }

    /// We leave: what waits for a close is not done any more.
    pub(super) fn refuse_shelving(&mut self, failure: &Failure, out: &mut Effects) {
        for (ticket, _) in std::mem::take(&mut self.shelving).into_values().flatten() {
            out.refuse(ticket, failure.clone());
        }
    }
}

impl Session {
    /// Somebody else archived or deleted the thread: its work is over, and the client is told at once.
    pub(super) fn thread_is_removed(&mut self, cx: &mut Cx<'_>, to: Shelf) {
        self.thread_is_gone(cx, "codex archived or deleted the thread");
        if let Some(resuming) = self.resuming.take() {
            let failure = match to {
                Shelf::Deleted | Shelf::Open => Failure::UnknownSession(self.id.clone()),
                Shelf::Archive => Failure::Archived(self.id.clone()),
            };
            self.resume_failed(cx, resuming, failure);
        }
        if !self.is_open {
            return;
        }
        let (what, next) = match to {
            Shelf::Deleted => {
                ("deleted", "Nothing can be asked in it any more; session/new opens another one.")
            }
            Shelf::Archive => ("archived", "It goes on after session/unarchive."),
            Shelf::Open => return,
        };
        // A subagent goes with its parent.
        if self.lineage.is_none() && self.closing.is_none() {
            let title = format!("This session was {what} by another client of the app-server");
            self.notice(cx, Severity::Warning, title, Some(next.to_owned()));
        }
    }
}

/// Whether it was found where it was looked for.
pub(super) fn found_out(
    ticket: Ticket,
    found: Reply,
    missing: Failure,
    result: Result<CodexReply, CodexError>,
    out: &mut Effects,
) {
    match result {
        Ok(CodexReply::Threads { threads, .. }) if !threads.is_empty() => out.respond(ticket, found),
        // An id that is no id is unknown too.
        Ok(_) | Err(_) => out.refuse(ticket, missing),
    }
}

impl Link {
    /// Whether a deletion of the session is on its way to Codex.
    fn is_deleting(&self, session: &SessionId) -> bool {
        let is_its = |it: &Purpose| matches!(it, Purpose::Shelve { session: its, shelf: Shelf::Deleted, .. } if its == session);
        self.has_pending(is_its)
    }
}

impl Shelf {
    /// The wire's method name.
    pub fn method(self) -> &'static str {
        match self {
            Self::Deleted => "thread/delete",
            Self::Archive => "thread/archive",
            Self::Open => "thread/unarchive",
        }
    }
}
