//! Subagents at the wrong moments: not announced yet, asking, closed.

use crate::rig::{Rig, active, thread};
use serde_json::{Value, json};

const CHILD: &str = "C";

/// A child of turn `A` begins to work, and nobody has said whose it is.
fn appears(rig: &mut Rig, root: &str) {
    let turn = json!({"id": "CA", "rootTurnId": root, "status": "inProgress"});
    rig.notify("turn/started", json!({"threadId": CHILD, "turn": turn}));
}

/// Codex says whose it is.
fn is_known(rig: &mut Rig, parent: &str) {
    let spawn =
        json!({"parent_thread_id": parent, "depth": 1, "agent_path": "/root/scout", "agent_nickname": "Ada"});
    let source = json!({"subAgent": {"thread_spawn": spawn}});
    rig.ok("thread/read", json!({"thread": {"id": CHILD, "cwd": "/w", "source": source}}));
}

/// A child of the session works.
fn works(rig: &mut Rig) {
    appears(rig, "A");
    is_known(rig, "T");
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

fn is_of_child(it: &Value) -> bool {
    it["params"]["sessionId"] == CHILD
}

fn is_announcement(it: &Value) -> bool {
    it["params"]["update"]["sessionUpdate"] == "subagent_update"
}

#[test]
fn a_child_that_outlives_its_turn_is_still_heard() {
    for (version, asked) in [(1, "T"), (2, CHILD)] {
        let mut rig = Rig::running(version);
        works(&mut rig);
        rig.done("A", "completed");
        rig.pass(10, &json!([]));
        asks(&mut rig, 900);
        let question = question(&rig).expect("the user is asked");
        rig.want(question["params"]["sessionId"] == asked, "another session is asked");
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
    for version in [1, 2] {
        let mut rig = Rig::running(version);
        works(&mut rig);
        asks(&mut rig, 900);
        asks(&mut rig, 901);
        let withdrawn = |rig: &Rig| rig.told.iter().filter(|it| it["method"] == "$/cancel_request").count();
        rig.notify("serverRequest/resolved", json!({"threadId": CHILD, "requestId": 900}));
        rig.want(withdrawn(&rig) == 1, "settled elsewhere and still asked");
        rig.close();
        rig.want(withdrawn(&rig) == 2, "closed and still asked");
    }
}

#[test]
fn nothing_of_a_child_comes_before_its_announcement() {
    let mut rig = Rig::running(2);
    appears(&mut rig, "A");
    asks(&mut rig, 900);
    asks(&mut rig, 901);
    rig.notify("serverRequest/resolved", json!({"threadId": CHILD, "requestId": 901}));
    rig.want(rig.place(is_of_child).is_none(), "told before it is announced");
    is_known(&mut rig, "T");
    let places = (rig.place(is_announcement), rig.place(is_of_child));
    rig.want(places.0.is_some() && places.0 < places.1, "not announced first");
    let asked = rig.told.iter().filter(|it| it["method"] == "session/request_permission").count();
    rig.want(asked == 1, "what was settled meanwhile is asked, or what was not is not");
}

#[test]
fn a_child_of_which_codex_says_nothing_belongs_where_its_turn_goes_back_to() {
    let mut rig = Rig::running(2);
    appears(&mut rig, "A");
    asks(&mut rig, 900);
    rig.pass(1_900, &json!([]));
    rig.want(question(&rig).is_none(), "asked before the bound");
    rig.pass(200, &json!([]));
    rig.want(question(&rig).is_some_and(|it| is_of_child(&it)), "the question is lost");
    // The word that comes too late only adds its name.
    is_known(&mut rig, "T");
    let named = |it: &Value| is_announcement(it) && it["params"]["update"]["title"] == "scout (Ada)";
    rig.want(rig.place(named).is_some(), "its name is lost");
}

#[test]
fn what_waits_is_bounded() {
    let mut rig = Rig::running(2);
    appears(&mut rig, "A");
    for n in 0..260 {
        let item = json!({"type": "agentMessage", "id": format!("m{n}"), "text": "so"});
        rig.notify("item/completed", json!({"threadId": CHILD, "turnId": "CA", "item": item}));
    }
    rig.want(rig.place(is_announcement).is_some(), "not announced when too much waits");
    let messages = rig
        .told
        .iter()
        .filter(|it| is_of_child(it) && it["params"]["update"]["sessionUpdate"] == "agent_message_chunk");
    rig.want(messages.count() == 260, "something that waited is lost");
}

#[test]
fn a_thread_that_works_for_nobody_is_told_no() {
    let mut rig = Rig::running(2);
    appears(&mut rig, "Z");
    asks(&mut rig, 900);
    is_known(&mut rig, "another");
    rig.pass(2_000, &json!([]));
    rig.want(question(&rig).is_none(), "somebody is asked");
    rig.want(rig.refused(900), "nobody is told no");
    rig.want(rig.place(is_announcement).is_none(), "announced to a client that has no such session");
}

#[test]
fn what_codex_does_by_itself_gets_no_session_and_its_questions_are_put() {
    let mut rig = Rig::running(2);
    appears(&mut rig, "A");
    rig.ok(
        "thread/read",
        json!({"thread": {"id": CHILD, "cwd": "/w", "source": {"subAgent": "memory_consolidation"}}}),
    );
    asks(&mut rig, 900);
    let question = question(&rig).expect("the user is asked");
    rig.want(question["params"]["sessionId"] == "T", "another session is asked");
    rig.want(rig.place(is_announcement).is_none(), "announced as a subagent");
    rig.close();
    rig.want(rig.is_called("turn/interrupt"), "it works on after the close");
}

#[test]
fn a_child_that_waits_to_be_announced_is_closed_with_its_parent() {
    let mut rig = Rig::open(2);
    rig.prompt("p1");
    rig.started("A");
    appears(&mut rig, "A");
    rig.close();
    let interrupted = rig.n_called("turn/interrupt");
    rig.want(interrupted == 2, "the turn of the child, or of its parent, goes on");
    rig.done("A", "interrupted");
    rig.want(rig.answer("close").is_none(), "answered while the child works");
    let done = json!({"id": "CA", "status": "interrupted"});
    rig.notify("turn/completed", json!({"threadId": CHILD, "turn": done}));
    while !rig.sweeps.is_empty() {
        rig.swept();
    }
    rig.want(rig.answer("close").is_some(), "the close is not answered");
    rig.want(rig.n_called("thread/backgroundTerminals/clean") == 2, "something is not cleaned");
    rig.want(rig.n_called("thread/unsubscribe") == 2, "somebody is still listened to");
}

#[test]
fn a_turn_whose_start_was_lost_is_joined_at_its_first_item() {
    let mut rig = Rig::running(2);
    rig.notify("thread/status/changed", json!({"threadId": CHILD, "status": {"type": "idle"}}));
    is_known(&mut rig, "T");
    let item = json!({"type": "agentMessage", "id": "m", "text": ""});
    rig.notify("item/started", json!({"threadId": CHILD, "turnId": "CA", "item": item}));
    let runs = |it: &Value| is_of_child(it) && it["params"]["update"]["state"] == "running";
    rig.want(rig.place(runs).is_some(), "it works and is idle");
}

#[test]
fn what_waits_dies_with_the_app_server() {
    let mut rig = Rig::running(2);
    appears(&mut rig, "A");
    rig.dies();
    rig.pass(3_000, &json!([]));
    rig.want(rig.place(is_announcement).is_none(), "announced after the end of its app-server");
}

#[test]
fn a_thread_that_codex_cannot_read_yet_is_read_again() {
    let mut rig = Rig::running(2);
    appears(&mut rig, "A");
    rig.err("thread/read", "failed to read thread: rollout is empty");
    rig.want(!rig.is_called("thread/read"), "asked again at once");
    rig.pass(250, &json!([]));
    is_known(&mut rig, "T");
    let named = |it: &Value| is_announcement(it) && it["params"]["update"]["title"] == "scout (Ada)";
    rig.want(rig.place(named).is_some(), "not announced by what it is");
}

#[test]
fn the_model_is_told_that_its_subagent_was_cut_off() {
    let mut rig = Rig::running(2);
    works(&mut rig);
    rig.done("A", "completed");
    rig.pass(10, &json!([]));
    rig.client(&json!({"method": "session/cancel", "params": {"sessionId": CHILD}}));
    let interrupt = rig.call("turn/interrupt");
    rig.want(interrupt["params"]["threadId"] == CHILD, "another turn is cut off");
    let done = json!({"id": "CA", "status": "interrupted"});
    rig.notify("turn/completed", json!({"threadId": CHILD, "turn": done}));
    rig.prompt("p2");
    let told = rig.call("turn/start")["params"]["additionalContext"].to_string();
    rig.want(told.contains("The subagent scout (Ada) was interrupted by the user"), &told);
}

/// The session waits for its subagent, which the user cuts off.
fn cut_off_while_awaited(version: u32) -> Rig {
    let mut rig = Rig::running_with(version, &json!({"subagents": {}}));
    works(&mut rig);
    let wait = json!({"type": "collabAgentToolCall", "id": "wait", "tool": "wait", "status": "inProgress",
        "receiverThreadIds": [], "agentsStates": {}, "prompt": null});
    rig.notify("item/started", json!({"threadId": "T", "turnId": "A", "item": wait}));
    rig.client(&json!({"method": "session/cancel", "params": {"sessionId": CHILD}}));
    rig.call("turn/interrupt");
    rig
}

const CUT_OFF: &str = "The subagent scout (Ada) was interrupted by the user";

#[test]
fn the_model_of_a_parent_that_waits_is_told_at_once_and_once() {
    for version in [1, 2] {
        let mut rig = cut_off_while_awaited(version);
        let told = rig.call("thread/inject_items");
        rig.want(told["params"]["threadId"] == "T", "another model is told");
        rig.want(told["params"]["items"].to_string().contains(CUT_OFF), &told.to_string());
        rig.codex(json!({"id": told["id"], "result": {}}));
        // Cut off once.
        rig.client(&json!({"method": "session/cancel", "params": {"sessionId": CHILD}}));
        rig.prompt("p2");
        let steer = rig.call("turn/steer");
        rig.want(steer["params"].get("additionalContext").is_none(), "it is told again");
    }
}

#[test]
fn what_a_parent_that_waits_cannot_be_told_comes_with_the_next_prompt() {
    for version in [1, 2] {
        let mut rig = cut_off_while_awaited(version);
        rig.err("thread/inject_items", "not now");
        rig.prompt("p2");
        let told = rig.call("turn/steer")["params"]["additionalContext"].to_string();
        rig.want(told.contains(CUT_OFF), &told);

        let mut rig = cut_off_while_awaited(version);
        rig.dies();
        rig.swept();
        rig.prompt("p2");
        rig.recovers();
        let told = rig.call("turn/start")["params"]["additionalContext"].to_string();
        rig.want(told.contains(CUT_OFF), &told);
    }
}

/// What a question is about is shown, also when it had to wait for the session to come back.
#[test]
fn a_change_of_files_that_is_asked_about_under_a_resume_is_shown() {
    let mut rig = Rig::running(1);
    works(&mut rig);
    let change = json!({"path": "/w/new.txt", "kind": {"type": "add"}, "diff": "by a subagent\n"});
    let item = json!({"type": "fileChange", "id": "patch", "changes": [change], "status": "inProgress"});
    rig.notify("item/started", json!({"threadId": CHILD, "turnId": "CA", "item": item}));
    rig.resume(false);
    let params = json!({"threadId": CHILD, "turnId": "CA", "itemId": "patch", "reason": null, "grantRoot": null,
        "availableDecisions": ["accept", "cancel"]});
    rig.codex(json!({"id": 7, "method": "item/fileChange/requestApproval", "params": params}));
    rig.want(question(&rig).is_none(), "asked before the session is back");
    rig.ok("thread/resume", active());
    rig.pass(10, &json!([]));
    let call = question(&rig).expect("it is asked")["params"]["toolCall"]["toolCallId"].clone();
    let shows = |it: &Value| {
        let update = &it["params"]["update"];
        update["toolCallId"] == call && update["content"][0]["newText"] == "by a subagent\n"
    };
    rig.want(rig.place(shows).is_some(), "the change is not shown");
}

/// Its own session is told first, and its parent in the same words, though both are held back.
#[test]
fn a_child_that_appears_under_a_resume_is_told_in_order() {
    let mut rig = Rig::running(2);
    rig.resume(false);
    works(&mut rig);
    rig.want(!rig.told.iter().any(is_of_child), "told of before its session is back");
    rig.ok("thread/resume", active());
    rig.ok("thread/resume", thread(CHILD, "active"));
    rig.pass(10, &json!([]));
    let state = |it: &Value| {
        let update = &it["params"]["update"];
        match (is_of_child(it), update["sessionUpdate"].as_str()) {
            (true, Some("state_update")) => Some(format!("own {}", update["state"])),
            (false, Some("subagent_update")) => Some(format!("mirrored {}", update["state"]["state"])),
            _ => None,
        }
    };
    let told: Vec<String> = rig.told.iter().filter_map(state).filter(|it| it != "mirrored null").collect();
    // As it is, and not as it was announced before that.
    let expected = [r#"own "running""#, r#"mirrored "running""#];
    rig.want(told == expected, &format!("told are {told:?}"));
    rig.want(rig.state()["background"].to_string().contains(CHILD), "it works and is not listed");
}

/// Its turn begins a moment after it was announced, and would run for nobody.
#[test]
fn a_child_that_was_just_announced_is_waited_for_by_a_close() {
    for version in [1, 2] {
        let mut rig = Rig::running_with(version, &json!({"subagents": {}}));
        let item = json!({"type": "subAgentActivity", "id": "s", "kind": "started", "agentThreadId": CHILD,
            "agentPath": "/root/scout"});
        rig.item("item/started", "A", item.clone());
        rig.item("item/completed", "A", item);
        rig.close();
        rig.done("A", "interrupted");
        rig.hang(50);
        rig.want(rig.answer("close").is_none(), "closed over its head");
        let turn = json!({"id": "CA", "rootTurnId": "A", "status": "inProgress"});
        rig.notify("turn/started", json!({"threadId": CHILD, "turn": turn}));
        let interrupt = rig.call("turn/interrupt");
        rig.want(interrupt["params"]["threadId"] == "T", "another turn first");
        let interrupt = rig.call("turn/interrupt");
        rig.want(interrupt["params"]["threadId"] == CHILD, "it works on");
        rig.notify(
            "turn/completed",
            json!({"threadId": CHILD, "turn": {"id": "CA", "status": "interrupted"}}),
        );
        while !rig.sweeps.is_empty() {
            rig.swept();
        }
        rig.want(rig.answer("close").is_some_and(|it| it["result"].is_object()), "not closed");
    }
}
