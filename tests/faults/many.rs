//! Fifty sessions at once, and a history of five thousand items: what one does touches no other.

use crate::rig::{Rig, command, idle, thread};
use appserver_acp::core::input::Pressure;
use base64::Engine;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const SESSIONS: usize = 50;
/// The one whose output is the most.
const LOUD: usize = 13;
/// The one that is closed.
const CLOSED: usize = 7;

fn id(n: usize) -> String {
    format!("session-{n:02}")
}

/// With so many open sessions, each with a command in the background.
fn crowd(version: u32) -> Rig {
    let mut rig = Rig::new(version);
    for n in 0..SESSIONS {
        rig.request(&format!("new-{n}"), "session/new", json!({"cwd": "/w", "mcpServers": []}));
    }
    for n in 0..SESSIONS {
        rig.ok("fs/getMetadata", json!({"isDirectory": true}));
        rig.ok("thread/start", thread(&id(n), "idle"));
    }
    for n in 0..SESSIONS {
        let text = json!([{"type": "text", "text": format!("go {}", id(n))}]);
        rig.request(&format!("go-{n}"), "session/prompt", json!({"sessionId": id(n), "prompt": text}));
    }
    for n in 0..SESSIONS {
        let call = rig.call("turn/start");
        rig.want(call["params"]["threadId"] == id(n), "the turns are started out of order");
        rig.codex(json!({"id": call["id"], "result": {"turn": {"id": format!("turn-{n}")}}}));
        say(
            &mut rig,
            n,
            "turn/started",
            json!({"turn": {"id": format!("turn-{n}"), "status": "inProgress"}}),
        );
        let key = &call["params"]["clientUserMessageId"];
        let item =
            json!({"type": "userMessage", "id": format!("user-{n}"), "clientId": key, "content": text_of(n)});
        say(&mut rig, n, "item/started", json!({"turnId": format!("turn-{n}"), "item": item}));
    }
    rig
}

fn text_of(n: usize) -> Value {
    json!([{"type": "text", "text": format!("go {}", id(n))}])
}

fn say(rig: &mut Rig, n: usize, method: &str, mut params: Value) {
    params["threadId"] = json!(id(n));
    rig.notify(method, params);
}

/// All of them talk at once, in turns of one line each; all but the loud one say `n` three hundred times.
fn talk(rig: &mut Rig) {
    for n in 0..SESSIONS {
        // Items of different threads may have the same id.
        let item = command("cmd", Some(&format!("{}", 100 + n)), "inProgress");
        say(rig, n, "item/started", json!({"turnId": format!("turn-{n}"), "item": item}));
        let item = json!({"type": "agentMessage", "id": "msg", "text": ""});
        say(rig, n, "item/started", json!({"turnId": format!("turn-{n}"), "item": item}));
    }
    for round in 0..300 {
        if round == 100 {
            rig.press(Pressure::High);
        }
        if round == 200 {
            rig.press(Pressure::Low);
        }
        for n in 0..SESSIONS {
            let line = if n == LOUD { format!("[{}] ", id(n)).repeat(40) } else { format!("[{}] ", id(n)) };
            let turn = format!("turn-{n}");
            say(
                rig,
                n,
                "item/commandExecution/outputDelta",
                json!({"turnId": turn, "itemId": "cmd", "delta": line}),
            );
            if round % 10 == 0 {
                let text = format!("[{}]", id(n));
                say(
                    rig,
                    n,
                    "item/agentMessage/delta",
                    json!({"turnId": turn, "itemId": "msg", "delta": text}),
                );
            }
        }
        rig.pass(1, &json!([]));
    }
    rig.pass(200, &json!([]));
}

/// What the client holds, by session: text of the message, output of the terminal.
fn held(rig: &Rig) -> BTreeMap<String, (String, String)> {
    let mut held: BTreeMap<String, (String, String)> = BTreeMap::new();
    for told in &rig.told {
        let update = &told["params"]["update"];
        let Some(session) = told["params"]["sessionId"].as_str() else { continue };
        let entry = held.entry(session.to_owned()).or_default();
        let decoded = |data: &Value| {
            let bytes = base64::engine::general_purpose::STANDARD.decode(data.as_str().expect("base64"));
            String::from_utf8(bytes.expect("of bytes")).expect("of text")
        };
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => entry.0 += update["content"]["text"].as_str().unwrap_or_default(),
            Some("terminal_output_chunk") => entry.1 += &decoded(&update["data"]),
            Some("terminal_update") if update["output"].is_object() => {
                entry.1 = decoded(&update["output"]["data"])
            }
            _ => {}
        }
    }
    held
}

