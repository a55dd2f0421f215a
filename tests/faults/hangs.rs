//! An app-server that lives and says nothing: found out when it owes an answer, and not before.

use crate::rig::{PROBE, Rig, SESSION, idle};
use appserver_acp::core::ids::Generation;
use appserver_acp::core::input::{Gentle, StopReport};
use serde_json::{Value, json};

/// From the last line to a probe, and from the probe to the verdict, in ms.
const SILENCE: u64 = 15_000;
const ANSWER: u64 = 10_000;

/// A turn runs and Codex owes the answer to a steer.
fn owing(version: u32) -> Rig {
    let mut rig = Rig::running(version);
    rig.command("A", "c1", Some("7"));
    rig.prompt("p2");
    rig
}

#[test]
fn silence_is_probed_and_a_silent_probe_is_the_end() {
    let mut rig = owing(2);
    rig.hang(SILENCE - 1);
    rig.want(!rig.is_called(PROBE), "probed too early");
    rig.hang(1);
    rig.want(rig.n_calls(PROBE) == 1, "not probed");
    rig.hang(ANSWER - 1);
    rig.want(rig.ended.is_empty(), "ended too early");
    rig.hang(1);
    rig.want(rig.ended == [Generation(1)], "not ended");
    rig.want(rig.n_calls(PROBE) == 1, "one probe is enough");
}

/// A turn, a login, an approval: nothing of ours is unanswered, however long it takes.
#[test]
fn who_owes_no_answer_may_be_silent_for_ever() {
    for mut rig in [Rig::open(2), Rig::running(2)] {
        rig.hang(24 * 3_600_000);
        rig.want(!rig.is_called(PROBE) && rig.ended.is_empty(), "silence alone is no fault");
    }
}

#[test]
fn a_long_call_lives_as_long_as_probes_are_answered() {
    let mut rig = Rig::new(2);
    rig.request("new", "session/new", json!({"cwd": "/w", "mcpServers": []}));
    rig.pass(3_600_000, &json!([]));
    rig.want(rig.ended.is_empty() && rig.answer("new").is_none(), "an hour of MCP start-up is no hang");
    rig.ok("thread/start", idle());
    rig.want(rig.answer("new").is_some_and(|it| it["result"].is_object()), "the session is open");
}

