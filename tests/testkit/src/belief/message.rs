//! The shape of one JSON-RPC message as a client reads it.
//!
//! Own reading, so that a mistake in the crate's envelope cannot hide itself.

use serde_json::Value;

const NOTHING: &Value = &Value::Null;

/// One message; absent members read as null.
pub(crate) enum Message<'a> {
    Request { id: &'a Value, method: &'a str, params: &'a Value },
    Notification { method: &'a str, params: &'a Value },
    Result { id: &'a Value, result: &'a Value },
    Error { id: &'a Value, error: &'a Value },
    Malformed,
}

impl<'a> Message<'a> {
    pub(crate) fn of(value: &'a Value) -> Self {
        let Some(members) = value.as_object() else { return Self::Malformed };
        let params = members.get("params").unwrap_or(NOTHING);
        let method = members.get("method").and_then(Value::as_str);
        match (method, members.get("id"), members.get("result"), members.get("error")) {
            (Some(method), Some(id), None, None) if is_id(id) => Self::Request { id, method, params },
            (Some(method), None, None, None) => Self::Notification { method, params },
            (None, Some(id), Some(result), None) => Self::Result { id, result },
            (None, Some(id), None, Some(error)) => Self::Error { id, error },
            _ => Self::Malformed,
        }
    }
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64()
}
