//! What a session tells its client, in words of neither protocol version.
//!
//! Both encoders match these in full: a new variant breaks both at compile time.

use super::fault::Fault;
use super::ids::{ItemId, Json, MessageId, SessionId, TerminalId, ToolCallId};
use super::vitals::Vitals;

/// Omitted, cleared or replaced: the three states of an ACP patch field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Patch<T> {
    /// Not on the wire: keeps its value.
    #[default]
    Keep,
    /// `null` on the wire: cleared.
    Clear,
    /// A new value.
    Set(T),
}

/// One thing that changed in a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// A user's message, whole, with the id it keeps in every replay.
    UserMessage { message: MessageId, content: Vec<Content> },
    /// More text of an agent message.
    AgentText { message: MessageId, text: String },
    /// The whole text of an agent message; replaces what was streamed.
    AgentMessage { message: MessageId, text: String },
    /// More text of the agent's reasoning.
    ThoughtText { message: MessageId, text: String },
    /// A tool call appears. Sent once per id.
    CallOpened(CallOpened),
    /// A known tool call changes; never to a final status.
    CallChanged { call: ToolCallId, change: CallChange },
    /// A tool call ends. Sent once per id; nothing of the call follows.
    CallClosed { call: ToolCallId, status: FinalStatus, change: CallChange },
    /// The context is being compacted (`None`), or that is over. A tool call where the client knows no
    /// such thing.
    Compaction { call: ToolCallId, end: Option<FinalStatus> },
    /// A terminal appears (before its first output and before any list names it).
    TerminalOpened(TerminalOpened),
    /// More output; text as Codex gave it, ANSI and CRLF untouched.
    TerminalOutput { terminal: TerminalId, text: String },
    /// The whole output: replaces everything sent before.
    TerminalSnapshot { terminal: TerminalId, text: String },
    /// How its processes do; only between its opening and its exit.
    TerminalVitals { terminal: TerminalId, vitals: Vitals },
    /// The process ended: exactly once per terminal, after its last output.
    TerminalExited { terminal: TerminalId, exit: Exit },
    /// State and background list, complete. Made by one function only (D1).
    State(Snapshot),
    /// The whole plan.
    Plan(Vec<PlanEntry>),
    /// Tokens in the context and its size.
    Usage { used: u64, size: u64 },
    /// Something a person should read; nothing depends on it.
    Notice { severity: Severity, title: String, description: Option<String> },
    /// The slash commands, complete.
    Commands(Vec<Command>),
    /// The config options, complete.
    Options(Vec<ConfigOption>),
    /// Title of the session; `updated_at` in seconds since the epoch.
    SessionInfo { title: Patch<String>, updated_at: Option<i64> },
    /// The replay that a resume asked for is over.
    ReplayComplete,
    /// A subagent's session appears, or something of it changes; told in the session of its parent.
    Subagent(SubagentChange),
    /// A message between two sessions, as one of them sees it.
    SessionMessage(SessionMessage),
}

/// A message between two sessions in the transcript of one of them; both have ids of their own for it.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionMessage {
    pub message: MessageId,
    pub from: SessionId,
    pub to: SessionId,
    /// What the other one calls it, once that is known.
    pub twin: Option<Twin>,
    /// All of it; `None` keeps what was told.
    pub content: Option<Vec<Content>>,
}

/// The other view of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Twin {
    /// This one was received: what its sender calls it.
    Sent(MessageId),
    /// This one was sent: what its recipient calls it.
    Received(MessageId),
}

/// Patch of a subagent's session; `None` keeps.
#[derive(Clone, Debug, PartialEq)]
pub struct SubagentChange {
    pub session: SessionId,
    pub title: Option<String>,
    pub description: Option<String>,
    /// Absolute.
    pub cwd: Option<String>,
    /// Whether `session/cancel` of it is allowed.
    pub can_cancel: Option<bool>,
    /// Its state and background list, the same that its own session was told.
    pub state: Option<Snapshot>,
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Plain text or Markdown.
    Text(String),
    /// A link to a resource.
    Link { name: String, uri: String },
    /// An image by URL (`data:` URLs included).
    Image { url: String },
}

