//! Sessions that open: new ones and ones that come back.
//!
//! A resume keeps the order of V2-26: replay, `replay_complete`, what lives, state, answer.

use super::choices::Chosen;
use super::codex::{CodexError, CodexRequest, HistoryItem, ItemKind, ItemStatus, ThreadOpened};
use super::cx::Cx;
use super::failure::Failure;
use super::ids::{MessageId, SessionId, TerminalId, ToolCallId, TurnId};
use super::link::Purpose;
use super::prompts::refusal;
use super::request::{Place, Reply, SessionOpened, Ticket};
use super::session::{History, Session, Tie};
use super::turn::{Front, Turn};
use super::update::Update;
use crate::background::ledger::Call;
use std::collections::BTreeSet;

/// Items per page of a history.
const PAGE: u32 = 100;

/// A resume that is not answered yet.
#[derive(Debug)]
pub(crate) struct Resuming {
    pub(crate) ticket: Ticket,
    pub(crate) place: Place,
    pub(crate) replay: bool,
    /// Everything is told; only the answer is left.
    pub(crate) told: bool,
}

impl Resuming {
    pub(crate) fn new(ticket: Ticket, place: Place, replay: bool) -> Self {
        Self { ticket, place, replay, told: false }
    }

    /// The call that brings the thread back.
    pub(crate) fn request(&self, session: &SessionId) -> CodexRequest {
        CodexRequest::ThreadResume {
            thread: session.thread(),
            cwd: Some(self.place.cwd.clone()),
            mcp_servers: self.place.mcp_servers.clone(),
        }
    }
}

impl Session {
    /// The thread of a resume is loaded.
    pub(crate) fn resumed(&mut self, cx: &mut Cx<'_>, opened: &ThreadOpened, resuming: Resuming) {
        self.tie = Tie::Loaded;
        self.chosen = Chosen::of(opened);
        if opened.active && matches!(self.front, Front::Idle) {
            self.front = Front::Active(Turn::new(None, Vec::new()));
        }
        self.held.get_or_insert_with(Vec::new);
        let replay = resuming.replay;
        self.resuming = Some(resuming);
        if replay {
            self.ledger.forget_closed();
            self.ask_history(cx, None);
        } else {
            self.poll_terminals(cx);
        }
    }

    fn ask_history(&mut self, cx: &mut Cx<'_>, cursor: Option<String>) {
        let request = CodexRequest::ItemsList { thread: self.thread.clone(), cursor, limit: PAGE };
        cx.link.call(Purpose::Replay { session: self.id.clone() }, request, cx.out);
    }

    /// One page of the history is told.
    pub(crate) fn replay_page(&mut self, cx: &mut Cx<'_>, items: Vec<HistoryItem>, next: Option<String>) {
        self.replaying = true;
        for HistoryItem { turn, item } in items {
            let turn = turn.unwrap_or_else(|| TurnId::new("history"));
            // A running command is told from the list, with its process.
            let runs = matches!(&item.kind, ItemKind::Command(it) if it.status == ItemStatus::InProgress && it.process.is_some());
            if runs {
                continue;
            }
            match is_in_progress(&item.kind) && matches!(self.front, Front::Active(_)) {
                true => self.item_started(cx, &turn, item),
                false => self.item_completed(cx, &turn, item),
            }
        }
        self.replaying = false;
        if next.is_some() {
            return self.ask_history(cx, next);
        }
        self.history = History::Known;
        self.emit_ahead(cx, Update::ReplayComplete);
        self.poll_terminals(cx);
    }

    /// One page of the history, read for its prompt keys.
    pub(crate) fn keys_page(&mut self, cx: &mut Cx<'_>, items: Vec<HistoryItem>, next: Option<String>) {
        for HistoryItem { item, .. } in items {
            if let ItemKind::UserMessage { key: Some(key), .. } = item.kind {
                self.inserted.insert(key, MessageId::from(&item.id));
            }
        }
        match next {
            Some(_) => self.scan_keys(cx, next),
            None => self.keys_known(cx),
        }
    }

    /// The list of what lives is known: a resume that waited for it is told the rest (V2-62).
    pub(crate) fn resume_listed(&mut self, cx: &mut Cx<'_>) {
        let Some(resuming) = &mut self.resuming else { return };
        if resuming.told {
            return;
        }
        resuming.told = true;
        // What lives is told whole and ahead; the held pieces of it would come twice.
        let living: BTreeSet<ToolCallId> = self
            .ledger
            .in_order()
            .iter()
            .filter(|(_, call)| call.live().is_some())
            .map(|(_, call)| call.call.clone())
            .collect();
        for update in self.held.iter_mut() {
            update.retain(|update| !is_about(update, &living));
        }
        for item in self.ledger.items(|call: &Call| call.live().is_some()) {
            self.reannounce(cx, &item);
        }
        self.answer_resume(cx);
    }

