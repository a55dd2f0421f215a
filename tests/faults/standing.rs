//! Goals and queued messages at a bad moment: stopped once, started once, listed as long as they stand.

use crate::rig::{Rig, SESSION, idle};
use serde_json::{Value, json};

fn goal(status: &str, created_at: u64) -> Value {
    json!({"threadId": SESSION, "objective": "All green", "status": status, "tokenBudget": null,
        "tokensUsed": 0, "timeUsedSeconds": 0, "createdAt": created_at, "updatedAt": created_at})
}

fn queued(id: &str, text: &str) -> Value {
    json!({"id": id, "clientUserMessageId": format!("k-{id}"), "input": [{"type": "text", "text": text}]})
}

impl Rig {
    fn goal(&mut self, turn: Option<&str>, status: &str) {
        self.notify("thread/goal/updated", json!({"turnId": turn, "goal": goal(status, 7)}));
    }

    fn turn(&mut self, turn: &str) {
        self.notify("turn/started", json!({"turn": {"id": turn, "status": "inProgress"}}));
    }

    fn queue(&mut self, messages: &[Value]) {
        self.notify("thread/queue/changed", json!({}));
        self.ok("thread/queue/list", json!({"data": messages, "nextCursor": null}));
    }

    fn cancel_call(&mut self, id: &str, call: &str) {
        self.request(id, "tool_call/cancel", json!({"sessionId": SESSION, "toolCallId": call}));
    }

    /// The status that the client has of a call.
    fn status(&self, call: &str) -> Value {
        let last = self.updates().rfind(|it| it["toolCallId"] == call && it["status"].is_string());
        last.map_or(Value::Null, |it| it["status"].clone())
    }

    fn background(&self) -> Vec<Value> {
        let list = self.state()["background"].as_array().cloned().unwrap_or_default();
        list.into_iter().map(|it| it["toolCallId"].clone()).collect()
    }
}

/// Codex accounts for the turn before it answers: an active goal then is no new one.
#[test]
fn an_account_between_a_cancel_and_its_answer_opens_nothing() {
    let mut rig = Rig::open(2);
    rig.goal(None, "active");
    rig.turn("G");
    rig.cancel_call("x", "goal-7");
    rig.want(rig.answer("x").is_some_and(|it| it["result"] == json!({})), "accepted at once");
    rig.cancel_call("y", "goal-7");
    rig.want(rig.answer("y").is_some_and(|it| it["result"] == json!({})), "it is still open");
    rig.goal(Some("G"), "active");
    rig.want(rig.status("goal-7") == "in_progress", "nobody confirmed the end");
    rig.ok("thread/goal/clear", json!({"cleared": true}));
    rig.want(!rig.is_called("thread/goal/clear"), "asked twice");
    rig.notify("thread/goal/cleared", json!({}));
    rig.ok("turn/interrupt", json!({}));
    rig.done("G", "interrupted");
    rig.want(rig.status("goal-7") == "cancelled", "the client asked for it");
    rig.want(rig.background().is_empty() && rig.state()["stopReason"] == "cancelled", "idle and quiet");
    let opened = rig.updates().filter(|it| it["title"].is_string()).count();
    rig.want(opened == 1, "opened once");
}

/// The model was faster: what it reached was not stopped.
#[test]
fn a_goal_that_is_reached_under_its_cancel_is_completed() {
    let mut rig = Rig::open(2);
    rig.goal(None, "active");
    rig.turn("G");
    rig.cancel_call("x", "goal-7");
    rig.goal(Some("G"), "complete");
    rig.want(rig.status("goal-7") == "completed", "it was reached");
    rig.ok("thread/goal/clear", json!({"cleared": true}));
}

