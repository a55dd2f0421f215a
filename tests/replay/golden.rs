//! A session that comes back is what it was: after every story its history is replayed and compared.
//!
//! What a history cannot hold is left out here, each with its reason, and listed in `tests/transcripts/README.md`.

use crate::client::Act;
use crate::story::{cases, play};
use crate::view::View;
use crate::world::World;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use testkit::belief::Version;

/// Virtual milliseconds in which a resume or a close is over.
const SOON: u64 = 10_000;

/// Stands in v1 before a text that replaces what was streamed.
const CORRECTED: &str = "\n\n*(corrected)*\n\n";

/// Stories after which Codex does not do what it does otherwise, and why.
const LEFT_OUT: [(&str, &str); 3] = [
    ("subagents/resume-unread", "it names other subagents than there are"),
    ("hang/silence-is-broken", "the end of a command is said with another turn than its start"),
    ("items/kept-open", "a call that was closed with its turn ends afterwards"),
];

#[test]
fn a_replay_is_what_was_told_live_in_v1() {
    compare_all(Version::V1);
}

#[test]
fn a_replay_is_what_was_told_live_in_v2() {
    compare_all(Version::V2);
}

fn compare_all(version: Version) {
    let mut failures = Vec::new();
    let mut n_compared = 0;
    for case in cases() {
        if LEFT_OUT.iter().any(|(name, _)| case.ends_with(name)) {
            continue;
        }
        match compare(&case, version) {
            Ok(n) => n_compared += n,
            Err(failure) => failures.push(format!("{}: {failure}", case.display())),
        }
    }
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
    assert!(n_compared >= 100, "only {n_compared} sessions had something to compare");
}

/// How many sessions of the story were compared.
fn compare(case: &Path, version: Version) -> Result<usize, String> {
    let (mut world, _) = play(case, version)?;
    let (mut n_compared, mut trace) = (0, Vec::new());
    if world.exit().is_some() {
        return Ok(0);
    }
    for (idx, session) in world.sessions().to_vec().into_iter().enumerate() {
        read(&world, &mut trace);
        // What was never told here cannot be compared.
        if !is_whole(&trace, &session) {
            continue;
        }
        for moment in [Moment::Open, Moment::Closed] {
            // With its subagents, where the client has sessions for them.
            let mut its = vec![session.clone()];
            its.extend(world.server.children(&session));
            let before: Vec<Before> = its.iter().map(|id| Before::of(&world, id, &session, &trace)).collect();
            if moment == Moment::Closed {
                world.act(&Act::Close { session: idx });
                settle(&mut world);
            }
            world.act(&Act::Resume { thread: session.clone(), replay: true });
            settle(&mut world);
            read(&world, &mut trace);
            for (id, before) in its.iter().zip(before) {
                let back = View::of(version, id, &session, &trace);
                n_compared +=
                    before.compare(&back, moment, version).map_err(|it| format!("{id}, {moment:?}: {it}"))?;
            }
        }
    }
    Ok(n_compared)
}

/// A session as its client saw it before it was opened again.
struct Before {
    live: View,
    /// Items that a history can have.
    known: BTreeSet<String>,
    running: BTreeSet<String>,
}

impl Before {
    fn of(world: &World, id: &str, root: &str, trace: &[Value]) -> Self {
        let live = View::of(world.version(), id, root, trace);
        let running = world.server.live(id);
        let mut known = world.server.kept(id);
        known.extend(running.iter().cloned());
        // What happened after its close was told to nobody.
        if was_closed(trace, root) {
            known.retain(|id| live.entries().any(|(_, told, _)| told == id));
        }
        Self { live, known, running }
    }

    fn compare(self, back: &View, moment: Moment, version: Version) -> Result<usize, String> {
        let Self { live, known, running } = self;
        // Closing ends what ran, and says nothing of it.
        let ended = match moment {
            Moment::Open => BTreeSet::new(),
            Moment::Closed => running,
        };
        if let Some(id) = ended.iter().find(|id| !has_ended(back, id)) {
            return Err(format!("{id} ran before the close and is believed to run after it"));
        }
        let (live, back) = (shown(&live, &known, &ended, version), shown(back, &known, &ended, version));
        match difference(&live, &back) {
            Some(difference) => Err(difference),
            None => Ok(usize::from(!live.is_empty())),
        }
    }
}

/// When the session is opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    Open,
    Closed,
}

