//! What the client asks of us, and what we answer.
//!
//! A `Ticket` is one request that still has to be answered; answering consumes it.

use super::failure::Failure;
use super::gateway::Gateway;
use super::ids::{Json, MessageId, PromptKey, RequestId, SessionId, TerminalId, ThreadId, ToolCallId};
use super::kept::Keeping;
use super::sign_in::{SignIn, TerminalSignIn};
use super::subagents::collab::Descent;
use super::update::{Command, ConfigOption, StopReason};
use std::sync::Arc;

/// One request of the client that is owed exactly one answer.
///
/// No `Clone`: `Effects::respond` takes it by value, so a second answer does not compile.
#[derive(Debug, PartialEq, Eq)]
pub struct Ticket {
    id: RequestId,
    method: &'static str,
}

impl Ticket {
    /// Opens the account for request `id` of `method`; only the decoder does this.
    pub fn open(id: RequestId, method: &'static str) -> Self {
        Self { id, method }
    }

    /// The wire id to answer with.
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// The method asked, which decides the shape of the answer.
    pub fn method(&self) -> &'static str {
        self.method
    }
}

/// Which generation of ACP the client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    V1,
    V2,
}

/// What the client said about itself in `initialize`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientProfile {
    pub version: Version,
    /// How it wants to see command output.
    pub terminals: TerminalDisplay,
    /// It answers `elicitation/create` with a form.
    pub elicitation_form: bool,
    /// It answers `elicitation/create` with a URL.
    pub elicitation_url: bool,
    /// It takes `notice` updates (always in v2).
    pub notices: bool,
    /// How it runs something in a terminal to sign in.
    pub terminal_sign_in: TerminalSignIn,
    /// It signs in with a `gateway` of its own.
    pub gateway: bool,
    /// It takes `compaction_update`s (always in v2).
    pub compaction: bool,
    /// It takes the sessions of subagents (always in v2).
    pub subagents: bool,
    /// Its name and version, for logs.
    pub name: Option<String>,
}

/// How a client shows command output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalDisplay {
    /// A terminal that takes chunks (v2, and v1 with `_meta.terminal_output`).
    Stream,
    /// Text in the tool call, replaced as a whole (v1 that declared nothing).
    Text,
}

/// A request of the client.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// `session/new`. `cwd` is absolute (checked by the decoder).
    NewSession(Place),
    /// `session/resume`, v1 `session/load`; `replay` asks for the history first.
    ResumeSession { session: SessionId, place: Place, replay: bool },
    /// `session/list`.
    ListSessions { cwd: Option<String>, cursor: Option<String>, archived: Archived },
    /// `session/fork`: a new session with the history of that one.
    ForkSession { session: SessionId, place: Place },
    /// `session/delete`, `session/archive`, `session/unarchive`.
    ShelveSession { session: SessionId, shelf: Shelf },
    /// `session/set_title`. Not empty, one line (checked by the decoder).
    SetTitle { session: SessionId, title: String },
    /// `session/close`.
    CloseSession { session: SessionId },
    /// `session/prompt`.
    Prompt { session: SessionId, parts: Vec<PromptPart>, key: Option<PromptKey> },
    /// `session/set_config_option`, v1 `session/set_mode`.
    SetOption { session: SessionId, option: String, value: OptionInput },
    /// `terminal/cancel`.
    CancelTerminal { session: SessionId, terminal: TerminalId },
    /// `tool_call/cancel`.
    CancelToolCall { session: SessionId, call: ToolCallId },
    /// v1 `authenticate`, v2 `auth/login`.
    SignIn { method: SignIn, gateway: Option<Gateway> },
    /// v1 `logout`, v2 `auth/logout`.
    SignOut,
}

/// Which sessions a list has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Archived {
    /// None that is archived.
    #[default]
    Exclude,
    /// All: those that are not archived first.
    Include,
    /// The archived ones.
    Only,
}

