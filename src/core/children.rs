//! Threads of subagents: for which session they work, and what they ask of its user.
//!
//! Does not follow their work.

use super::Core;
use super::ask::{Ask, Subject};
use super::asked::CodexAsk;
use super::asks::{self, Approval};
use super::cx::Cx;
use super::effect::Effects;
use super::ids::{ItemId, RequestId, SessionId, ThreadId, Tick, TurnId};
use super::request::Version;
use super::session::Session;
use super::update::Severity;
use std::collections::BTreeMap;

/// The children that were seen at work, and the sessions that they work for.
#[derive(Debug, Default)]
pub(crate) struct Children(BTreeMap<ThreadId, SessionId>);

impl Children {
    /// The session that a thread works for.
    pub(crate) fn session(&self, thread: &ThreadId) -> Option<&SessionId> {
        self.0.get(thread)
    }

    /// The session is closed, and so are its children.
    pub(crate) fn forget(&mut self, session: &SessionId) {
        self.0.retain(|_, it| it != session);
    }
}

impl Core {
    /// A turn of a thread that is no session began. Codex announces no child, but its first turn names
    /// the turn that all of it goes back to.
    pub(super) fn child_works(&mut self, thread: &ThreadId, root: Option<TurnId>) {
        let Some(root) = root else { return };
        let is_root = |(_, it): &(&SessionId, &Session)| it.is_current(&root) || it.is_over(&root);
        // A child of a child goes back to the same turn, and one that is known may begin a turn of its own.
        if let Some((session, _)) = self.sessions.iter().find(is_root) {
            self.children.0.insert(thread.clone(), session.clone());
        }
    }

    /// A child's turn is over: nobody waits for the answers to what it asked.
    pub(super) fn child_rests(&mut self, now: Tick, thread: &ThreadId, out: &mut Effects) {
        if let Some(session) = self.children.session(thread).cloned() {
            self.with(now, &session, out, |session, cx| session.withdraw_of_child(cx, thread));
        }
    }
}

impl Session {
    /// A request about a child of this session. It never makes the session wait for its user: the
    /// turn, if there is one, goes on beside it.
    pub(crate) fn asked_by_child(
        &mut self,
        cx: &mut Cx<'_>,
        request: RequestId,
        child: &ThreadId,
        ask: CodexAsk,
    ) {
        let is_shown = self.held.is_none() && self.closing.is_none();
        match ask {
            CodexAsk::Command { item, about, command, cwd, reason, decisions, .. }
                if is_shown && !decisions.is_empty() =>
            {
                let title = format!("A subagent asks: {}", asks::title(&about, &command));
                // v1 asks about a call only: one that stands for the question, and ends with it.
                if cx.version() == Version::V1 {
                    self.show_call(cx, &item, "request_approval", &title);
                }
                let call = self.call_of(&item);
                let subject = Subject::Command { command, cwd, call, terminal: None };
                let approval = Approval { title, reason, subject, decisions };
                let (kind, permission) = asks::decisions(approval);
                let open =
                    super::session::OpenAsk { request, item: Some(item), kind, child: Some(child.clone()) };
                self.put(cx, open, Ask::Permission(permission));
            }
            CodexAsk::Command { .. }
            | CodexAsk::FileChange { .. }
            | CodexAsk::Permissions { .. }
            | CodexAsk::Questions { .. }
            | CodexAsk::McpForm { .. }
            | CodexAsk::McpUrl { .. }
            | CodexAsk::Unsupported { .. } => {
                let title = "A subagent asked for something that cannot be shown here; it was told no";
                self.notice(cx, Severity::Warning, title.to_owned(), None);
                asks::refuse(cx, request, "this request of a subagent");
            }
        }
    }

    /// Whether a child waits for an answer about this item.
    pub(crate) fn is_asked_by_child(&self, item: &ItemId) -> bool {
        self.asks.values().any(|ask| ask.child.is_some() && ask.item.as_ref() == Some(item))
    }

    fn withdraw_of_child(&mut self, cx: &mut Cx<'_>, child: &ThreadId) {
        let its = self.asks.iter().filter(|(_, ask)| ask.child.as_ref() == Some(child));
        for ask in its.map(|(ask, _)| *ask).collect::<Vec<_>>() {
            self.withdraw(cx, ask);
        }
    }
}
