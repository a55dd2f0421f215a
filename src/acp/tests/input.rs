//! Requests and notifications of the client, good and bad.

use super::{HELLO_V1, HELLO_V2, HELLO_ZED, ask_us, fresh, greeted, refused};
use crate::acp::Read;
use crate::core::effect::Anomaly;
use crate::core::ids::{PromptKey, RequestId, SessionId, TerminalId, ToolCallId};
use crate::core::input::FromClient;
use crate::core::request::{
    Archived, Instructions, McpServer, McpTransport, OptionInput, Place, PromptPart, Reply, Request, Shelf,
    Version,
};
use crate::envelope::remains::Remains;
use agent_client_protocol_schema::{v1, v2};
use serde_json::{Value, json};

fn place() -> Place {
    Place { cwd: "/w".into(), ..Place::default() }
}

fn s() -> SessionId {
    SessionId::new("s")
}

#[test]
fn requests_of_both_versions_are_read() {
    let set = |value| Request::SetOption { session: s(), option: "model".into(), value };
    let resume = |replay| Request::ResumeSession { session: s(), place: place(), replay };
    let here = json!({ "sessionId": "s", "cwd": "/w", "mcpServers": [] });
    let both = [
        (
            "session/new",
            json!({ "cwd": "/w", "mcpServers": [], "_meta": { "x": 1 } }),
            Request::NewSession(place()),
        ),
        (
            "session/list",
            json!({}),
            Request::ListSessions { cwd: None, cursor: None, archived: Archived::Exclude },
        ),
        (
            "session/list",
            json!({ "cwd": "/w", "cursor": "c" }),
            Request::ListSessions {
                cwd: Some("/w".into()),
                cursor: Some("c".into()),
                archived: Archived::Exclude,
            },
        ),
        (
            "session/list",
            json!({"archived": "include"}),
            Request::ListSessions { cwd: None, cursor: None, archived: Archived::Include },
        ),
        (
            "session/list",
            json!({"archived": "only"}),
            Request::ListSessions { cwd: None, cursor: None, archived: Archived::Only },
        ),
        (
            "session/delete",
            json!({"sessionId": "s"}),
            Request::ShelveSession { session: SessionId::new("s"), shelf: Shelf::Deleted },
        ),
        (
            "session/archive",
            json!({"sessionId": "s"}),
            Request::ShelveSession { session: SessionId::new("s"), shelf: Shelf::Archive },
        ),
        (
            "session/unarchive",
            json!({"sessionId": "s"}),
            Request::ShelveSession { session: SessionId::new("s"), shelf: Shelf::Open },
        ),
        (
            "session/set_title",
            json!({"sessionId": "s", "title": " One \n title "}),
            Request::SetTitle { session: SessionId::new("s"), title: "One title".into() },
        ),
        (
            "session/fork",
            json!({"sessionId": "s", "cwd": "/w", "mcpServers": []}),
            Request::ForkSession {
                session: SessionId::new("s"),
                place: Place { cwd: "/w".into(), ..Place::default() },
            },
        ),
        ("session/resume", here.clone(), resume(false)),
        ("session/close", json!({ "sessionId": "s" }), Request::CloseSession { session: s() }),
        (
            "session/set_config_option",
            json!({ "sessionId": "s", "configId": "model", "type": "boolean", "value": true }),
            set(OptionInput::Flag(true)),
        ),
    ];
    let only_v1 = [
        ("session/load", here.clone(), resume(true)),
        (
            "session/set_mode",
            json!({ "sessionId": "s", "modeId": "auto" }),
            Request::SetOption { session: s(), option: "mode".into(), value: OptionInput::Id("auto".into()) },
        ),
        (
            "session/set_config_option",
            json!({ "sessionId": "s", "configId": "model", "value": "m" }),
            set(OptionInput::Id("m".into())),
        ),
    ];
    let only_v2 = [
        (
            "session/new",
            json!({ "cwd": "/w", "additionalDirectories": null, "mcpServers": null }),
            Request::NewSession(place()),
        ),
        (
            "session/resume",
            json!({ "sessionId": "s", "cwd": "/w", "replayFrom": { "type": "start" } }),
            resume(true),
        ),
        ("session/resume", json!({ "sessionId": "s", "cwd": "/w", "replayFrom": null }), resume(false)),
        (
            "session/set_config_option",
            json!({ "sessionId": "s", "configId": "model", "type": "id", "value": "m" }),
            set(OptionInput::Id("m".into())),
        ),
        (
            "terminal/cancel",
            json!({ "sessionId": "s", "terminalId": "t" }),
            Request::CancelTerminal { session: s(), terminal: TerminalId::new("t") },
        ),
        (
            "tool_call/cancel",
            json!({ "sessionId": "s", "toolCallId": "c" }),
            Request::CancelToolCall { session: s(), call: ToolCallId::new("c") },
        ),
    ];
    for (hello, own) in [(HELLO_V1, &only_v1[..]), (HELLO_V2, &only_v2[..])] {
        let mut edge = greeted(hello);
        for (idx, (method, params, expected)) in both.iter().chain(own).enumerate() {
            let (_, request) = ask_us(&mut edge, 100 + idx as i64, method, params.clone());
            assert_eq!(request, *expected, "{method} {params}");
            let by_the_crate = match edge.profile().unwrap().version {
                Version::V1 => v1::ClientRequest::from_method_and_params(method, params).is_ok(),
                Version::V2 => v2::ClientRequest::from_method_and_params(method, params).is_ok(),
            };
            assert!(by_the_crate, "{method} {params} is what a client can send");
        }
    }
}

