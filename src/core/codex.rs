//! What Codex tells us and what we ask of it, in words of ours.
//!
//! The wire's JSON stays in `crate::codex`; this is its typed subset.

mod event_thread;
mod item;

pub use item::{CommandItem, CommandSource, Item, ItemKind, ItemStatus, ToolItem};
pub(crate) use item::{HOOK, REVIEW, REVIEW_STARTS};

use super::asked::CodexAsk;
use super::fault::Fault;
use super::gateway::Gateway;
use super::goals::Goal;
use super::ids::{
    CodexCallId, Generation, ItemId, LoginId, ProcessId, PromptKey, RequestId, ThreadId, TurnId,
};
use super::inquiry::{Inquiry, Told};
use super::kept::{HistoryItem, HistoryTurn, Keeping};
use super::limits::RateLimit;
use super::models::Model;
use super::queued::QueuedMessage;
use super::request::{Instructions, McpServer, PromptPart, Shelf, ThreadEntry};
use super::rules::{Collaboration, CollaborationMode, Rules};
use super::sign_in::{LoginEnd, LoginKind, LoginStarted};
use super::subagents::collab::Descent;
use super::update::{Diff, PlanEntry, Severity};
use std::sync::Arc;

/// Something from the app-server or about its process.
#[derive(Clone, Debug, PartialEq)]
pub enum FromCodex {
    /// The process could not be started, or its `initialize` failed.
    NotStarted { generation: Generation, message: String },
    /// It ended: exit, signal, or its output stopped being JSON.
    Died { generation: Generation, how: String, stderr: Option<String> },
    /// Answer to one of our requests.
    Answered { call: CodexCallId, result: Result<CodexReply, CodexError> },
    /// A notification.
    Event(Event),
    /// A request that we owe an answer.
    Asked { request: RequestId, ask: CodexAsk },
}

/// A JSON-RPC error from Codex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodexError {
    pub code: i64,
    pub message: String,
}

impl CodexError {
    /// For an answer that has another shape than the request has answers.
    pub(crate) fn unexpected() -> Self {
        Self { code: 0, message: "the answer has another shape than expected".to_owned() }
    }
}

