//! Sessions that are forked and put away at the wrong moment.

use crate::rig::{Rig, SESSION, idle, listed, thread};
use serde_json::{Value, json};

fn put(rig: &mut Rig, id: &str, method: &str) {
    rig.request(id, method, json!({"sessionId": SESSION}));
}

#[test]
fn a_deleted_session_is_closed_first() {
    let mut rig = Rig::running(2);
    rig.command("A", "c1", Some("7"));
    put(&mut rig, "del", "session/delete");
    rig.want(!rig.is_called("thread/delete"), "deleted while its turn runs");
    rig.ok("turn/interrupt", json!({}));
    rig.done("A", "interrupted");
    rig.want(!rig.is_called("thread/delete"), "deleted while its command runs");
    rig.ok("thread/backgroundTerminals/terminate", json!({"terminated": true}));
    rig.command_ended("A", "c1", "x", -1);
    rig.pass(1, &json!([]));
    rig.swept();
    rig.want(rig.answer("del").is_none(), "answered before Codex has done it");
    rig.ok("thread/delete", json!({}));
    rig.want(rig.answer("del").is_some_and(|it| it["result"] == json!({})), "not deleted");
    let ended = rig.place(|it| it["params"]["update"]["exitStatus"].is_object());
    let answered = rig.place(|it| it["id"] == "del");
    rig.want(ended < answered, "the command ends after the answer");
}

#[test]
fn a_close_and_two_deletions_at_once_are_each_answered() {
    let mut rig = Rig::open(2);
    rig.prompt("p1");
    put(&mut rig, "del", "session/delete");
    rig.close();
    put(&mut rig, "del2", "session/delete");
    rig.started("A");
    rig.ok("turn/interrupt", json!({}));
    rig.done("A", "interrupted");
    rig.pass(10, &json!([]));
    rig.want(rig.answer("close").is_some(), "the close hangs");
    rig.ok("thread/delete", json!({}));
    rig.err("thread/delete", "no rollout found for thread id T");
    rig.want(rig.answer("del").is_some_and(|it| it["result"].is_object()), "the first hangs");
    rig.want(rig.answer("del2").is_some_and(|it| it["result"].is_object()), "the second hangs");
}

#[test]
fn a_session_that_is_deleted_while_it_is_resumed_is_gone() {
    let mut rig = Rig::resuming(2, true);
    put(&mut rig, "del", "session/delete");
    rig.want(rig.answer("res").is_some_and(|it| it["error"]["code"] == -32800), "the resume hangs");
    rig.ok("thread/resume", idle());
    rig.ok("thread/delete", json!({}));
    rig.pass(10, &json!([]));
    rig.want(rig.answer("del").is_some_and(|it| it["result"].is_object()), "not deleted");
    rig.prompt("p");
    rig.want(rig.answer("p").is_some_and(|it| it["error"]["code"] == -32002), "the deleted session is open");
}

#[test]
fn an_app_server_that_dies_under_an_archive_is_an_error() {
    for version in [1, 2] {
        let mut rig = Rig::open(version);
        put(&mut rig, "arch", "session/archive");
        rig.want(rig.is_called("thread/archive"), "nothing runs, and nothing is archived");
        rig.dies();
        rig.pass(10_000, &json!([]));
        rig.want(rig.answer("arch").is_some_and(|it| it["error"]["code"] == -32603), "the archive hangs");
    }
}

#[test]
fn an_app_server_that_dies_while_a_session_closes_is_started_for_its_deletion() {
    let mut rig = Rig::running(2);
    rig.command("A", "c1", Some("7"));
    put(&mut rig, "del", "session/delete");
    rig.dies();
    rig.swept();
    rig.pass(10_000, &json!([]));
    rig.booted();
    rig.ok("thread/delete", json!({}));
    rig.want(rig.answer("del").is_some_and(|it| it["result"].is_object()), "not deleted");
}

#[test]
fn a_client_that_hangs_up_gets_no_deletion_done() {
    let mut rig = Rig::running(2);
    rig.command("A", "c1", Some("7"));
    put(&mut rig, "del", "session/delete");
    rig.hangs_up();
    rig.want(rig.answer("del").is_some_and(|it| it["error"].is_object()), "the deletion hangs");
    rig.pass(10_000, &json!([listed("c1", "7")]));
    rig.want(!rig.is_called("thread/delete"), "deleted after all");
}

