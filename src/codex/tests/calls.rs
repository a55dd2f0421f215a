use super::edge;
use crate::core::codex::{Choices, CodexRequest, Preset};
use crate::core::gateway::Gateway;
use crate::core::ids::{CodexCallId, ProcessId, PromptKey, ThreadId, TurnId};
use crate::core::kept::Keeping;
use crate::core::request::{Instructions, McpServer, McpTransport, PromptPart, Shelf};
use crate::core::rules::{Collaboration, CollaborationMode};
use crate::core::sign_in::Secret;
use serde_json::{Value, json};
use std::sync::Arc;

fn params(request: &CodexRequest) -> Value {
    let line = edge().call(CodexCallId(5), request);
    assert!(!line.contains('\n'));
    let Value::Object(mut fields) = serde_json::from_str(&line).unwrap() else { panic!("no object") };
    assert_eq!(fields.remove("id"), Some(json!(5)));
    assert_eq!(fields.remove("method"), Some(json!(request.method())));
    let params = fields.remove("params").unwrap();
    assert!(fields.is_empty(), "nothing else, no `jsonrpc` either");
    params
}

fn thread() -> ThreadId {
    ThreadId::new("t")
}

fn start(choices: Choices) -> Value {
    let request = CodexRequest::ThreadStart {
        cwd: "/w".into(),
        roots: Vec::new(),
        mcp_servers: Vec::new(),
        instructions: None,
        gateway: None,
        choices,
    };
    params(&request)
}

#[test]
fn a_gateway_of_the_client_is_a_provider_of_the_thread() {
    let gateway = Gateway {
        base_url: "https://m.example/v1".into(),
        name: None,
        headers: vec![("Authorization".into(), Secret::new("Bearer s3cret"))],
    };
    let provider = json!({
        "name": "gateway of the client", "base_url": "https://m.example/v1", "wire_api": "responses",
        "http_headers": {"Authorization": "Bearer s3cret"},
    });
    let config = json!({"model_provider": "custom-gateway", "model_providers": {"custom-gateway": provider}});
    let request = CodexRequest::ThreadResume {
        thread: thread(),
        cwd: None,
        roots: Vec::new(),
        mcp_servers: Vec::new(),
        instructions: None,
        gateway: Some(Arc::new(gateway)),
    };
    assert_eq!(params(&request)["config"], config);
    assert!(!format!("{request:?}").contains("s3cret"), "a key is not shown");
}

#[test]
fn initialize_opts_into_the_experimental_api() {
    let params = params(&CodexRequest::Initialize);
    assert_eq!(params["clientInfo"], json!({"name": "adapter", "title": "Adapter", "version": "1"}));
    assert_eq!(params["capabilities"]["experimentalApi"], json!(true));
}

#[test]
fn a_thread_starts_with_raw_events_and_only_what_was_chosen() {
    assert_eq!(start(Choices::default()), json!({"cwd": "/w", "experimentalRawEvents": true}));
    let choices = Choices {
        model: Some("m".into()),
        effort: Some("high".into()),
        preset: Some(Preset::Auto),
        ..Choices::default()
    };
    let env = vec![("TOKEN".to_owned(), "s3cret".to_owned())];
    let stdio = |name: &str| McpServer {
        name: name.into(),
        transport: McpTransport::Stdio { command: "c".into(), args: vec!["a".into()], env: env.clone() },
    };
    let http = McpServer {
        name: "web".into(),
        transport: McpTransport::Http { url: "https://a.b".into(), headers: vec![("X".into(), "y".into())] },
    };
    let request = CodexRequest::ThreadStart {
        cwd: "/w".into(),
        roots: vec!["/w".into(), "/r".into()],
        mcp_servers: vec![stdio("my srv"), stdio("my.srv"), http],
        instructions: Some(Instructions::Override("Be terse.".into())),
        gateway: None,
        choices,
    };
    let stdio = json!({"command": "c", "args": ["a"], "env": {"TOKEN": "s3cret"}});
    assert_eq!(
        params(&request),
        json!({
            "cwd": "/w", "experimentalRawEvents": true, "baseInstructions": "Be terse.",
            "runtimeWorkspaceRoots": ["/w", "/r"], "model": "m",
            "approvalPolicy": "on-request", "sandbox": "workspace-write",
            "config": {
                "model_reasoning_effort": "high",
                "mcp_servers": {
                    "my_srv": stdio, "my_srv_2": stdio,
                    "web": {"url": "https://a.b", "http_headers": {"X": "y"}},
                },
            },
        })
    );
}

