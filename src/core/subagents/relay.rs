//! Sessions and their subagents during one step: what one of them has to be told of another, and in which order.
//!
//! Children come before their parents: their ends are told first.

use crate::core::Core;
use crate::core::asked::CodexAsk;
use crate::core::asks;
use crate::core::codex::{CodexError, CodexReply, CodexRequest};
use crate::core::cx::{Cx, News};
use crate::core::effect::{Anomaly, Effects};
use crate::core::ids::{RequestId, SessionId, ThreadId, Tick};
use crate::core::link::Purpose;
use crate::core::session::Session;
use crate::core::told::subagent_cancelled;

impl Core {
    /// What happened in the families of sessions during this step, in order, until nothing is left.
    pub(in crate::core) fn settle(&mut self, now: Tick, out: &mut Effects) {
        loop {
            while let Some(news) = self.desk.news.pop_front() {
                match news {
                    News::State { parent, child, snapshot } => {
                        self.with(now, &parent, out, |session, cx| {
                            session.mirror_child(cx, &child, snapshot)
                        });
                    }
                    News::Associate { root } => self.associate_descendants(now, &root, out),
                    News::Restore { root } => self.restore_next(now, &root, out),
                    News::Close { root } => self.close_tree(now, &root, None, out),
                    News::Whole { root } => self.answer_restored(now, &root, out),
                    News::Known { child, failure } => self.restored(now, &child, failure, out),
                    News::Instructed { parent, child, message, text } => {
                        self.with(now, &parent, out, |session, cx| {
                            session.child_instructed(cx, child, message, &text);
                        });
                    }
                    News::Matched { child, received, sent } => {
                        self.with(now, &child, out, |session, cx| {
                            session.message_matched(cx, received, sent)
                        });
                    }
                    News::Released { parent } => {
                        let children =
                            self.sessions.get(&parent).map(|it| it.children.all()).unwrap_or_default();
                        for child in children {
                            self.with(now, &child, out, |session, cx| session.released(cx));
                            self.with(now, &parent, out, |session, cx| session.mirror_released(cx, &child));
                        }
                    }
                    News::Approved { thread, item } => {
                        let child = SessionId::of(&thread);
                        self.with(now, &child, out, |session, cx| session.approved(cx, &item));
                    }
                    News::Visits { root, thread, server, elicitation } => {
                        // It is over with what the thread itself does, if it has a session.
                        let child = SessionId::of(&thread);
                        let its = if self.sessions.contains_key(&child) { child } else { root };
                        self.with(now, &its, out, |session, _| session.visits_for(&server, elicitation));
                    }
                    News::Cancel { child } => self.cancel_session(now, &child, out),
                    News::Stop { child, item } => {
                        self.with(now, &child, out, |session, cx| session.stop_by_name(cx, &item));
                    }
                    News::ShowInCall { root, child, update } => {
                        let parent = self.subagents.parent(&child.thread());
                        let title = parent.and_then(|parent| self.sessions.get(parent)?.child_name(&child));
                        self.with(now, &root, out, |session, cx| {
                            session.show_in_call(cx, &child, title, update)
                        });
                    }
                }
            }
            let closed = std::mem::take(&mut self.desk.closed);
            if closed.is_empty() {
                return;
            }
            for id in &closed {
                self.forget_unrestored(now, id, &closed, out);
            }
            for id in closed {
                if let Some(mut session) = self.sessions.remove(&id) {
                    self.subagents.forget(&id, &session.thread);
                    session.unwatch_all(&mut self.split(now, out).1);
                    if let Some(lineage) = session.lineage {
                        self.with(now, &lineage.parent, out, |parent, cx| parent.child_closed(cx, &id));
                    }
                }
                self.shelve_closed(now, &id, out);
            }
        }
    }

