//! `session/update` in version 1.
//!
//! A terminal is shown by `_meta` where its `tool_call` announces it, else as text in the call.

use super::convert::id;
use super::view::{CallView, Display, SessionView, is_terminal};
use super::{Encoder, convert, subagent};
use crate::acp::dropped::Dropped;
use crate::acp::{Encoded, line, meta, method, raw, time};
use crate::core::ids::{MessageId, SessionId, TerminalId, ToolCallId};
use crate::core::request::TerminalDisplay;
use crate::core::update::{
    CallChange, CallContent, CallOpened, CallOutput, Content, Exit, ExitStatus, FinalStatus, OpenStatus,
    Patch, PlanEntry, PlanStatus, Severity, State, TerminalOpened, ToolKind, Update,
};
use crate::core::vitals::Vitals;
use agent_client_protocol_schema::{MaybeUndefined, v1};
use serde_json::{Map, Value, json};

/// Clears screen and scrollback: what follows replaces what a client's terminal shows.
const CLEAR: &str = "\u{1b}[2J\u{1b}[3J\u{1b}[H";

/// Stands between a text that was streamed and the whole text that contradicts it.
const CORRECTED: &str = "\n\n*(corrected)*\n\n";

type Outcome = Result<v1::SessionUpdate, Dropped>;

impl Encoder {
    /// The lines of one update.
    pub(crate) fn update(&mut self, session: &SessionId, update: &Update) -> Encoded {
        let mut wire = Vec::new();
        let mut dropped = None;
        match self.updates(session, update, &mut wire) {
            Ok(update) => wire.push(update),
            Err(why) => dropped = Some(why),
        }
        if let Update::Options(options) = update
            && self.session(session).note_mode(options)
            && let Some(modes) = convert::modes(options)
        {
            wire.push(v1::SessionUpdate::CurrentModeUpdate(v1::CurrentModeUpdate::new(
                modes.current_mode_id,
            )));
        }
        encoded(session, wire, dropped)
    }

    fn updates(
        &mut self,
        session: &SessionId,
        update: &Update,
        before: &mut Vec<v1::SessionUpdate>,
    ) -> Outcome {
        let (terminals, notices, compaction) = (self.terminals, self.notices, self.compaction);
        let view = self.session(session);
        if let Update::TerminalOpened(opened) = update {
            return view.terminal_opened(opened, before);
        }
        before.extend(view.flush());
        match update {
            Update::UserMessage { message, content } => user_message(message, content, before),
            Update::AgentText { message, text } => {
                view.messages.entry(message.clone()).or_default().push_str(text);
                Ok(v1::SessionUpdate::AgentMessageChunk(chunk(message, text)))
            }
            Update::AgentMessage { message, text } => {
                let streamed = view.messages.entry(message.clone()).or_default();
                let more = match text.strip_prefix(streamed.as_str()) {
                    Some("") => return Err(Dropped::AlreadySent),
                    Some(tail) => tail.to_owned(),
                    // Nothing takes a chunk back: the right text follows the wrong one.
                    None => format!("{CORRECTED}{text}"),
                };
                streamed.clone_from(text);
                Ok(v1::SessionUpdate::AgentMessageChunk(chunk(message, &more)))
            }
            Update::ThoughtText { message, text } => {
                Ok(v1::SessionUpdate::AgentThoughtChunk(chunk(message, text)))
            }
            Update::CallOpened(opened) => {
                let shows_terminal = opened.content.iter().any(is_terminal);
                if shows_terminal && terminals == TerminalDisplay::Stream {
                    view.held = Some(opened.clone());
                    return Err(Dropped::HeldForTerminal);
                }
                Ok(view.open(opened, None))
            }
            Update::CallChanged { call, change } => {
                let fields = view.change(call, change)?;
                Ok(call_update(call, fields, None))
            }
            Update::CallClosed { call, status, change } => {
                let fields = view.close(call, *status, change)?;
                Ok(call_update(call, fields, None))
            }
            Update::Compaction { call, end } if compaction => Ok(v1::SessionUpdate::CompactionUpdate(
                v1::CompactionUpdate::new(id(call.as_str()), convert::compaction_status(*end)),
            )),
            Update::Compaction { call, end: None } => Ok(view.open(&compaction_call(call), None)),
            Update::Compaction { call, end: Some(status) } => {
                let fields = view.close(call, *status, &CallChange::default())?;
                Ok(call_update(call, fields, None))
            }
            Update::TerminalOpened(opened) => view.terminal_opened(opened, before),
            Update::TerminalOutput { terminal, text } => view.output(terminal, text),
            Update::TerminalSnapshot { terminal, text } => view.snapshot(terminal, text),
            Update::TerminalVitals { terminal, vitals } => view.vitals(terminal, vitals),
            Update::TerminalExited { terminal, exit } => view.exited(terminal, exit),
            Update::State(snapshot) => {
                if matches!(snapshot.state, State::Idle(_)) {
                    // A message does not go on after its turn.
                    view.messages.clear();
                }
                Err(Dropped::NoSuchUpdate)
            }
            Update::Plan(entries) => {
                Ok(v1::SessionUpdate::Plan(v1::Plan::new(entries.iter().map(plan_entry).collect())))
            }
            Update::Usage { used, size } => {
                Ok(v1::SessionUpdate::UsageUpdate(v1::UsageUpdate::new(*used, *size)))
            }
            Update::Notice { severity, title, description } => {
                notice(notices, *severity, title, description.as_deref())
            }
            Update::Commands(commands) => Ok(v1::SessionUpdate::AvailableCommandsUpdate(
                v1::AvailableCommandsUpdate::new(convert::commands(commands)),
            )),
            Update::Options(options) => Ok(v1::SessionUpdate::ConfigOptionUpdate(
                v1::ConfigOptionUpdate::new(convert::options(options)),
            )),
            Update::SessionInfo { title, updated_at } => session_info(title, *updated_at),
            Update::ReplayComplete => Err(Dropped::NoSuchUpdate),
            Update::Subagent(change) => {
                // Without its list, a state may be the one that was told before.
                let is_state_only = change.title.is_none() && change.cwd.is_none();
                let told =
                    view.children.insert(change.session.clone(), change.state.clone().map(|it| it.state));
                match (&change.state, told) {
                    (Some(snapshot), Some(Some(state))) if is_state_only && state == snapshot.state => {
                        return Err(Dropped::AlreadySent);
                    }
                    (None, Some(told)) => drop(view.children.insert(change.session.clone(), told)),
                    (Some(_) | None, _) => {}
                }
                Ok(subagent::update(change))
            }
            Update::SessionMessage(message) => Ok(subagent::message(message)),
        }
    }
}

