//! One session: its parts, and how its updates get out. What its state is: `report`.

use super::ask_call::{Answers, AskShown};
use super::asked::{CodexAnswer, CodexAsk, Decision, Question};
use super::beginning::Own;
use super::catching_up::CatchingUp;
use super::choices::Chosen;
use super::codex::ThreadOpened;
use super::cx::{Cx, News};
use super::history::Reader;
use super::ids::{
    AskId, Generation, ItemId, MessageId, PromptKey, RequestId, SessionId, ThreadId, Tick, TurnId,
};
use super::kept::Keeping;
use super::listing::Polls;
use super::locals::Locals;
use super::opening::Resuming;
use super::pages::Pages;
use super::prompts::Prompt;
use super::replay::Returning;
use super::request::{Place, Reply, Ticket, Version};
use super::shown::Shown;
use super::skills::Skills;
use super::standing::Reads;
use super::stopping::Closing;
use super::subagents::asks::Asker;
use super::subagents::call::SubagentCalls;
use super::subagents::children::{Children, Lineage};
use super::subagents::restore::Restoring;
use super::texts::Texts;
use super::told::Untold;
use super::turn::Front;
use super::update::{Snapshot, State, StopReason, Update};
use super::waking::Waking;
use super::warnings::Warnings;
use crate::background::ledger::Ledger;
use crate::background::standing::{Kind, Standing};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// One open session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) thread: ThreadId,
    /// Where it works and with what: told again when its thread is loaded again.
    pub(crate) place: Place,
    pub(crate) front: Front,
    /// The turn that ended last, and how: what is said of it later starts nothing.
    pub(crate) over: Option<(TurnId, StopReason)>,
    /// The review that ended last, and the turn in it of the reviewer, if Codex has told that.
    pub(crate) over_review: Option<(TurnId, Option<TurnId>)>,
    /// Not inserted yet, in the order received.
    pub(crate) prompts: VecDeque<Prompt>,
    /// Keys of inserted prompts.
    pub(crate) inserted: BTreeMap<PromptKey, MessageId>,
    pub(crate) history: History,
    pub(crate) ledger: Ledger,
    pub(crate) texts: Texts,
    pub(crate) asks: BTreeMap<AskId, OpenAsk>,
    pub(crate) pages: Pages,
    /// Calls of ours that show a question for which Codex has no item; they end with it.
    pub(crate) ask_calls: BTreeMap<ItemId, AskShown>,
    /// Open calls of tool servers, as `SERVER.TOOL`: their questions do not say whose they are.
    pub(crate) tool_names: BTreeMap<ItemId, String>,
    /// Tool servers that were told as not there: Codex tries again and again.
    pub(crate) absent_servers: BTreeSet<String>,
    /// Warnings of Codex's that were told.
    pub(crate) warnings: Warnings,
    pub(crate) chosen: Chosen,
    pub(crate) polls: Polls,
    pub(crate) reads: Reads,
    pub(crate) tie: Tie,
    /// The connection to an app-server that runs without us was lost, and nobody can say what runs.
    pub(crate) is_unsure: bool,
    /// Between a loaded thread and a session that goes on.
    pub(crate) catching_up: Option<CatchingUp>,
    /// Updates held back until the client knows the session (again).
    pub(crate) held: Option<Vec<Update>>,
    /// What lives, for a client that begins afresh: told before what is held back, if the resume comes to something.
    pub(crate) anew: Vec<Update>,
    /// Answers that must not come before what is held back.
    held_answers: Vec<(Ticket, Reply)>,
    /// The turn ended meanwhile.
    pub(crate) held_end: Option<StopReason>,
    /// Requests of Codex's that came meanwhile.
    pub(crate) held_asks: Vec<HeldAsk>,
    pub(crate) resuming: Option<Resuming>,
    /// A resume of it, which was open, is on its way to Codex: what lived when that was asked for.
    pub(crate) returning: Option<Returning>,
    pub(crate) closing: Option<Closing>,
    /// A replay is being told: updates go ahead of what is held.
    pub(crate) replaying: bool,
    /// Since when Codex calls the thread idle.
    pub(crate) idle_since: Option<Tick>,
    /// Commands that the history shows at work in the turn that runs.
    pub(crate) at_work: BTreeSet<ItemId>,
    /// The history that is being told.
    pub(crate) reader: Option<Reader>,
    /// Its number: pages of an earlier one are nobody's.
    pub(crate) reading: u64,
    pub(crate) keeping: Keeping,
    /// The history is inside of a review.
    pub(crate) in_review: bool,
    pub(crate) shown: Shown,
    /// The cursor that was asked for last: one that comes again would never end.
    pub(crate) cursor: Option<String>,
    /// The client was told that it exists.
    pub(crate) is_open: bool,
    /// It was opened here and no turn of it has ended: Codex may not have saved its thread.
    pub(crate) is_blank: bool,
    /// v1: `say_woken` was said and no prompt was answered since.
    pub(crate) woken: bool,
    /// Prompts that are answered here.
    pub(crate) locals: Locals,
    pub(crate) untold: Untold,
    pub(crate) skills: Skills,
    /// The turn that runs or starts is no answer to a message.
    pub(crate) own: Option<Own>,
    /// Tokens in the context, and its size.
    pub(crate) usage: Option<(u64, u64)>,
    pub(crate) waking: Waking,
    /// It is the session of a subagent.
    pub(crate) lineage: Option<Lineage>,
    pub(crate) children: Children,
    /// What is shown of subagents that have no session at the client, and the calls that do.
    pub(crate) subagent_calls: SubagentCalls,
    pub(crate) open_subagent_calls: BTreeSet<ItemId>,
    /// Its subagents, while they are being brought back.
    pub(crate) restoring: Restoring,
    /// While a question of another thread is being put to the user of this session.
    pub(crate) asker: Option<Asker>,
    pub(in crate::core) reported: Snapshot,
}

