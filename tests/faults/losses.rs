//! Every way in which an app-server can be lost, at every moment, in both versions: what must hold in all of them.

use crate::rig::{Rig, SESSION, idle};
use appserver_acp::bridge::GARBAGE_MAX;
use appserver_acp::core::ids::Generation;
use appserver_acp::core::input::{Gentle, StopReport};
use serde_json::{Value, json};

/// How it is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Killed,
    Terminated,
    Crashed,
    Hung,
    /// Its output stops being JSON.
    Garbled,
}

/// What went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// Nothing was answered yet; the client waits for its session.
    StartUp,
    /// Codex is opening the session.
    Opening,
    Idle,
    /// One command is listed.
    IdleWithTerminal,
    /// One command is listed, one in the foreground, one more prompt is steered.
    Turn,
    /// The same under `session/cancel`, with the ladders running.
    Cancelling,
    /// The listed command is asked to end.
    Stopping,
    /// The session is being closed.
    Closing,
}

const WAYS: [Way; 5] = [Way::Killed, Way::Terminated, Way::Crashed, Way::Hung, Way::Garbled];
const MOMENTS: [Moment; 8] = [
    Moment::StartUp,
    Moment::Opening,
    Moment::Idle,
    Moment::IdleWithTerminal,
    Moment::Turn,
    Moment::Cancelling,
    Moment::Stopping,
    Moment::Closing,
];

#[test]
fn a_loss_costs_what_ran_and_nothing_else() {
    let mut n_played = 0;
    for version in [1, 2] {
        for moment in MOMENTS {
            for way in WAYS {
                let played = std::panic::catch_unwind(|| play(version, moment, way));
                assert!(played.is_ok(), "v{version}, {moment:?}, {way:?}");
                n_played += 1;
            }
        }
    }
    assert_eq!(n_played, 80, "all of them");
}

fn play(version: u32, moment: Moment, way: Way) {
    let mut rig = reach(version, moment);
    let before = rig.told.len();
    let list = rig.state()["background"].clone();
    lose(&mut rig, way);
    if version == 2 && matches!(moment, Moment::Turn | Moment::Cancelling) {
        after_loss(&rig, before, &list);
    }
    if !matches!(moment, Moment::StartUp | Moment::Opening | Moment::Idle) {
        rig.swept();
    }
    rig.hang(10_000);
    rig.want(rig.unanswered().is_empty(), &format!("no answer to {:?}", rig.unanswered()));
    after_sweep(&rig, version, moment, before);
    goes_on(&mut rig, version, moment);
}

fn reach(version: u32, moment: Moment) -> Rig {
    let opens = |rig: &mut Rig| rig.request("new", "session/new", json!({"cwd": "/w", "mcpServers": []}));
    let mut rig = match moment {
        Moment::StartUp => Rig::greeted(version),
        Moment::Opening => Rig::new(version),
        Moment::Idle => Rig::open(version),
        Moment::IdleWithTerminal | Moment::Turn | Moment::Cancelling | Moment::Stopping | Moment::Closing => {
            let mut rig = Rig::running(version);
            rig.command("A", "dev", Some("7"));
            rig.done("A", "completed");
            rig
        }
    };
    rig.found = StopReport::Signalled { with: Gentle::Term, members: 1 };
    match moment {
        Moment::StartUp | Moment::Opening => opens(&mut rig),
        Moment::Idle | Moment::IdleWithTerminal => {}
        Moment::Stopping if version == 1 => {
            rig.prompt("/stop dev");
            rig.want(rig.answer("/stop dev").is_some(), "answered at once");
        }
        Moment::Stopping => {
            rig.request("stop", "terminal/cancel", json!({"sessionId": SESSION, "terminalId": "dev"}));
            rig.want(rig.answer("stop").is_some(), "answered at once");
        }
        Moment::Turn | Moment::Cancelling | Moment::Closing => {
            rig.prompt("p2");
            rig.started("B");
            rig.command("B", "build", Some("8"));
            rig.prompt("p3");
        }
    }
    match moment {
        Moment::Cancelling => rig.cancel(),
        Moment::Closing => rig.close(),
        Moment::StartUp
        | Moment::Opening
        | Moment::Idle
        | Moment::IdleWithTerminal
        | Moment::Turn
        | Moment::Stopping => {}
    }
    rig
}

fn lose(rig: &mut Rig, way: Way) {
    match way {
        Way::Killed => rig.dies(),
        Way::Terminated => rig.dies_of("signal 15", None),
        Way::Crashed => rig.dies_of("exit code 101", Some("thread 'main' panicked")),
        Way::Hung => {
            // Silence alone is no fault: somebody has to ask.
            rig.request("list", "session/list", json!({}));
            rig.hang(30_000 - 1);
            rig.want(rig.ended == [Generation(1)], "not found out");
            rig.dies();
        }
        Way::Garbled => {
            for _ in 0..GARBAGE_MAX {
                rig.writes(b"thread 'main' panicked");
            }
            rig.want(rig.ended == [Generation(1)], "listened to for ever");
            // Its process ends later, and that is no second loss.
            rig.dies();
        }
    }
}

