//! Sessions that open: new ones and ones that come back.
//!
//! A resume keeps the order of V2-26: replay, `replay_complete`, what lives, state, answer.

use super::codex::{CodexError, CodexRequest, ThreadOpened};
use super::cx::{Cx, News};
use super::effect::Effects;
use super::failure::Failure;
use super::ids::{RequestId, SessionId, ThreadId};
use super::link::Purpose;
use super::prompts::refusal;
use super::replay::Returning;
use super::request::{Place, Reply, SessionOpened, ThreadEntry, Ticket, Version};
use super::session::{Session, Tie};
use super::turn::{Front, Turn};
use super::update::Update;

/// What Codex answers where it fails itself.
const INTERNAL: i64 = -32603;

/// A resume that is not answered yet.
#[derive(Debug)]
pub(crate) struct Resuming {
    /// `None` for a subagent, which comes back with its session.
    pub(crate) ticket: Option<Ticket>,
    pub(crate) place: Place,
    pub(crate) replay: bool,
    /// Its subagents at every depth, once they are known; what became of asking for them otherwise.
    pub(crate) descendants: Option<Result<Vec<ThreadEntry>, CodexError>>,
    stage: Stage,
}

/// How far a resume is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// The thread of a subagent is being joined.
    Joining,
    /// The history is being told.
    Replaying,
    /// The client does not keep up: the next page waits.
    Paused,
    /// Its subagents are being brought back.
    Restoring,
    /// What lives is being asked for.
    Listing,
    /// Everything is known; only what there is to choose from may be missing.
    Known,
}

impl Resuming {
    pub(crate) fn new(ticket: Ticket, place: Place, replay: bool) -> Self {
        Self { ticket: Some(ticket), place, replay, descendants: None, stage: Stage::Replaying }
    }

    /// Of a subagent.
    pub(crate) fn of_subagent(place: Place, replay: bool) -> Self {
        Self { ticket: None, place, replay, descendants: None, stage: Stage::Joining }
    }

    /// Whether it waits for its thread to be joined.
    pub(crate) fn is_joining(&self) -> bool {
        self.stage == Stage::Joining
    }

    /// The request that it answers.
    pub(crate) fn request_id(&self) -> Option<&RequestId> {
        self.ticket.as_ref().map(Ticket::id)
    }

    /// The client is told that it came to nothing.
    pub(crate) fn refuse(self, failure: Failure, out: &mut Effects) {
        if let Some(ticket) = self.ticket {
            out.refuse(ticket, failure);
        }
    }

    /// The call that brings the thread back.
    pub(crate) fn request(&self, thread: ThreadId) -> CodexRequest {
        CodexRequest::ThreadResume {
            thread,
            cwd: Some(self.place.cwd.clone()),
            roots: self.place.additional_directories.clone(),
            mcp_servers: self.place.mcp_servers.clone(),
            instructions: self.place.instructions.clone(),
            gateway: self.place.gateway.clone(),
        }
    }

    /// Whether a list that is asked for now is the one it waits for.
    pub(crate) fn awaits_list(&self) -> bool {
        self.stage == Stage::Listing
    }
}

impl Session {
    /// The thread of a resume is loaded.
    pub(crate) fn resumed(&mut self, cx: &mut Cx<'_>, opened: &ThreadOpened, resuming: Resuming) {
        self.tie = Tie::Loaded;
        self.chosen.renew(opened);
        self.place = resuming.place.clone();
        match self.is_unsure {
            true => self.rejoin(cx, opened),
            false => drop(self.joins_turn(opened)),
        }
        self.keeping = opened.keeping;
        self.comes_back_with(cx, resuming);
    }

    /// The thread is known: its history and what lives can be told.
    pub(crate) fn comes_back_with(&mut self, cx: &mut Cx<'_>, resuming: Resuming) {
        self.at_work.clear();
        let lived = self.returning.take();
        let Returning { living, unfinished, mark } = lived.unwrap_or_else(|| self.what_lives(cx));
        let replay = resuming.replay;
        self.resuming = Some(Resuming { stage: Stage::Replaying, ..resuming });
        if !replay {
            self.hold_first(living.into_iter().flat_map(|(_, updates)| updates));
            return self.await_descendants(cx);
        }
        let (placed, rest): (Vec<_>, Vec<_>) = living.into_iter().partition(|(started, _)| started.is_some());
        self.hold_first(rest.into_iter().flat_map(|(_, updates)| updates).chain(unfinished));
        let placed = placed.into_iter().filter_map(|(started, updates)| Some((started?, updates)));
        self.begin_replay(cx, placed.collect(), mark);
        self.await_descendants(cx);
    }

    /// Its subagents are known: the history can be told, which names them.
    pub(crate) fn descendants_known(&mut self, cx: &mut Cx<'_>) {
        match self.reader {
            Some(_) => self.read_on(cx),
            None => self.await_subagents(cx),
        }
    }

