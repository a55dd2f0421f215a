use super::event;
use crate::core::codex::{Event, Preset, ThreadStatus, TurnEnd};
use crate::core::fault::{Fault, FaultKind};
use crate::core::ids::{ItemId, RequestId, ThreadId, TurnId};
use crate::core::request::Shelf;
use crate::core::update::{PlanEntry, PlanStatus, Severity};
use serde_json::{Value, json};

fn thread() -> ThreadId {
    ThreadId::new("t")
}

fn item() -> ItemId {
    ItemId::new("i")
}

fn notice(thread: Option<ThreadId>, title: &str, description: Option<&str>) -> Event {
    let description = description.map(str::to_owned);
    Event::Notice { thread, severity: Severity::Warning, title: title.to_owned(), description }
}

#[test]
fn pieces_of_text() {
    let delta = |extra: Value| {
        let mut params = json!({"threadId": "t", "turnId": "u", "itemId": "i"});
        params.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        params
    };
    let text = || "é\u{1b}[0m\"\r\n".to_owned();
    let cases = [
        (
            "item/commandExecution/outputDelta",
            delta(json!({"delta": text()})),
            Event::OutputDelta { thread: thread(), item: item(), text: text() },
        ),
        (
            "item/agentMessage/delta",
            delta(json!({"delta": text()})),
            Event::AgentDelta { thread: thread(), item: item(), text: text() },
        ),
        (
            "item/plan/delta",
            delta(json!({"delta": text()})),
            Event::PlanDelta { thread: thread(), item: item(), text: text() },
        ),
        (
            "item/reasoning/summaryTextDelta",
            delta(json!({"delta": text(), "summaryIndex": 2})),
            Event::ThoughtDelta { thread: thread(), item: item(), part: 2, text: text() },
        ),
        (
            "item/reasoning/textDelta",
            delta(json!({"delta": text(), "contentIndex": 1})),
            Event::ThoughtDelta { thread: thread(), item: item(), part: 1, text: text() },
        ),
        (
            "item/commandExecution/terminalInteraction",
            delta(json!({"processId": "7", "stdin": text()})),
            Event::TerminalInput { thread: thread(), item: item(), text: text() },
        ),
        (
            "item/mcpToolCall/progress",
            delta(json!({"message": text()})),
            Event::Progress { thread: thread(), item: item(), message: text() },
        ),
    ];
    for (method, params, expected) in cases {
        assert_eq!(event(method, params), expected);
    }
}

#[test]
fn a_turn_ends_with_codexs_own_words() {
    let end = |turn: Value| match event("turn/completed", json!({"threadId": "t", "turn": turn})) {
        Event::TurnCompleted { end, .. } => end,
        other => panic!("{other:?}"),
    };
    let failed = |message: &str| TurnEnd::Failed(Fault::plain(message));
    assert_eq!(end(json!({"id": "u", "status": "completed", "error": null})), TurnEnd::Completed);
    assert_eq!(
        end(json!({"id": "u", "status": "interrupted", "error": {"message": "m"}})),
        TurnEnd::Interrupted
    );
    assert_eq!(end(json!({"id": "u", "status": "failed", "error": {"message": "m"}})), failed("m"));
    let details = json!({"id": "u", "status": "failed", "error": {"message": "m", "additionalDetails": "d"}});
    assert_eq!(end(details), failed("m\nd"));
    assert_eq!(end(json!({"id": "u", "status": "failed"})), failed(""));
    let kinds = [
        (json!("usageLimitExceeded"), Some(FaultKind::UsageLimitExceeded), None),
        (
            json!({"httpConnectionFailed": {"httpStatusCode": 401}}),
            Some(FaultKind::HttpConnectionFailed),
            Some(401),
        ),
        (
            json!({"responseStreamDisconnected": {"httpStatusCode": null}}),
            Some(FaultKind::ResponseStreamDisconnected),
            None,
        ),
        (
            json!({"activeTurnNotSteerable": {"turnKind": "review"}}),
            Some(FaultKind::ActiveTurnNotSteerable),
            None,
        ),
        (json!("newer"), None, None),
        (json!(7), None, None),
    ];
    for (info, kind, http_status) in kinds {
        let error = json!({"message": "m", "codexErrorInfo": info});
        let fault = Fault { kind, http_status, message: "m".to_owned() };
        assert_eq!(end(json!({"id": "u", "status": "failed", "error": error})), TurnEnd::Failed(fault));
    }
    let blocked = json!({"message": "m", "misalignment": {"errorType": null, "detailedExplanation": "why", "steer": null}});
    assert_eq!(end(json!({"id": "u", "status": "failed", "error": blocked})), failed("m\nwhy"));
    assert_eq!(end(json!({"id": "u", "status": "evaporated"})), TurnEnd::Completed);
}

#[test]
fn threads_change_rest_and_go() {
    let status =
        |kind: &str| event("thread/status/changed", json!({"threadId": "t", "status": {"type": kind}}));
    for (kind, expected) in [
        ("notLoaded", ThreadStatus::NotLoaded),
        ("idle", ThreadStatus::Idle),
        ("systemError", ThreadStatus::SystemError),
        ("active", ThreadStatus::Active),
    ] {
        assert_eq!(status(kind), Event::ThreadStatus { thread: thread(), status: expected });
    }
    for (method, to) in [("thread/archived", Shelf::Archive), ("thread/deleted", Shelf::Deleted)] {
        assert_eq!(event(method, json!({"threadId": "t"})), Event::ThreadRemoved { thread: thread(), to });
    }
    assert_eq!(event("thread/closed", json!({"threadId": "t"})), Event::ThreadClosed { thread: thread() });
    let renamed = |params| match event("thread/name/updated", params) {
        Event::ThreadRenamed { name, .. } => name,
        other => panic!("{other:?}"),
    };
    assert_eq!(renamed(json!({"threadId": "t", "threadName": "n"})).as_deref(), Some("n"));
    assert_eq!(renamed(json!({"threadId": "t"})), None);
    let request = RequestId::Text("r".into());
    let resolved = event("serverRequest/resolved", json!({"threadId": "t", "requestId": "r"}));
    assert_eq!(resolved, Event::RequestResolved { thread: thread(), request });
}

