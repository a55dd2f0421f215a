//! Requests about sessions that the client cancels while they are under way, and those of directories that are not there.

use crate::rig::{Rig, SESSION, active, idle, thread};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};

fn comes_back(rig: &mut Rig, version: u32, id: &str) {
    let method = if version == 1 { "session/load" } else { "session/resume" };
    let params =
        json!({"sessionId": SESSION, "cwd": "/w", "mcpServers": [], "replayFrom": {"type": "start"}});
    rig.request(id, method, params);
}

fn forks(rig: &mut Rig) {
    rig.request("fork", "session/fork", json!({"sessionId": SESSION, "cwd": "/w", "mcpServers": []}));
}

fn is_cancelled(rig: &Rig, id: &str) {
    let answer = rig.answer(id).unwrap_or_default();
    rig.want(answer["error"]["code"] == -32800, &format!("{id} is not cancelled: {answer}"));
}

fn is_closed(rig: &mut Rig) {
    rig.prompt("after");
    let answer = rig.answer("after").unwrap_or_default();
    rig.want(answer["error"]["code"] == -32002, "it is open");
}

fn names() -> Value {
    let turn = |id: &str| json!({"id": id, "items": [], "itemsView": "notLoaded", "status": "completed"});
    json!({"data": [turn("Y"), turn("Z")], "nextCursor": null})
}

fn page(turn: &str, id: &str, next: Value) -> Value {
    let item = json!({"type": "agentMessage", "id": id, "text": "hello"});
    json!({"data": [{"turnId": turn, "item": item}], "nextCursor": next})
}

#[test]
fn a_list_that_is_cancelled_is_answered_once() {
    for version in [1, 2] {
        let mut rig = Rig::new(version);
        rig.request("list", "session/list", json!({}));
        rig.cancel_request("list");
        is_cancelled(&rig, "list");
        rig.ok("thread/list", json!({"data": [], "nextCursor": null}));
        is_cancelled(&rig, "list");
    }
}

#[test]
fn the_thread_of_a_cancelled_new_session_is_let_go() {
    for version in [1, 2] {
        let mut rig = Rig::new(version);
        rig.request("new", "session/new", json!({"cwd": "/w", "mcpServers": []}));
        rig.cancel_request("new");
        is_cancelled(&rig, "new");
        rig.ok("thread/start", idle());
        rig.want(rig.n_calls("thread/unsubscribe") == 1, "the thread stays");
        is_closed(&mut rig);
    }
}

#[test]
fn the_copy_of_a_cancelled_fork_is_deleted_and_its_source_is_not() {
    for version in [1, 2] {
        let mut rig = Rig::running(version);
        forks(&mut rig);
        rig.ok("fs/getMetadata", json!({"isDirectory": true}));
        rig.cancel_request("fork");
        is_cancelled(&rig, "fork");
        rig.ok("thread/fork", thread("F", "idle"));
        let call = rig.call("thread/delete");
        rig.want(call["params"]["threadId"] == "F", "another thread is deleted");
        rig.want(!rig.is_called("thread/unsubscribe"), "the source is let go");
        rig.text("A", "m1", "goes on");
        rig.want(rig.updates().any(|it| it.to_string().contains("goes on")), "the source is not heard");
    }
}

#[test]
fn a_fork_that_is_cancelled_before_codex_copies_is_none() {
    for version in [1, 2] {
        let mut rig = Rig::running(version);
        forks(&mut rig);
        rig.cancel_request("fork");
        is_cancelled(&rig, "fork");
        rig.ok("fs/getMetadata", json!({"isDirectory": true}));
        rig.want(!rig.is_called("thread/fork"), "copied all the same");
    }
}

