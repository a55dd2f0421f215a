//! Answers to the client, questions to it, and what it answers.

use super::{HELLO_V1, HELLO_V2, HELLO_ZED, ask_us, greeted, session, wire};
use crate::acp::error::rpc_error;
use crate::acp::{Edge, Read};
use crate::core::ask::{Answer, Ask, Permission, PermissionKind, PermissionOption, Subject};
use crate::core::asked::Question;
use crate::core::effect::Anomaly;
use crate::core::failure::Failure;
use crate::core::fault::Fault;
use crate::core::ids::{AskId, Json, MessageId, RequestId, SessionId, TerminalId, ToolCallId};
use crate::core::input::FromClient;
use crate::core::request::{FormAnswers, Reply, SessionEntry, SessionOpened};
use crate::core::update::{
    CallContent, CallOpened, Command, ConfigOption, Diff, DiffOp, OpenStatus, OptionCategory, OptionValue,
    StopReason, ToolKind, Update,
};
use crate::envelope::remains::Remains;
use serde_json::{Value, json};

fn option(id: &'static str, category: OptionCategory, values: &[&str]) -> ConfigOption {
    let values: Vec<_> = values
        .iter()
        .map(|it| OptionValue { value: (*it).into(), name: it.to_uppercase(), description: None })
        .collect();
    let current = values.first().map(|it| it.value.clone()).unwrap_or_default();
    ConfigOption { id, name: "Name", description: Some("why"), category: Some(category), current, values }
}

fn options() -> Vec<ConfigOption> {
    vec![
        option("model", OptionCategory::Model, &["m1", "m2"]),
        option("effort", OptionCategory::ThoughtLevel, &["low"]),
        option("mode", OptionCategory::Mode, &["auto", "ask"]),
        option("none", OptionCategory::Model, &[]),
    ]
}

fn opened() -> Reply {
    Reply::SessionOpened(SessionOpened {
        session: session(),
        options: options(),
        commands: vec![Command { name: "ps".into(), description: "Lists".into(), hint: Some("id") }],
    })
}

fn answered(edge: &mut Edge, method: &str, params: Value, reply: Reply) -> Value {
    let (ticket, _) = ask_us(edge, 5, method, params);
    let line = edge.respond(ticket, reply);
    wire::assert_result_valid(edge.profile().unwrap().version, method, &line);
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(line["id"], 5);
    line["result"].clone()
}

fn here() -> Value {
    json!({ "sessionId": "sess_1", "cwd": "/w", "mcpServers": [] })
}

