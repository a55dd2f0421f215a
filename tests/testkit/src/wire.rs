//! Checks each line that we emit against the pinned schema of its protocol version.
//!
//! Stricter than any client: what the schema would keep as "custom or future" is an error here.

mod decode;
mod schema;
#[cfg(test)]
mod tests;

use crate::belief::Version;
use serde_json::Value;

/// What a line is, as the side that reads it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind<'a> {
    /// A notification of the agent.
    Notification,
    /// A request of the agent to the client.
    Request,
    /// The answer to the client's request of this method.
    Answer(&'a str),
}

/// Checks one emitted line.
///
/// # Errors
/// What is wrong with it: no JSON-RPC message of this kind, against the schema, or something
/// that the schema crate's own types drop or do not know.
pub fn check(version: Version, kind: Kind<'_>, line: &str) -> Result<(), String> {
    let message: Value = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
    if line.contains('\n') {
        return Err("a newline inside the line".into());
    }
    check_value(version, kind, &message)
}

/// Checks one emitted message that is already parsed.
///
/// # Errors
/// As `check`.
pub fn check_value(version: Version, kind: Kind<'_>, message: &Value) -> Result<(), String> {
    if message["jsonrpc"] != "2.0" {
        return Err("jsonrpc is not \"2.0\"".into());
    }
    let method = message["method"].as_str();
    let has = |name: &str| message.get(name).is_some();
    match (kind, method) {
        (Kind::Notification, Some(method)) if !has("id") => {
            check_payload(version, schema::Side::Notification, method, &message["params"])
        }
        (Kind::Request, Some(method)) if has("id") => {
            check_payload(version, schema::Side::Request, method, &message["params"])
        }
        (Kind::Answer(method), None) if has("result") && !has("error") => {
            check_payload(version, schema::Side::Response, method, &message["result"])
        }
        (Kind::Answer(method), None) if has("error") && !has("result") => {
            schema::validate_error(version, &message["error"])
                .map_err(|error| format!("error of {method}: {error}"))
        }
        _ => Err(format!("the members do not make a {kind:?}")),
    }
}

fn check_payload(version: Version, side: schema::Side, method: &str, payload: &Value) -> Result<(), String> {
    let told = |what: String| format!("{method}: {what}");
    schema::validate(version, side, method, payload).map_err(told)?;
    let understood = decode::round(version, side, method, payload).map_err(told)?;
    decode::same(payload, &understood, "").map_err(told)
}