#[test]
fn every_kind_of_prompt_block_is_read() {
    let blocks = json!([
        { "type": "text", "text": "hi" },
        { "type": "image", "data": "AAAA", "mimeType": "image/png" },
        { "type": "resource_link", "name": "a.rs", "uri": "file:///w/a.rs", "size": 3 },
        { "type": "resource", "resource": { "uri": "file:///w/b", "text": "b" } },
        { "type": "resource", "resource": { "uri": "file:///w/c", "blob": "aGk=" } },
        { "type": "resource", "resource": { "uri": "file:///w/d", "blob": "AAAA", "mimeType": "image/png" } },
    ]);
    let image = PromptPart::Image { url: "data:image/png;base64,AAAA".into() };
    let expected = vec![
        PromptPart::Text("hi".into()),
        image.clone(),
        PromptPart::Link { name: "a.rs".into(), uri: "file:///w/a.rs".into() },
        PromptPart::Embedded { uri: "file:///w/b".into(), text: "b".into() },
        PromptPart::Embedded { uri: "file:///w/c".into(), text: "hi".into() },
        image,
    ];
    for hello in [HELLO_V1, HELLO_V2] {
        let mut edge = greeted(hello);
        let params = json!({ "sessionId": "s", "prompt": blocks, "idempotencyKey": "k" });
        let (_, request) = ask_us(&mut edge, 1, "session/prompt", params);
        let key = Some(PromptKey::new("k"));
        assert_eq!(request, Request::Prompt { session: s(), parts: expected.clone(), key });
    }
}

#[test]
fn tool_servers_are_read() {
    let stdio =
        json!({ "name": "a", "command": "/bin/a", "args": ["x"], "env": [{ "name": "K", "value": "v" }] });
    let http =
        json!({ "type": "http", "name": "b", "url": "http://h", "headers": [{ "name": "A", "value": "1" }] });
    let expected = vec![
        McpServer {
            name: "a".into(),
            transport: McpTransport::Stdio {
                command: "/bin/a".into(),
                args: vec!["x".into()],
                env: vec![("K".into(), "v".into())],
            },
        },
        McpServer {
            name: "b".into(),
            transport: McpTransport::Http { url: "http://h".into(), headers: vec![("A".into(), "1".into())] },
        },
    ];
    let mut tagged = stdio.clone();
    tagged["type"] = "stdio".into();
    for (hello, servers) in [(HELLO_V1, json!([stdio, http])), (HELLO_V2, json!([tagged, http]))] {
        let params = json!({ "cwd": "/w", "additionalDirectories": ["/x"], "mcpServers": servers });
        let (_, request) = ask_us(&mut greeted(hello), 1, "session/new", params);
        let Request::NewSession(place) = request else { panic!("{request:?}") };
        assert_eq!(place.mcp_servers, expected);
        assert_eq!(place.additional_directories, ["/x"]);
    }
    let bare =
        json!({ "cwd": "/w", "mcpServers": [{ "name": "a", "command": "npx", "args": [], "env": [] }] });
    ask_us(&mut greeted(HELLO_ZED), 1, "session/new", bare);
}

