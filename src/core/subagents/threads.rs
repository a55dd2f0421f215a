//! Threads of subagents: whose they are, and when their sessions are announced.
//!
//! Codex announces no child. Nothing of one is told before its parent has; until then it waits here, bounded.

use crate::core::Core;
use crate::core::asked::CodexAsk;
use crate::core::codex::{CodexError, CodexReply, CodexRequest, Event, ItemKind, ThreadStatus};
use crate::core::effect::{Anomaly, Effects};
use crate::core::ids::{RequestId, SessionId, ThreadId, Tick, TurnId};
use crate::core::link::Purpose;
use crate::core::session::Session;
use crate::core::subagents::children::Identity;
use crate::core::subagents::collab::{CollabAct, CollabCall, Descent};
use crate::core::timer::Timer;
use std::collections::BTreeMap;

/// How much of a thread waits for its announcement, and how long, in ms.
const WAITING_MAX: usize = 256;
const WAITING_BOUND: u64 = 2_000;
/// Codex cannot read a thread that it has just begun to write: asked again so often, after so many ms.
const READS: u32 = 8;
const READ_AGAIN: u64 = 200;
/// Threads that are remembered as nobody's.
const DISMISSED_KEPT: usize = 1_024;

/// All threads that are no session of a person's.
#[derive(Debug, Default)]
pub(crate) struct Subagents {
    /// Seen, and not known yet.
    pending: BTreeMap<ThreadId, Pending>,
    /// The announced ones, by their parent.
    parents: BTreeMap<ThreadId, SessionId>,
    /// How often Codex could not read a thread.
    unread: BTreeMap<ThreadId, u32>,
    /// Not to be announced: what Codex does for itself, maybe for a session, and what was closed.
    dismissed: BTreeMap<ThreadId, Option<Housekeeping>>,
}

/// What Codex does for a session without telling whose subagent does it.
#[derive(Debug)]
struct Housekeeping {
    session: SessionId,
    /// The turn that runs.
    turn: Option<TurnId>,
}

#[derive(Debug, Default)]
struct Pending {
    /// The session whose turn its turn goes back to.
    root: Option<SessionId>,
    /// A thread that is pending too.
    parent: Option<ThreadId>,
    identity: Identity,
    waiting: Vec<Waiting>,
}

#[derive(Debug)]
enum Waiting {
    Event(Event),
    Asked(RequestId, CodexAsk),
}

impl Subagents {
    pub(crate) fn is_announced(&self, thread: &ThreadId) -> bool {
        self.parents.contains_key(thread)
    }

    /// The session whose user is asked what this thread asks, though it has no session of its own.
    pub(crate) fn housekeeping_of(&self, thread: &ThreadId) -> Option<&SessionId> {
        self.dismissed.get(thread)?.as_ref().map(|it| &it.session)
    }

    /// Threads that Codex works in for a session by itself, and their turns that run.
    pub(crate) fn housekeeping(&self, session: &SessionId) -> Vec<(ThreadId, Option<TurnId>)> {
        let its = self.dismissed.iter().filter_map(|(thread, it)| Some((thread, it.as_ref()?)));
        let its = its.filter(|(_, it)| it.session == *session);
        its.map(|(thread, it)| (thread.clone(), it.turn.clone())).collect()
    }

    /// A thread is a subagent of this session.
    pub(crate) fn associate(&mut self, thread: &ThreadId, parent: &SessionId) {
        self.parents.insert(thread.clone(), parent.clone());
    }

    /// The session whose subagent a thread is.
    pub(crate) fn parent(&self, thread: &ThreadId) -> Option<&SessionId> {
        self.parents.get(thread)
    }

    /// The turn of what Codex does by itself is over.
    pub(crate) fn housekeeping_ended(&mut self, thread: &ThreadId) {
        if let Some(Some(housekeeping)) = self.dismissed.get_mut(thread) {
            housekeeping.turn = None;
        }
    }

    /// How many parents are above a session.
    pub(crate) fn depth(&self, session: &SessionId) -> usize {
        let mut depth = 0;
        let mut at = session.thread();
        while let Some(parent) = self.parents.get(&at) {
            depth += 1;
            at = parent.thread();
        }
        depth
    }

