//! `session/update` in version 2.

use super::convert;
use crate::acp::dropped::Dropped;
use crate::acp::error::{fault_code, fault_data};
use crate::acp::{Encoded, line, meta, method, raw, time};
use crate::core::ids::{SessionId, ToolCallId};
use crate::core::update::{
    Background, CallChange, CallOpened, Exit, ExitStatus, FinalStatus, Patch, PlanEntry, PlanStatus,
    SessionMessage, Severity, Snapshot, State, StopReason, SubagentChange, TerminalOpened, Twin, Update,
};
use agent_client_protocol_schema::{MaybeUndefined, v2};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::num::NonZeroU16;
use std::path::Path;

/// Codex has one plan per thread.
const PLAN: &str = "plan";

/// The lines of one update: one for each but an empty one.
pub(crate) fn update(session: &SessionId, update: &Update) -> Encoded {
    let Some(update) = wire(update) else {
        return Encoded { lines: Vec::new(), dropped: Some(Dropped::Empty) };
    };
    let params = v2::UpdateSessionNotification::new(session.as_str(), update);
    Encoded { lines: vec![line::notification(method::SESSION_UPDATE, params)], dropped: None }
}

fn wire(update: &Update) -> Option<v2::SessionUpdate> {
    Some(match update {
        Update::UserMessage { message, content } => v2::SessionUpdate::UserMessage(
            v2::UserMessage::new(message.as_str())
                .content(content.iter().map(convert::block).collect::<Vec<_>>()),
        ),
        Update::AgentText { message, text } => v2::SessionUpdate::AgentMessageChunk(v2::ContentChunk::new(
            convert::text_block(text),
            message.as_str(),
        )),
        Update::AgentMessage { message, text } => v2::SessionUpdate::AgentMessage(
            v2::AgentMessage::new(message.as_str()).content(vec![convert::text_block(text)]),
        ),
        Update::ThoughtText { message, text } => v2::SessionUpdate::AgentThoughtChunk(v2::ContentChunk::new(
            convert::text_block(text),
            message.as_str(),
        )),
        Update::CallOpened(opened) => v2::SessionUpdate::ToolCallUpdate(call_opened(opened)),
        Update::CallChanged { call, change } => v2::SessionUpdate::ToolCallUpdate(call_changed(call, change)),
        Update::CallClosed { call, status, change } => {
            v2::SessionUpdate::ToolCallUpdate(call_changed(call, change).status(final_status(*status)))
        }
        Update::Compaction { call, end } => {
            let status = match end {
                None => v2::CompactionStatus::InProgress,
                Some(FinalStatus::Completed) => v2::CompactionStatus::Completed,
                Some(FinalStatus::Failed) => v2::CompactionStatus::Failed,
                Some(FinalStatus::Cancelled) => v2::CompactionStatus::Cancelled,
            };
            v2::SessionUpdate::CompactionUpdate(v2::CompactionUpdate::new(call.as_str()).status(status))
        }
        Update::TerminalOpened(opened) => v2::SessionUpdate::TerminalUpdate(terminal_opened(opened)),
        Update::TerminalOutput { terminal, text } => v2::SessionUpdate::TerminalOutputChunk(
            v2::TerminalOutputChunk::new(terminal.as_str(), STANDARD.encode(text)),
        ),
        Update::TerminalSnapshot { terminal, text } => v2::SessionUpdate::TerminalUpdate(
            v2::TerminalUpdate::new(terminal.as_str()).output(v2::TerminalOutput::new(STANDARD.encode(text))),
        ),
        Update::TerminalVitals { terminal, vitals } => {
            let mut update = v2::TerminalUpdate::new(terminal.as_str());
            update.meta = MaybeUndefined::Value(meta::vitals(vitals));
            v2::SessionUpdate::TerminalUpdate(update)
        }
        Update::TerminalExited { terminal, exit } => {
            let mut update = v2::TerminalUpdate::new(terminal.as_str()).exit_status(exit_status(exit));
            update.capabilities = MaybeUndefined::Null;
            if let Some(account) = meta::exit(&exit.account) {
                update.meta = MaybeUndefined::Value(account);
            }
            v2::SessionUpdate::TerminalUpdate(update)
        }
        Update::State(snapshot) => v2::SessionUpdate::StateUpdate(state(snapshot)),
        Update::Plan(entries) => v2::SessionUpdate::PlanUpdate(v2::PlanUpdate::new(
            v2::PlanUpdateContent::Items(v2::PlanItems::new(PLAN, entries.iter().map(plan_entry).collect())),
        )),
        Update::Usage { used, size } => v2::SessionUpdate::UsageUpdate(v2::UsageUpdate::new(*used, *size)),
        Update::Notice { severity, title, description } => {
            let (severity, name) = match severity {
                Severity::Info => (v2::NoticeSeverity::Info, "Note"),
                Severity::Warning => (v2::NoticeSeverity::Warning, "Warning"),
                Severity::Error => (v2::NoticeSeverity::Error, "Error"),
            };
            let title = if title.is_empty() { name } else { title };
            v2::SessionUpdate::Notice(v2::Notice::new(severity, title).description(description.clone()))
        }
        Update::Commands(commands) => v2::SessionUpdate::AvailableCommandsUpdate(
            v2::AvailableCommandsUpdate::new(convert::commands(commands)),
        ),
        Update::Options(options) => {
            v2::SessionUpdate::ConfigOptionUpdate(v2::ConfigOptionUpdate::new(convert::options(options)))
        }
        Update::SessionInfo { title, updated_at } => {
            let updated_at = updated_at.and_then(time::iso8601);
            if *title == Patch::Keep && updated_at.is_none() {
                return None;
            }
            let mut info = v2::SessionInfoUpdate::new();
            info.title = match title {
                Patch::Keep => MaybeUndefined::Undefined,
                Patch::Clear => MaybeUndefined::Null,
                Patch::Set(title) => MaybeUndefined::Value(title.clone()),
            };
            if let Some(time) = updated_at {
                info.updated_at = MaybeUndefined::Value(time);
            }
            v2::SessionUpdate::SessionInfoUpdate(info)
        }
        Update::ReplayComplete => v2::SessionUpdate::ReplayComplete(v2::ReplayComplete::new()),
        Update::Subagent(change) => v2::SessionUpdate::SubagentUpdate(subagent(change)),
        Update::SessionMessage(message) => v2::SessionUpdate::SessionMessage(session_message(message)),
    })
}

