//! Subagents of a session that comes back, at the wrong moments: dead, closed, hung up, heard of too early.

use crate::rig::{Rig, active, idle, listed, thread};
use serde_json::{Value, json};

const CHILD: &str = "C";

fn entry(id: &str, parent: &str, status: &str) -> Value {
    let spawn =
        json!({"parent_thread_id": parent, "depth": 1, "agent_path": "/root/scout", "agent_nickname": "Ada"});
    json!({"id": id, "cwd": "/w", "status": {"type": status}, "source": {"subAgent": {"thread_spawn": spawn}}})
}

/// A resume without history, whose subagent is being joined.
fn joining(version: u32) -> Rig {
    let mut rig = Rig::greeted_with(version, &json!({"subagents": {}}));
    rig.booted();
    rig.descendants = true;
    rig.resume(false);
    rig.ok("thread/list", json!({"data": [entry(CHILD, "T", "active")], "nextCursor": null}));
    rig.ok("thread/resume", idle());
    rig
}

fn is_of_child(it: &Value) -> bool {
    it["params"]["sessionId"] == CHILD
}

fn named(it: &Value) -> bool {
    it["params"]["update"]["sessionUpdate"] == "subagent_update"
}

fn joined(rig: &mut Rig) {
    rig.ok("thread/resume", thread(CHILD, "active"));
    let page = json!({"data": [listed("dev", "7")], "nextCursor": null});
    rig.ok("thread/backgroundTerminals/list", page);
}

#[test]
fn each_is_told_before_the_answer_and_named_before_anything_of_it() {
    for version in [1, 2] {
        let mut rig = joining(version);
        rig.want(rig.place(named).is_some(), "it is not named before it is joined");
        rig.want(rig.answer("res").is_none(), "answered without its subagent");
        joined(&mut rig);
        rig.pass(10, &json!([]));
        let answer = rig.place(|it| it["id"] == "res").expect("the resume is answered");
        let of_child = rig.place(is_of_child).expect("its command is told");
        rig.want(rig.place(named) < Some(of_child) && of_child < answer, "the order");
    }
}

#[test]
fn the_app_server_dies_while_they_are_brought_back() {
    for version in [1, 2] {
        let mut rig = joining(version);
        let n = rig.told.len();
        rig.dies();
        rig.want(rig.answer("res").expect("it is answered")["error"].is_object(), "it was no success");
        rig.recovers();
        rig.pass(5_000, &json!([]));
        rig.want(!rig.told[n..].iter().any(is_of_child), "something is told of a session that is none");
        rig.request("res2", "session/resume", json!({"sessionId": "T", "cwd": "/w", "mcpServers": []}));
        if rig.is_called("initialize") {
            rig.booted();
        }
        rig.ok("thread/list", json!({"data": [entry(CHILD, "T", "notLoaded")], "nextCursor": null}));
        rig.ok("thread/resume", idle());
        rig.pass(10, &json!([]));
        rig.want(
            rig.answer("res2").expect("it is answered")["result"].is_object(),
            "it cannot be opened again",
        );
    }
}

#[test]
fn the_session_is_closed_while_they_are_brought_back() {
    for version in [1, 2] {
        let mut rig = joining(version);
        rig.close();
        rig.pass(4_000, &json!([]));
        rig.want(
            rig.answer("res").expect("the resume is answered")["error"].is_object(),
            "it was no success",
        );
        rig.want(rig.answer("close").is_some(), "the close is not answered");
        let n = rig.told.len();
        // Codex joins the subagent all the same: nobody wants it.
        if rig.is_called("thread/resume") {
            rig.ok("thread/resume", thread(CHILD, "active"));
        }
        rig.pass(4_000, &json!([]));
        rig.want(rig.told.len() == n, "something is told after the close");
        rig.want(rig.unanswered().is_empty(), "a request stays open");
    }
}

/// Until then the resume may come to nothing; and the state is about it (V2-26).
#[test]
fn what_happens_meanwhile_is_told_in_the_moment_of_the_answer_and_before_the_state() {
    let mut rig = joining(2);
    joined(&mut rig);
    // The root still waits for its own list.
    rig.want(rig.answer("res").is_none(), "it was answered already");
    rig.notify(
        "item/started",
        json!({"threadId": CHILD, "turnId": "CA", "item": {"type": "agentMessage", "id": "m", "text": ""}}),
    );
    rig.notify(
        "item/agentMessage/delta",
        json!({"threadId": CHILD, "turnId": "CA", "itemId": "m", "delta": "word"}),
    );
    rig.pass(10, &json!([]));
    let answer = rig.place(|it| it["id"] == "res").expect("the resume is answered");
    let word = rig.place(|it| it.to_string().contains("\"word\"")).expect("it is told");
    let state = rig.place(|it| is_of_child(it) && it["params"]["update"]["sessionUpdate"] == "state_update");
    rig.want(Some(word) < state && state < Some(answer), "the order");
}