#[test]
fn whatever_comes_is_a_sign_of_life() {
    let signs: [fn(&mut Rig); 6] = [
        |rig| rig.notify("item/agentMessage/delta", json!({"turnId": "A", "itemId": "m", "delta": "x"})),
        |rig| rig.notify("thread/started", json!({"threadId": "of somebody else"})),
        |rig| rig.writes(b"warning: not JSON"),
        |rig| rig.writes(br#"{"method":"turn/completed","params":{"of another":"shape"}}"#),
        |rig| rig.writes(br#"{"id":77,"method":"item/tool/call","params":[]}"#),
        Rig::writes_too_much,
    ];
    for sign in signs {
        let mut rig = owing(2);
        rig.hang(SILENCE + ANSWER - 1);
        sign(&mut rig);
        rig.hang(SILENCE + ANSWER - 1);
        rig.want(rig.ended.is_empty(), "ended in spite of a sign of life");
        rig.hang(1);
        rig.want(rig.ended == [Generation(1)], "not ended after the last sign");
    }
}

/// Our process was stopped, or the machine slept: Codex's answer may lie in the pipe, unread.
#[test]
fn our_own_sleep_is_no_silence_of_codex() {
    for asleep in [5_000, 60_000, 8 * 3_600_000] {
        let mut rig = owing(2);
        rig.hang(SILENCE + ANSWER - 1);
        rig.sleeps(asleep);
        rig.want(rig.ended.is_empty() && rig.n_calls(PROBE) == 2, "a deadline found overdue is no verdict");
        rig.hang(ANSWER - 1);
        rig.want(rig.ended.is_empty(), "the new probe has its time");
        rig.hang(1);
        rig.want(rig.ended == [Generation(1)], "hung all the same");
    }
}

#[test]
fn a_sleep_before_the_probe_costs_nothing() {
    let mut rig = owing(2);
    rig.sleeps(60_000);
    rig.want(rig.ended.is_empty() && rig.n_calls(PROBE) == 1, "probed first");
    rig.pass(60_000, &json!([]));
    rig.want(rig.ended.is_empty(), "it answers");
}

/// A thread has one writer: the next app-server would be refused while the hung one lives.
#[test]
fn nothing_is_told_or_started_before_the_hung_one_is_dead() {
    let mut rig = owing(2);
    rig.hang(SILENCE + ANSWER + 2_000);
    rig.want(rig.state()["state"] == "running" && rig.answer("p2").is_none(), "told before its death");
    rig.want(rig.generation() == Generation(1), "started before its death");
    rig.dies();
    rig.want(rig.state()["state"] == "unknown", "not told");
    let refusal = rig.answer("p2").unwrap_or_default()["error"]["message"].to_string();
    let says = |what: &str| refusal.contains(what);
    rig.want(says("hung") && says("turn/steer") && says("25 s") && says("signal 9"), &refusal);
}

#[test]
fn one_that_cannot_be_killed_is_left_behind() {
    let mut rig = owing(2);
    rig.hang(SILENCE + ANSWER + 5_000);
    rig.want(rig.state()["state"] == "unknown", "we wait for ever");
    rig.want(rig.answer("p2").is_some_and(|it| it["error"].is_object()), "p2 hangs");
    let n_told = rig.told.len();
    // It wakes, says what it had to say, and dies in the end.
    rig.text("A", "m", "good morning");
    rig.done("A", "completed");
    rig.dies();
    rig.want(rig.told.len() == n_told, "told twice");
    rig.swept();
    rig.want(rig.state()["state"] == "idle", "unknown for ever");
}

#[test]
fn bounds_hold_with_a_codex_that_hangs() {
    for version in [1, 2] {
        let mut rig = Rig::running(version);
        rig.command("A", "c1", Some("7"));
        rig.found = StopReport::Signalled { with: Gentle::Term, members: 1 };
        rig.close();
        rig.hang(4_000);
        rig.want(rig.answer("close").is_some_and(|it| it["result"].is_object()), "the close hangs");

        let mut rig = Rig::running(version);
        rig.command("A", "c1", Some("7"));
        rig.hangs_up();
        rig.hang(3_500);
        rig.want(rig.ended == [Generation(1)], "Codex is not ended");
        rig.hang(3_000);
        rig.want(rig.exit == Some(0), "we do not leave");
    }
}

/// The turn was asked for and never shown: there is no end of it to show.
#[test]
fn a_close_before_the_turn_began_ends_no_turn() {
    for version in [1, 2] {
        let mut rig = Rig::open(version);
        rig.prompt("p");
        rig.close();
        rig.hang(4_000);
        rig.want(rig.unanswered().is_empty(), "something hangs");
        rig.want(rig.state()["stopReason"].is_null(), "a turn ended that never ran");
    }
}

/// Who stops a command gets the truth about it in the end, also from a Codex that hangs meanwhile.
#[test]
fn a_stop_of_a_codex_that_hangs_ends_with_it() {
    let mut rig = Rig::running(2);
    rig.command("A", "c1", Some("7"));
    rig.done("A", "completed");
    rig.found = StopReport::Signalled { with: Gentle::Term, members: 1 };
    rig.request("stop", "terminal/cancel", json!({"sessionId": SESSION, "terminalId": "c1"}));
    rig.want(rig.answer("stop").is_some_and(|it| it["result"] == json!({})), "accepted at once");
    rig.hang(3_000 + SILENCE + ANSWER);
    rig.want(rig.ended == [Generation(1)], "the terminate is unanswered, nothing comes, and nobody minds");
    rig.dies();
    rig.swept();
    let is_exit = |it: &&Value| it["exitStatus"].is_object();
    rig.want(rig.updates().filter(is_exit).count() == 1, "one command, one exit");
    rig.want(rig.state()["background"] == json!([]), "still listed");
}

/// `/ps` is answered while a turn is asked for, and the turn never comes: the idle has a reason all the same.
#[test]
fn a_turn_that_never_came_after_a_local_prompt_ends_with_it() {
    let refused: [fn(&mut Rig); 2] = [|rig| rig.err("turn/start", "busy"), Rig::dies];
    for never in refused {
        let mut rig = Rig::open(2);
        rig.prompt("p");
        rig.prompt("/ps");
        never(&mut rig);
        let state = rig.state();
        rig.want(state["state"] == "idle" && state["stopReason"] == "end_turn", &state.to_string());
        rig.want(rig.answer("p").is_some_and(|it| it["error"].is_object()), "p hangs");
    }
}