#[test]
fn v2_results() {
    let mut edge = greeted(HELLO_V2);
    let new = answered(&mut edge, "session/new", here(), opened());
    assert_eq!(new["sessionId"], "sess_1");
    assert_eq!(
        new["configOptions"][0],
        json!({
            "configId": "model", "name": "Name", "description": "why", "category": "model",
            "type": "select", "currentValue": "m1",
            "options": [{ "value": "m1", "name": "M1" }, { "value": "m2", "name": "M2" }],
        })
    );
    assert_eq!(new["configOptions"][1]["category"], "thought_level");
    assert_eq!(new["configOptions"].as_array().unwrap().len(), 3, "nothing to choose, nothing to show");
    assert_eq!(
        new["availableCommands"],
        json!([{ "type": "command", "name": "ps", "description": "Lists", "input": { "type": "text", "hint": "id" } }])
    );
    let resumed = answered(&mut edge, "session/resume", here(), opened());
    assert_eq!((&resumed["configOptions"], resumed.get("sessionId")), (&new["configOptions"], None));
    let sessions = vec![
        SessionEntry {
            session: session(),
            cwd: "/w".into(),
            title: Some("T".into()),
            updated_at: Some(1_795_996_800),
            is_archived: false,
        },
        SessionEntry {
            session: SessionId::new("b"),
            cwd: "/b".into(),
            title: None,
            updated_at: None,
            is_archived: true,
        },
    ];
    let list = Reply::Sessions { sessions, next: Some("c".into()) };
    assert_eq!(
        answered(&mut edge, "session/list", json!({}), list),
        json!({
            "sessions": [
                { "sessionId": "sess_1", "cwd": "/w", "title": "T", "updatedAt": "2026-11-30T00:00:00Z",
                    "archived": false },
                { "sessionId": "b", "cwd": "/b", "archived": true },
            ],
            "nextCursor": "c",
        })
    );
    let prompt = json!({ "sessionId": "sess_1", "prompt": [{ "type": "text", "text": "hi" }] });
    let inserted = Reply::Inserted { message: MessageId::new("msg_user_1") };
    assert_eq!(answered(&mut edge, "session/prompt", prompt, inserted), json!({ "messageId": "msg_user_1" }));
    let set = json!({ "sessionId": "sess_1", "configId": "model", "type": "id", "value": "m1" });
    let set = answered(&mut edge, "session/set_config_option", set, Reply::OptionSet(options()));
    assert_eq!(set, json!({ "configOptions": new["configOptions"] }));
    let target = json!({ "sessionId": "sess_1", "terminalId": "t", "toolCallId": "t" });
    for method in ["terminal/cancel", "tool_call/cancel"] {
        assert_eq!(answered(&mut edge, method, target.clone(), Reply::CancelAccepted), json!({}));
    }
    assert_eq!(answered(&mut edge, "session/close", target, Reply::SessionClosed), json!({}));
    let fork = json!({ "sessionId": "sess_0", "cwd": "/w", "mcpServers": [] });
    let forked = answered(&mut edge, "session/fork", fork, opened());
    assert_eq!((&forked["sessionId"], &forked["configOptions"]), (&json!("sess_1"), &new["configOptions"]));
    for method in ["session/delete", "session/archive", "session/unarchive"] {
        assert_eq!(answered(&mut edge, method, json!({ "sessionId": "sess_1" }), Reply::Shelved), json!({}));
    }
    let title = json!({ "sessionId": "sess_1", "title": "  One\ttitle" });
    let titled = answered(&mut edge, "session/set_title", title, Reply::Titled("One title".into()));
    assert_eq!(titled, json!({ "title": "One title" }));
}

#[test]
fn v1_results() {
    let mut edge = greeted(HELLO_V1);
    let new = answered(&mut edge, "session/new", here(), opened());
    assert_eq!(
        new["modes"],
        json!({
            "currentModeId": "auto",
            "availableModes": [{ "id": "auto", "name": "AUTO" }, { "id": "ask", "name": "ASK" }],
        })
    );
    assert_eq!((&new["configOptions"][0]["id"], &new["sessionId"]), (&json!("model"), &json!("sess_1")));
    for method in ["session/load", "session/resume"] {
        let result = answered(&mut edge, method, here(), opened());
        assert_eq!((&result["modes"], &result["configOptions"]), (&new["modes"], &new["configOptions"]));
    }
    let prompt = json!({ "sessionId": "sess_1", "prompt": [{ "type": "text", "text": "hi" }] });
    let stops = [
        (StopReason::EndTurn, "end_turn"),
        (StopReason::MaxTokens, "max_tokens"),
        (StopReason::Refusal, "refusal"),
        (StopReason::Cancelled, "cancelled"),
    ];
    for (stop, word) in stops {
        let ended = Reply::TurnEnded { stop, background: vec![ToolCallId::new("call_1")] };
        assert_eq!(
            answered(&mut edge, "session/prompt", prompt.clone(), ended),
            json!({ "stopReason": word, "_meta": { "dev.appserver-acp": { "background": ["call_1"] } } })
        );
    }
    let list = Reply::Sessions { sessions: Vec::new(), next: None };
    assert_eq!(answered(&mut edge, "session/list", json!({}), list), json!({ "sessions": [] }));
    let mode = json!({ "sessionId": "sess_1", "modeId": "auto" });
    assert_eq!(answered(&mut edge, "session/set_mode", mode, Reply::OptionSet(options())), json!({}));
    let set = json!({ "sessionId": "sess_1", "configId": "model", "value": "m1" });
    let set = answered(&mut edge, "session/set_config_option", set, Reply::OptionSet(options()));
    assert_eq!(set, json!({ "configOptions": new["configOptions"] }));
    let close = json!({ "sessionId": "sess_1" });
    assert_eq!(answered(&mut edge, "session/close", close, Reply::SessionClosed), json!({}));
}

