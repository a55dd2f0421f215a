//! Items of a turn: opened, streamed, closed.
//!
//! Commands are handed to `commands.rs`; everything else is a message or a plain tool call.

use super::codex::{Item, ItemKind, ItemStatus, ToolItem};
use super::cx::Cx;
use super::effect::Anomaly;
use super::heading::shown;
use super::ids::{ItemId, MessageId, TurnId};
use super::session::Session;
use super::texts::{Ending, Voice};
use super::turn::Front;
use super::update::{
    CallChange, CallContent, CallOpened, CallOutput, Diff, DiffOp, FinalStatus, Location, OpenStatus,
    ToolKind, Update,
};
use crate::background::ledger::{Seen, Work};

impl Session {
    /// `item/started`.
    pub(crate) fn item_started(&mut self, cx: &mut Cx<'_>, turn: &TurnId, item: Item) {
        self.joins_unseen_turn(cx, turn, &item.kind);
        self.learn_turn(cx, turn);
        self.idle_since = None;
        let id = item.id;
        if !matches!(item.kind, ItemKind::UserMessage { .. } | ItemKind::Hidden) {
            self.model_speaks(cx);
        }
        if self.ledger.seen(&id, turn) != Seen::New {
            return self.repeated(cx, &id, "start of an item");
        }
        match item.kind {
            ItemKind::UserMessage { key, content } => {
                self.ledger.remember(&id, turn);
                self.message_inserted(cx, &id, key, content);
            }
            // What the reviewer writes is data; the review comes as a message of its own, and whole.
            ItemKind::AgentMessage { .. } if self.is_reviewing() => {}
            ItemKind::AgentMessage { text } | ItemKind::Plan { text } => {
                self.text(cx, &id, 0, &text, Voice::Agent)
            }
            ItemKind::Reasoning { parts } => self.text(cx, &id, 0, &parts.join("\n\n"), Voice::Thought),
            ItemKind::Command(command) => self.command_started(cx, turn, &id, command),
            ItemKind::Compaction => self.compaction_started(cx, turn, &id),
            ItemKind::FileChange { changes, n_more, status: _ } => {
                self.open_tool(cx, turn, &id, file_change(&changes, n_more, &self.place.cwd))
            }
            ItemKind::Tool(tool) => {
                if self.is_told_by_state(cx, &tool) {
                    return;
                }
                let opening = self.opening_of(cx, &tool);
                self.open_tool(cx, turn, &id, opening);
                if let Some(collab) = &tool.collab {
                    self.collab_started(&id, collab);
                }
            }
            ItemKind::Hidden => {}
        }
        self.report(cx);
    }

    /// `item/completed`.
    pub(crate) fn item_completed(&mut self, cx: &mut Cx<'_>, turn: &TurnId, item: Item) {
        let id = item.id;
        if self.ledger.seen(&id, turn) == Seen::Closed {
            // A user's message is whole when it starts: its end says nothing.
            if !matches!(item.kind, ItemKind::UserMessage { .. }) {
                self.repeated(cx, &id, "end of an item");
            }
            return;
        }
        match item.kind {
            ItemKind::UserMessage { key, content } => {
                self.ledger.remember(&id, turn);
                self.message_inserted(cx, &id, key, content);
            }
            ItemKind::AgentMessage { text } | ItemKind::Plan { text } => {
                self.text_ended(cx, turn, &id, &text, Voice::Agent);
            }
            ItemKind::Reasoning { parts } => {
                self.text_ended(cx, turn, &id, &parts.join("\n\n"), Voice::Thought)
            }
            ItemKind::Command(command) => self.command_completed(cx, turn, &id, command),
            ItemKind::Compaction => {
                if self.ledger.get(&id).is_none() {
                    self.compaction_started(cx, turn, &id);
                }
                self.close_call(cx, &id, FinalStatus::Completed, CallChange::default());
            }
            ItemKind::FileChange { changes, n_more, status } => {
                let opening = file_change(&changes, n_more, &self.place.cwd);
                self.tool_ended(cx, turn, &id, opening, final_status(status), None);
            }
            ItemKind::Tool(tool) => {
                if self.is_told_by_state(cx, &tool) {
                    return;
                }
                let output = tool.output.clone().map(CallOutput::Json);
                let opening = self.opening_of(cx, &tool);
                self.tool_ended(cx, turn, &id, opening, final_status(tool.status), output);
                if let Some(collab) = tool.collab.filter(|_| tool.status == ItemStatus::Completed) {
                    self.told_children(cx, &id, &collab);
                }
            }
            ItemKind::Hidden => {}
        }
        self.report(cx);
        self.turn_may_finish(cx);
        self.close_if_done(cx);
    }