impl SessionView {
    /// The held call, without its terminal: that did not come.
    fn flush(&mut self) -> Option<v1::SessionUpdate> {
        let held = self.held.take()?;
        Some(self.open(&held, None))
    }

    fn open(&mut self, opened: &CallOpened, terminal: Option<&TerminalOpened>) -> v1::SessionUpdate {
        let mut view = CallView::plain(opened);
        if terminal.is_some() {
            view.display = Display::Live { sent: false, exited: false };
        }
        let mut call = v1::ToolCall::new(id(opened.call.as_str()), opened.title.clone())
            .name(opened.name.clone())
            .kind(convert::kind(opened.kind))
            .status(convert::open_status(opened.status))
            .content(convert::contents(&view))
            .locations(convert::locations(&opened.locations))
            .raw_input(opened.input.as_ref().map(raw::value));
        if let Some(terminal) = terminal {
            call = call.meta(field(
                "terminal_info",
                json!({ "terminal_id": terminal.terminal.as_str(), "cwd": terminal.cwd }),
            ));
        }
        self.calls.insert(opened.call.clone(), view);
        v1::SessionUpdate::ToolCall(call)
    }

    fn terminal_opened(&mut self, opened: &TerminalOpened, before: &mut Vec<v1::SessionUpdate>) -> Outcome {
        match self.held.take() {
            Some(held) if TerminalId::of(&held.call) == opened.terminal => Ok(self.open(&held, Some(opened))),
            held => {
                before.extend(held.map(|held| self.open(&held, None)));
                // Its output will be text in the call.
                Err(Dropped::NoSuchUpdate)
            }
        }
    }

    fn change(
        &mut self,
        call: &ToolCallId,
        change: &CallChange,
    ) -> Result<v1::ToolCallUpdateFields, Dropped> {
        let view = self.calls.get_mut(call).ok_or(Dropped::UnknownCall)?;
        let mut fields = v1::ToolCallUpdateFields::new()
            .status(change.status.map(convert::open_status))
            .locations(change.locations.as_deref().map(convert::locations))
            .raw_output(change.output.as_ref().map(raw::output));
        if let Some(title) = &change.title {
            view.title.clone_from(title);
            fields = fields.title(title.clone());
        }
        if let Some(content) = &change.content {
            view.content.clone_from(content);
            fields.content = content_to_send(view);
        }
        Ok(fields)
    }

