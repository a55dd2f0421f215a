//! Subagents for a client that knows no such sessions: one call of the root shows each while it works.
//!
//! Messages and commands are told in words; what runs in a subagent is stopped with `/stop`.

use crate::core::cx::Cx;
use crate::core::ids::{ItemId, MessageId, SessionId, ToolCallId};
use crate::core::items::Opening;
use crate::core::session::Session;
use crate::core::subagents::children::is_live;
use crate::core::update::{
    CallChange, CallContent, Exit, ExitStatus, FinalStatus, Snapshot, State, StopReason, ToolKind, Update,
};
use std::collections::{BTreeMap, VecDeque};

/// Lines of its call that are shown, and characters of one that is no message.
const LINES: usize = 40;
const LINE_MAX: usize = 200;
/// Bytes of a message, and of all that is shown.
const MESSAGE_MAX: usize = 8 * 1024;
const SHOWN_MAX: usize = 16 * 1024;

/// What is shown of the subagents of a root, by subagent.
#[derive(Debug, Default)]
pub(crate) struct SubagentCalls(BTreeMap<SessionId, SubagentCall>);

/// What one subagent did since it began to work.
#[derive(Debug, Default)]
struct SubagentCall {
    /// Empty where it has no name.
    title: String,
    /// The call that shows it, while it works.
    item: Option<ItemId>,
    lines: VecDeque<String>,
    /// Messages that are being written.
    messages: BTreeMap<MessageId, String>,
    /// Titles of its open calls.
    calls: BTreeMap<ToolCallId, String>,
    stop: Option<StopReason>,
}

impl Session {
    /// Something of a subagent that has no session at the client.
    pub(crate) fn show_in_call(
        &mut self,
        cx: &mut Cx<'_>,
        child: &SessionId,
        title: Option<String>,
        update: Update,
    ) {
        let call = self.subagent_calls.0.entry(child.clone()).or_default();
        if let Some(title) = title {
            call.title = title;
        }
        if let Update::State(snapshot) = update {
            return self.show_state_in_call(cx, child, &snapshot);
        }
        if call.add(update) {
            self.update_subagent_call(cx, child);
        }
    }

    fn show_state_in_call(&mut self, cx: &mut Cx<'_>, child: &SessionId, snapshot: &Snapshot) {
        let Some(call) = self.subagent_calls.0.get_mut(child) else { return };
        let mut is_news = false;
        if let State::Idle(Some(stop)) = &snapshot.state {
            call.stop = Some(stop.clone());
            is_news = call.messages_end();
        }
        match (is_live(snapshot), call.item.clone()) {
            (true, None) => {
                call.stop = None;
                let item = ItemId::new(format!("subagent-{child}"));
                call.item = Some(item.clone());
                let opening = call.opening();
                let turn = self.current_turn();
                self.open_tool(cx, &turn, &item, opening);
                self.open_subagent_calls.insert(item);
            }
            (false, Some(item)) => {
                let status = match &call.stop {
                    Some(StopReason::Cancelled) => FinalStatus::Cancelled,
                    Some(StopReason::Error(fault)) => {
                        call.lines.push_back(format!("**Failed:** {fault}"));
                        FinalStatus::Failed
                    }
                    Some(StopReason::EndTurn | StopReason::MaxTokens | StopReason::Refusal) | None => {
                        FinalStatus::Completed
                    }
                };
                let change = CallChange { content: Some(call.content()), ..CallChange::default() };
                call.item = None;
                call.lines.clear();
                self.open_subagent_calls.remove(&item);
                self.close_call(cx, &item, status, change);
            }
            (true, Some(_)) if is_news => self.update_subagent_call(cx, child),
            (true, Some(_)) | (false, None) => {}
        }
    }

    fn update_subagent_call(&mut self, cx: &mut Cx<'_>, child: &SessionId) {
        let Some(call) = self.subagent_calls.0.get(child) else { return };
        let Some(item) = call.item.clone() else { return };
        let change = CallChange { content: Some(call.content()), ..CallChange::default() };
        self.change_call(cx, &item, change, "subagent");
    }

    /// Whether this call shows a subagent at work: it outlives the turn.
    pub(crate) fn is_subagent_call(&self, item: &ItemId) -> bool {
        self.open_subagent_calls.contains(item)
    }
}