#[test]
fn a_system_prompt_comes_beside_codexs_own_or_in_its_place() {
    let content = json!([{ "type": "text", "text": "Be kind." }, { "type": "text", "text": "Be terse." }]);
    let text = || "Be kind.\n\nBe terse.".to_owned();
    let cases = [("append", Instructions::Append(text())), ("override", Instructions::Override(text()))];
    for hello in [HELLO_V1, HELLO_V2] {
        for (mode, expected) in cases.clone() {
            let params = json!({ "cwd": "/w", "mcpServers": [], "systemPrompt": { "mode": mode, "content": content } });
            let (_, request) = ask_us(&mut greeted(hello), 1, "session/new", params);
            let Request::NewSession(place) = request else { panic!("{request:?}") };
            assert_eq!(place.instructions, Some(expected));
        }
        let null = json!({ "cwd": "/w", "mcpServers": [], "systemPrompt": null });
        let (_, request) = ask_us(&mut greeted(hello), 1, "session/new", null);
        let Request::NewSession(place) = request else { panic!("{request:?}") };
        assert_eq!(place.instructions, None);
    }
}

#[test]
fn bad_params_are_32602_and_never_quote_the_line() {
    let new = |servers: Value| json!({ "cwd": "/w", "mcpServers": servers });
    let with_headers =
        |headers: Value| new(json!([{ "type": "http", "name": "a", "url": "http://h", "headers": headers }]));
    let with_variables =
        |env: Value| new(json!([{ "type": "stdio", "name": "a", "command": "/c", "args": [], "env": env }]));
    let prompt = |blocks: Value| json!({ "sessionId": "s", "prompt": blocks });
    let long_key = "k".repeat(256);
    let text = json!({ "type": "text", "text": "x" });
    let both = [
        ("session/new", json!({})),
        ("session/new", json!([])),
        ("session/new", json!({ "cwd": 5 })),
        ("session/new", json!({ "cwd": "SECRET" })),
        ("session/new", json!({ "cwd": "" })),
        ("session/new", json!({ "cwd": "/w", "additionalDirectories": ["/x", "SECRET"] })),
        ("session/new", json!({ "cwd": "/w", "systemPrompt": { "mode": "append", "content": [] } })),
        ("session/new", json!({ "cwd": "/w", "systemPrompt": { "mode": "SECRET", "content": [text] } })),
        ("session/new", json!({ "cwd": "/w", "systemPrompt": { "content": [text] } })),
        (
            "session/new",
            json!({ "cwd": "/w", "systemPrompt": { "mode": "append", "content": [{ "type": "text" }] } }),
        ),
        (
            "session/new",
            json!({ "cwd": "/w", "systemPrompt": { "mode": "append", "content": [{ "type": "SECRET", "text": "x" }] } }),
        ),
        ("session/new", new(json!([{ "type": "sse", "name": "a", "url": "http://SECRET", "headers": [] }]))),
        ("session/new", new(json!([{ "type": "acp", "name": "a", "id": "SECRET" }]))),
        (
            "session/new",
            new(json!([{ "type": "SECRET", "name": "a", "command": "/c", "args": [], "env": [] }])),
        ),
        ("session/new", new(json!([{ "type": "http", "name": "a" }]))),
        ("session/new", new(json!([{ "type": "stdio", "name": "a" }]))),
        ("session/new", new(json!([{ "name": "a", "command": "/c", "args": "SECRET" }]))),
        (
            "session/new",
            new(
                json!([{ "type": "stdio", "name": "a", "command": "/c" }, { "type": "http", "name": "a", "url": "u" }]),
            ),
        ),
        ("session/new", new(json!([{ "type": "stdio", "name": "", "command": "/SECRET" }]))),
        ("session/new", new(json!([{ "type": "http", "name": " -", "url": "http://SECRET" }]))),
        ("session/new", with_headers(json!([{ "name": "X SECRET", "value": "v" }]))),
        ("session/new", with_headers(json!([{ "name": "X", "value": "SECRET\r\nHost: b" }]))),
        (
            "session/new",
            with_headers(json!([{ "name": "X", "value": "SECRET" }, { "name": "x", "value": "v" }])),
        ),
        ("session/new", with_variables(json!([{ "name": "", "value": "SECRET" }]))),
        ("session/new", with_variables(json!([{ "name": "A=SECRET", "value": "v" }]))),
        ("session/new", with_variables(json!([{ "name": "A", "value": "SECRET\0" }]))),
        ("session/prompt", prompt(json!([]))),
        ("session/prompt", prompt(json!("SECRET"))),
        ("session/prompt", prompt(json!([{ "type": "audio", "data": "AAAA", "mimeType": "audio/wav" }]))),
        ("session/prompt", prompt(json!([{ "type": "SECRET" }]))),
        ("session/prompt", prompt(json!([{ "type": "text" }]))),
        ("session/prompt", prompt(json!([{ "type": "text", "text": ["SECRET"] }]))),
        ("session/prompt", prompt(json!([{ "type": "image", "data": "SECRET!", "mimeType": "image/png" }]))),
        ("session/prompt", prompt(json!([{ "type": "image", "data": "AAAA", "mimeType": "text/SECRET" }]))),
        (
            "session/prompt",
            prompt(json!([{ "type": "resource", "resource": { "uri": "u", "blob": "/w==" } }])),
        ),
        (
            "session/prompt",
            json!({ "sessionId": "s", "prompt": [{ "type": "text", "text": "x" }], "idempotencyKey": "" }),
        ),
        (
            "session/prompt",
            json!({ "sessionId": "s", "prompt": [{ "type": "text", "text": "x" }], "idempotencyKey": long_key }),
        ),
        (
            "session/prompt",
            json!({ "sessionId": "s", "prompt": [{ "type": "text", "text": "x" }], "idempotencyKey": 5 }),
        ),
        ("session/prompt", json!({ "prompt": [{ "type": "text", "text": "SECRET" }] })),
        ("session/resume", json!({ "sessionId": "s" })),
        ("session/resume", json!({ "sessionId": "s", "cwd": "w" })),
        ("session/close", json!({ "sessionId": 7 })),
        ("session/close", json!(["SECRET"])),
        ("session/list", json!({ "cursor": 7 })),
        ("session/list", json!({ "cwd": "SECRET" })),
        (
            "session/set_config_option",
            json!({ "sessionId": "s", "configId": "model", "type": "boolean", "value": "SECRET" }),
        ),
        ("session/set_config_option", json!({ "sessionId": "s", "configId": "model", "value": 5 })),
        ("session/set_config_option", json!({ "sessionId": "s", "configId": "model" })),
    ];
    let only_v2 = [
        ("session/new", new(json!([{ "type": "stdio", "name": "a", "command": "SECRET" }]))),
        ("session/new", new(json!([{ "name": "a", "command": "/c" }]))),
        ("session/resume", json!({ "sessionId": "s", "cwd": "/w", "replayFrom": { "type": "SECRET" } })),
        ("session/resume", json!({ "sessionId": "s", "cwd": "/w", "replayFrom": "start" })),
        ("session/set_config_option", json!({ "sessionId": "s", "configId": "model", "value": "m" })),
        (
            "session/set_config_option",
            json!({ "sessionId": "s", "configId": "model", "type": "SECRET", "value": "m" }),
        ),
        ("terminal/cancel", json!({ "sessionId": "s" })),
        ("tool_call/cancel", json!({ "sessionId": "s", "toolCallId": {} })),
    ];
    let only_v1 =
        [("session/load", json!({ "cwd": "/w" })), ("session/set_mode", json!({ "sessionId": "s" }))];
    for (hello, own) in [(HELLO_V1, &only_v1[..]), (HELLO_V2, &only_v2[..])] {
        let mut edge = greeted(hello);
        for (method, params) in both.iter().chain(own) {
            let line = json!({ "jsonrpc": "2.0", "id": "x", "method": method, "params": params }).to_string();
            let (code, message, id) = refused(&mut edge, &line);
            assert_eq!((code, id), (-32602, json!("x")), "{line}: {message}");
            assert!(message.starts_with(method), "{message}");
            assert!(!message.contains("SECRET"), "{message}");
        }
        // None of them is open: the ids can be used again.
        ask_us(&mut edge, 1, "session/list", json!({}));
    }
}

