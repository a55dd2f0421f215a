//! Arguments and results of tools as JSON, the same in both versions.

use crate::core::ids::Json;
use crate::core::update::CallOutput;
use serde_json::{Value, json};

/// `rawOutput`.
pub(crate) fn output(output: &CallOutput) -> Value {
    match output {
        CallOutput::Command { text, exit_code } => {
            json!({ "formatted_output": text, "exit_code": exit_code })
        }
        CallOutput::Json(json) => value(json),
    }
}

/// JSON that is handed through.
pub(crate) fn value(json: &Json) -> Value {
    // The codecs only wrap what they parsed; text in quotes is still better than a lost call.
    serde_json::from_str(json.as_str()).unwrap_or_else(|_| json.as_str().into())
}
