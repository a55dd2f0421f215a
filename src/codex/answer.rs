//! Our answers to Codex's requests.
//!
//! The shape follows the request; an answer that does not fit its request becomes an error.

use crate::core::asked::{CodexAnswer, CodexAsk, ElicitationAction, GrantScope};
use crate::core::ids::Json;
use serde_json::{Map, Value, json};

/// The shape of the answer that a request is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owed {
    Decision,
    Permissions,
    Answers,
    Elicitation,
    /// Only an error will do.
    Error,
}

/// A JSON-RPC error to send.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: i64,
    pub(crate) message: String,
}

impl Owed {
    /// The shape for `ask`.
    pub(crate) fn of(ask: &CodexAsk) -> Self {
        match ask {
            CodexAsk::Command { .. } | CodexAsk::FileChange { .. } => Self::Decision,
            CodexAsk::Permissions { .. } => Self::Permissions,
            CodexAsk::Questions { .. } => Self::Answers,
            CodexAsk::McpForm { .. } | CodexAsk::McpUrl { .. } => Self::Elicitation,
            CodexAsk::Unsupported { .. } => Self::Error,
        }
    }
}

/// The `result` as JSON text, or the error that has to be sent in its place.
pub(crate) fn encode_answer(owed: Option<Owed>, answer: &CodexAnswer) -> Result<String, Refusal> {
    let (shape, result) = match answer {
        CodexAnswer::Decision(value) => (Owed::Decision, format!("{{\"decision\":{}}}", value.as_str())),
        CodexAnswer::Permissions { granted, scope } => {
            let (scope, is_reviewed) = match scope {
                GrantScope::Turn => ("turn", false),
                GrantScope::ReviewedTurn => ("turn", true),
                GrantScope::Session => ("session", false),
            };
            let review = if is_reviewed { ",\"strictAutoReview\":true" } else { "" };
            let granted = granted.as_ref().map_or("{}", Json::as_str);
            (Owed::Permissions, format!("{{\"permissions\":{granted},\"scope\":\"{scope}\"{review}}}"))
        }
        CodexAnswer::Questions(answers) => {
            let answers = answers.iter().map(|(id, texts)| (id.clone(), json!({"answers": texts})));
            (Owed::Answers, json!({"answers": answers.collect::<Map<_, _>>()}).to_string())
        }
        CodexAnswer::Elicitation { action, content, persist } => {
            let action = encode_action(*action);
            let content = content.as_ref().map_or("null", Json::as_str);
            let meta = persist.as_ref().map_or(Value::Null, |persist| json!({ "persist": persist }));
            (Owed::Elicitation, format!("{{\"action\":\"{action}\",\"content\":{content},\"_meta\":{meta}}}"))
        }
        CodexAnswer::Refused { message } => {
            let code = if owed == Some(Owed::Error) { -32601 } else { -32603 };
            return Err(Refusal { code, message: message.clone() });
        }
    };
    // A request that is not open any more has no shape to compare with; Codex drops a late answer.
    match owed {
        Some(owed) if owed != shape => {
            Err(Refusal { code: -32603, message: "no answer of the right kind".to_owned() })
        }
        _ => Ok(result),
    }
}

fn encode_action(action: ElicitationAction) -> &'static str {
    match action {
        ElicitationAction::Accept => "accept",
        ElicitationAction::Decline => "decline",
        ElicitationAction::Cancel => "cancel",
    }
}
