//! Ends and output that are not as they should be, and values of Codex that nobody expects.

use crate::rig::{Rig, listed};
use base64::Engine as _;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

#[test]
fn an_exit_code_that_no_system_has_ends_the_command_all_the_same() {
    for code in [i64::MIN, i64::MAX] {
        let mut rig = Rig::running(2);
        rig.command("A", "c1", Some("7"));
        rig.command_ended("A", "c1", "hi\n", code);
        let n_exits = rig.updates().filter(|it| it["exitStatus"].is_object()).count();
        rig.want(n_exits == 1, &format!("{n_exits} exits for {code}"));
    }
}

/// Nobody could say any more that it ended; the list of Codex does.
#[test]
fn a_command_whose_end_cannot_be_read_leaves_the_list() {
    let mut rig = Rig::running(2);
    rig.command("A", "c1", Some("7"));
    rig.done("A", "completed");
    rig.pass(3_000, &json!([listed("c1", "7")]));
    let end = json!({"type": "commandExecution", "id": "c1", "command": ["new", "shape"], "exitCode": 0});
    rig.item("item/completed", "A", end);
    rig.pass(60_000, &json!([]));
    rig.want(rig.state()["background"] == json!([]), "listed for ever");
}

/// Output may come before anybody knows that there is a process; only so much of it is kept.
#[test]
fn a_hole_in_early_output_is_no_silent_one() {
    let mut rig = Rig::running(2);
    rig.command("A", "c1", None);
    for text in ["a".repeat(200_000), "b".repeat(200_000), "END".to_owned()] {
        rig.notify(
            "item/commandExecution/outputDelta",
            json!({"turnId": "A", "itemId": "c1", "delta": text}),
        );
    }
    rig.pass(100, &json!([listed("c1", "7")]));
    let shown = shown(&rig);
    rig.want(shown.starts_with("aaa"), "what was kept is not shown");
    rig.want(!shown.contains("END"), "shown as if nothing was missing before it");
    rig.want(shown.contains("left out"), &format!("no word of what is missing: {}", &shown[200_000..]));
}

/// All that the client was given of the output of its only terminal.
fn shown(rig: &Rig) -> String {
    let chunks = rig.updates().filter(|it| it["sessionUpdate"] == "terminal_output_chunk");
    let bytes = chunks.flat_map(|it| {
        let data = it["data"].as_str().expect("a chunk has data");
        base64::engine::general_purpose::STANDARD.decode(data).expect("in base64")
    });
    String::from_utf8(bytes.collect()).expect("of text")
}

/// A fifth of the values in Codex's recorded lines is replaced: whatever comes of it, we live, and answer.
#[test]
fn spoiled_lines_of_codex_are_survived() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let mut n_lines = 0;
    for entry in folder.read_dir().expect("the recordings are there") {
        let path = entry.expect("the folder can be read").path();
        if path.extension().is_none_or(|it| it != "jsonl") {
            continue;
        }
        let lines = of_codex(&path);
        for version in [1, 2] {
            let mut rig = Rig::open(version);
            let mut dice = Dice(version);
            for mut line in lines.iter().cloned() {
                spoil(&mut line["params"], &mut dice);
                rig.codex(line);
                if dice.throw().is_multiple_of(3) {
                    rig.hang(200);
                }
                n_lines += 1;
            }
            rig.request("list", "session/close", json!({"sessionId": "no such session"}));
            rig.want(rig.answer("list").is_some(), "it does not answer any more");
        }
    }
    assert!(n_lines > 3_000, "{n_lines} lines");
}

/// The notifications and requests of Codex in a recording.
fn of_codex(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a recording is text");
    let lines = text.lines().filter_map(|it| serde_json::from_str::<Value>(it).ok());
    let own = lines.filter(|it| it["dir"] == "<-" && it["msg"]["method"].is_string());
    own.map(|mut it| it["msg"].take()).collect()
}

/// Replaces some leaves; threads become the session's, and what a message is stays.
fn spoil(value: &mut Value, dice: &mut Dice) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                match key.as_str() {
                    "threadId" => *field = json!("T"),
                    "method" | "type" => {}
                    _ => spoil(field, dice),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|it| spoil(it, dice)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            let bad = [
                json!(""),
                json!("é\u{1F600}\r\n\0"),
                json!(i64::MAX),
                json!(-1),
                json!(null),
                json!([]),
                json!({}),
            ];
            match dice.throw() as usize % 35 {
                number if number < bad.len() => value.clone_from(&bad[number]),
                _ => {}
            }
        }
    }
}

/// The same numbers in every run.
struct Dice(u32);

impl Dice {
    fn throw(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // The low bits of such a number repeat soon.
        self.0 >> 16
    }
}