/// A prompt that was steered into the goal's turn makes it the user's.
#[test]
fn a_goal_that_is_cancelled_leaves_a_turn_with_a_prompt_alone() {
    let mut rig = Rig::open(2);
    rig.goal(None, "active");
    rig.turn("G");
    rig.prompt("p1");
    rig.cancel_call("x", "goal-7");
    rig.want(!rig.is_called("turn/interrupt"), "the prompt is on its way into it");
    let key = rig.call("turn/steer")["params"]["clientUserMessageId"].clone();
    let content = json!([{"type": "text", "text": "p1"}]);
    rig.item(
        "item/started",
        "G",
        json!({"type": "userMessage", "id": "u", "clientId": key, "content": content}),
    );
    rig.ok("thread/goal/clear", json!({"cleared": true}));
    rig.want(!rig.is_called("turn/interrupt"), "the turn has a prompt");
    rig.done("G", "completed");
    rig.want(rig.state()["stopReason"] == "end_turn", "it ended by itself");
}

/// Nothing may run after a close, also what Codex began in the same moment.
#[test]
fn a_goal_that_is_set_while_the_session_closes_is_paused() {
    let mut rig = Rig::running(2);
    rig.close();
    rig.goal(Some("A"), "active");
    rig.want(rig.is_called("thread/goal/set"), "it would go on without us");
    let call = rig.call("thread/goal/set");
    rig.want(call["params"]["status"] == "paused", "paused, not lost");
    rig.want(rig.status("goal-7").is_null(), "nobody needs to see it");
}

#[test]
fn a_close_pauses_before_it_interrupts() {
    let mut rig = Rig::open(2);
    rig.goal(None, "active");
    rig.turn("G");
    rig.close();
    let at = |rig: &Rig, method: &str| rig.calls().iter().position(|it| it["method"] == method);
    rig.want(at(&rig, "thread/goal/set") < at(&rig, "turn/interrupt"), "else the next turn starts");
    rig.ok("turn/interrupt", json!({}));
    rig.done("G", "interrupted");
    rig.want(rig.answer("close").is_none(), "nobody knows yet whether the goal is paused");
    rig.ok("thread/goal/set", json!({"goal": goal("paused", 7)}));
    rig.want(rig.status("goal-7") == "cancelled", "it ended with the session");
    rig.want(rig.answer("close").is_some(), "nothing is left");
}

/// Unheard after the close, it would run on.
#[test]
fn a_close_cuts_off_a_message_that_is_being_started() {
    for has_left_the_queue in [false, true] {
        let mut rig = Rig::open(2);
        rig.standing = true;
        rig.queue(&[queued("a", "then this")]);
        if has_left_the_queue {
            rig.queue(&[]);
        }
        rig.close();
        rig.want(rig.answer("close").is_none(), "Codex may be starting it");
        rig.turn("Q");
        rig.want(rig.is_called("turn/interrupt"), "nothing may run");
        let item = json!({"type": "userMessage", "id": "u", "clientId": "k-a", "content": []});
        rig.item("item/started", "Q", item);
        rig.ok("turn/interrupt", json!({}));
        rig.done("Q", "interrupted");
        rig.pass(1_000, &json!([]));
        rig.want(rig.answer("close").is_some(), "and then it is closed");
        let status = if has_left_the_queue { "completed" } else { "cancelled" };
        rig.want(rig.status("queued-a") == status, status);
    }
}

#[test]
fn a_close_that_cannot_pause_a_goal_says_so_and_ends() {
    let mut rig = Rig::open(2);
    rig.goal(None, "active");
    rig.close();
    rig.err("thread/goal/set", "the disk is full");
    rig.want(rig.status("goal-7") == "failed", "it is not known to have stopped");
    rig.pass(1_000, &json!([]));
    rig.want(rig.answer("close").is_some(), "a close ends");
}

/// Its message comes before the list that lacks it, or the other way round.
#[test]
fn a_queued_message_is_started_once_in_whatever_order() {
    for is_listed_first in [false, true] {
        let mut rig = Rig::open(2);
        rig.standing = true;
        rig.queue(&[queued("a", "then this")]);
        rig.notify("thread/queue/changed", json!({}));
        if is_listed_first {
            rig.ok("thread/queue/list", json!({"data": [], "nextCursor": null}));
            rig.want(rig.status("queued-a") == "pending", "it is being started");
        }
        rig.turn("Q");
        let content = json!([{"type": "text", "text": "then this"}]);
        let item = json!({"type": "userMessage", "id": "u", "clientId": "k-a", "content": content});
        rig.item("item/started", "Q", item);
        rig.want(rig.status("queued-a") == "completed", "started");
        rig.want(rig.background().is_empty() && rig.state()["state"] == "running", "and not listed");
        if !is_listed_first {
            rig.ok("thread/queue/list", json!({"data": [], "nextCursor": null}));
        }
        rig.pass(10_000, &json!([]));
        rig.want(rig.status("queued-a") == "completed", "once");
    }
}

