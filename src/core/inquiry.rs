//! What a slash command asks of Codex, and what Codex says to it.
//!
//! Words for the commands' answers only: nothing of a session's state is read from here, but the skills.

use super::codex::Preset;
use super::ids::{ThreadId, TurnId};

/// A request to Codex that a slash command makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inquiry {
    /// `account/rateLimits/read`.
    RateLimits,
    /// `mcpServerStatus/list`, one page, without resources.
    McpServers { thread: ThreadId, cursor: Option<String> },
    /// `skills/list` of one folder; `afresh`: read from disk again.
    Skills { cwd: String, afresh: bool },
    /// `command/exec` in a sandbox that writes nothing, without one under `FullAccess`.
    Exec { command: Vec<String>, cwd: String, preset: Option<Preset> },
    /// `thread/name/set`.
    Rename { thread: ThreadId, name: String },
    /// `thread/goal/set` with the status `active`; `None` keeps the objective.
    Goal { thread: ThreadId, objective: Option<String> },
    /// `thread/compact/start`.
    Compact { thread: ThreadId },
    /// `review/start` in the thread itself.
    Review { thread: ThreadId, target: ReviewTarget },
}

impl Inquiry {
    /// The wire's method name.
    pub fn method(&self) -> &'static str {
        match self {
            Self::RateLimits => "account/rateLimits/read",
            Self::McpServers { .. } => "mcpServerStatus/list",
            Self::Skills { .. } => "skills/list",
            Self::Exec { .. } => "command/exec",
            Self::Rename { .. } => "thread/name/set",
            Self::Goal { .. } => "thread/goal/set",
            Self::Compact { .. } => "thread/compact/start",
            Self::Review { .. } => "review/start",
        }
    }
}

/// What is reviewed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReviewTarget {
    /// Staged, unstaged and untracked changes.
    Uncommitted,
    /// What the work has beyond this branch.
    Branch(String),
    /// One commit, by a name that git takes.
    Commit(String),
}

/// Codex's answer to an `Inquiry`.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    RateLimits(Vec<RateLimit>),
    McpServers {
        servers: Vec<McpServerState>,
        next: Option<String>,
    },
    Skills(SkillList),
    Exec(ExecEnd),
    /// `review/start`: the turn that it is.
    Review(TurnId),
}

/// Who is signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Kind, name and plan in words; `None` for nobody.
    pub who: Option<String>,
    /// Whether the model provider needs an account of OpenAI's.
    pub required: bool,
}

/// One window of one limit of the account.
#[derive(Clone, Debug, PartialEq)]
pub struct RateLimit {
    /// Which limit, where there are several.
    pub name: Option<String>,
    /// Length of the window, in minutes.
    pub minutes: Option<u64>,
    pub used_percent: f64,
    /// Seconds since the epoch.
    pub resets_at: Option<i64>,
}

/// One tool server as a thread sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServerState {
    pub name: String,
    /// Codex's word for its connection.
    pub state: Option<String>,
    /// Codex's word for its sign-in.
    pub auth: String,
    /// Names, in alphabetical order.
    pub tools: Vec<String>,
    pub error: Option<String>,
}

/// The skills of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillList {
    pub skills: Vec<Skill>,
    /// Path and reason of what could not be read.
    pub errors: Vec<(String, String)>,
}

/// A skill that is turned on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    /// One line.
    pub description: String,
    /// Codex's word for where it comes from: `repo`, `user`, `system`, `admin`.
    pub scope: String,
}

/// How a command of ours ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecEnd {
    pub code: i64,
    pub stdout: String,
    pub stderr: String,
}
