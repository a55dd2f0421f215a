//! Rules of one tool call: its status only goes forward, and ends once.

use crate::belief::Findings;
use crate::belief::fold::Store;
use serde_json::Value;

const OPEN: [&str; 3] = ["pending", "in_progress", "paused"];
const FINAL: [&str; 3] = ["completed", "failed", "cancelled"];

pub(super) fn check_update(store: &Store, update: &Value, found: &mut Findings) {
    let id = update["toolCallId"].as_str().unwrap_or_default();
    let status = update["status"].as_str();
    if let Some(status) = status
        && !OPEN.contains(&status)
        && !FINAL.contains(&status)
    {
        found.add("unknown-status", format!("{id} {status}"));
    }
    let Some(known) = store.get("toolCall", id) else { return };
    if is_final(known) {
        return found.add("update-after-final", format!("{id} was {}", known["status"]));
    }
    if status == Some("pending") && known["status"].as_str().is_some_and(|status| status != "pending") {
        found.add("back-to-pending", id.to_owned());
    }
    if let Some(content) = update.get("content") {
        for terminal in terminals(known) {
            if !list(content).any(|block| block["terminalId"] == *terminal) {
                found.add("terminal-left-content", format!("{id} {terminal}"));
            }
        }
    }
}

pub(super) fn check_chunk(store: &Store, update: &Value, found: &mut Findings) {
    let id = update["toolCallId"].as_str().unwrap_or_default();
    if store.get("toolCall", id).is_some_and(is_final) {
        found.add("update-after-final", id.to_owned());
    }
}

/// Terminals in the content of calls must be known once all is said.
pub(super) fn check_references(store: &Store, found: &mut Findings) {
    for (id, call) in store.all("toolCall") {
        for terminal in terminals(call) {
            if store.get("terminal", terminal).is_none() {
                found.add("unknown-terminal", format!("{terminal} in {id}"));
            }
        }
    }
}

pub(super) fn is_final(call: &Value) -> bool {
    call["status"].as_str().is_some_and(|status| FINAL.contains(&status))
}

/// Ids of the terminals that a call shows.
pub(super) fn terminals(call: &Value) -> impl Iterator<Item = &str> {
    list(&call["content"]).filter_map(|block| block["terminalId"].as_str())
}

/// Sessions of subagents that a call is about.
pub(super) fn sessions(call: &Value) -> impl Iterator<Item = &str> {
    list(&call["content"]).filter_map(|block| block["sessionId"].as_str())
}

fn list(content: &Value) -> impl Iterator<Item = &Value> {
    content.as_array().into_iter().flatten()
}