#[test]
fn a_reply_to_another_method_is_still_one_answer() {
    for hello in [HELLO_V1, HELLO_V2] {
        let mut edge = greeted(hello);
        for reply in [opened(), Reply::CancelAccepted, Reply::OptionSet(Vec::new()), Reply::SessionClosed] {
            let (ticket, _) = ask_us(&mut edge, 1, "session/list", json!({}));
            let line = edge.respond(ticket, reply);
            wire::assert_error_valid(&line);
            assert!(line.contains("-32603"), "{line}");
        }
    }
}

#[test]
fn every_failure_has_its_code() {
    let cases = [
        (Failure::UnknownSession(SessionId::new("sess_9")), -32002, json!({ "sessionId": "sess_9" })),
        (
            Failure::HeldElsewhere(SessionId::new("s")),
            -32603,
            json!({ "sessionId": "s", "heldBy": "another Codex process" }),
        ),
        (Failure::InvalidParams("x".into()), -32602, Value::Null),
        (Failure::InvalidRequest("x".into()), -32600, Value::Null),
        (Failure::UnknownMethod("x".into()), -32601, Value::Null),
        (Failure::Cancelled, -32800, Value::Null),
        (Failure::AuthRequired("log in".into()), -32000, Value::Null),
        (
            Failure::AppServer { message: "gone".into(), stderr: Some("tail".into()) },
            -32603,
            json!({ "stderr": "tail" }),
        ),
        (Failure::AppServer { message: "gone".into(), stderr: None }, -32603, Value::Null),
        (Failure::Codex { method: "turn/start", message: "no".into(), code: -1 }, -32603, Value::Null),
        (Failure::TurnFailed(Fault::plain("no")), -32603, Value::Null),
    ];
    for (failure, code, data) in cases {
        let error = rpc_error(&failure);
        assert_eq!((error.code, error.data.clone().unwrap_or_default()), (code, data), "{failure:?}");
        let mut edge = greeted(HELLO_V2);
        let (ticket, _) = ask_us(&mut edge, 1, "session/list", json!({}));
        let line = edge.respond(ticket, Reply::Failed(failure));
        wire::assert_error_valid(&line);
        let line: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(line["error"], serde_json::to_value(error).unwrap());
    }
}

fn permission(subject: Subject) -> Ask {
    let option = |id: &str, kind| PermissionOption { id: id.into(), name: id.into(), kind };
    Ask::Permission(Permission {
        title: "Run npm test?".into(),
        description: Some("it may take long".into()),
        subject,
        options: vec![
            option("a", PermissionKind::AllowOnce),
            option("b", PermissionKind::AllowAlways),
            option("c", PermissionKind::RejectOnce),
            option("d", PermissionKind::RejectAlways),
        ],
    })
}

fn command() -> Subject {
    Subject::Command {
        command: "npm test".into(),
        cwd: "/w".into(),
        call: Some(ToolCallId::new("call_1")),
        terminal: Some(TerminalId::new("term_3")),
    }
}

fn form(schema: &str) -> Ask {
    Ask::Form { message: "Who?".into(), call: Some(ToolCallId::new("call_1")), schema: Json::trusted(schema) }
}

const SCHEMA: &str = r#"{"type":"object","properties":{"name":{"type":"string"},"n":{"type":"integer","minimum":1},"ok":{"type":"boolean"},"many":{"type":"array","items":{"type":"string","enum":["a"]}}},"required":["name"]}"#;

fn asked(edge: &mut Edge, id: i64, question: &Ask) -> Value {
    let line = edge.ask(AskId(id), &session(), question).unwrap();
    wire::assert_wire_valid(edge.profile().unwrap().version, &line);
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(line["id"], id);
    line
}

