//! Stories: what a client does to a recorded Codex, and what it gets, word for word, in both versions.
//!
//! `UPDATE_TRANSCRIPTS=1` writes the expected lines again; read them line by line.

use crate::client::Act;
use crate::reach::{Finding, On};
use crate::recording::Recording;
use crate::server::Server;
use crate::watches::Told;
use crate::world::{Fault, OnFault, World};
use appserver_acp::core::input::Pressure;
use appserver_acp::core::settings::Settings;
use appserver_acp::core::sign_in::{Means, Secret};
use appserver_acp::map;
use appserver_acp::map::row::{Row, Verdict};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use testkit::belief::Version;

/// Virtual milliseconds after the last act in which everything must come to rest.
const REST: u64 = 60_000;

/// The first line of `story.jsonl`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    /// What the story shows; for readers.
    #[expect(dead_code, reason = "for the reader of the file")]
    about: String,
    /// The recording that Codex plays.
    recording: String,
    /// Turns of it that never happen.
    #[serde(default)]
    skip: usize,
    /// Rules that are broken today, by version: a fault that is known and not right.
    #[serde(default)]
    wrong_today: Wrong,
    /// Turns that were over before the client came.
    #[serde(default)]
    ahead: usize,
    /// Nobody is signed in to Codex.
    #[serde(default)]
    signed_out: bool,
    /// What the environment has to sign in with: `CODEX_API_KEY`, `OPENAI_API_KEY`, `BROWSER`, `NO_BROWSER`.
    #[serde(default)]
    env: Vec<String>,
    /// Commands that leave a process behind when they end.
    #[serde(default)]
    leaves: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Wrong {
    v1: Vec<String>,
    v2: Vec<String>,
}

