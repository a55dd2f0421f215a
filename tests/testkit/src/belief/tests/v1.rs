use super::{Line, ask, feed, request, result, rules, update};
use crate::belief::{Belief, Version};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const NONE: [&str; 0] = [];

fn open(capabilities: Value) -> Belief {
    let mut belief = Belief::new(Version::V1);
    feed(
        &mut belief,
        [
            request(0, "initialize", json!({"protocolVersion": 1, "clientCapabilities": capabilities})),
            result(0, json!({})),
            request(1, "session/new", json!({"cwd": "/w"})),
            result(1, json!({"sessionId": "s"})),
            request(2, "session/prompt", json!({"sessionId": "s", "prompt": []})),
        ],
    );
    belief
}

fn streaming() -> Belief {
    open(json!({"_meta": {"terminal_output": true}}))
}

fn check(lines: impl IntoIterator<Item = Line>) -> Vec<&'static str> {
    let mut belief = streaming();
    feed(&mut belief, lines);
    rules(&belief)
}

fn rest(lines: impl IntoIterator<Item = Line>, live: &[&str]) -> Vec<&'static str> {
    let mut belief = streaming();
    feed(&mut belief, lines);
    belief.at_rest("s", &live.iter().map(|&id| id.to_owned()).collect::<BTreeSet<_>>());
    rules(&belief)
}

fn opened(id: &str) -> Line {
    update(
        json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": "t", "status": "in_progress", "content": [{"type": "terminal", "terminalId": id}], "_meta": {"terminal_info": {"terminal_id": id}}}),
    )
}

fn output(id: &str, data: &str) -> Line {
    update(
        json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "_meta": {"terminal_output": {"terminal_id": id, "data": data}}}),
    )
}

fn exit(id: &str, code: i64) -> Line {
    update(
        json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "_meta": {"terminal_exit": {"terminal_id": id, "exit_code": code, "signal": null}}}),
    )
}

fn call(id: &str, status: &str) -> Line {
    update(json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": "t", "status": status}))
}

fn status(id: &str, status: &str) -> Line {
    update(json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status}))
}

fn ended() -> Line {
    result(2, json!({"stopReason": "end_turn"}))
}

fn say(text: &str) -> Line {
    update(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}))
}

#[test]
fn a_life_beyond_the_turn_breaks_nothing() {
    let mut belief = streaming();
    feed(
        &mut belief,
        [opened("c"), output("c", "tick"), say("left it running"), ended(), output("c", " tock")],
    );
    belief.at_rest("s", &BTreeSet::from(["c".to_owned()]));
    assert_eq!(belief.output("s", "c").as_deref(), Some("tick tock"));
    feed(&mut belief, [exit("c", 0), status("c", "completed")]);
    belief.at_rest("s", &BTreeSet::new());
    assert_eq!(rules(&belief), NONE);
}

#[test]
fn clearing_the_screen_starts_the_text_afresh() {
    let mut belief = streaming();
    feed(&mut belief, [opened("c"), output("c", "old"), output("c", "\u{1b}[2J\u{1b}[3J\u{1b}[Hnew")]);
    assert_eq!(belief.output("s", "c").as_deref(), Some("new"));
}

#[test]
fn call_rules() {
    assert_eq!(check([call("c", "pending"), status("c", "in_progress"), status("c", "failed")]), NONE);
    assert_eq!(check([status("c", "in_progress")]), ["update-before-call"]);
    assert_eq!(check([call("c", "pending"), call("c", "pending")]), ["call-twice"]);
    assert_eq!(check([call("c", "in_progress"), status("c", "cancelled")]), ["unknown-status"]);
    assert_eq!(check([call("c", "in_progress"), status("c", "pending")]), ["back-to-pending"]);
    assert_eq!(check([call("c", "completed"), status("c", "completed")]), ["update-after-final"]);
}

#[test]
fn terminal_rules() {
    assert_eq!(check([opened("c"), exit("c", 0), status("c", "completed")]), NONE);
    assert_eq!(check([opened("c"), status("c", "completed")]), ["final-without-exit"]);
    assert_eq!(check([opened("c"), exit("c", 0), exit("c", 0)]), ["second-exit"]);
    assert_eq!(check([opened("c"), exit("c", 0), output("c", "x")]), ["output-after-exit"]);
    assert_eq!(check([opened("c"), exit("c", -1)]), ["negative-exit-code"]);
    assert_eq!(check([call("c", "in_progress"), output("c", "x")]), ["unknown-terminal"]);
    let late = json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "_meta": {"terminal_info": {"terminal_id": "c"}}});
    assert_eq!(check([call("c", "in_progress"), update(late)]), ["late-terminal-info"]);
    let shown = || {
        update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "content": [{"type": "terminal", "terminalId": "c"}]}),
        )
    };
    assert_eq!(check([call("c", "in_progress"), shown()]), ["unknown-terminal"]);
    assert_eq!(check([opened("c"), exit("c", 0), shown()]), ["unknown-terminal"]);
}

