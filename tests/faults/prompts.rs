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

/// Its answer is late: the turn is over, and stays so.
#[test]
fn a_turn_that_ends_before_its_start_is_answered_does_not_come_back() {
    for version in [1, 2] {
        let mut rig = Rig::open(version);
        rig.prompt("p");
        let start = rig.call("turn/start");
        rig.notify("turn/started", json!({"turn": {"id": "A", "status": "inProgress"}}));
        rig.took("A", &start);
        rig.done("A", "completed");
        rig.codex(json!({"id": start["id"], "result": {"turn": {"id": "A"}}}));
        rig.pass(60_000, &json!([]));
        rig.want(rig.answer("p").is_some_and(|it| it["result"].is_object()), "the prompt is not answered");
        if version == 2 {
            rig.want(rig.state()["state"] == "idle", "a turn that is over is told as running");
        }
        rig.prompt("p2");
        rig.started("B");
        rig.done("B", "completed");
        rig.pass(10, &json!([]));
        rig.want(rig.answer("p2").is_some_and(|it| it["result"].is_object()), "the next prompt is lost");
    }
}

/// Nothing ever showed that Codex took the message, and its answer came last.
#[test]
fn a_turn_that_ends_before_its_start_is_answered_owes_its_prompt_an_answer() {
    for version in [1, 2] {
        let mut rig = Rig::open(version);
        rig.prompt("p");
        let start = rig.call("turn/start");
        rig.notify("turn/started", json!({"turn": {"id": "A", "status": "inProgress"}}));
        rig.done("A", "completed");
        rig.want(rig.answer("p").is_none(), "nobody knows yet whose turn that was");
        rig.codex(json!({"id": start["id"], "result": {"turn": {"id": "A"}}}));
        rig.want(rig.answer("p").is_some_and(|it| it["error"].is_object()), "the prompt is not refused");
        rig.prompt("p2");
        rig.want(rig.is_called("turn/start"), "the next prompt waits for the last one");
    }
}

/// Codex runs a turn for it, in which no message comes: only the hook says why.
#[test]
fn a_prompt_that_a_hook_blocks_is_answered_with_its_words() {
    for version in [1, 2] {
        for (status, words) in [("blocked", true), ("completed", false)] {
            let mut rig = Rig::open(version);
            rig.prompt("p");
            let start = rig.call("turn/start");
            rig.codex(json!({"id": start["id"], "result": {"turn": {"id": "A"}}}));
            rig.notify("turn/started", json!({"turn": {"id": "A", "status": "inProgress"}}));
            let entries = json!([{"kind": "feedback", "text": "not on a Sunday"}]);
            let run =
                json!({"id": "h", "eventName": "userPromptSubmit", "status": status, "entries": entries});
            rig.notify("hook/completed", json!({"turnId": "A", "run": run}));
            rig.done("A", "completed");
            rig.pass(0, &json!([]));
            let answer = rig.answer("p").unwrap_or_default();
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            rig.want(message.contains("not on a Sunday") == words, "it is not what the hook said");
            rig.want(message.contains("without showing") != words, "it is not what happened");
        }
    }
}
