//! Updates of version 1 other than terminals.

use super::{HELLO_V1, HELLO_ZED, ask_us, greeted, session, updates};
use crate::acp::dropped::Dropped;
use crate::core::ids::{Json, MessageId, ToolCallId};
use crate::core::request::{Reply, SessionOpened};
use crate::core::update::{
    CallChange, CallContent, CallOpened, CallOutput, Command, ConfigOption, Content, Diff, DiffOp,
    FinalStatus, Location, OpenStatus, OptionCategory, OptionValue, Patch, PlanEntry, PlanStatus, Severity,
    Snapshot, State, StopReason, ToolKind, Update,
};
use serde_json::{Value, json};

fn message() -> MessageId {
    MessageId::new("m")
}

fn streamed(text: &str) -> Update {
    Update::AgentText { message: message(), text: text.into() }
}

fn whole(text: &str) -> Update {
    Update::AgentMessage { message: message(), text: text.into() }
}

fn idle() -> Update {
    Update::State(Snapshot { state: State::Idle(Some(StopReason::EndTurn)), background: Vec::new() })
}

fn modes(current: &str) -> Vec<ConfigOption> {
    let value = |it: &str| OptionValue { value: it.into(), name: it.into(), description: None };
    vec![ConfigOption {
        id: "mode",
        name: "Mode",
        description: None,
        category: Some(OptionCategory::Mode),
        current: current.into(),
        values: vec![value("auto"), value("ask")],
    }]
}

fn call(content: Vec<CallContent>) -> CallOpened {
    CallOpened {
        call: ToolCallId::new("call_1"),
        name: Some("apply_patch".into()),
        title: "Edit".into(),
        kind: ToolKind::Edit,
        status: OpenStatus::InProgress,
        locations: vec![
            Location { path: "/w/a".into(), line: Some(2) },
            Location { path: "b".into(), line: None },
        ],
        content,
        input: Some(Json::trusted("{\"x\":1}")),
        can_cancel: false,
    }
}

#[test]
fn updates_are_spelled_exactly() {
    let cases = [
        (
            streamed("hi"),
            json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "hi" }, "messageId": "m" }),
        ),
        (
            Update::ThoughtText { message: message(), text: "hm".into() },
            json!({ "sessionUpdate": "agent_thought_chunk", "content": { "type": "text", "text": "hm" }, "messageId": "m" }),
        ),
        (
            Update::CallOpened(call(vec![CallContent::Text("x".into())])),
            json!({
                "sessionUpdate": "tool_call", "toolCallId": "call_1", "title": "Edit", "name": "apply_patch",
                "kind": "edit", "status": "in_progress",
                "content": [{ "type": "content", "content": { "type": "text", "text": "x" } }],
                "locations": [{ "path": "/w/a", "line": 2 }], "rawInput": { "x": 1 },
            }),
        ),
        (
            Update::CallChanged {
                call: ToolCallId::new("call_1"),
                change: CallChange {
                    title: Some("New".into()),
                    locations: Some(Vec::new()),
                    output: Some(CallOutput::Json(Json::trusted("[1]"))),
                    ..CallChange::default()
                },
            },
            json!({ "sessionUpdate": "tool_call_update", "toolCallId": "call_1", "title": "New", "locations": [], "rawOutput": [1] }),
        ),
        (
            Update::CallClosed {
                call: ToolCallId::new("call_1"),
                status: FinalStatus::Failed,
                change: CallChange::default(),
            },
            json!({ "sessionUpdate": "tool_call_update", "toolCallId": "call_1", "status": "failed" }),
        ),
        (
            Update::Plan(vec![
                PlanEntry { text: "a".into(), status: PlanStatus::Completed },
                PlanEntry { text: "b".into(), status: PlanStatus::InProgress },
                PlanEntry { text: "c".into(), status: PlanStatus::Pending },
            ]),
            json!({ "sessionUpdate": "plan", "entries": [
                { "content": "a", "priority": "medium", "status": "completed" },
                { "content": "b", "priority": "medium", "status": "in_progress" },
                { "content": "c", "priority": "medium", "status": "pending" },
            ] }),
        ),
        (
            Update::Usage { used: 1, size: 2 },
            json!({ "sessionUpdate": "usage_update", "used": 1, "size": 2 }),
        ),
        (
            Update::Commands(vec![Command {
                name: "ps".into(),
                description: "Lists".into(),
                hint: Some("id"),
            }]),
            json!({ "sessionUpdate": "available_commands_update", "availableCommands": [
                { "name": "ps", "description": "Lists", "input": { "hint": "id" } },
            ] }),
        ),
        (
            Update::SessionInfo { title: Patch::Set("T".into()), updated_at: Some(0) },
            json!({ "sessionUpdate": "session_info_update", "title": "T", "updatedAt": "1970-01-01T00:00:00Z" }),
        ),
        (
            Update::SessionInfo { title: Patch::Clear, updated_at: None },
            json!({ "sessionUpdate": "session_info_update", "title": null }),
        ),
    ];
    let mut edge = greeted(HELLO_V1);
    for (update, expected) in cases {
        assert_eq!(updates(&mut edge, &update), [expected], "{update:?}");
    }
}