impl SubagentCall {
    fn opening(&self) -> Opening {
        Opening {
            name: Some("subagent".to_owned()),
            title: match self.title.as_str() {
                "" => "Subagent".to_owned(),
                title => format!("Subagent {title}"),
            },
            kind: ToolKind::Other,
            locations: Vec::new(),
            content: self.content(),
            input: None,
        }
    }

    fn content(&self) -> Vec<CallContent> {
        if self.lines.is_empty() {
            return Vec::new();
        }
        let lines: Vec<&str> = self.lines.iter().map(String::as_str).collect();
        vec![CallContent::Text(lines.join("\n\n"))]
    }

    /// Takes down what is worth a line; says whether it was.
    fn add(&mut self, update: Update) -> bool {
        match update {
            Update::AgentText { message, text } => {
                self.messages.entry(message).or_default().push_str(&text);
                false
            }
            Update::AgentMessage { message, text } => {
                self.messages.insert(message, text);
                false
            }
            Update::CallOpened(opened) => {
                let messages = self.messages_end();
                self.line(format!("- {}", shortened(&opened.title)));
                self.calls.insert(opened.call, opened.title);
                messages || self.item.is_some()
            }
            Update::CallClosed { call, status, .. } => {
                let title = self.calls.remove(&call);
                match (status, title) {
                    (FinalStatus::Failed, Some(title)) => {
                        self.line(format!("- {} failed", shortened(&title)));
                        true
                    }
                    (FinalStatus::Cancelled, Some(title)) => {
                        self.line(format!("- {} was cancelled", shortened(&title)));
                        true
                    }
                    (FinalStatus::Completed | FinalStatus::Failed | FinalStatus::Cancelled, _) => false,
                }
            }
            Update::TerminalExited { exit: Exit { status, .. }, terminal } => {
                if status == ExitStatus::Code(0) {
                    return false;
                }
                let title = self.calls.remove(&ToolCallId::new(terminal.as_str()));
                let title = title.map(|it| shortened(&it)).unwrap_or_default();
                let how = match status {
                    ExitStatus::Code(code) => format!("exit code {code}"),
                    ExitStatus::Signal(name) => format!("ended by {name}"),
                    ExitStatus::Unknown => "ended".to_owned(),
                };
                self.line(format!("- {title}: {how}"));
                true
            }
            Update::Notice { title, description, .. } => {
                let description = description.map(|it| format!(": {it}")).unwrap_or_default();
                self.line(format!("- {}", shortened(&format!("{title}{description}"))));
                self.item.is_some()
            }
            Update::UserMessage { .. }
            | Update::SessionMessage(_)
            | Update::ThoughtText { .. }
            | Update::CallChanged { .. }
            | Update::Compaction { .. }
            | Update::TerminalOpened(_)
            | Update::TerminalOutput { .. }
            | Update::TerminalSnapshot { .. }
            | Update::TerminalVitals { .. }
            | Update::State(_)
            | Update::Plan(_)
            | Update::Usage { .. }
            | Update::Commands(_)
            | Update::Options(_)
            | Update::SessionInfo { .. }
            | Update::ReplayComplete
            | Update::Subagent(_) => false,
        }
    }

    /// What was written is whole; says whether there was anything.
    fn messages_end(&mut self) -> bool {
        let written: Vec<String> = std::mem::take(&mut self.messages).into_values().collect();
        let is_news = !written.is_empty();
        for mut text in written {
            let end = text.floor_char_boundary(MESSAGE_MAX);
            if end < text.len() {
                text.truncate(end);
                text.push_str(" ...");
            }
            self.line(text);
        }
        is_news
    }

    fn line(&mut self, line: String) {
        self.lines.push_back(line);
        let n_bytes = |lines: &VecDeque<String>| lines.iter().map(String::len).sum::<usize>();
        while self.lines.len() > LINES || (self.lines.len() > 1 && n_bytes(&self.lines) > SHOWN_MAX) {
            self.lines.pop_front();
        }
    }
}

fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let end = line.floor_char_boundary(LINE_MAX);
    if end < line.len() { format!("{} ...", &line[..end]) } else { line.to_owned() }
}
