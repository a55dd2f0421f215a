//! The form that puts Codex's questions to a client with `elicitation/create`.

use crate::core::codex::Question;
use crate::core::ids::Json;
use serde_json::{Map, Value, json};

/// One required string property per question id; a question with options is a choice of labels.
pub(crate) fn schema(questions: &[Question]) -> Json {
    let properties: Map<String, Value> = questions.iter().map(|it| (it.id.clone(), property(it))).collect();
    let required: Vec<_> = questions.iter().map(|it| it.id.as_str()).collect();
    Json::trusted(json!({ "type": "object", "properties": properties, "required": required }).to_string())
}

/// What the form asks, in a line per question.
pub(crate) fn message(questions: &[Question]) -> String {
    let lines: Vec<_> = questions.iter().map(|it| it.question.as_str()).collect();
    lines.join("\n")
}

fn property(question: &Question) -> Value {
    let title = match question.header.is_empty() {
        true => &question.question,
        false => &question.header,
    };
    let mut property = json!({ "type": "string", "title": title, "description": question.question });
    if !question.options.is_empty() {
        let choices: Vec<_> =
            question.options.iter().map(|(label, _)| json!({ "const": label, "title": label })).collect();
        property["oneOf"] = Value::Array(choices);
    }
    property
}
