//! A resume, and everything that can happen before it is answered.

use crate::rig::{Rig, SESSION, active, idle, listed};
use serde_json::{Value, json};

#[test]
fn a_turn_that_ran_before_can_be_cancelled() {
    let mut rig = Rig::resuming(2, false);
    rig.ok("thread/resume", active());
    rig.pass(10, &json!([]));
    // Its id is not known yet: the cancel goes out with the first line that names it.
    rig.cancel();
    rig.command("A", "c1", Some("7"));
    rig.message("A", "m1");
    rig.pass(60_000, &json!([listed("c1", "7")]));
    rig.want(rig.is_called("turn/interrupt"), "the cancel is lost");
}

#[test]
fn a_turn_that_ran_before_and_has_a_name_is_cancelled_at_once() {
    let mut rig = Rig::resuming(2, false);
    let call = rig.calls().iter().find(|it| it["method"] == "thread/resume").cloned().unwrap_or_default();
    let page = json!({"limit": 1, "sortDirection": "desc", "itemsView": "notLoaded"});
    rig.want(call["params"]["initialTurnsPage"] == page, "the name is not asked for");
    rig.ok("thread/resume", in_turn("A", "inProgress"));
    rig.pass(10, &json!([]));
    rig.cancel();
    let call = rig.call("turn/interrupt");
    rig.want(call["params"]["turnId"] == "A", "the cancel waits");
}

#[test]
fn a_prompt_after_a_resume_in_mid_turn_goes_into_that_turn() {
    let mut rig = Rig::resuming(2, false);
    rig.ok("thread/resume", in_turn("A", "inProgress"));
    rig.pass(10, &json!([]));
    rig.prompt("p");
    let call = rig.call("turn/steer");
    rig.want(call["params"]["expectedTurnId"] == "A", "the prompt waits for a sign");
}

/// The newest turn is over, and the one that runs is newer than the page.
#[test]
fn a_turn_that_is_over_is_not_taken_for_the_one_that_runs() {
    let mut rig = Rig::resuming(2, false);
    rig.ok("thread/resume", in_turn("Z", "completed"));
    rig.pass(10, &json!([]));
    rig.cancel();
    rig.want(!rig.is_called("turn/interrupt"), "the wrong turn is interrupted");
    rig.message("A", "m1");
    let call = rig.call("turn/interrupt");
    rig.want(call["params"]["turnId"] == "A", "the cancel is lost");
}

#[test]
fn a_turn_that_ran_before_is_stopped_by_a_close() {
    let mut rig = Rig::resuming(2, false);
    rig.ok("thread/resume", active());
    rig.pass(10, &json!([]));
    rig.close();
    rig.message("A", "m1");
    rig.pass(60_000, &json!([]));
    rig.want(rig.answer("close").is_some(), "the close is not answered");
    rig.want(rig.is_called("turn/interrupt"), "the turn runs on");
}

#[test]
fn a_resume_is_answered_after_the_last_page_of_its_replay() {
    let mut rig = Rig::resuming(2, true);
    rig.ok("thread/resume", active());
    let page = |id: &str, next: Value| {
        let item = json!({"type": "agentMessage", "id": id, "text": "hello"});
        json!({"data": [{"turnId": "Z", "item": item}], "nextCursor": next})
    };
    // The end of a turn asks for the list of terminals, whose answer is none of the replay's.
    rig.done("A", "completed");
    rig.ok("thread/turns/list", turns(&["Z"]));
    rig.ok("thread/items/list", page("m1", json!("2")));
    rig.pass(1, &json!([]));
    rig.want(rig.answer("res").is_none(), "answered before the replay is whole");
    rig.ok("thread/items/list", page("m2", Value::Null));
    rig.pass(10, &json!([]));
    rig.want(rig.answer("res").is_some(), "never answered");
}

#[test]
fn a_replay_that_gives_the_same_page_for_ever_is_left() {
    let mut rig = Rig::resuming(2, true);
    rig.ok("thread/resume", idle());
    rig.ok("thread/turns/list", turns(&["Z"]));
    let mut n_pages = 0;
    while rig.is_called("thread/items/list") && n_pages < 100 {
        n_pages += 1;
        rig.ok("thread/items/list", json!({"data": [], "nextCursor": "same"}));
    }
    assert!(n_pages < 100, "the same cursor for ever");
    rig.pass(10, &json!([]));
    rig.want(rig.answer("res").is_some(), "never answered");
}

