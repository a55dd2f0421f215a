//! A Codex that has no time for a request is asked again, each time after a longer pause.

use crate::rig::Rig;
use serde_json::json;

const OVERLOADED: i64 = -32001;

/// Codex refuses the oldest open call of a method because it has too much to do.
fn refuse(rig: &mut Rig, method: &str) {
    let id = rig.call(method)["id"].clone();
    rig.codex(json!({"id": id, "error": {"code": OVERLOADED, "message": "Server overloaded; retry later."}}));
}

#[test]
fn a_prompt_waits_until_codex_has_time() {
    for version in [1, 2] {
        let mut rig = Rig::open(version);
        rig.prompt("p1");
        for pause in [250, 500, 1_000] {
            refuse(&mut rig, "turn/start");
            rig.pass(pause - 1, &json!([]));
            rig.want(!rig.is_called("turn/start"), "asked again too soon");
            rig.pass(1, &json!([]));
            rig.want(rig.is_called("turn/start"), "not asked again");
        }
        rig.started("A");
        rig.done("A", "completed");
        rig.want(rig.answer("p1").is_some_and(|it| it["result"].is_object()), "the prompt has failed");
    }
}

#[test]
fn an_overload_that_stays_is_told() {
    for version in [1, 2] {
        let mut rig = Rig::open(version);
        rig.prompt("p1");
        for _ in 0..5 {
            refuse(&mut rig, "turn/start");
            rig.pass(5_000, &json!([]));
        }
        refuse(&mut rig, "turn/start");
        let answer = rig.answer("p1").unwrap_or_default();
        rig.want(answer["error"].to_string().contains("Server overloaded"), "the prompt does not fail");
        rig.pass(20_000, &json!([]));
        rig.want(!rig.is_called("turn/start"), "asked for ever");
        // The next one is not refused because of it.
        rig.prompt("p2");
        rig.started("A");
    }
}

#[test]
fn what_was_put_off_is_lost_with_its_app_server() {
    let mut rig = Rig::open(2);
    rig.prompt("p1");
    refuse(&mut rig, "turn/start");
    rig.dies();
    rig.want(rig.answer("p1").is_some_and(|it| it["error"].is_object()), "nobody is told");
    rig.pass(1_000, &json!([]));
    rig.want(!rig.is_called("turn/start"), "asked of an app-server that is gone");
}