#[test]
fn misfits_name_their_place() {
    let cases = [
        (json!({ "cwd": "/w", "mcpServers": [{ "name": 5 }] }), "mcpServers[0].name"),
        (
            json!({ "cwd": "/w", "mcpServers": [{ "name": "a", "type": "stdio", "env": [{ "name": "K" }] }] }),
            "`value`",
        ),
        (
            json!({ "cwd": "/w", "mcpServers": [{ "name": "", "type": "stdio", "command": "/c" }] }),
            "mcpServers[0].name",
        ),
        (
            json!({ "cwd": "/w", "mcpServers": [{ "name": "a", "type": "http", "url": "u", "headers": [{ "name": "A B", "value": "v" }] }] }),
            "mcpServers[0].headers[0]",
        ),
        (
            json!({ "cwd": "/w", "mcpServers": [{ "name": "a", "type": "stdio", "command": "/c", "env": [{ "name": "", "value": "v" }] }] }),
            "mcpServers[0].env[0]",
        ),
        (json!({ "cwd": "/w", "additionalDirectories": [1] }), "additionalDirectories[0]"),
        (json!({}), "`cwd`"),
    ];
    for (params, place) in cases {
        let line =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "session/new", "params": params }).to_string();
        let (_, message, _) = refused(&mut greeted(HELLO_V2), &line);
        assert!(message.contains(place), "{message} names {place}");
    }
}