#[test]
fn a_session_closed_while_it_is_resumed_stays_closed() {
    let mut rig = Rig::resuming(2, false);
    rig.close();
    rig.want(rig.answer("close").is_some(), "the close is not answered");
    let from = rig.told.len();
    rig.ok("thread/resume", idle());
    rig.pass(10, &json!([]));
    let n_told = rig.told[from..].iter().filter(|it| it["params"]["sessionId"] == SESSION).count();
    rig.want(n_told == 0, "updates of a closed session");
    rig.prompt("p");
    rig.want(rig.answer("p").is_some_and(|it| it["error"]["code"] == -32002), "the closed session is open");
}

#[test]
fn an_open_session_closed_while_it_is_resumed_stays_closed() {
    let mut rig = Rig::open(2);
    rig.resume(false);
    rig.close();
    rig.want(rig.answer("close").is_some(), "the close is not answered");
    rig.ok("thread/resume", idle());
    rig.pass(10, &json!([]));
    rig.prompt("p");
    rig.want(rig.answer("p").is_some(), "open for the client, deaf to Codex");
}

#[test]
fn a_new_session_closed_before_its_answer_is_still_answered() {
    let mut rig = Rig::greeted(2);
    rig.ok("initialize", json!({"userAgent": "codex/1"}));
    rig.ok("account/read", json!({"account": null, "requiresOpenaiAuth": false}));
    rig.request("new", "session/new", json!({"cwd": "/w"}));
    rig.ok("thread/start", idle());
    // The answer carries the models, and those are not there yet.
    rig.close();
    rig.ok("model/list", json!({"data": [], "nextCursor": null}));
    rig.pass(600_000, &json!([]));
    rig.want(rig.answer("new").is_some(), "session/new is never answered");
}

#[test]
fn the_answer_of_a_prompt_comes_after_its_text_when_a_resume_is_between() {
    let mut rig = Rig::running(1);
    rig.resume(false);
    rig.ok("thread/resume", active());
    rig.text("A", "m1", "the end");
    rig.item("item/completed", "A", json!({"type": "agentMessage", "id": "m1", "text": "the end"}));
    rig.done("A", "completed");
    rig.pass(10, &json!([]));
    let text = rig.place(|it| it.to_string().contains("the end")).expect("the text is told");
    let answer = rig.place(|it| it["id"] == "p1").expect("the prompt is answered");
    rig.want(text < answer, "the answer comes before the text");
}

#[test]
fn a_turn_that_ends_under_a_resume_has_its_stop_reason() {
    let mut rig = Rig::running(2);
    rig.resume(false);
    rig.ok("thread/resume", active());
    rig.done("A", "failed");
    rig.pass(10, &json!([]));
    rig.want(rig.updates().any(|it| it["stopReason"] == "error"), "nobody is told how the turn ended");
}

#[test]
fn a_turn_that_begins_and_ends_under_a_resume_was_running() {
    let mut rig = Rig::open(2);
    rig.resume(false);
    rig.prompt("p1");
    rig.started("A");
    rig.done("A", "completed");
    let from = rig.told.len();
    rig.ok("thread/resume", idle());
    rig.pass(10, &json!([]));
    let updates = rig.told[from..].iter().map(|it| &it["params"]["update"]);
    let states = updates.filter(|it| it["sessionUpdate"] == "state_update");
    let states: Vec<(&Value, &Value)> = states.map(|it| (&it["state"], &it["stopReason"])).collect();
    let expected = [(&json!("running"), &Value::Null), (&json!("idle"), &json!("end_turn"))];
    rig.want(states == expected, &format!("told are {states:?}"));
}

#[test]
fn a_terminal_is_announced_before_it_is_listed() {
    let mut rig = Rig::greeted(2);
    rig.ok("initialize", json!({"userAgent": "codex/1"}));
    rig.ok("account/read", json!({"account": null, "requiresOpenaiAuth": false}));
    rig.resume(false);
    rig.ok("thread/resume", active());
    rig.pass(1, &json!([]));
    rig.command("A", "c1", Some("7"));
    rig.done("A", "completed");
    // Only this lets out the answer of the resume, and what waited behind it.
    rig.ok("model/list", json!({"data": [], "nextCursor": null}));
    rig.pass(10, &json!([listed("c1", "7")]));
    let lists = |it: &Value| it["params"]["update"]["background"].to_string().contains("c1");
    let listed = rig.place(lists).expect("c1 is in the background");
    let announced = rig.place(|it| it["params"]["update"]["sessionUpdate"] == "terminal_update");
    rig.want(announced.is_some_and(|it| it < listed), "listed before it is announced");
}