    /// More text of an agent message or of a plan.
    pub(crate) fn agent_delta(&mut self, cx: &mut Cx<'_>, item: &ItemId, text: &str) {
        if self.is_reviewing() {
            return;
        }
        self.text(cx, item, 0, text, Voice::Agent);
    }

    /// More reasoning.
    pub(crate) fn thought_delta(&mut self, cx: &mut Cx<'_>, item: &ItemId, part: u32, text: &str) {
        self.text(cx, item, part, text, Voice::Thought);
    }

    /// The changes of a file change so far.
    pub(crate) fn patch(&mut self, cx: &mut Cx<'_>, item: &ItemId, changes: &[Diff], n_more: usize) {
        let opening = file_change(changes, n_more, &self.place.cwd);
        let change = CallChange {
            title: Some(opening.title),
            content: Some(opening.content),
            locations: Some(opening.locations),
            ..CallChange::default()
        };
        self.change_call(cx, item, change, "patch");
    }

    /// One line of progress of a tool.
    pub(crate) fn progress(&mut self, cx: &mut Cx<'_>, item: &ItemId, message: String) {
        let change = CallChange { content: Some(vec![CallContent::Text(message)]), ..CallChange::default() };
        self.change_call(cx, item, change, "progress");
    }

    pub(crate) fn change_call(
        &mut self,
        cx: &mut Cx<'_>,
        item: &ItemId,
        change: CallChange,
        what: &'static str,
    ) {
        let Some(call) = self.ledger.get(item) else {
            return cx.out.anomaly(Anomaly::UnknownItem {
                thread: self.thread.clone(),
                item: item.clone(),
                what,
            });
        };
        let call = call.call.clone();
        self.emit(cx, Update::CallChanged { call, change });
    }

    fn text(&mut self, cx: &mut Cx<'_>, item: &ItemId, part: u32, text: &str, voice: Voice) {
        let is_late = matches!(self.front, Front::Idle) && !self.replaying;
        if is_late || self.ledger.has_closed(item) {
            return self.repeated(cx, item, "text of a message");
        }
        self.model_speaks(cx);
        let was_quiet = self.texts.is_quiet();
        if text.is_empty() {
            self.texts.open(item);
        } else {
            if voice == Voice::Agent && !text.trim().is_empty() {
                self.turn_shows();
            }
            let more = self.texts.delta(item, voice, part, text);
            self.emit(cx, voice.chunk(item, more));
        }
        if was_quiet {
            self.report(cx);
        }
    }

    fn text_ended(&mut self, cx: &mut Cx<'_>, turn: &TurnId, item: &ItemId, whole: &str, voice: Voice) {
        self.ledger.remember(item, turn);
        if voice == Voice::Agent && !whole.trim().is_empty() {
            self.turn_shows();
        }
        match (self.texts.close(item, whole), voice) {
            (Ending::Complete, _) => {}
            (Ending::Rest(rest), _) => self.emit(cx, voice.chunk(item, rest)),
            (Ending::Replaced(text), Voice::Agent) => {
                self.emit(cx, Update::AgentMessage { message: MessageId::from(item), text });
            }
            // Summaries and raw reasoning share an item: the streamed one stands.
            (Ending::Replaced(_), Voice::Thought) => {}
        }
    }

    fn compaction_started(&mut self, cx: &mut Cx<'_>, turn: &TurnId, item: &ItemId) {
        let call = self.ledger.open(item, turn, Work::Compaction);
        self.emit(cx, Update::Compaction { call, end: None });
    }

    pub(crate) fn open_tool(&mut self, cx: &mut Cx<'_>, turn: &TurnId, item: &ItemId, opening: Opening) {
        let call = self.ledger.open(item, turn, Work::Tool);
        if let Some(name) = opening.name.as_ref().filter(|name| name.contains('.')) {
            self.tool_names.insert(item.clone(), name.clone());
        }
        self.emit(
            cx,
            Update::CallOpened(CallOpened {
                call,
                name: opening.name,
                title: opening.title,
                kind: opening.kind,
                status: OpenStatus::InProgress,
                locations: opening.locations,
                content: opening.content,
                input: opening.input,
                can_cancel: false,
            }),
        );
    }