#[test]
fn a_fork_keeps_what_was_chosen() {
    let mut rig = Rig::open(2);
    rig.set_mode("read-only");
    let params =
        json!({"sessionId": SESSION, "cwd": "/w", "mcpServers": [], "additionalDirectories": ["/x"]});
    rig.request("fork", "session/fork", params);
    rig.ok("fs/getMetadata", json!({"isDirectory": true}));
    let call = rig.call("thread/fork");
    rig.want(call["params"]["runtimeWorkspaceRoots"] == json!(["/x"]), "/x is dropped");
    rig.codex(json!({"id": call["id"], "result": thread("F", "idle")}));
    rig.pass(10, &json!([]));
    let answer = rig.answer("fork").unwrap_or_default();
    rig.want(answer["result"]["sessionId"] == "F", "the fork is not told");
    let text = json!([{"type": "text", "text": "x"}]);
    rig.request("p", "session/prompt", json!({"sessionId": "F", "prompt": text}));
    let start = rig.call("turn/start");
    rig.want(start["params"]["threadId"] == "F", "the prompt goes elsewhere");
    rig.want(start["params"]["sandboxPolicy"]["type"] == "readOnly", "the chosen mode is forgotten");
}

/// Codex saves a thread with its first turn.
#[test]
fn a_fork_of_an_empty_session_is_a_new_one() {
    let mut rig = Rig::open(2);
    rig.request("fork", "session/fork", json!({"sessionId": SESSION, "cwd": "/w", "mcpServers": []}));
    rig.ok("fs/getMetadata", json!({"isDirectory": true}));
    rig.err("thread/fork", "no rollout found for thread id T");
    rig.ok("fs/getMetadata", json!({"isDirectory": true}));
    rig.ok("thread/start", thread("N", "idle"));
    rig.pass(10, &json!([]));
    let answer = rig.answer("fork").unwrap_or_default();
    rig.want(answer["result"]["sessionId"] == "N", "the fork is not told");
}

/// What was put away while the connection was lost is told when it is found again, and runs no more.
#[test]
fn a_session_that_was_put_away_in_the_dark_has_ended() {
    for (version, what) in [1, 2].into_iter().flat_map(|it| [(it, "deleted"), (it, "archived")]) {
        let mut rig = Rig::connected(version);
        rig.prompt("p1");
        rig.started("A");
        rig.command("A", "dev", Some("7"));
        rig.done("A", "completed");
        rig.pass(100, &json!([listed("dev", "7")]));
        rig.dies();
        rig.hang(250);
        rig.booted();
        let message = match what {
            "deleted" => "no rollout found for thread id T",
            _ => "session T is archived. Run `codex unarchive T` to unarchive it first.",
        };
        rig.err("thread/backgroundTerminals/list", "thread not found: T");
        rig.err("thread/resume", message);
        let said = format!("This session was {what} by another client of the app-server");
        let n = rig.updates().filter(|it| it.to_string().contains(&said)).count();
        rig.want(n == 1, &format!("told {n} times that it was {what}"));
        let is_exit = |it: &&Value| it["exitStatus"].is_object() || it["_meta"]["terminal_exit"].is_object();
        let is_final = |it: &&Value| it["toolCallId"] == "dev" && it["status"] == "failed";
        rig.want(version == 1 || rig.updates().filter(is_exit).count() == 1, "its command has no end");
        rig.want(rig.updates().filter(is_final).count() == 1, "its call is open");
        if version == 2 {
            rig.want(rig.state()["state"] == "idle", "what runs is unknown");
            rig.want(rig.state()["background"] == json!([]), "its command is listed");
        }
    }
}