/// Whether a command is told as ended; one that nobody tells of is, too.
fn has_ended(view: &View, id: &str) -> bool {
    view.entries().filter(|(_, told, _)| *told == id).all(|(kind, _, entry)| match kind {
        "terminal" => entry["exitStatus"].is_object() || entry["exitStatus"].is_array(),
        _ => !matches!(entry["status"].as_str(), Some("pending" | "in_progress")),
    })
}

/// Adds what is new in the trace.
fn read(world: &World, trace: &mut Vec<Value>) {
    let news = world.trace().iter().skip(trace.len());
    trace.extend(news.map(|line| serde_json::from_str::<Value>(line).expect("a trace is JSON lines")));
}

fn was_closed(trace: &[Value], session: &str) -> bool {
    let mut closed = false;
    for line in trace.iter().filter(|line| line["sent"]["params"]["sessionId"] == session) {
        match line["sent"]["method"].as_str() {
            Some("session/close" | "session/delete" | "session/archive") => closed = true,
            Some("session/resume" | "session/load") => closed = false,
            _ => {}
        }
    }
    closed
}

fn settle(world: &mut World) {
    world.pass(world.now() + SOON, &mut |world, line| world.deliver(&line));
}

/// Whether the client saw the session from its beginning.
fn is_whole(trace: &[Value], session: &str) -> bool {
    let opened = trace.iter().find(|line| line["got"]["result"]["sessionId"] == session);
    opened.is_some_and(|opened| {
        let asked = trace.iter().find(|line| line["sent"]["id"] == opened["got"]["id"]);
        asked.is_some_and(|asked| asked["sent"]["method"] == "session/new")
    })
}

/// The entries that a history can hold, as far as it can.
fn shown(
    view: &View,
    known: &BTreeSet<String>,
    ended: &BTreeSet<String>,
    version: Version,
) -> Vec<(String, Value)> {
    let entries = view.entries().filter_map(|(kind, id, entry)| {
        // Codex keeps an item when it ends. Notices, the prompts and answers of ours, goals, queued
        // messages, hooks and questions are no items.
        if !known.contains(id) {
            return None;
        }
        // The reason of a plan is no item either, and its name may be that of one.
        if kind == "thought" && id.starts_with("plan-") {
            return None;
        }
        // A v1 client shows what it sent by itself, and is not told of it.
        if kind == "user" && version == Version::V1 {
            return None;
        }
        // One that waited for an approval has its output as text there, until it comes back.
        if kind == "terminal" && version == Version::V1 {
            return None;
        }
        Some((format!("{kind} {id}"), kept(kind, entry, ended.contains(id), version)))
    });
    entries.collect()
}

/// Without what no history holds.
fn kept(kind: &str, entry: &Value, is_ended: bool, version: Version) -> Value {
    let mut entry = entry.clone();
    let Some(fields) = entry.as_object_mut() else { return entry };
    // How its processes did; who ended it is known, for the same process of ours tells it again.
    let meta = fields.remove("_meta").unwrap_or_default();
    if kind == "terminal" {
        fields.insert("by".into(), meta["dev.appserver-acp"]["by"].clone());
    }
    if is_ended {
        for name in ["status", "rawOutput", "output", "exitStatus", "by"] {
            fields.remove(name);
        }
    }
    // v1 cannot take back what was streamed and is not so.
    if let Some((_, right)) =
        fields.get("text").and_then(Value::as_str).and_then(|it| it.split_once(CORRECTED))
    {
        let right = right.to_owned();
        fields.insert("text".into(), json!(right));
    }
    if kind == "call" {
        // What the model typed is told beside the terminal, and kept by nobody.
        let content = fields.get("content").and_then(Value::as_array).cloned().unwrap_or_default();
        let terminal: Vec<Value> = content.iter().filter(|it| it["type"] == "terminal").cloned().collect();
        if !terminal.is_empty() {
            fields.insert("content".into(), json!(terminal));
        }
        if fields.get("name") == Some(&json!("exec_command")) && version == Version::V1 {
            fields.remove("content");
        }
    }
    entry
}

fn difference(live: &[(String, Value)], back: &[(String, Value)]) -> Option<String> {
    let keys = |view: &[(String, Value)]| view.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
    if keys(live) != keys(back) {
        return Some(format!("order\n  live {:?}\n  back {:?}", keys(live), keys(back)));
    }
    let differ = live.iter().zip(back).find(|(live, back)| live.1 != back.1)?;
    Some(format!("{}\n  live {}\n  back {}", differ.0.0, differ.0.1, differ.1.1))
}
