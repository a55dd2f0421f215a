//! What Codex asks of the user, and what it is answered.
//!
//! In words of ours: the wire's JSON stays in `crate::codex`, but for what is sent back as it came.

use super::ids::{ItemId, Json, ThreadId};

/// A request of Codex to the user.
#[derive(Clone, Debug, PartialEq)]
pub enum CodexAsk {
    /// `item/commandExecution/requestApproval`.
    Command {
        thread: ThreadId,
        item: ItemId,
        about: CommandAsk,
        command: String,
        cwd: String,
        /// Why, and what else it would get; a line each.
        reason: Option<String>,
        decisions: Vec<Decision>,
    },
    /// `item/fileChange/requestApproval`.
    FileChange { thread: ThreadId, item: ItemId, reason: Option<String>, decisions: Vec<Decision> },
    /// `item/permissions/requestApproval`; `permissions` is granted as it was asked, or not.
    Permissions { thread: ThreadId, item: ItemId, reason: Option<String>, permissions: Json },
    /// `item/tool/requestUserInput`.
    Questions { thread: ThreadId, item: ItemId, questions: Vec<Question> },
    /// `mcpServer/elicitation/request` with a form.
    McpForm { thread: ThreadId, server: String, message: String, form: McpForm },
    /// `mcpServer/elicitation/request` with a URL.
    McpUrl { thread: ThreadId, server: String, message: String, elicitation: String, url: String },
    /// Anything else: answered with an error that names it.
    Unsupported { method: String },
}

impl CodexAsk {
    /// The thread that asks.
    #[must_use]
    pub fn thread(&self) -> Option<&ThreadId> {
        match self {
            Self::Command { thread, .. }
            | Self::FileChange { thread, .. }
            | Self::Permissions { thread, .. }
            | Self::Questions { thread, .. }
            | Self::McpForm { thread, .. }
            | Self::McpUrl { thread, .. } => Some(thread),
            Self::Unsupported { .. } => None,
        }
    }

    /// The item of that thread that it is about.
    pub(crate) fn item_mut(&mut self) -> Option<&mut ItemId> {
        match self {
            Self::Command { item, .. }
            | Self::FileChange { item, .. }
            | Self::Permissions { item, .. }
            | Self::Questions { item, .. } => Some(item),
            Self::McpForm { .. } | Self::McpUrl { .. } | Self::Unsupported { .. } => None,
        }
    }
}

/// What is asked about a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandAsk {
    /// That it may run.
    Run,
    /// That it may reach this host.
    Network { host: String },
    /// That the model may type into it.
    Input,
}

/// A form of a tool server.
#[derive(Clone, Debug, PartialEq)]
pub struct McpForm {
    pub schema: Json,
    /// The client's protocol version has words for the schema; the bridge finds out.
    pub fits: bool,
    /// The answers, by what they are called, if there are only a few.
    pub choices: Vec<(String, Json)>,
    /// It is Codex that asks whether a tool may be called.
    pub approval: Option<ToolApproval>,
}

/// A tool that waits for an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolApproval {
    pub tool: Option<String>,
    /// How long an approval can hold: `session`, `always`.
    pub persist: Vec<String>,
    /// The arguments, as text.
    pub params: Option<String>,
}

/// A decision that Codex offers.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    pub kind: DecisionKind,
    /// What to send back.
    pub value: Json,
    /// For people.
    pub name: String,
}

/// What a decision means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionKind {
    Accept,
    AcceptAlways,
    Decline,
    /// Declines now and from now on: never chosen for the user.
    DeclineAlways,
    /// Declines and ends the turn.
    Cancel,
}

/// What the field for another answer than the offered ones adds to the id of its question.
pub const OTHER: &str = "/other";

/// One question of `requestUserInput`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub id: String,
    pub header: String,
    pub question: String,
    /// Something else than the options may be said.
    pub is_other: bool,
    /// The answer must be seen by nobody: ACP has no words for that.
    pub is_secret: bool,
    /// Label and description; empty for free text.
    pub options: Vec<(String, String)>,
}

/// Our answer to a `CodexAsk`.
#[derive(Clone, Debug, PartialEq)]
pub enum CodexAnswer {
    /// Command or file change: the value of a `Decision`.
    Decision(Json),
    /// Permission profile: this one, or nothing.
    Permissions { granted: Option<Json>, scope: GrantScope },
    /// Question id to answers.
    Questions(Vec<(String, Vec<String>)>),
    /// MCP elicitation; `persist` is one of what its `ToolApproval` offers.
    Elicitation { action: ElicitationAction, content: Option<Json>, persist: Option<String> },
    /// A JSON-RPC error.
    Refused { message: String },
}

/// How long a permission holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantScope {
    Turn,
    /// For the turn, in which Codex's own reviewer looks at each further command (`strictAutoReview`).
    ReviewedTurn,
    Session,
}

/// MCP's three answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElicitationAction {
    Accept,
    Decline,
    Cancel,
}