/// Our requests to Codex.
#[derive(Clone, Debug, PartialEq)]
pub enum CodexRequest {
    /// `initialize` with `experimentalApi`; the encoder adds `initialized` after its answer.
    Initialize,
    /// `thread/start` with raw events.
    ThreadStart {
        cwd: String,
        roots: Vec<String>,
        mcp_servers: Vec<McpServer>,
        instructions: Option<Instructions>,
        gateway: Option<Arc<Gateway>>,
        choices: Choices,
    },
    /// `thread/resume` without turns but for the name of the newest one.
    ThreadResume {
        thread: ThreadId,
        cwd: Option<String>,
        roots: Vec<String>,
        mcp_servers: Vec<McpServer>,
        instructions: Option<Instructions>,
        gateway: Option<Arc<Gateway>>,
    },
    /// `thread/resume` with nothing but the thread: one that is loaded is joined as it is.
    ThreadRejoin { thread: ThreadId },
    /// `thread/fork` without turns.
    ThreadFork {
        thread: ThreadId,
        cwd: String,
        roots: Vec<String>,
        mcp_servers: Vec<McpServer>,
        instructions: Option<Instructions>,
        gateway: Option<Arc<Gateway>>,
    },
    /// `thread/delete`, `thread/archive`, `thread/unarchive`.
    ThreadPut { thread: ThreadId, shelf: Shelf },
    /// `thread/list`, most recent first, no subagents.
    ThreadList { cwd: Option<String>, cursor: Option<String>, limit: u32, archived: bool },
    /// `thread/list` of the subagents of a thread, at every depth, oldest first.
    ThreadDescendants { thread: ThreadId, cursor: Option<String> },
    /// `thread/list` of this one thread: is it among the archived, or among the others?
    ThreadFind { thread: ThreadId, archived: bool },
    /// `thread/turns/list`, oldest first: their names, or all of them where Codex keeps no items.
    TurnsList { thread: ThreadId, cursor: Option<String>, limit: u32, keeping: Keeping },
    /// `thread/items/list` of one turn or of all, in the order in which they ended.
    ItemsList { thread: ThreadId, turn: Option<TurnId>, cursor: Option<String>, limit: u32 },
    /// `thread/read` without turns.
    ThreadRead { thread: ThreadId },
    /// `thread/items/list`, newest first.
    NewestItems { thread: ThreadId, cursor: Option<String>, limit: u32 },
    /// `thread/unsubscribe`.
    Unsubscribe { thread: ThreadId },
    /// `turn/start`.
    /// `context` is for the model beside the user's input.
    TurnStart {
        thread: ThreadId,
        key: PromptKey,
        input: Vec<PromptPart>,
        context: Option<String>,
        choices: Choices,
    },
    /// `thread/settings/update`: what holds from the next turn on.
    SettingsUpdate { thread: ThreadId, choices: Choices },
    /// `turn/steer`.
    TurnSteer {
        thread: ThreadId,
        turn: TurnId,
        key: PromptKey,
        input: Vec<PromptPart>,
        context: Option<String>,
    },
    /// `thread/inject_items` of one text, for the model only. Of a turn that runs it is new input: a wait of the
    /// newer set of tools ends with it.
    Inform { thread: ThreadId, text: String },
    /// `turn/interrupt`.
    TurnInterrupt { thread: ThreadId, turn: TurnId },
    /// `thread/backgroundTerminals/list`.
    TerminalsList { thread: ThreadId, cursor: Option<String> },
    /// `thread/backgroundTerminals/terminate`.
    Terminate { thread: ThreadId, process: ProcessId },
    /// `thread/backgroundTerminals/clean`.
    Clean { thread: ThreadId },
    /// `model/list`, all pages are asked for one by one.
    ModelList { cursor: Option<String> },
    /// `account/read`, as Codex knows it, without asking for new tokens.
    AccountRead,
    /// `account/login/start`.
    LoginStart(LoginKind),
    /// `account/login/cancel`.
    LoginCancel { login: LoginId },
    /// `account/logout`.
    Logout,
    /// `config/read`: can it be read?
    ConfigRead,
    /// `permissionProfile/list` for this directory.
    ProfileList { cwd: String },
    /// `thread/loaded/list` of one entry: a probe, whose answer nobody reads.
    LoadedList,
    /// `fs/getMetadata` of the directory of a new session.
    LookAt { path: String },
    /// `thread/goal/get`.
    GoalGet { thread: ThreadId },
    /// `thread/goal/set` with the status `paused`.
    GoalPause { thread: ThreadId },
    /// `thread/goal/clear`.
    GoalClear { thread: ThreadId },
    /// `thread/queue/list`.
    QueueList { thread: ThreadId, cursor: Option<String> },
    /// `thread/queue/delete`; `message` is Codex's id of it.
    QueueDelete { thread: ThreadId, message: String },
    /// What a slash command asks.
    Inquiry(Inquiry),
}

/// Settings for a thread or for a turn and those after it; `None` keeps Codex's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    pub model: Option<String>,
    pub effort: Option<String>,
    pub preset: Option<Preset>,
    /// Id of a permission profile, in the place of a preset.
    pub profile: Option<String>,
    /// Id of a service tier.
    pub tier: Option<String>,
    /// Not for a new thread.
    pub collaboration: Option<Collaboration>,
}

/// Approval and sandbox together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Preset {
    /// `on-request` + read-only.
    ReadOnly,
    /// `on-request` + workspace-write.
    Auto,
    /// `never` + danger-full-access.
    FullAccess,
}

