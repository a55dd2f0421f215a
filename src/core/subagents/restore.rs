//! Subagents of a session that comes back: found, named, and brought back one after the other.
//!
//! They are named before the history of their session, which refers to them. After it comes that of each, if one was
//! asked for, parents first; then what lives and the states, children first.

use crate::core::Core;
use crate::core::codex::{CodexError, CodexReply, CodexRequest, Holds, ThreadOpened};
use crate::core::cx::{Cx, News};
use crate::core::effect::{Anomaly, Effects};
use crate::core::failure::Failure;
use crate::core::ids::{RequestId, SessionId, ThreadId, Tick};
use crate::core::kept::Keeping;
use crate::core::link::Purpose;
use crate::core::opening::{Resuming, open_failure};
use crate::core::replay::Returning;
use crate::core::request::{Place, ThreadEntry};
use crate::core::session::{History, Session, Tie};
use crate::core::subagents::children::{Identity, Lineage};
use crate::core::subagents::collab::Descent;
use crate::core::update::Severity;
use std::collections::{BTreeSet, VecDeque};

/// Most subagents of one session that are brought back.
const DESCENDANTS_MAX: usize = 1_024;

/// The subagents of a session that comes back.
#[derive(Debug, Default)]
pub(crate) struct Restoring {
    /// Those that are still to be brought back, and whether the app-server has them in memory.
    waiting: VecDeque<(SessionId, bool)>,
    /// Those that the client knows by name; others wait for the answer to be announced.
    pub(super) named: BTreeSet<SessionId>,
    /// Threads that the history names and Codex no longer has.
    gone: BTreeSet<ThreadId>,
    /// Codex could say which there are.
    is_known: bool,
}

impl Session {
    /// The subagents of a session have to be known before its history is told. Those of a subagent are.
    pub(in crate::core) fn await_descendants(&mut self, cx: &mut Cx<'_>) {
        match self.lineage {
            Some(_) => self.descendants_known(cx),
            None => cx.desk.news.push_back(News::Associate { root: self.id.clone() }),
        }
    }

    /// Everything of it that a resume owes is known, or cannot be for this reason.
    pub(in crate::core) fn is_known(&mut self, cx: &mut Cx<'_>, failure: Option<Failure>) {
        cx.desk.news.push_back(News::Known { child: self.id.clone(), failure });
    }

    /// It is associated, and no more than what lived can be told.
    pub(in crate::core) fn not_restored(&mut self, cx: &mut Cx<'_>, failure: Failure) {
        self.reader = None;
        if let Some(Returning { living, unfinished, .. }) = self.returning.take() {
            self.hold_first(living.into_iter().flat_map(|(_, updates)| updates).chain(unfinished));
        }
        self.is_known(cx, Some(failure));
    }

    /// The history names a subagent that Codex no longer has.
    pub(in crate::core) fn note_gone(&mut self, cx: &Cx<'_>, threads: &[ThreadId]) {
        let is_gone = |it: &&ThreadId| !cx.subagents.is_announced(it) && !self.is_kin(it);
        let gone: Vec<ThreadId> = threads.iter().filter(is_gone).cloned().collect();
        self.restoring.gone.extend(gone);
    }

    /// Says how many of those there were.
    pub(in crate::core) fn tell_gone(&mut self, cx: &mut Cx<'_>) {
        let n_gone = std::mem::take(&mut self.restoring.gone).len();
        if n_gone > 0 && self.restoring.is_known && cx.client.subagents {
            let title = match n_gone {
                1 => "A subagent of this session is gone from Codex; what it did cannot be shown".to_owned(),
                n => format!(
                    "{n} subagents of this session are gone from Codex; what they did cannot be shown"
                ),
            };
            self.notice(cx, Severity::Warning, title, None);
        }
    }

    /// Whether this is its own thread or one that it works for.
    pub(in crate::core) fn is_kin(&self, thread: &ThreadId) -> bool {
        let of_kin = |it: &Lineage| it.parent.thread() == *thread || it.root.thread() == *thread;
        self.thread == *thread || self.lineage.as_ref().is_some_and(of_kin)
    }
}

impl Core {
    /// Asks for the subagents of a session that comes back, while its thread is being loaded.
    pub(in crate::core) fn ask_descendants(
        &mut self,
        session: &SessionId,
        (by, known): (RequestId, Vec<ThreadEntry>),
        cursor: Option<String>,
        out: &mut Effects,
    ) {
        let request = CodexRequest::ThreadDescendants { thread: self.renewals.thread(session), cursor };
        self.link.call(Purpose::Descendants { session: session.clone(), by, known }, request, out);
    }