/// What nobody can say any more comes first, with the last list.
fn after_loss(rig: &Rig, before: usize, list: &Value) {
    let updates = || rig.told[before..].iter().map(|it| &it["params"]["update"]);
    let state = updates().find(|it| it["sessionUpdate"] == "state_update").unwrap_or(&Value::Null);
    rig.want(state["state"] == "unknown", &format!("{state} is no unknown"));
    rig.want(state["background"] == *list, "another list than the last");
    rig.want(!updates().any(|it| it["exitStatus"].is_object()), "told as ended, and no sweep has looked");
}

/// Every command has ended, once, and the session is at rest.
fn after_sweep(rig: &Rig, version: u32, moment: Moment, before: usize) {
    let commands: &[&str] = match moment {
        Moment::StartUp | Moment::Opening | Moment::Idle => &[],
        Moment::IdleWithTerminal | Moment::Stopping => &["dev"],
        Moment::Turn | Moment::Cancelling | Moment::Closing => &["dev", "build"],
    };
    for id in commands {
        let is_exit = |it: &&Value| {
            it["terminalId"] == *id && it["exitStatus"].is_object()
                || it["_meta"]["terminal_exit"]["terminal_id"] == *id
        };
        let is_final = |it: &&Value| {
            let status = it["status"].as_str().unwrap_or_default();
            it["toolCallId"] == *id && ["completed", "failed", "cancelled"].contains(&status)
        };
        // A v1 client that declared nothing has text, and no exits.
        let n_exits = rig.updates().filter(is_exit).count();
        rig.want(n_exits == if version == 1 { 0 } else { 1 }, &format!("{n_exits} exits of {id}"));
        let n_finals = rig.updates().filter(is_final).count();
        rig.want(n_finals == 1, &format!("{n_finals} final statuses of {id}"));
    }
    if version == 2 && !matches!(moment, Moment::StartUp | Moment::Opening) && rig.told.len() > before {
        let state = rig.state();
        let is_at_rest = state["background"].as_array().is_none_or(Vec::is_empty);
        rig.want(is_at_rest, &format!("{state} lists something"));
        if matches!(moment, Moment::Turn) {
            rig.want(state["state"] == "idle" && state["stopReason"] == "error", &state.to_string());
            rig.want(state["error"]["message"].is_string(), "no reason is given");
        }
        if matches!(moment, Moment::Cancelling) {
            // The user wanted its end, and got it.
            rig.want(state["state"] == "idle" && state["stopReason"] == "cancelled", &state.to_string());
        }
    }
    if version == 1 && moment == Moment::Cancelling {
        let answer = rig.answer("p2").unwrap_or_default();
        rig.want(answer["result"]["stopReason"] == "cancelled", &format!("{answer} to a cancelled prompt"));
    }
    if version == 1 && moment == Moment::Turn {
        let error = &rig.answer("p2").unwrap_or_default()["error"];
        rig.want(error["code"] == -32603, &format!("{error} says nothing"));
    }
    if matches!(moment, Moment::StartUp | Moment::Opening) {
        let error = &rig.answer("new").unwrap_or_default()["error"];
        rig.want(error["code"] == -32603, &format!("{error} is no typed error"));
        rig.want(error["message"].as_str().is_some_and(|it| it.contains("codex app-server")), "what was it?");
    }
}

/// The next request starts another app-server, and everything works.
fn goes_on(rig: &mut Rig, version: u32, moment: Moment) {
    rig.want(rig.generation() == Generation(1), "started without being asked");
    match moment {
        Moment::StartUp | Moment::Opening | Moment::Closing => {
            rig.request("new again", "session/new", json!({"cwd": "/w", "mcpServers": []}));
            rig.booted();
            rig.ok("thread/start", idle());
        }
        Moment::Idle | Moment::IdleWithTerminal | Moment::Turn | Moment::Cancelling | Moment::Stopping => {}
    }
    rig.prompt("again");
    rig.want(rig.generation() == Generation(2), "not started again");
    if rig.is_called("initialize") {
        rig.booted();
    }
    if rig.is_called("thread/resume") {
        rig.ok("thread/resume", idle());
        rig.pass(10, &json!([]));
    }
    rig.started("C");
    rig.done("C", "completed");
    rig.want(rig.answer("again").is_some_and(|it| it["result"].is_object()), "no answer");
    if version == 2 {
        rig.want(rig.state()["stopReason"] == "end_turn", &rig.state().to_string());
    }
}
