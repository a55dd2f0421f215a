//! A prompt that comes close to something else of its thread.

use crate::rig::Rig;
use serde_json::{Value, json};

#[test]
fn a_late_idle_of_the_last_turn_does_not_end_the_next() {
    let mut rig = Rig::running(2);
    rig.done("A", "completed");
    rig.prompt("p2");
    let start = rig.call("turn/start");
    rig.codex(json!({"id": start["id"], "result": {"turn": {"id": "B"}}}));
    rig.notify("thread/status/changed", json!({"status": {"type": "idle"}}));
    rig.notify("thread/status/changed", json!({"status": {"type": "active", "activeFlags": []}}));
    rig.notify("turn/started", json!({"turn": {"id": "B", "status": "inProgress"}}));
    rig.took("B", &start);
    rig.pass(60_000, &json!([]));
    rig.want(rig.state()["state"] == "running", "a running turn is told as over");
}

/// An unloaded thread has no terminals to ask for; one that runs a turn is loaded.
#[test]
fn a_thread_that_was_unloaded_under_a_prompt_is_loaded_again_by_its_turn() {
    let mut rig = Rig::open(2);
    rig.prompt("p");
    rig.notify("thread/status/changed", json!({"status": {"type": "notLoaded"}}));
    rig.started("A");
    rig.command("A", "c1", Some("7"));
    rig.done("A", "completed");
    rig.want(rig.is_called("thread/backgroundTerminals/list"), "nobody looks what runs");
}

#[test]
fn the_mode_of_a_lost_prompt_comes_with_the_next() {
    let mut rig = Rig::open(2);
    rig.set_mode("read-only");
    rig.prompt("p");
    let lost = rig.call("turn/start");
    let is_read_only = |it: &Value| it["params"]["sandboxPolicy"]["type"] == "readOnly";
    rig.want(is_read_only(&lost), "p has the mode");
    rig.dies();
    rig.prompt("p2");
    rig.recovers();
    rig.pass(10, &json!([]));
    let next = rig.call("turn/start");
    rig.want(is_read_only(&next), "nobody knows whether p set it, and p2 does not");
}