    /// A page of them.
    pub(in crate::core) fn descendants_told(
        &mut self,
        now: Tick,
        session: &SessionId,
        (by, mut known): (RequestId, Vec<ThreadEntry>),
        result: Result<CodexReply, CodexError>,
        out: &mut Effects,
    ) {
        let found = match result {
            Ok(CodexReply::Threads { threads, next }) => {
                known.extend(threads);
                if next.is_some() && known.len() < DESCENDANTS_MAX {
                    return self.ask_descendants(session, (by, known), next, out);
                }
                Ok(known)
            }
            Ok(_) => Err(CodexError::unexpected()),
            Err(error) => {
                let message = error.message.clone();
                out.anomaly(Anomaly::CodexRefused { method: "thread/list", message });
                Err(error)
            }
        };
        let loaded = self.sessions.get_mut(session).and_then(|it| it.resuming.as_mut());
        let resuming = loaded.or_else(|| self.arriving.get_mut(session));
        // They may have been asked for by one that was cancelled.
        let Some(resuming) = resuming.filter(|it| it.request_id() == Some(&by)) else { return };
        resuming.descendants = Some(found);
        self.associate_descendants(now, session, out);
    }

    /// Goes on with the resume of a session whose thread is loaded and whose subagents are known.
    pub(in crate::core) fn associate_descendants(&mut self, now: Tick, root: &SessionId, out: &mut Effects) {
        let resuming = self.sessions.get_mut(root).and_then(|it| it.resuming.as_mut());
        let Some(found) = resuming.and_then(|it| it.descendants.take()) else { return };
        let notice = match &found {
            Ok(found) if found.len() < DESCENDANTS_MAX => None,
            Ok(found) => {
                Some((format!("Only the first {} subagents of this session are shown", found.len()), None))
            }
            Err(error) => Some((
                "The subagents of this session could not be read; one is shown when Codex says something of it"
                    .to_owned(),
                Some(error.message.clone()),
            )),
        };
        let is_known = found.is_ok();
        self.associate(now, root, found.unwrap_or_default(), out);
        self.with(now, root, out, |root, cx| {
            root.restoring.is_known = is_known;
            if let Some((title, description)) = notice {
                root.notice(cx, Severity::Warning, title, description);
            }
            root.descendants_known(cx);
        });
    }

    /// Gives each of them a session and names it, parents first.
    fn associate(&mut self, now: Tick, root: &SessionId, found: Vec<ThreadEntry>, out: &mut Effects) {
        if !self.sessions.contains_key(root) {
            return;
        }
        let is_native = self.client.subagents;
        let mut left: Vec<ThreadEntry> = found;
        let mut waiting = VecDeque::new();
        // Times can be the same: a parent may stand after its child.
        loop {
            let (here, later): (Vec<_>, Vec<_>) = left.into_iter().partition(|it| self.has_parent(it));
            if here.is_empty() {
                break;
            }
            left = later;
            for entry in here {
                // For a client without such sessions only what runs has to be shown.
                let id = SessionId::of(&entry.thread);
                if !is_native && (!entry.is_loaded || self.sessions.contains_key(&id)) {
                    continue;
                }
                let is_loaded = entry.is_loaded;
                self.name(now, entry, out);
                waiting.push_back((id, is_loaded));
            }
        }
        // Those that a list may not have yet.
        let mut tree = self.tree(root);
        tree.reverse();
        for id in tree.into_iter().filter(|id| id != root) {
            // One that is shown in a call is told with that.
            if is_native && !waiting.iter().any(|(known, _)| *known == id) {
                let is_loaded = self.sessions.get(&id).is_some_and(|it| it.tie == Tie::Loaded);
                self.name_known(now, &id, out);
                waiting.push_back((id, is_loaded));
            }
        }
        if let Some(root) = self.sessions.get_mut(root) {
            root.restoring.named = waiting.iter().map(|(id, _)| id.clone()).collect();
            root.restoring.waiting = waiting;
        }
    }

    fn has_parent(&self, entry: &ThreadEntry) -> bool {
        let parent = entry.descent.as_ref().and_then(|it| it.parent.as_ref());
        parent.is_some_and(|parent| self.sessions.contains_key(&self.renewals.session(parent)))
    }

    fn name(&mut self, now: Tick, entry: ThreadEntry, out: &mut Effects) {
        let ThreadEntry { thread, descent, keeping, .. } = entry;
        let Some(Descent { parent: Some(parent), nickname, name, cwd }) = descent.map(|it| *it) else {
            return;
        };
        let parent = self.renewals.session(&parent);
        let id = SessionId::of(&thread);
        let identity = Identity { nickname, name, task: None, cwd: Some(cwd).filter(|it| !it.is_empty()) };
        if !self.sessions.contains_key(&id) {
            self.child_session(&parent, &thread, identity.cwd.clone());
            if let Some(child) = self.sessions.get_mut(&id) {
                child.tie = Tie::Unloaded;
                child.history = History::Unread;
                child.keeping = keeping;
            }
            self.with(now, &parent, out, |parent, _| parent.associate_child(&id, identity));
        }
        self.name_known(now, &id, out);
    }