    /// A session is closed: what its thread says from now on is nobody's.
    pub(crate) fn forget(&mut self, session: &SessionId, thread: &ThreadId) {
        self.parents.remove(thread);
        self.unread.remove(thread);
        for housekeeping in self.dismissed.values_mut() {
            housekeeping.take_if(|it| it.session == *session);
        }
        self.dismiss(thread, None);
    }

    /// A thread is opened for a person: it waits for nothing, and its children are somebody's again.
    pub(crate) fn opened(&mut self, thread: &ThreadId) {
        self.pending.remove(thread);
        self.dismissed.clear();
    }

    /// The app-server is gone, and with it what waits. The sessions stay.
    pub(crate) fn lost(&mut self) {
        self.pending.clear();
        self.unread.clear();
        self.dismissed.clear();
    }

    fn dismiss(&mut self, thread: &ThreadId, root: Option<SessionId>) {
        if self.dismissed.len() >= DISMISSED_KEPT {
            self.dismissed.pop_first();
        }
        self.dismissed.insert(thread.clone(), root.map(|session| Housekeeping { session, turn: None }));
    }
}

impl Core {
    /// Keeps an event of a thread that is not announced yet; gives back what is not to wait.
    pub(in crate::core) fn hold_back(&mut self, now: Tick, event: Event, out: &mut Effects) -> Option<Event> {
        let Some(thread) = event.thread().cloned().filter(|thread| !self.shows(thread)) else {
            return Some(event);
        };
        if let Event::TurnStarted { root: Some(root), turn, .. } = &event {
            let is_its = |(_, it): &(&SessionId, &Session)| it.is_current(root) || it.is_over(root);
            let root = self.sessions.iter().find(is_its).map(|(id, it)| root_of(id, it));
            if let Some(known) = self.subagents.dismissed.get_mut(&thread) {
                let session = known.take().map(|it| it.session).or(root);
                *known = session.map(|session| Housekeeping { session, turn: Some(turn.clone()) });
                return Some(event);
            }
            if !self.awaits_announcement(now, &thread, out) {
                return Some(event);
            }
            if let Some(pending) = self.subagents.pending.get_mut(&thread) {
                pending.root = root.or_else(|| pending.root.take());
            }
        } else if !self.subagents.pending.contains_key(&thread)
            && (!is_first_sign(&event) || !self.awaits_announcement(now, &thread, out))
        {
            return Some(event);
        }
        if let (Event::RequestResolved { request, .. }, Some(pending)) =
            (&event, self.subagents.pending.get_mut(&thread))
        {
            pending.waiting.retain(|it| !matches!(it, Waiting::Asked(asked, _) if asked == request));
            return None;
        }
        self.wait(now, &thread, Waiting::Event(event), out);
        None
    }

    /// Keeps a request of such a thread; gives back what is not to wait.
    pub(in crate::core) fn hold_back_ask(
        &mut self,
        now: Tick,
        thread: &ThreadId,
        (request, ask): (RequestId, CodexAsk),
        out: &mut Effects,
    ) -> Option<(RequestId, CodexAsk)> {
        if self.shows(thread) || !self.awaits_announcement(now, thread, out) {
            return Some((request, ask));
        }
        self.wait(now, thread, Waiting::Asked(request, ask), out);
        None
    }

    /// A call names subagents: those that are not announced yet are announced before it.
    pub(in crate::core) fn announce_named(
        &mut self,
        now: Tick,
        thread: &ThreadId,
        item: &ItemKind,
        out: &mut Effects,
    ) {
        let ItemKind::Tool(tool) = item else { return };
        let Some(CollabCall { act, threads, name, task }) = tool.collab.as_deref() else { return };
        let parent = self.renewals.session(thread);
        if *act == CollabAct::Ends || !self.sessions.get(&parent).is_some_and(|it| it.is_open) {
            return;
        }
        let identity = Identity { name: name.clone(), task: task.clone(), ..Identity::default() };
        for child in threads {
            if self.shows(child) {
                let child = SessionId::of(child);
                let identity = identity.clone();
                self.with(now, &parent, out, |session, cx| session.child_described(cx, &child, identity));
                continue;
            }
            // Its nickname and directory are asked for, and told when they are known.
            self.subagents.dismissed.remove(child);
            self.awaits_announcement(now, child, out);
            self.announce(now, &parent, child, identity.clone(), out);
        }
    }

