//! What was said and done while a connection was lost: read from the history, newest first, back to what is known.
//!
//! Nothing is told twice: the ledger knows what the client has.

use super::codex::{CodexError, CodexReply, CodexRequest, HistoryItem, ItemKind, ItemStatus, ThreadOpened};
use super::cx::Cx;
use super::effect::Anomaly;
use super::ids::TurnId;
use super::link::Purpose;
use super::opening::is_in_progress;
use super::session::Session;
use super::turn::Front;

/// Items per page: an item can be a megabyte of output.
const PAGE: u32 = 16;
/// More than so many items are left to a resume with replay.
const ITEMS_MAX: usize = 1_024;

/// The history is being read.
#[derive(Debug)]
pub(crate) struct CatchingUp {
    /// The turn that ran at the loss.
    turn: Option<TurnId>,
    /// It was reached.
    is_reached: bool,
    /// Newest first.
    missed: Vec<HistoryItem>,
}

/// Where in the history something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Missed,
    Known,
}

impl Session {
    /// The thread is loaded again: what was missed comes first.
    pub(crate) fn catch_up(&mut self, cx: &mut Cx<'_>, opened: &ThreadOpened) {
        let turn = match &self.front {
            Front::Active(turn) => turn.id.clone(),
            Front::Idle | Front::Starting { .. } => None,
        };
        self.rejoin(cx, opened);
        // Without a mark in the history everything in it would be news.
        if turn.is_none() && self.over.is_none() {
            return self.joined(cx);
        }
        self.catching_up = Some(CatchingUp { turn, is_reached: false, missed: Vec::new() });
        self.ask_newest(cx, None);
    }

    /// One page of the newest items.
    pub(crate) fn newest_page(&mut self, cx: &mut Cx<'_>, result: Result<CodexReply, CodexError>) {
        let Some(mut catching_up) = self.catching_up.take() else { return };
        let (items, next) = match result {
            Ok(CodexReply::Items { items, next }) => (items, next),
            Ok(_) => (Vec::new(), None),
            Err(error) => {
                let method = "thread/items/list";
                cx.out.anomaly(Anomaly::CodexRefused { method, message: error.message });
                (Vec::new(), None)
            }
        };
        let mut is_at_end = next.is_none() || next == self.cursor;
        for item in items {
            if self.place(&mut catching_up, &item) == Place::Known {
                is_at_end = true;
                break;
            }
            catching_up.missed.push(item);
        }
        if !is_at_end && catching_up.missed.len() < ITEMS_MAX {
            self.catching_up = Some(catching_up);
            return self.ask_newest(cx, next);
        }
        self.replaying = true;
        for HistoryItem { turn, item } in catching_up.missed.into_iter().rev() {
            let turn = turn.unwrap_or_else(|| TurnId::new("history"));
            let runs = matches!(&item.kind, ItemKind::Command(it) if it.status == ItemStatus::InProgress);
            // A running command is told from the list, with its process.
            if runs || self.ledger.has_closed(&item.id) {
                continue;
            }
            match is_in_progress(&item.kind) {
                true if self.ledger.get(&item.id).is_none() => self.item_started(cx, &turn, item),
                true => {}
                false => self.item_completed(cx, &turn, item),
            }
        }
        self.replaying = false;
        self.joined(cx);
    }

    fn ask_newest(&mut self, cx: &mut Cx<'_>, cursor: Option<String>) {
        self.cursor.clone_from(&cursor);
        let request = CodexRequest::NewestItems { thread: self.thread.clone(), cursor, limit: PAGE };
        cx.link.call(Purpose::CatchUp { session: self.id.clone() }, request, cx.out);
    }

    fn place(&self, catching_up: &mut CatchingUp, it: &HistoryItem) -> Place {
        if self.ledger.get(&it.item.id).is_some() {
            return Place::Missed;
        }
        let turn = it.turn.as_ref();
        let is_at_loss = turn.is_some() && turn == catching_up.turn.as_ref();
        let is_before = std::mem::replace(&mut catching_up.is_reached, is_at_loss) && !is_at_loss;
        let is_over = !is_at_loss && turn.is_some_and(|turn| self.is_over(turn));
        match is_before || is_over || self.ledger.has_closed(&it.item.id) {
            true => Place::Known,
            false => Place::Missed,
        }
    }
}