    /// Answers a resume once the models are known too.
    pub(crate) fn answer_resume(&mut self, cx: &mut Cx<'_>) {
        if !cx.models.is_known() {
            return;
        }
        match self.resuming.take() {
            Some(resuming) if resuming.told => {
                self.report_ahead(cx);
                self.answer_open(cx, resuming.ticket);
                self.pump(cx);
            }
            other => self.resuming = other,
        }
    }

    /// Tells the client of the session, then what was held back.
    pub(crate) fn answer_open(&mut self, cx: &mut Cx<'_>, ticket: Ticket) {
        let options = self.chosen.list(cx.models);
        let opened = SessionOpened { session: self.id.clone(), options, commands: Vec::new() };
        cx.out.respond(ticket, Reply::SessionOpened(opened));
        self.is_open = true;
        self.release(cx);
        self.report(cx);
    }

    /// A thread of a former app-server is loaded again.
    pub(crate) fn revived(&mut self, cx: &mut Cx<'_>, result: Result<ThreadOpened, CodexError>) {
        match result {
            Ok(opened) => {
                self.tie = Tie::Loaded;
                if opened.active && matches!(self.front, Front::Idle) {
                    self.front = Front::Active(Turn::new(None, Vec::new()));
                    self.report(cx);
                }
                self.poll_terminals(cx);
                self.pump(cx);
            }
            Err(error) => {
                self.tie = Tie::Unloaded;
                self.refuse_all(cx, &refusal("thread/resume", &error));
            }
        }
    }

    /// A resume cannot be finished: a session that was open stays so, any other is none.
    pub(crate) fn resume_failed(&mut self, cx: &mut Cx<'_>, resuming: Resuming, failure: Failure) {
        cx.out.refuse(resuming.ticket, failure);
        if self.is_open {
            self.release(cx);
            return self.report(cx);
        }
        if self.tie == Tie::Loaded {
            let request = CodexRequest::Unsubscribe { thread: self.thread.clone() };
            cx.link.call(Purpose::Parting, request, cx.out);
        }
        cx.desk.closed.push(self.id.clone());
    }

    /// A replay or a key lookup failed.
    pub(crate) fn history_refused(&mut self, cx: &mut Cx<'_>, error: &CodexError) {
        if let Some(resuming) = self.resuming.take() {
            return self.resume_failed(cx, resuming, refusal("thread/items/list", error));
        }
        self.history = History::Unread;
        self.refuse_all(cx, &refusal("thread/items/list", error));
    }
}

/// Why a thread could not be opened, by Codex's words.
pub(crate) fn open_failure(method: &'static str, session: Option<&SessionId>, error: &CodexError) -> Failure {
    let text = error.message.to_ascii_lowercase();
    let is_unknown =
        ["not found", "no rollout", "invalid thread id", "does not exist"].iter().any(|it| text.contains(it));
    match session {
        Some(session) if is_unknown => Failure::UnknownSession(session.clone()),
        Some(_) | None => refusal(method, error),
    }
}

fn is_in_progress(kind: &ItemKind) -> bool {
    match kind {
        ItemKind::Command(it) => it.status == ItemStatus::InProgress,
        ItemKind::FileChange { status, .. } => *status == ItemStatus::InProgress,
        ItemKind::Tool(tool) => tool.status == ItemStatus::InProgress,
        ItemKind::UserMessage { .. }
        | ItemKind::AgentMessage { .. }
        | ItemKind::Reasoning { .. }
        | ItemKind::Plan { .. }
        | ItemKind::Hidden => false,
    }
}

fn is_about(update: &Update, calls: &BTreeSet<ToolCallId>) -> bool {
    let has = |terminal: &TerminalId| calls.contains(&ToolCallId::new(terminal.as_str()));
    match update {
        Update::CallOpened(opened) => calls.contains(&opened.call),
        Update::CallChanged { call, .. } | Update::CallClosed { call, .. } => calls.contains(call),
        Update::TerminalOpened(opened) => has(&opened.terminal),
        Update::TerminalOutput { terminal, .. }
        | Update::TerminalSnapshot { terminal, .. }
        | Update::TerminalExited { terminal, .. } => has(terminal),
        // The resume reports the state itself.
        Update::State(_) => true,
        Update::UserMessage { .. }
        | Update::AgentText { .. }
        | Update::AgentMessage { .. }
        | Update::ThoughtText { .. }
        | Update::Plan(_)
        | Update::Usage { .. }
        | Update::Notice { .. }
        | Update::Commands(_)
        | Update::Options(_)
        | Update::SessionInfo { .. }
        | Update::ReplayComplete => false,
    }
}