    fn close(
        &mut self,
        call: &ToolCallId,
        status: FinalStatus,
        change: &CallChange,
    ) -> Result<v1::ToolCallUpdateFields, Dropped> {
        let mut fields = self.change(call, change)?;
        let mut view = self.calls.remove(call).ok_or(Dropped::UnknownCall)?;
        if view.has_terminal()
            && let Display::Text(tail) = &mut view.display
        {
            let mut is_news = tail.tells_end();
            // The whole output is known at the end; a text display has only what was streamed.
            if let Some(CallOutput::Command { text, .. }) = &change.output {
                tail.replace(text);
                is_news = true;
            }
            if is_news {
                fields.content = content_to_send(&view);
            }
        }
        Ok(fields.status(match status {
            FinalStatus::Completed => v1::ToolCallStatus::Completed,
            FinalStatus::Failed | FinalStatus::Cancelled => v1::ToolCallStatus::Failed,
        }))
    }

    fn output(&mut self, terminal: &TerminalId, text: &str) -> Outcome {
        let (call, view) = self.terminal(terminal)?;
        match &mut view.display {
            Display::Live { sent, .. } => {
                *sent = true;
                Ok(live_output(&call, terminal, text))
            }
            Display::Text(tail) => {
                tail.push(text);
                Ok(shown_text(&call, view, terminal))
            }
        }
    }

    fn snapshot(&mut self, terminal: &TerminalId, text: &str) -> Outcome {
        let (call, view) = self.terminal(terminal)?;
        match &mut view.display {
            Display::Live { sent: true, .. } => Ok(live_output(&call, terminal, &format!("{CLEAR}{text}"))),
            Display::Live { sent, .. } => {
                *sent = true;
                Ok(live_output(&call, terminal, text))
            }
            Display::Text(tail) => {
                tail.replace(text);
                Ok(shown_text(&call, view, terminal))
            }
        }
    }

    fn vitals(&mut self, terminal: &TerminalId, vitals: &Vitals) -> Outcome {
        let (call, view) = self.terminal(terminal)?;
        match view.display {
            Display::Live { .. } => {
                Ok(call_update(&call, v1::ToolCallUpdateFields::new(), Some(meta::vitals(vitals))))
            }
            Display::Text(_) => Err(Dropped::Undeclared),
        }
    }

    fn exited(&mut self, terminal: &TerminalId, exit: &Exit) -> Outcome {
        let (call, view) = self.terminal(terminal)?;
        let account = meta::exit(&exit.account);
        let meta = match &mut view.display {
            Display::Live { exited, .. } => {
                *exited = true;
                let mut meta = field("terminal_exit", terminal_exit(terminal, exit));
                meta.extend(account.unwrap_or_default());
                meta
            }
            Display::Text(tail) => {
                tail.end(exit);
                account.ok_or(Dropped::NoSuchUpdate)?
            }
        };
        Ok(call_update(&call, v1::ToolCallUpdateFields::new(), Some(meta)))
    }

    /// The call that a terminal belongs to: both are spelled alike.
    fn terminal(&mut self, terminal: &TerminalId) -> Result<(ToolCallId, &mut CallView), Dropped> {
        let call = ToolCallId::new(terminal.as_str());
        let view = self.calls.get_mut(&call).ok_or(Dropped::UnknownCall)?;
        Ok((call, view))
    }
}

/// The content after a change, unless the client's terminal would suffer: clients refuse a second
/// reference to a terminal that has ended, and an unchanged one needs none.
fn content_to_send(view: &CallView) -> Option<Vec<v1::ToolCallContent>> {
    match view.display {
        Display::Live { exited, .. } if exited || view.content.iter().all(is_terminal) => None,
        Display::Live { .. } | Display::Text(_) => Some(convert::contents(view)),
    }
}

/// For a client that knows no compactions.
fn compaction_call(call: &ToolCallId) -> CallOpened {
    CallOpened {
        call: call.clone(),
        name: Some("context_compaction".to_owned()),
        title: "Compact the context".to_owned(),
        kind: ToolKind::Think,
        status: OpenStatus::InProgress,
        locations: Vec::new(),
        content: Vec::new(),
        input: None,
        can_cancel: false,
    }
}

fn shown_text(call: &ToolCallId, view: &mut CallView, terminal: &TerminalId) -> v1::SessionUpdate {
    if !view.has_terminal() {
        view.content.push(CallContent::Terminal(terminal.clone()));
    }
    let fields = v1::ToolCallUpdateFields::new().content(convert::contents(view));
    call_update(call, fields, None)
}

