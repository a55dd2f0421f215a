//! Decodes a payload with the schema crate's own types and writes it again.
//!
//! Those types forgive much by dropping it; what was dropped is missing from the second writing.

use super::schema::Side;
use crate::belief::Version;
use agent_client_protocol_schema::{v1, v2};
use serde::Serialize;
use serde_json::Value;
use std::fmt::Display;

/// The payload as the types understood it.
pub(super) fn round(version: Version, side: Side, method: &str, payload: &Value) -> Result<Value, String> {
    match (version, side, method) {
        (Version::V1, Side::Notification, "$/cancel_request") => {
            write(v1::ProtocolLevelNotification::from_method_and_params(method, payload))
        }
        (Version::V2, Side::Notification, "$/cancel_request") => {
            write(v2::ProtocolLevelNotification::from_method_and_params(method, payload))
        }
        (Version::V1, Side::Notification, _) => {
            write(v1::AgentNotification::from_method_and_params(method, payload))
        }
        (Version::V2, Side::Notification, _) => {
            write(v2::AgentNotification::from_method_and_params(method, payload))
        }
        (Version::V1, Side::Request, _) => write(v1::AgentRequest::from_method_and_params(method, payload)),
        (Version::V2, Side::Request, _) => write(v2::AgentRequest::from_method_and_params(method, payload)),
        (Version::V1, Side::Response, _) => {
            write(v1::AgentResponse::from_method_and_result(method, payload.clone()))
        }
        (Version::V2, Side::Response, _) => {
            write(v2::AgentResponse::from_method_and_result(method, payload.clone()))
        }
    }
}

/// Whether `understood` still has all that `sent` says; null and `[]` say nothing.
pub(super) fn same(sent: &Value, understood: &Value, at: &str) -> Result<(), String> {
    let lost = |what: &str| Err(format!("{at}: {what}: {sent} was read as {understood}"));
    match (sent, understood) {
        (Value::Object(sent), Value::Object(understood)) => sent.iter().try_for_each(|(name, value)| {
            let at = format!("{at}/{name}");
            match understood.get(name) {
                Some(understood) => same(value, understood, &at),
                None if value.is_null() || value.as_array().is_some_and(Vec::is_empty) => Ok(()),
                None => Err(format!("{at}: not understood: {value}")),
            }
        }),
        (Value::Array(sent), Value::Array(understood)) if sent.len() == understood.len() => sent
            .iter()
            .zip(understood)
            .enumerate()
            .try_for_each(|(idx, (sent, understood))| same(sent, understood, &format!("{at}/{idx}"))),
        (Value::Array(_), _) => lost("items lost"),
        (Value::Number(sent), Value::Number(understood)) if sent.as_f64() == understood.as_f64() => Ok(()),
        _ if sent == understood => Ok(()),
        _ => lost("changed"),
    }
}

fn write(decoded: Result<impl Serialize, impl Display>) -> Result<Value, String> {
    let decoded = decoded.map_err(|error| error.to_string())?;
    serde_json::to_value(decoded).map_err(|error| error.to_string())
}
