//! The client's answers to our questions.
//!
//! Reads what was said; whether it is an approval is the core's to judge.

use super::params::{Misfit, read};
use crate::core::ask::Answer;
use crate::core::ids::Json;
use crate::core::request::FormAnswers;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// What kind of answer an ask of ours expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskKind {
    Permission,
    Elicitation,
}

#[derive(Deserialize)]
struct PermissionResult {
    outcome: Outcome,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    outcome: String,
    option_id: Option<String>,
}

#[derive(Deserialize)]
struct ElicitationResult {
    action: String,
    content: Option<Box<RawValue>>,
}

/// Reads the `result` of an answer; one that cannot be read counts as failed.
pub(crate) fn decode(kind: AskKind, result: &RawValue) -> Answer {
    let answer = match kind {
        AskKind::Permission => permission(result),
        AskKind::Elicitation => elicitation(result),
    };
    answer.unwrap_or_else(|misfit| Answer::Failed { message: format!("unreadable answer: {misfit}") })
}

fn permission(result: &RawValue) -> Result<Answer, Misfit> {
    let PermissionResult { outcome } = read(Some(result))?;
    Ok(match (outcome.outcome.as_str(), outcome.option_id) {
        ("selected", Some(option)) => Answer::Selected(option),
        ("selected", None) => Answer::Failed { message: "the answer selects no option".into() },
        _ => Answer::Cancelled,
    })
}

fn elicitation(result: &RawValue) -> Result<Answer, Misfit> {
    let ElicitationResult { action, content } = read(Some(result))?;
    Ok(match action.as_str() {
        "accept" => match content.map(|it| form(&it)) {
            None => Answer::Accepted(None),
            Some(Some(form)) => Answer::Accepted(Some(form)),
            Some(None) => Answer::Failed { message: "unreadable answer: content is not an object".into() },
        },
        "decline" => Answer::Declined,
        _ => Answer::Cancelled,
    })
}

fn form(content: &RawValue) -> Option<FormAnswers> {
    let fields: Map<String, Value> = serde_json::from_str(content.get()).ok()?;
    let fields = fields.into_iter().map(|(name, value)| (name, texts(value))).collect();
    Some(FormAnswers { json: Json::trusted(content.get()), fields })
}

fn texts(value: Value) -> Vec<String> {
    match value {
        Value::Null => Vec::new(),
        Value::String(text) => vec![text],
        Value::Array(values) => values.into_iter().flat_map(texts).collect(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => vec![value.to_string()],
    }
}
