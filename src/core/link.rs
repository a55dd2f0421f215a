//! Our end of the app-server: is it there, what have we asked it, may it be started again.
//!
//! Does not know sessions: a `Purpose` says who waits for an answer.

use super::asking::Question;
use super::codex::{Choices, CodexRequest};
use super::effect::{Effect, Effects};
use super::failure::Failure;
use super::history::Ask;
use super::ids::{CodexCallId, Generation, ItemId, PromptKey, RequestId, SessionId, ThreadId, Tick};
use super::leaving::Loss;
use super::listing::Listing;
use super::probe::Watch;
use super::queued::QueuedMessage;
use super::request::{Archived, Place, Reply, Shelf, ThreadEntry, Ticket};
use super::withdrawal::Unwanted;
use std::collections::{BTreeMap, BTreeSet};

/// Deaths within `CRASH_WINDOW` after which we stop starting it.
const CRASH_LIMIT: usize = 3;
/// Milliseconds.
const CRASH_WINDOW: u64 = 60_000;

/// What is said of the last of them.
pub(crate) const TOO_OFTEN: &str = "; that was once too often within a minute, so it is not started again for now; run `appserver-acp doctor` to see why";

/// The same of a connection.
pub(crate) const LOST_TOO_OFTEN: &str = "; that was once too often within a minute, so it is not connected to again for now; run `appserver-acp doctor` to see why";

/// Why we asked, and who waits.
#[derive(Debug)]
pub(crate) enum Purpose {
    Initialize,
    Models,
    /// `account/read` number `read`.
    Account {
        read: u32,
    },
    /// `account/login/start`: the account knows who waits.
    Login,
    /// Nobody waits.
    LoginCancel,
    Logout {
        ticket: Ticket,
    },
    /// `session/new`.
    Open {
        ticket: Ticket,
        place: Place,
    },
    /// The directory of the request with this id, which opens a session.
    Look {
        opening: RequestId,
    },
    /// The directory of a fork: Codex copies at once, and the copy would have to be deleted.
    LookFirst {
        ticket: Ticket,
        session: SessionId,
        place: Place,
    },
    /// A thread or a list that is not wanted any more when it comes.
    Unwanted(Unwanted),
    /// `session/list`.
    ListThreads {
        ticket: Ticket,
        archived: Archived,
        /// This page is one of archived sessions.
        of_archived: bool,
    },
    /// `session/fork`.
    Fork {
        ticket: Ticket,
        session: SessionId,
        place: Place,
    },
    /// `session/delete`, `session/archive`, `session/unarchive`.
    Shelve {
        ticket: Ticket,
        session: SessionId,
        shelf: Shelf,
    },
    /// Is a thread where it was looked for? Then this is the answer, else that one.
    Find {
        ticket: Ticket,
        found: Box<Reply>,
        missing: Failure,
    },
    /// `session/set_title`.
    Title {
        ticket: Ticket,
        session: SessionId,
        title: String,
    },
    /// `session/resume`, `session/load`: the session holds the ticket.
    Resume {
        session: SessionId,
    },
    /// A thread of a former app-server is loaded again before its next turn.
    Revive {
        session: SessionId,
    },
    /// Another thread in place of one that Codex had not saved.
    Renew {
        session: SessionId,
    },
    /// One page of the subagents of a session that comes back by this request; these are known.
    Descendants {
        session: SessionId,
        by: RequestId,
        known: Vec<ThreadEntry>,
    },
    /// A subagent of a session that comes back: its thread is joined.
    Restore {
        session: SessionId,
    },
    /// Whose subagent a thread is.
    Descent {
        thread: ThreadId,
    },
    /// One page of the history for the replay with this number.
    Replay {
        session: SessionId,
        reading: u64,
        ask: Ask,
    },
    /// Is the thread loaded already? Then it is joined, else loaded as this request says, for this purpose.
    IsLoaded {
        then: Box<(Purpose, CodexRequest)>,
    },
    /// One page of what was missed while the connection was lost.
    CatchUp {
        session: SessionId,
    },
    /// One page of the history, looking for a prompt key.
    KeyScan {
        session: SessionId,
    },
    TurnStart {
        session: SessionId,
        key: PromptKey,
    },
    TurnSteer {
        session: SessionId,
        key: PromptKey,
    },
    Interrupt {
        session: SessionId,
    },
    /// The model of a session is told something in its turn; if it cannot be, then that of the root.
    Inform {
        session: SessionId,
        root: SessionId,
        line: String,
    },
    /// The permission profiles that a session in this directory may choose from.
    Profiles {
        cwd: String,
    },
    /// One page of the terminals.
    Terminals {
        session: SessionId,
        listing: Listing,
    },
    Terminate {
        session: SessionId,
        item: ItemId,
    },
    /// `thread/goal/get`.
    Goal {
        session: SessionId,
    },
    /// A goal is paused or cleared.
    GoalStop {
        session: SessionId,
    },
    /// One page of the queue, after these; `cursor` led to it.
    Queue {
        session: SessionId,
        pages: Vec<QueuedMessage>,
        cursor: Option<String>,
    },
    /// A message is taken out of the queue.
    Unqueue {
        session: SessionId,
        item: ItemId,
    },
    /// `skills/list`.
    Skills {
        session: SessionId,
        asked: u64,
    },
    /// For a prompt that is answered here.
    Local {
        session: SessionId,
        key: PromptKey,
        question: Question,
    },
    /// What was chosen is told before a compaction or a review.
    Settings {
        session: SessionId,
        choices: Choices,
    },
    /// A compaction or a review is started.
    Begin {
        session: SessionId,
        key: PromptKey,
    },
    /// `clean` or `unsubscribe` of a closing session: nobody waits.
    Parting,
    /// Is the configuration to blame that nobody is signed in?
    Config,
    /// Does it still answer? Nobody waits.
    Probe,
}

