//! Version 2: terminals, and the background list with every state.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::{Event, commands, end, notice, said, text};

pub(super) fn events(update: &Value) -> Vec<Event> {
    match update["sessionUpdate"].as_str().unwrap_or_default() {
        "agent_message_chunk" => vec![said(update)],
        "agent_message" => {
            let pieces = update["content"].as_array().into_iter().flatten();
            let whole = pieces.map(|it| text(&it["text"])).collect();
            vec![Event::SaidWhole { message: text(&update["messageId"]), text: whole }]
        }
        "terminal_update" => terminal(update),
        "terminal_output_chunk" => {
            vec![Event::Output { terminal: text(&update["terminalId"]), bytes: bytes(&update["data"]) }]
        }
        "state_update" => vec![state(update)],
        "available_commands_update" => vec![commands(update)],
        "notice" => vec![notice(update)],
        _ => Vec::new(),
    }
}

fn terminal(update: &Value) -> Vec<Event> {
    let terminal = || text(&update["terminalId"]);
    let mut events = Vec::new();
    if let Some(command) = update["command"].as_str() {
        events.push(Event::Started { terminal: terminal(), command: command.to_owned() });
    }
    if update["output"].is_object() {
        let bytes = bytes(&update["output"]["data"]);
        events.push(Event::WholeOutput { terminal: terminal(), bytes });
    }
    if update["exitStatus"].is_object() {
        let end = end(&update["exitStatus"], ["exitCode", "signal"], &update["_meta"]);
        events.push(Event::Ended { terminal: terminal(), end });
    }
    events
}

fn state(update: &Value) -> Event {
    let background = update["background"]
        .as_array()
        .map(|items| items.iter().filter_map(|it| it["terminalId"].as_str().map(str::to_owned)).collect());
    match update["state"].as_str() {
        Some("idle") => Event::Idle { reason: update["stopReason"].as_str().map(str::to_owned), background },
        Some("running" | "requires_action") => Event::Busy { background },
        Some(_) | None => Event::Lost,
    }
}

/// What is no base64 is shown as nothing, and the story then misses it.
fn bytes(data: &Value) -> Vec<u8> {
    STANDARD.decode(data.as_str().unwrap_or_default()).unwrap_or_default()
}
