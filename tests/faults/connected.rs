//! An app-server that runs without us: lost, found again, left as it is.

use crate::rig::{Rig, SESSION, idle, listed};
use serde_json::{Value, json};

/// What one that was just found says of a thread whose newest turn is `A`.
fn thread(status: &str, turn: &str) -> Value {
    json!({"thread": {"id": SESSION, "cwd": "/w", "status": {"type": status}}, "cwd": "/w", "model": "m",
        "initialTurnsPage": {"data": [{"id": "A", "status": turn, "error": null}]}})
}

/// One command is listed, and no turn runs.
fn with_terminal(version: u32) -> Rig {
    let mut rig = Rig::connected(version);
    rig.prompt("p1");
    rig.started("A");
    rig.command("A", "dev", Some("7"));
    rig.done("A", "completed");
    rig.pass(100, &json!([listed("dev", "7")]));
    rig
}

/// A turn runs, with a command in the foreground.
fn in_a_turn(version: u32) -> Rig {
    let mut rig = Rig::connected(version);
    rig.prompt("p1");
    rig.started("A");
    rig.command("A", "build", Some("7"));
    rig
}

/// It has the thread, and nothing is said about how to load it.
fn is_loaded(rig: &mut Rig) {
    rig.ok("thread/backgroundTerminals/list", json!({"data": [], "nextCursor": null}));
    let resume = rig.calls().iter().find(|it| it["method"] == "thread/resume").cloned().unwrap_or_default();
    for setting in ["config", "cwd", "runtimeWorkspaceRoots", "developerInstructions"] {
        rig.want(resume["params"][setting].is_null(), "a setting would make Codex load it anew");
    }
}

/// Passes time until it is tried again, and lets that succeed; nothing was missed.
fn found_again(rig: &mut Rig, thread: Value, terminals: &Value) {
    found_with(rig, thread, &json!([]), terminals);
}

/// The same, with what the history has, newest first.
fn found_with(rig: &mut Rig, thread: Value, missed: &Value, terminals: &Value) {
    let before = rig.generation();
    rig.hang(250);
    rig.want(rig.generation() != before, "nobody looked for it");
    rig.booted();
    is_loaded(rig);
    rig.ok("thread/resume", thread);
    rig.want(!rig.is_called("thread/backgroundTerminals/list"), "first what was missed");
    rig.ok("thread/items/list", json!({"data": missed, "nextCursor": null}));
    rig.pass(0, terminals);
}

fn lists(state: &Value) -> Vec<&str> {
    let list = state["background"].as_array().into_iter().flatten();
    list.filter_map(|it| it["terminalId"].as_str()).collect()
}

fn exits(rig: &Rig) -> Vec<Value> {
    let exits = rig.updates().filter(|it| it["sessionUpdate"] == "terminal_update");
    exits.filter(|it| it["exitStatus"].is_object()).map(|it| it["exitStatus"].clone()).collect()
}

#[test]
fn a_lost_connection_ends_nothing_and_what_lives_is_taken_up_again() {
    let mut rig = with_terminal(2);
    rig.dies_of("closed by the app-server", None);
    let state = rig.state();
    assert_eq!((&state["state"], lists(&state)), (&json!("unknown"), vec!["dev"]), "the last list");
    rig.want(rig.sweeps.is_empty() && rig.n_stops == 0, "nothing of it is ours to end");
    found_again(&mut rig, idle(), &json!([listed("dev", "7")]));
    let state = rig.state();
    assert_eq!((&state["state"], lists(&state)), (&json!("idle"), vec!["dev"]));
    rig.want(rig.watched.contains_key("dev"), "it is watched again");
    rig.pass(5_000, &json!([listed("dev", "7")]));
    rig.want(exits(&rig).is_empty(), "no end was invented");
    // It goes on where it was.
    rig.command_ended("A", "dev", "bye\n", 3);
    assert_eq!(exits(&rig).len(), 1);
    assert_eq!(exits(&rig)[0]["exitCode"], 3);
    assert_eq!(lists(&rig.state()), [""; 0]);
}

#[test]
fn what_ended_meanwhile_has_ended_in_a_way_that_nobody_knows() {
    let mut rig = with_terminal(2);
    rig.dies_of("Connection reset by peer", None);
    found_again(&mut rig, idle(), &json!([]));
    rig.pass(3_000, &json!([]));
    let exits = exits(&rig);
    assert_eq!(exits.len(), 1, "{exits:?}");
    let known: Vec<&String> = exits[0].as_object().into_iter().flatten().map(|(name, _)| name).collect();
    assert!(!known.iter().any(|it| ["exitCode", "signal"].contains(&it.as_str())), "{exits:?}");
    assert_eq!((&rig.state()["state"], lists(&rig.state())), (&json!("idle"), vec![]));
}

