//! Whatever Codex and the client do, and whenever: the client is never misled, and we do not fall over.
//!
//! 64 cases by default, `PROPTEST_CASES` for more.

use crate::client::{Act, Can, KIDS};
use crate::reach::Reach;
use crate::recording::Recording;
use crate::server::Server;
use crate::standing::Standing;
use crate::thread::Doing;
use crate::watches::Watches;
use crate::world::{OnFault, World};
use appserver_acp::core::input::Pressure;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use testkit::belief::Version;

/// Virtual milliseconds in which everything comes to rest: longer than any deadline of ours.
const SETTLE: u64 = 60_000;

/// Virtual milliseconds from the client's end of file to our exit.
const LEAVE: u64 = 10_000;

/// Notifications that the truth hangs on: Codex does not lose them.
const VITAL: [&str; 8] = [
    "turn/started",
    "turn/completed",
    "item/started",
    "item/completed",
    "serverRequest/resolved",
    "thread/goal/updated",
    "thread/goal/cleared",
    "thread/queue/changed",
];

/// One run: two sessions over two recordings.
#[derive(Clone, Debug)]
struct Plan {
    version: Version,
    /// v1: the client knows the sessions of subagents.
    subagents: bool,
    recordings: [String; 2],
    moves: Vec<(u64, Move)>,
    /// By number of the line of Codex.
    mishaps: BTreeMap<usize, Mishap>,
    end: End,
}