#[test]
fn a_queue_is_read_page_by_page_and_again_when_it_changed_meanwhile() {
    let mut rig = Rig::open(2);
    rig.standing = true;
    rig.notify("thread/queue/changed", json!({}));
    rig.notify("thread/queue/changed", json!({}));
    rig.ok("thread/queue/list", json!({"data": [queued("a", "one")], "nextCursor": "2"}));
    rig.want(rig.background().is_empty(), "half a list says nothing");
    rig.ok("thread/queue/list", json!({"data": [queued("b", "two")], "nextCursor": null}));
    rig.want(rig.background() == ["queued-a", "queued-b"], "both wait");
    rig.ok("thread/queue/list", json!({"data": [queued("b", "two")], "nextCursor": null}));
    rig.pass(10_000, &json!([]));
    rig.want(rig.background() == ["queued-b"] && rig.status("queued-a") == "cancelled", "one was taken out");
    // A cursor that comes again would never end.
    rig.notify("thread/queue/changed", json!({}));
    for _ in 0..2 {
        rig.ok("thread/queue/list", json!({"data": [], "nextCursor": "1"}));
    }
    rig.want(!rig.is_called("thread/queue/list"), "asked for ever");
}

/// A message that Codex started under its cancel is in the thread, and not cancelled.
#[test]
fn a_queued_message_that_was_faster_than_its_cancel_is_completed() {
    let mut rig = Rig::open(2);
    rig.standing = true;
    rig.queue(&[queued("a", "then this")]);
    rig.cancel_call("x", "queued-a");
    rig.ok("thread/queue/delete", json!({"deleted": false}));
    rig.turn("Q");
    let item = json!({"type": "userMessage", "id": "u", "clientId": "k-a", "content": []});
    rig.item("item/started", "Q", item);
    rig.want(rig.status("queued-a") == "completed", "it was started");
}

/// The state of a resume speaks of what the client was told (V2-62).
#[test]
fn a_resume_waits_for_the_goal_and_the_queue() {
    for version in [1, 2] {
        let mut rig = Rig::new(version);
        rig.standing = true;
        rig.resume(false);
        rig.ok("thread/resume", idle());
        rig.pass(10, &json!([]));
        rig.goal(None, "active");
        rig.ok("thread/queue/list", json!({"data": [queued("a", "then this")], "nextCursor": null}));
        rig.want(rig.answer("res").is_none(), "the goal is not known");
        rig.ok("thread/goal/get", json!({"goal": goal("active", 7)}));
        rig.want(rig.answer("res").is_some(), "all is known");
        for call in ["goal-7", "queued-a"] {
            let told = rig.updates().filter(|it| it["toolCallId"] == call).count();
            rig.want(told == 1, &format!("{call} is told once"));
        }
    }
}

/// Where Codex cannot say, a resume does without.
#[test]
fn a_resume_does_not_hang_on_a_codex_without_goals_and_queues() {
    let mut rig = Rig::new(2);
    rig.standing = true;
    rig.resume(false);
    rig.ok("thread/resume", idle());
    rig.pass(10, &json!([]));
    rig.err("thread/goal/get", "goals feature is disabled");
    rig.err("thread/queue/list", "unknown method");
    rig.want(rig.answer("res").is_some_and(|it| it["result"].is_object()), "resumed");
}

/// An answer that comes after the thread was unloaded speaks of a thread that does nothing.
#[test]
fn an_unloaded_thread_has_no_standing_work() {
    let mut rig = Rig::open(2);
    rig.standing = true;
    rig.goal(None, "active");
    rig.notify("thread/queue/changed", json!({}));
    rig.notify("thread/status/changed", json!({"status": {"type": "notLoaded"}}));
    rig.want(rig.status("goal-7") == "failed", "nothing goes on");
    rig.ok("thread/queue/list", json!({"data": [queued("a", "then this")], "nextCursor": null}));
    rig.want(rig.background().is_empty(), "nothing is started before the thread is loaded again");
}