    /// Does something with every session, children before their parents.
    pub(in crate::core) fn each(
        &mut self,
        now: Tick,
        out: &mut Effects,
        mut act: impl FnMut(&mut Session, &mut Cx<'_>),
    ) {
        let mut ids: Vec<SessionId> = self.sessions.keys().cloned().collect();
        ids.sort_by_key(|id| std::cmp::Reverse(self.subagents.depth(id)));
        for id in ids {
            self.with(now, &id, out, |session, cx| act(session, cx));
            self.settle(now, out);
        }
    }

    /// `session/cancel`. Codex tells nobody that a subagent was cut off: the model of a parent that waits is told at
    /// once, for it would wait on; else it is told with the next prompt (D14).
    pub(in crate::core) fn cancel_session(&mut self, now: Tick, id: &SessionId, out: &mut Effects) {
        let lineage =
            self.sessions.get(id).filter(|it| it.may_be_cut_off()).and_then(|it| it.lineage.as_ref());
        let kin = lineage.map(|lineage| (lineage.parent.clone(), lineage.root.clone()));
        self.with(now, id, out, |session, cx| session.cancel(cx));
        let Some((parent, root)) = kin else { return };
        let name = self.sessions.get(&parent).and_then(|it| it.child_name(id)).unwrap_or_default();
        self.inform(parent, root, subagent_cancelled(&name), out);
    }

    /// Tells the model of a session that waits for its subagents.
    fn inform(&mut self, session: SessionId, root: SessionId, line: String, out: &mut Effects) {
        let waiting = self.sessions.get(&session).filter(|it| it.waits_for_subagents());
        let Some(thread) = waiting.map(|it| it.thread.clone()) else {
            return self.tell_with_next_prompt(&root, line);
        };
        let request = CodexRequest::Inform { thread, text: line.clone() };
        self.link.call(Purpose::Inform { session, root, line }, request, out);
    }

    /// Codex takes nothing for subagents of the newer tools: the root may tell them.
    pub(in crate::core) fn informed(
        &mut self,
        (session, root, line): (SessionId, SessionId, String),
        result: Result<CodexReply, CodexError>,
        out: &mut Effects,
    ) {
        let Err(CodexError { message, .. }) = result else { return };
        out.anomaly(Anomaly::CodexRefused { method: "thread/inject_items", message });
        if session == root {
            return self.tell_with_next_prompt(&root, line);
        }
        self.inform(root.clone(), root, line, out);
    }

    pub(in crate::core) fn tell_with_next_prompt(&mut self, root: &SessionId, line: String) {
        if let Some(root) = self.sessions.get_mut(root) {
            root.untold.add(line);
        }
    }

    /// The sessions of a tree, the deepest first.
    pub(in crate::core) fn tree(&self, root: &SessionId) -> Vec<SessionId> {
        let children = self.sessions.get(root).map(|it| it.children.all()).unwrap_or_default();
        let mut tree: Vec<SessionId> = children.iter().flat_map(|child| self.tree(child)).collect();
        tree.push(root.clone());
        tree
    }

    /// A request about a thread that the client has no session for goes to the user of this one.
    pub(in crate::core) fn asker(&self, thread: &ThreadId) -> Option<SessionId> {
        let child = self.sessions.get(&SessionId::of(thread)).and_then(|it| it.lineage.as_ref());
        let in_call = child.filter(|lineage| lineage.is_in_call).map(|lineage| lineage.root.clone());
        in_call.or_else(|| self.subagents.housekeeping_of(thread).cloned())
    }

    /// A turn of such a thread is over: nobody waits for the answers to what it asked.
    pub(in crate::core) fn asker_rests(&mut self, now: Tick, thread: &ThreadId, out: &mut Effects) {
        self.subagents.housekeeping_ended(thread);
        if let Some(session) = self.asker(thread) {
            self.with(now, &session, out, |session, cx| session.withdraw_of_child(cx, thread));
        }
    }

    /// Whether it is the session of a subagent, which permits less (V2-83).
    pub(in crate::core) fn is_child(&self, session: &SessionId) -> bool {
        self.sessions.get(session).is_some_and(|it| it.lineage.is_some())
    }

    /// Asks for a request of a thread that no session of the client's shows.
    pub(in crate::core) fn asked_without_session(
        &mut self,
        now: Tick,
        thread: &ThreadId,
        (request, mut ask): (RequestId, CodexAsk),
        out: &mut Effects,
    ) {
        let asker = self.asker(thread);
        let child = self.sessions.get(&SessionId::of(thread));
        let shown = child.and_then(|it| it.call_asked_about(&mut ask));
        let (sessions, mut cx) = self.split(now, out);
        let is_there = |it: &&mut Session| it.is_open && it.closing.is_none();
        match asker.and_then(|asker| sessions.get_mut(&asker)).filter(is_there) {
            Some(it) => it.asked_by_child(&mut cx, request, ask, shown),
            None => asks::leave(&mut cx, request, "requests of threads that are no open session"),
        }
    }
}

impl Session {
    /// The session closes: what Codex does for it by itself starts nothing more.
    pub(in crate::core) fn interrupt_housekeeping(&mut self, cx: &mut Cx<'_>) {
        for (thread, turn) in cx.subagents.housekeeping(&self.id) {
            if let Some(turn) = turn {
                cx.link.call(Purpose::Parting, CodexRequest::TurnInterrupt { thread, turn }, cx.out);
            }
        }
    }
}
