//! Command output in version 1: live terminals, text, and the way between.

use super::{HELLO_V1, HELLO_ZED, greeted, session, updates};
use crate::acp::Edge;
use crate::acp::dropped::Dropped;
use crate::core::ids::{TerminalId, ToolCallId};
use crate::core::update::{
    CallChange, CallContent, CallOpened, CallOutput, EndedBy, Exit, ExitAccount, ExitStatus, FinalStatus,
    OpenStatus, TerminalOpened, ToolKind, Update,
};
use crate::core::vitals::Vitals;
use serde_json::{Value, json};

fn call() -> ToolCallId {
    ToolCallId::new("call_1")
}

fn term() -> TerminalId {
    TerminalId::of(&call())
}

fn opened(status: OpenStatus, content: Vec<CallContent>) -> Update {
    Update::CallOpened(CallOpened {
        call: call(),
        name: None,
        title: "npm run dev".into(),
        kind: ToolKind::Execute,
        status,
        locations: Vec::new(),
        content,
        input: None,
        can_cancel: false,
    })
}

fn running() -> Update {
    opened(OpenStatus::InProgress, vec![CallContent::Terminal(term())])
}

fn terminal() -> Update {
    Update::TerminalOpened(TerminalOpened {
        terminal: term(),
        command: "npm run dev".into(),
        cwd: "/w".into(),
        size: None,
        can_cancel: true,
    })
}

fn output(text: &str) -> Update {
    Update::TerminalOutput { terminal: term(), text: text.into() }
}

fn snapshot(text: &str) -> Update {
    Update::TerminalSnapshot { terminal: term(), text: text.into() }
}

fn exited(status: ExitStatus) -> Update {
    Update::TerminalExited { terminal: term(), exit: Exit { status, account: ExitAccount::default() } }
}

fn changed(content: Vec<CallContent>) -> Update {
    let change =
        CallChange { status: Some(OpenStatus::InProgress), content: Some(content), ..CallChange::default() };
    Update::CallChanged { call: call(), change }
}

fn closed(status: FinalStatus, text: &str) -> Update {
    let output = Some(CallOutput::Command { text: text.into(), exit_code: Some(0) });
    Update::CallClosed { call: call(), status, change: CallChange { output, ..CallChange::default() } }
}

fn dropped(edge: &mut Edge, update: &Update) -> Option<Dropped> {
    edge.update(&session(), update).dropped
}

fn live() -> Edge {
    let mut edge = greeted(HELLO_ZED);
    assert!(updates(&mut edge, &running()).is_empty());
    assert_eq!(updates(&mut edge, &terminal()).len(), 1);
    edge
}

fn text(update: &Value) -> &str {
    update["content"][0]["content"]["text"].as_str().unwrap()
}

fn vitals() -> Update {
    let vitals = Vitals { pid: 71, processes: 1, cpu_percent: 3, memory: 2048, started: 1_790_000_000 };
    Update::TerminalVitals { terminal: term(), vitals }
}

#[test]
fn text_beside_a_terminal_stays_beside_it() {
    let typed = changed(vec![CallContent::Terminal(term()), CallContent::Text("Typed".into())]);
    let beside = json!({ "type": "content", "content": { "type": "text", "text": "Typed" } });
    let mut edge = live();
    updates(&mut edge, &output("$ "));
    let got = updates(&mut edge, &typed);
    assert_eq!(got[0]["content"], json!([{ "type": "terminal", "terminalId": "call_1" }, beside]));
    updates(&mut edge, &exited(ExitStatus::Code(0)));
    let got = updates(&mut edge, &closed(FinalStatus::Completed, "$ "));
    assert_eq!(got[0]["content"], Value::Null, "a terminal that has ended is not named again");

    let mut edge = greeted(HELLO_V1);
    updates(&mut edge, &running());
    updates(&mut edge, &terminal());
    updates(&mut edge, &output("$ "));
    updates(&mut edge, &typed);
    let got = updates(&mut edge, &output("ls"));
    assert_eq!((text(&got[0]), &got[0]["content"][1]), ("```\n$ ls\n```", &beside));
    let got = updates(&mut edge, &closed(FinalStatus::Completed, "$ ls\na"));
    assert_eq!((text(&got[0]), &got[0]["content"][1]), ("```\n$ ls\na\n```", &beside));
}