#[test]
fn a_turn_that_goes_on_is_gone_on_with() {
    for version in [1, 2] {
        let mut rig = in_a_turn(version);
        rig.dies_of("closed by the app-server", None);
        found_again(&mut rig, thread("active", "inProgress"), &json!([listed("build", "7")]));
        if version == 2 {
            assert_eq!((&rig.state()["state"], lists(&rig.state())), (&json!("running"), vec![]));
        }
        rig.prompt("p2");
        rig.want(rig.is_called("turn/steer"), "it is steered as before");
        rig.command_ended("A", "build", "built\n", 0);
        rig.text("A", "m", "All done.");
        rig.done("A", "completed");
        if version == 1 {
            let answer = rig.answer("p1").unwrap_or_default();
            rig.want(answer["result"]["stopReason"] == "end_turn", &format!("{answer}"));
        }
    }
}

#[test]
fn a_turn_that_ended_meanwhile_ends_as_it_ended() {
    for (status, stop) in [("completed", Some("end_turn")), ("interrupted", None), ("failed", None)] {
        let mut rig = in_a_turn(1);
        rig.dies_of("closed by the app-server", None);
        found_again(&mut rig, thread("idle", status), &json!([]));
        let answer = rig.answer("p1").unwrap_or_default();
        assert_eq!(answer["result"]["stopReason"].as_str(), stop, "{status}: {answer}");
        assert_eq!(answer["error"].is_object(), stop.is_none(), "{status}: {answer}");

        let mut rig = in_a_turn(2);
        rig.dies_of("closed by the app-server", None);
        found_again(&mut rig, thread("idle", status), &json!([listed("build", "7")]));
        let state = rig.state();
        assert_eq!((&state["state"], lists(&state)), (&json!("idle"), vec!["build"]), "it outlives its turn");
        assert_eq!(state["stopReason"].as_str() == Some("end_turn"), stop.is_some(), "{status}: {state}");
    }
}

#[test]
fn a_turn_of_somebody_else_that_began_meanwhile_is_shown() {
    let mut rig = with_terminal(2);
    rig.dies_of("closed by the app-server", None);
    let mut other = thread("active", "inProgress");
    other["initialTurnsPage"]["data"][0]["id"] = json!("B");
    found_again(&mut rig, other, &json!([listed("dev", "7")]));
    assert_eq!(rig.state()["state"], "running");
    rig.done("B", "completed");
    assert_eq!(rig.state()["state"], "idle");
}

#[test]
fn it_is_looked_for_ever_more_rarely_and_a_prompt_looks_at_once() {
    let mut rig = with_terminal(2);
    rig.dies_of("closed by the app-server", None);
    let mut last = rig.generation();
    for pause in [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000] {
        rig.hang(pause - 1);
        rig.want(rig.generation() == last, &format!("too early, before {pause} ms"));
        rig.hang(1);
        rig.want(rig.generation() != last, &format!("nobody looked after {pause} ms"));
        last = rig.generation();
        rig.not_started();
    }
    let state = rig.state();
    assert_eq!((&state["state"], lists(&state)), (&json!("unknown"), vec!["dev"]), "as it was");
    rig.prompt("p2");
    rig.want(rig.generation() != last, "a prompt is a reason to look");
    rig.not_started();
    let answer = rig.answer("p2").unwrap_or_default();
    rig.want(answer["error"]["code"] == -32603, &format!("{answer}"));
    rig.prompt("p3");
    rig.booted();
    is_loaded(&mut rig);
    rig.ok("thread/resume", idle());
    rig.want(!rig.is_called("turn/start"), "first what was missed");
    rig.ok("thread/items/list", json!({"data": [], "nextCursor": null}));
    rig.pass(0, &json!([listed("dev", "7")]));
    rig.want(rig.is_called("turn/start"), "the prompt goes on");
}

#[test]
fn nobody_waits_for_ever_for_the_end_of_a_turn_that_cannot_be_seen() {
    let mut rig = in_a_turn(1);
    rig.dies_of("closed by the app-server", None);
    for pause in [250, 500, 1_000, 2_000, 4_000] {
        rig.want(rig.answer("p1").is_none(), "it may still be found");
        rig.hang(pause);
        rig.not_started();
    }
    let answer = rig.answer("p1").unwrap_or_default();
    rig.want(answer["error"]["code"] == -32603, &format!("{answer}"));
}

#[test]
fn one_that_is_lost_again_and_again_is_left_alone_for_a_while() {
    let mut rig = with_terminal(2);
    rig.dies_of("closed by the app-server", None);
    for _ in 0..2 {
        rig.hang(250);
        rig.booted();
        rig.dies_of("closed by the app-server", None);
    }
    let last = rig.generation();
    rig.prompt("p2");
    rig.want(rig.generation() == last, "not tried again");
    let answer = rig.answer("p2").unwrap_or_default();
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    rig.want(message.contains("is not connected to again for now"), message);
    rig.hang(90_000);
    rig.want(rig.generation() != last, "later it is tried again");
}