fn session_message(it: &SessionMessage) -> v2::SessionMessage {
    let mut message = v2::SessionMessage::new(it.message.as_str())
        .sender_session_id(v2::SessionId::new(it.from.as_str()))
        .recipient_session_id(v2::SessionId::new(it.to.as_str()));
    message = match &it.twin {
        Some(Twin::Sent(twin)) => message.sender_message_id(v2::MessageId::new(twin.as_str())),
        Some(Twin::Received(twin)) => message.recipient_message_id(v2::MessageId::new(twin.as_str())),
        None => message,
    };
    match &it.content {
        Some(content) => message.content(content.iter().map(convert::block).collect::<Vec<_>>()),
        None => message,
    }
}

fn subagent(change: &SubagentChange) -> v2::SubagentUpdate {
    let mut update = v2::SubagentUpdate::new(change.session.as_str());
    if let Some(title) = &change.title {
        update = update.title(title.clone());
    }
    if let Some(description) = &change.description {
        update = update.description(description.clone());
    }
    if let Some(cwd) = change.cwd.as_deref().filter(|cwd| Path::new(cwd).is_absolute()) {
        update = update.cwd(v2::AbsolutePath::new(cwd));
    }
    match change.can_cancel {
        Some(true) => {
            let capabilities =
                v2::SubagentSessionCapabilities::new().cancel(v2::SessionCancelCapabilities::new());
            update = update.capabilities(capabilities);
        }
        Some(false) => update.capabilities = MaybeUndefined::Null,
        None => {}
    }
    if let Some(snapshot) = &change.state {
        update = update.state(state(snapshot));
    }
    update
}

fn call_opened(opened: &CallOpened) -> v2::ToolCallUpdate {
    let mut update = v2::ToolCallUpdate::new(opened.call.as_str())
        .title(opened.title.clone())
        .kind(convert::kind(opened.kind))
        .status(convert::open_status(opened.status));
    if let Some(name) = &opened.name {
        update = update.name(name.clone());
    }
    if !opened.content.is_empty() {
        update = update.content(convert::contents(&opened.content));
    }
    let locations = convert::locations(&opened.locations);
    if !locations.is_empty() {
        update = update.locations(locations);
    }
    if let Some(input) = &opened.input {
        update = update.raw_input(raw::value(input));
    }
    if opened.can_cancel {
        update = update.capabilities(cancellable());
    }
    update
}

fn cancellable() -> v2::ToolCallCapabilities {
    v2::ToolCallCapabilities::new().cancel(v2::ToolCallCancelCapabilities::new())
}