/// Answers of Codex, by request.
#[derive(Clone, Debug, PartialEq)]
pub enum CodexReply {
    Initialized {
        user_agent: String,
    },
    /// `thread/start`, `thread/resume`, `thread/fork`.
    ThreadOpened(ThreadOpened),
    Threads {
        threads: Vec<ThreadEntry>,
        next: Option<String>,
    },
    /// `thread/turns/list`.
    Turns {
        turns: Vec<HistoryTurn>,
        next: Option<String>,
    },
    /// `thread/read`.
    Descent(Descent),
    Items {
        items: Vec<HistoryItem>,
        next: Option<String>,
    },
    /// `turn/start`, `turn/steer`: the turn the input went to.
    Turn(TurnId),
    Terminals {
        terminals: Vec<LiveTerminal>,
        next: Option<String>,
    },
    Terminated(bool),
    Models {
        models: Vec<Model>,
        next: Option<String>,
    },
    /// Those of the configuration that may be chosen.
    Profiles(Vec<Profile>),
    /// `thread/goal/get`, `thread/goal/set`, and `thread/goal/clear`, after which there is none.
    Goal(Option<Goal>),
    Queued {
        messages: Vec<QueuedMessage>,
        next: Option<String>,
    },
    /// `thread/queue/delete`: whether it was there.
    Deleted(bool),
    /// To an inquiry.
    Told(Told),
    /// `account/read`; `required` by the model provider.
    Account {
        /// Kind, name and plan in words; `None` for nobody.
        who: Option<String>,
        required: bool,
    },
    /// `account/login/start`.
    LoginStarted(LoginStarted),
    LookedAt {
        is_directory: bool,
    },
    /// An answer whose content does not matter.
    Done,
}

/// A thread as `thread/start` and `thread/resume` describe it.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadOpened {
    pub thread: ThreadId,
    /// The thread whose subagent it is.
    pub parent: Option<ThreadId>,
    pub cwd: String,
    pub title: Option<String>,
    pub holds: Holds,
    /// It was resumed in mid-turn.
    pub active: bool,
    /// The turn that runs, where Codex says which.
    pub turn: Option<TurnId>,
    /// The newest turn, if it is over.
    pub over: Option<Box<(TurnId, TurnEnd)>>,
    pub keeping: Keeping,
}

/// The settings that a thread has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holds {
    pub model: String,
    /// `None`: the model's own.
    pub effort: Option<String>,
    /// `None` where approval and sandbox fit no preset.
    pub preset: Option<Preset>,
    /// Id of the permission profile, of one from the configuration.
    pub profile: Option<String>,
    /// Id of the service tier; `None`: the model's own.
    pub tier: Option<String>,
    /// What holds without a preset.
    pub rules: Option<Rules>,
    /// `None` where Codex does not say.
    pub collaboration: Option<CollaborationMode>,
}

/// A permission profile of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    pub id: String,
    pub description: Option<String>,
}

/// One line of `backgroundTerminals/list`: alive, foreground or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveTerminal {
    pub item: ItemId,
    pub process: ProcessId,
    /// The bare script.
    pub command: String,
    pub cwd: String,
}

