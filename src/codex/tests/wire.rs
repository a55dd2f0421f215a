use super::{edge, event, read};
use crate::codex::inventory::{ASKED, IGNORED, MAPPED, OPTED_OUT};
use crate::codex::{Heard, Read};
use crate::core::asked::{CodexAnswer, CodexAsk};
use crate::core::codex::{CodexReply, CodexRequest, Event, FromCodex};
use crate::core::effect::Anomaly;
use crate::core::ids::{CodexCallId, Generation, RequestId, ThreadId};
use proptest::prelude::*;
use serde_json::{Value, json};

fn undecodable(read: &Read) -> (String, String) {
    match &read.heard {
        Heard::Anomaly(Anomaly::Undecodable { side: "codex", method, at })
        | Heard::Both(Anomaly::Undecodable { side: "codex", method, at }, _) => (method.clone(), at.clone()),
        other => panic!("decoded: {other:?}"),
    }
}

#[test]
fn the_answer_to_initialize_is_followed_by_initialized() {
    let mut edge = edge();
    edge.call(CodexCallId(1), &CodexRequest::Initialize);
    let answer = read(&mut edge, &json!({"id": 1, "result": {"userAgent": "codex/0.171.0", "new": 1}}));
    let result = Ok(CodexReply::Initialized { user_agent: "codex/0.171.0".into() });
    assert_eq!(answer.heard, Heard::Codex(FromCodex::Answered { call: CodexCallId(1), result }));
    assert_eq!(answer.reply.as_deref(), Some(r#"{"method":"initialized"}"#));
    assert_eq!(edge.pending(), 0);
}

#[test]
fn every_call_is_settled_by_its_first_answer_whatever_it_is() {
    let list = CodexRequest::TerminalsList { thread: ThreadId::new("t"), cursor: None };
    let cases = [
        (json!({"id": 7, "result": {"data": [], "nextCursor": null}}), "ok"),
        (json!({"id": 7, "error": {"code": -32600, "message": "no such thread"}}), "-32600 no such thread"),
        (
            json!({"id": 7, "result": {"data": [{"itemId": "i", "processId": {"secret": 1}}]}}),
            "-32603 codex answered thread/backgroundTerminals/list, but it could not be read at data[0].processId",
        ),
        (
            json!({"id": 7, "result": "secret"}),
            "-32603 codex answered thread/backgroundTerminals/list, but it could not be read at .",
        ),
    ];
    for (line, expected) in cases {
        let mut edge = edge();
        edge.call(CodexCallId(7), &list);
        assert_eq!(edge.pending(), 1);
        let said = match read(&mut edge, &line).heard {
            Heard::Codex(FromCodex::Answered { call: CodexCallId(7), result: Ok(_) }) => "ok".to_owned(),
            Heard::Codex(FromCodex::Answered { call: CodexCallId(7), result: Err(error) }) => {
                format!("{} {}", error.code, error.message)
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(said, expected);
        assert_eq!(edge.pending(), 0);
        let again = read(&mut edge, &line).heard;
        assert_eq!(again, Heard::Anomaly(Anomaly::UnknownAnswer { what: "codex answer to no open call" }));
    }
}

#[test]
fn an_oversized_line_fails_the_oldest_request_of_the_largest_kind() {
    let mut edge = edge();
    let items = || CodexRequest::ItemsList { thread: ThreadId::new("t"), turn: None, cursor: None, limit: 5 };
    edge.call(CodexCallId(1), &CodexRequest::Initialize);
    edge.call(CodexCallId(2), &CodexRequest::ModelList { cursor: None });
    edge.call(
        CodexCallId(3),
        &CodexRequest::ThreadList { cwd: None, cursor: None, limit: 5, archived: false },
    );
    edge.call(CodexCallId(4), &items());
    edge.call(CodexCallId(5), &items());
    let mut failed = Vec::new();
    while let Some(FromCodex::Answered { call, result }) = edge.oversized(99) {
        failed.push(call.0);
        assert_eq!(result.unwrap_err().message, "the answer is larger than 99 bytes");
    }
    assert_eq!((failed, edge.pending()), (vec![4, 5, 3, 2], 1));
}

#[test]
fn a_new_process_answers_none_of_the_former_calls() {
    let mut edge = edge();
    edge.call(CodexCallId(1), &CodexRequest::Initialize);
    edge.start(Generation(2));
    assert_eq!((edge.pending(), edge.generation()), (0, Some(Generation(2))));
    let late = read(&mut edge, &json!({"id": 1, "result": {"userAgent": "x"}}));
    assert!(matches!(late.heard, Heard::Anomaly(Anomaly::UnknownAnswer { .. })));
    assert_eq!(late.reply, None);
}

#[test]
fn what_cannot_be_decoded_is_named_by_place_and_never_by_value() {
    let cases = [
        ("item/started", json!({"threadId": "t", "turnId": "u"}), "item"),
        (
            "item/started",
            json!({"threadId": "t", "turnId": "u", "item": {"type": "plan", "id": "i"}}),
            "item.text",
        ),
        (
            "item/completed",
            json!({"threadId": "t", "turnId": "u", "item": {"type": "fileChange", "id": "i",
                "changes": [{"path": "/a", "kind": {"type": ["hunter2"]}}]}}),
            "item.changes[0].kind.type",
        ),
        (
            "item/completed",
            json!({"threadId": "t", "turnId": "u", "item": {"type": "userMessage", "id": "i",
                "content": [{"type": "text", "text": "a"}, {"type": "text", "text": 5}]}}),
            "item.content[1].text",
        ),
        (
            "item/commandExecution/outputDelta",
            json!({"threadId": "t", "itemId": "hunter2", "delta": 7}),
            "delta",
        ),
        ("thread/status/changed", json!({"threadId": "t", "status": {"type": "hunter2"}}), "status.type"),
        ("serverRequest/resolved", json!({"threadId": "t", "requestId": {"hunter2": 1}}), "requestId"),
        ("turn/started", json!(["hunter2"]), "."),
    ];
    for (method, params, at) in cases {
        let read = read(&mut edge(), &json!({"method": method, "params": params}));
        assert_eq!(undecodable(&read), (method.to_owned(), at.to_owned()));
        assert_eq!(read.reply, None);
    }
}

#[test]
fn a_start_or_an_end_that_cannot_be_decoded_still_tells_its_thread() {
    let cases = [
        ("item/started", json!({"threadId": "t", "turnId": "u"}), Some("t")),
        (
            "item/completed",
            json!({"threadId": "t", "turnId": "u", "item": {"id": "i", "type": 7}}),
            Some("t"),
        ),
        ("turn/completed", json!({"threadId": "t", "turn": []}), Some("t")),
        ("turn/completed", json!({"threadId": 5, "turn": []}), None),
        ("item/completed", json!([]), None),
        ("item/agentMessage/delta", json!({"threadId": "t", "delta": 7}), None),
    ];
    for (method, params, thread) in cases {
        let said = match read(&mut edge(), &json!({"method": method, "params": params})).heard {
            Heard::Both(_, FromCodex::Event(Event::Misfit { thread })) => Some(thread),
            Heard::Anomaly(_) => None,
            other => panic!("decoded: {other:?}"),
        };
        assert_eq!(said, thread.map(ThreadId::new), "{method} {params}");
    }
}

#[test]
fn a_request_that_cannot_be_decoded_is_answered_at_once() {
    let line =
        json!({"id": "a", "method": "item/fileChange/requestApproval", "params": {"threadId": "hunter2"}});
    let read = read(&mut edge(), &line);
    assert_eq!(undecodable(&read).1, "itemId");
    assert_eq!(
        read.reply.as_deref(),
        Some(r#"{"id":"a","error":{"code":-32602,"message":"it could not be read at itemId"}}"#)
    );
}

#[test]
fn lines_that_are_no_messages_cost_only_themselves() {
    for line in [&b""[..], b"{", b"\xff\xfe", b"[]", b"7", b"{}", b"{\"id\":null,\"result\":1}"] {
        assert_eq!(undecodable(&edge().read(line)).0, "");
    }
}

#[test]
fn every_name_of_the_inventory_is_decoded_or_ignored_and_no_other_is() {
    // This one says nothing but its name.
    assert_eq!(event("skills/changed", json!({})), Event::SkillsChanged);
    for method in MAPPED.iter().filter(|method| **method != "skills/changed") {
        let read = read(&mut edge(), &json!({"method": method, "params": {}}));
        assert_eq!(undecodable(&read).0, *method, "decoding {method} needs nothing of it");
        assert!(!IGNORED.contains(method));
    }
    for method in IGNORED {
        assert_eq!(event(method, json!({})), Event::Ignored { method: (*method).to_owned() });
    }
    assert!(IGNORED.is_sorted(), "looked up by binary search");
    assert!(OPTED_OUT.iter().all(|it| IGNORED.contains(it)));
    assert_eq!(event("thread/teleported", json!({})), Event::Unmapped { method: "thread/teleported".into() });
    let item = json!({"threadId": "t", "turnId": "u", "item": {"type": "hologram", "id": "i"}});
    assert_eq!(event("item/started", item), Event::Unmapped { method: "item/started hologram".into() });
}

#[test]
fn a_request_of_no_supported_kind_is_refused_by_name() {
    for method in ASKED {
        let line = json!({"id": 3, "method": method, "params": {}});
        assert_eq!(undecodable(&read(&mut edge(), &line)).0, *method);
    }
    let others = [
        "item/tool/call",
        "account/chatgptAuthTokens/refresh",
        "attestation/generate",
        "applyPatchApproval",
        "execCommandApproval",
        "brand/new",
    ];
    for method in others {
        let mut edge = edge();
        let request = RequestId::Number(3);
        let ask = CodexAsk::Unsupported { method: method.to_owned() };
        let heard = Heard::Codex(FromCodex::Asked { request: request.clone(), ask });
        assert_eq!(read(&mut edge, &json!({"id": 3, "method": method})), Read { heard, reply: None });
        let line = edge.answer(&request, &CodexAnswer::Refused { message: "not supported".into() });
        assert_eq!(line, r#"{"id":3,"error":{"code":-32601,"message":"not supported"}}"#);
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z\\PC]{0,8}".prop_map(Value::from),
    ];
    let key = prop_oneof![
        Just("threadId"),
        Just("turnId"),
        Just("itemId"),
        Just("item"),
        Just("id"),
        Just("type"),
        Just("status"),
        Just("content"),
        Just("text"),
        Just("changes"),
        Just("turn"),
        Just("delta"),
        Just("data"),
        Just("command"),
    ];
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|it| Value::Object(it.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_bytes_become_one_input(line in prop::collection::vec(any::<u8>(), 0..200)) {
        edge().read(&line);
    }

    #[test]
    fn any_json_in_place_of_params_becomes_one_input(idx in 0..MAPPED.len(), value in any_json()) {
        // Anything but an object or array is no message at all.
        let value = if value.is_object() || value.is_array() { value } else { json!({"threadId": value}) };
        let mut edge = edge();
        read(&mut edge, &json!({"method": MAPPED[idx], "params": value}));
        edge.call(CodexCallId(1), &CodexRequest::ModelList { cursor: None });
        read(&mut edge, &json!({"id": 1, "result": value}));
        prop_assert_eq!(edge.pending(), 0);
        let asked = read(&mut edge, &json!({"id": 1, "method": ASKED[idx % ASKED.len()], "params": value}));
        // Either the core hears of it and answers, or it is answered here: never neither, never both.
        prop_assert_eq!(asked.reply.is_none(), matches!(asked.heard, Heard::Codex(FromCodex::Asked { .. })));
    }
}