#[test]
fn the_names_of_values_are_shown() {
    let schema =
        r#"{"type":"object","properties":{"e":{"type":"string","enum":["a","b"],"enumNames":["A!","B!"]}}}"#;
    for hello in [HELLO_V1, HELLO_V2] {
        let line = asked(&mut greeted(hello), 1, &form(schema));
        assert_eq!(
            line["params"]["requestedSchema"]["properties"]["e"],
            json!({ "type": "string", "oneOf": [{ "const": "a", "title": "A!" }, { "const": "b", "title": "B!" }] })
        );
    }
}

#[test]
fn the_fields_of_a_form_keep_their_order() {
    let question = |id: &str, options: &[&str]| Question {
        id: id.into(),
        header: String::new(),
        question: "?".into(),
        is_other: true,
        is_secret: false,
        options: options.iter().map(|it| ((*it).into(), String::new())).collect(),
    };
    let questions = vec![question("z", &["b", "a"]), question("a", &[]), question("m", &[])];
    let fields = r#"{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"boolean"},"m":{"type":"integer"}}}"#;
    for hello in [HELLO_V1, HELLO_V2] {
        let mut edge = greeted(hello);
        let asked = [
            (
                asked(&mut edge, 1, &Ask::Questions { call: None, questions: questions.clone() }),
                &["z", "z/other", "a", "m"][..],
            ),
            (asked(&mut edge, 2, &form(fields)), &["z", "a", "m"]),
        ];
        for (line, expected) in asked {
            let fields = line["params"]["requestedSchema"]["properties"].as_object().unwrap();
            assert_eq!(fields.keys().collect::<Vec<_>>(), expected, "{line}");
        }
    }
}

#[test]
fn v2_questions() {
    let mut edge = greeted(HELLO_V2);
    let line = asked(&mut edge, 1, &permission(command()));
    assert_eq!(line["method"], "session/request_permission");
    assert_eq!(
        line["params"],
        json!({
            "sessionId": "sess_1", "title": "Run npm test?", "description": "it may take long",
            "subject": { "type": "command", "command": "npm test", "cwd": "/w", "toolCallId": "call_1", "terminalId": "term_3" },
            "options": [
                { "optionId": "a", "name": "a", "kind": "allow_once" },
                { "optionId": "b", "name": "b", "kind": "allow_always" },
                { "optionId": "c", "name": "c", "kind": "reject_once" },
                { "optionId": "d", "name": "d", "kind": "reject_always" },
            ],
        })
    );
    let line = asked(&mut edge, 2, &permission(Subject::Call(ToolCallId::new("call_2"))));
    assert_eq!(
        line["params"]["subject"],
        json!({ "type": "tool_call", "toolCall": { "toolCallId": "call_2" } })
    );
    let line = asked(&mut edge, 3, &form(SCHEMA));
    assert_eq!(line["method"], "elicitation/create");
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    assert_eq!(
        line["params"],
        json!({ "mode": "form", "sessionId": "sess_1", "toolCallId": "call_1", "requestedSchema": schema, "message": "Who?" })
    );
    let url = Ask::Url { message: "Log in".into(), elicitation: "e1".into(), url: "https://x/y".into() };
    assert_eq!(
        asked(&mut edge, 4, &url)["params"],
        json!({ "mode": "url", "sessionId": "sess_1", "elicitationId": "e1", "url": "https://x/y", "message": "Log in" })
    );
}

#[test]
fn v1_questions() {
    let mut edge = greeted(HELLO_V1);
    let line = asked(&mut edge, 1, &permission(command()));
    assert_eq!(
        line["params"]["toolCall"],
        json!({
            "toolCallId": "call_1", "kind": "execute", "status": "pending", "title": "Run npm test?",
            "content": [{ "type": "content", "content": { "type": "text", "text": "it may take long" } }],
            "rawInput": { "command": "npm test", "cwd": "/w" },
        })
    );
    let nameless = Subject::Command { command: "x".into(), cwd: "/w".into(), call: None, terminal: None };
    assert_eq!(
        asked(&mut edge, 2, &permission(nameless))["params"]["toolCall"]["toolCallId"],
        "permission-2"
    );
    asked(&mut edge, 3, &form(SCHEMA));
    asked(&mut edge, 4, &Ask::Url { message: "m".into(), elicitation: "e".into(), url: "https://x".into() });
}

