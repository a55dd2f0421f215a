//! Threads of subagents: whose they are, and when their sessions are announced.
//!
//! Codex announces no child. Nothing of one is told before its parent has; until then it waits here, bounded.

use super::Core;
use super::asked::CodexAsk;
use super::codex::{
    CodexError, CodexReply, CodexRequest, Event, Holds, ItemKind, ThreadOpened, ThreadStatus,
};
use super::crew::{Crew, CrewAct, Kinship};
use super::effect::{Anomaly, Effects};
use super::ids::{RequestId, SessionId, ThreadId, Tick, TurnId};
use super::kept::Keeping;
use super::kids::{Face, Kin};
use super::link::Purpose;
use super::request::Place;
use super::session::{History, Session};
use super::timer::Timer;
use std::collections::BTreeMap;

/// How much of a thread waits for its announcement, and how long, in ms.
const WAITING_MAX: usize = 256;
const WAITING_BOUND: u64 = 2_000;
/// Codex cannot read a thread that it has just begun to write: asked again so often, after so many ms.
const READS: u32 = 8;
const READ_AGAIN: u64 = 200;
/// Threads that are remembered as nobody's.
const NOBODYS_KEPT: usize = 1_024;

/// All threads that are no session of a person's.
#[derive(Debug, Default)]
pub(crate) struct Children {
    /// Seen, and not known yet.
    strangers: BTreeMap<ThreadId, Stranger>,
    /// The announced ones, by their parent.
    parents: BTreeMap<ThreadId, SessionId>,
    /// How often Codex could not read a thread.
    unread: BTreeMap<ThreadId, u32>,
    /// Not to be announced: what Codex does for itself, maybe for a session, and what was closed.
    nobodys: BTreeMap<ThreadId, Option<Housework>>,
}

/// What Codex does for a session without telling whose subagent does it.
#[derive(Debug)]
struct Housework {
    session: SessionId,
    /// The turn that runs.
    turn: Option<TurnId>,
}

#[derive(Debug, Default)]
struct Stranger {
    /// The session whose turn its turn goes back to.
    root: Option<SessionId>,
    /// A thread that is a stranger too.
    parent: Option<ThreadId>,
    face: Face,
    waiting: Vec<Waiting>,
}

#[derive(Debug)]
enum Waiting {
    Event(Event),
    Asked(RequestId, CodexAsk),
}

impl Children {
    pub(crate) fn is_announced(&self, thread: &ThreadId) -> bool {
        self.parents.contains_key(thread)
    }

    /// The session whose user is asked what this thread asks, though it has no session of its own.
    pub(crate) fn housekeeping_of(&self, thread: &ThreadId) -> Option<&SessionId> {
        self.nobodys.get(thread)?.as_ref().map(|it| &it.session)
    }

    /// Threads that Codex works in for a session by itself, and their turns that run.
    pub(crate) fn housework(&self, session: &SessionId) -> Vec<(ThreadId, Option<TurnId>)> {
        let its = self.nobodys.iter().filter_map(|(thread, it)| Some((thread, it.as_ref()?)));
        let its = its.filter(|(_, it)| it.session == *session);
        its.map(|(thread, it)| (thread.clone(), it.turn.clone())).collect()
    }

    /// The session whose subagent a thread is.
    pub(crate) fn parent(&self, thread: &ThreadId) -> Option<&SessionId> {
        self.parents.get(thread)
    }

    /// The turn of what Codex does by itself is over.
    pub(crate) fn housework_rests(&mut self, thread: &ThreadId) {
        if let Some(Some(housework)) = self.nobodys.get_mut(thread) {
            housework.turn = None;
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
        for housework in self.nobodys.values_mut() {
            housework.take_if(|it| it.session == *session);
        }
        self.dismiss(thread, None);
    }

    /// A thread is opened for a person: it waits for nothing, and its children are somebody's again.
    pub(crate) fn opened(&mut self, thread: &ThreadId) {
        self.strangers.remove(thread);
        self.nobodys.clear();
    }

    /// The app-server is gone, and with it what waits. The sessions stay.
    pub(crate) fn lost(&mut self) {
        self.strangers.clear();
        self.unread.clear();
        self.nobodys.clear();
    }

    fn dismiss(&mut self, thread: &ThreadId, root: Option<SessionId>) {
        if self.nobodys.len() >= NOBODYS_KEPT {
            self.nobodys.pop_first();
        }
        self.nobodys.insert(thread.clone(), root.map(|session| Housework { session, turn: None }));
    }
}

impl Core {
    /// Keeps an event of a thread that is not announced yet; gives back what is not to wait.
    pub(super) fn hold_back(&mut self, now: Tick, event: Event, out: &mut Effects) -> Option<Event> {
        let Some(thread) = event.thread().cloned().filter(|thread| !self.shows(thread)) else {
            return Some(event);
        };
        if let Event::TurnStarted { root: Some(root), turn, .. } = &event {
            let is_its = |(_, it): &(&SessionId, &Session)| it.is_current(root) || it.is_over(root);
            let root = self.sessions.iter().find(is_its).map(|(id, it)| root_of(id, it));
            if let Some(known) = self.children.nobodys.get_mut(&thread) {
                let session = known.take().map(|it| it.session).or(root);
                *known = session.map(|session| Housework { session, turn: Some(turn.clone()) });
                return Some(event);
            }
            if !self.meets(now, &thread, out) {
                return Some(event);
            }
            if let Some(stranger) = self.children.strangers.get_mut(&thread) {
                stranger.root = root.or_else(|| stranger.root.take());
            }
        } else if !self.children.strangers.contains_key(&thread)
            && (!is_first_sign(&event) || !self.meets(now, &thread, out))
        {
            return Some(event);
        }
        if let (Event::RequestResolved { request, .. }, Some(stranger)) =
            (&event, self.children.strangers.get_mut(&thread))
        {
            stranger.waiting.retain(|it| !matches!(it, Waiting::Asked(asked, _) if asked == request));
            return None;
        }
        self.wait(now, &thread, Waiting::Event(event), out);
        None
    }

