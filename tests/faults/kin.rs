//! Sessions that come back with their subagents, cancelled or asked for again at every stage, with histories in
//! several pages and a client that does not keep up.

use crate::rig::{Rig, SESSION, active, command, idle, listed, thread};
use appserver_acp::core::input::Pressure;
use serde_json::{Value, json};

const CHILD: &str = "C";

/// How far a resume is.
const STAGES: [&str; 7] =
    ["thread", "descendants", "history", "joining", "child's history", "child's terminals", "terminals"];

fn entry(status: &str) -> Value {
    let spawn =
        json!({"parent_thread_id": "T", "depth": 1, "agent_path": "/root/scout", "agent_nickname": "Ada"});
    json!({"id": CHILD, "cwd": "/w", "status": {"type": status}, "source": {"subAgent": {"thread_spawn": spawn}}})
}

fn descendants(status: &str) -> Value {
    json!({"data": [entry(status)], "nextCursor": null})
}

fn names(turn: &str) -> Value {
    let turn = json!({"id": turn, "items": [], "itemsView": "notLoaded", "status": "completed"});
    json!({"data": [turn], "nextCursor": null})
}

fn page(turn: &str, id: &str) -> Value {
    let item = json!({"type": "agentMessage", "id": id, "text": format!("said in {id}")});
    json!({"data": [{"turnId": turn, "item": item}], "nextCursor": null})
}

fn comes_back(rig: &mut Rig, version: u32, id: &str) {
    let method = if version == 1 { "session/load" } else { "session/resume" };
    let params =
        json!({"sessionId": SESSION, "cwd": "/w", "mcpServers": [], "replayFrom": {"type": "start"}});
    rig.request(id, method, params);
}

/// Answers the oldest call of a method that is about a thread.
fn answer(rig: &mut Rig, method: &str, thread: &str, result: &Value) -> bool {
    let is_it = |it: &&Value| it["method"] == method && it["params"]["threadId"] == thread;
    let Some(id) = rig.calls().iter().find(is_it).map(|it| it["id"].clone()) else { return false };
    rig.take(&id);
    rig.codex(json!({"id": id, "result": result}));
    true
}

/// Brings a resume of a session, idle or in a turn, to a stage.
fn reach(rig: &mut Rig, stage: &str, root: &Value, child: &str) {
    reach_from(rig, STAGES[0], stage, root, child);
}

/// As `reach`, of one that is at a stage already.
fn reach_from(rig: &mut Rig, former: &str, stage: &str, root: &Value, child: &str) {
    let from = STAGES.iter().position(|it| *it == former).expect("a stage");
    let n = STAGES.iter().position(|it| *it == stage).expect("a stage");
    let lived = json!({"data": [listed("dev", "7")], "nextCursor": null});
    let steps: [&dyn Fn(&mut Rig); 6] = [
        &|rig| _ = answer(rig, "thread/resume", SESSION, root),
        &|rig| rig.ok("thread/list", descendants(child)),
        &|rig| {
            answer(rig, "thread/turns/list", SESSION, &names("Z"));
            answer(rig, "thread/items/list", SESSION, &page("Z", "of-root"));
        },
        &|rig| _ = answer(rig, "thread/resume", CHILD, &thread(CHILD, child)),
        &|rig| {
            answer(rig, "thread/turns/list", CHILD, &names("CZ"));
            answer(rig, "thread/items/list", CHILD, &page("CZ", "of-child"));
        },
        &|rig| _ = answer(rig, "thread/backgroundTerminals/list", CHILD, &lived),
    ];
    for step in steps.iter().take(n).skip(from) {
        step(rig);
    }
}

/// Everything that is still asked is answered, oldest first.
fn late(rig: &mut Rig, root: &Value, child: &str) {
    for _ in 0..20 {
        while answer(rig, "thread/resume", SESSION, root)
            || answer(rig, "thread/resume", CHILD, &thread(CHILD, child))
            || answer(rig, "thread/turns/list", SESSION, &names("Z"))
            || answer(rig, "thread/items/list", SESSION, &page("Z", "of-root"))
            || answer(rig, "thread/turns/list", CHILD, &names("CZ"))
            || answer(rig, "thread/items/list", CHILD, &page("CZ", "of-child"))
        {}
        while rig.is_called("thread/list") {
            rig.ok("thread/list", descendants(child));
        }
        let lived = json!({"data": [listed("dev", "7")], "nextCursor": null});
        while answer(rig, "thread/backgroundTerminals/list", CHILD, &lived) {}
        while answer(
            rig,
            "thread/backgroundTerminals/list",
            SESSION,
            &json!({"data": [], "nextCursor": null}),
        ) {}
    }
    rig.hang(10);
}

