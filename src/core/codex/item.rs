//! One item of a thread, as Codex tells it.

use crate::core::ids::{ItemId, Json, ProcessId, PromptKey};
use crate::core::subagents::collab::CollabCall;
use crate::core::update::{Content, Diff, Location, ToolKind};

/// An item of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub id: ItemId,
    pub kind: ItemKind,
}

/// What an item is.
#[derive(Clone, Debug, PartialEq)]
pub enum ItemKind {
    UserMessage {
        key: Option<PromptKey>,
        content: Vec<Content>,
    },
    AgentMessage {
        text: String,
    },
    /// Summary parts, or the raw parts where there is no summary.
    Reasoning {
        parts: Vec<String>,
    },
    /// Plan-mode text.
    Plan {
        text: String,
    },
    Command(CommandItem),
    /// The context is compacted.
    Compaction,
    FileChange {
        changes: Vec<Diff>,
        /// Changes beyond those, too many to be carried.
        n_more: usize,
        status: ItemStatus,
    },
    /// Any other tool, already put into words by the decoder.
    Tool(ToolItem),
    /// Known and deliberately not shown; the map says why.
    Hidden,
}

/// A command that Codex runs.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandItem {
    /// The bare script: `/bin/bash -lc '…'` is taken off by the decoder.
    pub command: String,
    /// Absolute.
    pub cwd: String,
    /// `None` while it waits for an approval, and for the user's own shell.
    pub process: Option<ProcessId>,
    pub source: CommandSource,
    pub status: ItemStatus,
    /// One line and a kind from Codex's own parse of the command.
    pub title: String,
    pub kind: ToolKind,
    pub locations: Vec<Location>,
    /// Whole output up to 1 MiB, then head, omission mark, tail. Only at the end.
    pub output: Option<String>,
    pub exit_code: Option<i64>,
    pub duration_ms: Option<i64>,
    /// In milliseconds since the epoch.
    pub started: Option<i64>,
}

/// Who runs a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandSource {
    /// The model.
    Agent,
    /// The user's own shell command: never listed (D2).
    User,
}

/// Codex's item status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemStatus {
    InProgress,
    Completed,
    Failed,
    Declined,
    /// Of a subagent's tool: broken off before its end.
    Interrupted,
}

/// Name of the two calls that a review begins and ends with, and title of the first.
pub(crate) const REVIEW: &str = "review";
pub(crate) const REVIEW_STARTS: &str = "Start a review";

/// Name of the call that shows a hook.
pub(crate) const HOOK: &str = "hook";

/// A tool call of no special kind.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolItem {
    /// Name for programs.
    pub name: String,
    pub title: String,
    pub kind: ToolKind,
    pub status: ItemStatus,
    pub input: Option<Json>,
    pub output: Option<Json>,
    /// Readable result.
    pub text: Option<String>,
    /// Images of the result, as `data:` URLs.
    pub images: Vec<String>,
    pub locations: Vec<Location>,
    /// The subagents that it is about.
    pub collab: Option<Box<CollabCall>>,
}
