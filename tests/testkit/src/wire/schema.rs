//! JSON schema validators of all that an agent emits, by version, side and method.
//!
//! Made from the schema crate's types, with the alternatives for unknown values taken out.

use crate::belief::Version;
use agent_client_protocol_schema::{v1, v2};
use jsonschema::Validator;
use schemars::{JsonSchema, schema_for};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What a payload belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Notification,
    Request,
    Response,
}

type Validators = BTreeMap<(Side, String), Validator>;

static V1: LazyLock<Validators> = LazyLock::new(|| {
    let mut all = Validators::new();
    add::<v1::AgentNotification>(Side::Notification, &mut all);
    add::<v1::AgentRequest>(Side::Request, &mut all);
    add::<v1::AgentResponse>(Side::Response, &mut all);
    add::<v1::CancelRequestNotification>(Side::Notification, &mut all);
    all
});

static V2: LazyLock<Validators> = LazyLock::new(|| {
    let mut all = Validators::new();
    add::<v2::AgentNotification>(Side::Notification, &mut all);
    add::<v2::AgentRequest>(Side::Request, &mut all);
    add::<v2::AgentResponse>(Side::Response, &mut all);
    add::<v2::CancelRequestNotification>(Side::Notification, &mut all);
    all
});

static ERROR: LazyLock<[Validator; 2]> = LazyLock::new(|| {
    [build(strict(schema_for!(v1::Error).to_value())), build(strict(schema_for!(v2::Error).to_value()))]
});

pub(super) fn validate(version: Version, side: Side, method: &str, payload: &Value) -> Result<(), String> {
    let all = match version {
        Version::V1 => &V1,
        Version::V2 => &V2,
    };
    let Some(validator) = all.get(&(side, method.to_owned())) else {
        return Err(format!("no such {side:?} in the schema"));
    };
    judge(validator, payload)
}

pub(super) fn validate_error(version: Version, error: &Value) -> Result<(), String> {
    let [v1, v2] = &*ERROR;
    judge(if version == Version::V1 { v1 } else { v2 }, error)
}

fn judge(validator: &Validator, payload: &Value) -> Result<(), String> {
    match validator.iter_errors(payload).next() {
        None => Ok(()),
        Some(error) => Err(format!("at {:?}: {error}", error.instance_path().to_string())),
    }
}

/// Adds a validator for each definition in `T`'s schema that names a method.
fn add<T: JsonSchema>(side: Side, all: &mut Validators) {
    let whole = strict(schema_for!(T).to_value());
    let mut named: Vec<(String, String)> = Vec::new();
    if let Some(method) = whole["x-method"].as_str() {
        all.insert((side, method.to_owned()), build(whole.clone()));
    }
    for (name, definition) in whole["$defs"].as_object().into_iter().flatten() {
        if let Some(method) = definition["x-method"].as_str() {
            named.push((method.to_owned(), name.clone()));
        }
    }
    for (method, name) in named {
        let one = json!({ "$ref": format!("#/$defs/{name}"), "$defs": whole["$defs"] });
        all.insert((side, method), build(one));
    }
}

fn build(schema: Value) -> Validator {
    jsonschema::draft202012::new(&schema).expect("the schema crate's schema is a schema")
}

/// Takes out of every choice the alternative that stands for values nobody knows.
fn strict(mut schema: Value) -> Value {
    tighten(&mut schema);
    schema
}

fn tighten(schema: &mut Value) {
    match schema {
        Value::Array(parts) => parts.iter_mut().for_each(tighten),
        Value::Object(members) => {
            if let Some(Value::Array(choices)) = members.get_mut("anyOf")
                && choices.iter().any(is_tagged)
            {
                choices.retain(|choice| !is_catch_all(choice));
            }
            members.values_mut().for_each(tighten);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A constant, or an object with a constant tag.
fn is_tagged(choice: &Value) -> bool {
    let properties = choice["properties"].as_object();
    choice.get("const").is_some()
        || properties.is_some_and(|members| members.values().any(|member| member.get("const").is_some()))
}

fn is_catch_all(choice: &Value) -> bool {
    let any_text = choice["type"] == "string" && choice.get("const").is_none();
    choice.get("not").is_some() || any_text
}
