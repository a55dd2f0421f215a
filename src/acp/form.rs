//! Elicitation forms: what ACP can ask for, and the form of Codex's questions.

use crate::core::asked::{OTHER, Question};
use crate::core::ids::Json;
use serde_json::{Map, Value, json};

/// The schema and its number of properties, if it describes an object.
///
/// The schema crate leaves out what it cannot read; the number shows whether it did.
pub(crate) fn object(schema: &Json) -> Option<(Value, usize)> {
    let schema: Value = serde_json::from_str(schema.as_str()).ok()?;
    let n_properties = match schema.get("properties") {
        None => 0,
        Some(properties) => properties.as_object()?.len(),
    };
    (schema.get("type")? == "object").then_some((schema, n_properties))
}

/// One string property per question id; one with options is a choice of labels, and where something else
/// may be said it is optional and has another one for that.
pub(crate) fn schema(questions: &[Question]) -> Json {
    let mut properties = Map::new();
    for question in questions {
        properties.insert(question.id.clone(), property(question));
        if takes_other(question) {
            let title = format!("{}: something else", title(question));
            properties.insert(format!("{}{OTHER}", question.id), json!({ "type": "string", "title": title }));
        }
    }
    let required: Vec<_> = questions.iter().filter(|it| !takes_other(it)).map(|it| it.id.as_str()).collect();
    Json::trusted(json!({ "type": "object", "properties": properties, "required": required }).to_string())
}

/// What the form asks, in a line per question.
pub(crate) fn message(questions: &[Question]) -> String {
    let lines: Vec<_> = questions.iter().map(|it| it.question.as_str()).collect();
    lines.join("\n")
}

fn property(question: &Question) -> Value {
    let title = title(question);
    let mut property = json!({ "type": "string", "title": title, "description": question.question });
    if !question.options.is_empty() {
        property["oneOf"] = question.options.iter().map(|(label, about)| choice(label, about)).collect();
    }
    property
}

fn choice(label: &str, about: &str) -> Value {
    let mut choice = json!({ "const": label, "title": label });
    if !about.is_empty() {
        choice["description"] = about.into();
    }
    choice
}

fn title(question: &Question) -> &str {
    match question.header.is_empty() {
        true => &question.question,
        false => &question.header,
    }
}

fn takes_other(question: &Question) -> bool {
    question.is_other && !question.options.is_empty()
}
