//! `initialize`: versions, profiles, order.

use super::{HELLO_V1, HELLO_V2, HELLO_ZED, fresh, greeted, refused, wire};
use crate::acp::{AgentInfo, Edge, Read};
use crate::core::request::{ClientProfile, TerminalDisplay, Version};
use crate::core::sign_in::{Means, Program, Secret};
use serde_json::{Value, json};

fn hello(params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"a","method":"initialize","params":{params}}}"#)
}

fn welcomed(params: &str) -> (ClientProfile, Value) {
    let read = fresh().read(hello(params).as_bytes());
    let Read::Hello { reply, profile } = read else { panic!("{params} was not welcomed: {read:?}") };
    wire::assert_result_valid(profile.version, "initialize", &reply);
    let reply: Value = serde_json::from_str(&reply).unwrap();
    assert_eq!(reply["id"], "a");
    (profile, reply["result"].clone())
}

#[test]
fn the_highest_version_not_above_the_requested_one_is_spoken() {
    let cases = [
        (r#"{"protocolVersion":1}"#, Version::V1),
        (r#"{"protocolVersion":1,"info":{"name":"c","version":"1"},"capabilities":{}}"#, Version::V1),
        (r#"{"protocolVersion":2,"info":{"name":"c","version":"1"}}"#, Version::V2),
        (r#"{"protocolVersion":3}"#, Version::V2),
        (r#"{"protocolVersion":3,"info":7,"capabilities":[]}"#, Version::V2),
        (r#"{"protocolVersion":65536}"#, Version::V2),
        (r#"{"protocolVersion":18446744073709551615}"#, Version::V2),
        // Below all of ours, asked in v1's shape: v1 falls back and never says -32022.
        (r#"{"protocolVersion":0,"clientCapabilities":{}}"#, Version::V1),
        (r#"{"protocolVersion":0}"#, Version::V1),
        (r#"{"protocolVersion":-4}"#, Version::V1),
    ];
    for (params, version) in cases {
        let (profile, result) = welcomed(params);
        assert_eq!(profile.version, version, "{params}");
        let number = if version == Version::V1 { 1 } else { 2 };
        assert_eq!(result["protocolVersion"], number, "{params}");
    }
}

#[test]
fn a_v2_question_for_less_than_all_versions_is_32022() {
    let line = hello(r#"{"protocolVersion":0,"info":{"name":"c","version":"1"}}"#);
    let Read::Reply(reply) = fresh().read(line.as_bytes()) else { panic!("answered") };
    wire::assert_error_valid(&reply);
    let reply: Value = serde_json::from_str(&reply).unwrap();
    assert_eq!(reply["error"]["code"], -32022);
    assert_eq!(reply["error"]["data"], json!({ "requested": 0, "supported": [1, 2] }));
}

#[test]
fn bad_params_are_32602() {
    let cases = [
        r#"{}"#,
        r#"{"protocolVersion":"1"}"#,
        r#"{"protocolVersion":null}"#,
        r#"{"protocolVersion":1.5}"#,
        r#"{"protocolVersion":2}"#,
        r#"{"protocolVersion":2,"info":null}"#,
        r#"{"protocolVersion":2,"info":{"name":"c"}}"#,
        r#"{"protocolVersion":2,"clientInfo":{"name":"c","version":"1"}}"#,
        r#"{"protocolVersion":-1,"info":{"name":"c","version":"1"}}"#,
        r#"[2]"#,
        r#"null"#,
    ];
    for params in cases {
        let (code, message, id) = refused(&mut fresh(), &hello(params));
        assert_eq!((code, id), (-32602, json!("a")), "{params}: {message}");
    }
}

#[test]
fn malformed_capabilities_count_as_absent() {
    for capabilities in
        ["5", "[]", "null", r#"{"elicitation":true}"#, r#"{"elicitation":{"form":true,"url":"yes"}}"#]
    {
        let (v2, _) = welcomed(&format!(
            r#"{{"protocolVersion":2,"info":{{"name":"c","version":"1"}},"capabilities":{capabilities}}}"#
        ));
        assert!(!v2.elicitation_form && !v2.elicitation_url, "{capabilities}");
        let (v1, _) = welcomed(&format!(r#"{{"protocolVersion":1,"clientCapabilities":{capabilities}}}"#));
        assert!(!v1.elicitation_form && !v1.elicitation_url && !v1.notices, "{capabilities}");
    }
}

#[test]
fn the_profile_says_how_to_show_things() {
    let edge = greeted(HELLO_ZED);
    let zed = edge.profile().unwrap();
    assert_eq!((zed.version, zed.terminals, zed.notices), (Version::V1, TerminalDisplay::Stream, true));
    assert_eq!(zed.name.as_deref(), Some("zed 1"));
    let edge = greeted(HELLO_V1);
    let plain = edge.profile().unwrap();
    assert_eq!((plain.terminals, plain.notices), (TerminalDisplay::Text, false));
    assert!(plain.elicitation_form && plain.elicitation_url);
    let edge = greeted(HELLO_V2);
    let v2 = edge.profile().unwrap();
    assert_eq!((v2.terminals, v2.notices), (TerminalDisplay::Stream, true));
    assert!(v2.elicitation_form && v2.elicitation_url);
    for flag in ["1", r#""true""#, "false", "{}"] {
        let (profile, _) = welcomed(&format!(
            r#"{{"protocolVersion":1,"clientCapabilities":{{"_meta":{{"terminal_output":{flag}}}}}}}"#
        ));
        assert_eq!(profile.terminals, TerminalDisplay::Text, "{flag}");
    }
}

#[test]
fn the_results_advertise_what_is_served() {
    let (_, v2) = welcomed(r#"{"protocolVersion":2,"info":{"name":"c","version":"1"}}"#);
    assert_eq!(
        v2,
        json!({
            "protocolVersion": 2,
            "info": { "name": "agent", "version": "1.0.0" },
            "capabilities": { "session": {
                "prompt": { "image": {}, "embeddedContext": {} },
                "mcp": { "stdio": {}, "http": {} },
                "additionalDirectories": {},
                "systemPrompt": { "mode": { "override": {} } },
            } },
        })
    );
    let (_, v1) = welcomed(r#"{"protocolVersion":1}"#);
    assert_eq!(
        v1,
        json!({
            "protocolVersion": 1,
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": { "image": true, "audio": false, "embeddedContext": true },
                "mcpCapabilities": { "http": true, "sse": false },
                "sessionCapabilities": { "list": {}, "resume": {}, "close": {}, "additionalDirectories": {},
                    "systemPrompt": { "mode": { "override": {} } } },
                "auth": { "logout": {} },
            },
            "authMethods": [],
            "agentInfo": { "name": "agent", "version": "1.0.0" },
        })
    );
}

#[test]
fn nothing_is_valid_before_initialize() {
    let mut edge = fresh();
    for method in ["session/list", "session/prompt", "authenticate", "_mine"] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{}}}}"#);
        assert_eq!(refused(&mut edge, &line).0, -32600, "{method}");
    }
    let cancel = r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}"#;
    assert_eq!(edge.read(cancel.as_bytes()), Read::Nothing);
    assert!(matches!(edge.read(HELLO_V2.as_bytes()), Read::Hello { .. }), "refusals change nothing");
}

#[test]
fn initialize_may_be_repeated_until_the_first_other_request() {
    let mut edge = greeted(HELLO_V2);
    let cancel = r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}"#;
    assert!(matches!(edge.read(cancel.as_bytes()), Read::Input(_)));
    assert!(matches!(edge.read(HELLO_ZED.as_bytes()), Read::Hello { .. }));
    assert_eq!(edge.profile().unwrap().version, Version::V1);
    assert_eq!(refused(&mut edge, &hello(r#"{"protocolVersion":"x"}"#)).0, -32602);
    assert_eq!(edge.profile().unwrap().version, Version::V1, "the latest success stands");
    assert!(matches!(edge.read(br#"{"jsonrpc":"2.0","id":1,"method":"session/list"}"#), Read::Input(_)));
    assert_eq!(refused(&mut edge, HELLO_V2).0, -32600);
}

fn methods(hello: &str, means: Means) -> Vec<Value> {
    let info = AgentInfo { name: "agent".into(), version: "1".into(), sign_in: means };
    let Read::Hello { reply, profile } = Edge::new(info).read(hello.as_bytes()) else {
        panic!("not welcomed")
    };
    wire::assert_result_valid(profile.version, "initialize", &reply);
    let reply: Value = serde_json::from_str(&reply).unwrap();
    reply["result"]["authMethods"].as_array().cloned().unwrap_or_default()
}

fn ids(hello: &str, means: Means) -> Vec<String> {
    let id = |it: &Value| it["id"].as_str().or(it["methodId"].as_str()).unwrap_or_default().to_owned();
    methods(hello, means).iter().map(id).collect()
}

#[test]
fn only_what_the_client_can_handle_is_a_way_to_sign_in() {
    let program = Some(Program {
        path: "/bin/appserver-acp".into(),
        env: vec![("CODEX_HOME".into(), "/home/u/.codex".into())],
    });
    let key = Some(Secret::new("sk-0123456789abcdef"));
    let plain = Means { program, ..Means::default() };
    for hello in [HELLO_V1, HELLO_V2] {
        assert_eq!(ids(hello, plain.clone()), ["chatgpt", "chatgpt-device-code"]);
        let without = Means { no_browser: true, codex_key: key.clone(), ..plain.clone() };
        assert_eq!(ids(hello, without), ["chatgpt-device-code", "codex-api-key"]);
    }
    let bare = hello(r#"{"protocolVersion":1}"#);
    assert_eq!(ids(&bare, plain.clone()), [""; 0]);
    let desktop = Means { opens_pages: true, ..plain.clone() };
    assert_eq!(ids(&bare, desktop.clone()), ["chatgpt"]);
    assert_eq!(ids(&bare, Means { no_browser: true, ..desktop }), [""; 0]);
    let v1 = hello(r#"{"protocolVersion":1,"clientCapabilities":{"auth":{"_meta":{"gateway":true}}}}"#);
    let v2 = hello(
        r#"{"protocolVersion":2,"info":{"name":"c","version":"1"},"capabilities":{"auth":{"_meta":{"gateway":true}}}}"#,
    );
    for hello in [v1, v2] {
        assert_eq!(ids(&hello, plain.clone()), ["gateway"]);
    }
    let keys = Means { codex_key: key.clone(), openai_key: key, ..plain };
    assert_eq!(ids(&bare, keys.clone()), ["codex-api-key", "openai-api-key"]);
    assert!(!format!("{:?}", methods(&bare, keys.clone())).contains("sk-"), "a name is no key");
    assert!(!format!("{keys:?}").contains("sk-"), "a key is not shown");
}

#[test]
fn a_client_with_a_terminal_is_told_what_to_run_in_it() {
    let program = Some(Program {
        path: "/bin/appserver-acp".into(),
        env: vec![("CODEX_HOME".into(), "/home/u/.codex".into())],
    });
    let means = Means { program, ..Means::default() };
    let v1 = hello(r#"{"protocolVersion":1,"clientCapabilities":{"auth":{"terminal":true}}}"#);
    let v2 =
        r#"{"protocolVersion":2,"info":{"name":"c","version":"1"},"capabilities":{"auth":{"terminal":{}}}}"#;
    for hello in [v1, hello(v2)] {
        let method = &methods(&hello, means.clone())[0];
        assert_eq!((&method["type"], &method["args"]), (&json!("terminal"), &json!(["login"])), "{method}");
    }
    let method = &methods(HELLO_ZED, means)[0];
    assert_eq!(method.get("type"), None, "to this client it is one of ours");
    assert_eq!(
        method["_meta"]["terminal-auth"],
        json!({
            "label": "Sign in with codex login", "command": "/bin/appserver-acp", "args": ["login"],
            "env": { "CODEX_HOME": "/home/u/.codex" },
        })
    );
}
