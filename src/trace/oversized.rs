//! What is known of a line of the client that was too long, in a trace.

use crate::core::ids::RequestId;
use crate::envelope::remains::Remains;
use crate::redact;
use serde_json::{Value, json};

/// As it is written down.
pub(super) fn of_remains(remains: &Remains) -> Value {
    let Remains { id, method, is_answer } = remains;
    let id = id.as_ref().map(|id| match id {
        RequestId::Number(number) => json!(number),
        RequestId::Text(text) => json!(redact::text(text)),
    });
    json!({ "id": id, "method": method.as_deref().map(redact::text), "answer": is_answer })
}

/// As it is read back.
pub(super) fn remains(value: &Value) -> Remains {
    let id = match &value["id"] {
        Value::Number(number) => number.as_i64().map(RequestId::Number),
        Value::String(text) => Some(RequestId::Text(text.as_str().into())),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let method = value["method"].as_str().map(str::to_owned);
    Remains { id, method, is_answer: value["answer"] == true }
}
