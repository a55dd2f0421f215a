//! The open tool calls as the client has them, for a client that begins afresh.

use super::ids::ToolCallId;
use super::update::{CallOpened, Update};
use std::collections::BTreeMap;

/// What was told of each call that is open.
#[derive(Debug, Default)]
pub(crate) struct Shown(BTreeMap<ToolCallId, CallOpened>);

impl Shown {
    /// An update goes out, or is held back.
    pub(crate) fn note(&mut self, update: &Update) {
        match update {
            Update::CallOpened(opened) => {
                self.0.insert(opened.call.clone(), opened.clone());
            }
            Update::CallChanged { call, change } => {
                let Some(opened) = self.0.get_mut(call) else { return };
                opened.status = change.status.unwrap_or(opened.status);
                opened.can_cancel = change.can_cancel.unwrap_or(opened.can_cancel);
                if let Some(title) = &change.title {
                    opened.title.clone_from(title);
                }
                if let Some(content) = &change.content {
                    opened.content.clone_from(content);
                }
                if let Some(locations) = &change.locations {
                    opened.locations.clone_from(locations);
                }
            }
            Update::CallClosed { call, .. } => {
                self.0.remove(call);
            }
            Update::UserMessage { .. }
            | Update::AgentText { .. }
            | Update::AgentMessage { .. }
            | Update::ThoughtText { .. }
            | Update::Compaction { .. }
            | Update::TerminalOpened(_)
            | Update::TerminalOutput { .. }
            | Update::TerminalSnapshot { .. }
            | Update::TerminalVitals { .. }
            | Update::TerminalExited { .. }
            | Update::State(_)
            | Update::Plan(_)
            | Update::Usage { .. }
            | Update::Notice { .. }
            | Update::Commands(_)
            | Update::Options(_)
            | Update::SessionInfo { .. }
            | Update::Subagent(_)
            | Update::SessionMessage(_)
            | Update::ReplayComplete => {}
        }
    }

    /// The opening of a call that is open, as it would be now.
    pub(crate) fn get(&self, call: &ToolCallId) -> Option<&CallOpened> {
        self.0.get(call)
    }
}