    /// What `thread/read` says of a thread.
    pub(in crate::core) fn descent_told(
        &mut self,
        now: Tick,
        thread: &ThreadId,
        result: Result<CodexReply, CodexError>,
        out: &mut Effects,
    ) {
        let tries = self.subagents.unread.remove(thread).unwrap_or_default();
        let descent = match result {
            Ok(CodexReply::Descent(descent)) => descent,
            Ok(_) => return out.anomaly(Anomaly::UnknownAnswer { what: "no thread in thread/read" }),
            Err(error) if error.message.contains("failed to read") && tries < READS => {
                self.subagents.unread.insert(thread.clone(), tries + 1);
                return self.timers.arm(now.plus(READ_AGAIN), Timer::ReadAgain { thread: thread.clone() });
            }
            Err(error) => {
                out.anomaly(Anomaly::CodexRefused { method: "thread/read", message: error.message });
                return self.judge_by_turn(now, thread, out);
            }
        };
        let Descent { parent, nickname, name, cwd } = descent;
        let identity = Identity { nickname, name, task: None, cwd: Some(cwd).filter(|it| !it.is_empty()) };
        if let Some(parent) = self.subagents.parents.get(thread).cloned() {
            let child = SessionId::of(thread);
            return self.with(now, &parent, out, |session, cx| session.child_described(cx, &child, identity));
        }
        let Some(pending) = self.subagents.pending.get_mut(thread) else { return };
        let Some(parent) = parent else {
            let root = pending.root.clone();
            return self.dismiss(now, thread, root, out);
        };
        pending.identity = identity.clone();
        if self.shows(&parent) {
            let parent = self.renewals.session(&parent);
            return self.announce(now, &parent, thread, identity, out);
        }
        if self.subagents.pending.contains_key(&parent) {
            if let Some(pending) = self.subagents.pending.get_mut(thread) {
                pending.parent = Some(parent);
            }
            return;
        }
        self.judge_by_turn(now, thread, out);
    }

    /// Codex may be able to read a thread by now.
    pub(in crate::core) fn read_again(&mut self, thread: &ThreadId, out: &mut Effects) {
        let is_missed = self.subagents.pending.contains_key(thread) || self.subagents.is_announced(thread);
        if is_missed && self.subagents.unread.contains_key(thread) {
            let request = CodexRequest::ThreadRead { thread: thread.clone() };
            self.link.call(Purpose::Descent { thread: thread.clone() }, request, out);
        }
    }

    /// Nobody has announced a thread in time.
    pub(in crate::core) fn announcement_bound(&mut self, now: Tick, thread: &ThreadId, out: &mut Effects) {
        if !self.subagents.pending.contains_key(thread) {
            return;
        }
        self.judge_by_turn(now, thread, out);
        if self.subagents.pending.contains_key(thread) {
            self.dismiss(now, thread, None, out);
        }
    }

    /// All that waits to be announced for this session is announced now: the session closes.
    pub(in crate::core) fn announce_waiting(&mut self, now: Tick, root: &SessionId, out: &mut Effects) {
        let is_its = |pending: &Pending| pending.root.as_ref() == Some(root);
        let its = self.subagents.pending.iter().filter(|(_, it)| is_its(it));
        for thread in its.map(|(thread, _)| thread.clone()).collect::<Vec<_>>() {
            self.judge_by_turn(now, &thread, out);
        }
    }

    /// Without a word about its descent, a child belongs to the session that its turn goes back to.
    fn judge_by_turn(&mut self, now: Tick, thread: &ThreadId, out: &mut Effects) {
        let Some(pending) = self.subagents.pending.get(thread) else { return };
        if let Some(root) = pending.root.clone().filter(|root| self.sessions.contains_key(root)) {
            let identity = pending.identity.clone();
            self.announce(now, &root, thread, identity, out);
        }
    }

