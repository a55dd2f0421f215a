//! What people should read: errors and warnings.

use crate::codex::bound::bounded;
use crate::codex::causes::causes;
use crate::codex::misfit::{Misfit, decode_json};
use crate::codex::said::{said, said_by_provider};
use crate::core::codex::Event;
use crate::core::fault::{Fault, FaultKind};
use crate::core::ids::ThreadId;
use crate::core::update::Severity;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// `TurnError` of the wire.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::codex) struct WireTurnError<'a> {
    message: String,
    additional_details: Option<String>,
    #[serde(borrow)]
    codex_error_info: Option<&'a RawValue>,
    misalignment: Option<WireMisalignment>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMisalignment {
    detailed_explanation: Option<String>,
}

/// What the kinds with fields say about themselves.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireErrorFields {
    http_status_code: Option<u16>,
}

impl WireTurnError<'_> {
    /// Message and details as one text, with the kind.
    pub(in crate::codex) fn fault(self) -> Fault {
        let explained = self.misalignment.and_then(|it| it.detailed_explanation);
        let details = [self.additional_details, explained].into_iter().flatten().filter(|it| !it.is_empty());
        let lines: Vec<_> =
            std::iter::once(self.message).chain(details).map(|it| said_by_provider(&it)).collect();
        let (kind, http_status) = self.codex_error_info.map(error_info).unwrap_or_default();
        Fault { kind, http_status, message: bounded(lines.join("\n")) }
    }
}

// A name, or an object whose only key is the name.
fn error_info(raw: &RawValue) -> (Option<FaultKind>, Option<u16>) {
    if let Ok(name) = serde_json::from_str::<String>(raw.get()) {
        return (FaultKind::named(&name), None);
    }
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(raw.get()).unwrap_or_default();
    let Some((name, fields)) = fields.into_iter().next() else { return (None, None) };
    let status = decode_json::<WireErrorFields>(fields).ok().and_then(|it| it.http_status_code);
    (FaultKind::named(&name), status)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireError<'a> {
    thread_id: Option<String>,
    #[serde(borrow)]
    error: WireTurnError<'a>,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    will_retry: bool,
}

pub(super) fn error(params: &RawValue) -> Result<Event, Misfit> {
    let WireError { thread_id, error, will_retry } = decode_json(params)?;
    Ok(Event::Error { thread: thread_id.map(ThreadId::new), fault: error.fault(), will_retry })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireWarning {
    thread_id: Option<String>,
    message: String,
}

pub(super) fn warning(params: &RawValue) -> Result<Event, Misfit> {
    let WireWarning { thread_id, message } = decode_json(params)?;
    let thread = thread_id.map(ThreadId::new);
    Ok(Event::Warning { thread, title: said(&message), description: None })
}

/// Of one approval that Codex's own reviewer looked at.
pub(super) fn guardian_warning(params: &RawValue) -> Result<Event, Misfit> {
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
    Ok(Event::Warning { thread: None, title: said(&summary), description: details.as_deref().map(said) })
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
        ("failed", _) => Some(causes(&wire.error.unwrap_or_default())),
        // Under way, or given up by Codex itself.
        _ => return Ok(Event::Ignored { method: method.to_owned() }),
    };
    match wire.thread_id {
        Some(thread) => {
            Ok(Event::ToolServer { thread: ThreadId::new(thread), server: bounded(wire.name), failure })
        }
        None => Ok(Event::Ignored { method: method.to_owned() }),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireRerouted {
    thread_id: String,
    from_model: String,
    to_model: String,
    reason: Option<String>,
}

pub(super) fn rerouted(params: &RawValue) -> Result<Event, Misfit> {
    let WireRerouted { thread_id, from_model, to_model, reason } = decode_json(params)?;
    let title = format!("Codex answers with {to_model} in place of {from_model}");
    let reason = reason.map(|it| match it.as_str() {
        "highRiskCyberActivity" => "What was asked looks like risky activity in cybersecurity".to_owned(),
        _ => it,
    });
    Ok(warn(Some(thread_id), title, reason))
}

fn warn(thread: Option<String>, title: String, description: Option<String>) -> Event {
    Event::Notice {
        thread: thread.map(ThreadId::new),
        severity: Severity::Warning,
        title: said(&title),
        description: description.as_deref().map(said),
    }
}