/// The app-server is not ended under the deletion of the copy.
#[test]
fn a_client_that_hangs_up_behind_a_cancelled_fork_leaves_no_copy() {
    for version in [1, 2] {
        let mut rig = Rig::open(version);
        forks(&mut rig);
        rig.ok("fs/getMetadata", json!({"isDirectory": true}));
        rig.cancel_request("fork");
        rig.hangs_up();
        rig.want(rig.ended.is_empty(), "ended before Codex has copied");
        rig.ok("thread/fork", thread("F", "idle"));
        rig.want(rig.ended.is_empty(), "ended before Codex has deleted");
        rig.ok("thread/delete", json!({}));
        rig.want(!rig.ended.is_empty(), "never ended");
        // One that does not answer is not waited for.
        let mut rig = Rig::open(version);
        forks(&mut rig);
        rig.ok("fs/getMetadata", json!({"isDirectory": true}));
        rig.cancel_request("fork");
        rig.hangs_up();
        rig.pass(5_000, &json!([]));
        rig.want(!rig.ended.is_empty(), "waits for ever");
    }
}

/// Its session is there, and only the models are missing for its answer.
#[test]
fn a_session_whose_answer_waits_for_the_models_can_be_cancelled() {
    for version in [1, 2] {
        let mut rig = Rig::greeted(version);
        rig.ok("initialize", json!({"userAgent": "codex/1"}));
        rig.ok("account/read", json!({"account": null, "requiresOpenaiAuth": false}));
        rig.request("new", "session/new", json!({"cwd": "/w", "mcpServers": []}));
        rig.ok("thread/start", idle());
        rig.cancel_request("new");
        is_cancelled(&rig, "new");
        rig.want(rig.n_calls("thread/unsubscribe") == 1, "the thread stays");
        rig.ok("model/list", json!({"data": [], "nextCursor": null}));
        rig.pass(10, &json!([]));
        is_cancelled(&rig, "new");
        is_closed(&mut rig);
    }
}

/// How far a resume is when it is cancelled.
const STAGES: [&str; 5] = ["account", "thread", "names", "items", "terminals"];

/// Brings a resume to a stage.
fn reach(rig: &mut Rig, stage: &str) {
    if stage == "account" {
        return;
    }
    rig.ok("account/read", json!({"account": {"type": "apiKey"}, "requiresOpenaiAuth": true}));
    if stage == "thread" {
        return;
    }
    rig.ok("thread/resume", idle());
    if stage == "names" {
        return;
    }
    rig.ok("thread/turns/list", names());
    rig.ok("thread/items/list", page("Y", "m1", Value::Null));
    if stage == "items" {
        return;
    }
    while rig.is_called("thread/items/list") {
        rig.ok("thread/items/list", page("Z", "m2", Value::Null));
    }
    rig.want(rig.is_called("thread/backgroundTerminals/list"), "what lives is not asked for");
}

/// Whatever is still under way is answered.
fn late(rig: &mut Rig) {
    for (method, result) in [
        ("account/read", json!({"account": {"type": "apiKey"}, "requiresOpenaiAuth": true})),
        ("thread/resume", idle()),
        ("thread/turns/list", names()),
    ] {
        if rig.is_called(method) {
            rig.ok(method, result);
        }
    }
    while rig.is_called("thread/items/list") {
        rig.ok("thread/items/list", page("Z", "late", Value::Null));
    }
    rig.pass(10, &json!([]));
}

#[test]
fn a_resume_is_cancelled_wherever_it_is_and_opens_nothing() {
    for (version, stage) in [1, 2].into_iter().flat_map(|version| STAGES.map(|stage| (version, stage))) {
        let mut rig = Rig::greeted(version);
        rig.ok("initialize", json!({"userAgent": "codex/1"}));
        rig.ok("model/list", json!({"data": [], "nextCursor": null}));
        comes_back(&mut rig, version, "res");
        reach(&mut rig, stage);
        rig.cancel_request("res");
        is_cancelled(&rig, "res");
        let from = rig.told.len();
        late(&mut rig);
        let told = rig.told[from..].iter().filter(|it| it["params"]["sessionId"] == SESSION).count();
        rig.want(told == 0, &format!("{stage}: told after the cancel"));
        let is_loaded = stage != "account";
        rig.want(
            rig.n_calls("thread/unsubscribe") == usize::from(is_loaded),
            &format!("{stage}: the thread stays"),
        );
        is_closed(&mut rig);
        // And it can be opened afterwards.
        comes_back(&mut rig, version, "again");
        late(&mut rig);
        rig.want(
            rig.answer("again").is_some_and(|it| it["result"].is_object()),
            &format!("{stage}: not opened"),
        );
    }
}