    /// Keeps a request of such a thread; gives back what is not to wait.
    pub(super) fn hold_back_ask(
        &mut self,
        now: Tick,
        thread: &ThreadId,
        (request, ask): (RequestId, CodexAsk),
        out: &mut Effects,
    ) -> Option<(RequestId, CodexAsk)> {
        if self.shows(thread) || !self.meets(now, thread, out) {
            return Some((request, ask));
        }
        self.wait(now, thread, Waiting::Asked(request, ask), out);
        None
    }

    /// A call names subagents: those that are not announced yet are announced before it.
    pub(super) fn introduce(&mut self, now: Tick, thread: &ThreadId, item: &ItemKind, out: &mut Effects) {
        let ItemKind::Tool(tool) = item else { return };
        let Some(Crew { act, threads, name, task }) = tool.crew.as_deref() else { return };
        let parent = self.renewals.session(thread);
        if *act == CrewAct::Ends || !self.sessions.get(&parent).is_some_and(|it| it.is_open) {
            return;
        }
        let face = Face { name: name.clone(), task: task.clone(), ..Face::default() };
        for child in threads {
            if self.shows(child) {
                let kid = SessionId::of(child);
                let face = face.clone();
                self.with(now, &parent, out, |session, cx| session.kid_described(cx, &kid, face));
                continue;
            }
            // Its nickname and directory are asked for, and told when they are known.
            self.children.nobodys.remove(child);
            self.meets(now, child, out);
            self.announce(now, &parent, child, face.clone(), out);
        }
    }

    /// What `thread/read` says of a thread.
    pub(super) fn kinship_told(
        &mut self,
        now: Tick,
        thread: &ThreadId,
        result: Result<CodexReply, CodexError>,
        out: &mut Effects,
    ) {
        let tries = self.children.unread.remove(thread).unwrap_or_default();
        let kinship = match result {
            Ok(CodexReply::Kinship(kinship)) => kinship,
            Ok(_) => return out.anomaly(Anomaly::UnknownAnswer { what: "no thread in thread/read" }),
            Err(error) if error.message.contains("failed to read") && tries < READS => {
                self.children.unread.insert(thread.clone(), tries + 1);
                return self.timers.arm(now.plus(READ_AGAIN), Timer::ReadAgain { thread: thread.clone() });
            }
            Err(error) => {
                out.anomaly(Anomaly::CodexRefused { method: "thread/read", message: error.message });
                return self.judge_by_turn(now, thread, out);
            }
        };
        let Kinship { parent, nickname, name, cwd } = kinship;
        let face = Face { nickname, name, task: None, cwd: Some(cwd).filter(|it| !it.is_empty()) };
        if let Some(parent) = self.children.parents.get(thread).cloned() {
            let kid = SessionId::of(thread);
            return self.with(now, &parent, out, |session, cx| session.kid_described(cx, &kid, face));
        }
        let Some(stranger) = self.children.strangers.get_mut(thread) else { return };
        let Some(parent) = parent else {
            let root = stranger.root.clone();
            return self.dismiss(now, thread, root, out);
        };
        stranger.face = face.clone();
        if self.shows(&parent) {
            let parent = self.renewals.session(&parent);
            return self.announce(now, &parent, thread, face, out);
        }
        if self.children.strangers.contains_key(&parent) {
            if let Some(stranger) = self.children.strangers.get_mut(thread) {
                stranger.parent = Some(parent);
            }
            return;
        }
        self.judge_by_turn(now, thread, out);
    }

    /// Codex may be able to read a thread by now.
    pub(super) fn read_again(&mut self, thread: &ThreadId, out: &mut Effects) {
        let is_missed = self.children.strangers.contains_key(thread) || self.children.is_announced(thread);
        if is_missed && self.children.unread.contains_key(thread) {
            let request = CodexRequest::ThreadRead { thread: thread.clone() };
            self.link.call(Purpose::Kinship { thread: thread.clone() }, request, out);
        }
    }