    fn tool_ended(
        &mut self,
        cx: &mut Cx<'_>,
        turn: &TurnId,
        item: &ItemId,
        opening: Opening,
        status: FinalStatus,
        output: Option<CallOutput>,
    ) {
        let change = CallChange {
            status: None,
            title: Some(opening.title.clone()),
            content: (!opening.content.is_empty()).then(|| opening.content.clone()),
            locations: (!opening.locations.is_empty()).then(|| opening.locations.clone()),
            output,
            can_cancel: None,
        };
        if self.ledger.get(item).is_none() {
            self.open_tool(cx, turn, item, opening);
        }
        self.close_call(cx, item, status, change);
    }

    /// How a call looks, with the subagents that it is about.
    fn opening_of(&self, cx: &Cx<'_>, tool: &ToolItem) -> Opening {
        let mut opening = Opening::of(tool);
        if let Some(collab) = &tool.collab {
            opening.content.extend(self.collab_content(cx, collab));
        }
        opening
    }

    pub(crate) fn repeated(&self, cx: &mut Cx<'_>, item: &ItemId, what: &'static str) {
        cx.out.anomaly(Anomaly::Repeated { thread: self.thread.clone(), item: item.clone(), what });
    }
}

impl Voice {
    pub(crate) fn chunk(self, item: &ItemId, text: String) -> Update {
        let message = MessageId::from(item);
        match self {
            Self::Agent => Update::AgentText { message, text },
            Self::Thought => Update::ThoughtText { message, text },
        }
    }
}

/// How a plain tool call looks when it opens.
pub(crate) struct Opening {
    pub(crate) name: Option<String>,
    pub(crate) title: String,
    pub(crate) kind: ToolKind,
    pub(crate) locations: Vec<Location>,
    pub(crate) content: Vec<CallContent>,
    pub(crate) input: Option<super::ids::Json>,
}

impl Opening {
    pub(crate) fn of(tool: &ToolItem) -> Self {
        Self {
            name: Some(tool.name.clone()),
            title: tool.title.clone(),
            kind: tool.kind,
            locations: tool.locations.clone(),
            content: {
                let text = tool.text.iter().map(|text| CallContent::Text(text.clone()));
                text.chain(tool.images.iter().map(|url| CallContent::Image { url: url.clone() })).collect()
            },
            input: tool.input.clone(),
        }
    }
}

/// A file change in `cwd`, as a call; `n_more` files are only counted.
pub(crate) fn file_change(changes: &[Diff], n_more: usize, cwd: &str) -> Opening {
    let title = match changes {
        [] if n_more == 0 => "Edit files".to_owned(),
        [one] if n_more == 0 => format!("{} {}", verb(&one.op), shown(&one.path, cwd)),
        many => format!("Edit {} files", many.len() + n_more),
    };
    let more = (n_more > 0).then(|| format!("{n_more} more changed files are not shown"));
    let kind = match changes {
        [Diff { op: DiffOp::Delete, .. }] => ToolKind::Delete,
        [Diff { op: DiffOp::Move(_), text, left_out: None, .. }] if text.is_empty() => ToolKind::Move,
        _ => ToolKind::Edit,
    };
    Opening {
        name: Some("apply_patch".to_owned()),
        title,
        kind,
        locations: changes.iter().map(|it| Location { path: final_path(it), line: None }).collect(),
        content: changes.iter().cloned().map(CallContent::Diff).chain(more.map(CallContent::Text)).collect(),
        input: None,
    }
}

fn final_path(diff: &Diff) -> String {
    match &diff.op {
        DiffOp::Move(path) => path.clone(),
        DiffOp::Add | DiffOp::Delete | DiffOp::Modify => diff.path.clone(),
    }
}

fn verb(op: &DiffOp) -> &'static str {
    match op {
        DiffOp::Add => "Add",
        DiffOp::Delete => "Delete",
        DiffOp::Modify => "Edit",
        DiffOp::Move(_) => "Move",
    }
}

/// Codex's final status, as ACP's: a declined or interrupted call is cancelled (D2).
pub(crate) fn final_status(status: ItemStatus) -> FinalStatus {
    match status {
        ItemStatus::Completed => FinalStatus::Completed,
        ItemStatus::Declined | ItemStatus::Interrupted => FinalStatus::Cancelled,
        // An end that claims to go on is not a success.
        ItemStatus::Failed | ItemStatus::InProgress => FinalStatus::Failed,
    }
}
