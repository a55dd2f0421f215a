//! Version 1: a command is a tool call with a terminal in `_meta`; there is no list.

use serde_json::Value;

use super::{Event, META, commands, end, notice, said, text};

pub(super) fn events(update: &Value) -> Vec<Event> {
    match update["sessionUpdate"].as_str().unwrap_or_default() {
        "agent_message_chunk" => vec![said(update)],
        "tool_call" | "tool_call_update" => call(update),
        "available_commands_update" => vec![commands(update)],
        "notice" => vec![notice(update)],
        _ => Vec::new(),
    }
}

/// The answer to a prompt ends its turn, and names what goes on.
pub(super) fn turn_ended(result: &Value) -> Event {
    let listed = result["_meta"][META]["background"].as_array();
    let background = listed.map(|ids| ids.iter().map(text).collect());
    Event::Idle { reason: result["stopReason"].as_str().map(str::to_owned), background }
}

fn call(update: &Value) -> Vec<Event> {
    let meta = &update["_meta"];
    let mut events = Vec::new();
    if let Some(terminal) = meta["terminal_info"]["terminal_id"].as_str() {
        let command = text(&update["title"]);
        events.push(Event::Started { terminal: terminal.to_owned(), command });
    }
    if let Some(terminal) = meta["terminal_output"]["terminal_id"].as_str() {
        let bytes = text(&meta["terminal_output"]["data"]).into_bytes();
        events.push(Event::Output { terminal: terminal.to_owned(), bytes });
    }
    if let Some(terminal) = meta["terminal_exit"]["terminal_id"].as_str() {
        let end = end(&meta["terminal_exit"], ["exit_code", "signal"], meta);
        events.push(Event::Ended { terminal: terminal.to_owned(), end });
    }
    events
}