#[test]
fn a_v1_permission_keeps_what_the_known_call_shows() {
    let mut edge = greeted(HELLO_ZED);
    let diff = Diff { path: "/w/a".into(), op: DiffOp::Add, text: "x\n".into(), left_out: None };
    let call = CallOpened {
        call: ToolCallId::new("call_2"),
        name: None,
        title: "Edit a".into(),
        kind: ToolKind::Edit,
        status: OpenStatus::Pending,
        locations: Vec::new(),
        content: vec![CallContent::Diff(diff)],
        input: None,
        can_cancel: false,
    };
    edge.update(&session(), &Update::CallOpened(call));
    let line = asked(&mut edge, 1, &permission(Subject::Call(ToolCallId::new("call_2"))));
    let call = &line["params"]["toolCall"];
    assert_eq!((&call["title"], call.get("status")), (&json!("Edit a"), None));
    assert_eq!(call["content"][0], json!({ "type": "diff", "path": "/w/a", "newText": "x\n" }));
    assert_eq!(call["content"][1]["content"]["text"], "Run npm test?", "the title has no room for it");
    assert_eq!(call["content"][2]["content"]["text"], "it may take long");
}

#[test]
fn questions_that_cannot_be_put_are_answered_here() {
    let strange = [
        r#"{"type":"object","properties":{"x":{"type":"object"}}}"#,
        r#"{"type":"object","properties":{"x":{"type":"array","items":{"type":"number"}}}}"#,
        r#"{"type":"array"}"#,
        "[]",
    ];
    for hello in [HELLO_V1, HELLO_V2] {
        let mut edge = greeted(hello);
        for schema in strange {
            let answer = edge.ask(AskId(1), &session(), &form(schema)).unwrap_err();
            assert!(matches!(answer, Answer::Failed { .. }), "{schema}");
        }
        let Ask::Permission(mut empty) = permission(command()) else { unreachable!() };
        empty.options.clear();
        assert!(edge.ask(AskId(1), &session(), &Ask::Permission(empty)).is_err());
        assert_eq!(edge.withdraw(AskId(1)), None, "nothing is open");
    }
    let mut zed = greeted(HELLO_ZED);
    assert!(zed.ask(AskId(1), &session(), &form(SCHEMA)).is_err(), "not declared");
    let url = Ask::Url { message: "m".into(), elicitation: "e".into(), url: "https://x".into() };
    assert!(zed.ask(AskId(1), &session(), &url).is_err(), "not declared");
}

fn reply(edge: &mut Edge, id: Value, member: &str, value: Value) -> Read {
    let mut line = json!({ "jsonrpc": "2.0", "id": id });
    line[member] = value;
    edge.read(line.to_string().as_bytes())
}

