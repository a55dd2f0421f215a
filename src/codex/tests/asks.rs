use super::{edge, read};
use crate::codex::{Edge, Heard};
use crate::core::asked::{
    CodexAnswer, CodexAsk, Decision, ElicitationAction, GrantScope, Question, ToolApproval,
};
use crate::core::codex::FromCodex;
use crate::core::ids::{ItemId, Json, RequestId, ThreadId};
use serde_json::{Value, json};

// Objects are written with sorted keys: their order in a `Value` depends on features of other crates.
const REQUEST: RequestId = RequestId::Number(0);

fn ask(method: &str, params: Value) -> (Edge, CodexAsk) {
    let mut edge = edge();
    let read = read(&mut edge, &json!({"id": 0, "method": method, "params": params}));
    match read.heard {
        Heard::Codex(FromCodex::Asked { request: REQUEST, ask }) => (edge, ask),
        other => panic!("{other:?}"),
    }
}

fn command(extra: Value) -> (Edge, CodexAsk) {
    let mut params = json!({"kind": "command", "threadId": "t", "turnId": "u", "itemId": "i", "cwd": "/w",
        "command": "/bin/bash -lc 'touch x'"});
    params.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    ask("item/commandExecution/requestApproval", params)
}

fn decisions(ask: CodexAsk) -> Vec<Decision> {
    match ask {
        CodexAsk::Command { decisions, .. } | CodexAsk::FileChange { decisions, .. } => decisions,
        other => panic!("{other:?}"),
    }
}

fn list(decisions: &[Decision]) -> Vec<String> {
    decisions.iter().map(|it| format!("{:?} {} {}", it.kind, it.name, it.value.as_str())).collect()
}

#[test]
fn a_command_is_asked_about_by_its_bare_script() {
    let (_, ask) = command(json!({"reason": "needs write access"}));
    let CodexAsk::Command { thread, item, command, cwd, reason, .. } = ask else { panic!("no command") };
    assert_eq!((thread, item), (ThreadId::new("t"), ItemId::new("i")));
    assert_eq!(
        (command.as_str(), cwd.as_str(), reason.as_deref()),
        ("touch x", "/w", Some("needs write access"))
    );
}

