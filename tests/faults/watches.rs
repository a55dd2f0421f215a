//! Watched processes end, or are not found, when nobody expects it; and the client may be slow.

use crate::rig::{Rig, SESSION, idle, listed};
use appserver_acp::core::input::Pressure;
use appserver_acp::core::vitals::WatchReport;
use serde_json::json;

const LIST: &str = "thread/backgroundTerminals/list";

/// A session whose command `c1` runs in the background after its turn.
fn background() -> Rig {
    let mut rig = Rig::running(2);
    rig.command("A", "c1", Some("7"));
    rig.want(rig.watched.is_empty(), "the foreground waits on it, and would know");
    rig.done("A", "completed");
    rig.pass(10, &json!([listed("c1", "7")]));
    rig
}

fn n_exits(rig: &Rig) -> usize {
    rig.updates().filter(|it| it["exitStatus"].is_object()).count()
}

/// How often the list is asked for in the next `millis`; the answer is `terminals`.
fn n_looks(rig: &mut Rig, millis: u64, terminals: &serde_json::Value) -> usize {
    let before = rig.n_called(LIST);
    rig.pass(millis, terminals);
    rig.n_called(LIST) - before
}

#[test]
fn the_end_of_a_leader_makes_us_ask_and_ends_nothing_by_itself() {
    let mut rig = background();
    let watch = rig.watch_of("c1");
    rig.watch_tells(watch, WatchReport::Ended);
    rig.want(rig.is_called(LIST), "nobody asks");
    rig.want(n_exits(&rig) == 0, "only Codex knows");
    // Something of it goes on under Codex.
    rig.pass(5_000, &json!([listed("c1", "7")]));
    rig.want(n_exits(&rig) == 0, "Codex lists it");
    rig.pass(2_500, &json!([]));
    rig.want(n_exits(&rig) == 1, "Codex no longer does");
    rig.want(rig.state()["background"] == json!([]), "an exit without a shorter list");
}

/// A session with so many commands in the background, of which Codex lists none any more, and of which it tells the
/// ends of all but the first one by one, every nine tenths of a second.
fn backlog(n_commands: usize) -> Rig {
    let mut rig = Rig::running(2);
    let ids: Vec<String> = (1..=n_commands).map(|n| format!("c{n}")).collect();
    for (n, id) in ids.iter().enumerate() {
        rig.command("A", id, Some(&format!("{}", 7 + n)));
    }
    rig.done("A", "completed");
    let all: Vec<_> = ids.iter().enumerate().map(|(n, id)| listed(id, &format!("{}", 7 + n))).collect();
    rig.pass(10, &json!(all));
    let watch = rig.watch_of("c1");
    rig.watch_tells(watch, WatchReport::Ended);
    for id in &ids[1..] {
        rig.pass(900, &json!([]));
        rig.command_ended("A", id, "", 0);
    }
    rig
}

fn exits_of(rig: &Rig, terminal: &str) -> Vec<serde_json::Value> {
    let its = rig.updates().filter(|it| it["terminalId"] == terminal && it["exitStatus"].is_object());
    its.map(|it| it["exitStatus"].clone()).collect()
}

#[test]
fn an_end_that_waits_behind_others_is_not_unseen() {
    let mut rig = backlog(6);
    rig.want(exits_of(&rig, "c1").is_empty(), "Codex still tells of ends");
    rig.command_ended("A", "c1", "", 3);
    rig.want(exits_of(&rig, "c1") == [json!({"exitCode": 3})], "the truth came late, and it came");
    rig.want(n_exits(&rig) == 6, "each end once");
}

#[test]
fn an_end_that_never_comes_is_not_waited_for_behind_others_for_ever() {
    let rig = backlog(20);
    rig.want(exits_of(&rig, "c1") == [json!({})], "it is listed for ever");
    rig.want(n_exits(&rig) == 20, "each end once");
}

#[test]
fn what_ends_with_a_word_is_not_asked_for() {
    let mut rig = background();
    let watch = rig.watch_of("c1");
    rig.command_ended("A", "c1", "", 0);
    rig.want(rig.watched.is_empty(), "it is watched for ever");
    rig.watch_tells(watch, WatchReport::Ended);
    rig.vitals(watch, 1);
    rig.want(!rig.is_called(LIST), "the report was late");
    rig.want(rig.processes_told() == [0; 0], "told of the dead");
}

#[test]
fn what_is_not_found_is_asked_for_once_a_second_while_it_is_listed() {
    let mut rig = background();
    let watch = rig.watch_of("c1");
    rig.watch_tells(watch, WatchReport::NotFound);
    rig.pass(10, &json!([listed("c1", "7")]));
    let n = n_looks(&mut rig, 10_000, &json!([listed("c1", "7")]));
    rig.want((9..=11).contains(&n), &format!("{n} looks in ten seconds"));
    rig.command_ended("A", "c1", "", 0);
    rig.pass(900, &json!([]));
    let n = n_looks(&mut rig, 10_000, &json!([]));
    rig.want(n == 0, &format!("{n} looks for nothing"));
}

