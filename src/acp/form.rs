//! Elicitation forms: what ACP can ask for, and the form of Codex's questions.
//!
//! Who asks has put the fields into an order, which is kept: our JSON objects have one (`preserve_order`).

use crate::core::asked::{OTHER, Question};
use crate::core::ids::Json;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The schema and its number of properties, if it describes an object.
///
/// The schema crate leaves out what it cannot read; the number shows whether it did.
pub(crate) fn object(schema: &Json) -> Option<(Value, usize)> {
    let mut schema: Value = serde_json::from_str(schema.as_str()).ok()?;
    let n_properties = match schema.get_mut("properties") {
        None => 0,
        Some(properties) => {
            let properties = properties.as_object_mut()?;
            properties.values_mut().for_each(name_values);
            properties.len()
        }
    };
    (schema.get("type")? == "object").then_some((schema, n_properties))
}

/// MCP has two ways to give the values of a choice names, ACP one of them.
fn name_values(property: &mut Value) {
    let list = |name: &str| property[name].as_array().cloned();
    let (Some(values), Some(names)) = (list("enum"), list("enumNames")) else { return };
    if values.len() != names.len() {
        return;
    }
    let choices = values.iter().zip(&names).map(|(value, name)| json!({ "const": value, "title": name }));
    property["oneOf"] = choices.collect();
    if let Some(property) = property.as_object_mut() {
        property.remove("enum");
        property.remove("enumNames");
    }
}

/// One string property per question id, in their order; one with options is a choice of labels, and where something else
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

/// `params` of an elicitation with the fields of its form in the order of `schema`, which the types of v1
/// lose.
pub(crate) fn in_order(params: impl Serialize, schema: &Json) -> Value {
    let mut params = serde_json::to_value(params).expect("params are plain data");
    let schema: Value = serde_json::from_str(schema.as_str()).unwrap_or_default();
    let order = schema["properties"].as_object().into_iter().flat_map(Map::keys);
    if let Some(fields) = params["requestedSchema"]["properties"].as_object_mut() {
        let mut former = std::mem::take(fields);
        fields.extend(order.filter_map(|name| former.remove_entry(name)));
    }
    params
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
