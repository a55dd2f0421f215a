//! What is asked of a session's user by threads that its client has no session for.
//!
//! A subagent of a client that knows none, and what Codex does for a session by itself.

use crate::core::ask::Ask;
use crate::core::asked::CodexAsk;
use crate::core::cx::Cx;
use crate::core::ids::{ItemId, RequestId, ThreadId};
use crate::core::items::Opening;
use crate::core::session::{OpenAsk, Session};
use crate::core::update::{CallOpened, ToolKind};

/// Who asks, for people.
const BY_SUBAGENT: &str = "A subagent";

/// A thread that asks in the session of another.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    pub(crate) thread: ThreadId,
    /// What it asks about, in its own thread.
    pub(crate) item: Option<ItemId>,
    /// That call, as a client of its own would see it.
    pub(crate) shown: Option<CallOpened>,
}

impl Session {
    /// A request of another thread for the user of this session. It never makes the session wait for its
    /// user: the turn, if there is one, goes on beside it.
    pub(crate) fn asked_by_child(
        &mut self,
        cx: &mut Cx<'_>,
        request: RequestId,
        ask: CodexAsk,
        shown: Option<CallOpened>,
    ) {
        if let Some(thread) = ask.thread().cloned() {
            self.asker = Some(Asker { thread, item: None, shown });
        }
        self.asked(cx, request, ask);
        self.asker = None;
    }

    /// Notes who asks. The item of another thread is none of this session's: the question gets one of its own.
    pub(in crate::core) fn asks_for_child(&mut self, cx: &mut Cx<'_>, ask: &mut CodexAsk) {
        let Some(thread) = ask.thread().filter(|thread| **thread != self.thread).cloned() else {
            self.asker = None;
            return;
        };
        let shown = self.asker.take().and_then(|it| it.shown);
        let stand_in = |cx: &mut Cx<'_>| ItemId::new(format!("question-{}", cx.desk.next_key()));
        let item = ask.item_mut().map(|item| std::mem::replace(item, stand_in(cx)));
        self.asker = Some(Asker { thread, item, shown });
    }

    /// A call that is there for a question only. One of another thread shows what it is about there.
    pub(in crate::core) fn question_call(&mut self, name: &str, title: &str) -> Opening {
        let title = match &self.asker {
            Some(_) => format!("{BY_SUBAGENT} asks: {title}"),
            None => title.to_owned(),
        };
        let (kind, locations, content) = match self.asker.as_mut().and_then(|it| it.shown.take()) {
            Some(it) => (it.kind, it.locations, it.content),
            None => (ToolKind::Other, Vec::new(), Vec::new()),
        };
        Opening { name: Some(name.to_owned()), title, kind, locations, content, input: None }
    }

    pub(in crate::core) fn says_who_asks(&self, open: &mut OpenAsk, question: &mut Ask) {
        open.child.clone_from(&self.asker);
        if open.child.is_some() {
            question.said_by(BY_SUBAGENT);
        }
    }

    /// Whether a child waits for an answer about this item.
    pub(crate) fn is_asked_by_child(&self, item: &ItemId) -> bool {
        self.asks.values().any(|ask| ask.child.is_some() && ask.item.as_ref() == Some(item))
    }

    pub(crate) fn withdraw_of_child(&mut self, cx: &mut Cx<'_>, child: &ThreadId) {
        self.held_asks.retain(|held| held.ask.thread() != Some(child));
        let is_its = |it: &Asker| it.thread == *child;
        let its = self.asks.iter().filter(|(_, ask)| ask.child.as_ref().is_some_and(is_its));
        for ask in its.map(|(ask, _)| *ask).collect::<Vec<_>>() {
            self.withdraw(cx, ask);
        }
    }

    /// The call of this session that a question is about, as it is now.
    pub(in crate::core) fn call_asked_about(&self, ask: &mut CodexAsk) -> Option<CallOpened> {
        self.shown.get(&self.call_of(ask.item_mut()?)?).cloned()
    }

    /// Whether its client has no session for it.
    pub(crate) fn is_in_call(&self) -> bool {
        self.lineage.as_ref().is_some_and(|it| it.is_in_call)
    }
}
