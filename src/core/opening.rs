//! Sessions that open: new ones and ones that come back.
//!
//! A resume keeps the order of V2-26: replay, `replay_complete`, what lives, state, answer.

use super::codex::{CodexError, CodexReply, CodexRequest, HistoryItem, ItemKind, ItemStatus, ThreadOpened};
use super::cx::Cx;
use super::effect::Anomaly;
use super::failure::Failure;
use super::ids::{MessageId, SessionId, TerminalId, ThreadId, ToolCallId, TurnId};
use super::input::Pressure;
use super::link::Purpose;
use super::prompts::refusal;
use super::request::{Place, Reply, SessionOpened, Ticket, Version};
use super::session::{History, Session, Tie};
use super::turn::{Front, Turn};
use super::update::Update;
use crate::background::ledger::{Call, Work};
use std::collections::BTreeSet;

/// Items per page of a history.
///
/// Small: an item can be a megabyte of output.
const PAGE: u32 = 16;

/// A resume that is not answered yet.
#[derive(Debug)]
pub(crate) struct Resuming {
    pub(crate) ticket: Ticket,
    pub(crate) place: Place,
    pub(crate) replay: bool,
    stage: Stage,
}

/// How far a resume is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// The history is being told.
    Replaying,
    /// The client does not keep up: the next page waits.
    Paused(String),
    /// What lives is being asked for.
    Listing,
    /// Everything is known; only the models are missing.
    Known,
}

impl Resuming {
    pub(crate) fn new(ticket: Ticket, place: Place, replay: bool) -> Self {
        Self { ticket, place, replay, stage: Stage::Replaying }
    }

    /// The call that brings the thread back.
    pub(crate) fn request(&self, thread: ThreadId) -> CodexRequest {
        CodexRequest::ThreadResume {
            thread,
            cwd: Some(self.place.cwd.clone()),
            roots: self.place.additional_directories.clone(),
            mcp_servers: self.place.mcp_servers.clone(),
            instructions: self.place.instructions.clone(),
            gateway: self.place.gateway.clone(),
        }
    }

    /// Whether a list that is asked for now is the one it waits for.
    pub(crate) fn awaits_list(&self) -> bool {
        self.stage == Stage::Listing
    }
}

impl Session {
    /// The thread of a resume is loaded.
    pub(crate) fn resumed(&mut self, cx: &mut Cx<'_>, opened: &ThreadOpened, resuming: Resuming) {
        self.tie = Tie::Loaded;
        self.chosen.renew(opened);
        self.place = resuming.place.clone();
        self.ask_profiles(cx);
        match self.is_unsure {
            true => self.rejoin(cx, opened),
            false => drop(self.joins_turn(opened)),
        }
        self.held.get_or_insert_with(Vec::new);
        let replay = resuming.replay;
        self.resuming = Some(resuming);
        self.at_work.clear();
        if replay {
            self.ledger.forget_closed();
            self.ask_history(cx, None);
        } else {
            self.await_list(cx);
        }
    }

    /// The thread was loaded in mid-turn. Returns whether that is news.
    pub(crate) fn joins_turn(&mut self, opened: &ThreadOpened) -> bool {
        let is_news = opened.active && matches!(self.front, Front::Idle);
        if is_news {
            let mut turn = Turn::new(opened.turn.clone(), Vec::new());
            turn.has_started = turn.id.is_some();
            self.front = Front::Active(turn);
        }
        is_news
    }

    fn await_list(&mut self, cx: &mut Cx<'_>) {
        if let Some(resuming) = &mut self.resuming {
            resuming.stage = Stage::Listing;
        }
        self.read_standing(cx);
        self.poll_terminals(cx);
    }

    /// The client keeps up again: a replay that waited goes on.
    pub(crate) fn go_on_replaying(&mut self, cx: &mut Cx<'_>) {
        let Some(resuming) = &mut self.resuming else { return };
        if let Stage::Paused(cursor) = &resuming.stage {
            let cursor = cursor.clone();
            resuming.stage = Stage::Replaying;
            self.ask_history(cx, Some(cursor));
        }
    }

