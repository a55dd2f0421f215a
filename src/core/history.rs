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

/// Pages that are asked for and not told or waiting for their place, at most.
const AHEAD: usize = 8;

/// One page that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    Turns { cursor: Option<String>, keeping: Keeping },
    Items { turn: TurnId, cursor: Option<String> },
}

impl Ask {
    /// The cursor that leads to it; `None` for the first page.
    pub(crate) fn cursor(&self) -> Option<&str> {
        let (Self::Turns { cursor, .. } | Self::Items { cursor, .. }) = self;
        cursor.as_deref()
    }
}

/// What is told next.
#[derive(Debug)]
pub(crate) enum Piece {
    Item(Box<HistoryItem>),
    /// A command that still runs, as it was when the reading began.
    Living(Vec<Update>),
}

/// One reading of a history. All times in milliseconds since the epoch.
///
/// Several pages are asked for at once, and told as if they had been read one after the other.
#[derive(Debug)]
pub(crate) struct Reader {
    keeping: Keeping,
    /// The next page of turns.
    names: Next,
    /// Turns that are not read to their end, in order.
    turns: VecDeque<Reading>,
    /// How many pages may be ahead of what is told.
    ahead: usize,
    /// By the time of their start.
    waiting: VecDeque<(i64, Piece)>,
    n_bytes: usize,
    /// The time of the item that was read last: of one without a time of its own.
    last: i64,
}

fn is_plan_of((other, piece): &(i64, Piece), time: i64) -> bool {
    *other == time && matches!(piece, Piece::Item(it) if matches!(it.item.kind, ItemKind::Plan { .. }))
}

/// The page after those that were asked for.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    At(Option<String>),
    OnItsWay,
    None,
}

/// A turn that is being read, or will be.
#[derive(Debug)]
struct Reading {
    turn: TurnId,
    began: Option<i64>,
    next: Next,
    /// Pages that came before their time.
    early: VecDeque<Vec<HistoryItem>>,
    /// Some of it has its place.
    is_begun: bool,
}

impl Reading {
    /// Pages that are asked for and have no place yet.
    fn n_ahead(&self) -> usize {
        self.early.len() + usize::from(self.next == Next::OnItsWay)
    }
}

impl Reader {
    /// `living` is what runs, by the time of its start.
    pub(crate) fn new(keeping: Keeping, mut living: Vec<(i64, Vec<Update>)>) -> Self {
        living.sort_by_key(|(started, _)| *started);
        let waiting = living.into_iter().map(|(started, updates)| (started, Piece::Living(updates)));
        Self {
            keeping,
            names: Next::At(None),
            turns: VecDeque::new(),
            ahead: 1,
            waiting: waiting.collect(),
            n_bytes: 0,
            last: 0,
        }
    }

    /// A page to ask for now, if there is one; asked again, the next of them.
    pub(crate) fn ask(&mut self) -> Option<Ask> {
        let n_ahead: usize = self.turns.iter().map(Reading::n_ahead).sum();
        let is_head = self.turns.front().is_some_and(|it| matches!(it.next, Next::At(_)));
        // What everything else waits for is always asked for.
        if is_head || n_ahead < self.ahead {
            let unasked = self.turns.iter_mut().find(|it| matches!(it.next, Next::At(_)));
            if let Some(reading) = unasked
                && let Next::At(cursor) = std::mem::replace(&mut reading.next, Next::OnItsWay)
            {
                return Some(Ask::Items { turn: reading.turn.clone(), cursor });
            }
        }
        // So early that the last of those that are known do not wait for each other.
        if self.turns.len() >= AHEAD || !matches!(self.names, Next::At(_)) {
            return None;
        }
        match std::mem::replace(&mut self.names, Next::OnItsWay) {
            Next::At(cursor) => Some(Ask::Turns { cursor, keeping: self.keeping }),
            Next::OnItsWay | Next::None => None,
        }
    }

    /// Whether every page is read.
    pub(crate) fn is_at_end(&self) -> bool {
        self.turns.is_empty() && self.names == Next::None
    }

    /// A page of turns, with their items where Codex has no other way to give them.
    pub(crate) fn turns_read(&mut self, turns: Vec<HistoryTurn>, next: Option<String>) -> Vec<Piece> {
        self.names = next.map_or(Next::None, |it| Next::At(Some(it)));
        for HistoryTurn { turn, began, items } in turns {
            match self.keeping {
                Keeping::ByItem => self.turns.push_back(Reading {
                    turn,
                    began,
                    next: Next::At(None),
                    early: VecDeque::new(),
                    is_begun: false,
                }),
                Keeping::ByTurn => self.place(began, items),
            }
        }
        self.release()
    }

    /// A page of the items of a turn.
    pub(crate) fn items_read(
        &mut self,
        turn: &TurnId,
        items: Vec<HistoryItem>,
        next: Option<String>,
    ) -> Vec<Piece> {
        let Some(reading) = self.turns.iter_mut().find(|it| it.turn == *turn) else { return Vec::new() };
        // No more at once than fits, if all of them were as large.
        let size: usize = items.iter().map(|it| it.size).sum();
        self.ahead = (WINDOW_BYTES / size.max(1)).clamp(1, (self.ahead + 1).min(AHEAD));
        reading.next = next.map_or(Next::None, |it| Next::At(Some(it)));
        reading.early.push_back(items);
        self.place_early()
    }

    /// Every page whose time has come gets its place.
    fn place_early(&mut self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        while let Some(reading) = self.turns.front_mut() {
            let Some(items) = reading.early.pop_front() else { break };
            let began = reading.began;
            let is_first = !std::mem::replace(&mut reading.is_begun, true);
            let has_more = !reading.early.is_empty() || reading.next != Next::None;
            if !has_more {
                self.turns.pop_front();
            }
            self.place(began, items);
            // Nothing of a turn comes before its message: what a long one begins with is not kept waiting.
            let opens = matches!(
                self.waiting.front(),
                Some((_, Piece::Item(it))) if matches!(it.item.kind, ItemKind::UserMessage { .. })
            );
            if is_first && has_more && opens {
                pieces.extend(self.pop());
            }
            pieces.extend(self.release());
        }
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
        if self.keeping == Keeping::ByTurn {
            return i64::MAX;
        }
        let (begun, next): (Vec<_>, Vec<_>) =
            self.turns.iter().take(1 + OVERLAP).partition(|reading| reading.is_begun);
        let begun = begun.into_iter().map(|it| it.began.unwrap_or(i64::MIN));
        // One that has no time cannot be waited for.
        let next = next.into_iter().take(OVERLAP).filter_map(|it| it.began);
        match begun.chain(next).min() {
            Some(time) => time,
            None if self.turns.is_empty() && self.names != Next::None => i64::MIN,
            None => i64::MAX,
        }
    }
}