    /// The history is told: now those of its subagents.
    pub(crate) fn await_subagents(&mut self, cx: &mut Cx<'_>) {
        if self.lineage.is_some() {
            return self.await_list(cx);
        }
        if let Some(resuming) = &mut self.resuming {
            resuming.stage = Stage::Restoring;
        }
        cx.desk.news.push_back(News::Restore { root: self.id.clone() });
    }

    /// The thread was loaded in mid-turn. Returns whether that is news.
    pub(crate) fn joins_turn(&mut self, opened: &ThreadOpened) -> bool {
        let is_news = opened.active && matches!(self.front, Front::Idle);
        if is_news {
            let mut turn = Turn::new(opened.turn.clone(), Vec::new());
            turn.has_started = turn.id.is_some();
            self.front = Front::Active(turn);
        }
        is_news
    }

    pub(crate) fn await_list(&mut self, cx: &mut Cx<'_>) {
        if let Some(resuming) = &mut self.resuming {
            resuming.stage = Stage::Listing;
        }
        if self.lineage.is_none() {
            self.read_standing(cx);
        }
        self.polls.forget_resume();
        match self.tie {
            Tie::Loaded => self.poll_terminals(cx),
            // Nothing of it runs.
            Tie::Unloaded | Tie::Reviving | Tie::Lost(_) => self.resume_listed(cx),
        }
    }

    /// The client does not keep up: the next page waits.
    pub(crate) fn pause_replay(&mut self) {
        if let Some(resuming) = &mut self.resuming {
            resuming.stage = Stage::Paused;
        }
    }

    /// The client keeps up again: a replay that waited goes on.
    pub(crate) fn go_on_replaying(&mut self, cx: &mut Cx<'_>) {
        match &mut self.resuming {
            Some(resuming) if resuming.stage == Stage::Paused => resuming.stage = Stage::Replaying,
            Some(_) | None => return,
        }
        self.read_on(cx);
    }

    /// These are told before what is held back, once the resume comes to its end.
    pub(in crate::core) fn hold_first(&mut self, updates: impl Iterator<Item = Update>) {
        self.anew = updates.collect();
        self.held.get_or_insert_default();
    }

    /// The list of what lives is known: a resume that waited for it is told the rest (V2-62).
    pub(crate) fn resume_listed(&mut self, cx: &mut Cx<'_>) {
        match &mut self.resuming {
            Some(resuming) if resuming.stage == Stage::Listing => resuming.stage = Stage::Known,
            // It was cancelled, and another one is not as far.
            Some(_) | None => return,
        }
        match self.lineage {
            // Told when all subagents are known, and before those that it is a subagent of.
            Some(_) => self.is_known(cx, None),
            None => self.answer_resume(cx),
        }
    }

    /// Tells what lives and what came meanwhile: it is a part of what the state is about (V2-26, V2-62).
    pub(in crate::core) fn tell_held(&mut self, cx: &mut Cx<'_>) {
        self.confirm_written_down();
        let held = self.held.replace(Vec::new()).unwrap_or_default();
        for update in std::mem::take(&mut self.anew).into_iter().chain(held) {
            self.emit_ahead(cx, update);
        }
    }

    /// Answers a resume once what can be chosen is known too.
    pub(crate) fn answer_resume(&mut self, cx: &mut Cx<'_>) {
        if self.is_whole(cx) {
            cx.desk.news.push_back(News::Whole { root: self.id.clone() });
        }
    }

    /// Whether nothing is missing for the answer of its resume.
    pub(in crate::core) fn is_whole(&self, cx: &Cx<'_>) -> bool {
        let is_known = self.resuming.as_ref().is_some_and(|it| it.stage == Stage::Known);
        is_known && self.lineage.is_none() && self.knows_choices(cx) && self.reads.is_done()
    }

    /// The rest, and the answer: what its subagents owed is told.
    pub(in crate::core) fn finish_resume(&mut self, cx: &mut Cx<'_>) {
        let Some(resuming) = self.resuming.take() else { return };
        self.tell_held(cx);
        self.report_ahead(cx);
        if let Some(ticket) = resuming.ticket {
            self.answer_open(cx, ticket);
        }
        self.woken_again(cx);
        self.pump(cx);
    }

    /// Whether an answer can name what there is to choose from.
    pub(crate) fn knows_choices(&self, cx: &Cx<'_>) -> bool {
        cx.models.is_known() && !cx.profiles.are_awaited(&self.place.cwd)
    }

    /// Takes over which profiles there are. Returns whether that is news.
    pub(crate) fn learn_profiles(&mut self, cx: &Cx<'_>) -> bool {
        self.chosen.offer(cx.profiles.of(&self.place.cwd))
    }