#[test]
fn vitals_are_for_live_terminals_only() {
    assert_eq!(
        updates(&mut live(), &vitals()),
        [json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "call_1",
            "_meta": { "dev.appserver-acp": {
                "pid": 71, "processes": 1, "cpuPercent": 3, "memoryBytes": 2048, "startedAt": "2026-09-21T14:13:20Z",
            } },
        })]
    );
    let mut edge = greeted(HELLO_V1);
    updates(&mut edge, &running());
    updates(&mut edge, &terminal());
    assert_eq!(dropped(&mut edge, &vitals()), Some(Dropped::Undeclared));
    assert_eq!(dropped(&mut greeted(HELLO_ZED), &vitals()), Some(Dropped::UnknownCall));
}

#[test]
fn a_terminal_goes_out_with_its_call() {
    let mut edge = greeted(HELLO_ZED);
    let held = edge.update(&session(), &running());
    assert_eq!((held.lines.len(), held.dropped), (0, Some(Dropped::HeldForTerminal)));
    assert_eq!(
        updates(&mut edge, &terminal()),
        [json!({
            "sessionUpdate": "tool_call", "toolCallId": "call_1", "title": "npm run dev", "kind": "execute",
            "status": "in_progress", "content": [{ "type": "terminal", "terminalId": "call_1" }],
            "_meta": { "terminal_info": { "terminal_id": "call_1", "cwd": "/w" } },
        })]
    );
    assert_eq!(
        updates(&mut edge, &output("ready\r\n")),
        [json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "call_1",
            "_meta": { "terminal_output": { "terminal_id": "call_1", "data": "ready\r\n" } },
        })]
    );
    assert_eq!(
        updates(&mut edge, &exited(ExitStatus::Code(0))),
        [json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "call_1",
            "_meta": { "terminal_exit": { "terminal_id": "call_1", "exit_code": 0, "signal": null } },
        })]
    );
    assert_eq!(
        updates(&mut edge, &closed(FinalStatus::Completed, "ready\r\n")),
        [json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "call_1", "status": "completed",
            "rawOutput": { "formatted_output": "ready\r\n", "exit_code": 0 },
        })]
    );
}

#[test]
fn exits_say_only_what_a_client_can_read() {
    let cases = [
        (ExitStatus::Code(3), json!(3), Value::Null),
        (ExitStatus::Code(-1), Value::Null, Value::Null),
        (ExitStatus::Signal("SIGKILL"), Value::Null, json!("SIGKILL")),
        (ExitStatus::Unknown, Value::Null, Value::Null),
    ];
    for (status, code, signal) in cases {
        let account = ExitAccount { by: EndedBy::Client, raw_code: Some(-1), ..ExitAccount::default() };
        let exit = Exit { status, account };
        let got = updates(&mut live(), &Update::TerminalExited { terminal: term(), exit });
        assert_eq!(
            got[0]["_meta"],
            json!({
                "terminal_exit": { "terminal_id": "call_1", "exit_code": code, "signal": signal },
                "dev.appserver-acp": { "by": "client", "rawCode": -1 },
            })
        );
    }
}

#[test]
fn a_cancelled_call_has_failed() {
    let got = updates(&mut live(), &closed(FinalStatus::Cancelled, ""));
    assert_eq!(got[0]["status"], "failed");
}

#[test]
fn a_snapshot_replaces_what_was_sent() {
    let data = |update: &Value| update["_meta"]["terminal_output"]["data"].as_str().unwrap().to_owned();
    let mut edge = live();
    assert_eq!(data(&updates(&mut edge, &snapshot("all"))[0]), "all", "nothing to clear yet");
    assert_eq!(data(&updates(&mut edge, &snapshot("new"))[0]), "\u{1b}[2J\u{1b}[3J\u{1b}[Hnew");
    let mut edge = live();
    updates(&mut edge, &output("x"));
    assert_eq!(data(&updates(&mut edge, &snapshot("new"))[0]), "\u{1b}[2J\u{1b}[3J\u{1b}[Hnew");
}