#[derive(Clone, Debug)]
enum Move {
    Prompt(usize),
    /// A prompt that is answered without Codex.
    Local(usize, &'static str),
    /// From now on the end of background work starts a turn.
    Wake(usize),
    Cancel(usize),
    /// `$/cancel_request` of the n-th newest request.
    CancelRequest(i64),
    /// The n-th subagent.
    CancelSubagent(usize),
    /// The n-th command of the n-th subagent.
    CancelTerminalOfSubagent(usize, usize),
    /// The n-th command that runs, or one that never was.
    CancelTerminal(usize, usize),
    Close(usize),
    /// Opens a session, also one that is open.
    Resume(usize, Replay),
    Fork(usize),
    /// `session/delete`, `session/archive` or `session/unarchive`.
    Put(usize, &'static str),
    Title(usize),
    List,
    Answer(&'static str),
    Die,
    Hang,
    Press(Pressure),
    /// Somebody sets a goal that takes so many turns, and then gets this status or waits.
    Goal(usize, u32, Option<&'static str>),
    /// Somebody gives the goal this status.
    GoalStatus(usize, &'static str),
    Enqueue(usize),
    /// Somebody takes the newest message out of the queue.
    Unqueue(usize),
    /// The n-th listed tool call (v2), or one that never was.
    CancelToolCall(usize, usize),
    /// Subagents that no recording has.
    Does(usize, Doing),
    /// A turn that goes on until it is cut off, with a subagent in it.
    Spawns(usize),
}

#[derive(Clone, Copy, Debug)]
enum Replay {
    Whole,
    Nothing,
}

/// What can befall a line of Codex.
#[derive(Clone, Debug)]
enum Mishap {
    Lost,
    Doubled,
    /// It and all after it are late by so many milliseconds.
    Late(u64),
    /// Garbage comes before it.
    Garbage,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Rest,
    Eof,
    Signal,
}

#[test]
fn a_client_is_never_misled() {
    let mut config = Config { failure_persistence: None, max_shrink_iters: 4000, ..Config::default() };
    // By itself the same plays each time, so that a red run means a change; asked for by number, new
    // ones each time, so that a long look finds what nobody thought of.
    let mut runner = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => TestRunner::new(config),
        None => {
            config.cases = 96;
            TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
        }
    };
    let names = Recording::all();
    let recordings: BTreeMap<String, Recording> =
        names.iter().map(|name| (name.clone(), Recording::read(name))).collect();
    let outcome = runner.run(&plan(names), |plan| run(&plan, &recordings).map_err(TestCaseError::fail));
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

fn plan(names: Vec<String>) -> impl Strategy<Value = Plan> {
    let names = proptest::sample::subsequence(names, 2);
    let version = prop_oneof![Just(Version::V1), Just(Version::V2)];
    let moves = prop::collection::vec((gap(), one_move()), 1..12);
    let mishaps = prop::collection::btree_map(0..300_usize, mishap(), 0..8);
    let end = prop_oneof![4 => Just(End::Rest), 1 => Just(End::Eof), 1 => Just(End::Signal)];
    let all = (version, any::<bool>(), names, moves, mishaps, end);
    all.prop_map(|(version, subagents, names, moves, mishaps, end)| Plan {
        version,
        subagents,
        recordings: [names[0].clone(), names[1].clone()],
        moves,
        mishaps,
        end,
    })
}

fn gap() -> impl Strategy<Value = u64> {
    prop_oneof![2 => 0..20_u64, 4 => 20..1500_u64, 2 => 1500..12_000_u64]
}

fn one_move() -> impl Strategy<Value = Move> {
    let session = 0..2_usize;
    let kind = prop_oneof![Just("allow_once"), Just("allow_always"), Just("reject_once"), Just("cancelled")];
    let local = prop_oneof![
        Just("/ps"),
        Just("/stop"),
        Just("/stop 1"),
        Just("/stop all"),
        Just("/ps x"),
        Just("/status"),
        Just("/compact"),
        Just("/review"),
        Just("/compact"),
        Just("/review"),
        Just("/plan it"),
        Just("/plan"),
        Just("/diff"),
        Just("/mcp"),
        Just("/skills"),
        Just("/mode auto"),
        Just("/rename it"),
        Just("/nothing"),
        Just("/goal it"),
        Just("/goal pause"),
        Just("/goal clear"),
        Just("/goal"),
        Just("/init"),
    ];
    let put = prop_oneof![Just("session/delete"), Just("session/archive"), Just("session/unarchive")];
    let replay = prop_oneof![Just(Replay::Whole), Just(Replay::Nothing)];
    let ends = prop_oneof![Just(None), Just(Some("complete")), Just(Some("blocked"))];
    let status = prop_oneof![Just("active"), Just("paused"), Just("usageLimited")];
    prop_oneof![
        1 => (session.clone(), 0..4_u32, ends).prop_map(|(session, turns, ends)| Move::Goal(session, turns, ends)),
        1 => (session.clone(), status).prop_map(|(session, status)| Move::GoalStatus(session, status)),
        2 => session.clone().prop_map(Move::Enqueue),
        1 => session.clone().prop_map(Move::Unqueue),
        2 => (session.clone(), 0..3_usize).prop_map(|(session, nth)| Move::CancelToolCall(session, nth)),
        8 => session.clone().prop_map(Move::Prompt),
        2 => (session.clone(), local).prop_map(|(session, text)| Move::Local(session, text)),
        2 => session.clone().prop_map(Move::Cancel),
        2 => (0..3_i64).prop_map(Move::CancelRequest),
        2 => (0..3_usize).prop_map(Move::CancelSubagent),
        2 => (0..3_usize, 0..2_usize).prop_map(|(nth, of)| Move::CancelTerminalOfSubagent(nth, of)),
        3 => (session.clone(), 0..3_usize).prop_map(|(session, nth)| Move::CancelTerminal(session, nth)),
        1 => session.clone().prop_map(Move::Wake),
        1 => session.clone().prop_map(Move::Close),
        3 => (session.clone(), replay).prop_map(|(session, replay)| Move::Resume(session, replay)),
        1 => session.clone().prop_map(Move::Fork),
        1 => (session.clone(), put).prop_map(|(session, method)| Move::Put(session, method)),
        1 => session.prop_map(Move::Title),
        1 => Just(Move::List),
        4 => kind.prop_map(Move::Answer),
        1 => Just(Move::Die),
        1 => Just(Move::Hang),
        1 => prop_oneof![Just(Pressure::High), Just(Pressure::Low)].prop_map(Move::Press),
        6 => (0..2_usize, doing()).prop_map(|(session, doing)| Move::Does(session, doing)),
        4 => (0..2_usize).prop_map(Move::Spawns),
    ]
}

fn doing() -> impl Strategy<Value = Doing> {
    let nth = 0..3_usize;
    prop_oneof![
        2 => prop::option::of(nth.clone()).prop_map(Doing::Starts),
        2 => nth.clone().prop_map(Doing::Works),
        4 => nth.clone().prop_map(Doing::Runs),
        2 => nth.clone().prop_map(Doing::IsHandedBack),
        2 => nth.clone().prop_map(Doing::Ends),
        2 => nth.clone().prop_map(Doing::Asks),
        3 => nth.clone().prop_map(Doing::Rests),
        1 => nth.clone().prop_map(Doing::IsUnloaded),
        2 => nth.prop_map(Doing::IsAwaited),
        2 => Just(Doing::IsAwaitedNoMore),
    ]
}

fn mishap() -> impl Strategy<Value = Mishap> {
    prop_oneof![
        2 => Just(Mishap::Lost),
        3 => Just(Mishap::Doubled),
        2 => (1..3000_u64).prop_map(Mishap::Late),
        1 => Just(Mishap::Garbage),
    ]
}

fn run(plan: &Plan, recordings: &BTreeMap<String, Recording>) -> Result<(), String> {
    let server = Server::new(plan.recordings.iter().map(|name| recordings[name].clone()));
    let mut world = World::new(plan.version, server, OnFault::Stop);
    world.reach = Reach::varying();
    world.watches = Watches::telling();
    let mut wire = Wire { mishaps: plan.mishaps.clone(), ..Wire::default() };
    world.act(&Act::Hello { can: plan.subagents.then_some(Can::Subagents).into_iter().collect() });
    world.act(&Act::Open);
    world.act(&Act::Open);
    wire.pass(&mut world, 100)?;
    let mut closed = BTreeSet::new();
    for (gap, one) in &plan.moves {
        wire.pass(&mut world, *gap)?;
        make(&mut world, one, &mut closed);
        check(&world)?;
    }
    match plan.end {
        End::Rest => settle(&mut world, &mut wire),
        End::Eof => {
            world.act(&Act::Eof);
            leave(&mut world, &mut wire)
        }
        End::Signal => {
            world.signal(15);
            leave(&mut world, &mut wire)
        }
    }
}

fn make(world: &mut World, one: &Move, closed: &mut BTreeSet<String>) {
    let name = |world: &World, session: usize| world.sessions().get(session).cloned();
    match *one {
        Move::Prompt(session) => {
            world.act(&Act::Prompt { text: format!("at {}", world.now()), key: None, session });
        }
        Move::Local(session, text) => world.act(&Act::Prompt { text: text.into(), key: None, session }),
        Move::Wake(session) => {
            world.act(&Act::SetOption { option: "wake".into(), value: "on".into(), session });
        }
        Move::Cancel(session) => world.act(&Act::Cancel { session }),
        Move::CancelRequest(back) => world.act(&Act::CancelRequest { back }),
        Move::CancelSubagent(nth) => world.act(&Act::Cancel { session: KIDS + nth }),
        Move::CancelTerminalOfSubagent(nth, of) => {
            let subagent = world.belief().subagents().into_iter().nth(of);
            let live = subagent.map(|subagent| world.server.live(&subagent)).unwrap_or_default();
            let terminal = live.into_iter().nth(nth).unwrap_or_else(|| "no-such".into());
            world.act(&Act::CancelTerminal { terminal, session: KIDS + of });
        }
        Move::CancelTerminal(session, nth) => {
            let live = name(world, session).map(|session| world.server.live(&session)).unwrap_or_default();
            let terminal = live.into_iter().nth(nth).unwrap_or_else(|| "no-such".into());
            world.act(&Act::CancelTerminal { terminal, session });
        }
        Move::Close(session) => {
            world.act(&Act::Close { session });
            closed.extend(name(world, session));
        }
        Move::Resume(session, replay) => {
            let Some(thread) = name(world, session) else { return };
            // What a client waits for under a session, it could not tell from what comes of a resume.
            if !world.belief().is_waiting(&thread) {
                closed.remove(&thread);
                world.act(&Act::Resume { thread, replay: matches!(replay, Replay::Whole) });
            }
        }
        Move::Fork(session) => world.act(&Act::Fork { session }),
        Move::Put(session, method) => {
            let Some(thread) = name(world, session) else { return };
            world.act(&Act::About { method: method.into(), thread: thread.clone(), more: Value::Null });
            closed.insert(thread);
        }
        Move::Title(session) => world.act(&Act::SetTitle { title: "A title".into(), session }),
        Move::List => world.act(&Act::List { cursor: None, cwd: None, archived: Some("include".into()) }),
        Move::Answer(kind) => world.act(&Act::Answer { kind: kind.into() }),
        Move::Goal(session, turns, ends) => {
            world.stand(session, |it| Some(it.set_goal("All green", turns, ends.map(str::to_owned))));
        }
        Move::GoalStatus(session, status) => world.stand(session, |it| it.set_status(status)),
        Move::Enqueue(session) => {
            let key = format!("queued-at-{}", world.now());
            world.stand(session, |it| Some(it.enqueue(&key, "then this")));
        }
        Move::Unqueue(session) => world.stand(session, Standing::unqueue_newest),
        Move::CancelToolCall(session, nth) => {
            let listed = name(world, session).map(|session| world.belief().listed(&session));
            let calls = listed.unwrap_or_default().into_iter();
            let mut calls = calls.filter_map(|key| Some(key.strip_prefix("tool_call:")?.to_owned()));
            let call = calls.nth(nth).unwrap_or_else(|| "no-such".into());
            world.act(&Act::CancelToolCall { call, session });
        }
        Move::Does(thread, doing) => world.does(thread, doing),
        Move::Spawns(session) => {
            world.server.hold();
            world.act(&Act::Prompt { text: format!("at {}", world.now()), key: None, session });
            world.pass(world.now() + 20, &mut |world, line| world.deliver(&line));
            world.does(session, Doing::Starts(None));
        }
        Move::Die => world.kill_server(),
        Move::Hang => world.hang_server(),
        Move::Press(pressure) => world.press(pressure),
    }
}

/// Everything comes to rest, if need be because the client gives up waiting; then belief must be truth.
fn settle(world: &mut World, wire: &mut Wire) -> Result<(), String> {
    world.press(Pressure::Low);
    wire.pass(world, SETTLE)?;
    for _ in 0..3 {
        for session in 0..world.sessions().len() {
            world.act(&Act::Cancel { session });
        }
        for _ in 0..4 {
            world.act(&Act::Answer { kind: "cancelled".into() });
        }
        wire.pass(world, SETTLE)?;
    }
    if !wire.vital_lost {
        world.rest();
    }
    check(world)
}

fn leave(world: &mut World, wire: &mut Wire) -> Result<(), String> {
    wire.pass(world, LEAVE)?;
    if world.exit().is_none() {
        return Err(report(world, "no exit"));
    }
    Ok(())
}

fn check(world: &World) -> Result<(), String> {
    match world.faults() {
        [] => Ok(()),
        [first, ..] => Err(report(world, &first.to_string())),
    }
}

fn report(world: &World, what: &str) -> String {
    let trace = world.trace();
    let tail = trace.len().saturating_sub(40);
    let short = trace[tail..].iter().map(|line| line.chars().take(600).collect::<String>());
    format!("{what}\n{}", short.collect::<Vec<_>>().join("\n"))
}

/// The way from Codex to us, with its mishaps.
#[derive(Default)]
struct Wire {
    mishaps: BTreeMap<usize, Mishap>,
    n_lines: usize,
    vital_lost: bool,
}

impl Wire {
    fn pass(&mut self, world: &mut World, millis: u64) -> Result<(), String> {
        let until = world.now() + millis;
        world.pass(until, &mut |world, line| self.carry(world, line));
        if self.vital_lost {
            // A command whose start was lost is shown when a list names it, also between turns.
            world.forgive("after-answer");
        }
        check(world)
    }

    fn carry(&mut self, world: &mut World, line: Value) {
        self.n_lines += 1;
        let notification = line.get("id").is_none();
        match self.mishaps.remove(&self.n_lines) {
            Some(Mishap::Lost) if notification => {
                let method = line["method"].as_str().unwrap_or_default();
                self.vital_lost |= VITAL.contains(&method);
            }
            Some(Mishap::Doubled) if notification => {
                world.deliver(&line);
                world.deliver(&line);
            }
            Some(Mishap::Late(millis)) => world.stall(millis, Some(line)),
            Some(Mishap::Garbage) => {
                world.deliver_text("no JSON at all");
                world.deliver(&line);
            }
            Some(Mishap::Lost | Mishap::Doubled) | None => world.deliver(&line),
        }
    }
}

/// Plays that went wrong once, all in v1: what goes on after an answer opens with a line of its own.
#[test]
fn what_misled_a_client_once() {
    let names = ["12b-v2-child-outlives", "16-shell"];
    let recordings: BTreeMap<String, Recording> =
        names.iter().map(|name| ((*name).to_owned(), Recording::read(name))).collect();
    let cancelled_while_starting =
        vec![(0, Move::Prompt(1)), (3791, Move::Prompt(1)), (0, Move::Cancel(1)), (8, Move::Spawns(1))];
    let end_of_input_under_a_resume = vec![
        (0, Move::Prompt(0)),
        (3000, Move::Resume(0, Replay::Whole)),
        (0, Move::Goal(0, 1, None)),
        (0, Move::List),
    ];
    for (moves, end) in [(cancelled_while_starting, End::Rest), (end_of_input_under_a_resume, End::Eof)] {
        let plan = Plan {
            version: Version::V1,
            subagents: false,
            recordings: names.map(str::to_owned),
            moves,
            mishaps: BTreeMap::new(),
            end,
        };
        run(&plan, &recordings).unwrap();
    }
}