#[test]
fn unknown_requests_are_32601_and_unknown_notifications_nothing() {
    let v1 = ["auth/login", "session/status", "terminal/cancel", "tool_call/cancel", "_x", "$/odd", ""];
    let v2 = [
        "authenticate",
        "session/options",
        "session/load",
        "session/set_mode",
        "_x",
        "$/odd",
        "session/cancel",
    ];
    for (hello, methods) in [(HELLO_V1, v1), (HELLO_V2, v2)] {
        let mut edge = greeted(hello);
        for method in methods {
            let line = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": {} }).to_string();
            assert_eq!(refused(&mut edge, &line).0, -32601, "{method}");
        }
        for method in ["session/new", "initialized", "_x", "$/odd", "$/progress"] {
            let line = json!({ "jsonrpc": "2.0", "method": method, "params": {} }).to_string();
            assert_eq!(edge.read(line.as_bytes()), Read::Nothing, "{method}");
        }
    }
    let long = json!({ "jsonrpc": "2.0", "id": 1, "method": "x".repeat(5000) }).to_string();
    assert!(refused(&mut greeted(HELLO_V1), &long).1.len() < 200);
}

#[test]
fn broken_lines_are_answered_without_an_id() {
    let cases: [(&[u8], i64); 11] = [
        (b"{", -32700),
        (b"", -32700),
        (b"hello", -32700),
        (b"{\"a\":\"\xff\"}", -32700),
        (b"[]", -32600),
        (br#"[{"jsonrpc":"2.0","id":1,"method":"session/list"}]"#, -32600),
        (b"5", -32600),
        (b"{}", -32600),
        (br#"{"jsonrpc":"2.0","id":null,"method":"session/list"}"#, -32600),
        (br#"{"jsonrpc":"2.0","id":1.5,"method":"session/list"}"#, -32600),
        (br#"{"jsonrpc":"2.0","id":1,"method":"a","result":{}}"#, -32600),
    ];
    for mut edge in [fresh(), greeted(HELLO_V1), greeted(HELLO_V2)] {
        for (line, code) in cases {
            let Read::Reply(reply) = edge.read(line) else { panic!("answered") };
            super::wire::assert_error_valid(&reply);
            let reply: Value = serde_json::from_str(&reply).unwrap();
            assert_eq!((&reply["error"]["code"], &reply["id"]), (&json!(code), &Value::Null));
        }
    }
}

#[test]
fn a_line_that_is_too_long_is_answered_as_far_as_it_is_known() {
    let known = |id: Option<i64>, method: Option<&str>, is_answer| Remains {
        id: id.map(RequestId::Number),
        method: method.map(str::to_owned),
        is_answer,
    };
    let (prompt, cancel) = (Some("session/prompt"), Some("session/cancel"));
    let cases = [
        (known(None, None, false), Value::Null),
        (known(Some(7), prompt, false), json!(7)),
        (known(None, cancel, false), Value::Null),
        (known(Some(7), None, false), Value::Null),
        (known(Some(7), prompt, true), Value::Null),
    ];
    for (remains, id) in cases {
        let mut edge = greeted(HELLO_V2);
        let Read::Reply(reply) = edge.oversized(&remains, 16) else { panic!("{remains:?} is answered") };
        super::wire::assert_error_valid(&reply);
        let reply: Value = serde_json::from_str(&reply).unwrap();
        assert_eq!((&reply["error"]["code"], &reply["id"]), (&json!(-32600), &id), "{remains:?}");
        assert_eq!(reply.to_string().contains("session/prompt"), id == json!(7), "{reply}");
    }
    // Its id is in use: an answer would settle the other request.
    let mut edge = greeted(HELLO_V2);
    let (_ticket, _) = ask_us(&mut edge, 7, "session/list", json!({}));
    let Read::Reply(reply) = edge.oversized(&known(Some(7), prompt, false), 16) else { panic!("answered") };
    assert!(reply.contains("\"id\":null"), "{reply}");
    // An answer to nothing.
    let read = edge.oversized(&known(Some(1), None, true), 16);
    assert!(matches!(read, Read::Anomaly(Anomaly::UnknownAnswer { .. })), "{read:?}");
}

#[test]
fn an_open_id_cannot_be_used_twice() {
    let mut edge = greeted(HELLO_V2);
    let (ticket, _) = ask_us(&mut edge, 7, "session/list", json!({}));
    let again = r#"{"jsonrpc":"2.0","id":7,"method":"session/close","params":{"sessionId":"s"}}"#;
    let (code, _, id) = refused(&mut edge, again);
    assert_eq!((code, id), (-32600, Value::Null), "an answer under id 7 would settle the first request");
    let reply = edge.respond(ticket, Reply::Sessions { sessions: Vec::new(), next: None });
    assert_eq!(reply, r#"{"jsonrpc":"2.0","id":7,"result":{"sessions":[]}}"#);
    assert!(matches!(edge.read(again.as_bytes()), Read::Input(_)), "answered ids are free");
    let text = r#"{"jsonrpc":"2.0","id":"7","method":"session/list"}"#;
    assert!(matches!(edge.read(text.as_bytes()), Read::Input(_)), "the string 7 is another id");
}

#[test]
fn notifications_are_read() {
    let mut edge = greeted(HELLO_V2);
    let cancel = br#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}"#;
    assert_eq!(edge.read(cancel), Read::Input(FromClient::CancelSession { session: s() }));
    let bad = br#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":5}}"#;
    let anomaly =
        Anomaly::Undecodable { side: "client", method: "session/cancel".into(), at: "sessionId".into() };
    assert_eq!(edge.read(bad), Read::Anomaly(anomaly));
    let cancel = br#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}"#;
    assert_eq!(edge.read(cancel), Read::Nothing, "no such request");
    let (ticket, _) = ask_us(&mut edge, 7, "session/list", json!({}));
    let input = FromClient::CancelRequest { request: RequestId::Number(7) };
    assert_eq!(edge.read(cancel), Read::Input(input));
    edge.respond(ticket, Reply::Sessions { sessions: Vec::new(), next: None });
    assert_eq!(edge.read(cancel), Read::Nothing, "answered already");
    let bad = br#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":null}}"#;
    assert!(matches!(edge.read(bad), Read::Anomaly(_)));
}
