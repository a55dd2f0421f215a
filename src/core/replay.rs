//! A replay: the history and what lives, told to a client that begins afresh.
//!
//! What lives is written down when the replay begins. What happens meanwhile is held back and follows it.

use super::codex::{CodexError, CodexReply, CodexRequest, ItemKind, ItemStatus, ToolItem};
use super::codex::{REVIEW, REVIEW_STARTS};
use super::cx::Cx;
use super::effect::Anomaly;
use super::history::{Ask, Piece, Reader};
use super::ids::{ItemId, MessageId, TerminalId, TurnId};
use super::input::Pressure;
use super::kept::{HistoryItem, HistoryTurn, Keeping};
use super::link::Purpose;
use super::opening::open_failure;
use super::session::{History, Session};
use super::turn::Front;
use super::update::{TerminalOpened, Update};
use crate::background::ledger::{Call, Command, EndedMark, Work};

/// Items per page of a history.
///
/// Small: an item can be a megabyte of output.
const PAGE: u32 = 16;
/// Names of turns per page.
const NAMES_PAGE: u32 = 100;
/// Whole turns per page.
const TURNS_PAGE: u32 = 4;

/// Begins what Codex says where a thread has no history yet.
const UNWRITTEN: &str = "is not materialized yet";

/// What lived in an open session when its resume was asked for.
#[derive(Debug)]
pub(crate) struct Returning {
    /// Calls, by the time of their start where it is known.
    pub(crate) living: Vec<(Option<i64>, Vec<Update>)>,
    /// Messages that are being written.
    pub(crate) unfinished: Vec<Update>,
    /// What ended from here on is held back.
    pub(crate) mark: EndedMark,
}

impl Session {
    /// A resume is asked for: from here on updates are held back, so that a replay can come before them.
    pub(crate) fn returns(&mut self, cx: &mut Cx<'_>) {
        let returning = self.what_lives(cx);
        self.returning = Some(returning);
        self.held.get_or_insert_with(Vec::new);
    }

    /// The resume came to nothing: the session goes on as it was.
    pub(crate) fn stays(&mut self, cx: &mut Cx<'_>) {
        if self.returning.take().is_some() {
            self.goes_on(cx);
        }
    }

    /// What was held back is told, and the state as it is.
    pub(crate) fn goes_on(&mut self, cx: &mut Cx<'_>) {
        self.release(cx);
        // What was written down for a resume that came to nothing the client may not have.
        for item in self.ledger.items(|call| call.live().is_some_and(|live| live.output.is_unsure())) {
            self.flush(cx, &item);
        }
        self.report_held(cx);
    }

    pub(crate) fn what_lives(&mut self, cx: &Cx<'_>) -> Returning {
        Returning { living: self.living(cx), unfinished: self.unfinished(), mark: self.ledger.ended_mark() }
    }

    /// Everything that is open, in updates for a client that does not know it, with the time of its start.
    fn living(&mut self, cx: &Cx<'_>) -> Vec<(Option<i64>, Vec<Update>)> {
        let items = self.ledger.items(|_| true);
        items.iter().filter_map(|item| self.living_call(cx, item)).collect()
    }

    fn living_call(&mut self, cx: &Cx<'_>, item: &ItemId) -> Option<(Option<i64>, Vec<Update>)> {
        let Call { call, work, .. } = self.ledger.get_mut(item)?;
        let opening = self.shown.get(call).cloned().map(Update::CallOpened);
        match work {
            Work::Tool | Work::Standing(_) => Some((None, vec![opening?])),
            Work::Compaction => Some((None, vec![Update::Compaction { call: call.clone(), end: None }])),
            Work::Command(command) => {
                let started = command.started;
                let mut updates = vec![opening?];
                updates.extend(living_terminal(cx, command));
                Some((started, updates))
            }
        }
    }

    /// The client has what was written down of the outputs.
    pub(in crate::core) fn confirm_written_down(&mut self) {
        for item in self.ledger.items(|call| call.live().is_some()) {
            if let Some(live) = self.ledger.command_mut(&item).and_then(Command::live_mut) {
                live.output.confirm();
            }
        }
    }

    /// The messages that are being written, as far as they are.
    fn unfinished(&self) -> Vec<Update> {
        let texts = self.texts.so_far();
        texts.map(|(item, voice, text)| voice.chunk(item, text.to_owned())).collect()
    }