#[test]
fn an_open_session_goes_on_where_it_was_when_its_resume_is_cancelled() {
    for (version, stage) in [1, 2].into_iter().flat_map(|version| STAGES.map(|stage| (version, stage))) {
        if stage == "account" {
            continue;
        }
        let mut rig = Rig::running(version);
        rig.command("A", "c1", Some("7"));
        comes_back(&mut rig, version, "res");
        rig.text("A", "m1", "held back");
        if stage != "thread" {
            rig.ok("thread/resume", active());
        }
        if stage == "items" || stage == "terminals" {
            rig.ok("thread/turns/list", names());
        }
        if stage == "terminals" {
            while rig.is_called("thread/items/list") {
                rig.ok("thread/items/list", page("Z", "m2", Value::Null));
            }
        }
        rig.want(!rig.updates().any(|it| it.to_string().contains("held back")), "told ahead of the replay");
        let from = rig.told.len();
        rig.cancel_request("res");
        is_cancelled(&rig, "res");
        let n = rig.told[from..].iter().filter(|it| it.to_string().contains("held back")).count();
        rig.want(n == 1, &format!("{stage}: what was held back is told {n} times"));
        late(&mut rig);
        rig.text("A", "m1", " and more");
        rig.item(
            "item/completed",
            "A",
            json!({"type": "agentMessage", "id": "m1", "text": "held back and more"}),
        );
        rig.command_ended("A", "c1", "out", 0);
        rig.done("A", "completed");
        rig.pass(1_000, &json!([]));
        rig.want(rig.updates().any(|it| it.to_string().contains(" and more")), "deaf after the cancel");
        let answered = rig.answer("p1").is_some_and(|it| it["result"].is_object());
        rig.want(answered, &format!("{stage}: the prompt is not answered"));
        rig.want(!rig.is_called("thread/unsubscribe"), "the session is let go");
    }
}

/// What the client has of a message and of an output, it is not told again, and what it misses is told.
#[test]
fn an_open_session_says_nothing_twice_and_loses_nothing_when_its_resume_is_cancelled() {
    for stage in STAGES.into_iter().filter(|it| *it != "account") {
        let mut rig = Rig::running(2);
        rig.command("A", "c1", Some("7"));
        rig.text("A", "m1", "one");
        let out = |rig: &mut Rig, text: &str| {
            rig.notify(
                "item/commandExecution/outputDelta",
                json!({"turnId": "A", "itemId": "c1", "delta": text}),
            );
        };
        out(&mut rig, "a");
        // This one waits for more.
        out(&mut rig, "b");
        comes_back(&mut rig, 2, "res");
        if stage != "thread" {
            rig.ok("thread/resume", active());
        }
        if stage == "items" || stage == "terminals" {
            rig.ok("thread/turns/list", names());
        }
        if stage == "terminals" {
            while rig.is_called("thread/items/list") {
                rig.ok("thread/items/list", page("Z", "m2", Value::Null));
            }
        }
        out(&mut rig, "c");
        rig.text("A", "m1", " two");
        let from = rig.told.len();
        rig.cancel_request("res");
        late(&mut rig);
        rig.command_ended("A", "c1", "abc", 0);
        rig.pass(1_000, &json!([]));
        let told = rig.told[from..].iter().map(|it| &it["params"]["update"]);
        let said: Vec<&Value> =
            told.filter(|it| it["messageId"] == "m1").map(|it| &it["content"]["text"]).collect();
        rig.want(said == [" two"], &format!("{stage}: said again is {said:?}"));
        let n = rig.told[from..].iter().filter(|it| it["params"]["update"]["title"] == "sleep 9").count();
        rig.want(n == 0, &format!("{stage}: the call is opened again"));
        let output = output_of(&rig, "c1");
        rig.want(output == "abc", &format!("{stage}: the client holds {output:?}"));
    }
}