#[test]
fn an_unknown_tool_call_cannot_be_cancelled() {
    let mut rig = Rig::running(2);
    rig.command("A", "c1", Some("7"));
    for (id, call) in [("x", "c1"), ("y", "no-such")] {
        rig.cancel_call(id, call);
        rig.want(rig.answer(id).is_some_and(|it| it["error"]["code"] == -32602), call);
    }
}

/// v1: what goes on after the answer of a prompt, also of one that failed, opens with a line of its own.
#[test]
fn a_queued_message_after_a_refused_prompt_opens_with_a_line() {
    let mut rig = Rig::open(1);
    rig.turn("Q");
    rig.done("Q", "completed");
    rig.prompt("p1");
    let start = rig.call("turn/start");
    rig.codex(json!({"id": start["id"], "result": {"turn": {"id": "A"}}}));
    rig.turn("A");
    rig.done("A", "completed");
    rig.want(rig.answer("p1").is_some_and(|it| it["error"].is_object()), "its message never came");
    let lines = |rig: &Rig| {
        let texts = rig.updates().filter_map(|it| it["content"]["text"].as_str());
        texts.filter(|it| it.contains("without a prompt")).count()
    };
    rig.want(lines(&rig) == 1, "the first");
    rig.turn("R");
    rig.want(lines(&rig) == 2, "a prompt was answered since");
}

/// v1: a turn that is being cut off does not go on, and must not be said to.
#[test]
fn a_goal_that_is_cleared_is_not_said_to_go_on() {
    let mut rig = Rig::open(1);
    rig.goal(None, "active");
    rig.turn("G");
    let from = rig.updates().count();
    let prompt = json!([{"type": "text", "text": "/goal clear"}]);
    rig.request("p1", "session/prompt", json!({"sessionId": SESSION, "prompt": prompt}));
    rig.want(rig.answer("p1").is_none(), "answered before it has any effect");
    rig.ok("thread/goal/clear", json!({"cleared": true}));
    rig.want(rig.answer("p1").is_some(), "answered by its effect");
    rig.notify("thread/goal/cleared", json!({}));
    rig.ok("turn/interrupt", json!({}));
    rig.done("G", "interrupted");
    let texts = rig.updates().skip(from).filter_map(|it| it["content"]["text"].as_str());
    let texts = texts.collect::<String>();
    rig.want(texts.contains("is being ended") && !texts.contains("goes on"), &texts);
}

/// A goal that is being set while its session closes is paused before the close is answered.
#[test]
fn a_goal_that_is_set_during_a_close_is_paused() {
    for version in [1, 2] {
        let mut rig = Rig::open(version);
        let prompt = json!([{"type": "text", "text": "/goal Make it green"}]);
        rig.request("p1", "session/prompt", json!({"sessionId": SESSION, "prompt": prompt}));
        rig.request("c1", "session/close", json!({"sessionId": SESSION}));
        rig.want(rig.answer("c1").is_none(), "the goal may stand, and would go on");
        let set = rig.call("thread/goal/set");
        let mut goal = json!({"threadId": SESSION, "objective": "Make it green", "status": "active", "tokenBudget": null,
            "tokensUsed": 0, "timeUsedSeconds": 0, "createdAt": 1, "updatedAt": 1});
        rig.codex(json!({"id": set["id"], "result": {"goal": goal}}));
        let pause = rig.call("thread/goal/set");
        rig.want(pause["params"]["status"] == "paused", "it goes on");
        rig.want(rig.answer("c1").is_none(), "nobody knows that it is paused");
        goal["status"] = json!("paused");
        rig.codex(json!({"id": pause["id"], "result": {"goal": goal}}));
        rig.pass(300, &json!([]));
        rig.want(rig.answer("c1").is_some(), "nothing is left to wait for");
    }
}
