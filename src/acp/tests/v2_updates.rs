//! Every update in version 2, as the schema crate would write it.

use super::{HELLO_V2, greeted, session, updates};
use crate::acp::dropped::Dropped;
use crate::core::fault::Fault;
use crate::core::ids::{Json, MessageId, SessionId, TerminalId, ToolCallId};
use crate::core::update::{
    Background, CallChange, CallContent, CallOpened, CallOutput, Command, ConfigOption, Content, Diff,
    DiffOp, EndedBy, Exit, ExitAccount, ExitStatus, FinalStatus, Location, OpenStatus, OptionCategory,
    OptionValue, Patch, PlanEntry, PlanStatus, Severity, Snapshot, State, StopReason, TerminalOpened,
    ToolKind, Update,
};
use crate::core::vitals::Vitals;
use serde_json::json;

fn message(id: &str) -> MessageId {
    MessageId::new(id)
}

fn term() -> TerminalId {
    TerminalId::new("term_3")
}

fn call(id: &str) -> ToolCallId {
    ToolCallId::new(id)
}

fn state(state: State, busy: bool) -> Update {
    let background = vec![
        Background::Terminal(term()),
        Background::ToolCall(call("call_12")),
        Background::Subagent(SessionId::new("sess_child_4")),
    ];
    Update::State(Snapshot { state, background: if busy { background } else { Vec::new() } })
}

fn exited(status: ExitStatus, account: ExitAccount) -> Update {
    Update::TerminalExited { terminal: term(), exit: Exit { status, account } }
}

fn closed(id: &str, status: FinalStatus, change: CallChange) -> Update {
    Update::CallClosed { call: call(id), status, change }
}

fn diff(path: &str, op: DiffOp, text: &str) -> CallContent {
    CallContent::Diff(Diff { path: path.into(), op, text: text.into(), left_out: None })
}