#[test]
fn one_that_is_heard_of_before_the_list_is_named_once() {
    let mut rig = Rig::greeted_with(2, &json!({}));
    rig.booted();
    rig.descendants = true;
    rig.resume(false);
    rig.ok("thread/resume", active());
    let turn = json!({"id": "CA", "rootTurnId": "A", "status": "inProgress"});
    rig.notify("turn/started", json!({"threadId": CHILD, "turn": turn}));
    if rig.is_called("thread/read") {
        rig.ok("thread/read", json!({"thread": entry(CHILD, "T", "active")}));
    }
    rig.ok("thread/list", json!({"data": [entry(CHILD, "T", "active")], "nextCursor": null}));
    rig.ok("thread/resume", thread(CHILD, "active"));
    rig.pass(10, &json!([]));
    rig.want(rig.answer("res").is_some(), "the resume is not answered");
    let of_child = rig.place(is_of_child).expect("its state is told");
    rig.want(rig.place(named) < Some(of_child), "not named first");
    let state = |it: &&Value| is_of_child(it) && it["params"]["update"]["sessionUpdate"] == "state_update";
    let states: Vec<_> =
        rig.told.iter().filter(state).map(|it| it["params"]["update"]["state"].clone()).collect();
    rig.want(states == ["running"], &format!("states {states:?}"));
}

#[test]
fn a_list_that_never_ends_is_left() {
    let mut rig = Rig::new(2);
    rig.descendants = true;
    rig.resume(false);
    rig.ok("thread/resume", idle());
    let mut n = 0;
    while rig.is_called("thread/list") && n < 100 {
        let page: Vec<Value> = (0..100).map(|i| entry(&format!("C{n}-{i}"), "T", "notLoaded")).collect();
        rig.ok("thread/list", json!({"data": page, "nextCursor": format!("{n}")}));
        n += 1;
    }
    rig.pass(10, &json!([]));
    rig.want(n < 20, "it is read for ever");
    rig.want(rig.answer("res").is_some(), "the resume is not answered");
    rig.want(
        rig.told.iter().any(|it| it.to_string().contains("subagents of this session are shown")),
        "it is not said",
    );
}

#[test]
fn a_state_that_changes_meanwhile_is_told_by_itself_before_its_parent() {
    let mut rig = joining(2);
    joined(&mut rig);
    rig.notify("turn/completed", json!({"threadId": CHILD, "turn": {"id": "CA", "status": "completed"}}));
    rig.pass(10, &json!([listed("dev", "7")]));
    rig.want(rig.answer("res").is_some(), "the resume is not answered");
    let own = |it: &Value| is_of_child(it) && it["params"]["update"]["state"] == "idle";
    let mirrored = |it: &Value| named(it) && it["params"]["update"]["state"]["state"] == "idle";
    let (own, mirrored) = (rig.place(own), rig.place(mirrored));
    rig.want(
        own.is_some() && own < mirrored,
        &format!("its own state at {own:?}, its parent's at {mirrored:?}"),
    );
}

/// What its announcement said, which the resume held back, is older than what the resume tells.
#[test]
fn one_that_is_announced_under_a_resume_is_not_told_as_it_was() {
    for version in [1, 2] {
        let mut rig = Rig::running_with(version, &json!({"subagents": {}}));
        rig.descendants = true;
        rig.resume(false);
        let activity = json!({"type": "subAgentActivity", "id": "start", "kind": "started", "agentThreadId": CHILD,
            "agentPath": "/root/scout", "model": null, "reasoningEffort": null});
        rig.notify("item/started", json!({"threadId": "T", "turnId": "A", "item": activity}));
        rig.notify(
            "turn/started",
            json!({"threadId": CHILD, "turn": {"id": "CA", "rootTurnId": "A", "status": "inProgress"}}),
        );
        rig.ok("thread/list", json!({"data": [entry(CHILD, "T", "active")], "nextCursor": null}));
        rig.ok("thread/resume", active());
        rig.ok("thread/resume", thread(CHILD, "active"));
        rig.pass(10, &json!([]));
        rig.want(rig.answer("res").is_some(), "the resume is not answered");
        let mirrored: Vec<_> = rig
            .told
            .iter()
            .filter(|it| named(it))
            .map(|it| &it["params"]["update"]["state"]["state"])
            .collect();
        rig.want(mirrored.last() == Some(&&json!("running")), &format!("told at last as {mirrored:?}"));
    }
}

/// It comes back with its parent, and by itself it would be a session that nobody lists.
#[test]
fn a_subagent_is_not_opened_by_itself() {
    for version in [1, 2] {
        let mut rig = Rig::new(version);
        rig.resume(false);
        let mut answer = idle();
        answer["thread"]["source"] = entry("T", "P", "idle")["source"].clone();
        rig.ok("thread/resume", answer);
        let error = rig.answer("res").expect("it is answered")["error"].clone();
        rig.want(error["code"] == -32602, &format!("answered with {error}"));
        rig.want(error["message"].to_string().contains("open P"), "it does not say what to do");
        rig.want(rig.is_called("thread/unsubscribe"), "its thread is kept");
        // Of the newer tools Codex itself refuses it.
        let mut rig = Rig::new(version);
        rig.resume(false);
        rig.err("thread/resume", "cannot resume an unloaded multi-agent v2 sub-agent through its parent");
        let error = rig.answer("res").expect("it is answered")["error"].clone();
        rig.want(error["code"] == -32602, &format!("answered with {error}"));
        // Nothing is open.
        rig.prompt("p1");
        rig.want(rig.answer("p1").expect("it is answered")["error"]["code"] == -32002, "it is open");
    }
}