    /// A session for a subagent, announced by its parent; then what waited for it.
    fn announce(
        &mut self,
        now: Tick,
        parent: &SessionId,
        thread: &ThreadId,
        identity: Identity,
        out: &mut Effects,
    ) {
        let Some(above) = self.sessions.get(parent) else { return };
        let is_closing = above.closing.is_some();
        self.child_session(parent, thread, identity.cwd.clone());
        let id = SessionId::of(thread);
        // It is there to work, and may not have begun.
        self.with(now, &id, out, |child, _| child.expect_turn(now));
        self.with(now, parent, out, |session, cx| session.announce_child(cx, &id, identity));
        let pending = self.subagents.pending.remove(thread);
        for waiting in pending.into_iter().flat_map(|it| it.waiting) {
            match waiting {
                Waiting::Event(event) => self.event(now, event, out),
                Waiting::Asked(request, ask) => self.codex_asked(now, request, ask, out),
            }
        }
        let is_below = |pending: &Pending| pending.parent.as_ref() == Some(thread);
        let below = self.subagents.pending.iter().filter(|(_, it)| is_below(it));
        let below: Vec<_> = below.map(|(thread, it)| (thread.clone(), it.identity.clone())).collect();
        for (thread, identity) in below {
            self.announce(now, &id, &thread, identity, out);
        }
        if is_closing {
            self.with(now, &id, out, |session, cx| session.close(cx, None));
        }
    }

    fn dismiss(&mut self, now: Tick, thread: &ThreadId, root: Option<SessionId>, out: &mut Effects) {
        let pending = self.subagents.pending.remove(thread);
        self.subagents.dismiss(thread, root);
        for waiting in pending.into_iter().flat_map(|it| it.waiting) {
            match waiting {
                Waiting::Event(event) => self.event(now, event, out),
                Waiting::Asked(request, ask) => self.codex_asked(now, request, ask, out),
            }
        }
    }

    /// Whether a thread waits to be announced, from now on if it was never seen.
    fn awaits_announcement(&mut self, now: Tick, thread: &ThreadId, out: &mut Effects) -> bool {
        if self.subagents.pending.contains_key(thread) {
            return true;
        }
        let is_arriving = self.arriving.contains_key(&self.renewals.session(thread));
        if self.sessions.is_empty() || is_arriving || self.subagents.dismissed.contains_key(thread) {
            return false;
        }
        self.subagents.pending.insert(thread.clone(), Pending::default());
        let request = CodexRequest::ThreadRead { thread: thread.clone() };
        self.link.call(Purpose::Descent { thread: thread.clone() }, request, out);
        self.timers.arm(now.plus(WAITING_BOUND), Timer::Announcement { thread: thread.clone() });
        // Its commands are below our app-server too.
        self.link.mark(thread);
        true
    }

    fn wait(&mut self, now: Tick, thread: &ThreadId, waiting: Waiting, out: &mut Effects) {
        let Some(pending) = self.subagents.pending.get_mut(thread) else { return };
        pending.waiting.push(waiting);
        if pending.waiting.len() >= WAITING_MAX {
            self.announcement_bound(now, thread, out);
        }
    }

    fn shows(&self, thread: &ThreadId) -> bool {
        self.sessions.contains_key(&self.renewals.session(thread))
    }
}

/// Only these begin the life of a child: an end of something may be the last word of what was closed.
fn is_first_sign(event: &Event) -> bool {
    matches!(
        event,
        Event::ThreadStatus { status: ThreadStatus::Idle | ThreadStatus::Active, .. }
            | Event::TurnStarted { .. }
            | Event::ItemStarted { .. }
            | Event::Warning { .. }
            | Event::Notice { .. }
    )
}

fn root_of(id: &SessionId, session: &Session) -> SessionId {
    session.lineage.as_ref().map_or_else(|| id.clone(), |lineage| lineage.root.clone())
}