#[test]
fn the_terminal_block_is_sent_once() {
    let mut edge = live();
    let same = updates(&mut edge, &changed(vec![CallContent::Terminal(term())]));
    assert_eq!(same[0].get("content"), None);
    let more = vec![CallContent::Terminal(term()), CallContent::Text("note".into())];
    let content = updates(&mut edge, &changed(more.clone()))[0]["content"].clone();
    assert_eq!(content.as_array().unwrap().len(), 2, "leaving it out would take the terminal away");
    updates(&mut edge, &exited(ExitStatus::Code(0)));
    assert_eq!(updates(&mut edge, &changed(more))[0].get("content"), None, "never after the exit");
}

#[test]
fn a_held_call_is_flushed_before_anything_else() {
    let between = [
        Update::Usage { used: 1, size: 2 },
        Update::ReplayComplete,
        Update::TerminalOpened(TerminalOpened {
            terminal: TerminalId::new("other"),
            command: "x".into(),
            cwd: "/w".into(),
            size: None,
            can_cancel: true,
        }),
    ];
    for update in between {
        let mut edge = greeted(HELLO_ZED);
        updates(&mut edge, &running());
        let got = updates(&mut edge, &update);
        let call = &got[0];
        assert_eq!(call["sessionUpdate"], "tool_call");
        assert_eq!((call.get("content"), call.get("_meta")), (None, None), "{update:?}");
        // Too late for a terminal: its output is text.
        assert_eq!(dropped(&mut edge, &terminal()), Some(Dropped::NoSuchUpdate));
        assert_eq!(text(&updates(&mut edge, &output("hi"))[0]), "```\nhi\n```");
    }
}

#[test]
fn another_session_does_not_flush() {
    let mut edge = greeted(HELLO_ZED);
    updates(&mut edge, &running());
    let other = crate::core::ids::SessionId::new("other");
    assert_eq!(edge.update(&other, &Update::Usage { used: 1, size: 2 }).lines.len(), 1);
    assert_eq!(updates(&mut edge, &terminal())[0]["_meta"]["terminal_info"]["cwd"], "/w");
}

#[test]
fn a_command_that_waited_for_approval_shows_text() {
    let mut edge = greeted(HELLO_ZED);
    let got = updates(&mut edge, &opened(OpenStatus::Pending, Vec::new()));
    assert_eq!(got[0]["sessionUpdate"], "tool_call");
    let got = updates(&mut edge, &changed(vec![CallContent::Terminal(term())]));
    assert_eq!(
        got[0],
        json!({ "sessionUpdate": "tool_call_update", "toolCallId": "call_1", "status": "in_progress", "content": [] })
    );
    assert_eq!(dropped(&mut edge, &terminal()), Some(Dropped::NoSuchUpdate));
    assert_eq!(text(&updates(&mut edge, &output("a\r\n"))[0]), "```\na\n```");
    let got = updates(&mut edge, &output("b"));
    assert_eq!(text(&got[0]), "```\na\nb\n```", "text is replaced as a whole");
    assert_eq!(got[0].get("_meta"), None);
    assert_eq!(dropped(&mut edge, &exited(ExitStatus::Code(0))), Some(Dropped::NoSuchUpdate));
    let got = updates(&mut edge, &closed(FinalStatus::Completed, "a\r\nb\r\nc\r\n"));
    assert_eq!(text(&got[0]), "```\na\nb\nc\n```", "the end is whole");
    assert_eq!(got[0]["rawOutput"]["exit_code"], 0);
}

#[test]
fn a_client_without_terminals_reads_text() {
    let mut edge = greeted(HELLO_V1);
    let got = updates(&mut edge, &running());
    assert_eq!((got[0]["sessionUpdate"].as_str(), got[0].get("content")), (Some("tool_call"), None));
    assert_eq!(dropped(&mut edge, &terminal()), Some(Dropped::NoSuchUpdate));
    let got = updates(&mut edge, &snapshot("\u{1b}[31mred\u{1b}[0m\r\n"));
    assert_eq!(
        got,
        [json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "call_1",
            "content": [{ "type": "content", "content": { "type": "text", "text": "```\nred\n```" } }],
        })]
    );
    assert_eq!(text(&updates(&mut edge, &snapshot("10%\r50%\r100%\r\ndone"))[0]), "```\n100%\ndone\n```");
    assert_eq!(text(&updates(&mut edge, &snapshot("a ```` b"))[0]), "`````\na ```` b\n`````");
    let account = ExitAccount { by: EndedBy::Client, ..ExitAccount::default() };
    let exit = Exit { status: ExitStatus::Code(0), account };
    let got = updates(&mut edge, &Update::TerminalExited { terminal: term(), exit });
    assert_eq!(got[0]["_meta"], json!({ "dev.appserver-acp": { "by": "client" } }));
}