/// A notification about one thread or about the whole app-server.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    ThreadStatus {
        thread: ThreadId,
        status: ThreadStatus,
    },
    ThreadClosed {
        thread: ThreadId,
    },
    /// Archived or deleted, by us or another client.
    ThreadRemoved {
        thread: ThreadId,
        to: Shelf,
    },
    ThreadRenamed {
        thread: ThreadId,
        name: Option<String>,
    },
    /// Codex's settings of the thread changed.
    Settings {
        thread: ThreadId,
        holds: Holds,
    },
    TurnStarted {
        thread: ThreadId,
        turn: TurnId,
        /// The turn that all of this goes back to: another one in the thread of a subagent.
        root: Option<TurnId>,
    },
    /// The skills on disk changed; how, the list tells.
    SkillsChanged,
    TurnCompleted {
        thread: ThreadId,
        turn: TurnId,
        end: TurnEnd,
    },
    ItemStarted {
        thread: ThreadId,
        turn: TurnId,
        item: Item,
    },
    ItemCompleted {
        thread: ThreadId,
        turn: TurnId,
        item: Item,
    },
    AgentDelta {
        thread: ThreadId,
        item: ItemId,
        text: String,
    },
    /// Text of a plan item (plan mode).
    PlanDelta {
        thread: ThreadId,
        item: ItemId,
        text: String,
    },
    /// Reasoning, summary or raw; `part` counts summary parts from 0.
    ThoughtDelta {
        thread: ThreadId,
        item: ItemId,
        part: u32,
        text: String,
    },
    OutputDelta {
        thread: ThreadId,
        item: ItemId,
        text: String,
    },
    /// The model writes to a command, or asks for its output: raw, only in threads that we started,
    /// and not in code mode.
    LookedAt {
        thread: ThreadId,
        process: ProcessId,
    },
    /// The model typed into a terminal, or polled it (empty).
    TerminalInput {
        thread: ThreadId,
        item: ItemId,
        text: String,
    },
    /// `rawResponseItem/completed` of a `function_call_output`: what the model was told.
    RawOutput {
        thread: ThreadId,
        turn: TurnId,
        item: ItemId,
        text: String,
    },
    /// The changes of a file-change item so far.
    Patch {
        thread: ThreadId,
        item: ItemId,
        changes: Vec<Diff>,
        /// Changes beyond those, too many to be carried.
        n_more: usize,
    },
    /// One line of progress of a tool call.
    Progress {
        thread: ThreadId,
        item: ItemId,
        message: String,
    },
    /// The plan of the running turn.
    Plan {
        thread: ThreadId,
        /// Why it is so now.
        reason: Option<String>,
        entries: Vec<PlanEntry>,
    },
    /// Tokens in the context now, and its size; ends a step of the turn (D3).
    TokenUsage {
        thread: ThreadId,
        turn: TurnId,
        used: u64,
        window: Option<u64>,
    },
    /// `thread/goal/updated`; `None` for `thread/goal/cleared`. `turn` is the one that gave rise to it.
    Goal {
        thread: ThreadId,
        turn: Option<TurnId>,
        goal: Option<Goal>,
    },
    /// Something changed in the queue of messages; what, the list tells.
    QueueChanged {
        thread: ThreadId,
    },
    /// A request of Codex's was answered or withdrawn, here or elsewhere.
    RequestResolved {
        thread: ThreadId,
        request: RequestId,
    },
    /// An error of a turn; `will_retry` means it goes on.
    Error {
        thread: Option<ThreadId>,
        fault: Fault,
        will_retry: bool,
    },
    /// A warning of what holds until somebody mends it: Codex repeats it. `thread: None` concerns all.
    Warning {
        thread: Option<ThreadId>,
        title: String,
        description: Option<String>,
    },
    /// Something for people that happened now; `thread: None` concerns all.
    Notice {
        thread: Option<ThreadId>,
        severity: Severity,
        title: String,
        description: Option<String>,
    },
    /// Somebody signed in or out here, or the account changed.
    AccountUpdated,
    /// A sign-in is over; one with a key has no id.
    LoginCompleted {
        login: Option<LoginId>,
        end: LoginEnd,
    },
    /// A hook or a review of an approval begins in a turn.
    AsideStarted {
        thread: ThreadId,
        turn: TurnId,
        item: ItemId,
        tool: ToolItem,
    },
    /// It is over; `turn: None` for one outside of any turn.
    AsideEnded {
        thread: ThreadId,
        turn: Option<TurnId>,
        item: ItemId,
        tool: ToolItem,
    },
    /// How much of a usage limit of the account is used.
    RateLimit(RateLimit),
    /// A tool server of this thread is up (`None`), or is not, and why.
    ToolServer {
        thread: ThreadId,
        server: String,
        failure: Option<String>,
    },
    /// A message about this thread could not be decoded: what it changed has to be asked for.
    Misfit {
        thread: ThreadId,
    },
    /// Known and deliberately without effect; the map says why.
    Ignored {
        method: String,
    },
    /// A name that the map does not know: Codex is newer than we are.
    Unmapped {
        method: String,
    },
}

/// Status of a thread as Codex sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadStatus {
    NotLoaded,
    Idle,
    SystemError,
    Active,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    Completed,
    Interrupted,
    Failed(Fault),
}