#[derive(Debug)]
enum Phase {
    /// Not running; why the one before ended.
    Down {
        last: Option<Loss>,
    },
    Starting,
    Ready,
}

/// How often a request is made again that Codex had no time for.
const AGAIN_MAX: u32 = 5;
/// How long the first of them waits, in ms; each waits twice as long as the one before.
const AGAIN_AFTER: u64 = 250;

/// A call without an answer.
#[derive(Debug)]
struct Pending {
    /// Who waits.
    purpose: Purpose,
    /// To be made again.
    request: CodexRequest,
    /// How often it was made again.
    n_again: u32,
}

/// The app-server as the core sees it.
#[derive(Debug)]
pub(crate) struct Link {
    phase: Phase,
    generation: Generation,
    next_call: i64,
    /// Calls without an answer.
    pending: BTreeMap<CodexCallId, Pending>,
    backlog: Vec<(CodexCallId, CodexRequest)>,
    deaths: Vec<Tick>,
    /// We are leaving: nothing is started any more.
    retired: bool,
    /// Threads that ran commands under this app-server: what a sweep looks for.
    marked: BTreeSet<ThreadId>,
    /// Whether any thread ran commands under this app-server.
    ran: bool,
    /// How long it has been silent.
    pub(crate) watch: Watch,
    /// Version of the app-server, as it says itself.
    pub(crate) codex: Option<String>,
    /// Where the app-server is that runs already; `None`: it is a child of ours.
    address: Option<String>,
    /// Tries to connect to it in a row that failed.
    tries: u32,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            phase: Phase::Down { last: None },
            generation: Generation(0),
            next_call: 0,
            pending: BTreeMap::new(),
            backlog: Vec::new(),
            deaths: Vec::new(),
            retired: false,
            marked: BTreeSet::new(),
            ran: false,
            watch: Watch::default(),
            codex: None,
            address: None,
            tries: 0,
        }
    }
}

impl Link {
    /// To the app-server at `address`, or to one of our own.
    pub(crate) fn to(address: Option<String>) -> Self {
        Self { address, ..Self::default() }
    }

