//! Which rows of the protocol map speak of what arrived.

#[cfg(test)]
mod tests;

use crate::bridge::arrival::Arrival;
use crate::core::request::Version;
use crate::map;
use crate::map::row::{ItemEvent, Row, Side};
use serde::Deserialize;
use serde_json::Value;

/// Only what names a message; everything else of it is skipped unread.
#[derive(Deserialize)]
struct Named {
    method: Option<String>,
    id: Option<Value>,
    params: Option<Params>,
}

#[derive(Deserialize)]
struct Params {
    item: Option<Item>,
}

#[derive(Deserialize)]
struct Item {
    r#type: Option<String>,
}

/// The rules of an arrival, most special first; none for answers and for what is no message.
pub fn rules_of(arrival: &Arrival<'_>, version: Option<Version>) -> Vec<&'static str> {
    let rows = match arrival {
        Arrival::ClientLine(line) => client(line, version),
        Arrival::CodexLine { line, .. } => codex(line),
        Arrival::ClientOversized(_)
        | Arrival::ClientEof
        | Arrival::CodexOversized { .. }
        | Arrival::CodexNotStarted { .. }
        | Arrival::CodexDied { .. }
        | Arrival::Deadline
        | Arrival::ClientQueue(_)
        | Arrival::Swept { .. }
        | Arrival::Stop { .. }
        | Arrival::Surveyed { .. }
        | Arrival::Watched { .. }
        | Arrival::PageNotOpened(_)
        | Arrival::Signal(_) => Vec::new(),
    };
    rows.into_iter().map(|row| row.rule.as_str()).collect()
}

fn client(line: &[u8], version: Option<Version>) -> Vec<&'static Row> {
    let side = match version {
        Some(Version::V2) => Side::V2,
        Some(Version::V1) | None => Side::V1,
    };
    let named = serde_json::from_slice::<Named>(line).ok();
    let method = named.and_then(|named| named.method);
    method.and_then(|method| map::acp_method(side, &method)).into_iter().collect()
}

fn codex(line: &[u8]) -> Vec<&'static Row> {
    let Ok(Named { method: Some(method), id, params }) = serde_json::from_slice(line) else {
        return Vec::new();
    };
    if id.is_some() {
        return map::codex_server_request(&method).into_iter().collect();
    }
    let kind = params.and_then(|params| params.item).and_then(|item| item.r#type);
    let event = match method.as_str() {
        "item/started" => Some(ItemEvent::Started),
        "item/completed" => Some(ItemEvent::Completed),
        _ => None,
    };
    let item = kind.zip(event).and_then(|(kind, event)| map::codex_item(&kind, event));
    item.into_iter().chain(map::codex_notification(&method)).collect()
}