#[test]
fn two_that_are_not_found_share_the_looks() {
    let mut rig = background();
    rig.prompt("p2");
    rig.started("B");
    rig.command("B", "c2", Some("8"));
    rig.done("B", "completed");
    let both = json!([listed("c1", "7"), listed("c2", "8")]);
    rig.pass(10, &both);
    for item in ["c1", "c2"] {
        let watch = rig.watch_of(item);
        rig.watch_tells(watch, WatchReport::NotFound);
    }
    rig.pass(10, &both);
    let n = n_looks(&mut rig, 10_000, &both);
    rig.want((9..=11).contains(&n), &format!("{n} looks in ten seconds"));
}

#[test]
fn a_quiet_watched_command_causes_no_looks() {
    let mut rig = background();
    let n = n_looks(&mut rig, 60_000, &json!([listed("c1", "7")]));
    rig.want(n == 0, &format!("{n} looks"));
}

#[test]
fn a_slow_client_is_told_the_last_vitals_only() {
    let mut rig = background();
    let watch = rig.watch_of("c1");
    rig.vitals(watch, 1);
    rig.press(Pressure::High);
    for processes in 2..50 {
        rig.vitals(watch, processes);
    }
    rig.want(rig.processes_told() == [1], "more for one that cannot keep up");
    rig.press(Pressure::Low);
    rig.want(rig.processes_told() == [1, 49], "how it is now");
    rig.press(Pressure::High);
    rig.press(Pressure::Low);
    rig.want(rig.processes_told() == [1, 49], "once");
}

#[test]
fn nothing_is_asked_under_a_backlog_and_all_is_asked_after_it() {
    let mut rig = background();
    let watch = rig.watch_of("c1");
    rig.press(Pressure::High);
    rig.watch_tells(watch, WatchReport::NotFound);
    rig.pass(10, &json!([listed("c1", "7")]));
    let n = n_looks(&mut rig, 10_000, &json!([listed("c1", "7")]));
    rig.want(n == 0, &format!("{n} looks"));
    rig.press(Pressure::Low);
    rig.pass(4_000, &json!([]));
    rig.want(n_exits(&rig) == 1, "its end is not noticed");
}

#[test]
fn the_watches_of_a_dead_app_server_end_with_it() {
    let mut rig = background();
    let watch = rig.watch_of("c1");
    rig.dies();
    rig.want(rig.watched.is_empty(), "watched, and the sweep ends it");
    rig.watch_tells(watch, WatchReport::Ended);
    rig.swept();
    rig.want(n_exits(&rig) == 1, "told as ended, once");
}

#[test]
fn a_resume_tells_the_last_vitals_with_the_terminal() {
    let mut rig = background();
    let watch = rig.watch_of("c1");
    rig.vitals(watch, 3);
    rig.resume(false);
    rig.ok("thread/resume", idle());
    // What comes meanwhile is not told twice.
    rig.vitals(watch, 4);
    rig.pass(100, &json!([listed("c1", "7")]));
    rig.want(rig.answer("res").is_some_and(|it| it["result"].is_object()), "the resume hangs");
    rig.want(rig.processes_told() == [3, 4], "with the terminal, and once");
    rig.want(rig.watch_of("c1") == watch, "watched twice");
    let is_answer = |it: &serde_json::Value| it["id"] == "res";
    let is_last = |it: &serde_json::Value| it["params"]["update"]["_meta"].is_object();
    rig.want(rig.place(is_answer) > rig.place(is_last), "after the answer");
}

#[test]
fn what_a_resume_finds_is_watched() {
    let mut rig = Rig::resuming(2, false);
    rig.ok("thread/resume", idle());
    rig.pass(100, &json!([listed("c1", "7")]));
    let watch = rig.watch_of("c1");
    rig.vitals(watch, 2);
    rig.want(rig.processes_told() == [2], "nobody is told");
}

#[test]
fn a_closed_session_is_not_watched() {
    let mut rig = background();
    rig.close();
    rig.pass(60_000, &json!([]));
    rig.want(rig.answer("close").is_some(), "the close hangs");
    rig.want(rig.watched.is_empty(), &format!("still watched in {SESSION}"));
}

#[test]
fn a_client_of_text_is_not_told() {
    let mut rig = Rig::running(1);
    rig.command("A", "c1", Some("7"));
    rig.done("A", "completed");
    rig.pass(10, &json!([listed("c1", "7")]));
    let watch = rig.watch_of("c1");
    let before = rig.told.len();
    rig.vitals(watch, 2);
    rig.want(rig.told.len() == before, "it has no place for them");
}