fn is_cancelled(rig: &Rig, id: &str, stage: &str) {
    let answer = rig.answer(id).unwrap_or_default();
    rig.want(answer["error"]["code"] == -32800, &format!("{stage}: {id} is not cancelled: {answer}"));
}

fn count(told: &[Value], fits: impl Fn(&Value) -> bool) -> usize {
    told.iter().filter(|it| fits(it)).count()
}

fn is_of(it: &Value, session: &str, kind: &str) -> bool {
    it["params"]["sessionId"] == session && it["params"]["update"]["sessionUpdate"] == kind
}

/// What one whole resume tells: each history and each state once, in order.
fn told_once(rig: &Rig, from: usize, version: u32, stage: &str) {
    let told = &rig.told[from..];
    for item in ["of-root", "of-child"] {
        let text = format!("said in {item}");
        let n = count(told, |it| it["params"]["update"]["content"]["text"] == *text);
        rig.want(n == 1, &format!("{stage}: {item} is told {n} times"));
    }
    let is_naming =
        |it: &Value| is_of(it, SESSION, "subagent_update") && it["params"]["update"]["state"].is_null();
    let n = count(told, is_naming);
    rig.want(n == 1, &format!("{stage}: the subagent is named {n} times"));
    if version == 2 {
        for session in [SESSION, CHILD] {
            let n = count(told, |it| is_of(it, session, "replay_complete"));
            rig.want(n == 1, &format!("{stage}: {n} ends of the replay of {session}"));
            let n = count(told, |it| is_of(it, session, "state_update"));
            rig.want(n == 1, &format!("{stage}: {n} states of {session}"));
        }
    }
}

/// The text of a message of the subagent that a client holds whose resume was refused: what it was told anew, from the
/// naming of the subagent to the answer, it forgets.
fn kept(rig: &Rig, message: &str) -> String {
    let asked = rig.place(|it| it["id"] == "res").expect("it is answered");
    let named = rig.told[..asked]
        .iter()
        .rposition(|it| is_of(it, SESSION, "subagent_update") && it["params"]["update"]["state"].is_null());
    let is_kept = |at: usize| at > asked || named.is_none_or(|named| at < named);
    let updates =
        rig.told.iter().enumerate().filter(|(at, _)| is_kept(*at)).map(|(_, it)| &it["params"]["update"]);
    let chunks = updates.filter(|it| it["messageId"] == message);
    chunks.filter_map(|it| it["content"]["text"].as_str()).collect()
}

fn native(version: u32) -> Rig {
    let mut rig = Rig::greeted_with(version, &json!({"subagents": {}}));
    rig.booted();
    rig.descendants = true;
    rig
}

/// An open session in a turn, whose subagent works at a command.
fn open(version: u32) -> Rig {
    let mut rig = Rig::running_with(version, &json!({"subagents": {}}));
    rig.descendants = true;
    let turn = json!({"id": "CA", "rootTurnId": "A", "status": "inProgress"});
    rig.notify("turn/started", json!({"threadId": CHILD, "turn": turn}));
    rig.ok("thread/read", json!({"thread": entry("active")}));
    rig.notify(
        "item/started",
        json!({"threadId": CHILD, "turnId": "CA", "item": command("dev", Some("7"), "inProgress")}),
    );
    rig
}

#[test]
fn a_resume_that_is_cancelled_opens_neither_the_session_nor_its_subagents() {
    for (version, stage) in [1, 2].into_iter().flat_map(|version| STAGES.map(|stage| (version, stage))) {
        let mut rig = native(version);
        comes_back(&mut rig, version, "res");
        reach(&mut rig, stage, &idle(), "active");
        rig.cancel_request("res");
        is_cancelled(&rig, "res", stage);
        let from = rig.told.len();
        late(&mut rig, &idle(), "active");
        let n = count(&rig.told[from..], |it| it["params"]["sessionId"].is_string());
        rig.want(n == 0, &format!("{stage}: {n} updates after the cancel"));
        let joined = rig.n_called_about("thread/resume", CHILD);
        let left = rig.n_called_about("thread/unsubscribe", CHILD);
        rig.want(joined == left, &format!("{stage}: joined {joined} times and left {left} times"));
        rig.want(
            rig.n_called_about("thread/unsubscribe", SESSION) == 1,
            &format!("{stage}: the thread stays"),
        );
        let from = rig.told.len();
        comes_back(&mut rig, version, "again");
        late(&mut rig, &idle(), "active");
        rig.want(
            rig.answer("again").is_some_and(|it| it["result"].is_object()),
            &format!("{stage}: not opened"),
        );
        told_once(&rig, from, version, stage);
    }
}