fn opened(content: Vec<CallContent>) -> CallOpened {
    CallOpened {
        call: call("call_1"),
        name: Some("shell".into()),
        title: "npm run dev".into(),
        kind: ToolKind::Execute,
        status: OpenStatus::InProgress,
        locations: Vec::new(),
        content,
        input: Some(Json::trusted(r#"{"command":["npm","run","dev"]}"#)),
        can_cancel: false,
    }
}

#[test]
fn updates_are_spelled_exactly() {
    const LIST: &str = r#""background":[{"type":"terminal","terminalId":"term_3"},{"type":"tool_call","toolCallId":"call_12"},{"type":"subagent","sessionId":"sess_child_4"}]"#;
    let error = StopReason::Error(Fault::plain("Internal error"));
    let account = ExitAccount {
        by: EndedBy::Client,
        reason: Some("stopped"),
        raw_code: Some(-1),
        duration_ms: Some(2498),
        inferred: true,
        looks_like: Some("SIGTERM"),
        escaped: 1,
        killed: 2,
        left: 3,
    };
    let cases = [
        (
            Update::UserMessage { message: message("msg_user_1"), content: vec![Content::Text("hi".into())] },
            r#"{"sessionUpdate":"user_message","messageId":"msg_user_1","content":[{"type":"text","text":"hi"}]}"#.to_owned(),
        ),
        (
            Update::UserMessage {
                message: message("m"),
                content: vec![
                    Content::Link { name: "a".into(), uri: "file:///a".into() },
                    Content::Image { url: "data:image/png;base64,AAAA".into() },
                    Content::Image { url: "https://x/y.png".into() },
                ],
            },
            r#"{"sessionUpdate":"user_message","messageId":"m","content":[{"type":"resource_link","name":"a","uri":"file:///a"},{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"resource_link","name":"image","uri":"https://x/y.png"}]}"#.into(),
        ),
        (
            Update::AgentText { message: message("msg_a1"), text: "Hel".into() },
            r#"{"sessionUpdate":"agent_message_chunk","messageId":"msg_a1","content":{"type":"text","text":"Hel"}}"#.into(),
        ),
        (
            Update::AgentMessage { message: message("msg_a1"), text: "Hello".into() },
            r#"{"sessionUpdate":"agent_message","messageId":"msg_a1","content":[{"type":"text","text":"Hello"}]}"#.into(),
        ),
        (
            Update::ThoughtText { message: message("think_1"), text: "hm".into() },
            r#"{"sessionUpdate":"agent_thought_chunk","messageId":"think_1","content":{"type":"text","text":"hm"}}"#.into(),
        ),
        (
            Update::CallOpened(opened(vec![CallContent::Terminal(term())])),
            r#"{"sessionUpdate":"tool_call_update","toolCallId":"call_1","name":"shell","title":"npm run dev","kind":"execute","status":"in_progress","content":[{"type":"terminal","terminalId":"term_3"}],"rawInput":{"command":["npm","run","dev"]}}"#.into(),
        ),
        (
            Update::CallChanged {
                call: call("call_1"),
                change: CallChange {
                    status: Some(OpenStatus::InProgress),
                    title: Some("T".into()),
                    content: Some(vec![CallContent::Text("line".into())]),
                    locations: Some(vec![
                        Location { path: "/w/a.rs".into(), line: Some(3) },
                        Location { path: "/w/b.rs".into(), line: Some(0) },
                        Location { path: "relative".into(), line: None },
                    ]),
                    output: Some(CallOutput::Json(Json::trusted(r#"{"x":null}"#))),
                    can_cancel: Some(true),
                },
            },
            r#"{"sessionUpdate":"tool_call_update","toolCallId":"call_1","title":"T","status":"in_progress","content":[{"type":"content","content":{"type":"text","text":"line"}}],"locations":[{"path":"/w/a.rs","line":3},{"path":"/w/b.rs"}],"rawOutput":{"x":null},"capabilities":{"cancel":{}}}"#.into(),
        ),
        (
            closed("call_12", FinalStatus::Cancelled, CallChange::default()),
            r#"{"sessionUpdate":"tool_call_update","toolCallId":"call_12","status":"cancelled"}"#.into(),
        ),
        (
            Update::CallOpened(CallOpened {
                call: call("goal-7"),
                name: Some("goal".into()),
                title: "Goal: do it".into(),
                kind: ToolKind::Other,
                status: OpenStatus::Pending,
                locations: Vec::new(),
                content: Vec::new(),
                input: None,
                can_cancel: true,
            }),
            r#"{"sessionUpdate":"tool_call_update","toolCallId":"goal-7","name":"goal","title":"Goal: do it","kind":"other","status":"pending","capabilities":{"cancel":{}}}"#.into(),
        ),
        (
            Update::CallChanged {
                call: call("goal-7"),
                change: CallChange { status: Some(OpenStatus::Paused), ..CallChange::default() },
            },
            r#"{"sessionUpdate":"tool_call_update","toolCallId":"goal-7","status":"paused"}"#.into(),
        ),
        (
            closed(
                "goal-7",
                FinalStatus::Cancelled,
                CallChange { can_cancel: Some(false), ..CallChange::default() },
            ),
            r#"{"sessionUpdate":"tool_call_update","toolCallId":"goal-7","status":"cancelled","capabilities":null}"#.into(),
        ),
        (
            closed(
                "call_1",
                FinalStatus::Failed,
                CallChange {
                    output: Some(CallOutput::Command { text: "boom\n".into(), exit_code: Some(1) }),
                    ..CallChange::default()
                },
            ),
            r#"{"sessionUpdate":"tool_call_update","toolCallId":"call_1","status":"failed","rawOutput":{"formatted_output":"boom\n","exit_code":1}}"#.into(),
        ),
        (
            closed(
                "call_2",
                FinalStatus::Completed,
                CallChange {
                    content: Some(vec![
                        diff("/w/a.rs", DiffOp::Modify, "@@ -1 +1 @@\n-a\n+b\n"),
                        diff("/w/b.rs", DiffOp::Move("/w/c.rs".into()), ""),
                    ]),
                    ..CallChange::default()
                },
            ),
            r#"{"sessionUpdate":"tool_call_update","toolCallId":"call_2","status":"completed","content":[{"type":"diff","changes":[{"operation":"modify","path":"/w/a.rs"}],"patch":{"format":"git_patch","text":"diff --git /w/a.rs /w/a.rs\n--- /w/a.rs\n+++ /w/a.rs\n@@ -1 +1 @@\n-a\n+b\n"}},{"type":"diff","changes":[{"operation":"move","oldPath":"/w/b.rs","path":"/w/c.rs"}],"patch":{"format":"git_patch","text":"diff --git /w/b.rs /w/c.rs\nsimilarity index 100%\nrename from /w/b.rs\nrename to /w/c.rs\n"}}]}"#.into(),
        ),
        (
            Update::TerminalOpened(TerminalOpened {
                terminal: term(),
                command: "npm run dev".into(),
                cwd: "/w".into(),
                size: None,
                can_cancel: true,
            }),
            r#"{"sessionUpdate":"terminal_update","terminalId":"term_3","command":"npm run dev","cwd":"/w","capabilities":{"cancel":{}}}"#.into(),
        ),
        (
            Update::TerminalOpened(TerminalOpened {
                terminal: term(),
                command: "top".into(),
                cwd: "/w".into(),
                size: Some((80, 24)),
                can_cancel: true,
            }),
            r#"{"sessionUpdate":"terminal_update","terminalId":"term_3","command":"top","cwd":"/w","size":{"cols":80,"rows":24},"capabilities":{"cancel":{}}}"#.into(),
        ),
        (
            Update::TerminalOutput { terminal: term(), text: "passed\r\n".into() },
            r#"{"sessionUpdate":"terminal_output_chunk","terminalId":"term_3","data":"cGFzc2VkDQo="}"#.into(),
        ),
        (
            Update::TerminalSnapshot { terminal: term(), text: "passed\r\n".into() },
            r#"{"sessionUpdate":"terminal_update","terminalId":"term_3","output":{"data":"cGFzc2VkDQo="}}"#.into(),
        ),
        (
            Update::TerminalVitals {
                terminal: term(),
                vitals: Vitals { pid: 71, processes: 2, cpu_percent: 130, memory: 5_000_000_000, started: 0 },
            },
            r#"{"sessionUpdate":"terminal_update","terminalId":"term_3","_meta":{"dev.appserver-acp":{"pid":71,"processes":2,"cpuPercent":130,"memoryBytes":5000000000}}}"#.into(),
        ),
        (
            exited(ExitStatus::Code(0), ExitAccount::default()),
            r#"{"sessionUpdate":"terminal_update","terminalId":"term_3","exitStatus":{"exitCode":0},"capabilities":null}"#.into(),
        ),
        (
            exited(ExitStatus::Signal("SIGTERM"), account),
            r#"{"sessionUpdate":"terminal_update","terminalId":"term_3","exitStatus":{"signal":"SIGTERM"},"capabilities":null,"_meta":{"dev.appserver-acp":{"by":"client","reason":"stopped","rawCode":-1,"durationMs":2498,"inferred":true,"escaped":1,"killed":2,"left":3,"looksLike":"SIGTERM"}}}"#.into(),
        ),
        (
            exited(ExitStatus::Unknown, ExitAccount { by: EndedBy::AppServerLost, ..ExitAccount::default() }),
            r#"{"sessionUpdate":"terminal_update","terminalId":"term_3","exitStatus":{},"capabilities":null,"_meta":{"dev.appserver-acp":{"by":"appServerLost"}}}"#.into(),
        ),
        (state(State::Running, true), format!(r#"{{"sessionUpdate":"state_update","state":"running",{LIST}}}"#)),
        (
            state(State::RequiresAction, false),
            r#"{"sessionUpdate":"state_update","state":"requires_action","background":[]}"#.into(),
        ),
        (
            state(State::Idle(Some(StopReason::EndTurn)), true),
            format!(r#"{{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn",{LIST}}}"#),
        ),
        (state(State::Idle(None), false), r#"{"sessionUpdate":"state_update","state":"idle","background":[]}"#.into()),
        (
            state(State::Idle(Some(StopReason::Cancelled)), false),
            r#"{"sessionUpdate":"state_update","state":"idle","stopReason":"cancelled","background":[]}"#.into(),
        ),
        (
            state(State::Idle(Some(error)), false),
            r#"{"sessionUpdate":"state_update","state":"idle","stopReason":"error","error":{"code":-32603,"message":"Internal error"},"background":[]}"#.into(),
        ),
        (
            state(State::Idle(Some(StopReason::MaxTokens)), false),
            r#"{"sessionUpdate":"state_update","state":"idle","stopReason":"max_tokens","background":[]}"#.into(),
        ),
        (
            state(State::Idle(Some(StopReason::Refusal)), false),
            r#"{"sessionUpdate":"state_update","state":"idle","stopReason":"refusal","background":[]}"#.into(),
        ),
        (state(State::Unknown, true), format!(r#"{{"sessionUpdate":"state_update","state":"unknown",{LIST}}}"#)),
        (
            Update::Plan(vec![
                PlanEntry { text: "a".into(), status: PlanStatus::Completed },
                PlanEntry { text: "b".into(), status: PlanStatus::InProgress },
                PlanEntry { text: "c".into(), status: PlanStatus::Pending },
            ]),
            r#"{"sessionUpdate":"plan_update","plan":{"type":"items","planId":"plan","entries":[{"content":"a","priority":"medium","status":"completed"},{"content":"b","priority":"medium","status":"in_progress"},{"content":"c","priority":"medium","status":"pending"}]}}"#.into(),
        ),
        (
            Update::Usage { used: 53000, size: 200_000 },
            r#"{"sessionUpdate":"usage_update","used":53000,"size":200000}"#.into(),
        ),
        (
            Update::Notice { severity: Severity::Warning, title: "MCP server unavailable".into(), description: None },
            r#"{"sessionUpdate":"notice","severity":"warning","title":"MCP server unavailable"}"#.into(),
        ),
        (
            Update::Notice { severity: Severity::Error, title: String::new(), description: Some("d".into()) },
            r#"{"sessionUpdate":"notice","severity":"error","title":"Error","description":"d"}"#.into(),
        ),
        (
            Update::Notice { severity: Severity::Info, title: "t".into(), description: None },
            r#"{"sessionUpdate":"notice","severity":"info","title":"t"}"#.into(),
        ),
        (
            Update::Commands(vec![
                Command { name: "review".into(), description: "Review changes".into(), hint: Some("what") },
                Command { name: "ps".into(), description: "Lists".into(), hint: None },
            ]),
            r#"{"sessionUpdate":"available_commands_update","availableCommands":[{"type":"command","name":"review","description":"Review changes","input":{"type":"text","hint":"what"}},{"type":"command","name":"ps","description":"Lists"}]}"#.into(),
        ),
        (Update::Options(Vec::new()), r#"{"sessionUpdate":"config_option_update","configOptions":[]}"#.into()),
        (
            Update::Options(vec![ConfigOption {
                id: "mode",
                name: "Mode",
                description: None,
                category: Some(OptionCategory::Mode),
                current: "auto".into(),
                values: vec![OptionValue { value: "auto".into(), name: "Auto".into(), description: Some("d".into()) }],
            }]),
            r#"{"sessionUpdate":"config_option_update","configOptions":[{"configId":"mode","name":"Mode","category":"mode","type":"select","currentValue":"auto","options":[{"value":"auto","name":"Auto","description":"d"}]}]}"#.into(),
        ),
        (
            Update::SessionInfo { title: Patch::Set("T".into()), updated_at: Some(1_795_996_800) },
            r#"{"sessionUpdate":"session_info_update","title":"T","updatedAt":"2026-11-30T00:00:00Z"}"#.into(),
        ),
        (
            Update::SessionInfo { title: Patch::Clear, updated_at: None },
            r#"{"sessionUpdate":"session_info_update","title":null}"#.into(),
        ),
        (Update::ReplayComplete, r#"{"sessionUpdate":"replay_complete"}"#.into()),
    ];
    let mut edge = greeted(HELLO_V2);
    for (update, expected) in cases {
        let got = updates(&mut edge, &update);
        assert_eq!(got.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected], "{update:?}");
    }
}

#[test]
fn every_kind_of_tool_is_known() {
    let kinds = [
        (ToolKind::Read, "read"),
        (ToolKind::Edit, "edit"),
        (ToolKind::Delete, "delete"),
        (ToolKind::Move, "move"),
        (ToolKind::Search, "search"),
        (ToolKind::Execute, "execute"),
        (ToolKind::Think, "think"),
        (ToolKind::Fetch, "fetch"),
        (ToolKind::Other, "other"),
    ];
    for (kind, word) in kinds {
        let opened = CallOpened { kind, ..opened(Vec::new()) };
        assert_eq!(updates(&mut greeted(HELLO_V2), &Update::CallOpened(opened))[0]["kind"], word);
    }
}

#[test]
fn an_update_that_says_nothing_is_dropped() {
    let nothing = Update::SessionInfo { title: Patch::Keep, updated_at: None };
    let encoded = greeted(HELLO_V2).update(&session(), &nothing);
    assert_eq!((encoded.lines.len(), encoded.dropped), (0, Some(Dropped::Empty)));
    let early = super::fresh().update(&session(), &Update::ReplayComplete);
    assert_eq!((early.lines.len(), early.dropped), (0, Some(Dropped::NotInitialized)));
}

#[test]
fn a_diff_that_was_left_out_is_named() {
    let big = CallContent::Diff(Diff {
        path: "/w/a".into(),
        op: DiffOp::Delete,
        text: String::new(),
        left_out: Some(7),
    });
    let change = CallChange { content: Some(vec![big]), ..CallChange::default() };
    let update = Update::CallChanged { call: ToolCallId::new("c"), change };
    let got = updates(&mut greeted(HELLO_V2), &update);
    let note = json!({ "type": "text", "text": "Deleted /w/a (7 bytes of it are not shown)" });
    assert_eq!(
        got[0]["content"],
        json!([
            { "type": "diff", "changes": [{ "operation": "delete", "path": "/w/a" }] },
            { "type": "content", "content": note },
        ])
    );
}