#[test]
fn an_answer_that_never_came_is_asked_for_again_by_the_app_server() {
    let mut rig = in_a_turn(2);
    rig.command("A", "ask", None);
    rig.asks(41, "command", "A", "ask");
    let asked = |rig: &Rig| rig.told.iter().filter(|it| it["method"] == "session/request_permission").count();
    assert_eq!(asked(&rig), 1);
    rig.dies_of("closed by the app-server", None);
    rig.want(rig.told.iter().any(|it| it["method"] == "$/cancel_request"), "nobody can be answered");
    found_again(&mut rig, thread("active", "inProgress"), &json!([]));
    rig.asks(41, "command", "A", "ask");
    assert_eq!(asked(&rig), 2);
    // Another client of it is quicker.
    let before = rig.told.len();
    rig.notify("serverRequest/resolved", json!({"requestId": 41}));
    rig.want(rig.told[before..].iter().any(|it| it["method"] == "$/cancel_request"), "ours is withdrawn");
    rig.want(rig.answered(41).is_empty() && !rig.refused(41), "and never answered");
}

#[test]
fn a_cancel_in_the_dark_is_made_up_for() {
    let mut rig = in_a_turn(2);
    rig.dies_of("closed by the app-server", None);
    rig.cancel();
    found_again(&mut rig, thread("active", "inProgress"), &json!([listed("build", "7")]));
    rig.want(rig.is_called("turn/interrupt"), "it is interrupted");
}

#[test]
fn leaving_unsubscribes_and_stops_nothing() {
    for version in [1, 2] {
        for mut rig in [with_terminal(version), in_a_turn(version)] {
            rig.hangs_up();
            let rest: Vec<&str> = rig.calls().iter().filter_map(|it| it["method"].as_str()).collect();
            assert_eq!(rest.iter().filter(|it| **it == "thread/unsubscribe").count(), 1, "{rest:?}");
            for method in ["turn/interrupt", "thread/backgroundTerminals/clean"] {
                assert_eq!(rig.n_called(method), 0, "{method}");
            }
            assert_eq!(rig.n_called("thread/backgroundTerminals/terminate"), 0);
            rig.want(rig.sweeps.is_empty() && rig.n_stops == 0, "it is not ours to end");
            assert_eq!(rig.ended, [rig.generation()], "the connection is closed");
            rig.dies_of("closed by us", None);
            assert_eq!(rig.exit, Some(0));
            rig.want(rig.unanswered().is_empty(), &format!("no answer to {:?}", rig.unanswered()));
            rig.want(exits(&rig).is_empty(), "no end was invented");
        }
    }
}

#[test]
fn what_the_client_had_ended_is_ended_before_we_leave() {
    let mut rig = with_terminal(2);
    rig.close();
    rig.hangs_up();
    rig.want(rig.exit.is_none() && rig.ended.is_empty(), "the close is under way");
    rig.ok("thread/backgroundTerminals/terminate", json!({"terminated": true}));
    let mut item = crate::rig::command("dev", Some("7"), "failed");
    item["exitCode"] = json!(-1);
    rig.item("item/completed", "A", item);
    rig.swept();
    rig.want(rig.answer("close").is_some_and(|it| it["error"].is_null()), "the close is answered");
    assert_eq!(rig.n_called("thread/backgroundTerminals/clean"), 1);
    assert_eq!(rig.ended, [rig.generation()]);
}

#[test]
fn threads_that_are_loaded_for_us_outlive_us() {
    let mut rig = Rig::connected(2);
    rig.request("new2", "session/new", json!({"cwd": "/w", "mcpServers": []}));
    rig.ok("fs/getMetadata", json!({"isDirectory": true}));
    let kept = |call: &Value| call["params"]["config"]["thread_unload_delay_secs"].as_u64();
    assert!(kept(&rig.call("thread/start")) > Some(24 * 60 * 60));
    rig.dies_of("closed by the app-server", None);
    rig.hang(250);
    rig.booted();
    rig.err("thread/backgroundTerminals/list", "thread not found: T");
    assert!(kept(&rig.call("thread/resume")) > Some(24 * 60 * 60));
    // One of our own ends with us anyway.
    let mut rig = Rig::new(2);
    rig.request("new", "session/new", json!({"cwd": "/w", "mcpServers": []}));
    rig.ok("fs/getMetadata", json!({"isDirectory": true}));
    assert_eq!(kept(&rig.call("thread/start")), None);
}

/// An entry of a history.
fn entry(turn: &str, item: Value) -> Value {
    json!({"turnId": turn, "item": item})
}

