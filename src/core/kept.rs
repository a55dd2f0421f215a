//! What Codex keeps of a thread: its history, and how it is read.

use super::codex::Item;
use super::ids::TurnId;

/// How Codex keeps the history of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keeping {
    #[default]
    ByItem,
    /// As a Codex of former days did (`legacy`): without commands, and with names of its own for the items.
    ByTurn,
}

/// One item of a thread's history.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryItem {
    pub turn: Option<TurnId>,
    pub item: Item,
    /// In milliseconds since the epoch, where Codex has it.
    pub started: Option<i64>,
    /// Bytes of it on the wire.
    pub size: usize,
}

/// One turn of a thread's history.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryTurn {
    pub turn: TurnId,
    /// In milliseconds since the epoch, rounded down to a second.
    pub began: Option<i64>,
    /// Where they were asked for.
    pub items: Vec<HistoryItem>,
}
