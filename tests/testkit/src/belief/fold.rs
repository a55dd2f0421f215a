//! The state that a v2 client keeps, folded by the schema's own `x-state` declarations.
//!
//! Does not judge; a kind without a declaration is reported as unknown.

use agent_client_protocol_schema::v2;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// `x-state` by `sessionUpdate` kind; empty for kinds that change nothing.
static DECLARED: LazyLock<BTreeMap<String, Vec<Value>>> = LazyLock::new(|| {
    let schema = schemars::schema_for!(v2::SessionUpdate).to_value();
    let kinds = schema["anyOf"].as_array().into_iter().flatten();
    kinds
        .filter_map(|kind| {
            let name = kind["properties"]["sessionUpdate"]["const"].as_str()?;
            let changes = kind["x-state"]["session"].as_array().cloned().unwrap_or_default();
            Some((name.to_owned(), changes))
        })
        .collect()
});

/// Entities by target and id; a target without ids has the one id `""`.
#[derive(Debug, Default)]
pub(crate) struct Store(BTreeMap<String, BTreeMap<String, Value>>);

impl Store {
    /// Whether the schema knows this kind of update.
    pub(crate) fn knows(kind: &str) -> bool {
        DECLARED.contains_key(kind)
    }

    /// Applies one update.
    pub(crate) fn apply(&mut self, update: &Value) {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        for change in DECLARED.get(kind).into_iter().flatten() {
            self.change(change, update);
        }
    }

    pub(crate) fn get(&self, target: &str, id: &str) -> Option<&Value> {
        self.0.get(target)?.get(id)
    }

    pub(crate) fn all(&self, target: &str) -> impl Iterator<Item = (&str, &Value)> {
        self.0.get(target).into_iter().flatten().map(|(id, entity)| (id.as_str(), entity))
    }

    fn change(&mut self, change: &Value, update: &Value) {
        let text = |name: &str| change[name].as_str();
        let id = text("id").and_then(|path| at(update, path)?.as_str()).unwrap_or_default().to_owned();
        let value = text("value").map_or(Some(update), |path| at(update, path));
        let entities = self.0.entry(text("target").unwrap_or_default().to_owned()).or_default();
        match (text("action"), value) {
            (Some("remove"), _) => drop(entities.remove(&id)),
            (Some("replace"), Some(value)) => drop(entities.insert(id, value.clone())),
            (Some("upsert"), Some(value)) => patch(entities.entry(id).or_insert_with(|| json!({})), value),
            (Some("append"), Some(value)) => {
                let entity = entities.entry(id).or_insert_with(|| json!({}));
                append(entity, text("field").unwrap_or_default(), value);
            }
            _ => {}
        }
    }
}

/// The bytes of a base64 text that has its padding and nothing else.
pub(crate) fn bytes(data: &Value) -> Option<Vec<u8>> {
    STANDARD.decode(data.as_str()?).ok()
}

/// Follows a dotted path.
fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, name| value.get(name))
}

/// Omitted keeps, null clears, a value replaces; `_meta` by key.
fn patch(entity: &mut Value, value: &Value) {
    let (Some(entity), Some(value)) = (entity.as_object_mut(), value.as_object()) else { return };
    for (name, value) in value {
        match (name.as_str(), value) {
            ("sessionUpdate", _) => {}
            (_, Value::Null) => drop(entity.remove(name)),
            ("_meta", Value::Object(_)) => {
                patch(entity.entry(name.clone()).or_insert_with(|| json!({})), value);
            }
            _ => drop(entity.insert(name.clone(), value.clone())),
        }
    }
}

/// Lists grow by one; the only text that grows is base64, each piece decoded alone.
fn append(entity: &mut Value, path: &str, value: &Value) {
    let (parents, last) = path.rsplit_once('.').map_or(("", path), |(parents, last)| (parents, last));
    let mut place = entity;
    for name in parents.split('.').filter(|name| !name.is_empty()) {
        let Some(members) = place.as_object_mut() else { return };
        place = members.entry(name).or_insert_with(|| Value::Object(Map::new()));
    }
    let Some(members) = place.as_object_mut() else { return };
    if last == "data" {
        // Only the last group can be incomplete: what is before it is never touched again.
        let Value::String(text) = members.entry(last).or_insert_with(|| json!("")) else { return };
        let tail = text.split_off(text.len().saturating_sub(4));
        let mut rest = STANDARD.decode(&tail).unwrap_or_default();
        rest.extend(bytes(value).unwrap_or_default());
        text.push_str(&STANDARD.encode(rest));
    } else if let Some(list) = members.entry(last).or_insert_with(|| json!([])).as_array_mut() {
        list.push(value.clone());
    }
}