#[test]
fn presets_are_spelled_for_threads_and_for_turns() {
    let turn = |preset| {
        let choices = Choices { preset: Some(preset), ..Choices::default() };
        let params = params(&CodexRequest::TurnStart {
            thread: thread(),
            key: PromptKey::new("k"),
            input: Vec::new(),
            context: None,
            choices,
        });
        (params["approvalPolicy"].clone(), params["sandboxPolicy"]["type"].clone())
    };
    let thread = |preset| {
        let params = start(Choices { preset: Some(preset), ..Choices::default() });
        (params["approvalPolicy"].clone(), params["sandbox"].clone())
    };
    assert_eq!(thread(Preset::ReadOnly), (json!("on-request"), json!("read-only")));
    assert_eq!(thread(Preset::Auto), (json!("on-request"), json!("workspace-write")));
    assert_eq!(thread(Preset::FullAccess), (json!("never"), json!("danger-full-access")));
    assert_eq!(turn(Preset::ReadOnly), (json!("on-request"), json!("readOnly")));
    assert_eq!(turn(Preset::Auto), (json!("on-request"), json!("workspaceWrite")));
    assert_eq!(turn(Preset::FullAccess), (json!("never"), json!("dangerFullAccess")));
}

#[test]
fn a_prompt_goes_out_part_by_part() {
    let input = vec![
        PromptPart::Text("hi".into()),
        PromptPart::Link { name: "a].rs".into(), uri: "file:///w/a.rs".into() },
        PromptPart::Link { name: String::new(), uri: "file:///w/b.rs".into() },
        PromptPart::Embedded { uri: "file:///c\"d".into(), text: "body".into() },
        PromptPart::Image { url: "data:image/png;base64,AA==".into() },
    ];
    let text = |text: &str| json!({"type": "text", "text": text, "text_elements": []});
    let expected = json!([
        text("hi"),
        text("[a.rs](file:///w/a.rs)"),
        text("[b.rs](file:///w/b.rs)"),
        text("<context ref=\"file:///c%22d\">\nbody\n</context>"),
        {"type": "image", "url": "data:image/png;base64,AA=="},
    ]);
    let key = PromptKey::new("k");
    let plan = Collaboration { mode: CollaborationMode::Plan, model: "m".into(), effort: None };
    let (model, effort) = (Some("m".into()), Some("low".into()));
    let choices = Choices { model, effort, collaboration: Some(plan), ..Choices::default() };
    let context = Some("ended".to_owned());
    let told = json!({"appserver-acp": {"kind": "application", "value": "ended"}});
    let start = CodexRequest::TurnStart {
        thread: thread(),
        key: key.clone(),
        input: input.clone(),
        context: context.clone(),
        choices,
    };
    assert_eq!(
        params(&start),
        json!({"threadId": "t", "clientUserMessageId": "k", "input": expected, "model": "m", "effort": "low",
            "collaborationMode": {"mode": "plan", "settings":
                {"model": "m", "reasoning_effort": null, "developer_instructions": null}},
            "additionalContext": told})
    );
    let steer = CodexRequest::TurnSteer { thread: thread(), turn: TurnId::new("u"), key, input, context };
    assert_eq!(
        params(&steer),
        json!({"threadId": "t", "expectedTurnId": "u", "clientUserMessageId": "k", "input": expected,
            "additionalContext": told})
    );
}

#[test]
fn what_the_model_is_told_in_its_turn_is_worded_as_what_comes_with_a_prompt() {
    let inform = CodexRequest::Inform { thread: thread(), text: "ended".to_owned() };
    let content = json!([{"type": "input_text", "text": "<appserver-acp>ended</appserver-acp>"}]);
    assert_eq!(
        params(&inform),
        json!({"threadId": "t", "items": [{"type": "message", "role": "developer", "content": content}]})
    );
}

#[test]
fn a_profile_takes_the_place_of_a_sandbox() {
    let choices =
        Choices { profile: Some("careful".into()), tier: Some("priority".into()), ..Choices::default() };
    let start = CodexRequest::TurnStart {
        thread: thread(),
        key: PromptKey::new("k"),
        input: Vec::new(),
        context: None,
        choices,
    };
    assert_eq!(
        params(&start),
        json!({"threadId": "t", "clientUserMessageId": "k", "input": [], "serviceTier": "priority",
            "permissions": "careful", "approvalPolicy": "on-request"})
    );
}