/// First appearance of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallOpened {
    /// Id of the call: Codex's item id, with a suffix if it repeats in a session.
    pub call: ToolCallId,
    /// Name of the tool for programs, e.g. `exec_command`.
    pub name: Option<String>,
    /// One line for people.
    pub title: String,
    /// What the tool does.
    pub kind: ToolKind,
    /// `Pending` while it waits for an approval, else `InProgress`.
    pub status: OpenStatus,
    /// Paths it works on.
    pub locations: Vec<Location>,
    /// What to show in it.
    pub content: Vec<CallContent>,
    /// The tool's arguments.
    pub input: Option<Json>,
    /// Whether `tool_call/cancel` can end it.
    pub can_cancel: bool,
}

/// Patch of a tool call; `None` keeps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallChange {
    /// New status, for `CallChanged` only.
    pub status: Option<OpenStatus>,
    /// New title.
    pub title: Option<String>,
    /// Whole new content; earlier items have to be in it.
    pub content: Option<Vec<CallContent>>,
    /// New locations.
    pub locations: Option<Vec<Location>>,
    /// The tool's result.
    pub output: Option<CallOutput>,
    /// Whether `tool_call/cancel` can end it.
    pub can_cancel: Option<bool>,
}

/// Result of a tool for programs (`rawOutput`).
#[derive(Clone, Debug, PartialEq)]
pub enum CallOutput {
    /// Of a command: the text a person would read, and the code.
    Command { text: String, exit_code: Option<i64> },
    /// As Codex gave it.
    Json(Json),
}

/// Status of a tool call that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenStatus {
    /// Waits for an approval or its time.
    Pending,
    /// At work.
    InProgress,
    /// Was at work and waits for something to go on (v1: in progress).
    Paused,
}

/// Final status of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinalStatus {
    /// Codex says it succeeded.
    Completed,
    /// Codex says it failed, or it ended unseen.
    Failed,
    /// The user ended it (v1: failed).
    Cancelled,
}

/// What a tool does, for icons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolKind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    Other,
}

/// A place in a file; `line` counts from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    pub path: String,
    pub line: Option<u32>,
}

/// Something shown inside a tool call.
#[derive(Clone, Debug, PartialEq)]
pub enum CallContent {
    /// Text or Markdown.
    Text(String),
    /// An image by URL (`data:` URLs included).
    Image { url: String },
    /// A file change.
    Diff(Diff),
    /// The terminal of the call.
    Terminal(TerminalId),
    /// A subagent that the call is about; its session was announced before.
    Session(SessionId),
}

/// One file changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    /// Absolute path before the change.
    pub path: String,
    /// What happened to it.
    pub op: DiffOp,
    /// Unified diff (for an add or delete: Codex gives the file's text) as Codex gave it.
    pub text: String,
    /// Its size in bytes where it was too large to be carried; then `text` is empty.
    pub left_out: Option<usize>,
}

/// What happened to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffOp {
    Add,
    Delete,
    Modify,
    /// Moved to this absolute path, maybe changed too.
    Move(String),
}

/// First appearance of a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalOpened {
    /// Same spelling as the tool call that started it.
    pub terminal: TerminalId,
    /// The bare script, without the shell around it.
    pub command: String,
    /// Absolute.
    pub cwd: String,
    /// Columns and rows, only of a known tty.
    pub size: Option<(u16, u16)>,
    /// Whether `terminal/cancel` can end it.
    pub can_cancel: bool,
}

/// How a process ended: D6, never a signal that nobody saw or sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// What is known of it.
    pub status: ExitStatus,
    /// Where the knowledge comes from.
    pub account: ExitAccount,
}

