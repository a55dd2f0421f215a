use super::edge;
use crate::codex::{Edge, Heard};
use crate::core::codex::{CodexReply, Event, FromCodex};
use crate::core::ids::CodexCallId;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct Line<'a> {
    dir: &'a str,
    conn: &'a str,
    #[serde(borrow)]
    msg: &'a RawValue,
}

#[derive(Deserialize)]
struct Sent {
    id: Option<i64>,
    method: Option<String>,
}

/// Methods whose answers we read; the recorder asked for more than we do.
const READ: [&str; 12] = [
    "initialize",
    "thread/start",
    "thread/resume",
    "thread/list",
    "thread/items/list",
    "thread/unsubscribe",
    "turn/start",
    "turn/steer",
    "turn/interrupt",
    "thread/backgroundTerminals/list",
    "thread/backgroundTerminals/terminate",
    "model/list",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings")
}

/// Reads a recording; calls `see` for each line of Codex with what it came to.
fn replay(path: &Path, mut see: impl FnMut(&str, Heard)) {
    let text = std::fs::read_to_string(path).unwrap();
    let mut edges: BTreeMap<&str, Edge> = BTreeMap::new();
    for line in text.lines() {
        let Line { dir, conn, msg } = serde_json::from_str(line).unwrap();
        let edge = edges.entry(conn).or_insert_with(edge);
        match dir {
            "->" => {
                let sent: Sent = serde_json::from_str(msg.get()).unwrap();
                if let Sent { id: Some(id), method: Some(method) } = sent {
                    let known = READ.iter().find(|it| **it == method).copied();
                    edge.calls.insert(CodexCallId(id), known.unwrap_or("read by nobody"));
                }
            }
            "<-" => see(msg.get(), edge.read(msg.get().as_bytes()).heard),
            _ => {}
        }
    }
}

#[test]
fn every_line_of_every_recording_is_understood() {
    let mut n_lines = 0;
    let mut seen = BTreeSet::new();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "jsonl") {
            replay(&path, |line, heard| {
                n_lines += 1;
                match heard {
                    Heard::Anomaly(anomaly) | Heard::Both(anomaly, _) => {
                        panic!("{}: {anomaly:?}: {line}", path.display())
                    }
                    Heard::Codex(FromCodex::Event(Event::Unmapped { method })) => {
                        panic!("{}: unmapped {method}", path.display())
                    }
                    Heard::Codex(FromCodex::Answered { result: Err(error), .. }) => {
                        assert!(line.contains("\"error\""), "{}: {error:?}: {line}", path.display());
                    }
                    Heard::Codex(other) => {
                        seen.insert(name(&other));
                    }
                }
            });
        }
    }
    assert!(n_lines > 2000, "only {n_lines} lines");
    // What no recording shows is decoded by nothing but the hand-made cases of the other tests.
    let seen: Vec<String> = seen.into_iter().collect();
    insta::assert_snapshot!(seen.join(" "));
}

#[test]
fn a_command_that_outlives_its_turn() {
    insta::assert_snapshot!(story("02a-background-pipe.jsonl"));
}

#[test]
fn edits_tools_and_questions() {
    insta::assert_snapshot!(story("21-edits-mcp-asks.jsonl"));
}

/// One line per input, ids numbered, long lines cut; without what is ignored.
fn story(file: &str) -> String {
    let mut lines = Vec::new();
    let mut names = BTreeMap::new();
    replay(&folder().join(file), |_, heard| {
        let text = match heard {
            Heard::Codex(FromCodex::Event(Event::Ignored { .. })) => return,
            Heard::Codex(FromCodex::Answered { call, result: Ok(CodexReply::Models { models, .. }) }) => {
                format!("Answered {call:?} with {} models, first {:?}", models.len(), models.first())
            }
            Heard::Codex(other) => format!("{other:?}"),
            Heard::Anomaly(anomaly) | Heard::Both(anomaly, _) => format!("{anomaly:?}"),
        };
        lines.push(shorten(&text, &mut names));
    });
    lines.join("\n")
}