    /// Where the app-server is that runs without us.
    pub(crate) fn address(&self) -> Option<&str> {
        self.address.as_deref()
    }

    /// How often in a row it could not be connected to.
    pub(crate) fn tries(&self) -> u32 {
        self.tries
    }

    /// Makes sure that an app-server runs or is being started.
    ///
    /// # Errors
    /// `Failure::AppServer` while a crash loop is cut off.
    pub(crate) fn ensure(&mut self, now: Tick, out: &mut Effects) -> Result<(), Failure> {
        if self.retired {
            return Err(Failure::InvalidRequest("the agent is shutting down".to_owned()));
        }
        let Phase::Down { last } = &self.phase else { return Ok(()) };
        self.deaths.retain(|at| now.0.saturating_sub(at.0) < CRASH_WINDOW);
        if self.deaths.len() >= CRASH_LIMIT {
            let (last, stderr) =
                last.as_ref().map_or(("", None), |it| (it.message.as_str(), it.stderr.clone()));
            let last =
                [TOO_OFTEN, LOST_TOO_OFTEN].iter().find_map(|end| last.strip_suffix(end)).unwrap_or(last);
            let what = match &self.address {
                None => format!("ended {CRASH_LIMIT} times within a minute and is not started again for now"),
                Some(_) => format!(
                    "was lost {CRASH_LIMIT} times within a minute and is not connected to again for now"
                ),
            };
            let message = format!(
                "the codex app-server {what}; run `appserver-acp doctor` to see why, then try again; the last time: {last}"
            );
            return Err(Failure::AppServer { message, stderr });
        }
        self.generation = Generation(self.generation.0 + 1);
        self.phase = Phase::Starting;
        out.push(Effect::StartCodex { generation: self.generation });
        self.call_at_once(Purpose::Initialize, CodexRequest::Initialize, out);
        Ok(())
    }

    /// Asks Codex; waits for its `initialize` if need be. Without an app-server nothing is asked:
    /// whoever holds a ticket calls `ensure` first.
    pub(crate) fn call(&mut self, purpose: Purpose, request: CodexRequest, out: &mut Effects) {
        match self.phase {
            Phase::Down { .. } => {}
            Phase::Starting => {
                let call = self.register(purpose, &request);
                self.backlog.push((call, request));
            }
            Phase::Ready => self.call_at_once(purpose, request, out),
        }
    }

    /// Loads a thread, by `ThreadResume`.
    ///
    /// What others have loaded is joined as it is: where nobody is subscribed and no turn runs, a setting of
    /// ours makes Codex 0.171.0 load the thread anew, and its commands end with that. Any `config`, roots or
    /// instructions do, and another directory.
    pub(crate) fn load(&mut self, purpose: Purpose, request: CodexRequest, out: &mut Effects) {
        match (&self.address, &request) {
            (Some(_), CodexRequest::ThreadResume { thread, .. }) => {
                let list = CodexRequest::TerminalsList { thread: thread.clone(), cursor: None };
                self.call(Purpose::IsLoaded { then: Box::new((purpose, request)) }, list, out);
            }
            (_, _) => self.call(purpose, request, out),
        }
    }

    /// Asks Codex, whether it is ready or not.
    pub(crate) fn call_at_once(&mut self, purpose: Purpose, request: CodexRequest, out: &mut Effects) {
        let call = self.register(purpose, &request);
        out.push(Effect::Call { call, request });
    }