/// The output that the client holds, which forgets what it is told by a resume that comes to nothing.
fn output_of(rig: &Rig, terminal: &str) -> String {
    let asked = rig.place(|it| it["id"] == "res").expect("it is answered");
    let anew = rig.told[..asked].iter().position(|it| it["params"]["update"]["messageId"] == "m2");
    let kept =
        rig.told.iter().enumerate().filter(|(at, _)| *at > asked || anew.is_none_or(|anew| *at < anew));
    let mut held = String::new();
    for update in kept.map(|(_, it)| &it["params"]["update"]).filter(|it| it["terminalId"] == terminal) {
        let text = |it: &Value| {
            let bytes = it.as_str().map(|it| BASE64_STANDARD.decode(it).expect("it is base64"));
            bytes.map(|it| String::from_utf8(it).expect("it is text"))
        };
        if let Some(whole) = text(&update["output"]["data"]) {
            held = whole;
        }
        held.extend(text(&update["data"]));
    }
    held
}

/// Pages of a reading that was given up come while the next one is under way.
#[test]
fn pages_of_a_cancelled_replay_are_not_taken_for_those_of_the_next() {
    for version in [1, 2] {
        let mut rig = Rig::open(version);
        comes_back(&mut rig, version, "res");
        rig.ok("thread/resume", idle());
        rig.ok("thread/turns/list", names());
        let stale = rig.call("thread/items/list");
        rig.cancel_request("res");
        is_cancelled(&rig, "res");
        comes_back(&mut rig, version, "again");
        rig.ok("thread/resume", idle());
        rig.codex(json!({"id": stale["id"], "result": page("Y", "stale", Value::Null)}));
        rig.ok("thread/turns/list", names());
        rig.ok("thread/items/list", page("Y", "fresh-1", Value::Null));
        rig.ok("thread/items/list", page("Z", "fresh-2", Value::Null));
        rig.pass(10, &json!([]));
        rig.want(rig.answer("again").is_some_and(|it| it["result"].is_object()), "not opened");
        let told =
            |id: &str| rig.told.iter().filter(|it| it.to_string().contains(&format!("\"{id}\""))).count();
        rig.want((told("stale"), told("fresh-1"), told("fresh-2")) == (0, 1, 1), "the readings are mixed");
    }
}

#[test]
fn no_session_comes_back_or_is_copied_into_a_directory_that_is_not_there() {
    let missing = json!({"code": -32603, "message": "No such file or directory (os error 2)"});
    let file = json!({"isDirectory": false});
    for (version, look) in [1, 2]
        .into_iter()
        .flat_map(|version| [(version, json!({"error": missing})), (version, json!({"result": file}))])
    {
        let mut rig = Rig::new(version);
        comes_back(&mut rig, version, "res");
        let call = rig.call("fs/getMetadata");
        rig.want(call["params"]["path"] == "/w", "another path is looked at");
        let mut answer = look.clone();
        answer["id"] = call["id"].clone();
        rig.codex(answer);
        let refused = rig.answer("res").unwrap_or_default();
        rig.want(refused["error"]["code"] == -32602, &format!("opened: {refused}"));
        rig.ok("thread/resume", idle());
        rig.want(rig.n_calls("thread/unsubscribe") == 1, "the thread stays");
        is_closed(&mut rig);

        let mut rig = Rig::running(version);
        forks(&mut rig);
        let mut answer = look;
        answer["id"] = rig.call("fs/getMetadata")["id"].clone();
        rig.codex(answer);
        let refused = rig.answer("fork").unwrap_or_default();
        rig.want(refused["error"]["code"] == -32602, &format!("copied: {refused}"));
        rig.want(!rig.is_called("thread/fork"), "copied all the same");
    }
}