/// Where a session is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shelf {
    /// Away for good.
    Deleted,
    /// Kept, and not in ordinary lists.
    Archive,
    /// Back among the others.
    Open,
}

/// Where a session works and with what.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Place {
    pub cwd: String,
    pub additional_directories: Vec<String>,
    pub mcp_servers: Vec<McpServer>,
    pub instructions: Option<Instructions>,
    /// What it was opened with; the core knows.
    pub gateway: Option<Arc<Gateway>>,
}

/// What the client tells the model before everything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// Beside Codex's own.
    Append(String),
    /// In their place.
    Override(String),
}

/// A tool server that the client brings along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServer {
    pub name: String,
    pub transport: McpTransport,
}

/// How to reach a tool server. Values may be secret: no `Display`, never logged.
#[derive(Clone, PartialEq, Eq)]
pub enum McpTransport {
    Stdio { command: String, args: Vec<String>, env: Vec<(String, String)> },
    Http { url: String, headers: Vec<(String, String)> },
}

impl std::fmt::Debug for McpTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stdio { .. } => f.write_str("Stdio"),
            Self::Http { .. } => f.write_str("Http"),
        }
    }
}

/// One block of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptPart {
    Text(String),
    /// A resource link, or a mention of a file.
    Link {
        name: String,
        uri: String,
    },
    /// Text of a resource that came with the prompt.
    Embedded {
        uri: String,
        text: String,
    },
    /// `data:` URL of an image.
    Image {
        url: String,
    },
}

/// Value given to a config option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionInput {
    Id(String),
    Flag(bool),
}

/// An answer to a request of the client.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// `session/new`, `session/fork`, `session/resume`, v1 `session/load`.
    SessionOpened(SessionOpened),
    /// `session/list`.
    Sessions { sessions: Vec<SessionEntry>, next: Option<String> },
    /// `session/close`.
    SessionClosed,
    /// `session/delete`, `session/archive`, `session/unarchive`.
    Shelved,
    /// `session/set_title`: the title as it is stored.
    Titled(String),
    /// v2 `session/prompt`: the message is in the thread.
    Inserted { message: MessageId },
    /// v1 `session/prompt`: the turn is over. Never `StopReason::Error`. `background` counts
    /// what goes on (`_meta.background`).
    TurnEnded { stop: StopReason, background: Vec<ToolCallId> },
    /// `session/set_config_option`, `session/set_mode`: the complete list.
    OptionSet(Vec<ConfigOption>),
    /// `terminal/cancel`, `tool_call/cancel`.
    CancelAccepted,
    /// v1 `authenticate`, v2 `auth/login`.
    SignedIn,
    /// v1 `logout`, v2 `auth/logout`.
    SignedOut,
    /// A JSON-RPC error.
    Failed(Failure),
}

/// What a client learns when a session opens.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionOpened {
    pub session: SessionId,
    pub options: Vec<ConfigOption>,
    pub commands: Vec<Command>,
}

/// One line of `session/list`. Times in seconds since the epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionEntry {
    pub session: SessionId,
    pub cwd: String,
    pub title: Option<String>,
    pub updated_at: Option<i64>,
    pub is_archived: bool,
}

/// A form's answers.
#[derive(Clone, Debug, PartialEq)]
pub struct FormAnswers {
    /// An object, handed on as it came.
    pub json: Json,
    /// The same, each field as texts: several of a list, none of `null`.
    pub fields: Vec<(String, Vec<String>)>,
}

/// One line of `thread/list`. Times in seconds since the epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadEntry {
    pub thread: ThreadId,
    pub cwd: String,
    pub title: Option<String>,
    pub updated_at: Option<i64>,
    /// How its history is kept.
    pub keeping: Keeping,
    /// Whether the app-server has it in memory: only then anything of it runs.
    pub is_loaded: bool,
    /// `None` where Codex says nothing of it.
    pub descent: Option<Box<Descent>>,
}
