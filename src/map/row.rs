//! One row of the map: a name of a wire, and what becomes of it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Name of a rule, unique over the whole map; what a trace line carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct RuleId(&'static str);

impl RuleId {
    /// A rule by its name, for comparing with a row.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// The name as it stands in the file, such as `turn.completed`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Which wire a row belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The app-server.
    Codex,
    /// ACP version 1.
    V1,
    /// ACP version 2.
    V2,
}

impl Side {
    /// The word for it on the command line and in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::V1 => "v1",
            Self::V2 => "v2",
        }
    }
}

/// What sort of name a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A request of ours to Codex.
    CodexRequest,
    /// A notification of ours to Codex.
    CodexClientNotification,
    /// A notification of Codex.
    CodexNotification,
    /// A request of Codex, which we owe an answer.
    CodexServerRequest,
    /// A kind of thread item.
    CodexItem,
    /// A request of the ACP client.
    AcpClientRequest,
    /// A notification of the ACP client.
    AcpClientNotification,
    /// A request of ours to the ACP client.
    AcpAgentRequest,
    /// A notification of ours to the ACP client.
    AcpAgentNotification,
    /// A `sessionUpdate` kind.
    AcpUpdate,
    /// A capability that we may advertise.
    AcpAgentCapability,
    /// A capability that the ACP client may advertise.
    AcpClientCapability,
}

impl Kind {
    /// Whether names of this kind are said by us; the row then has `from` and no `to`.
    #[must_use]
    pub const fn is_sent(self) -> bool {
        match self {
            Self::CodexRequest
            | Self::CodexClientNotification
            | Self::AcpAgentRequest
            | Self::AcpAgentNotification
            | Self::AcpUpdate
            | Self::AcpAgentCapability => true,
            Self::CodexNotification
            | Self::CodexServerRequest
            | Self::CodexItem
            | Self::AcpClientRequest
            | Self::AcpClientNotification
            | Self::AcpClientCapability => false,
        }
    }

    /// The words for it in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CodexRequest | Self::AcpClientRequest => "client request",
            Self::CodexClientNotification | Self::AcpClientNotification => "client notification",
            Self::CodexNotification => "notification",
            Self::CodexServerRequest => "server request",
            Self::CodexItem => "item",
            Self::AcpAgentRequest => "agent request",
            Self::AcpAgentNotification => "agent notification",
            Self::AcpUpdate => "update",
            Self::AcpAgentCapability => "agent capability",
            Self::AcpClientCapability => "client capability",
        }
    }
}

/// When in its life an item is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ItemEvent {
    /// `item/started`.
    Started,
    /// `item/completed`.
    Completed,
    /// Read back from the thread's history.
    History,
}

impl ItemEvent {
    /// Every event.
    pub const ALL: [Self; 3] = [Self::Started, Self::Completed, Self::History];

    /// The word for it in the files and in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Completed => "completed",
            Self::History => "history",
        }
    }
}

/// What becomes of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It has an effect.
    Mapped,
    /// It is read and dropped, or never said; the note says why.
    Ignored,
    /// It is answered with an error; the note says which and why.
    Refused,
}

impl Verdict {
    /// The word for it in the files and in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mapped => "mapped",
            Self::Ignored => "ignored",
            Self::Refused => "refused",
        }
    }
}

/// A row. `name` is the wire's own name; `other` is where it goes, or where it comes from when
/// we are the one who says it.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    pub side: Side,
    pub kind: Kind,
    pub name: &'static str,
    /// For items only; `None` covers every event without a row of its own.
    pub event: Option<ItemEvent>,
    pub rule: RuleId,
    pub verdict: Verdict,
    /// Empty when the name has no effect.
    pub other: &'static str,
    /// Empty only for mapped rows.
    pub note: &'static str,
    /// The wire has the name, its published schema has not.
    pub undeclared: bool,
}

impl Row {
    /// Whether it is about a message (or a part of one) that has an effect.
    #[must_use]
    pub fn is_mapped_message(&self) -> bool {
        let is_capability = matches!(self.kind, Kind::AcpAgentCapability | Kind::AcpClientCapability);
        self.verdict == Verdict::Mapped && !is_capability
    }
}