#[test]
fn the_other_requests() {
    let cursor = || Some("c".to_owned());
    let cases = [
        (
            CodexRequest::ThreadResume {
                thread: thread(),
                cwd: None,
                roots: Vec::new(),
                mcp_servers: Vec::new(),
                instructions: None,
                gateway: None,
            },
            json!({"threadId": "t", "excludeTurns": true, "initialTurnsPage": {"limit": 1, "sortDirection": "desc", "itemsView": "notLoaded"}}),
        ),
        (
            CodexRequest::ThreadResume {
                thread: thread(),
                cwd: Some("/w".into()),
                roots: vec!["/lib".into()],
                mcp_servers: vec![McpServer {
                    name: "s".into(),
                    transport: McpTransport::Http { url: "u".into(), headers: Vec::new() },
                }],
                instructions: Some(Instructions::Append("Be kind.".into())),
                gateway: None,
            },
            json!({"threadId": "t", "developerInstructions": "Be kind.", "excludeTurns": true, "initialTurnsPage": {"limit": 1, "sortDirection": "desc", "itemsView": "notLoaded"}, "cwd": "/w", "runtimeWorkspaceRoots": ["/lib"],
                "config": {"mcp_servers": {"s": {"url": "u", "http_headers": {}}}}}),
        ),
        (
            CodexRequest::ThreadList { cwd: Some("/w".into()), cursor: cursor(), limit: 20, archived: false },
            json!({"modelProviders": [], "sourceKinds": ["cli", "vscode", "appServer"], "sortKey": "updated_at",
                "sortDirection": "desc", "limit": 20, "cwd": "/w", "cursor": "c"}),
        ),
        (
            CodexRequest::ThreadList { cwd: None, cursor: None, limit: 20, archived: true },
            json!({"modelProviders": [], "sourceKinds": ["cli", "vscode", "appServer"], "sortKey": "updated_at", "sortDirection": "desc", "limit": 20, "archived": true}),
        ),
        (
            CodexRequest::ThreadDescendants { thread: thread(), cursor: cursor() },
            json!({"ancestorThreadId": "t", "modelProviders": [], "sourceKinds": ["subAgentThreadSpawn"],
                "sortKey": "created_at", "sortDirection": "asc", "limit": 100, "cursor": "c"}),
        ),
        (
            CodexRequest::ThreadFind { thread: thread(), archived: true },
            json!({"modelProviders": [], "sourceKinds": ["cli", "vscode", "appServer"], "includedThreadIds": ["t"], "archived": true}),
        ),
        (CodexRequest::ThreadPut { thread: thread(), shelf: Shelf::Deleted }, json!({"threadId": "t"})),
        (CodexRequest::ThreadPut { thread: thread(), shelf: Shelf::Archive }, json!({"threadId": "t"})),
        (CodexRequest::ThreadPut { thread: thread(), shelf: Shelf::Open }, json!({"threadId": "t"})),
        (
            CodexRequest::ThreadFork {
                thread: thread(),
                cwd: "/w".into(),
                roots: vec!["/lib".into()],
                mcp_servers: Vec::new(),
                instructions: Some(Instructions::Append("Be kind.".into())),
                gateway: None,
            },
            json!({"threadId": "t", "excludeTurns": true, "cwd": "/w", "runtimeWorkspaceRoots": ["/lib"], "developerInstructions": "Be kind."}),
        ),
        (
            CodexRequest::TurnsList { thread: thread(), cursor: None, limit: 9, keeping: Keeping::ByItem },
            json!({"threadId": "t", "sortDirection": "asc", "limit": 9, "itemsView": "notLoaded"}),
        ),
        (
            CodexRequest::TurnsList {
                thread: thread(),
                cursor: cursor(),
                limit: 9,
                keeping: Keeping::ByTurn,
            },
            json!({"threadId": "t", "sortDirection": "asc", "limit": 9, "itemsView": "full", "cursor": "c"}),
        ),
        (
            CodexRequest::ItemsList {
                thread: thread(),
                turn: Some(TurnId::new("u")),
                cursor: None,
                limit: 9,
            },
            json!({"threadId": "t", "sortDirection": "asc", "limit": 9, "turnId": "u"}),
        ),
        (
            CodexRequest::ItemsList { thread: thread(), turn: None, cursor: None, limit: 100 },
            json!({"threadId": "t", "sortDirection": "asc", "limit": 100}),
        ),
        (CodexRequest::Unsubscribe { thread: thread() }, json!({"threadId": "t"})),
        (CodexRequest::Clean { thread: thread() }, json!({"threadId": "t"})),
        (
            CodexRequest::TurnInterrupt { thread: thread(), turn: TurnId::new("u") },
            json!({"threadId": "t", "turnId": "u"}),
        ),
        (
            CodexRequest::TerminalsList { thread: thread(), cursor: cursor() },
            json!({"threadId": "t", "cursor": "c"}),
        ),
        (
            CodexRequest::Terminate { thread: thread(), process: ProcessId::new("77") },
            json!({"threadId": "t", "processId": "77"}),
        ),
        (CodexRequest::ModelList { cursor: None }, json!({"includeHidden": true})),
        (CodexRequest::ProfileList { cwd: "/w".into() }, json!({"cwd": "/w"})),
    ];
    for (request, expected) in cases {
        assert_eq!(params(&request), expected, "{}", request.method());
    }
}