#[test]
fn what_v1_lacks_is_dropped_by_name() {
    let mut edge = greeted(HELLO_V1);
    let cases = [
        (idle(), Dropped::NoSuchUpdate),
        (Update::ReplayComplete, Dropped::NoSuchUpdate),
        (Update::SessionInfo { title: Patch::Keep, updated_at: None }, Dropped::Empty),
        (Update::UserMessage { message: message(), content: Vec::new() }, Dropped::Empty),
    ];
    for (update, why) in cases {
        let encoded = edge.update(&session(), &update);
        assert_eq!((encoded.lines.len(), encoded.dropped), (0, Some(why)), "{update:?}");
    }
}

#[test]
fn a_whole_message_sends_what_is_missing() {
    let mut edge = greeted(HELLO_V1);
    let text = |values: Vec<Value>| values[0]["content"]["text"].as_str().unwrap().to_owned();
    updates(&mut edge, &streamed("Hel"));
    updates(&mut edge, &streamed("lö"));
    assert_eq!(text(updates(&mut edge, &whole("Hellö you"))), " you");
    assert_eq!(edge.update(&session(), &whole("Hellö you")).dropped, Some(Dropped::AlreadySent));
    assert_eq!(text(updates(&mut edge, &whole("Hallo"))), "\n\n*(corrected)*\n\nHallo");
    assert_eq!(edge.update(&session(), &whole("Hallo")).dropped, Some(Dropped::AlreadySent));
    updates(&mut edge, &idle());
    assert_eq!(text(updates(&mut edge, &whole("Hallo"))), "Hallo", "an idle session has no stream");
}

#[test]
fn a_message_of_the_user_is_told_part_by_part() {
    let mut edge = greeted(HELLO_V1);
    let content =
        vec![Content::Text("a".into()), Content::Link { name: "n".into(), uri: "file:///n".into() }];
    let said = Update::UserMessage { message: message(), content };
    assert_eq!(
        updates(&mut edge, &said),
        [
            json!({ "sessionUpdate": "user_message_chunk", "content": { "type": "text", "text": "a" }, "messageId": "m" }),
            json!({ "sessionUpdate": "user_message_chunk", "content": { "type": "resource_link", "name": "n", "uri": "file:///n" }, "messageId": "m" }),
        ]
    );
}

#[test]
fn notices_without_the_capability_are_lines_to_read() {
    let notice = |severity| Update::Notice {
        severity,
        title: "MCP is down".into(),
        description: Some("restart it".into()),
    };
    let mut plain = greeted(HELLO_V1);
    for (severity, word) in
        [(Severity::Info, "Note"), (Severity::Warning, "Warning"), (Severity::Error, "Error")]
    {
        let got = updates(&mut plain, &notice(severity));
        assert_eq!(got[0]["sessionUpdate"], "agent_message_chunk");
        let text = format!("\n\n**{word}:** MCP is down\n\nrestart it\n\n");
        assert_eq!(got[0]["content"]["text"], text);
    }
    let mut zed = greeted(HELLO_ZED);
    for (severity, word) in
        [(Severity::Info, "info"), (Severity::Warning, "warning"), (Severity::Error, "error")]
    {
        assert_eq!(
            updates(&mut zed, &notice(severity)),
            [
                json!({ "sessionUpdate": "notice", "severity": word, "title": "MCP is down", "description": "restart it" })
            ]
        );
    }
}