    /// The history is to be told from its beginning.
    pub(crate) fn begin_replay(&mut self, cx: &mut Cx<'_>, living: Vec<(i64, Vec<Update>)>, mark: EndedMark) {
        self.ledger.forget_closed(mark);
        self.in_review = false;
        self.reading = cx.desk.next_reading();
        self.reader = Some(Reader::new(self.keeping, living));
    }

    /// Asks for the next pages, or waits until the client keeps up.
    pub(crate) fn read_on(&mut self, cx: &mut Cx<'_>) {
        if cx.desk.pressure == Pressure::High {
            return self.pause_replay();
        }
        while let Some(ask) = self.reader.as_mut().and_then(Reader::ask) {
            let (thread, cursor) = (self.thread.clone(), ask.cursor().map(str::to_owned));
            let request = match &ask {
                Ask::Turns { keeping, .. } => {
                    let limit = match keeping {
                        Keeping::ByItem => NAMES_PAGE,
                        Keeping::ByTurn => TURNS_PAGE,
                    };
                    CodexRequest::TurnsList { thread, cursor, limit, keeping: *keeping }
                }
                Ask::Items { turn, .. } => {
                    CodexRequest::ItemsList { thread, turn: Some(turn.clone()), cursor, limit: PAGE }
                }
            };
            let purpose = Purpose::Replay { session: self.id.clone(), reading: self.reading, ask };
            cx.link.call(purpose, request, cx.out);
        }
        if self.reader.as_ref().is_some_and(Reader::is_at_end) {
            self.replay_done(cx);
        }
    }

    /// One page of the history. Pages of a reading that was given up are nobody's.
    pub(crate) fn replay_page(
        &mut self,
        cx: &mut Cx<'_>,
        (reading, ask): (u64, &Ask),
        result: Result<CodexReply, CodexError>,
    ) {
        if reading != self.reading || self.reader.is_none() {
            return;
        }
        let asked = ask.cursor();
        let pieces = match (result, ask) {
            (Ok(CodexReply::Turns { turns, next }), Ask::Turns { .. }) => {
                let next = new_cursor(cx, next, asked);
                self.reader.as_mut().map(|reader| reader.turns_read(turns, next))
            }
            (Ok(CodexReply::Items { items, next }), Ask::Items { turn, .. }) => {
                let next = new_cursor(cx, next, asked);
                self.reader.as_mut().map(|reader| reader.items_read(turn, items, next))
            }
            (Ok(_), _) => return self.history_refused(cx, &CodexError::unexpected()),
            (Err(error), _) if error.message.contains(UNWRITTEN) => return self.replay_done(cx),
            (Err(error), _) => return self.history_refused(cx, &error),
        };
        for piece in pieces.into_iter().flatten() {
            self.replay_piece(cx, piece);
        }
        self.read_on(cx);
    }

    fn replay_piece(&mut self, cx: &mut Cx<'_>, piece: Piece) {
        let HistoryItem { turn, item, .. } = match piece {
            Piece::Item(item) => *item,
            Piece::Living(updates) => {
                updates.into_iter().for_each(|update| self.emit_ahead(cx, update));
                return;
            }
        };
        let turn = turn.unwrap_or_else(|| TurnId::new("history"));
        if self.is_reviewers(&item.kind) {
            return;
        }
        if let ItemKind::Tool(ToolItem { collab: Some(collab), .. }) = &item.kind {
            self.note_gone(cx, &collab.threads);
        }
        // A running command is told from the list, with its process.
        let runs = matches!(&item.kind, ItemKind::Command(it) if it.status == ItemStatus::InProgress && it.process.is_some());
        if runs && matches!(self.front, Front::Active(_)) {
            self.at_work.insert(item.id);
            return;
        }
        self.replaying = true;
        match is_in_progress(&item.kind) && matches!(self.front, Front::Active(_)) {
            true => self.item_started(cx, &turn, item),
            false => self.item_completed(cx, &turn, item),
        }
        self.replaying = false;
    }

    /// Whether it is of the reviewer: what it is asked nobody said, and what it writes is data.
    fn is_reviewers(&mut self, kind: &ItemKind) -> bool {
        match kind {
            ItemKind::Tool(tool) => {
                self.in_review = match tool.name.as_str() {
                    REVIEW => tool.title == REVIEW_STARTS,
                    _ => self.in_review,
                };
                false
            }
            ItemKind::UserMessage { .. } | ItemKind::AgentMessage { .. } => self.in_review,
            ItemKind::Reasoning { .. }
            | ItemKind::Plan { .. }
            | ItemKind::Command(_)
            | ItemKind::Compaction
            | ItemKind::FileChange { .. }
            | ItemKind::Hidden => false,
        }
    }

