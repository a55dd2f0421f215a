//! Subagents' sessions in version 1, for clients that declared `subagents`.
//!
//! v1 states carry no background list: what a subagent left running shows in its own calls.

use super::convert::{self, id};
use crate::acp::error::{fault_code, fault_data};
use crate::core::ids::{MessageId, SessionId};
use crate::core::update::{SessionMessage, Snapshot, State, StopReason, SubagentChange, Twin};
use agent_client_protocol_schema::{MaybeUndefined, v1};
use std::path::Path;

pub(super) fn update(change: &SubagentChange) -> v1::SessionUpdate {
    let mut update = v1::SubagentUpdate::new(session(&change.session));
    if let Some(title) = &change.title {
        update = update.title(title.clone());
    }
    if let Some(description) = &change.description {
        update = update.description(description.clone());
    }
    if let Some(cwd) = change.cwd.as_deref().map(Path::new).filter(|cwd| cwd.is_absolute()) {
        update = update.cwd(cwd.to_owned());
    }
    match change.can_cancel {
        Some(true) => {
            let capabilities =
                v1::SubagentSessionCapabilities::new().cancel(v1::SessionCancelCapabilities::new());
            update = update.capabilities(capabilities);
        }
        Some(false) => update.capabilities = MaybeUndefined::Null,
        None => {}
    }
    if let Some(snapshot) = &change.state {
        update = update.state(state(snapshot));
    }
    v1::SessionUpdate::SubagentUpdate(update)
}

pub(super) fn message(it: &SessionMessage) -> v1::SessionUpdate {
    let name = |message: &MessageId| v1::MessageId::new(id(message.as_str()));
    let mut message = v1::SessionMessage::new(name(&it.message))
        .sender_session_id(session(&it.from))
        .recipient_session_id(session(&it.to));
    message = match &it.twin {
        Some(Twin::Sent(twin)) => message.sender_message_id(name(twin)),
        Some(Twin::Received(twin)) => message.recipient_message_id(name(twin)),
        None => message,
    };
    if let Some(content) = &it.content {
        message = message.content(content.iter().map(convert::block).collect::<Vec<_>>());
    }
    v1::SessionUpdate::SessionMessage(message)
}

fn session(session: &SessionId) -> v1::SessionId {
    v1::SessionId::new(id(session.as_str()))
}

fn state(snapshot: &Snapshot) -> v1::StateUpdate {
    match &snapshot.state {
        State::Running => v1::StateUpdate::Running(v1::RunningStateUpdate::new()),
        State::RequiresAction => v1::StateUpdate::RequiresAction(v1::RequiresActionStateUpdate::new()),
        State::Idle(reason) => {
            v1::StateUpdate::Idle(v1::IdleStateUpdate::new().stop_reason(reason.as_ref().map(stop_reason)))
        }
        State::Unknown => v1::StateUpdate::Unknown(v1::UnknownStateUpdate::new()),
    }
}

fn stop_reason(reason: &StopReason) -> v1::IdleStopReason {
    match reason {
        StopReason::EndTurn => v1::IdleStopReason::EndTurn,
        StopReason::MaxTokens => v1::IdleStopReason::MaxTokens,
        StopReason::Refusal => v1::IdleStopReason::Refusal,
        StopReason::Cancelled => v1::IdleStopReason::Cancelled,
        StopReason::Error(fault) => {
            let error = v1::Error::new(fault_code(fault), fault.to_string()).data(fault_data(fault));
            v1::IdleStopReason::Error(v1::ErrorStopReason::new().error(error))
        }
    }
}