/// What opens work in v1 that no prompt of the client started.
const WOKEN: &str = "*Codex goes on without a prompt from here.*\n\n";
const GOAL: &str = "*Codex goes on with its goal, without a prompt.*\n\n";

/// Whether `inserted` knows every key of the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum History {
    Known,
    /// Resumed without a replay: a key is looked up before it is used.
    Unread,
    Reading,
}

/// The thread's tie to the app-server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tie {
    /// Loaded and subscribed.
    Loaded,
    /// Unloaded, or its app-server died: resumed before the next turn.
    Unloaded,
    /// `thread/resume` is on its way.
    Reviving,
    /// The app-server died and the sweep is not over: nobody can say what lives.
    Lost(Generation),
}

/// A request of Codex's that waits until the client knows the session (again).
#[derive(Debug)]
pub(crate) struct HeldAsk {
    pub(crate) request: RequestId,
    pub(crate) ask: CodexAsk,
    /// The other thread that asks.
    pub(crate) asker: Option<Asker>,
}

/// A question that is open at the client.
#[derive(Debug)]
pub(crate) struct OpenAsk {
    /// Codex's request.
    pub(crate) request: RequestId,
    /// The item it is about.
    pub(crate) item: Option<ItemId>,
    pub(crate) kind: AskKind,
    /// The subagent that asks; `None` for the thread itself.
    pub(crate) child: Option<Asker>,
}

/// How an answer is turned into Codex's.
#[derive(Debug)]
pub(crate) enum AskKind {
    /// Option `n` is decision `n`.
    Decisions(Vec<Decision>),
    /// Option `n` is answer `n`; nothing else is any of them.
    Offered { answers: Vec<CodexAnswer>, refused: CodexAnswer, dismissed: CodexAnswer },
    /// A form whose properties are question ids; these cannot be asked for and stay unanswered.
    QuestionForm { questions: Vec<Question>, unasked: Answers },
    /// One question at a time as a permission: option `n` is label `n` of the first one left.
    Questions { left: Vec<Question>, answers: Answers },
    /// MCP elicitation.
    Elicitation,
    /// MCP elicitation that sends the user to a page.
    Page { server: String, elicitation: String },
}

impl Session {
    pub(crate) fn new(thread: &ThreadOpened, place: Place, history: History) -> Self {
        Self {
            id: SessionId::of(&thread.thread),
            thread: thread.thread.clone(),
            place,
            front: Front::Idle,
            over: None,
            over_review: None,
            prompts: VecDeque::new(),
            inserted: BTreeMap::new(),
            history,
            ledger: Ledger::default(),
            texts: Texts::default(),
            asks: BTreeMap::new(),
            pages: Pages::default(),
            ask_calls: BTreeMap::new(),
            tool_names: BTreeMap::new(),
            absent_servers: BTreeSet::new(),
            warnings: Warnings::default(),
            chosen: Chosen::of(thread),
            polls: Polls::default(),
            reads: Reads::default(),
            tie: Tie::Loaded,
            is_unsure: false,
            catching_up: None,
            held: Some(Vec::new()),
            anew: Vec::new(),
            held_answers: Vec::new(),
            held_end: None,
            held_asks: Vec::new(),
            resuming: None,
            returning: None,
            closing: None,
            replaying: false,
            idle_since: None,
            at_work: BTreeSet::new(),
            reader: None,
            reading: 0,
            keeping: thread.keeping,
            in_review: false,
            shown: Shown::default(),
            cursor: None,
            is_open: false,
            is_blank: false,
            woken: false,
            locals: Locals::default(),
            untold: Untold::default(),
            skills: Skills::default(),
            own: None,
            usage: None,
            waking: Waking::default(),
            lineage: None,
            children: Children::default(),
            subagent_calls: SubagentCalls::default(),
            open_subagent_calls: BTreeSet::new(),
            restoring: Restoring::default(),
            asker: None,
            // A new session is idle and quiet until told otherwise (V2-22).
            reported: Snapshot { state: State::Idle(None), background: Vec::new() },
        }
    }

