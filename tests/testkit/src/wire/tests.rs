//! One good and one bad line per reason to refuse one.

use super::{Kind, check};
use crate::belief::Version;
use serde_json::{Value, json};

fn line(value: Value) -> String {
    value.to_string()
}

fn update(update: Value) -> String {
    line(
        json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}),
    )
}

fn result(result: Value) -> String {
    line(json!({"jsonrpc": "2.0", "id": 1, "result": result}))
}

fn v2(update_: Value) -> Result<(), String> {
    check(Version::V2, Kind::Notification, &update(update_))
}

fn v1(update_: Value) -> Result<(), String> {
    check(Version::V1, Kind::Notification, &update(update_))
}

#[track_caller]
fn refused(outcome: Result<(), String>, part: &str) {
    let error = outcome.expect_err("must be refused");
    assert!(error.contains(part), "{error}");
}

#[test]
fn good_lines_of_v2_pass() {
    let idle = json!({"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn", "background": [{"type": "terminal", "terminalId": "t"}]});
    v2(idle).unwrap();
    v2(json!({"sessionUpdate": "state_update", "state": "idle", "stopReason": "error", "error": {"code": -32603, "message": "m"}, "background": []})).unwrap();
    v2(json!({"sessionUpdate": "terminal_update", "terminalId": "t", "command": "c", "cwd": "/w", "capabilities": {"cancel": {}}})).unwrap();
    v2(json!({"sessionUpdate": "terminal_update", "terminalId": "t", "exitStatus": {}, "capabilities": null, "_meta": {"a.b/c": {"d": 1}}})).unwrap();
    v2(json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "kind": "execute", "status": "in_progress", "content": [{"type": "terminal", "terminalId": "t"}], "rawInput": {"command": "x"}})).unwrap();
    v2(json!({"sessionUpdate": "replay_complete"})).unwrap();
    check(Version::V2, Kind::Answer("session/prompt"), &result(json!({"messageId": "m"}))).unwrap();
    check(Version::V2, Kind::Answer("terminal/cancel"), &result(json!({}))).unwrap();
    check(
        Version::V2,
        Kind::Answer("session/resume"),
        &result(json!({"configOptions": [], "availableCommands": []})),
    )
    .unwrap();
    check(
        Version::V2,
        Kind::Answer("session/prompt"),
        &line(json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32800, "message": "cancelled"}})),
    )
    .unwrap();
    check(
        Version::V2,
        Kind::Notification,
        &line(json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 7}})),
    )
    .unwrap();
    check(
        Version::V2,
        Kind::Request,
        &line(json!({"jsonrpc": "2.0", "id": 7, "method": "session/request_permission", "params": {
            "sessionId": "s", "title": "Run it?",
            "subject": {"type": "command", "command": "x", "cwd": "/w", "toolCallId": "c"},
            "options": [{"optionId": "a", "name": "Allow", "kind": "allow_once"}]}})),
    )
    .unwrap();
}

#[test]
fn good_lines_of_v1_pass() {
    v1(json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "t", "kind": "execute", "status": "in_progress", "content": [{"type": "terminal", "terminalId": "c"}], "_meta": {"terminal_info": {"terminal_id": "c", "cwd": "/w"}}})).unwrap();
    v1(json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "failed"})).unwrap();
    v1(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hi"}})).unwrap();
    check(Version::V1, Kind::Answer("session/prompt"), &result(json!({"stopReason": "end_turn"}))).unwrap();
    check(
        Version::V1,
        Kind::Notification,
        &line(json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 7}})),
    )
    .unwrap();
}

#[test]
fn values_for_the_future_are_refused() {
    refused(v2(json!({"sessionUpdate": "brand_new"})), "session/update");
    refused(v2(json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "weird"})), "status");
    refused(v2(json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "kind": "weird"})), "kind");
    refused(
        v2(
            json!({"sessionUpdate": "state_update", "state": "idle", "stopReason": "weird", "background": []}),
        ),
        "",
    );
    refused(
        v2(
            json!({"sessionUpdate": "state_update", "state": "idle", "background": [{"type": "cron", "x": 1}]}),
        ),
        "",
    );
}

#[test]
fn values_that_a_receiver_drops_are_refused() {
    refused(
        v2(json!({"sessionUpdate": "terminal_update", "terminalId": "t", "exitStatus": {"exitCode": "1"}})),
        "",
    );
    refused(
        v2(json!({"sessionUpdate": "terminal_update", "terminalId": "t", "capabilities": {"cancel": true}})),
        "",
    );
    refused(v2(json!({"sessionUpdate": "terminal_update", "terminalId": "t", "pid": 7})), "not understood");
    refused(
        v2(json!({"sessionUpdate": "state_update", "state": "idle", "background": [{"type": "terminal"}]})),
        "",
    );
    refused(
        v1(json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "cancelled"})),
        "status",
    );
}

#[test]
fn kinds_of_the_other_version_are_refused() {
    refused(v1(json!({"sessionUpdate": "state_update", "state": "idle"})), "session/update");
    refused(v2(json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "t"})), "session/update");
    refused(
        v2(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hi"}})),
        "",
    );
}

#[test]
fn answers_are_checked_by_the_method_asked() {
    let answer = result(json!({"stopReason": "end_turn"}));
    refused(check(Version::V2, Kind::Answer("session/prompt"), &answer), "messageId");
    refused(check(Version::V1, Kind::Answer("session/close"), &answer), "not understood");
    refused(check(Version::V1, Kind::Answer("session/telepathy"), &answer), "no such");
}

#[test]
fn envelopes_are_checked() {
    let good = json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": {"sessionUpdate": "replay_complete"}}});
    let mut bare = good.clone();
    bare.as_object_mut().unwrap().remove("jsonrpc");
    refused(check(Version::V2, Kind::Notification, &line(bare)), "jsonrpc");
    let mut with_id = good.clone();
    with_id["id"] = json!(1);
    refused(check(Version::V2, Kind::Notification, &line(with_id)), "members");
    refused(check(Version::V2, Kind::Notification, "[]"), "jsonrpc");
    refused(check(Version::V2, Kind::Notification, &serde_json::to_string_pretty(&good).unwrap()), "newline");
    refused(
        check(
            Version::V2,
            Kind::Answer("session/prompt"),
            &line(json!({"jsonrpc": "2.0", "id": 1, "error": {"code": "x", "message": "m"}})),
        ),
        "code",
    );
}