fn shorten(text: &str, names: &mut BTreeMap<String, usize>) -> String {
    let is_part = |it: char| it.is_ascii_hexdigit() || it == '-';
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let end = rest[start..].find(|it| !is_part(it)).map_or(rest.len(), |it| start + it);
        out.push_str(&rest[..start]);
        match &rest[start..end] {
            id if id.len() == 36 && id.matches('-').count() == 4 => {
                let n_names = names.len() + 1;
                let number = *names.entry(id.to_owned()).or_insert(n_names);
                out.push_str(&format!("#{number}"));
            }
            other => out.push_str(other),
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    match out.char_indices().nth(600) {
        Some((cut, _)) => format!("{}…", &out[..cut]),
        None => out,
    }
}

fn name(input: &FromCodex) -> String {
    let text = match input {
        FromCodex::Event(event) => format!("{event:?}"),
        FromCodex::Asked { ask, .. } => format!("Asked{ask:?}"),
        FromCodex::Answered { result: Ok(reply), .. } => format!("Answered{reply:?}"),
        other => format!("{other:?}"),
    };
    text.chars().take_while(|it| it.is_ascii_alphanumeric()).collect()
}

#[test]
fn recordings_name_no_place_outside_their_own() {
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for banned in ["/tmp/", "/root/.", "Authorization", "Bearer"] {
            assert!(!text.contains(banned), "{} has {banned}", path.display());
        }
        // Each line is a complete message of the format the README names.
        if path.extension().is_some_and(|it| it == "jsonl") {
            for line in text.lines() {
                let line: Value = serde_json::from_str(line).unwrap();
                assert!(matches!(line["dir"].as_str(), Some("->" | "<-" | "--")));
            }
        }
    }
}

/// Every object within `value`, by its pointer.
fn objects(value: &Value, pointer: &str, found: &mut Vec<(String, Vec<String>)>) {
    match value {
        Value::Object(members) => {
            found.push((pointer.to_owned(), members.keys().cloned().collect()));
            for (name, member) in members {
                objects(member, &format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                objects(item, &format!("{pointer}/{n}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The message without this member, and with `null` in its place.
fn without(message: &Value, pointer: &str, name: &str) -> [Value; 2] {
    let (mut absent, mut null) = (message.clone(), message.clone());
    absent.pointer_mut(pointer).and_then(Value::as_object_mut).expect("it is there").remove(name);
    null.pointer_mut(pointer).expect("it is there")[name] = Value::Null;
    [absent, null]
}

#[test]
fn a_member_that_is_null_is_one_that_is_not_there() {
    let mut kinds = BTreeSet::new();
    let (mut n_tried, mut failures) = (0, BTreeSet::new());
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|it| it != "jsonl") {
            continue;
        }
        replay(&path, |line, _| {
            let message: Value = serde_json::from_str(line).unwrap();
            let kind = format!("{} {}", message["method"], message["params"]["item"]["type"]);
            if !message["id"].is_null() || message["method"].is_null() || !kinds.insert(kind.clone()) {
                return;
            }
            let mut found = Vec::new();
            objects(&message["params"], "/params", &mut found);
            for (pointer, names) in found {
                // What is handed on as it came differs as it came.
                let is_raw = ["/params/item/arguments", "/params/item/result"]
                    .iter()
                    .any(|it| pointer.starts_with(it));
                for name in names.into_iter().filter(|_| !is_raw) {
                    let [absent, null] = without(&message, &pointer, &name)
                        .map(|it| edge().read(it.to_string().as_bytes()).heard);
                    n_tried += 1;
                    if matches!(absent, Heard::Codex(_)) && absent != null {
                        failures.insert(format!("{kind}: {pointer}/{name}"));
                    }
                }
            }
        });
    }
    assert!(n_tried > 500, "{n_tried} members");
    assert!(failures.is_empty(), "{failures:#?}");
}