fn said(id: &str, text: &str) -> Value {
    json!({"type": "agentMessage", "id": id, "text": text})
}

/// Everything that the agent said, and what people said, in order.
fn story(rig: &Rig) -> Vec<String> {
    let words = rig.updates().filter_map(|it| match it["sessionUpdate"].as_str()? {
        "agent_message_chunk" => Some(it["content"]["text"].as_str()?.to_owned()),
        "user_message" => Some(format!("> {}", it["content"][0]["text"].as_str()?)),
        "user_message_chunk" => Some(format!("> {}", it["content"]["text"].as_str()?)),
        "state_update" => Some(format!("({})", it["state"].as_str()?)),
        _ => None,
    });
    words.collect()
}

#[test]
fn what_was_said_meanwhile_is_said_once() {
    let mut rig = in_a_turn(2);
    rig.message("A", "m1");
    rig.text("A", "m1", "One, ");
    rig.dies_of("closed by the app-server", None);
    let before = rig.updates().count();
    let mut build = crate::rig::command("build", Some("7"), "failed");
    build["exitCode"] = json!(2);
    let other = json!({"type": "userMessage", "id": "u2", "clientId": "x", "content": [{"type": "text", "text": "And?"}]});
    let missed = json!([
        entry("B", said("m3", "Done.")),
        entry("B", other),
        entry("A", build),
        entry("A", said("m2", "Two.")),
        entry("A", said("m1", "One, all.")),
        entry("A", json!({"type": "userMessage", "id": "u-n-1", "clientId": "n-1", "content": []})),
        entry("earlier", said("m0", "long ago")),
    ]);
    let mut thread = thread("idle", "completed");
    thread["initialTurnsPage"]["data"][0]["id"] = json!("B");
    found_with(&mut rig, thread, &missed, &json!([]));
    let told = story(&rig);
    let told: Vec<&str> = told.iter().skip_while(|it| *it != "(unknown)").map(String::as_str).collect();
    assert_eq!(told, ["(unknown)", "all.", "Two.", "> And?", "Done.", "(idle)"], "{before}");
    let exits = exits(&rig);
    assert_eq!((exits.len(), &exits[0]["exitCode"]), (1, &json!(2)), "the history knows how it ended");
}

#[test]
fn an_idle_session_reads_no_further_back_than_its_last_turn() {
    let mut rig = with_terminal(1);
    rig.dies_of("closed by the app-server", None);
    let mut dev = crate::rig::command("dev", Some("7"), "completed");
    dev["exitCode"] = json!(0);
    let missed =
        json!([entry("A", dev), entry("A", said("m1", "known")), entry("earlier", said("m0", "long ago"))]);
    let before = story(&rig).len();
    found_with(&mut rig, idle(), &missed, &json!([]));
    assert_eq!(story(&rig)[before..], [""; 0], "nothing but an end");
    rig.want(rig.told.iter().any(|it| it["params"]["update"]["status"] == "completed"), "which is told");
}

#[test]
fn a_history_that_cannot_be_read_keeps_nobody_waiting() {
    let mut rig = with_terminal(2);
    rig.dies_of("closed by the app-server", None);
    rig.hang(250);
    rig.booted();
    is_loaded(&mut rig);
    rig.ok("thread/resume", idle());
    rig.err("thread/items/list", "no");
    rig.pass(0, &json!([listed("dev", "7")]));
    assert_eq!((&rig.state()["state"], lists(&rig.state())), (&json!("idle"), vec!["dev"]));
}

#[test]
fn a_thread_that_others_have_loaded_is_joined_as_it_is() {
    let mut rig = Rig::connected(2);
    let params = json!({"sessionId": "other", "cwd": "/elsewhere", "mcpServers": [], "additionalDirectories": ["/more"]});
    rig.request("res", "session/resume", params);
    rig.want(!rig.is_called("thread/resume"), "first whether it is loaded");
    is_loaded(&mut rig);
    rig.ok("thread/resume", crate::rig::thread("other", "idle"));
    rig.pass(0, &json!([listed("dev", "7")]));
    rig.want(rig.answer("res").is_some_and(|it| it["error"].is_null()), "it is resumed");
}

#[test]
fn what_another_client_is_asked_is_left_to_it() {
    for version in [1, 2] {
        for (is_shared, mut rig) in [(true, Rig::connected(version)), (false, Rig::open(version))] {
            rig.prompt("p1");
            rig.started("A");
            for (id, method) in [(900, "item/tool/call"), (901, "attestation/generate")] {
                let params = json!({"threadId": SESSION, "turnId": "A", "callId": "i", "tool": "t"});
                rig.codex(json!({"id": id, "method": method, "params": params}));
                rig.want(rig.refused(id) != is_shared, "a refusal is the answer for everybody");
                rig.want(rig.answered(id).is_empty(), "there is no answer");
            }
        }
    }
}