#[test]
fn a_mode_chosen_before_a_resume_holds_after_it() {
    let mut rig = Rig::open(2);
    rig.set_mode("read-only");
    rig.resume(false);
    rig.ok("thread/resume", idle());
    rig.pass(10, &json!([]));
    rig.prompt("p");
    let start = rig.call("turn/start");
    rig.want(start["params"]["sandboxPolicy"]["type"] == "readOnly", "the chosen mode is forgotten");
}

#[test]
fn a_resume_has_its_additional_directories() {
    let mut rig = Rig::new(2);
    let params = json!({"sessionId": SESSION, "cwd": "/w", "additionalDirectories": ["/x"]});
    rig.request("res", "session/resume", params);
    let resume = rig.call("thread/resume");
    rig.want(resume.to_string().contains("\"/x\""), "/x is dropped");
}

/// A thread in mid-turn, whose newest turn is this one.
fn in_turn(turn: &str, status: &str) -> Value {
    let mut opened = active();
    let page = json!([{"id": turn, "items": [], "itemsView": "notLoaded", "status": status, "error": null}]);
    opened["initialTurnsPage"] = json!({"data": page, "nextCursor": null, "backwardsCursor": null});
    opened
}

/// It has no items for them, and names them anew.
#[test]
fn a_thread_of_an_old_codex_comes_back_turn_by_turn() {
    let mut rig = Rig::resuming(2, true);
    let mut opened = idle();
    opened["thread"]["historyMode"] = json!("legacy");
    rig.ok("thread/resume", opened);
    let call = rig.call("thread/turns/list");
    rig.want(call["params"]["itemsView"] == "full", "its items are asked for one by one");
    let page = json!({"data": [
        {"id": "Y", "status": "completed", "items": []},
        {"id": "Z", "status": "completed", "items": [
            {"type": "userMessage", "id": "item-1", "clientId": null, "content": [{"type": "text", "text": "x"}]},
            {"type": "agentMessage", "id": "item-2", "text": "hello"},
        ]},
    ], "nextCursor": "more"});
    rig.codex(json!({"id": call["id"], "result": page}));
    rig.want(rig.updates().any(|it| it["messageId"] == "item-2"), "told only when all is read");
    rig.ok("thread/turns/list", json!({"data": [], "nextCursor": null}));
    rig.pass(10, &json!([]));
    rig.want(!rig.is_called("thread/items/list"), "what Codex refuses is asked for");
    rig.want(rig.answer("res").is_some_and(|it| it["result"].is_object()), "not opened");
}

#[test]
fn an_empty_session_can_be_opened_again_with_its_history() {
    for version in [1, 2] {
        let mut rig = Rig::open(version);
        let method = if version == 1 { "session/load" } else { "session/resume" };
        let params =
            json!({"sessionId": SESSION, "cwd": "/w", "mcpServers": [], "replayFrom": {"type": "start"}});
        rig.request("again", method, params);
        rig.ok("thread/resume", idle());
        let message =
            "thread T is not materialized yet; thread/turns/list is unavailable before first user message";
        rig.err("thread/turns/list", message);
        rig.pass(10, &json!([]));
        rig.want(rig.answer("again").is_some_and(|it| it["result"].is_object()), "not opened");
    }
}

/// Codex keeps an item when it ends: the beginning of this message is nowhere but here.
#[test]
fn a_message_that_is_being_written_is_whole_after_a_resume() {
    for ends_meanwhile in [false, true] {
        let mut rig = Rig::running(2);
        rig.message("A", "m1");
        rig.text("A", "m1", "one ");
        rig.resume(true);
        rig.text("A", "m1", "two ");
        rig.ok("thread/resume", active());
        rig.text("A", "m1", "three ");
        rig.ok("thread/turns/list", turns(&["A"]));
        let kept = json!({"type": "agentMessage", "id": "m1", "text": "one two three four"});
        if ends_meanwhile {
            rig.text("A", "m1", "four");
            rig.item("item/completed", "A", kept.clone());
        }
        let page = if ends_meanwhile { vec![json!({"turnId": "A", "item": kept})] } else { Vec::new() };
        rig.ok("thread/items/list", json!({"data": page, "nextCursor": null}));
        rig.pass(10, &json!([]));
        if !ends_meanwhile {
            rig.text("A", "m1", "four");
            rig.item("item/completed", "A", kept);
        }
        let from = rig.place(|it| it["params"]["update"]["sessionUpdate"] == "replay_complete");
        let told = &rig.told[from.expect("the replay is over")..];
        let chunks = told.iter().filter(|it| it["params"]["update"]["messageId"] == "m1");
        let text: String =
            chunks.filter_map(|it| it["params"]["update"]["content"]["text"].as_str()).collect();
        rig.want(text == "one two three four", &format!("told is {text:?}"));
    }
}