#[test]
fn offered_decisions_keep_codexs_order_and_get_names() {
    let offered = json!({"availableDecisions": [
        "accept",
        {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["sleep", "0.3"]}},
        {"applyNetworkPolicyAmendment": {"network_policy_amendment": {"action": "allow", "host": "a.b"}}},
        {"applyNetworkPolicyAmendment": {"network_policy_amendment": {"action": "deny", "host": "a.b"}}},
        {"acceptWithDance": {}},
        "someday",
        "cancel",
    ]});
    let offered = decisions(command(offered).1);
    insta::assert_snapshot!(list(&offered).join("\n"), @r#"
    Accept Allow once "accept"
    AcceptAlways Always allow commands that start with `sleep 0.3` {"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["sleep","0.3"]}}
    AcceptAlways Always allow access to a.b {"applyNetworkPolicyAmendment":{"network_policy_amendment":{"action":"allow","host":"a.b"}}}
    DeclineAlways Always deny access to a.b {"applyNetworkPolicyAmendment":{"network_policy_amendment":{"action":"deny","host":"a.b"}}}
    Cancel Decline and stop the turn "cancel"
    "#);
}

#[test]
fn without_an_offer_all_plain_decisions_are_there() {
    let file =
        ask("item/fileChange/requestApproval", json!({"threadId": "t", "turnId": "u", "itemId": "i"})).1;
    let expected = [
        "Accept Allow once \"accept\"",
        "AcceptAlways Allow for this session \"acceptForSession\"",
        "Decline Decline \"decline\"",
        "Cancel Decline and stop the turn \"cancel\"",
    ];
    assert_eq!(list(&decisions(file)), expected);
    assert_eq!(list(&decisions(command(json!({"availableDecisions": null})).1)), expected);
}

#[test]
fn nothing_is_offered_that_codex_does_not_offer() {
    for offered in [json!(["someday"]), json!([])] {
        assert_eq!(list(&decisions(command(json!({"availableDecisions": offered})).1)), [""; 0]);
    }
}

#[test]
fn network_access_and_stdin_are_reasons() {
    let reason = |extra| match command(extra).1 {
        CodexAsk::Command { reason, .. } => reason,
        other => panic!("{other:?}"),
    };
    let network = json!({"networkApprovalContext": {"host": "a.b", "protocol": "https"}, "command": null});
    assert_eq!(reason(network).as_deref(), Some("Network access to a.b (https)"));
    assert_eq!(reason(json!({"kind": "writeStdin"})).as_deref(), Some("Input for a running command"));
    assert_eq!(reason(json!({})), None);
    let both = json!({"reason": "to fetch", "networkApprovalContext": {"host": "a.b", "protocol": "https"}});
    assert_eq!(reason(both).as_deref(), Some("to fetch\nNetwork access to a.b (https)"));
}

#[test]
fn what_else_a_command_would_get_is_said() {
    let entry = |access: &str, path: Value| json!({"access": access, "path": path});
    let files = json!({"read": ["/old"], "write": null, "entries": [
        entry("write", json!({"type": "path", "path": "/srv"})),
        entry("read", json!({"type": "glob_pattern", "pattern": "/etc/*.conf"})),
        entry("write", json!({"type": "special", "value": {"kind": "root"}})),
    ]});
    let more = json!({"additionalPermissions": {"network": {"enabled": true}, "fileSystem": files}});
    let CodexAsk::Command { reason, .. } = command(more).1 else { panic!("no command") };
    insta::assert_snapshot!(reason.unwrap(), @r"
    Network access
    Read and write /srv
    Read /etc/*.conf
    Read and write every file
    ");
    let older =
        json!({"additionalPermissions": {"network": null, "fileSystem": {"read": ["/a"], "write": ["/b"]}}});
    let CodexAsk::Command { reason, .. } = command(older).1 else { panic!("no command") };
    assert_eq!(reason.as_deref(), Some("Read /a\nRead and write /b"));
    let strange = json!({"additionalPermissions": {"camera": {"on": true}}});
    let CodexAsk::Command { reason, .. } = command(strange).1 else { panic!("no command") };
    assert_eq!(reason.as_deref(), Some(r#"{"camera":{"on":true}}"#));
}

#[test]
fn forms_of_a_few_answers_are_choices() {
    let choices = |properties: Value| {
        let params = json!({"threadId": "t", "serverName": "s", "mode": "form", "message": "m",
            "requestedSchema": {"type": "object", "properties": properties}});
        let CodexAsk::McpForm { form, .. } = ask("mcpServer/elicitation/request", params).1 else {
            panic!("no form")
        };
        let lines: Vec<_> =
            form.choices.iter().map(|(label, content)| format!("{label} {}", content.as_str())).collect();
        lines.join(" | ")
    };
    assert_eq!(choices(json!({})), "Accept {}");
    assert_eq!(choices(json!({"a": {"type": "boolean"}})), r#"Yes {"a":true} | No {"a":false}"#);
    let named = json!({"a": {"type": "string", "enum": ["x", "y"], "enumNames": ["Ex"]}});
    assert_eq!(choices(named), r#"Ex {"a":"x"} | y {"a":"y"}"#);
    let titled = json!({"a": {"type": "string", "oneOf": [{"const": "x", "title": "Ex"}]}});
    assert_eq!(choices(titled), r#"Ex {"a":"x"}"#);
    assert_eq!(choices(json!({"a": {"type": "string"}})), "");
    assert_eq!(choices(json!({"a": {"type": "boolean"}, "b": {"type": "boolean"}})), "");
}

#[test]
fn a_tool_that_waits_for_its_approval_is_known() {
    let approval = |meta: Value| {
        let params = json!({"threadId": "t", "serverName": "s", "mode": "form", "message": "m", "_meta": meta,
            "requestedSchema": {"type": "object", "properties": {}}});
        match ask("mcpServer/elicitation/request", params).1 {
            CodexAsk::McpForm { form, .. } => form.approval,
            other => panic!("{other:?}"),
        }
    };
    let meta = json!({"codex_approval_kind": "mcp_tool_call", "persist": ["session", "always"],
        "tool_name": "wipe", "tool_params": {"path": "/x"}});
    let expected = ToolApproval {
        tool: Some("wipe".into()),
        persist: vec!["session".into(), "always".into()],
        params: Some(r#"{"path":"/x"}"#.into()),
    };
    assert_eq!(approval(meta), Some(expected));
    let bare = json!({"codex_approval_kind": "mcp_tool_call", "persist": "session"});
    let expected = ToolApproval { tool: None, persist: vec!["session".into()], params: None };
    assert_eq!(approval(bare), Some(expected));
    assert_eq!(approval(Value::Null), None);
    assert_eq!(approval(json!({"persist": "session"})), None);
    assert_eq!(approval(json!({"codex_approval_kind": "other"})), None);
}

#[test]
fn answers_have_the_shape_of_their_request() {
    let accept = CodexAnswer::Decision(Json::trusted("\"accept\""));
    let (mut edge, _) = command(json!({}));
    assert_eq!(edge.answer(&REQUEST, &accept), r#"{"id":0,"result":{"decision":"accept"}}"#);

    let profile = json!({"fileSystem": null, "network": {"enabled": true}});
    let params =
        json!({"threadId": "t", "turnId": "u", "itemId": "i", "reason": null, "permissions": profile});
    let granted = |granted, scope| {
        let (mut edge, ask) = ask("item/permissions/requestApproval", params.clone());
        let CodexAsk::Permissions { permissions, .. } = ask else { panic!("no permissions") };
        let granted = if granted { Some(permissions) } else { None };
        edge.answer(&REQUEST, &CodexAnswer::Permissions { granted, scope })
    };
    assert_eq!(
        granted(true, GrantScope::Turn),
        r#"{"id":0,"result":{"permissions":{"fileSystem":null,"network":{"enabled":true}},"scope":"turn"}}"#
    );
    assert_eq!(
        granted(true, GrantScope::ReviewedTurn),
        r#"{"id":0,"result":{"permissions":{"fileSystem":null,"network":{"enabled":true}},"scope":"turn","strictAutoReview":true}}"#
    );
    assert_eq!(
        granted(true, GrantScope::Session),
        r#"{"id":0,"result":{"permissions":{"fileSystem":null,"network":{"enabled":true}},"scope":"session"}}"#
    );
    assert_eq!(granted(false, GrantScope::Turn), r#"{"id":0,"result":{"permissions":{},"scope":"turn"}}"#);

    let elicit = || {
        let schema = json!({"properties": {}, "type": "object"});
        ask(
            "mcpServer/elicitation/request",
            json!({"threadId": "t", "serverName": "s", "mode": "form",
            "message": "m", "requestedSchema": schema}),
        )
    };
    let (mut edge, ask) = elicit();
    assert!(
        matches!(ask, CodexAsk::McpForm { form, .. } if form.schema.as_str() == r#"{"properties":{},"type":"object"}"#)
    );
    let content = Some(Json::trusted(r#"{"a":1}"#));
    let accepted = CodexAnswer::Elicitation { action: ElicitationAction::Accept, content, persist: None };
    assert_eq!(
        edge.answer(&REQUEST, &accepted),
        r#"{"id":0,"result":{"action":"accept","content":{"a":1},"_meta":null}}"#
    );
    let (mut edge, _) = elicit();
    assert_eq!(
        edge.answer(
            &REQUEST,
            &CodexAnswer::Elicitation { action: ElicitationAction::Decline, content: None, persist: None }
        ),
        r#"{"id":0,"result":{"action":"decline","content":null,"_meta":null}}"#
    );
    // A decision is no answer to a form: an error, so that nothing hangs.
    let (mut edge, _) = elicit();
    let wrong = r#"{"id":0,"error":{"code":-32603,"message":"no answer of the right kind"}}"#;
    assert_eq!(edge.answer(&REQUEST, &accept), wrong);
}

#[test]
fn urls_are_passed_on_and_extensions_are_not() {
    let url = json!({"threadId": "t", "serverName": "s", "mode": "url", "message": "m", "url": "https://a.b",
        "elicitationId": "e"});
    let expected = CodexAsk::McpUrl {
        thread: ThreadId::new("t"),
        server: "s".into(),
        message: "m".into(),
        elicitation: "e".into(),
        url: "https://a.b".into(),
    };
    assert_eq!(ask("mcpServer/elicitation/request", url).1, expected);
    let other = json!({"threadId": "t", "serverName": "s", "mode": "openai/form", "message": "m"});
    let method = "mcpServer/elicitation/request (openai/form)".to_owned();
    assert_eq!(ask("mcpServer/elicitation/request", other).1, CodexAsk::Unsupported { method });
}

#[test]
fn questions_are_answered_by_id() {
    let questions = || {
        ask(
            "item/tool/requestUserInput",
            json!({"threadId": "t", "turnId": "u", "itemId": "i", "questions": [
                {"id": "q1", "header": "h", "question": "Which?", "options": [{"label": "A", "description": "d"}]},
                {"id": "q2", "header": "", "question": "Why?", "isSecret": false, "options": null},
            ]}),
        )
    };
    let (mut edge, ask) = questions();
    let CodexAsk::Questions { questions: asked, .. } = ask else { panic!("no questions") };
    let question = |id: &str, header: &str, question: &str, options: &[(&str, &str)]| Question {
        id: id.into(),
        header: header.into(),
        question: question.into(),
        is_other: false,
        is_secret: false,
        options: options.iter().map(|(label, text)| ((*label).to_owned(), (*text).to_owned())).collect(),
    };
    assert_eq!(asked, [question("q1", "h", "Which?", &[("A", "d")]), question("q2", "", "Why?", &[])]);
    let answers = vec![("q1".to_owned(), vec!["A".to_owned()])];
    assert_eq!(
        edge.answer(&REQUEST, &CodexAnswer::Questions(answers)),
        r#"{"id":0,"result":{"answers":{"q1":{"answers":["A"]}}}}"#
    );
}

#[test]
fn a_request_that_was_resolved_elsewhere_owes_nothing() {
    let (mut edge, _) = command(json!({}));
    assert_eq!(edge.owed.len(), 1);
    read(
        &mut edge,
        &json!({"method": "serverRequest/resolved", "params": {"threadId": "t", "requestId": 0}}),
    );
    assert!(edge.owed.is_empty());
}
