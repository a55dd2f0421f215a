//! What people should read: errors and warnings.

use crate::codex::misfit::{Misfit, decode_json};
use crate::core::codex::Event;
use crate::core::ids::ThreadId;
use crate::core::update::Severity;
use serde::Deserialize;
use serde_json::value::RawValue;

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
