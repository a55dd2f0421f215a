//! What subagents ask, at the wrong moments.

use crate::rig::Rig;
use serde_json::{Value, json};

const CHILD: &str = "C";

/// A child of turn `A` begins to work.
fn works(rig: &mut Rig) {
    let turn = json!({"id": "CA", "rootTurnId": "A", "status": "inProgress"});
    rig.notify("turn/started", json!({"threadId": CHILD, "turn": turn}));
}

fn asks(rig: &mut Rig, request: u32) {
    let params = json!({"kind": "command", "threadId": CHILD, "turnId": "CA", "itemId": format!("x{request}"),
        "command": "touch q", "cwd": "/w", "availableDecisions": ["accept", "cancel"]});
    rig.codex(json!({"id": request, "method": "item/commandExecution/requestApproval", "params": params}));
}

fn question(rig: &Rig) -> Option<Value> {
    rig.told.iter().rfind(|it| it["method"] == "session/request_permission").cloned()
}

fn select(rig: &mut Rig, question: &Value, kind: &str) {
    let options = question["params"]["options"].as_array().expect("it has options");
    let option = options.iter().find(|it| it["kind"] == kind).expect("it is offered")["optionId"].clone();
    rig.client(
        &json!({"id": question["id"], "result": {"outcome": {"outcome": "selected", "optionId": option}}}),
    );
}

#[test]
fn a_child_that_outlives_its_turn_is_still_heard() {
    for version in [1, 2] {
        let mut rig = Rig::running(version);
        works(&mut rig);
        rig.done("A", "completed");
        rig.pass(10, &json!([]));
        asks(&mut rig, 900);
        let question = question(&rig).expect("the user is asked");
        if version == 2 {
            rig.want(rig.state()["state"] == "idle", "the session waits for its user");
        }
        rig.want(question["params"]["sessionId"] == "T", "another session is asked");
        select(&mut rig, &question, "allow_once");
        rig.want(rig.answered(900) == vec![json!({"decision": "accept"})], "the approval is lost");
    }
}

#[test]
fn the_end_of_the_turn_withdraws_nothing_of_a_child_and_its_own_end_does() {
    for version in [1, 2] {
        let mut rig = Rig::running(version);
        works(&mut rig);
        asks(&mut rig, 900);
        rig.done("A", "completed");
        let is_withdrawal = |it: &Value| it["method"] == "$/cancel_request";
        rig.want(rig.place(is_withdrawal).is_none(), "withdrawn with the turn of the parent");
        let done = json!({"id": "CA", "status": "interrupted"});
        rig.notify("turn/completed", json!({"threadId": CHILD, "turn": done}));
        rig.want(rig.place(is_withdrawal).is_some(), "the question stays for ever");
        let question = question(&rig).expect("the user is asked");
        select(&mut rig, &question, "allow_once");
        rig.want(rig.answered(900).is_empty(), "Codex is answered what it no longer asks");
    }
}

#[test]
fn what_is_settled_elsewhere_is_withdrawn_and_a_close_withdraws_the_rest() {
    let mut rig = Rig::running(2);
    works(&mut rig);
    asks(&mut rig, 900);
    asks(&mut rig, 901);
    let withdrawn = |rig: &Rig| rig.told.iter().filter(|it| it["method"] == "$/cancel_request").count();
    rig.notify("serverRequest/resolved", json!({"threadId": CHILD, "requestId": 900}));
    rig.want(withdrawn(&rig) == 1, "settled elsewhere and still asked");
    rig.close();
    rig.want(withdrawn(&rig) == 2, "closed and still asked");
}

#[test]
fn a_thread_that_works_for_nobody_is_told_no() {
    let mut rig = Rig::running(2);
    let turn = json!({"id": "CA", "rootTurnId": "Z", "status": "inProgress"});
    rig.notify("turn/started", json!({"threadId": CHILD, "turn": turn}));
    asks(&mut rig, 900);
    rig.want(question(&rig).is_none(), "somebody is asked");
    rig.want(rig.refused(900), "nobody is told no");
}
