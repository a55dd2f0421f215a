//! Sessions and their subagents during one step: what one of them has to be told of another, and in which order.
//!
//! Children come before their parents: their ends are told first.

use super::Core;
use super::asked::CodexAsk;
use super::asks;
use super::codex::CodexRequest;
use super::cx::{Cx, News};
use super::effect::Effects;
use super::ids::{RequestId, SessionId, ThreadId, Tick};
use super::link::Purpose;
use super::session::Session;

impl Core {
    /// What happened in the families of sessions during this step, in order, until nothing is left.
    pub(super) fn settle(&mut self, now: Tick, out: &mut Effects) {
        loop {
            while let Some(news) = self.desk.news.pop_front() {
                match news {
                    News::State { parent, kid, snapshot } => {
                        self.with(now, &parent, out, |session, cx| session.mirror(cx, &kid, snapshot));
                    }
                    News::Released { parent } => {
                        let kids = self.sessions.get(&parent).map(|it| it.kids.all()).unwrap_or_default();
                        for kid in kids {
                            self.with(now, &kid, out, |session, cx| session.release(cx));
                        }
                    }
                    News::Approved { thread, item } => {
                        let child = SessionId::of(&thread);
                        self.with(now, &child, out, |session, cx| session.approved(cx, &item));
                    }
                    News::Cancel { kid } => self.cancel_session(now, &kid, out),
                    News::Stop { kid, item } => {
                        self.with(now, &kid, out, |session, cx| session.stop_by_name(cx, &item));
                    }
                    News::Folded { root, kid, update } => {
                        let parent = self.children.parent(&kid.thread());
                        let title = parent.and_then(|parent| self.sessions.get(parent)?.kid_name(&kid));
                        self.with(now, &root, out, |session, cx| session.fold(cx, &kid, title, update));
                    }
                }
            }
            let closed = std::mem::take(&mut self.desk.closed);
            if closed.is_empty() {
                return;
            }
            for id in closed {
                if let Some(mut session) = self.sessions.remove(&id) {
                    self.children.forget(&id, &session.thread);
                    session.unwatch_all(&mut self.split(now, out).1);
                    if let Some(kin) = session.kin {
                        self.with(now, &kin.parent, out, |parent, cx| parent.kid_closed(cx, &id));
                    }
                }
                self.shelve_closed(now, &id, out);
            }
        }
    }

    /// Does something with every session, children before their parents.
    pub(super) fn each(
        &mut self,
        now: Tick,
        out: &mut Effects,
        mut act: impl FnMut(&mut Session, &mut Cx<'_>),
    ) {
        let mut ids: Vec<SessionId> = self.sessions.keys().cloned().collect();
        ids.sort_by_key(|id| std::cmp::Reverse(self.children.depth(id)));
        for id in ids {
            self.with(now, &id, out, |session, cx| act(session, cx));
            self.settle(now, out);
        }
    }

    /// `session/cancel`. Codex tells nobody that a subagent was cut off: the model is told with its next turn (D14).
    pub(super) fn cancel_session(&mut self, now: Tick, id: &SessionId, out: &mut Effects) {
        let kin = self.sessions.get(id).filter(|it| it.may_be_cut_off()).and_then(|it| it.kin.as_ref());
        if let Some((parent, root)) = kin.map(|kin| (kin.parent.clone(), kin.root.clone())) {
            let name = self.sessions.get(&parent).and_then(|it| it.kid_name(id)).unwrap_or_default();
            self.with(now, &root, out, |root, _| root.untold.subagent_cancelled(&name));
        }
        self.with(now, id, out, |session, cx| session.cancel(cx));
    }

    /// The sessions of a tree, the deepest first.
    pub(super) fn tree(&self, root: &SessionId) -> Vec<SessionId> {
        let kids = self.sessions.get(root).map(|it| it.kids.all()).unwrap_or_default();
        let mut tree: Vec<SessionId> = kids.iter().flat_map(|kid| self.tree(kid)).collect();
        tree.push(root.clone());
        tree
    }

    /// A request about a thread that the client has no session for goes to the user of this one.
    pub(super) fn asker(&self, thread: &ThreadId) -> Option<SessionId> {
        let child = self.sessions.get(&SessionId::of(thread)).and_then(|it| it.kin.as_ref());
        let folded = child.filter(|kin| kin.is_folded).map(|kin| kin.root.clone());
        folded.or_else(|| self.children.housekeeping_of(thread).cloned())
    }

    /// A turn of such a thread is over: nobody waits for the answers to what it asked.
    pub(super) fn asker_rests(&mut self, now: Tick, thread: &ThreadId, out: &mut Effects) {
        self.children.housework_rests(thread);
        if let Some(session) = self.asker(thread) {
            self.with(now, &session, out, |session, cx| session.withdraw_of_child(cx, thread));
        }
    }

    /// Refuses what a client may not do with the session of a subagent (V2-83).
    pub(super) fn is_child(&self, session: &SessionId) -> bool {
        self.sessions.get(session).is_some_and(|it| it.kin.is_some())
    }

    /// Asks for a request of a thread that no session of the client's shows.
    pub(super) fn asked_beside(
        &mut self,
        now: Tick,
        thread: &ThreadId,
        (request, ask): (RequestId, CodexAsk),
        out: &mut Effects,
    ) {
        let asker = self.asker(thread);
        let (sessions, mut cx) = self.split(now, out);
        match asker.and_then(|asker| sessions.get_mut(&asker)).filter(|it| it.is_open) {
            Some(it) => it.asked_by_child(&mut cx, request, thread, ask),
            None => asks::leave(&mut cx, request, "requests of threads that are no open session"),
        }
    }
}

impl Session {
    /// The session closes: what Codex does for it by itself starts nothing more.
    pub(super) fn interrupt_housework(&mut self, cx: &mut Cx<'_>) {
        for (thread, turn) in cx.children.housework(&self.id) {
            if let Some(turn) = turn {
                cx.link.call(Purpose::Parting, CodexRequest::TurnInterrupt { thread, turn }, cx.out);
            }
        }
    }
}
