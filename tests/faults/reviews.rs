//! A review has two turns with one end.

use crate::rig::{Rig, SESSION};
use serde_json::json;

/// The reviewer's own turn may be told after the end of the whole, for the first time or once more.
#[test]
fn a_part_of_a_review_that_is_over_begins_nothing() {
    for (version, is_told) in [(1, false), (2, false), (1, true), (2, true)] {
        let mut rig = Rig::open(version);
        let text = json!([{"type": "text", "text": "/review"}]);
        rig.request("r", "session/prompt", json!({"sessionId": SESSION, "prompt": text}));
        rig.ok("review/start", json!({"turn": {"id": "whole"}, "reviewThreadId": SESSION}));
        let part = json!({"turn": {"id": "part", "rootTurnId": "whole", "status": "inProgress"}});
        if is_told {
            rig.notify("turn/started", part.clone());
        }
        rig.done("whole", "completed");
        rig.want(rig.answer("r").is_some_and(|it| it["result"].is_object()), "the review is not over");
        let n_told = rig.told.len();
        rig.notify("turn/started", part);
        rig.pass(5_000, &json!([]));
        rig.want(rig.told.len() == n_told, "a turn began, and nothing ends it");
        rig.prompt("p1");
        rig.started("A");
        rig.done("A", "completed");
        rig.want(rig.answer("p1").is_some_and(|it| it["result"].is_object()), "the next prompt is lost");
    }
}
