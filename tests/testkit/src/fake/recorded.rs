//! What a real Codex said, with neutral ids: results by method, notifications by name.
//!
//! Thread `00000000-0000-7000-8000-000000000001`, its turn `...02`, command `call_1` with process `10001`.

use std::sync::LazyLock;

use serde_json::Value;

use crate::codex::pinned_version;

static RESULTS: LazyLock<Value> = LazyLock::new(|| parse(include_str!("../../fixtures/results.json")));
static NOTIFICATIONS: LazyLock<Value> =
    LazyLock::new(|| parse(include_str!("../../fixtures/notifications.json")));

/// The recorded result of a request, if there is one.
#[must_use]
pub fn result(method: &str) -> Option<Value> {
    RESULTS.get(method).cloned()
}

/// Method and params of the recorded notification of that name: the method, where needed with what it is
/// about: `item/started commandExecution`, `thread/status/changed idle`.
///
/// # Panics
/// When there is none of that name.
#[must_use]
pub fn notification(name: &str) -> (String, Value) {
    let it = &NOTIFICATIONS[name];
    let method = it["method"].as_str();
    let method = method.unwrap_or_else(|| panic!("fixtures/notifications.json has no {name}"));
    (method.to_owned(), it["params"].clone())
}

/// The names of the notifications that follow the result of a method, as in a plain turn.
pub(super) fn aftermath(method: &str) -> &'static [&'static str] {
    match method {
        "thread/start" => &["thread/started"],
        "turn/start" => &[
            "thread/status/changed active",
            "turn/started",
            "item/started agentMessage",
            "item/agentMessage/delta",
            "item/completed agentMessage",
            "thread/tokenUsage/updated",
            "thread/status/changed idle",
            "turn/completed",
        ],
        _ => &[],
    }
}

fn parse(fixture: &str) -> Value {
    let fixture = fixture.replace("$VERSION", pinned_version());
    serde_json::from_str(&fixture).expect("the fixtures of this crate are JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_aftermath_is_recorded() {
        let methods = RESULTS.as_object().unwrap().keys();
        let names: Vec<_> = methods.flat_map(|it| aftermath(it)).collect();
        assert_eq!(names.len(), 9);
        for name in names {
            let (method, params) = notification(name);
            assert!(name.starts_with(&method) && params.is_object(), "{name}");
        }
    }
}