fn call_changed(call: &ToolCallId, change: &CallChange) -> v2::ToolCallUpdate {
    let mut update = v2::ToolCallUpdate::new(call.as_str());
    if let Some(title) = &change.title {
        update = update.title(title.clone());
    }
    if let Some(status) = change.status {
        update = update.status(convert::open_status(status));
    }
    if let Some(content) = &change.content {
        update = update.content(convert::contents(content));
    }
    if let Some(locations) = &change.locations {
        update = update.locations(convert::locations(locations));
    }
    if let Some(output) = &change.output {
        update = update.raw_output(raw::output(output));
    }
    match change.can_cancel {
        Some(true) => update = update.capabilities(cancellable()),
        Some(false) => update.capabilities = MaybeUndefined::Null,
        None => {}
    }
    update
}

fn final_status(status: FinalStatus) -> v2::ToolCallStatus {
    match status {
        FinalStatus::Completed => v2::ToolCallStatus::Completed,
        FinalStatus::Failed => v2::ToolCallStatus::Failed,
        FinalStatus::Cancelled => v2::ToolCallStatus::Cancelled,
    }
}

fn terminal_opened(opened: &TerminalOpened) -> v2::TerminalUpdate {
    let size = opened
        .size
        .and_then(|(cols, rows)| Some(v2::TerminalSize::new(NonZeroU16::new(cols)?, NonZeroU16::new(rows)?)));
    let mut update = v2::TerminalUpdate::new(opened.terminal.as_str())
        .command(opened.command.clone())
        .cwd(opened.cwd.as_str());
    if opened.can_cancel {
        let capabilities = v2::TerminalCapabilities::new().cancel(v2::TerminalCancelCapabilities::new());
        update = update.capabilities(capabilities);
    }
    if let Some(size) = size {
        update = update.size(size);
    }
    update
}

fn exit_status(exit: &Exit) -> v2::TerminalExitStatus {
    let status = v2::TerminalExitStatus::new();
    match exit.status {
        ExitStatus::Code(code) => status.exit_code(code),
        ExitStatus::Signal(name) => status.signal(name.to_owned()),
        ExitStatus::Unknown => status,
    }
}

fn state(snapshot: &Snapshot) -> v2::StateUpdate {
    let background: Vec<_> = snapshot
        .background
        .iter()
        .map(|item| match item {
            Background::Terminal(id) => {
                v2::BackgroundWork::Terminal(v2::BackgroundTerminal::new(id.as_str()))
            }
            Background::ToolCall(id) => {
                v2::BackgroundWork::ToolCall(v2::BackgroundToolCall::new(id.as_str()))
            }
            Background::Subagent(id) => {
                v2::BackgroundWork::Subagent(v2::BackgroundSubagent::new(id.as_str()))
            }
        })
        .collect();
    match &snapshot.state {
        State::Running => v2::StateUpdate::Running(v2::RunningStateUpdate::new().background(background)),
        State::RequiresAction => {
            v2::StateUpdate::RequiresAction(v2::RequiresActionStateUpdate::new().background(background))
        }
        State::Idle(reason) => v2::StateUpdate::Idle(
            v2::IdleStateUpdate::new().stop_reason(reason.as_ref().map(stop_reason)).background(background),
        ),
        State::Unknown => v2::StateUpdate::Unknown(v2::UnknownStateUpdate::new().background(background)),
    }
}

fn stop_reason(reason: &StopReason) -> v2::StopReason {
    match reason {
        StopReason::EndTurn => v2::StopReason::EndTurn,
        StopReason::MaxTokens => v2::StopReason::MaxTokens,
        StopReason::Refusal => v2::StopReason::Refusal,
        StopReason::Cancelled => v2::StopReason::Cancelled,
        StopReason::Error(fault) => {
            let error = v2::Error::new(fault_code(fault), fault.to_string()).data(fault_data(fault));
            v2::StopReason::Error(v2::ErrorStopReason::new().error(error))
        }
    }
}

fn plan_entry(entry: &PlanEntry) -> v2::PlanEntry {
    let status = match entry.status {
        PlanStatus::Pending => v2::PlanEntryStatus::Pending,
        PlanStatus::InProgress => v2::PlanEntryStatus::InProgress,
        PlanStatus::Completed => v2::PlanEntryStatus::Completed,
    };
    v2::PlanEntry::new(entry.text.as_str(), v2::PlanEntryPriority::Medium, status)
}
