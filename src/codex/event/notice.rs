//! What people should read: errors and warnings.

use crate::codex::misfit::{Misfit, decode_json};
use crate::core::codex::Event;
use crate::core::ids::ThreadId;
use crate::core::update::Severity;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Characters of an error of a tool server that are shown.
const ERROR_MAX: usize = 300;

/// `TurnError` of the wire.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireTurnError {
    message: String,
    additional_details: Option<String>,
}

impl WireTurnError {
    /// Message and details as one text.
    pub(super) fn text(self) -> String {
        match self.additional_details {
            Some(details) if !details.is_empty() => format!("{}\n{details}", self.message),
            _ => self.message,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireError {
    thread_id: Option<String>,
    error: WireTurnError,
    #[serde(default)]
    will_retry: bool,
}

pub(super) fn error(params: &RawValue) -> Result<Event, Misfit> {
    let WireError { thread_id, error, will_retry } = decode_json(params)?;
    Ok(Event::Error { thread: thread_id.map(ThreadId::new), message: error.text(), will_retry })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireWarning {
    thread_id: Option<String>,
    message: String,
}

pub(super) fn warning(params: &RawValue) -> Result<Event, Misfit> {
    let WireWarning { thread_id, message } = decode_json(params)?;
    Ok(warn(thread_id, message, None))
}

#[derive(Deserialize)]
struct WireConfigWarning {
    summary: String,
    details: Option<String>,
}

pub(super) fn config_warning(params: &RawValue) -> Result<Event, Misfit> {
    let WireConfigWarning { summary, details } = decode_json(params)?;
    Ok(warn(None, summary, details))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireToolServer {
    thread_id: Option<String>,
    name: String,
    status: String,
    error: Option<String>,
    failure_reason: Option<String>,
}

pub(super) fn tool_server(method: &str, params: &RawValue) -> Result<Event, Misfit> {
    let wire: WireToolServer = decode_json(params)?;
    let failure = match (wire.status.as_str(), wire.failure_reason.as_deref()) {
        ("ready", _) => None,
        ("failed", Some("reauthenticationRequired")) => {
            Some("It has to be signed in to again: run `codex mcp login` with its name".to_owned())
        }
        ("failed", _) => Some(bounded(wire.error.unwrap_or_default())),
        // Under way, or given up by Codex itself.
        _ => return Ok(Event::Ignored { method: method.to_owned() }),
    };
    match wire.thread_id {
        Some(thread) => Ok(Event::ToolServer { thread: ThreadId::new(thread), server: wire.name, failure }),
        None => Ok(Event::Ignored { method: method.to_owned() }),
    }
}

/// Codex quotes whole chains of causes, type names included.
fn bounded(mut text: String) -> String {
    if let Some((cut, _)) = text.char_indices().nth(ERROR_MAX) {
        text.truncate(cut);
        text.push('…');
    }
    text
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireRerouted {
    thread_id: String,
    from_model: String,
    to_model: String,
}

pub(super) fn rerouted(params: &RawValue) -> Result<Event, Misfit> {
    let WireRerouted { thread_id, from_model, to_model } = decode_json(params)?;
    let title = format!("Codex answers with {to_model} in place of {from_model}");
    Ok(warn(Some(thread_id), title, None))
}

fn warn(thread: Option<String>, title: String, description: Option<String>) -> Event {
    Event::Notice { thread: thread.map(ThreadId::new), severity: Severity::Warning, title, description }
}