#[test]
fn fifty_sessions_do_not_mix_though_one_is_loud_and_the_client_slow() {
    let mut rig = crowd(2);
    talk(&mut rig);
    let held = held(&rig);
    assert_eq!(held.len(), SESSIONS);
    for n in 0..SESSIONS {
        let (text, output) = &held[&id(n)];
        let mark = format!("[{}]", id(n));
        assert_eq!(text, &mark.repeat(30), "the message of {}", id(n));
        let n_marks = if n == LOUD { 300 * 40 } else { 300 };
        assert_eq!(output.matches(&mark).count(), n_marks, "the output of {}", id(n));
        assert_eq!(output.matches('[').count(), n_marks, "{} has output of another", id(n));
    }
}

#[test]
fn closing_one_of_fifty_touches_no_other() {
    let mut rig = crowd(2);
    talk(&mut rig);
    for n in 0..SESSIONS {
        let turn = json!({"id": format!("turn-{n}"), "status": "completed"});
        say(&mut rig, n, "turn/completed", json!({"turn": turn}));
    }
    let from = rig.told.len();
    let n_calls = rig.calls().len();
    rig.request("close", "session/close", json!({"sessionId": id(CLOSED)}));
    let call = rig.call("thread/backgroundTerminals/terminate");
    let asked = (&call["params"]["threadId"], &call["params"]["processId"]);
    assert_eq!(asked, (&json!(id(CLOSED)), &json!(format!("{}", 100 + CLOSED))));
    rig.codex(json!({"id": call["id"], "result": {"terminated": true}}));
    let mut ended = command("cmd", Some(&format!("{}", 100 + CLOSED)), "failed");
    (ended["exitCode"], ended["aggregatedOutput"]) = (json!(-1), json!("x"));
    say(&mut rig, CLOSED, "item/completed", json!({"turnId": format!("turn-{CLOSED}"), "item": ended}));
    rig.pass(1, &json!([]));
    rig.swept();
    rig.want(rig.answer("close").is_some(), "the close is not answered");
    let others = rig.told[from..].iter().filter(|it| it["params"]["update"].is_object());
    let strange = others.filter(|it| it["params"]["sessionId"] != id(CLOSED)).count();
    assert_eq!(strange, 0, "another session was told something");
    let of_others = rig.calls()[n_calls.min(rig.calls().len())..]
        .iter()
        .filter(|it| it["params"]["threadId"].is_string() && it["params"]["threadId"] != id(CLOSED));
    assert_eq!(of_others.count(), 0, "Codex was asked something about another thread");
    for method in ["thread/backgroundTerminals/clean", "thread/unsubscribe"] {
        assert_eq!(rig.n_called(method), 1, "{method}");
    }
    // The others go on.
    for n in (0..SESSIONS).filter(|n| *n != CLOSED) {
        let params = json!({"turnId": format!("turn-{n}"), "itemId": "cmd", "delta": "after\n"});
        say(&mut rig, n, "item/commandExecution/outputDelta", params);
    }
    rig.pass(200, &json!([]));
    let held = held(&rig);
    let n_going_on = held.values().filter(|(_, output)| output.ends_with("after\n")).count();
    assert_eq!(n_going_on, SESSIONS - 1);
}