#[test]
fn one_that_is_asked_for_again_at_once_is_told_once() {
    for (version, stage) in [1, 2].into_iter().flat_map(|version| STAGES.map(|stage| (version, stage))) {
        let mut rig = native(version);
        comes_back(&mut rig, version, "res");
        reach(&mut rig, stage, &idle(), "active");
        rig.cancel_request("res");
        let from = rig.told.len();
        comes_back(&mut rig, version, "again");
        late(&mut rig, &idle(), "active");
        rig.want(
            rig.answer("again").is_some_and(|it| it["result"].is_object()),
            &format!("{stage}: not opened"),
        );
        told_once(&rig, from, version, stage);
        rig.want(rig.unanswered().is_empty(), "a request stays open");
    }
}

#[test]
fn an_open_session_and_its_subagents_go_on_when_a_resume_is_cancelled() {
    let each =
        STAGES.iter().enumerate().flat_map(|(n, stage)| STAGES[..=n].iter().map(move |said| (*stage, *said)));
    for (version, (stage, said)) in
        [1, 2].into_iter().flat_map(|version| each.clone().map(move |it| (version, it)))
    {
        let mut rig = open(version);
        comes_back(&mut rig, version, "res");
        let text = |rig: &mut Rig, delta: &str| {
            let params = json!({"threadId": CHILD, "turnId": "CA", "itemId": "m", "delta": delta});
            rig.notify("item/agentMessage/delta", params);
        };
        let item = json!({"type": "agentMessage", "id": "m", "text": ""});
        rig.notify("item/started", json!({"threadId": CHILD, "turnId": "CA", "item": item}));
        text(&mut rig, "one");
        reach(&mut rig, said, &active(), "active");
        text(&mut rig, " two");
        reach_from(&mut rig, said, stage, &active(), "active");
        rig.cancel_request("res");
        is_cancelled(&rig, "res", stage);
        text(&mut rig, " three");
        late(&mut rig, &active(), "active");
        let ended = json!({"type": "agentMessage", "id": "m", "text": "one two three"});
        rig.notify("item/completed", json!({"threadId": CHILD, "turnId": "CA", "item": ended}));
        rig.notify("turn/completed", json!({"threadId": CHILD, "turn": {"id": "CA", "status": "completed"}}));
        rig.done("A", "completed");
        rig.pass(1_000, &json!([listed("dev", "7")]));
        let text = kept(&rig, "m");
        rig.want(text == "one two three", &format!("{stage}, {said}: the client holds {text:?}"));
        rig.want(
            rig.answer("p1").is_some_and(|it| it["result"].is_object()),
            &format!("{stage}, {said}: no answer"),
        );
        rig.want(
            rig.n_called_about("thread/unsubscribe", CHILD) == 0,
            &format!("{stage}, {said}: it is let go"),
        );
        if version == 2 {
            let state =
                rig.told.iter().rfind(|it| is_of(it, CHILD, "state_update")).cloned().unwrap_or_default();
            let listed = state["params"]["update"]["background"].to_string().contains("dev");
            rig.want(listed, &format!("{stage}, {said}: what it left is not listed: {state}"));
            rig.want(
                rig.state_of(SESSION)["background"].to_string().contains(CHILD),
                &format!("{stage}, {said}: unlisted"),
            );
        }
    }
}

/// The resume is refused first: what its subagents would owe for it is told to nobody.
#[test]
fn a_close_or_the_end_of_the_client_ends_a_resume_before_anything_else() {
    for (version, stage) in [1, 2].into_iter().flat_map(|version| STAGES.map(|stage| (version, stage))) {
        for is_open in [true, false] {
            let begin = || if is_open { open(version) } else { native(version) };
            let state = if is_open { active() } else { idle() };
            let mut rig = begin();
            comes_back(&mut rig, version, "res");
            reach(&mut rig, stage, &state, "active");
            rig.close();
            is_cancelled(&rig, "res", stage);
            late(&mut rig, &state, "active");
            rig.pass(20_000, &json!([]));
            rig.want(
                rig.answer("close").is_some_and(|it| it["result"].is_object()),
                &format!("{stage}: not closed"),
            );

            let mut rig = begin();
            comes_back(&mut rig, version, "res");
            reach(&mut rig, stage, &state, "active");
            rig.hangs_up();
            rig.want(
                rig.answer("res").is_some_and(|it| it["error"].is_object()),
                &format!("{stage}: goes on"),
            );
        }
    }
}