/// ACP `exitStatus`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// `{exitCode}`.
    Code(i64),
    /// `{signal}`, a name such as `SIGKILL`.
    Signal(&'static str),
    /// `{}`: it ended, nobody knows how.
    Unknown,
}

/// The `_meta` of an exit (docs/META.md).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExitAccount {
    /// Who ended it, if anybody.
    pub by: EndedBy,
    /// Why, one line for people.
    pub reason: Option<&'static str>,
    /// Codex's exit code as it came, -1 included.
    pub raw_code: Option<i64>,
    /// Codex's own measure of how long it ran, in milliseconds.
    pub duration_ms: Option<i64>,
    /// `signal` was concluded from our act and not seen.
    pub inferred: bool,
    /// Processes of the command that had left its process group.
    pub escaped: u32,
    /// Processes that took SIGKILL from us.
    pub killed: u32,
    /// Processes that could not be ended.
    pub left: u32,
    /// Name that a code 128+n would have as a signal; a guess, for display only.
    pub looks_like: Option<&'static str>,
}

/// Who ended a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EndedBy {
    /// It ended by itself, or somebody outside did it.
    #[default]
    Itself,
    /// The client asked (`terminal/cancel`, `/stop`).
    Client,
    /// `session/cancel` of the turn that waited on it.
    Cancel,
    /// `session/close` or our own shutdown.
    Close,
    /// Codex: pruned, unloaded, archived.
    Codex,
    /// The app-server died.
    AppServerLost,
}

/// The complete state of a session at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// What the foreground does.
    pub state: State,
    /// Everything that runs without the foreground waiting on it, in a stable order.
    pub background: Vec<Background>,
}

/// What the foreground does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// A turn runs.
    Running,
    /// A turn runs and everything of it waits for the user.
    RequiresAction,
    /// No turn. With a stop reason in the one snapshot that ends a turn.
    Idle(Option<StopReason>),
    /// Nobody can say: the app-server is lost.
    Unknown,
}

/// Why a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    EndTurn,
    MaxTokens,
    Refusal,
    Cancelled,
    Error(Fault),
}

/// One entry of the background list; only what was announced can be named.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Background {
    Terminal(TerminalId),
    ToolCall(ToolCallId),
    Subagent(SessionId),
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanEntry {
    pub text: String,
    pub status: PlanStatus,
}

/// Where a step of a plan stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanStatus {
    Pending,
    InProgress,
    Completed,
}

/// Weight of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Info,
    Warning,
    Error,
}

/// A slash command that the client may offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Without the slash.
    pub name: String,
    pub description: String,
    /// Hint for its argument.
    pub hint: Option<&'static str>,
}

/// A choice of the session; `current` is always one of `values`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigOption {
    /// `model`, `effort`, `mode`, `collaboration` or `wake`.
    pub id: &'static str,
    pub name: &'static str,
    pub description: Option<&'static str>,
    /// `None` for what ACP has no category for.
    pub category: Option<OptionCategory>,
    pub current: String,
    pub values: Vec<OptionValue>,
}

/// ACP's semantic category of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionCategory {
    Mode,
    Model,
    ThoughtLevel,
}

/// One value of a choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionValue {
    pub value: String,
    pub name: String,
    pub description: Option<String>,
}

impl EndedBy {
    /// Whether nobody on our side wanted the end.
    pub(crate) fn is_no_wish(self) -> bool {
        match self {
            Self::Itself | Self::Codex => true,
            Self::Client | Self::Cancel | Self::Close | Self::AppServerLost => false,
        }
    }
}

impl Patch<String> {
    /// `Some` replaces, `None` clears.
    pub fn from_option(value: Option<String>) -> Self {
        match value {
            Some(value) => Self::Set(value),
            None => Self::Clear,
        }
    }
}

impl From<&ItemId> for MessageId {
    /// Messages keep Codex's item id, so that a replay shows the same (V2-27).
    fn from(item: &ItemId) -> Self {
        Self::new(item.as_str())
    }
}