/// Five hundred turns of ten items.
#[test]
fn a_history_of_five_thousand_items_comes_page_by_page() {
    let (n_turns, n_items) = (500, 10);
    let mut rig = Rig::resuming(2, true);
    rig.ok("thread/resume", idle());
    let (mut n_pages, mut first_update, mut asked, mut most_waiting) = (0, None, 0, 0);
    let mut most_in_flight = 0;
    loop {
        most_in_flight = most_in_flight.max(rig.n_calls("thread/items/list"));
        let call = rig
            .calls()
            .iter()
            .find(|it| matches!(it["method"].as_str(), Some("thread/turns/list" | "thread/items/list")));
        let Some(call) = call.cloned() else { break };
        n_pages += 1;
        let method = call["method"].as_str().expect("a call has a method").to_owned();
        match method.as_str() {
            "thread/turns/list" => {
                let from: usize = call["params"]["cursor"].as_str().map_or(0, |it| it.parse().expect("ours"));
                let limit =
                    usize::try_from(call["params"]["limit"].as_u64().expect("a limit")).expect("small");
                let to = n_turns.min(from + limit);
                let names =
                    (from..to).map(|n| json!({"id": format!("{n}"), "items": [], "startedAt": 10 * n}));
                let next = (to < n_turns).then(|| to.to_string());
                rig.ok(&method, json!({"data": names.collect::<Vec<_>>(), "nextCursor": next}));
            }
            _ => {
                let turn: usize =
                    call["params"]["turnId"].as_str().expect("of a turn").parse().expect("ours");
                let entry = |n: usize| {
                    let id = format!("{turn}-{n}");
                    let item = if n == 0 {
                        json!({"type": "userMessage", "id": id, "clientId": null, "content": [{"type": "text", "text": "x"}]})
                    } else {
                        json!({"type": "agentMessage", "id": id, "text": "y"})
                    };
                    json!({"turnId": turn.to_string(), "item": item, "startedAtMs": 10_000 * turn + n})
                };
                asked += n_items;
                rig.ok(
                    &method,
                    json!({"data": (0..n_items).map(entry).collect::<Vec<_>>(), "nextCursor": null}),
                );
            }
        }
        let told = rig.updates().filter(|it| it["messageId"].is_string()).count();
        if told > 0 && first_update.is_none() {
            first_update = Some(n_pages);
        }
        most_waiting = most_waiting.max(asked - told);
    }
    rig.pass(10, &json!([]));
    rig.want(rig.answer("res").is_some_and(|it| it["result"].is_object()), "the resume is not answered");
    let messages: Vec<&str> = rig.updates().filter_map(|it| it["messageId"].as_str()).collect();
    let expected: Vec<String> =
        (0..n_turns).flat_map(|turn| (0..n_items).map(move |n| format!("{turn}-{n}"))).collect();
    assert_eq!(messages, expected);
    assert_eq!(
        n_pages,
        n_turns.div_ceil(100) + n_turns,
        "one page of names per hundred turns, one of items each"
    );
    assert_eq!(first_update, Some(2), "the first update comes with the first page of items");
    assert!(most_waiting <= n_items, "{most_waiting} items waited to be told");
    assert_eq!(most_in_flight, 8, "pages that are asked for at once");
}

/// One turn of five thousand items: it is told while it is read.
#[test]
fn a_turn_of_five_thousand_items_is_told_while_it_is_read() {
    let n_items = 5_000;
    let mut rig = Rig::resuming(2, true);
    rig.ok("thread/resume", idle());
    rig.ok(
        "thread/turns/list",
        json!({"data": [{"id": "t", "items": [], "startedAt": 1}], "nextCursor": null}),
    );
    let (mut first_update, mut n_pages, mut most_waiting) = (None, 0, 0);
    while rig.is_called("thread/items/list") {
        let call = rig.call("thread/items/list");
        n_pages += 1;
        let from: usize = call["params"]["cursor"].as_str().map_or(0, |it| it.parse().expect("ours"));
        let to = n_items.min(from + 16);
        let entry = |n: usize| {
            let item = if n == 0 {
                json!({"type": "userMessage", "id": "0", "clientId": null, "content": [{"type": "text", "text": "x"}]})
            } else {
                json!({"type": "agentMessage", "id": n.to_string(), "text": "y"})
            };
            json!({"turnId": "t", "item": item, "startedAtMs": 1_000 + n})
        };
        let next = (to < n_items).then(|| to.to_string());
        let page = json!({"data": (from..to).map(entry).collect::<Vec<_>>(), "nextCursor": next});
        rig.codex(json!({"id": call["id"], "result": page}));
        let told = rig.updates().filter(|it| it["messageId"].is_string()).count();
        if told > 0 && first_update.is_none() {
            first_update = Some(n_pages);
        }
        most_waiting = most_waiting.max(to - told);
    }
    rig.pass(10, &json!([]));
    rig.want(rig.answer("res").is_some(), "the resume is not answered");
    assert_eq!(first_update, Some(1), "the first page brings the first update");
    assert!(most_waiting <= 256, "{most_waiting} items waited to be told");
    assert_eq!(rig.updates().filter(|it| it["messageId"].is_string()).count(), n_items);
}

/// What is read faster than the client takes it would pile up here.
#[test]
fn a_slow_client_makes_the_next_page_of_a_history_wait() {
    let mut rig = Rig::resuming(2, true);
    rig.ok("thread/resume", idle());
    rig.press(Pressure::High);
    rig.ok(
        "thread/turns/list",
        json!({"data": [{"id": "t", "items": [], "startedAt": 1}], "nextCursor": null}),
    );
    rig.pass(10_000, &json!([]));
    rig.want(!rig.is_called("thread/items/list"), "read on though the client does not keep up");
    rig.press(Pressure::Low);
    rig.ok("thread/items/list", json!({"data": [], "nextCursor": null}));
    rig.pass(10, &json!([]));
    rig.want(rig.answer("res").is_some_and(|it| it["result"].is_object()), "the resume hangs");
}
