//! Whatever a client sends, reading survives it and answers at most once.

use super::{HELLO_V1, HELLO_V2, fresh, wire};
use crate::acp::{Edge, Read};
use crate::core::failure::Failure;
use crate::core::ids::RequestId;
use crate::core::input::FromClient;
use crate::core::request::Reply;
use proptest::prelude::*;
use serde_json::{Value, json};

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec![
            "/w",
            "s",
            "text",
            "start",
            "stdio",
            "http",
            "image",
            "id",
            "",
            "é\n\u{1b}"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let key = prop::sample::select(vec![
            "sessionId",
            "cwd",
            "mcpServers",
            "prompt",
            "type",
            "text",
            "name",
            "value",
            "configId",
            "requestId",
            "protocolVersion",
            "info",
            "version",
            "capabilities",
            "replayFrom",
            "terminalId",
            "outcome",
            "optionId",
            "action",
            "content",
            "resource",
            "uri",
            "blob",
            "command",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..6).prop_map(|fields| {
                Value::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}

fn message() -> impl Strategy<Value = Vec<u8>> {
    let method = prop::sample::select(vec![
        "initialize",
        "session/new",
        "session/load",
        "session/resume",
        "session/list",
        "session/close",
        "session/prompt",
        "session/cancel",
        "session/set_mode",
        "session/set_config_option",
        "terminal/cancel",
        "tool_call/cancel",
        "$/cancel_request",
        "_x",
    ]);
    let shaped = (method, json_value(), json_value(), 0..6u8).prop_map(|(method, id, params, shape)| {
        match shape {
            0 => json!({ "jsonrpc": "2.0", "method": method, "params": params }),
            1 => json!({ "jsonrpc": "2.0", "id": id, "result": params }),
            2 => json!({ "jsonrpc": "2.0", "id": id, "error": params }),
            3 => json!({ "id": 1, "method": method, "params": params }),
            4 => json!({ "id": id, "method": method }),
            _ => json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }),
        }
        .to_string()
        .into_bytes()
    });
    prop_oneof![1 => prop::collection::vec(any::<u8>(), 0..64), 4 => shaped]
}

fn take(edge: &mut Edge, line: &[u8]) {
    match edge.read(line) {
        Read::Reply(reply) => wire::assert_error_valid(&reply),
        Read::Hello { reply, profile } => wire::assert_result_valid(profile.version, "initialize", &reply),
        Read::Input(FromClient::Request { ticket, .. }) => {
            let id = ticket.id().clone();
            let reply = edge.respond(ticket, Reply::Failed(Failure::Cancelled));
            wire::assert_error_valid(&reply);
            let reply: Value = serde_json::from_str(&reply).unwrap();
            let same = match &id {
                RequestId::Number(number) => reply["id"] == *number,
                RequestId::Text(text) => reply["id"] == **text,
            };
            assert!(same, "{} answers {id}", reply["id"]);
        }
        Read::Input(_) | Read::Nothing | Read::Anomaly(_) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_lines_are_survived(
        hello in prop::sample::select(vec!["", HELLO_V1, HELLO_V2]),
        lines in prop::collection::vec(message(), 1..12),
    ) {
        let mut edge = fresh();
        if !hello.is_empty() {
            take(&mut edge, hello.as_bytes());
        }
        for line in lines {
            take(&mut edge, &line);
        }
    }
}
