//! The history of a thread on its way to the client: what is read next, and what may be told already.
//!
//! Codex lists items in the order in which they ended; they are told in the order in which they began. So
//! they are read turn by turn, where a command that outlived its turn is found with the turn that started it.

#[cfg(test)]
mod tests;

use super::codex::ItemKind;
use super::ids::TurnId;
use super::kept::{HistoryItem, HistoryTurn, Keeping};
use super::update::Update;
use std::collections::VecDeque;

/// Items that wait for their place at most, and their bytes. Beyond that the earliest are told.
const WINDOW: usize = 256;
const WINDOW_BYTES: usize = 8 * 1024 * 1024;
/// Turns of which one may have begun before the one that is listed before it: a review is two.
const OVERLAP: usize = 8;

/// What is asked for next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    Turns { cursor: Option<String>, keeping: Keeping },
    Items { turn: TurnId, cursor: Option<String> },
}

/// What is told next.
#[derive(Debug)]
pub(crate) enum Piece {
    Item(Box<HistoryItem>),
    /// A command that still runs, as it was when the reading began.
    Living(Vec<Update>),
}

/// One reading of a history. All times in milliseconds since the epoch.
#[derive(Debug)]
pub(crate) struct Reader {
    keeping: Keeping,
    /// The next page of turns, if there is one.
    more: Option<Option<String>>,
    /// Turns that are not read yet, and when they began.
    turns: VecDeque<(TurnId, Option<i64>)>,
    /// The turn that is being read, and the next page of it.
    current: Option<Current>,
    /// By the time of their start.
    waiting: VecDeque<(i64, Piece)>,
    n_bytes: usize,
    /// The time of the item that was read last: of one without a time of its own.
    last: i64,
}

fn is_plan_of((other, piece): &(i64, Piece), time: i64) -> bool {
    *other == time && matches!(piece, Piece::Item(it) if matches!(it.item.kind, ItemKind::Plan { .. }))
}

#[derive(Debug)]
struct Current {
    turn: TurnId,
    began: Option<i64>,
    next: Option<String>,
}

impl Reader {
    /// `living` is what runs, by the time of its start.
    pub(crate) fn new(keeping: Keeping, mut living: Vec<(i64, Vec<Update>)>) -> Self {
        living.sort_by_key(|(started, _)| *started);
        let waiting = living.into_iter().map(|(started, updates)| (started, Piece::Living(updates)));
        Self {
            keeping,
            more: Some(None),
            turns: VecDeque::new(),
            current: None,
            waiting: waiting.collect(),
            n_bytes: 0,
            last: 0,
        }
    }

    /// What to ask for now; `None` once everything is read.
    pub(crate) fn ask(&mut self) -> Option<Ask> {
        if self.current.is_none()
            && let Some((turn, began)) = self.turns.pop_front()
        {
            self.current = Some(Current { turn, began, next: None });
        }
        if let Some(current) = &self.current {
            return Some(Ask::Items { turn: current.turn.clone(), cursor: current.next.clone() });
        }
        self.more.clone().map(|cursor| Ask::Turns { cursor, keeping: self.keeping })
    }

    /// A page of turns, with their items where Codex has no other way to give them.
    pub(crate) fn turns_read(&mut self, turns: Vec<HistoryTurn>, next: Option<String>) -> Vec<Piece> {
        self.more = next.map(Some);
        for HistoryTurn { turn, began, items } in turns {
            match self.keeping {
                Keeping::ByItem => self.turns.push_back((turn, began)),
                Keeping::ByTurn => self.place(began, items),
            }
        }
        self.release()
    }

    /// A page of the items of a turn.
    pub(crate) fn items_read(&mut self, items: Vec<HistoryItem>, next: Option<String>) -> Vec<Piece> {
        let Some(current) = &mut self.current else { return Vec::new() };
        let is_first = current.next.is_none();
        let (began, has_more) = (current.began, next.is_some());
        match next {
            Some(_) => current.next = next,
            None => self.current = None,
        }
        self.place(began, items);
        // Nothing of a turn comes before its message: what a long one begins with is not kept waiting.
        let opens = matches!(
            self.waiting.front(),
            Some((_, Piece::Item(it))) if matches!(it.item.kind, ItemKind::UserMessage { .. })
        );
        let mut pieces = Vec::new();
        if is_first && has_more && opens {
            pieces.extend(self.pop());
        }
        pieces.extend(self.release());
        pieces
    }

    /// Everything is read: the rest.
    pub(crate) fn finish(self) -> Vec<Piece> {
        self.waiting.into_iter().map(|(_, piece)| piece).collect()
    }

    fn place(&mut self, began: Option<i64>, items: Vec<HistoryItem>) {
        self.last = self.last.max(began.unwrap_or_default());
        for item in items {
            let time = item.started.unwrap_or(self.last);
            self.last = time;
            self.n_bytes += item.size;
            let mut at = self.waiting.partition_point(|(other, _)| *other <= time);
            // A plan ends before the message in which it stands, and began with it in the same millisecond.
            if matches!(item.item.kind, ItemKind::AgentMessage { .. }) {
                while at > 0 && is_plan_of(&self.waiting[at - 1], time) {
                    at -= 1;
                }
            }
            self.waiting.insert(at, (time, Piece::Item(Box::new(item))));
        }
    }

    /// What nothing that is still to be read can come before.
    fn release(&mut self) -> Vec<Piece> {
        let from = self.unread_from();
        let mut pieces = Vec::new();
        while let Some((time, _)) = self.waiting.front() {
            let is_over = self.waiting.len() > WINDOW || self.n_bytes > WINDOW_BYTES;
            if *time >= from && !is_over {
                break;
            }
            pieces.extend(self.pop());
        }
        pieces
    }

    fn pop(&mut self) -> Option<Piece> {
        let (_, piece) = self.waiting.pop_front()?;
        if let Piece::Item(item) = &piece {
            self.n_bytes -= item.size;
        }
        Some(piece)
    }

    /// The time before which nothing unread began, as far as Codex says.
    fn unread_from(&self) -> i64 {
        let current = self.current.iter().map(|it| it.began.unwrap_or(i64::MIN));
        // One that has no time cannot be waited for.
        let next = self.turns.iter().take(OVERLAP).filter_map(|(_, began)| *began);
        if self.keeping == Keeping::ByTurn {
            return i64::MAX;
        }
        match current.chain(next).min() {
            Some(time) => time,
            None if self.turns.is_empty() && self.more.is_some() => i64::MIN,
            None => i64::MAX,
        }
    }
}