    /// Nobody has announced a thread in time.
    pub(super) fn stranger_bound(&mut self, now: Tick, thread: &ThreadId, out: &mut Effects) {
        if !self.children.strangers.contains_key(thread) {
            return;
        }
        self.judge_by_turn(now, thread, out);
        if self.children.strangers.contains_key(thread) {
            self.dismiss(now, thread, None, out);
        }
    }

    /// All that waits to be announced for this session is announced now: the session closes.
    pub(super) fn announce_waiting(&mut self, now: Tick, root: &SessionId, out: &mut Effects) {
        let is_its = |stranger: &Stranger| stranger.root.as_ref() == Some(root);
        let its = self.children.strangers.iter().filter(|(_, it)| is_its(it));
        for thread in its.map(|(thread, _)| thread.clone()).collect::<Vec<_>>() {
            self.judge_by_turn(now, &thread, out);
        }
    }

    /// Without a word about its descent, a child belongs to the session that its turn goes back to.
    fn judge_by_turn(&mut self, now: Tick, thread: &ThreadId, out: &mut Effects) {
        let Some(stranger) = self.children.strangers.get(thread) else { return };
        if let Some(root) = stranger.root.clone().filter(|root| self.sessions.contains_key(root)) {
            let face = stranger.face.clone();
            self.announce(now, &root, thread, face, out);
        }
    }

    /// A session for a subagent, announced by its parent; then what waited for it.
    fn announce(&mut self, now: Tick, parent: &SessionId, thread: &ThreadId, face: Face, out: &mut Effects) {
        let is_native = self.client.subagents;
        let Some(above) = self.sessions.get(parent) else { return };
        // Its tools and instructions are its parent's affair.
        let place =
            Place { cwd: face.cwd.clone().unwrap_or_else(|| above.place.cwd.clone()), ..Place::default() };
        let opened = ThreadOpened {
            thread: thread.clone(),
            cwd: place.cwd.clone(),
            title: None,
            holds: Holds::default(),
            active: false,
            turn: None,
            over: None,
            keeping: Keeping::default(),
        };
        let mut child = Session::new(&opened, place, History::Known);
        let root = root_of(parent, above);
        child.kin = Some(Kin { parent: parent.clone(), root, is_folded: !is_native });
        child.held = (is_native && above.held.is_some()).then(Vec::new);
        child.is_open = true;
        let is_closing = above.closing.is_some();
        let id = child.id.clone();
        self.children.parents.insert(thread.clone(), parent.clone());
        self.sessions.insert(id.clone(), child);
        self.with(now, parent, out, |session, cx| session.adopt(cx, &id, face));
        let stranger = self.children.strangers.remove(thread);
        for waiting in stranger.into_iter().flat_map(|it| it.waiting) {
            match waiting {
                Waiting::Event(event) => self.event(now, event, out),
                Waiting::Asked(request, ask) => self.codex_asked(now, request, ask, out),
            }
        }
        let is_below = |stranger: &Stranger| stranger.parent.as_ref() == Some(thread);
        let below = self.children.strangers.iter().filter(|(_, it)| is_below(it));
        let below: Vec<_> = below.map(|(thread, it)| (thread.clone(), it.face.clone())).collect();
        for (thread, face) in below {
            self.announce(now, &id, &thread, face, out);
        }
        if is_closing {
            self.with(now, &id, out, |session, cx| session.close(cx, None));
        }
    }

    fn dismiss(&mut self, now: Tick, thread: &ThreadId, root: Option<SessionId>, out: &mut Effects) {
        let stranger = self.children.strangers.remove(thread);
        self.children.dismiss(thread, root);
        for waiting in stranger.into_iter().flat_map(|it| it.waiting) {
            match waiting {
                Waiting::Event(event) => self.event(now, event, out),
                Waiting::Asked(request, ask) => self.codex_asked(now, request, ask, out),
            }
        }
    }

    /// Whether a thread waits to be announced, from now on if it was never seen.
    fn meets(&mut self, now: Tick, thread: &ThreadId, out: &mut Effects) -> bool {
        if self.children.strangers.contains_key(thread) {
            return true;
        }
        let is_arriving = self.arriving.contains_key(&self.renewals.session(thread));
        if self.sessions.is_empty() || is_arriving || self.children.nobodys.contains_key(thread) {
            return false;
        }
        self.children.strangers.insert(thread.clone(), Stranger::default());
        let request = CodexRequest::ThreadRead { thread: thread.clone() };
        self.link.call(Purpose::Kinship { thread: thread.clone() }, request, out);
        self.timers.arm(now.plus(WAITING_BOUND), Timer::Stranger { thread: thread.clone() });
        // Its commands are below our app-server too.
        self.link.mark(thread);
        true
    }

    fn wait(&mut self, now: Tick, thread: &ThreadId, waiting: Waiting, out: &mut Effects) {
        let Some(stranger) = self.children.strangers.get_mut(thread) else { return };
        stranger.waiting.push(waiting);
        if stranger.waiting.len() >= WAITING_MAX {
            self.stranger_bound(now, thread, out);
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
            | Event::Notice { .. }
    )
}

fn root_of(id: &SessionId, session: &Session) -> SessionId {
    session.kin.as_ref().map_or_else(|| id.clone(), |kin| kin.root.clone())
}