    /// The method of the oldest call without an answer; of one that nobody waits for by itself only if there
    /// is no other.
    pub(crate) fn awaited(&self) -> Option<&'static str> {
        let is_aside = |purpose: &Purpose| matches!(purpose, Purpose::Probe | Purpose::Profiles { .. });
        let oldest = self.pending.values().find(|it| !is_aside(&it.purpose));
        oldest.or(self.pending.values().next()).map(|it| it.request.method())
    }

    /// No app-server is started from now on.
    pub(crate) fn retire(&mut self) {
        self.retired = true;
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.retired
    }

    /// `initialize` was answered: what waited goes out, in order.
    pub(crate) fn ready(&mut self, out: &mut Effects) {
        self.phase = Phase::Ready;
        self.tries = 0;
        for (call, request) in self.backlog.drain(..) {
            out.push(Effect::Call { call, request });
        }
    }

    /// Takes the purpose of an answered call.
    pub(crate) fn answered(&mut self, call: CodexCallId) -> Option<Purpose> {
        self.pending.remove(&call).map(|it| it.purpose)
    }

    /// Codex has no time for this call: how long to wait before it is made again, in ms; `None` if it has
    /// been made often enough.
    pub(crate) fn put_off(&mut self, call: CodexCallId) -> Option<u64> {
        let pending = self.pending.get_mut(&call).filter(|it| it.n_again < AGAIN_MAX)?;
        pending.n_again += 1;
        Some(AGAIN_AFTER << (pending.n_again - 1))
    }

    /// Makes a call again that was put off; nothing if nobody waits for it any more.
    pub(crate) fn call_again(&self, call: CodexCallId, out: &mut Effects) {
        if let Some(pending) = self.pending.get(&call) {
            out.push(Effect::Call { call, request: pending.request.clone() });
        }
    }

    /// Whether a death now is the one after which it is not started again.
    pub(crate) fn is_last_death(&self, now: Tick) -> bool {
        let recent = self.deaths.iter().filter(|at| now.0.saturating_sub(at.0) < CRASH_WINDOW);
        recent.count() + 1 >= CRASH_LIMIT
    }

    /// Whether a call with such a purpose is unanswered.
    pub(crate) fn has_pending(&self, is_it: impl Fn(&Purpose) -> bool) -> bool {
        self.pending.values().any(|it| is_it(&it.purpose))
    }

    /// What was asked for this request of the client's, if that can be given up.
    pub(crate) fn awaited_by(&mut self, request: &RequestId) -> Option<&mut Purpose> {
        let mut all = self.pending.values_mut().map(|it| &mut it.purpose);
        all.find(|it| it.is_given_up_by(request))
    }

    /// The app-server is gone: everybody who waited, in the order they asked.
    pub(crate) fn lost(&mut self, now: Tick, loss: Loss) -> Vec<Purpose> {
        // One that was never there costs nothing to try again, and its reason is the better one.
        match loss.was_running {
            true => self.deaths.push(now),
            false => self.tries = self.tries.saturating_add(1),
        }
        self.phase = Phase::Down { last: Some(loss) };
        self.backlog.clear();
        std::mem::take(&mut self.pending).into_values().map(|it| it.purpose).collect()
    }

    pub(crate) fn is_down(&self) -> bool {
        matches!(self.phase, Phase::Down { .. })
    }

    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.phase, Phase::Ready)
    }

    pub(crate) fn generation(&self) -> Generation {
        self.generation
    }

    /// A command of `thread` was started.
    pub(crate) fn mark(&mut self, thread: &ThreadId) {
        self.ran = true;
        if !self.marked.contains(thread) {
            self.marked.insert(thread.clone());
        }
    }

    /// Whether `thread` ran commands under this app-server; asked once, when it closes.
    pub(crate) fn unmark(&mut self, thread: &ThreadId) -> bool {
        self.marked.remove(thread)
    }

    /// The threads to sweep for, which are ours no more; `None` if none ever ran a command.
    pub(crate) fn take_marked(&mut self) -> Option<Vec<ThreadId>> {
        let marked = std::mem::take(&mut self.marked).into_iter().collect();
        std::mem::take(&mut self.ran).then_some(marked)
    }

    fn register(&mut self, purpose: Purpose, request: &CodexRequest) -> CodexCallId {
        self.next_call += 1;
        let call = CodexCallId(self.next_call);
        self.pending.insert(call, Pending { purpose, request: request.clone(), n_again: 0 });
        call
    }
}