    fn ask_history(&mut self, cx: &mut Cx<'_>, cursor: Option<String>) {
        self.cursor.clone_from(&cursor);
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
                self.at_work.insert(item.id);
                continue;
            }
            match is_in_progress(&item.kind) && matches!(self.front, Front::Active(_)) {
                true => self.item_started(cx, &turn, item),
                false => self.item_completed(cx, &turn, item),
            }
        }
        self.replaying = false;
        if let Some(cursor) = self.new_cursor(cx, next) {
            match &mut self.resuming {
                Some(resuming) if cx.desk.pressure == Pressure::High => {
                    resuming.stage = Stage::Paused(cursor)
                }
                Some(_) | None => self.ask_history(cx, Some(cursor)),
            }
            return;
        }
        self.history = History::Known;
        self.emit_ahead(cx, Update::ReplayComplete);
        self.await_list(cx);
    }

    /// The next page's cursor; the same one again would never end.
    fn new_cursor(&self, cx: &mut Cx<'_>, next: Option<String>) -> Option<String> {
        if next.is_some() && next == self.cursor {
            let message = "the cursor of the next page is the one of this page".to_owned();
            cx.out.anomaly(Anomaly::CodexRefused { method: "thread/items/list", message });
            return None;
        }
        next
    }

    /// One page of the history, read for its prompt keys.
    pub(crate) fn keys_page(&mut self, cx: &mut Cx<'_>, items: Vec<HistoryItem>, next: Option<String>) {
        for HistoryItem { item, .. } in items {
            if let ItemKind::UserMessage { key: Some(key), .. } = item.kind {
                self.inserted.insert(key, MessageId::from(&item.id));
            }
        }
        match self.new_cursor(cx, next) {
            None => self.keys_known(cx),
            next => self.scan_keys(cx, next),
        }
    }

    /// The list of what lives is known: a resume that waited for it is told the rest (V2-62).
    pub(crate) fn resume_listed(&mut self, cx: &mut Cx<'_>) {
        if let Some(resuming) = &mut self.resuming {
            resuming.stage = Stage::Known;
        }
        self.answer_resume(cx);
    }

    /// Tells what lives, whole and ahead; the held pieces of it would come twice.
    fn tell_living(&mut self, cx: &mut Cx<'_>) {
        let living: BTreeSet<ToolCallId> = self
            .ledger
            .in_order()
            .iter()
            .filter(|(_, call)| call.live().is_some() || matches!(call.work, Work::Standing(_)))
            .map(|(_, call)| call.call.clone())
            .collect();
        for update in self.held.iter_mut() {
            update.retain(|update| !is_about(update, &living));
        }
        for item in self.ledger.items(|call: &Call| call.live().is_some()) {
            self.reannounce(cx, &item);
        }
        for item in self.ledger.items(|call| matches!(call.work, Work::Standing(_))) {
            self.reannounce_standing(cx, &item);
        }
        self.reannounce_kids(cx);
    }

    /// Which permission profiles there are depends on the directory; nothing waits for it.
    pub(crate) fn ask_profiles(&mut self, cx: &mut Cx<'_>) {
        let request = CodexRequest::ProfileList { cwd: self.place.cwd.clone() };
        cx.link.call(Purpose::Profiles { session: self.id.clone() }, request, cx.out);
    }

    /// The permission profiles are known; most configurations have none.
    pub(crate) fn profiles_told(&mut self, cx: &mut Cx<'_>, result: Result<CodexReply, CodexError>) {
        match result {
            Ok(CodexReply::Profiles(profiles)) => {
                if self.chosen.offer(profiles) && self.is_open {
                    let options = self.chosen.list(cx.models);
                    self.emit(cx, Update::Options(options));
                }
            }
            Ok(_) => cx.out.anomaly(Anomaly::UnknownAnswer { what: "no profiles in their list" }),
            Err(error) => {
                let method = "permissionProfile/list";
                cx.out.anomaly(Anomaly::CodexRefused { method, message: error.message });
            }
        }
    }

    /// Answers a resume once the models are known too.
    pub(crate) fn answer_resume(&mut self, cx: &mut Cx<'_>) {
        if !cx.models.is_known() || !self.reads.is_done() {
            return;
        }
        match self.resuming.take() {
            Some(resuming) if resuming.stage == Stage::Known => {
                self.tell_living(cx);
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
        let opened = SessionOpened { session: self.id.clone(), options, commands: self.skills.commands() };
        cx.out.respond(ticket, Reply::SessionOpened(opened));
        self.is_open = true;
        // The answer of v1 has no place for them.
        if cx.version() == Version::V1 {
            self.emit_ahead(cx, Update::Commands(self.skills.commands()));
        }
        self.release(cx);
        self.report(cx);
        self.read_skills(cx);
    }

    /// A thread of a former app-server is loaded again.
    pub(crate) fn revived(&mut self, cx: &mut Cx<'_>, result: Result<ThreadOpened, CodexError>) {
        match result {
            Ok(opened) if self.is_unsure => self.catch_up(cx, &opened),
            Ok(opened) => {
                self.tie = Tie::Loaded;
                if self.joins_turn(&opened) {
                    self.report(cx);
                }
                self.joined(cx);
            }
            Err(error) => {
                self.tie = Tie::Unloaded;
                let failure = open_failure("thread/resume", Some(&self.id), &error);
                self.locals_lost(cx, &failure, true);
                self.refuse_all(cx, &failure);
                if self.is_unsure {
                    self.not_rejoined(cx, &failure);
                }
            }
        }
    }

    /// The thread is loaded again, and the client knows all that it could miss.
    pub(crate) fn joined(&mut self, cx: &mut Cx<'_>) {
        self.tie = Tie::Loaded;
        // A subagent has neither a goal nor a queue nor commands of its own.
        let is_persons = self.kin.is_none();
        if is_persons {
            self.read_standing(cx);
        }
        self.poll_terminals(cx);
        if is_persons {
            self.read_skills(cx);
        }
        self.locals_go_on(cx);
        self.pump(cx);
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
    let is_unknown = ["not found", "no rollout", "invalid thread id", "invalid session id", "does not exist"]
        .iter()
        .any(|it| text.contains(it));
    match session {
        Some(session) if is_unknown => Failure::UnknownSession(session.clone()),
        Some(session) if text.contains("active writer") => Failure::HeldElsewhere(session.clone()),
        Some(_) | None => refusal(method, error),
    }
}

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

fn is_about(update: &Update, calls: &BTreeSet<ToolCallId>) -> bool {
    let has = |terminal: &TerminalId| calls.contains(&ToolCallId::new(terminal.as_str()));
    match update {
        Update::CallOpened(opened) => calls.contains(&opened.call),
        Update::CallChanged { call, .. }
        | Update::CallClosed { call, .. }
        | Update::Compaction { call, .. } => calls.contains(call),
        Update::TerminalOpened(opened) => has(&opened.terminal),
        Update::TerminalOutput { terminal, .. }
        | Update::TerminalSnapshot { terminal, .. }
        | Update::TerminalVitals { terminal, .. }
        | Update::TerminalExited { terminal, .. } => has(terminal),
        // The resume reports the state itself.
        Update::State(_) => true,
        // And so are its subagents told, whole.
        Update::Subagent(_) => true,
        Update::UserMessage { .. }
        | Update::SessionMessage { .. }
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