    fn name_known(&mut self, now: Tick, child: &SessionId, out: &mut Effects) {
        if let Some(parent) = self.subagents.parent(&child.thread()).cloned() {
            self.with(now, &parent, out, |parent, cx| {
                parent.forget_messages(child);
                parent.name_child(cx, child);
            });
        }
        self.with(now, child, out, |child, cx| child.returns(cx));
    }

    /// Brings back the next one; after the last the session itself goes on.
    pub(in crate::core) fn restore_next(&mut self, now: Tick, root: &SessionId, out: &mut Effects) {
        let Some(session) = self.sessions.get_mut(root).filter(|it| it.resuming.is_some()) else { return };
        let Some((id, is_loaded)) = session.restoring.waiting.pop_front() else {
            return self.with(now, root, out, |root, cx| {
                root.tell_gone(cx);
                root.await_list(cx);
            });
        };
        let replay = session.resuming.as_ref().is_some_and(|it| it.replay) && self.client.subagents;
        let Some(child) = self.sessions.get_mut(&id) else { return self.restore_next(now, root, out) };
        let resuming = Resuming::of_subagent(child.place.clone(), replay);
        if is_loaded {
            child.resuming = Some(resuming);
            let thread = child.thread.clone();
            self.link.mark(&thread);
            return self.link.call(
                Purpose::Restore { session: id },
                CodexRequest::ThreadRejoin { thread },
                out,
            );
        }
        self.with(now, &id, out, |child, cx| child.comes_back_with(cx, resuming));
    }

    /// The thread of a subagent is joined, or cannot be.
    pub(in crate::core) fn rejoined(
        &mut self,
        now: Tick,
        child: &SessionId,
        result: Result<ThreadOpened, CodexError>,
        out: &mut Effects,
    ) {
        self.with(now, child, out, |child, cx| {
            // One that was asked for by a resume which came to nothing has served the next one already.
            let Some(resuming) = child.resuming.take_if(|it| it.is_joining()) else { return };
            match result {
                Ok(opened) => child.resumed(cx, &opened, resuming),
                Err(error) => {
                    let failure = open_failure("thread/resume", None, &error);
                    child.not_restored(cx, failure);
                }
            }
        });
    }

    /// A subagent is known, and the next one follows.
    pub(in crate::core) fn restored(
        &mut self,
        now: Tick,
        child: &SessionId,
        failure: Option<Failure>,
        out: &mut Effects,
    ) {
        let Some(Lineage { parent, root, .. }) = self.sessions.get(child).and_then(|it| it.lineage.as_ref())
        else {
            return;
        };
        let (parent, root) = (parent.clone(), root.clone());
        // With the app-server the resume comes to its end, and all of them.
        if self.link.is_down() {
            return;
        }
        if let Some(failure) = failure {
            let name = self.sessions.get(&parent).and_then(|it| it.child_name(child)).unwrap_or_default();
            let title = format!(
                "The subagent {name} could not be brought back; it is shown when Codex uses it again"
            );
            let description = Some(failure.to_string());
            self.with(now, &root, out, |root, cx| root.notice(cx, Severity::Warning, title, description));
        }
        self.restore_next(now, &root, out);
    }

    /// A session for a subagent, which its parent announces.
    pub(in crate::core) fn child_session(
        &mut self,
        parent: &SessionId,
        thread: &ThreadId,
        cwd: Option<String>,
    ) {
        let is_native = self.client.subagents;
        let Some(above) = self.sessions.get(parent) else { return };
        // Its tools and instructions are its parent's affair.
        let place = Place { cwd: cwd.unwrap_or_else(|| above.place.cwd.clone()), ..Place::default() };
        let opened = ThreadOpened {
            thread: thread.clone(),
            parent: Some(parent.thread()),
            cwd: place.cwd.clone(),
            title: None,
            holds: Holds::default(),
            active: false,
            turn: None,
            over: None,
            keeping: Keeping::default(),
        };
        let root = above.lineage.as_ref().map_or_else(|| parent.clone(), |it| it.root.clone());
        let mut child = Session::new(&opened, place, History::Known);
        child.lineage = Some(Lineage { parent: parent.clone(), root, is_in_call: !is_native });
        child.held = (is_native && above.held.is_some()).then(Vec::new);
        child.is_open = true;
        self.subagents.associate(thread, parent);
        self.sessions.insert(child.id.clone(), child);
    }
}