#[test]
fn text_says_how_a_command_ended() {
    let exit =
        |status, by, reason| Exit { status, account: ExitAccount { by, reason, ..Default::default() } };
    let cases = [
        (exit(ExitStatus::Code(0), EndedBy::Itself, None), "```\nhi\n```"),
        (exit(ExitStatus::Code(3), EndedBy::Itself, None), "```\nhi\n```\nexit code 3"),
        (
            exit(ExitStatus::Signal("SIGKILL"), EndedBy::Client, Some("why")),
            "```\nhi\n```\nended by SIGKILL (stopped by you)",
        ),
        (
            exit(ExitStatus::Signal("SIGKILL"), EndedBy::Cancel, None),
            "```\nhi\n```\nended by SIGKILL (stopped with its turn)",
        ),
        (
            exit(ExitStatus::Unknown, EndedBy::AppServerLost, Some("codex ended")),
            "```\nhi\n```\nended; how is not known (codex ended)",
        ),
        (
            exit(ExitStatus::Unknown, EndedBy::Close, Some("no word")),
            "```\nhi\n```\nended; how is not known (stopped with its session; no word)",
        ),
        (exit(ExitStatus::Unknown, EndedBy::Itself, None), "```\nhi\n```\nended; how is not known"),
    ];
    for (exit, expected) in cases {
        let mut edge = greeted(HELLO_V1);
        updates(&mut edge, &running());
        updates(&mut edge, &snapshot("hi"));
        edge.update(&session(), &Update::TerminalExited { terminal: term(), exit });
        let got = updates(&mut edge, &closed(FinalStatus::Failed, "hi"));
        assert_eq!(text(&got[0]), expected);
    }
}

#[test]
fn an_end_without_output_is_text_too() {
    let close =
        || Update::CallClosed { call: call(), status: FinalStatus::Failed, change: CallChange::default() };
    let mut edge = greeted(HELLO_V1);
    updates(&mut edge, &running());
    edge.update(&session(), &exited(ExitStatus::Unknown));
    assert_eq!(text(&updates(&mut edge, &close())[0]), "ended; how is not known");
    updates(&mut edge, &running());
    edge.update(&session(), &exited(ExitStatus::Code(0)));
    assert_eq!(updates(&mut edge, &close())[0].get("content"), None, "nothing is worth a line");
}

#[test]
fn text_is_bounded_and_says_so() {
    let mut edge = greeted(HELLO_V1);
    updates(&mut edge, &running());
    let long: String = (0..40_000).map(|it| format!("line é {it}\n")).collect();
    let got = updates(&mut edge, &snapshot(&long));
    let shown = text(&got[0]);
    assert!(shown.len() < 17 * 1024 && shown.starts_with("```\n[earlier output left out]\nline é "));
    assert!(shown.ends_with("line é 39999\n```"));
    let short = updates(&mut edge, &snapshot("short"));
    assert_eq!(text(&short[0]), "```\nshort\n```");
}

#[test]
fn what_belongs_to_no_open_call_is_dropped() {
    let mut edge = greeted(HELLO_ZED);
    let orphans = [
        output("x"),
        snapshot("x"),
        exited(ExitStatus::Unknown),
        changed(Vec::new()),
        closed(FinalStatus::Failed, ""),
    ];
    for update in &orphans {
        assert_eq!(dropped(&mut edge, update), Some(Dropped::UnknownCall), "{update:?}");
    }
    let mut edge = live();
    updates(&mut edge, &closed(FinalStatus::Completed, ""));
    assert_eq!(dropped(&mut edge, &output("late")), Some(Dropped::UnknownCall));
}