    fn replay_done(&mut self, cx: &mut Cx<'_>) {
        let rest = self.reader.take().map(Reader::finish).unwrap_or_default();
        for piece in rest {
            self.replay_piece(cx, piece);
        }
        self.history = History::Known;
        self.emit_ahead(cx, Update::ReplayComplete);
        self.await_subagents(cx);
    }

    /// Reads the thread's messages for the keys they were sent with (V2-35).
    pub(crate) fn scan_keys(&mut self, cx: &mut Cx<'_>, cursor: Option<String>) {
        self.cursor.clone_from(&cursor);
        let thread = self.thread.clone();
        let request = match self.keeping {
            Keeping::ByItem => CodexRequest::ItemsList { thread, turn: None, cursor, limit: PAGE },
            Keeping::ByTurn => {
                CodexRequest::TurnsList { thread, cursor, limit: TURNS_PAGE, keeping: self.keeping }
            }
        };
        cx.link.call(Purpose::KeyScan { session: self.id.clone() }, request, cx.out);
    }

    /// One page of the history, read for its prompt keys.
    pub(crate) fn keys_page(&mut self, cx: &mut Cx<'_>, result: Result<CodexReply, CodexError>) {
        let (items, next) = match result {
            Ok(CodexReply::Items { items, next }) => (items, next),
            Ok(CodexReply::Turns { turns, next }) => {
                (turns.into_iter().flat_map(|HistoryTurn { items, .. }| items).collect(), next)
            }
            Ok(_) => return self.history_refused(cx, &CodexError::unexpected()),
            Err(error) => return self.history_refused(cx, &error),
        };
        for HistoryItem { item, .. } in items {
            if let ItemKind::UserMessage { key: Some(key), .. } = item.kind {
                self.inserted.insert(key, MessageId::from(&item.id));
            }
        }
        match new_cursor(cx, next, self.cursor.as_deref()) {
            None => self.keys_known(cx),
            next => self.scan_keys(cx, next),
        }
    }

    /// A replay or a key lookup failed.
    pub(crate) fn history_refused(&mut self, cx: &mut Cx<'_>, error: &CodexError) {
        let failure = open_failure("thread/items/list", Some(&self.id), error);
        if let Some(resuming) = self.resuming.take() {
            return self.resume_failed(cx, resuming, failure);
        }
        self.history = History::Unread;
        self.refuse_all(cx, &failure);
    }
}

/// The next page's cursor; the one that was asked for again would never end.
fn new_cursor(cx: &mut Cx<'_>, next: Option<String>, asked: Option<&str>) -> Option<String> {
    if next.is_some() && next.as_deref() == asked {
        let message = "the cursor of the next page is the one of this page".to_owned();
        cx.out.anomaly(Anomaly::CodexRefused { method: "thread/items/list", message });
        return None;
    }
    next
}

fn living_terminal(cx: &Cx<'_>, command: &mut Command) -> Vec<Update> {
    let (script, cwd) = (command.command.clone(), command.cwd.clone());
    let Some(live) = command.live_mut() else { return Vec::new() };
    let terminal: TerminalId = live.terminal.terminal().clone();
    let opened = TerminalOpened {
        terminal: terminal.clone(),
        command: script,
        cwd,
        size: None,
        can_cancel: live.process.is_some(),
    };
    let mut updates = vec![Update::TerminalOpened(opened)];
    let text = live.output.write_down();
    live.flushed = Some(cx.now);
    live.vitals_wait = false;
    if !text.is_empty() {
        updates.push(Update::TerminalSnapshot { terminal: terminal.clone(), text });
    }
    updates.extend(live.vitals.map(|vitals| Update::TerminalVitals { terminal, vitals }));
    updates
}

/// Whether the item has not ended.
pub(crate) fn is_in_progress(kind: &ItemKind) -> bool {
    match kind {
        ItemKind::Command(it) => it.status == ItemStatus::InProgress,
        ItemKind::FileChange { status, .. } => *status == ItemStatus::InProgress,
        ItemKind::Tool(tool) => tool.status == ItemStatus::InProgress,
        ItemKind::UserMessage { .. }
        | ItemKind::AgentMessage { .. }
        | ItemKind::Reasoning { .. }
        | ItemKind::Plan { .. }
        | ItemKind::Compaction
        | ItemKind::Hidden => false,
    }
}