    /// Sends an update, or holds it back while the client does not know the session.
    pub(crate) fn emit(&mut self, cx: &mut Cx<'_>, update: Update) {
        let update = update.headed();
        if self.is_in_call() {
            self.shown.note(&update);
            return self.emit_ahead(cx, update);
        }
        if matches!(update, Update::CallOpened(_)) && self.held.is_none() && !self.is_prompted() {
            self.say_woken(cx);
        }
        self.shown.note(&update);
        if Self::is_shown_work(&update) {
            self.turn_shows();
        }
        match &mut self.held {
            Some(held) if !self.replaying => held.push(update),
            Some(_) | None => cx.out.update(&self.id, update),
        }
    }

    /// Whether a prompt of v1 waits for an answer.
    pub(crate) fn is_prompted(&mut self) -> bool {
        self.locals.is_busy()
            || !self.prompts.is_empty()
            || self.waiting().is_some_and(|waiting| !waiting.is_empty())
    }

    /// In v1 what comes after the answer of a prompt, and is no part of what was known then, opens
    /// with a line that says so (D13).
    pub(crate) fn say_woken(&mut self, cx: &mut Cx<'_>) {
        if cx.version() == Version::V2 || self.woken {
            return;
        }
        self.turn_by_itself(cx);
    }

    /// In v1 every turn without a prompt opens with a line that says what woke it (D13).
    pub(crate) fn open_by_itself(&mut self, cx: &mut Cx<'_>, line: &str) {
        if cx.version() == Version::V1 && self.lineage.is_none() {
            self.woken = true;
            let message = MessageId::new(format!("woken-{}", cx.desk.next_key()));
            self.emit(cx, Update::AgentText { message, text: line.to_owned() });
        }
    }

    /// A turn begins that nobody asked for here.
    pub(crate) fn turn_by_itself(&mut self, cx: &mut Cx<'_>) {
        self.open_by_itself(cx, if self.has_goal() { GOAL } else { WOKEN });
    }

    fn has_goal(&self) -> bool {
        let is_active = |it: &Standing| matches!(it.kind, Kind::Goal(_)) && it.stop.is_none();
        self.standing_item(is_active).is_some()
    }

    /// Sends an update ahead of what is held back: a replay.
    pub(crate) fn emit_ahead(&self, cx: &mut Cx<'_>, update: Update) {
        if let Some(Lineage { root, is_in_call: true, .. }) = &self.lineage {
            let (root, child) = (root.clone(), self.id.clone());
            return cx.desk.news.push_back(News::ShowInCall { root, child, update });
        }
        cx.out.update(&self.id, update);
    }

    /// Answers a request, after everything that is held back.
    pub(crate) fn answer(&mut self, cx: &mut Cx<'_>, ticket: Ticket, reply: Reply) {
        match self.held {
            Some(_) => self.held_answers.push((ticket, reply)),
            None => cx.out.respond(ticket, reply),
        }
    }

    /// Answers what was held back: nothing else of the session is told before it any more.
    pub(crate) fn release_answers(&mut self, cx: &mut Cx<'_>) {
        for (ticket, reply) in std::mem::take(&mut self.held_answers) {
            cx.out.respond(ticket, reply);
        }
    }

    /// Lets out what was held back.
    pub(crate) fn release(&mut self, cx: &mut Cx<'_>) {
        // Not told by now, it is for a resume that came to nothing: the client has it already.
        self.anew.clear();
        for update in self.held.take().into_iter().flatten() {
            if matches!(update, Update::CallOpened(_)) && !self.is_prompted() {
                self.say_woken(cx);
            }
            cx.out.update(&self.id, update);
        }
        self.release_answers(cx);
        if !self.children.is_empty() {
            cx.desk.news.push_back(News::Released { parent: self.id.clone() });
        }
        for HeldAsk { request, ask, asker } in std::mem::take(&mut self.held_asks) {
            self.asker = asker;
            self.asked(cx, request, ask);
        }
    }

    /// Prompts of v1 that wait for the end of the turn.
    pub(crate) fn waiting(&mut self) -> Option<&mut Vec<Ticket>> {
        match &mut self.front {
            Front::Idle => None,
            Front::Starting { waiting, .. } => Some(waiting),
            Front::Active(turn) => Some(&mut turn.waiting),
        }
    }
}

impl AskKind {
    /// The id of option `n` of a choice.
    pub(crate) fn option_id(n: usize) -> String {
        format!("answer-{n}")
    }

    /// Which option of a choice has this id.
    pub(crate) fn option_of(id: &str) -> Option<usize> {
        let n = id.strip_prefix("answer-")?.parse().ok()?;
        // A number can be written in many ways, and only one was offered.
        (Self::option_id(n) == id).then_some(n)
    }
}
