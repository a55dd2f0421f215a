use super::{Line, answer, ask, error, feed, request, result, rules, update};
use crate::belief::{Belief, Version};
use base64::Engine as _;
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn open() -> Belief {
    let mut belief = Belief::new(Version::V2);
    feed(
        &mut belief,
        [request(1, "session/new", json!({"cwd": "/w"})), result(1, json!({"sessionId": "s"}))],
    );
    belief
}

fn check(lines: impl IntoIterator<Item = Line>) -> Vec<&'static str> {
    let mut belief = open();
    feed(&mut belief, lines);
    rules(&belief)
}

fn rest(lines: impl IntoIterator<Item = Line>, live: &[&str]) -> Vec<&'static str> {
    let mut belief = open();
    feed(&mut belief, lines);
    belief.at_rest("s", &live.iter().map(|&id| id.to_owned()).collect::<BTreeSet<_>>());
    rules(&belief)
}

fn running() -> Line {
    update(json!({"sessionUpdate": "state_update", "state": "running", "background": []}))
}

fn state(state: &str, terminals: &[&str]) -> Line {
    update(json!({"sessionUpdate": "state_update", "state": state, "background": list(terminals)}))
}

fn end(terminals: &[&str]) -> Line {
    update(
        json!({"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn", "background": list(terminals)}),
    )
}

fn list(terminals: &[&str]) -> Value {
    terminals.iter().map(|id| json!({"type": "terminal", "terminalId": id})).collect()
}

fn terminal(id: &str) -> Line {
    update(
        json!({"sessionUpdate": "terminal_update", "terminalId": id, "command": "c", "cwd": "/w", "capabilities": {"cancel": {}}}),
    )
}

fn chunk(id: &str, text: &str) -> Line {
    let data = base64::engine::general_purpose::STANDARD.encode(text);
    update(json!({"sessionUpdate": "terminal_output_chunk", "terminalId": id, "data": data}))
}

fn exit(id: &str) -> Line {
    update(
        json!({"sessionUpdate": "terminal_update", "terminalId": id, "exitStatus": {"exitCode": 0}, "capabilities": null}),
    )
}

fn call(id: &str, status: &str) -> Line {
    update(json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "title": "t", "status": status}))
}

fn call_with_terminal(id: &str) -> Line {
    update(
        json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "in_progress", "content": [{"type": "terminal", "terminalId": id}]}),
    )
}

fn prompt(id: i64, text: &str) -> Line {
    request(id, "session/prompt", json!({"sessionId": "s", "prompt": [{"type": "text", "text": text}]}))
}

fn user(id: &str, text: &str) -> Line {
    update(
        json!({"sessionUpdate": "user_message", "messageId": id, "content": [{"type": "text", "text": text}]}),
    )
}

fn permission(id: i64, subject: Value) -> Line {
    ask(id, json!({"sessionId": "s", "title": "?", "subject": subject, "options": []}))
}

const NONE: [&str; 0] = [];

#[test]
fn a_life_in_the_background_breaks_nothing() {
    let lines = [
        prompt(2, "hi"),
        user("m", "hi"),
        result(2, json!({"messageId": "m"})),
        running(),
        call_with_terminal("c"),
        terminal("c"),
        chunk("c", "tick"),
        end(&["c"]),
        chunk("c", " tock"),
    ];
    let mut belief = open();
    feed(&mut belief, lines);
    belief.at_rest("s", &BTreeSet::from(["c".to_owned()]));
    assert_eq!(rules(&belief), NONE);
    assert_eq!(belief.output("s", "c").as_deref(), Some("tick tock"));
    assert_eq!(belief.listed("s"), ["terminal:c"]);
    feed(&mut belief, [exit("c"), call("c", "completed"), state("idle", &[])]);
    belief.at_rest("s", &BTreeSet::new());
    assert_eq!(rules(&belief), NONE);
}