/// Every other line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Beat {
    /// Virtual milliseconds since the start.
    at: u64,
    #[serde(flatten)]
    event: Event,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Event {
    Client(Act),
    Codex(Fate),
    Queue(Pressed),
    Reach {
        on: On,
        found: Finding,
    },
    Watched(Told),
    /// No browser comes up.
    NoPage(String),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Fate {
    /// The app-server dies.
    Die,
    /// It lives and does nothing any more: no line, no answer.
    Hang,
    /// What it says is read only so many milliseconds later.
    Stall(u64),
    /// It says this line, made by hand after its schema; `$thread` and `$turn` are put in.
    Say(Value),
    /// The next call of this method is answered with this `result` or `error`, or with `null` not at all.
    Answer { method: String, with: Value },
    /// The next turn beyond the recording ends only when a line says so.
    Hold,
    /// From now on somebody is signed in, or nobody, and no line says so.
    Account(bool),
    /// This command ends, and no line ever says so.
    Vanish(String),
    /// Somebody else does something to the goal or the queue of the first thread.
    Stand(Stand),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Stand {
    /// A goal that takes so many turns; then it gets the status `ends`, or stays and waits.
    Goal {
        objective: String,
        turns: u32,
        #[serde(default)]
        ends: Option<String>,
    },
    /// The goal gets this status.
    Status(String),
    Enqueue {
        key: String,
        text: String,
    },
    /// The message with this key is taken out.
    Unqueue(String),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Pressed {
    High,
    Low,
}

#[test]
fn stories_are_told_as_expected() {
    let mut failures = Vec::new();
    let mut hit = BTreeSet::new();
    let cases = cases();
    assert!(cases.len() >= 15, "the stories are part of the repository");
    for case in cases {
        for version in [Version::V1, Version::V2] {
            if let Err(failure) = tell(&case, version, &mut hit) {
                failures.push(format!("{} {version:?}:\n{failure}", case.display()));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    let unhit: Vec<&str> = map::unhit(&hit).iter().map(|row| row.rule.as_str()).collect();
    assert_eq!(unhit, [""; 0], "rules of the protocol map that no story shows");
    let is_lie =
        |row: &&Row| row.kind.is_sent() && row.verdict != Verdict::Mapped && hit.contains(row.rule.as_str());
    let lies: Vec<&str> = map::rows().iter().filter(is_lie).map(|row| row.rule.as_str()).collect();
    assert_eq!(lies, [""; 0], "rules of lines that we never send, by the protocol map");
}

fn tell(case: &Path, version: Version, hit: &mut BTreeSet<String>) -> Result<(), String> {
    let text = std::fs::read_to_string(case.join("story.jsonl")).map_err(|error| error.to_string())?;
    let mut lines = text.lines();
    let head: Head = parse(lines.next().unwrap_or_default())?;
    let beats = lines.map(parse).collect::<Result<Vec<Beat>, _>>()?;
    let mut server = Server::new([Recording::read(&head.recording).without_first(head.skip)]);
    if head.ahead > 0 {
        server.play_ahead(head.ahead);
    }
    server.set_account(!head.signed_out);
    let settings = Settings { sign_in: means(&head.env), ..Settings::plain("n") };
    let mut world = World::with(settings, version, server, OnFault::GoOn);
    world.leaves = head.leaves.into_iter().collect();
    for beat in beats {
        world.pass(beat.at, &mut |world, line| world.deliver(&line));
        match beat.event {
            Event::Client(act) => world.act(&act),
            Event::Codex(Fate::Die) => world.kill_server(),
            Event::Codex(Fate::Hang) => world.hang_server(),
            Event::Codex(Fate::Stall(millis)) => world.stall(millis, None),
            Event::Codex(Fate::Say(line)) => world.say_of_codex(line),
            Event::Codex(Fate::Answer { method, with }) => world.server.script(&method, with),
            Event::Codex(Fate::Account(signed_in)) => world.server.set_account(signed_in),
            Event::Codex(Fate::Hold) => world.server.hold(),
            Event::Codex(Fate::Vanish(item)) => world.server.vanish(&item),
            Event::Reach { on: On::Now, found } => world.reached(found.report()),
            Event::Reach { on: On::Ask, found } => world.reach.asked_next(found.report()),
            Event::Reach { on: On::Finish, found } => world.reach.finished_next(found.report()),
            Event::Watched(told) => world.watched(&told),
            Event::NoPage(why) => world.no_page(&why),
            Event::Codex(Fate::Stand(act)) => world.stand(0, |standing| match act {
                Stand::Goal { objective, turns, ends } => Some(standing.set_goal(&objective, turns, ends)),
                Stand::Status(status) => standing.set_status(&status),
                Stand::Enqueue { key, text } => Some(standing.enqueue(&key, &text)),
                Stand::Unqueue(key) => Some(standing.unqueue(&key)),
            }),
            Event::Queue(Pressed::High) => world.press(Pressure::High),
            Event::Queue(Pressed::Low) => world.press(Pressure::Low),
        }
    }
    world.pass(world.now() + REST, &mut |world, line| world.deliver(&line));
    world.rest();
    hit.extend(world.hit().iter().cloned());
    let (name, wrong) = match version {
        Version::V1 => ("v1.jsonl", head.wrong_today.v1),
        Version::V2 => ("v2.jsonl", head.wrong_today.v2),
    };
    let told = compare(&case.join(name), world.trace());
    match (judge(world.faults(), &wrong), told) {
        (Ok(()), told) => told,
        (Err(faults), told) => Err(format!("{faults}\n{}", told.err().unwrap_or_default())),
    }
}

fn means(env: &[String]) -> Means {
    let is_set = |name: &str| env.iter().any(|it| it == name);
    let key = |name| is_set(name).then(|| Secret::new("sk-of-a-story"));
    Means {
        no_browser: is_set("NO_BROWSER"),
        opens_pages: is_set("BROWSER"),
        codex_key: key("CODEX_API_KEY"),
        openai_key: key("OPENAI_API_KEY"),
        program: None,
    }
}

/// The faults are exactly those that are known.
fn judge(faults: &[Fault], wrong: &[String]) -> Result<(), String> {
    let strange = faults.iter().filter(|fault| !wrong.iter().any(|rule| rule == fault.rule));
    let mended = wrong.iter().filter(|rule| !faults.iter().any(|fault| fault.rule == rule.as_str()));
    let lines: Vec<String> =
        strange.map(Fault::to_string).chain(mended.map(|rule| format!("no more wrong: {rule}"))).collect();
    if lines.is_empty() { Ok(()) } else { Err(lines.join("\n")) }
}

fn compare(file: &Path, trace: &[String]) -> Result<(), String> {
    if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() {
        return std::fs::write(file, trace.join("\n") + "\n").map_err(|error| error.to_string());
    }
    let expected = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut expected = expected.lines();
    for (n, line) in trace.iter().enumerate() {
        match expected.next() {
            Some(wanted) if wanted == line => {}
            wanted => {
                return Err(format!(
                    "{}:{}\nwanted {}\ngot    {line}",
                    file.display(),
                    n + 1,
                    wanted.unwrap_or("nothing")
                ));
            }
        }
    }
    match expected.next() {
        None => Ok(()),
        Some(wanted) => Err(format!("{}: {wanted} did not come", file.display())),
    }
}

fn parse<T: for<'de> Deserialize<'de>>(line: &str) -> Result<T, String> {
    serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))
}

fn cases() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let mut cases: Vec<PathBuf> = children(&root).iter().flat_map(|area| children(area)).collect();
    cases.retain(|case| case.join("story.jsonl").is_file());
    cases.sort();
    cases
}

fn children(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect()
}