/// What ends between the request and Codex's answer is held back, and in the history as well.
#[test]
fn what_ends_while_a_resume_is_on_its_way_is_told_once() {
    let mut rig = Rig::running(2);
    rig.command("A", "c1", Some("7"));
    rig.resume(true);
    rig.command_ended("A", "c1", "out", 0);
    rig.item("item/completed", "A", json!({"type": "agentMessage", "id": "m1", "text": "said"}));
    let from = rig.told.len();
    rig.ok("thread/resume", active());
    rig.ok("thread/turns/list", turns(&["A"]));
    let mut ended = crate::rig::command("c1", Some("7"), "completed");
    (ended["aggregatedOutput"], ended["exitCode"]) = (json!("out"), json!(0));
    let said = json!({"type": "agentMessage", "id": "m1", "text": "said"});
    let items = [ended, said].map(|item| json!({"turnId": "A", "item": item}));
    rig.ok("thread/items/list", json!({"data": items, "nextCursor": null}));
    rig.pass(10, &json!([]));
    let updates: Vec<&Value> = rig.told[from..].iter().map(|it| &it["params"]["update"]).collect();
    let n_ends = updates.iter().filter(|it| it["toolCallId"] == "c1" && it["status"] == "completed").count();
    let n_said = updates.iter().filter(|it| it["messageId"] == "m1").count();
    rig.want((n_ends, n_said) == (1, 1), &format!("told {n_ends} and {n_said} times"));
}

/// A call that is at work is told to a client that begins afresh, with what it said so far.
#[test]
fn calls_at_work_are_told_again() {
    let mut rig = Rig::running(2);
    let tool = |status: &str| json!({"type": "mcpToolCall", "id": "mcp", "server": "docs", "tool": "find", "status": status, "arguments": {"q": 1}});
    rig.item("item/started", "A", tool("inProgress"));
    rig.command("A", "waits", None);
    rig.resume(true);
    let from = rig.told.len();
    rig.ok("thread/resume", active());
    rig.ok("thread/turns/list", turns(&["A"]));
    rig.item("item/completed", "A", tool("completed"));
    rig.ok(
        "thread/items/list",
        json!({"data": [{"turnId": "A", "item": tool("completed")}], "nextCursor": null}),
    );
    rig.pass(10, &json!([]));
    let updates = rig.told[from..].iter().map(|it| it["params"]["update"].clone());
    let of = |id: &str| updates.clone().filter(|it| it["toolCallId"] == id).collect::<Vec<_>>();
    let (mcp, waits) = (of("mcp"), of("waits"));
    rig.want(mcp.first().is_some_and(|it| it["rawInput"] == json!({"q": 1})), "the call is not told again");
    rig.want(mcp.last().is_some_and(|it| it["status"] == "completed"), "its end is lost");
    rig.want(mcp.iter().filter(|it| it["status"] == "completed").count() == 1, "its end is told twice");
    rig.want(
        waits.first().is_some_and(|it| it["status"] == "pending"),
        "what waits for its approval is lost",
    );
    let answered = rig.place(|it| it["id"] == "res");
    let told = rig.place(|it| it["params"]["update"]["toolCallId"] == "waits");
    rig.want(told < answered, "told after the answer");
}

/// Nobody knows how a command of an earlier process ended; it is not told as running.
#[test]
fn a_command_without_an_end_in_the_history_has_ended() {
    let mut rig = Rig::resuming(2, true);
    rig.ok("thread/resume", idle());
    rig.ok("thread/turns/list", turns(&["Z"]));
    let item = crate::rig::command("c1", Some("7"), "inProgress");
    rig.ok("thread/items/list", json!({"data": [{"turnId": "Z", "item": item}], "nextCursor": null}));
    rig.pass(10, &json!([]));
    let exit = rig.updates().find(|it| it["exitStatus"].is_object()).cloned().unwrap_or_default();
    rig.want(exit["exitStatus"] == json!({}), "the exit is not told, or made up");
    let status = rig
        .updates()
        .filter(|it| it["toolCallId"] == "c1")
        .filter_map(|it| it["status"].as_str())
        .next_back();
    rig.want(status == Some("failed"), "the call goes on");
}

/// A page of the names of these turns.
fn turns(names: &[&str]) -> Value {
    let name = |it: &&str| json!({"id": it, "items": [], "itemsView": "notLoaded", "status": "completed"});
    json!({"data": names.iter().map(name).collect::<Vec<_>>(), "nextCursor": null})
}
