//! A cancel stops what it was meant for, all of it, and nothing else.

use crate::rig::{Rig, active, command, listed};
use serde_json::json;

#[test]
fn a_cancelled_prompt_starts_no_turn_when_it_could_not_be_steered() {
    let mut rig = Rig::running(2);
    rig.prompt("p2");
    rig.cancel();
    // Elsewhere the sign that the turn just ended, and that the prompt needs one of its own.
    rig.err("turn/steer", "no active turn to steer");
    rig.ok("turn/interrupt", json!({}));
    rig.done("A", "interrupted");
    rig.want(!rig.is_called("turn/start"), "a cancelled prompt starts a turn");
    rig.want(rig.answer("p2").is_some(), "p2 hangs");
}

/// "Running" for Codex is not "of this turn": a dev server of an earlier one must live on.
#[test]
fn a_cancel_after_a_resume_spares_work_of_earlier_turns() {
    let mut rig = Rig::resuming(2, true);
    rig.ok("thread/resume", active());
    // The history has the foreground command only.
    let front = command("f", Some("8"), "inProgress");
    let turn = json!({"id": "A", "items": [], "itemsView": "notLoaded", "status": "inProgress"});
    rig.ok("thread/turns/list", json!({"data": [turn], "nextCursor": null}));
    rig.ok("thread/items/list", json!({"data": [{"turnId": "A", "item": front}], "nextCursor": null}));
    rig.pass(10, &json!([listed("dev", "7"), listed("f", "8")]));
    rig.message("A", "m1");
    rig.cancel();
    rig.want(rig.is_called("turn/interrupt"), "the turn is not cancelled");
    while rig.is_called("thread/backgroundTerminals/terminate") {
        let call = rig.call("thread/backgroundTerminals/terminate");
        rig.want(call["params"]["processId"] != "7", "the dev server of an earlier turn is ended");
    }
}

#[test]
fn a_cancel_that_codex_refuses_is_not_told_as_done() {
    let mut rig = Rig::running(2);
    rig.cancel();
    rig.err("turn/interrupt", "busy");
    rig.text("A", "m1", "still here");
    rig.pass(10_000, &json!([]));
    rig.text("A", "m1", "still here");
    rig.want(rig.state()["state"] == "running", "told as over while the turn runs on");
}

/// The client wanted it gone, and gone it is: that Codex refused it besides is no error.
#[test]
fn a_prompt_cancelled_before_codex_refuses_it_is_cancelled() {
    let mut rig = Rig::open(1);
    rig.prompt("p");
    rig.cancel();
    rig.err("turn/start", "busy");
    let answer = rig.answer("p");
    rig.want(answer.is_some_and(|it| it["result"]["stopReason"] == "cancelled"), "not cancelled");
}

#[test]
fn a_command_that_lives_on_after_a_cancel_is_shown_or_ended() {
    let mut rig = Rig::running(2);
    rig.command("A", "c1", None);
    rig.asks(100, "command", "A", "c1");
    rig.allow();
    rig.pass(100, &json!([]));
    // Approved, started, and not listed yet: nothing of it is known when the turn is interrupted.
    rig.cancel();
    rig.ok("turn/interrupt", json!({}));
    rig.done("A", "interrupted");
    rig.pass(30_000, &json!([listed("c1", "7")]));
    let is_listed = rig.state()["background"].to_string().contains("c1");
    let is_ended = rig.is_called("thread/backgroundTerminals/terminate");
    rig.want(is_listed || is_ended, "it runs, nobody shows it and nobody ends it");
}

/// Two requests with one key are one prompt, and still two requests.
#[test]
fn the_second_request_of_a_held_prompt_can_be_cancelled() {
    let mut rig = twins();
    rig.cancel_request("k2");
    rig.want(rig.answer("k2").is_some_and(|it| it["error"]["code"] == -32800), "k2 is not cancelled");
    rig.want(rig.answer("k1").is_none(), "k1 is cancelled with it");
}

#[test]
fn a_held_prompt_goes_on_for_its_second_request() {
    let mut rig = twins();
    rig.cancel_request("k1");
    rig.want(rig.answer("k2").is_none(), "k2 is cancelled with it");
}

/// A prompt that is held because another is being steered, asked for twice.
fn twins() -> Rig {
    let mut rig = Rig::running(2);
    rig.prompt("p2");
    rig.prompt_with_key("k1", "k");
    rig.prompt_with_key("k2", "k");
    rig
}
