//! What is asked of a session's user by threads that its client has no session for.
//!
//! A subagent of a client that knows none, and what Codex does for a session by itself.

use super::ask::{Ask, Subject};
use super::ask_call::AskCall;
use super::asked::CodexAsk;
use super::asks::{self, Approval};
use super::cx::Cx;
use super::ids::{ItemId, RequestId, ThreadId};
use super::request::Version;
use super::session::{OpenAsk, Session};
use super::update::Severity;

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
                    let asked = AskCall::choice(reason.clone());
                    self.show_call(cx, &item, ("request_approval", &title), asked);
                }
                let call = self.call_of(&item);
                let subject = Subject::Command { command, cwd, call, terminal: None };
                let approval = Approval { title, reason, subject, decisions };
                let (kind, permission) = asks::decisions(approval);
                let open = OpenAsk { request, item: Some(item), kind, child: Some(child.clone()) };
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

    pub(crate) fn withdraw_of_child(&mut self, cx: &mut Cx<'_>, child: &ThreadId) {
        let its = self.asks.iter().filter(|(_, ask)| ask.child.as_ref() == Some(child));
        for ask in its.map(|(ask, _)| *ask).collect::<Vec<_>>() {
            self.withdraw(cx, ask);
        }
    }
}