/// How far a resume is when somebody else puts its session away, and what Codex says first.
#[test]
fn a_session_that_is_put_away_while_it_comes_back_does_not_open() {
    let names = json!({"data": [{"id": "A", "items": [], "status": "completed"}], "nextCursor": null});
    for (version, what) in [1, 2].into_iter().flat_map(|it| [(it, "deleted"), (it, "archived")]) {
        for is_open in [false, true] {
            let mut rig = if is_open { Rig::connected(version) } else { Rig::linked(version) };
            let method = if version == 1 { "session/load" } else { "session/resume" };
            let params =
                json!({"sessionId": SESSION, "cwd": "/w", "mcpServers": [], "replayFrom": {"type": "start"}});
            rig.request("res", method, params);
            rig.err("thread/backgroundTerminals/list", "thread not found: T");
            rig.ok("thread/resume", idle());
            rig.ok("thread/turns/list", names.clone());
            rig.notify("thread/status/changed", json!({"status": {"type": "notLoaded"}}));
            rig.notify(&format!("thread/{what}"), json!({}));
            let answer = rig.answer("res").unwrap_or_default();
            let code = if what == "deleted" { -32002 } else { -32603 };
            rig.want(answer["error"]["code"] == code, &format!("answered with {answer}"));
            rig.ok("thread/items/list", json!({"data": [], "nextCursor": null}));
            rig.pass(10, &json!([]));
            let said = format!("This session was {what} by another client of the app-server");
            let n = rig.updates().filter(|it| it.to_string().contains(&said)).count();
            rig.want(n == usize::from(is_open), &format!("told {n} times that it was {what}"));
        }
    }
}

/// Codex lets go of it for somebody who then could not delete it, say.
#[test]
fn a_session_that_is_unloaded_while_it_comes_back_opens_with_nothing_running() {
    for version in [1, 2] {
        let mut rig = Rig::linked(version);
        let method = if version == 1 { "session/load" } else { "session/resume" };
        let params =
            json!({"sessionId": SESSION, "cwd": "/w", "mcpServers": [], "replayFrom": {"type": "start"}});
        rig.request("res", method, params);
        rig.err("thread/backgroundTerminals/list", "thread not found: T");
        rig.ok("thread/resume", idle());
        rig.notify("thread/status/changed", json!({"status": {"type": "notLoaded"}}));
        rig.ok("thread/turns/list", json!({"data": [], "nextCursor": null}));
        rig.pass(10, &json!([]));
        rig.want(rig.answer("res").is_some_and(|it| it["result"].is_object()), "never answered");
        rig.prompt("p");
        rig.want(rig.is_called("thread/backgroundTerminals/list"), "its thread is not loaded again");
    }
}

/// Codex cannot read the thread of the resume under way.
fn unreadable(rig: &mut Rig) {
    let call = rig.call("thread/resume");
    let message = "failed to read thread: thread-store internal error: rollout does not exist at /x";
    rig.codex(json!({"id": call["id"], "error": {"code": -32603, "message": message}}));
}

#[test]
fn what_codex_cannot_read_and_knows_is_told_as_damaged() {
    for version in [1, 2] {
        let mut rig = Rig::new(version);
        rig.resume(true);
        unreadable(&mut rig);
        let entry = json!({"id": SESSION, "cwd": "/w", "preview": "x", "updatedAt": 1});
        rig.ok("thread/list", json!({"data": [entry], "nextCursor": null}));
        let answer = rig.answer("res").unwrap_or_default();
        rig.want(answer["error"]["code"] == -32603, "another code");
        rig.want(
            answer["error"]["data"] == json!({"sessionId": SESSION, "reason": "damaged"}),
            "another kind",
        );
    }
}

/// Its file goes first, and what Codex knows of it a moment later.
#[test]
fn what_is_being_deleted_is_gone_and_not_damaged() {
    for version in [1, 2] {
        let mut rig = Rig::new(version);
        rig.request("gone", "session/delete", json!({"sessionId": SESSION}));
        rig.resume(true);
        unreadable(&mut rig);
        let answer = rig.answer("res").unwrap_or_default();
        rig.want(answer["error"]["code"] == -32002, "deleted here, and damaged");
        rig.ok("thread/delete", json!({}));
        // By somebody else.
        let mut rig = Rig::new(version);
        rig.resume(true);
        unreadable(&mut rig);
        rig.ok("thread/list", json!({"data": [], "nextCursor": null}));
        let answer = rig.answer("res").unwrap_or_default();
        rig.want(answer["error"]["code"] == -32002, "deleted elsewhere, and damaged");
    }
}