    /// Tells the client of the session, then what was held back.
    pub(crate) fn answer_open(&mut self, cx: &mut Cx<'_>, ticket: Ticket) {
        self.learn_profiles(cx);
        let options = self.chosen.list(cx.models);
        let opened = SessionOpened { session: self.id.clone(), options, commands: self.skills.commands() };
        cx.out.respond(ticket, Reply::SessionOpened(opened));
        self.is_open = true;
        // The answer of v1 has no place for them.
        if cx.version() == Version::V1 {
            self.emit_ahead(cx, Update::Commands(self.skills.commands()));
        }
        self.goes_on(cx);
        self.read_skills(cx);
    }

    /// A thread of a former app-server is loaded again.
    pub(crate) fn revived(&mut self, cx: &mut Cx<'_>, result: Result<ThreadOpened, CodexError>) {
        match result {
            Ok(opened) if self.is_unsure => self.catch_up(cx, &opened),
            Ok(opened) => {
                self.tie = Tie::Loaded;
                if self.joins_turn(&opened) {
                    self.report(cx);
                }
                self.joined(cx);
            }
            Err(error) => {
                self.tie = Tie::Unloaded;
                let failure = open_failure("thread/resume", Some(&self.id), &error);
                self.locals_lost(cx, &failure, true);
                self.refuse_all(cx, &failure);
                if self.is_unsure {
                    self.not_rejoined(cx, &failure);
                }
            }
        }
    }

    /// The thread is loaded again, and the client knows all that it could miss.
    pub(crate) fn joined(&mut self, cx: &mut Cx<'_>) {
        self.tie = Tie::Loaded;
        // A subagent has neither a goal nor a queue nor commands of its own.
        let is_persons = self.lineage.is_none();
        if is_persons {
            self.read_standing(cx);
        }
        self.poll_terminals(cx);
        if is_persons {
            self.read_skills(cx);
        }
        self.locals_go_on(cx);
        self.pump(cx);
    }

    /// It closes while it comes back, and its subagents with it: nobody is told any more what it was to bring.
    pub(in crate::core) fn give_up_resume(&mut self, cx: &mut Cx<'_>, failure: Failure) {
        // That of a subagent ends with its session's.
        let Some(resuming) = self.resuming.take_if(|it| it.ticket.is_some()) else { return };
        self.reader = None;
        resuming.refuse(failure, cx.out);
        if self.is_open {
            self.goes_on(cx);
        }
    }

    /// A resume cannot be finished: a session that was open stays so, any other is none.
    pub(crate) fn resume_failed(&mut self, cx: &mut Cx<'_>, resuming: Resuming, failure: Failure) {
        self.reader = None;
        let Some(ticket) = resuming.ticket else { return self.not_restored(cx, failure) };
        cx.out.refuse(ticket, failure);
        if self.is_open {
            return self.goes_on(cx);
        }
        // What the loading of the thread woke, a goal or a queued message, runs for nobody.
        let is_ours = cx.link.address().is_none();
        if self.tie == Tie::Loaded && is_ours && self.has_work_of_its_own(cx.now) {
            return cx.desk.news.push_back(News::Close { root: self.id.clone() });
        }
        if self.tie == Tie::Loaded {
            let request = CodexRequest::Unsubscribe { thread: self.thread.clone() };
            cx.link.call(Purpose::Parting, request, cx.out);
        }
        cx.desk.closed.push(self.id.clone());
    }
}

/// Why a thread could not be opened, by Codex's words.
pub(crate) fn open_failure(method: &'static str, session: Option<&SessionId>, error: &CodexError) -> Failure {
    let Some(session) = session.cloned() else { return refusal(method, error) };
    let text = error.message.to_ascii_lowercase();
    let says = |words: &str| text.contains(words);
    if is_unknown(error) {
        Failure::UnknownSession(session)
    } else if is_held(error) {
        Failure::HeldElsewhere(session)
    } else if says("is archived") {
        Failure::Archived(session)
    } else if says("thread-store internal error") || says("history lineage") {
        Failure::Damaged { session, cause: error.message.clone() }
    } else if says("cannot resume an unloaded multi-agent") {
        of_subagent(&session, None)
    } else {
        refusal(method, error)
    }
}

/// A subagent is opened by opening the session that it works for, as far as that is known.
pub(crate) fn of_subagent(session: &SessionId, parent: Option<&SessionId>) -> Failure {
    let which = parent.map_or("that session".to_owned(), SessionId::to_string);
    Failure::InvalidParams(format!(
        "{session} is the session of a subagent, which comes back with that of its parent: open {which}"
    ))
}

/// Whether some process writes the thread.
pub(crate) fn is_held(error: &CodexError) -> bool {
    error.message.to_ascii_lowercase().contains("active writer")
}

/// Whether Codex has no such thread. Of one that it cannot read it says other things, with another code.
pub(crate) fn is_unknown(error: &CodexError) -> bool {
    let text = error.message.to_ascii_lowercase();
    let unknown = [
        "not found",
        "no rollout",
        "no archived rollout",
        "invalid thread id",
        "invalid session id",
        "does not exist",
    ];
    error.code != INTERNAL && unknown.iter().any(|it| text.contains(it))
}