#[test]
fn settings_become_a_preset_only_where_both_halves_fit() {
    let preset = |approval: Value, sandbox: &str| {
        let settings = json!({"model": "m", "effort": null, "approvalPolicy": approval,
            "sandboxPolicy": {"type": sandbox, "networkAccess": false}});
        match event("thread/settings/updated", json!({"threadId": "t", "threadSettings": settings})) {
            Event::Settings { holds, .. } if holds.model == "m" && holds.effort.is_none() => holds.preset,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(preset(json!("on-request"), "readOnly"), Some(Preset::ReadOnly));
    assert_eq!(preset(json!("on-request"), "workspaceWrite"), Some(Preset::Auto));
    assert_eq!(preset(json!("never"), "dangerFullAccess"), Some(Preset::FullAccess));
    assert_eq!(preset(json!("never"), "readOnly"), None);
    assert_eq!(preset(json!("untrusted"), "workspaceWrite"), None);
    assert_eq!(preset(json!({"granular": {}}), "workspaceWrite"), None);
    assert_eq!(preset(json!("on-request"), "externalSandbox"), None);
}

#[test]
fn usage_is_the_context_now_and_not_the_sum() {
    let usage = |last: i64, window: Value| {
        let usage = json!({"total": {"totalTokens": 9000}, "last": {"totalTokens": last}, "modelContextWindow": window});
        event("thread/tokenUsage/updated", json!({"threadId": "t", "turnId": "u", "tokenUsage": usage}))
    };
    let expected =
        |used, window| Event::TokenUsage { thread: thread(), turn: TurnId::new("u"), used, window };
    assert_eq!(usage(110, json!(258_400)), expected(110, Some(258_400)));
    assert_eq!(usage(-1, json!(null)), expected(0, None));
}

#[test]
fn a_plan_keeps_order_and_status() {
    let steps = json!([{"step": "a", "status": "completed"}, {"step": "b", "status": "inProgress"},
        {"step": "c", "status": "pending"}]);
    let entry = |text: &str, status| PlanEntry { text: text.to_owned(), status };
    let entries = vec![
        entry("a", PlanStatus::Completed),
        entry("b", PlanStatus::InProgress),
        entry("c", PlanStatus::Pending),
    ];
    let plan = event(
        "turn/plan/updated",
        json!({"threadId": "t", "turnId": "u", "explanation": null, "plan": steps}),
    );
    assert_eq!(plan, Event::Plan { thread: thread(), reason: None, entries });
}

#[test]
fn what_people_should_read() {
    let error = json!({"threadId": "t", "turnId": "u", "willRetry": true, "error": {"message": "m", "additionalDetails": "d"}});
    let fault = Fault::plain("m\nd");
    let expected = Event::Error { thread: Some(thread()), fault, will_retry: true };
    assert_eq!(event("error", error), expected);
    let warning = |thread, title: &str, description: Option<&str>| Event::Warning {
        thread,
        title: title.to_owned(),
        description: description.map(str::to_owned),
    };
    assert_eq!(event("warning", json!({"threadId": null, "message": "m"})), warning(None, "m", None));
    let of_thread = event("warning", json!({"threadId": "t", "message": "m"}));
    assert_eq!(of_thread, warning(Some(thread()), "m", None));
    let guardian = event("guardianWarning", json!({"threadId": "t", "message": "m"}));
    assert_eq!(guardian, notice(Some(thread()), "m", None));
    let config = event("configWarning", json!({"summary": "s", "details": "d", "path": "/c"}));
    assert_eq!(config, warning(None, "s", Some("d")));
    let rerouted = json!({"threadId": "t", "turnId": "u", "fromModel": "a", "toModel": "b", "reason": "r"});
    assert_eq!(
        event("model/rerouted", rerouted),
        notice(Some(thread()), "Codex answers with b in place of a", Some("r"))
    );
}

#[test]
fn only_the_end_of_a_start_is_told_of_a_tool_server() {
    let told = |status: &str, more: Value| {
        let mut params = json!({"threadId": "t", "name": "docs", "status": status, "error": null});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        match event("mcpServer/startupStatus/updated", params) {
            Event::ToolServer { server, failure, .. } => format!("{server} {failure:?}"),
            other => format!("{other:?}").chars().take(7).collect(),
        }
    };
    assert_eq!(told("starting", json!({})), "Ignored");
    assert_eq!(told("cancelled", json!({})), "Ignored");
    assert_eq!(told("ready", json!({})), "docs None");
    assert_eq!(told("failed", json!({"error": "no such file"})), "docs Some(\"no such file\")");
    assert!(told("failed", json!({"error": "x".repeat(9000)})).len() < 330);
    assert!(told("failed", json!({"failureReason": "reauthenticationRequired"})).contains("codex mcp login"));
    assert_eq!(told("failed", json!({"threadId": null})), "Ignored");
}