#[test]
fn an_output_snapshot_replaces_and_chunks_are_decoded_alone() {
    let mut belief = open();
    feed(&mut belief, [terminal("t"), chunk("t", "a"), chunk("t", "b")]);
    assert_eq!(belief.output("s", "t").as_deref(), Some("ab"));
    let snapshot = json!({"sessionUpdate": "terminal_update", "terminalId": "t", "output": {"data": "eHl6"}});
    feed(&mut belief, [update(snapshot), chunk("t", "!")]);
    assert_eq!(belief.output("s", "t").as_deref(), Some("xyz!"));
}

#[test]
fn list_rules() {
    assert_eq!(check([running(), terminal("t"), end(&["t"]), exit("t"), state("idle", &[])]), NONE);
    assert_eq!(check([running(), end(&["t"])]), ["listed-unannounced"]);
    assert_eq!(check([running(), terminal("t"), exit("t"), end(&["t"])]), ["listed-ended"]);
    assert_eq!(check([running(), terminal("t"), end(&["t", "t"])]), ["listed-twice"]);
    assert_eq!(
        check([running(), terminal("t"), state("running", &["t"]), state("running", &[])]),
        ["removed-alive"]
    );
    assert_eq!(check([running(), terminal("t"), end(&[])]), ["idle-hides-work"]);
    let both = json!([{"type": "terminal", "terminalId": "c"}, {"type": "tool_call", "toolCallId": "c"}]);
    let both = update(json!({"sessionUpdate": "state_update", "state": "running", "background": both}));
    assert_eq!(check([call_with_terminal("c"), terminal("c"), both]), ["listed-with-its-terminal"]);
    let nameless =
        json!({"sessionUpdate": "state_update", "state": "running", "background": [{"type": "terminal"}]});
    assert_eq!(check([update(nameless)]), ["list-malformed"]);
    let child = json!([{"type": "subagent", "sessionId": "k"}]);
    let listed = || update(json!({"sessionUpdate": "state_update", "state": "running", "background": child}));
    let announced =
        |state: Value| update(json!({"sessionUpdate": "subagent_update", "sessionId": "k", "state": state}));
    // Its own session never said so; listed as one that works it may be.
    let works = json!({"state": "running", "background": []});
    assert_eq!(check([announced(works), listed()]), ["mirror-differs"]);
    assert_eq!(check([announced(json!({"state": "idle", "background": []})), listed()]), ["listed-ended"]);
    assert_eq!(check([listed()]), ["unannounced-session", "listed-unannounced"]);
}

#[test]
fn state_rules() {
    assert_eq!(check([running(), end(&[]), running(), end(&[])]), NONE);
    assert_eq!(
        check([update(json!({"sessionUpdate": "state_update", "state": "running"}))]),
        ["background-missing"]
    );
    assert_eq!(check([running(), running()]), ["snapshot-repeated"]);
    assert_eq!(check([running(), end(&[]), state("idle", &[])]), ["snapshot-repeated"]);
    assert_eq!(check([running(), end(&[]), end(&[])]), ["stop-without-run"]);
    assert_eq!(check([running(), state("idle", &[])]), ["idle-without-stop"]);
    assert_eq!(check([state("compacting", &[])]), ["unknown-state"]);
    assert_eq!(check([update(json!({"sessionUpdate": "brand_new"}))]), ["unknown-update"]);
}

#[test]
fn requires_action_needs_an_open_request() {
    let lines = || [running(), permission(9, json!(null)), state("requires_action", &[])];
    assert_eq!(check(lines()), NONE);
    assert_eq!(check([running(), state("requires_action", &[])]), ["requires-action-unasked"]);
    assert_eq!(rest(lines(), &[]), NONE);
    assert_eq!(rest(lines().into_iter().chain([answer(9)]), &[]), ["requires-action-unasked"]);
}

#[test]
fn call_rules() {
    assert_eq!(check([call("c", "pending"), call("c", "in_progress"), call("c", "completed")]), NONE);
    assert_eq!(check([call("c", "in_progress"), call("c", "pending")]), ["back-to-pending"]);
    assert_eq!(check([call("c", "completed"), call("c", "in_progress")]), ["update-after-final"]);
    let chunk = json!({"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": {}});
    assert_eq!(check([call("c", "completed"), update(chunk)]), ["update-after-final"]);
    assert_eq!(check([call("c", "weird")]), ["unknown-status"]);
    let emptied = json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "content": []});
    assert_eq!(check([call_with_terminal("c"), update(emptied)]), ["terminal-left-content"]);
}

