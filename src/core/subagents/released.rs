//! The end of a resume, for the subagents of its session: all that they owe is told in the moment of the answer, and
//! nothing of it where there is none.

use crate::core::Core;
use crate::core::codex::CodexRequest;
use crate::core::cx::{Cx, News};
use crate::core::effect::Effects;
use crate::core::ids::{SessionId, Tick};
use crate::core::link::Purpose;
use crate::core::session::{Session, Tie};
use crate::core::update::{Snapshot, Update};

impl Session {
    /// What lives and the state are told; what happens from now on waits for the answer of its session.
    fn is_back(&mut self, cx: &mut Cx<'_>) -> Snapshot {
        self.resuming = None;
        // One state is told, as it is now.
        self.held.iter_mut().for_each(|held| held.retain(|it| !matches!(it, Update::State(_))));
        self.tell_held(cx);
        self.is_open = true;
        self.report_ahead(cx)
    }

    /// What was held back of its parent is out. A resume of that which came to nothing may have left it on its way.
    pub(in crate::core) fn released(&mut self, cx: &mut Cx<'_>) {
        self.returning = None;
        if self.resuming.take().is_some() {
            self.reader = None;
            self.is_open = true;
        }
        self.goes_on(cx);
    }
}

impl Core {
    /// All of a session that comes back is known: what its subagents owe is told in the moment of the answer, for until
    /// then it may come to nothing.
    pub(in crate::core) fn answer_restored(&mut self, now: Tick, root: &SessionId, out: &mut Effects) {
        let mut is_whole = false;
        self.with(now, root, out, |root, cx| is_whole = root.is_whole(cx));
        let Some(session) = self.sessions.get(root).filter(|_| is_whole) else { return };
        if session.restoring.named.is_empty() {
            return self.with(now, root, out, |root, cx| root.finish_resume(cx));
        }
        self.tell_restored(now, root, out);
        // After what is shown of them in calls of the session.
        self.desk.news.push_back(News::Whole { root: root.clone() });
    }

    /// The states, those of children before their parents', which list them.
    fn tell_restored(&mut self, now: Tick, root: &SessionId, out: &mut Effects) {
        let named = self.sessions.get_mut(root).map(|it| std::mem::take(&mut it.restoring.named));
        let named = named.unwrap_or_default();
        for id in self.tree(root).into_iter().filter(|id| named.contains(id)) {
            let (sessions, mut cx) = self.split(now, out);
            let Some(child) = sessions.get_mut(&id) else { continue };
            let snapshot = child.is_back(&mut cx);
            let Some(parent) = child.lineage.as_ref().map(|it| it.parent.clone()) else { continue };
            self.with(now, &parent, out, |parent, cx| parent.child_is_back(cx, &id, snapshot));
        }
    }

    /// A session whose resume came to nothing is none, and neither are its subagents.
    pub(in crate::core) fn forget_unrestored(
        &mut self,
        now: Tick,
        root: &SessionId,
        closed: &[SessionId],
        out: &mut Effects,
    ) {
        for id in self.tree(root).into_iter().filter(|id| !closed.contains(id)) {
            if let Some(mut session) = self.sessions.remove(&id) {
                self.subagents.forget(&id, &session.thread);
                session.unwatch_all(&mut self.split(now, out).1);
                if session.tie == Tie::Loaded {
                    let request = CodexRequest::Unsubscribe { thread: session.thread };
                    self.link.call(Purpose::Parting, request, out);
                }
            }
        }
    }
}
