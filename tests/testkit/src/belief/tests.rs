//! Every rule with a good sample that breaks none and a bad one that breaks exactly that one.

mod v1;
mod v2;

use super::{Belief, Version};
use serde_json::{Value, json};

/// A script: `>` lines of the client, `<` lines of the agent.
pub(super) enum Line {
    Sent(Value),
    Got(Value),
}

pub(super) fn request(id: i64, method: &str, params: Value) -> Line {
    Line::Sent(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

pub(super) fn result(id: i64, result: Value) -> Line {
    Line::Got(json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

pub(super) fn error(id: i64, code: i64) -> Line {
    Line::Got(json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "m"}}))
}

pub(super) fn update(update: Value) -> Line {
    Line::Got(
        json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}),
    )
}

pub(super) fn ask(id: i64, params: Value) -> Line {
    Line::Got(json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": params}))
}

pub(super) fn answer(id: i64) -> Line {
    Line::Sent(json!({"jsonrpc": "2.0", "id": id, "result": {"outcome": {"outcome": "cancelled"}}}))
}

pub(super) fn feed(belief: &mut Belief, lines: impl IntoIterator<Item = Line>) {
    for line in lines {
        match line {
            Line::Sent(message) => belief.sent(&message),
            Line::Got(message) => belief.received(&message),
        }
    }
}

pub(super) fn rules(belief: &Belief) -> Vec<&'static str> {
    belief.violations().iter().map(|violation| violation.rule).collect()
}

#[test]
fn a_bad_envelope_is_named() {
    let mut belief = Belief::new(Version::V2);
    belief.received(&json!([]));
    belief.received(&json!({"jsonrpc": "2.0", "method": "session/telepathy", "params": {}}));
    assert_eq!(rules(&belief), ["malformed", "unknown-notification"]);
}

#[test]
fn garbage_is_owed_one_error_without_id() {
    let mut belief = Belief::new(Version::V2);
    let refusal = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "m"}});
    belief.sent(&json!([]));
    belief.received(&refusal);
    assert!(belief.violations().is_empty());
    belief.received(&refusal);
    assert_eq!(rules(&belief), ["answer-to-nothing"]);
}