#[test]
fn terminal_rules() {
    assert_eq!(check([terminal("t"), chunk("t", "a"), exit("t")]), NONE);
    assert_eq!(check([chunk("t", "a")]), ["chunk-before-terminal"]);
    assert_eq!(check([terminal("t"), exit("t"), chunk("t", "a")]), ["output-after-exit"]);
    let snapshot = json!({"sessionUpdate": "terminal_update", "terminalId": "t", "output": {"data": "eHl6"}});
    assert_eq!(check([terminal("t"), exit("t"), update(snapshot)]), ["output-after-exit"]);
    assert_eq!(check([terminal("t"), exit("t"), exit("t")]), ["second-exit"]);
    let careless = json!({"sessionUpdate": "terminal_update", "terminalId": "t", "exitStatus": {}});
    assert_eq!(check([terminal("t"), update(careless)]), ["capabilities-after-exit"]);
    let revived =
        json!({"sessionUpdate": "terminal_update", "terminalId": "t", "capabilities": {"cancel": {}}});
    assert_eq!(check([terminal("t"), exit("t"), update(revived)]), ["capabilities-after-exit"]);
    let unpadded = json!({"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": "YQ"});
    assert_eq!(check([terminal("t"), update(unpadded)]), ["base64"]);
    let relative = json!({"sessionUpdate": "terminal_update", "terminalId": "t", "cwd": "w"});
    assert_eq!(check([update(relative)]), ["cwd-not-absolute"]);
}

#[test]
fn prompt_rules() {
    let inserted = |id: &str| result(2, json!({"messageId": id}));
    assert_eq!(rest([prompt(2, "hi"), user("m", "hi"), inserted("m")], &[]), NONE);
    assert_eq!(rest([prompt(2, "hi"), inserted("m")], &[]), ["prompt-not-shown"]);
    assert_eq!(rest([prompt(2, "hi"), user("m", "hi")], &[]), ["unanswered"]);
    assert_eq!(
        check([prompt(2, "hi"), user("m", "hi"), inserted("m"), user("m", "hi")]),
        ["user-message-twice"]
    );
    assert_eq!(check([prompt(2, "hi"), user("m", "hi"), error(2, -32603)]), ["refused-prompt-shown"]);
    assert_eq!(check([prompt(2, "hi"), error(2, -32800)]), NONE);
    assert_eq!(check([prompt(2, "hi"), error(2, -32800), user("m", "hi")]), ["refused-prompt-shown"]);
    assert_eq!(check([prompt(2, "hi"), inserted("m"), inserted("m")]), ["answer-to-nothing"]);
    let twice = [prompt(2, "a"), inserted("m"), prompt(3, "b"), result(3, json!({"messageId": "m"}))];
    assert_eq!(check(twice), ["message-id-shared"]);
    let as_text = Line::Got(json!({"jsonrpc": "2.0", "id": "2", "result": {"messageId": "m"}}));
    assert_eq!(check([prompt(2, "hi"), as_text]), ["answer-to-nothing"]);
}

#[test]
fn a_shared_idempotency_key_shares_the_message() {
    let keyed = |id: i64| {
        request(
            id,
            "session/prompt",
            json!({"sessionId": "s", "idempotencyKey": "k", "prompt": [{"type": "text", "text": "hi"}]}),
        )
    };
    let lines = [
        keyed(2),
        keyed(3),
        user("m", "hi"),
        result(2, json!({"messageId": "m"})),
        result(3, json!({"messageId": "m"})),
    ];
    assert_eq!(rest(lines, &[]), NONE);
}

#[test]
fn ask_rules() {
    let about = |id: &str| json!({"type": "command", "command": "c", "cwd": "/w", "toolCallId": id});
    assert_eq!(check([running(), call("c", "pending"), permission(9, about("c"))]), NONE);
    assert_eq!(check([running(), permission(9, about("c"))]), ["ask-about-unknown"]);
    assert_eq!(check([call("c", "pending"), permission(9, about("c"))]), ["ask-about-unlisted"]);
    let listed = [
        running(),
        call("c", "pending"),
        update(
            json!({"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn", "background": [{"type": "tool_call", "toolCallId": "c"}]}),
        ),
        permission(9, about("c")),
    ];
    assert_eq!(check(listed), NONE);
    assert_eq!(
        check([running(), permission(9, json!(null)), permission(9, json!(null))]),
        ["request-id-reused"]
    );
}