#[test]
fn answers_are_read() {
    let outcome = |value: Value| json!({ "outcome": value });
    let content = json!({ "name": "x", "n": 1 });
    let fields = vec![("name".to_owned(), vec!["x".to_owned()]), ("n".to_owned(), vec!["1".to_owned()])];
    let accepted = Answer::Accepted(Some(FormAnswers { json: Json::trusted(content.to_string()), fields }));
    let cases = [
        (
            permission(command()),
            outcome(json!({ "outcome": "selected", "optionId": "a" })),
            Some(Answer::Selected("a".into())),
        ),
        (
            permission(command()),
            outcome(json!({ "outcome": "selected", "optionId": "zzz" })),
            Some(Answer::Selected("zzz".into())),
        ),
        (permission(command()), outcome(json!({ "outcome": "cancelled" })), Some(Answer::Cancelled)),
        (permission(command()), outcome(json!({ "outcome": "timed_out" })), Some(Answer::Cancelled)),
        (permission(command()), outcome(json!({ "outcome": "selected" })), None),
        (permission(command()), json!({}), None),
        (permission(command()), json!(null), None),
        (permission(command()), json!({ "action": "accept" }), None),
        (form(SCHEMA), json!({ "action": "accept", "content": content }), Some(accepted)),
        (form(SCHEMA), json!({ "action": "accept" }), Some(Answer::Accepted(None))),
        (form(SCHEMA), json!({ "action": "accept", "content": null }), Some(Answer::Accepted(None))),
        (form(SCHEMA), json!({ "action": "decline" }), Some(Answer::Declined)),
        (form(SCHEMA), json!({ "action": "cancel" }), Some(Answer::Cancelled)),
        (form(SCHEMA), json!({ "action": "_later" }), Some(Answer::Cancelled)),
        (form(SCHEMA), json!({ "action": 5 }), None),
        (form(SCHEMA), json!({ "action": "accept", "content": "x" }), None),
        (form(SCHEMA), json!({ "action": "accept", "content": ["x"] }), None),
    ];
    for hello in [HELLO_V1, HELLO_V2] {
        let mut edge = greeted(hello);
        for (idx, (question, result, expected)) in cases.iter().enumerate() {
            let id = idx as i64;
            asked(&mut edge, id, question);
            let Read::Input(FromClient::Answered { ask, answer }) =
                reply(&mut edge, json!(id), "result", result.clone())
            else {
                panic!("{result} is an answer");
            };
            assert_eq!(ask, AskId(id));
            match expected {
                Some(expected) => assert_eq!(answer, *expected, "{result}"),
                None => assert!(matches!(answer, Answer::Failed { .. }), "{result}: {answer:?}"),
            }
        }
    }
}

#[test]
fn an_answer_that_is_too_long_is_a_failed_one() {
    for hello in [HELLO_V1, HELLO_V2] {
        let mut edge = greeted(hello);
        asked(&mut edge, 1, &form(SCHEMA));
        let remains = Remains { id: Some(RequestId::Number(1)), method: None, is_answer: true };
        let Read::Input(FromClient::Answered { ask: AskId(1), answer: Answer::Failed { message } }) =
            edge.oversized(&remains, 16)
        else {
            panic!("it is an answer");
        };
        assert_eq!(message, "the line is longer than 16 bytes");
    }
}

#[test]
fn an_error_is_a_failed_answer_unless_it_says_cancelled() {
    let cases = [(-32603, Answer::Failed { message: "no".into() }), (-32800, Answer::Cancelled)];
    for (code, answer) in cases {
        let mut edge = greeted(HELLO_V2);
        asked(&mut edge, 1, &permission(command()));
        let read = reply(&mut edge, json!(1), "error", json!({ "code": code, "message": "no" }));
        assert_eq!(read, Read::Input(FromClient::Answered { ask: AskId(1), answer }));
    }
}

#[test]
fn only_one_answer_to_an_open_question_counts() {
    let unknown = || Read::Anomaly(Anomaly::UnknownAnswer { what: "answer of the client" });
    let mut edge = greeted(HELLO_V2);
    assert_eq!(reply(&mut edge, json!(1), "result", json!({})), unknown());
    asked(&mut edge, 1, &permission(command()));
    assert_eq!(reply(&mut edge, json!("1"), "result", json!({})), unknown(), "another type, another id");
    let cancelled = json!({ "outcome": { "outcome": "cancelled" } });
    assert!(matches!(reply(&mut edge, json!(1), "result", cancelled.clone()), Read::Input(_)));
    assert_eq!(reply(&mut edge, json!(1), "result", cancelled.clone()), unknown());
    assert_eq!(edge.withdraw(AskId(1)), None, "answered already");

    asked(&mut edge, 2, &permission(command()));
    let line = edge.withdraw(AskId(2)).unwrap();
    wire::assert_wire_valid(edge.profile().unwrap().version, &line);
    assert_eq!(line, r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":2}}"#);
    assert_eq!(edge.withdraw(AskId(2)), None);
    assert_eq!(reply(&mut edge, json!(2), "result", cancelled.clone()), Read::Nothing, "it owed one");
    assert_eq!(reply(&mut edge, json!(2), "result", cancelled), unknown());
    let error = br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#;
    assert!(matches!(edge.read(error), Read::Anomaly(_)));
}
