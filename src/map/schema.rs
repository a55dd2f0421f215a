//! Names out of a JSON schema: the alternatives of an enum, a tagged union or a list of methods.

use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The names that a definition lists, with no regard to how: plain strings, objects told apart
/// by a constant property, or objects with one key. Alternatives without a name (a catch-all for
/// future values) are left out.
#[must_use]
pub fn names(definition: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    found.extend(constants(definition));
    for key in ["oneOf", "anyOf"] {
        for alternative in definition.get(key).and_then(Value::as_array).into_iter().flatten() {
            let strings: Vec<_> = constants(alternative).collect();
            if strings.is_empty() {
                found.extend(object_name(alternative));
            } else {
                found.extend(strings);
            }
        }
    }
    found
}

fn constants(schema: &Value) -> impl Iterator<Item = String> + '_ {
    let many = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    many.chain(schema.get("const")).filter_map(Value::as_str).map(str::to_owned)
}

fn object_name(schema: &Value) -> Option<String> {
    let properties = schema.get("properties")?.as_object()?;
    tag(properties).or_else(|| {
        // A closed object with one key is a variant with content; an open one is a catch-all.
        let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
        let mut keys = properties.keys().filter(|_| is_closed);
        let only = keys.next()?;
        keys.next().is_none().then(|| only.clone())
    })
}

fn tag(properties: &Map<String, Value>) -> Option<String> {
    properties.values().find_map(|property| {
        let mut values = constants(property);
        let only = values.next()?;
        values.next().is_none().then_some(only)
    })
}