#[test]
fn session_rules() {
    let close = || request(5, "session/close", json!({"sessionId": "s"}));
    let closed = || result(5, json!({}));
    assert_eq!(check([running(), close(), end(&[]), closed()]), NONE);
    assert_eq!(check([running(), close(), closed()]), ["close-while-running"]);
    assert_eq!(check([close(), closed(), call("c", "pending")]), ["after-close"]);
    assert_eq!(rest([close(), closed()], &["t"]), ["rest-missing"]);
    let mut belief = Belief::new(Version::V2);
    feed(&mut belief, [running()]);
    assert_eq!(rules(&belief), ["unknown-session"]);
}

#[test]
fn resume_rules() {
    let resume = |replay: Value| {
        request(5, "session/resume", json!({"sessionId": "s", "cwd": "/w", "replayFrom": replay}))
    };
    let resumed = || result(5, json!({}));
    let complete = || update(json!({"sessionUpdate": "replay_complete"}));
    let start = || json!({"type": "start"});
    assert_eq!(
        check([
            resume(start()),
            user("m", "hi"),
            complete(),
            terminal("t"),
            state("idle", &["t"]),
            resumed()
        ]),
        NONE
    );
    assert_eq!(check([resume(Value::Null), terminal("t"), state("idle", &["t"]), resumed()]), NONE);
    assert_eq!(check([resume(Value::Null), state("idle", &["t"]), resumed()]), ["listed-unannounced"]);
    assert_eq!(check([resume(Value::Null), resumed()]), ["resume-snapshot"]);
    assert_eq!(
        check([resume(start()), complete(), complete(), state("idle", &[]), resumed()]),
        ["replay-complete"]
    );
    assert_eq!(check([resume(Value::Null), complete(), state("idle", &[]), resumed()]), ["replay-complete"]);
    assert_eq!(check([resume(start()), state("idle", &[]), complete(), resumed()]), ["state-during-replay"]);
}

#[test]
fn rest_rules() {
    let background = || [running(), terminal("t"), end(&["t"])];
    assert_eq!(rest(background(), &["t"]), NONE);
    assert_eq!(rest(background(), &[]), ["rest-ghost"]);
    assert_eq!(rest(background(), &["t", "u"]), ["rest-missing"]);
    assert_eq!(rest([running(), terminal("t"), exit("t"), end(&[])], &["t"]), ["rest-missing"]);
    let uncancellable =
        || update(json!({"sessionUpdate": "terminal_update", "terminalId": "t", "command": "c"}));
    assert_eq!(rest([running(), uncancellable(), end(&[])], &["t"]), ["rest-missing"]);
    assert_eq!(rest([running(), terminal("t")], &["t"]), NONE);
    assert_eq!(rest([call("c", "in_progress")], &[]), ["rest-ghost"]);
    assert_eq!(rest([running(), call_with_terminal("c")], &[]), ["unknown-terminal"]);
}

#[test]
fn vitals_rules() {
    let told = || json!({"sessionUpdate": "terminal_update", "terminalId": "t", "_meta": {"dev.appserver-acp": {"pid": 7}}});
    let vitals = || update(told());
    let ended = json!({"sessionUpdate": "terminal_update", "terminalId": "t", "exitStatus": {"exitCode": 0}, "capabilities": null, "_meta": {"dev.appserver-acp": {"by": "itself"}}});
    assert_eq!(check([terminal("t"), vitals(), vitals(), update(ended)]), [""; 0]);
    assert_eq!(check([vitals()]), ["vitals-before-terminal"]);
    assert_eq!(check([terminal("t"), exit("t"), vitals()]), ["vitals-after-exit"]);
    assert_eq!(check([terminal("t"), vitals(), exit("t")]), ["vitals-after-exit"]);
}
