//! Is a line of ours what the schema crate says it is?
//!
//! Three judges per line: the JSON schema, the strict types, and that nothing got lost in reading.

use crate::core::request::Version;
use agent_client_protocol_schema::{v1, v2};
use jsonschema::Validator;
use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

/// A notification or request of ours.
pub(super) fn assert_wire_valid(version: Version, line: &str) {
    let message = message(line);
    let params = &message["params"];
    let method = message["method"].as_str().expect("a notification or request has a method");
    match (version, method) {
        (Version::V1, "session/update") => check::<v1::SessionNotification>(params),
        (Version::V2, "session/update") => check::<v2::UpdateSessionNotification>(params),
        (Version::V1, "session/request_permission") => check::<v1::RequestPermissionRequest>(params),
        (Version::V2, "session/request_permission") => check::<v2::RequestPermissionRequest>(params),
        (Version::V1, "elicitation/create") => check::<v1::CreateElicitationRequest>(params),
        (Version::V2, "elicitation/create") => check::<v2::CreateElicitationRequest>(params),
        (Version::V1, "$/cancel_request") => check::<v1::CancelRequestNotification>(params),
        (Version::V2, "$/cancel_request") => check::<v2::CancelRequestNotification>(params),
        (_, other) => panic!("we never send {other}"),
    }
    assert_eq!(message.get("id").is_some(), !matches!(method, "session/update" | "$/cancel_request"));
}

/// The successful answer to `method`.
pub(super) fn assert_result_valid(version: Version, method: &str, line: &str) {
    let message = message(line);
    let result = message.get("result").unwrap_or_else(|| panic!("no result: {line}"));
    match (version, method) {
        (Version::V1, "initialize") => check::<v1::InitializeResponse>(result),
        (Version::V2, "initialize") => check::<v2::InitializeResponse>(result),
        (Version::V1, "session/new") => check::<v1::NewSessionResponse>(result),
        (Version::V2, "session/new") => check::<v2::NewSessionResponse>(result),
        (Version::V1, "session/load") => check::<v1::LoadSessionResponse>(result),
        (Version::V1, "session/resume") => check::<v1::ResumeSessionResponse>(result),
        (Version::V2, "session/resume") => check::<v2::ResumeSessionResponse>(result),
        (Version::V1, "session/list") => check::<v1::ListSessionsResponse>(result),
        (Version::V2, "session/list") => check::<v2::ListSessionsResponse>(result),
        (Version::V1, "session/close") => check::<v1::CloseSessionResponse>(result),
        (Version::V2, "session/close") => check::<v2::CloseSessionResponse>(result),
        (Version::V1, "session/fork") => check::<v1::ForkSessionResponse>(result),
        (Version::V2, "session/fork") => check::<v2::ForkSessionResponse>(result),
        (Version::V1, "session/delete") => check::<v1::DeleteSessionResponse>(result),
        (Version::V2, "session/delete") => check::<v2::DeleteSessionResponse>(result),
        (Version::V1, "session/archive") => check::<v1::ArchiveSessionResponse>(result),
        (Version::V2, "session/archive") => check::<v2::ArchiveSessionResponse>(result),
        (Version::V1, "session/unarchive") => check::<v1::UnarchiveSessionResponse>(result),
        (Version::V2, "session/unarchive") => check::<v2::UnarchiveSessionResponse>(result),
        (Version::V1, "session/set_title") => check::<v1::SetSessionTitleResponse>(result),
        (Version::V2, "session/set_title") => check::<v2::SetSessionTitleResponse>(result),
        (Version::V1, "session/prompt") => check::<v1::PromptResponse>(result),
        (Version::V2, "session/prompt") => check::<v2::PromptResponse>(result),
        (Version::V1, "session/set_mode") => check::<v1::SetSessionModeResponse>(result),
        (Version::V1, "session/set_config_option") => check::<v1::SetSessionConfigOptionResponse>(result),
        (Version::V2, "session/set_config_option") => check::<v2::SetSessionConfigOptionResponse>(result),
        (Version::V2, "terminal/cancel") => check::<v2::CancelTerminalResponse>(result),
        (Version::V2, "tool_call/cancel") => check::<v2::CancelToolCallResponse>(result),
        (version, other) => panic!("{version:?} has no request {other}"),
    }
}

/// An error answer; the same in both versions.
pub(super) fn assert_error_valid(line: &str) {
    let message = message(line);
    let error = message.get("error").unwrap_or_else(|| panic!("no error: {line}"));
    assert!(message.get("id").is_some(), "an answer has an id, if only null: {line}");
    check::<v1::Error>(error);
    check::<v2::Error>(error);
}

fn message(line: &str) -> Value {
    assert!(!line.contains('\n'), "one line: {line}");
    let message: Value = serde_json::from_str(line).expect("JSON");
    assert_eq!(message["jsonrpc"], "2.0");
    message
}

fn check<T: DeserializeOwned + Serialize + JsonSchema + Debug + 'static>(value: &Value) {
    let validator = validator::<T>();
    let errors: Vec<_> =
        validator.iter_errors(value).map(|it| format!("{} at {}", it, it.instance_path())).collect();
    assert!(errors.is_empty(), "{value} breaks the schema: {errors:?}");
    let typed: T = serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"));
    let debug = format!("{typed:?}");
    for catch_all in ["Other(", "Unknown(\""] {
        assert!(!debug.contains(catch_all), "{value} is unknown to the schema: {debug}");
    }
    // Lenient fields turn what they cannot read into nothing; then this differs.
    assert_eq!(without_defaults(&serde_json::to_value(&typed).unwrap()), without_defaults(value));
}

fn validator<T: JsonSchema + 'static>() -> Arc<Validator> {
    static BUILT: Mutex<BTreeMap<TypeId, Arc<Validator>>> = Mutex::new(BTreeMap::new());
    let build = || {
        let schema = schema_for!(T).to_value();
        Arc::new(jsonschema::validator_for(&schema).expect("the crate's schema is one"))
    };
    // A failed assertion elsewhere poisons the lock; the map is still whole.
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    built.entry(TypeId::of::<T>()).or_insert_with(build).clone()
}

/// Members that mean the same when they are left out.
fn without_defaults(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, value)| {
                !matches!(
                    (key.as_str(), value.as_array().map(Vec::is_empty)),
                    ("authMethods" | "additionalDirectories" | "availableCommands" | "locations", Some(true))
                )
            })
            .map(|(key, value)| (key.clone(), without_defaults(value)))
            .collect(),
        Value::Array(items) => items.iter().map(without_defaults).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[test]
fn a_broken_line_is_noticed() {
    let broken = [
        r#"{"sessionUpdate":"state_update","state":"idle","stopReason":5}"#,
        r#"{"sessionUpdate":"state_update","state":"idle","background":[{"type":"terminal"}]}"#,
        r#"{"sessionUpdate":"terminal_update","terminalId":"t","exitStatus":"done"}"#,
        r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"weird"}"#,
        r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"t"}"#,
        r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}"#,
    ];
    for update in broken {
        let line = format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{update}}}}}"#
        );
        let verdict = std::panic::catch_unwind(|| assert_wire_valid(Version::V2, &line));
        assert!(verdict.is_err(), "{update} passed");
    }
}