fn live_output(call: &ToolCallId, terminal: &TerminalId, text: &str) -> v1::SessionUpdate {
    let meta = field("terminal_output", json!({ "terminal_id": terminal.as_str(), "data": text }));
    call_update(call, v1::ToolCallUpdateFields::new(), Some(meta))
}

/// Clients read `exit_code` as unsigned, so that a negative one is not said here; `_meta` has it.
fn terminal_exit(terminal: &TerminalId, exit: &Exit) -> Value {
    let (code, signal) = match exit.status {
        ExitStatus::Code(code) => (u64::try_from(code).ok(), None),
        ExitStatus::Signal(name) => (None, Some(name)),
        ExitStatus::Unknown => (None, None),
    };
    json!({ "terminal_id": terminal.as_str(), "exit_code": code, "signal": signal })
}

fn call_update(
    call: &ToolCallId,
    fields: v1::ToolCallUpdateFields,
    meta: Option<Map<String, Value>>,
) -> v1::SessionUpdate {
    v1::SessionUpdate::ToolCallUpdate(v1::ToolCallUpdate::new(id(call.as_str()), fields).meta(meta))
}

fn field(key: &str, value: Value) -> Map<String, Value> {
    Map::from_iter([(key.to_owned(), value)])
}

fn chunk(message: &MessageId, text: &str) -> v1::ContentChunk {
    v1::ContentChunk::new(convert::text_block(text)).message_id(v1::MessageId::new(id(message.as_str())))
}

fn user_message(message: &MessageId, content: &[Content], before: &mut Vec<v1::SessionUpdate>) -> Outcome {
    let mut chunks: Vec<_> = content
        .iter()
        .map(|it| {
            v1::SessionUpdate::UserMessageChunk(
                v1::ContentChunk::new(convert::block(it))
                    .message_id(v1::MessageId::new(id(message.as_str()))),
            )
        })
        .collect();
    let last = chunks.pop().ok_or(Dropped::Empty)?;
    before.extend(chunks);
    Ok(last)
}

fn notice(declared: bool, severity: Severity, title: &str, description: Option<&str>) -> Outcome {
    let (wire, name) = match severity {
        Severity::Info => (v1::NoticeSeverity::Info, "Note"),
        Severity::Warning => (v1::NoticeSeverity::Warning, "Warning"),
        Severity::Error => (v1::NoticeSeverity::Error, "Error"),
    };
    if declared {
        let title = if title.is_empty() { name } else { title };
        let notice = v1::Notice::new(wire, title).description(description.map(str::to_owned));
        return Ok(v1::SessionUpdate::Notice(notice));
    }
    // Blank lines keep it apart: a client may join it to the message around it.
    let text = match description {
        Some(description) => format!("\n\n**{name}:** {title}\n\n{description}\n\n"),
        None => format!("\n\n**{name}:** {title}\n\n"),
    };
    Ok(v1::SessionUpdate::AgentMessageChunk(v1::ContentChunk::new(convert::text_block(&text))))
}

fn session_info(title: &Patch<String>, updated_at: Option<i64>) -> Outcome {
    let updated_at = updated_at.and_then(time::iso8601);
    if *title == Patch::Keep && updated_at.is_none() {
        return Err(Dropped::Empty);
    }
    let mut info = v1::SessionInfoUpdate::new();
    info.title = match title {
        Patch::Keep => MaybeUndefined::Undefined,
        Patch::Clear => MaybeUndefined::Null,
        Patch::Set(title) => MaybeUndefined::Value(title.clone()),
    };
    if let Some(time) = updated_at {
        info.updated_at = MaybeUndefined::Value(time);
    }
    Ok(v1::SessionUpdate::SessionInfoUpdate(info))
}

fn plan_entry(entry: &PlanEntry) -> v1::PlanEntry {
    let status = match entry.status {
        PlanStatus::Pending => v1::PlanEntryStatus::Pending,
        PlanStatus::InProgress => v1::PlanEntryStatus::InProgress,
        PlanStatus::Completed => v1::PlanEntryStatus::Completed,
    };
    v1::PlanEntry::new(entry.text.as_str(), v1::PlanEntryPriority::Medium, status)
}

fn encoded(session: &SessionId, updates: Vec<v1::SessionUpdate>, dropped: Option<Dropped>) -> Encoded {
    let lines = updates
        .into_iter()
        .map(|it| {
            line::notification(method::SESSION_UPDATE, v1::SessionNotification::new(id(session.as_str()), it))
        })
        .collect();
    Encoded { lines, dropped }
}