#[test]
fn a_client_that_does_not_keep_up_stops_the_reading_of_every_history() {
    for version in [1, 2] {
        let mut rig = native(version);
        comes_back(&mut rig, version, "res");
        reach(&mut rig, "child's history", &idle(), "active");
        answer(&mut rig, "thread/turns/list", CHILD, &names("CZ"));
        rig.press(Pressure::High);
        let more = |id: &str, next: Value| {
            let mut page = page("CZ", id);
            page["nextCursor"] = next;
            page
        };
        answer(&mut rig, "thread/items/list", CHILD, &more("c0", json!("1")));
        let n = rig.n_called_about("thread/items/list", CHILD);
        rig.hang(10_000);
        rig.want(rig.n_called_about("thread/items/list", CHILD) == n, "it is read on");
        rig.press(Pressure::Low);
        rig.want(rig.n_called_about("thread/items/list", CHILD) == n + 1, "it is not read on");
        answer(&mut rig, "thread/items/list", CHILD, &more("of-child", Value::Null));
        late(&mut rig, &idle(), "active");
        rig.want(rig.answer("res").is_some_and(|it| it["result"].is_object()), "not opened");
    }
}

/// Of two subagents one is being joined when the app-server dies: neither it nor the other is asked for any more.
#[test]
fn a_death_ends_a_resume_with_all_its_subagents() {
    for (version, is_open) in [(1, true), (1, false), (2, true), (2, false)] {
        let mut rig = if is_open { open(version) } else { native(version) };
        comes_back(&mut rig, version, "res");
        let state = if is_open { active() } else { idle() };
        answer(&mut rig, "thread/resume", SESSION, &state);
        let mut two = descendants("active");
        let mut other = entry("active");
        other["id"] = json!("D");
        two["data"].as_array_mut().expect("a page").push(other);
        rig.ok("thread/list", two);
        answer(&mut rig, "thread/turns/list", SESSION, &names("Z"));
        answer(&mut rig, "thread/items/list", SESSION, &page("Z", "of-root"));
        rig.want(rig.n_called_about("thread/resume", CHILD) == 1, "not being joined");
        let from = rig.told.len();
        rig.dies();
        rig.want(rig.answer("res").is_some_and(|it| it["error"].is_object()), "it was no success");
        let said = rig.told[from..].iter().filter(|it| it.to_string().contains("could not be brought back"));
        rig.want(
            said.count() == 0,
            "it is said of a subagent that it was not brought back by what is refused",
        );
        rig.recovers();
        rig.pass(5_000, &json!([]));
        for id in [CHILD, "D"] {
            rig.want(rig.n_called_about("thread/resume", id) <= 1, &format!("{id} is loaded for nobody"));
        }
        rig.want(rig.n_called_about("thread/resume", "D") == 0, "the other is loaded for nobody");
        rig.want(rig.unanswered().iter().all(|it| *it == "p1"), "a request stays open");
    }
}

/// Loading the thread woke its goal, and a turn of that runs for nobody.
#[test]
fn what_a_cancelled_resume_woke_is_ended_also_where_there_are_subagents() {
    for version in [1, 2] {
        let mut rig = native(version);
        comes_back(&mut rig, version, "res");
        reach(&mut rig, "terminals", &idle(), "notLoaded");
        rig.notify("turn/started", json!({"turn": {"id": "G", "status": "inProgress"}}));
        rig.cancel_request("res");
        is_cancelled(&rig, "res", "terminals");
        let interrupt = rig.call("turn/interrupt");
        rig.want(interrupt["params"]["turnId"] == "G", "another turn");
        rig.done("G", "interrupted");
        late(&mut rig, &idle(), "notLoaded");
        rig.pass(20_000, &json!([]));
        while !rig.sweeps.is_empty() {
            rig.swept();
        }
        rig.want(rig.n_called_about("thread/unsubscribe", SESSION) == 1, "the thread stays");
        comes_back(&mut rig, version, "again");
        late(&mut rig, &idle(), "notLoaded");
        rig.want(rig.answer("again").is_some_and(|it| it["result"].is_object()), "not opened");
    }
}
