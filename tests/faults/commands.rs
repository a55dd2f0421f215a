//! Slash commands whose turn, answer or thread comes at another moment than expected.

use crate::rig::{Rig, SESSION};
use serde_json::{Value, json};

fn says(rig: &mut Rig, id: &str, text: &str) {
    let prompt = json!([{"type": "text", "text": text}]);
    rig.request(id, "session/prompt", json!({"sessionId": SESSION, "prompt": prompt}));
}

/// The turn of a reviewer, inside the review `R`.
fn reviewer_starts(rig: &mut Rig) {
    let turn = json!({"id": "part", "rootTurnId": "R", "status": "inProgress"});
    rig.notify("turn/started", json!({ "turn": turn }));
}

fn texts(rig: &Rig) -> String {
    rig.updates().filter_map(|it| it["content"][0]["text"].as_str()).collect()
}

#[test]
fn a_review_may_begin_and_end_before_its_answer() {
    let mut rig = Rig::open(2);
    says(&mut rig, "r", "/review");
    let start = rig.call("review/start");
    reviewer_starts(&mut rig);
    rig.done("R", "completed");
    rig.want(rig.state()["state"] == "idle", "the review does not end");
    rig.codex(json!({"id": start["id"], "result": {"turn": {"id": "R"}, "reviewThreadId": SESSION}}));
    rig.want(rig.state()["state"] == "idle", "a review that is over runs again");
    rig.prompt("p");
    rig.started("A");
    rig.want(rig.answer("p").is_some(), "the session does not go on");
}

#[test]
fn a_review_is_interrupted_by_the_name_of_its_reviewer_once_that_is_known() {
    let mut rig = Rig::open(1);
    says(&mut rig, "r", "/review");
    rig.ok("review/start", json!({"turn": {"id": "R"}, "reviewThreadId": SESSION}));
    rig.item("item/started", "R", json!({"type": "enteredReviewMode", "id": "e", "review": "x"}));
    rig.cancel();
    rig.want(!rig.is_called("turn/interrupt"), "Codex would refuse this name");
    reviewer_starts(&mut rig);
    let interrupt = rig.call("turn/interrupt");
    rig.want(interrupt["params"]["turnId"] == "part", "another name than that of the reviewer");
    rig.codex(json!({"id": interrupt["id"], "result": {}}));
    rig.done("R", "interrupted");
    let answer = rig.answer("r").unwrap_or_default();
    rig.want(answer["result"]["stopReason"] == "cancelled", "the prompt of the review is not answered");
}

#[test]
fn a_turn_with_an_older_root_is_no_part_of_a_review() {
    let mut rig = Rig::open(2);
    says(&mut rig, "r", "/review");
    rig.ok("review/start", json!({"turn": {"id": "R"}, "reviewThreadId": SESSION}));
    reviewer_starts(&mut rig);
    rig.done("R", "completed");
    let turn = json!({"id": "Q", "rootTurnId": "R", "status": "inProgress"});
    rig.notify("turn/started", json!({ "turn": turn }));
    rig.text("Q", "m", "by itself");
    rig.done("Q", "completed");
    rig.want(rig.state()["state"] == "idle", "the turn that Codex began by itself does not end");
    rig.want(rig.updates().any(|it| it.to_string().contains("by itself")), "its text is not shown");
}

#[test]
fn a_prompt_during_a_compaction_waits_for_its_end() {
    let mut rig = Rig::open(2);
    says(&mut rig, "c", "/compact");
    rig.ok("thread/compact/start", json!({}));
    rig.notify("turn/started", json!({"turn": {"id": "C", "rootTurnId": "C", "status": "inProgress"}}));
    rig.prompt("p");
    rig.want(!rig.is_called("turn/steer") && !rig.is_called("turn/start"), "a compaction takes no message");
    rig.done("C", "completed");
    rig.started("A");
    rig.want(rig.answer("p").is_some_and(|it| it["result"].is_object()), "the prompt is not taken");
}

#[test]
fn a_command_that_is_cancelled_is_not_answered_by_a_late_word_of_codex() {
    let mut rig = Rig::open(1);
    says(&mut rig, "m", "/mcp");
    let call = rig.call("mcpServerStatus/list");
    rig.cancel_request("m");
    let answer = rig.answer("m").unwrap_or_default();
    rig.want(answer["result"]["stopReason"] == "cancelled", "it is not cancelled");
    rig.codex(json!({"id": call["id"], "result": {"data": [], "nextCursor": null}}));
    rig.want(!texts(&rig).contains("tool servers"), "it is answered after its end");
    rig.pass(60_000, &json!([]));
    rig.want(rig.unanswered().is_empty(), "something is unanswered");
}

#[test]
fn a_command_of_an_unloaded_thread_waits_until_it_is_loaded_or_cannot_be() {
    let mut rig = Rig::open(2);
    rig.notify("thread/status/changed", json!({"status": {"type": "notLoaded"}}));
    says(&mut rig, "n", "/rename New");
    rig.want(!rig.is_called("thread/name/set"), "Codex would not know the thread");
    rig.ok("thread/resume", crate::rig::idle());
    rig.ok("thread/name/set", json!({}));
    rig.want(texts(&rig).contains("is called “New” now"), "it is not renamed");
    rig.notify("thread/status/changed", json!({"status": {"type": "notLoaded"}}));
    says(&mut rig, "o", "/compact");
    rig.err("thread/resume", "the rollout is broken");
    rig.want(texts(&rig).contains("the rollout is broken"), "nobody says why");
    rig.want(rig.state()["state"] == "idle", "it waits for ever");
}

/// What is opened in place of a thread that was not saved is not in plan mode by itself.
#[test]
fn a_session_in_plan_mode_stays_so_in_another_thread() {
    let mut rig = Rig::open(2);
    says(&mut rig, "plan", "/plan the move");
    let start = rig.call("turn/start");
    let is_plan = |it: &Value| it["params"]["collaborationMode"]["mode"] == "plan";
    rig.want(is_plan(&start), "no plan mode");
    rig.codex(json!({"id": start["id"], "result": {"turn": {"id": "A"}}}));
    rig.notify("turn/started", json!({"turn": {"id": "A", "status": "inProgress"}}));
    rig.took("A", &start);
    rig.dies();
    rig.recovers();
    rig.prompt("p2");
    rig.booted();
    rig.err("thread/resume", "no rollout found for thread id T");
    rig.ok("thread/start", crate::rig::thread("T2", "idle"));
    let start = rig.call("turn/start");
    rig.want(is_plan(&start), "the new thread does not know");
}