#[test]
fn nothing_of_the_turn_follows_its_answer() {
    let plan = || update(json!({"sessionUpdate": "plan", "entries": []}));
    assert_eq!(check([opened("c"), ended(), output("c", "x"), plan()]), NONE);
    assert_eq!(check([ended(), opened("c")]), ["after-answer"]);
    let thought = update(json!({"sessionUpdate": "agent_thought_chunk", "content": {}}));
    assert_eq!(check([ended(), thought]), ["after-answer"]);
}

#[test]
fn a_turn_of_its_own_opens_with_a_line() {
    assert_eq!(check([ended(), say("Goal continues"), call("c", "in_progress")]), NONE);
}

#[test]
fn a_resume_shows_what_runs_before_its_answer() {
    let resume = || request(5, "session/resume", json!({"sessionId": "s", "cwd": "/w"}));
    assert_eq!(check([ended(), resume(), opened("c"), result(5, json!({}))]), NONE);
    assert_eq!(check([ended(), resume(), result(5, json!({})), opened("c")]), ["after-answer"]);
}

#[test]
fn kinds_need_their_capability() {
    let notice = || update(json!({"sessionUpdate": "notice", "severity": "info", "title": "t"}));
    let mut belief = open(json!({"session": {"notices": {}}}));
    feed(&mut belief, [notice()]);
    assert_eq!(rules(&belief), NONE);
    assert_eq!(check([notice()]), ["ungated"]);
    assert_eq!(
        check([update(json!({"sessionUpdate": "state_update", "state": "idle"}))]),
        ["unknown-update"]
    );
    let mut belief = open(json!({}));
    feed(&mut belief, [opened("c")]);
    assert_eq!(rules(&belief), ["ungated"]);
}

#[test]
fn asks_name_known_calls() {
    let about = |id: &str| json!({"sessionId": "s", "toolCall": {"toolCallId": id}, "options": []});
    assert_eq!(check([call("c", "pending"), ask(9, about("c"))]), NONE);
    assert_eq!(check([ask(9, about("c"))]), ["ask-about-unknown"]);
    assert_eq!(check([call("c", "completed"), ask(9, about("c"))]), ["update-after-final"]);
    let new = || json!({"sessionId": "s", "toolCall": {"toolCallId": "c", "title": "Which?", "status": "pending"}, "options": []});
    assert_eq!(rest([ask(9, new()), status("c", "completed"), ended()], &[]), NONE);
    assert_eq!(rest([ask(9, new()), ended()], &[]), ["rest-ghost"]);
}

#[test]
fn rest_rules() {
    assert_eq!(rest([opened("c"), ended()], &["c"]), NONE);
    assert_eq!(rest([opened("c"), ended()], &[]), ["rest-ghost"]);
    assert_eq!(rest([ended()], &["c"]), ["rest-missing"]);
    assert_eq!(rest([call("c", "completed"), ended()], &["c"]), ["rest-missing"]);
    assert_eq!(rest([], &[]), ["unanswered"]);
}

#[test]
fn a_client_without_terminals_reads_text() {
    let mut belief = open(json!({}));
    let text = |text: &str| {
        let content = json!([{"type": "content", "content": {"type": "text", "text": text}}]);
        update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "content": content}))
    };
    feed(&mut belief, [call("c", "in_progress"), text("out")]);
    assert_eq!(belief.output("s", "c").as_deref(), Some("out"));
    feed(&mut belief, [text("````\na ``` b\n````")]);
    assert_eq!(belief.output("s", "c").as_deref(), Some("a ``` b"));
    feed(&mut belief, [text("```\none\n\n```\n\nexit code 3")]);
    assert_eq!(belief.output("s", "c").as_deref(), Some("one\n"), "how it ended is below the block");
    feed(&mut belief, [text("```\n```\n\nexit code 3")]);
    assert_eq!(belief.output("s", "c").as_deref(), Some(""));
    assert_eq!(rules(&belief), NONE);
}

#[test]
fn vitals_rules() {
    let told = || json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "_meta": {"dev.appserver-acp": {"pid": 7}}});
    let vitals = || update(told());
    assert_eq!(check([opened("c"), vitals(), exit("c", 0), status("c", "completed")]), NONE);
    assert_eq!(check([opened("c"), exit("c", 0), vitals()]), ["vitals-after-exit"]);
    assert_eq!(check([call("c", "in_progress"), vitals()]), ["unknown-terminal"]);
}