#[test]
fn a_changed_mode_is_said_once() {
    let mut edge = greeted(HELLO_V1);
    let (ticket, _) = ask_us(&mut edge, 1, "session/new", json!({ "cwd": "/w" }));
    let opened = SessionOpened { session: session(), options: modes("auto"), commands: Vec::new() };
    edge.respond(ticket, Reply::SessionOpened(opened));
    let kinds = |values: Vec<Value>| -> Vec<String> {
        values.iter().map(|it| it["sessionUpdate"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(updates(&mut edge, &Update::Options(modes("auto")))), ["config_option_update"]);
    let got = updates(&mut edge, &Update::Options(modes("ask")));
    assert_eq!(got[1], json!({ "sessionUpdate": "current_mode_update", "currentModeId": "ask" }));
    assert_eq!(kinds(got), ["config_option_update", "current_mode_update"]);
    let mode = json!({ "sessionId": "sess_1", "modeId": "auto" });
    let (ticket, _) = ask_us(&mut edge, 2, "session/set_mode", mode);
    edge.respond(ticket, Reply::OptionSet(modes("auto")));
    assert_eq!(kinds(updates(&mut edge, &Update::Options(modes("auto")))), ["config_option_update"]);
    let set = json!({ "sessionId": "sess_1", "configId": "mode", "value": "ask" });
    let (ticket, _) = ask_us(&mut edge, 3, "session/set_config_option", set);
    edge.respond(ticket, Reply::OptionSet(modes("ask")));
    let got = kinds(updates(&mut edge, &Update::Options(modes("ask"))));
    assert_eq!(got, ["config_option_update", "current_mode_update"], "the answer had no modes");
}

#[test]
fn diffs_have_both_sides() {
    let diff = |op, text: &str| {
        let content =
            vec![CallContent::Diff(Diff { path: "/w/a".into(), op, text: text.into(), left_out: None })];
        updates(&mut greeted(HELLO_V1), &Update::CallOpened(call(content)))[0]["content"].clone()
    };
    let side = |path: &str, old: Value, new: &str| {
        let mut side = json!({ "type": "diff", "path": path, "newText": new });
        if !old.is_null() {
            side["oldText"] = old;
        }
        side
    };
    let text = |text: &str| json!({ "type": "content", "content": { "type": "text", "text": text } });
    assert_eq!(diff(DiffOp::Add, "x\n"), json!([side("/w/a", Value::Null, "x\n")]));
    assert_eq!(diff(DiffOp::Delete, "x\n"), json!([side("/w/a", json!("x\n"), "")]));
    let hunks = "@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -9 +9,2 @@\n z\n+y\n";
    let expected = [side("/w/a", json!("a\nb\n"), "a\nc\n"), side("/w/a", json!("z\n"), "z\ny\n")];
    assert_eq!(diff(DiffOp::Modify, hunks), json!(expected));
    assert_eq!(diff(DiffOp::Modify, "@@ -1,9 +1 @@\n-a\n"), json!([text("Changed /w/a")]));
    let moved = diff(DiffOp::Move("/w/b".into()), "@@ -1 +1 @@\n-a\n+b\n\n\nMoved to: /w/b");
    assert_eq!(moved, json!([side("/w/b", json!("a\n"), "b\n"), text("Moved /w/a to /w/b")]));
    let big = Diff { path: "/w/a".into(), op: DiffOp::Add, text: String::new(), left_out: Some(7) };
    let opened = Update::CallOpened(call(vec![CallContent::Diff(big)]));
    let shown = &updates(&mut greeted(HELLO_V1), &opened)[0]["content"];
    assert_eq!(*shown, json!([text("Added /w/a (7 bytes of it are not shown)")]));
}
