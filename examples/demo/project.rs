//! The project that the agent works in, and what the scripted model does there.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use testkit::model::{Model, Say, exec, say};

/// The command that outlives its turn.
pub(crate) const DEV_SERVER: &str = "node dev-server.js";
/// A second one beside it, which ends by itself.
pub(crate) const TESTS: &str = "node tests.js";

/// The tests go on until this file is there.
const LAST_TEST: &str = "last-test";

const FILES: [(&str, &str); 4] = [
    ("dev-server.js", include_str!("project/dev-server.js")),
    ("bundler.js", include_str!("project/bundler.js")),
    ("tests.js", include_str!("project/tests.js")),
    ("check.js", include_str!("project/check.js")),
];

pub(crate) fn write(workspace: &Path) -> anyhow::Result<()> {
    for (name, text) in FILES {
        fs::write(workspace.join(name), text).with_context(|| format!("write {name}"))?;
    }
    Ok(())
}

/// The short name of a command of ours, as a label.
pub(crate) fn label(command: &str) -> String {
    let script = command.split_whitespace().find_map(|word| word.strip_suffix(".js"));
    script.unwrap_or("command").to_owned()
}

/// The model's part of the first turn. `pace` is the pause between two pieces of a sentence.
pub(crate) fn script_first_turn(model: &Model, pace: Duration) {
    // The yield is how long the model looks at a command before it turns to something else.
    model.push((
        spoken("I'll start the dev server and leave it running.", pace),
        exec(DEV_SERVER).yield_ms(1200),
    ));
    model.push(spoken("It is up. It keeps running while we do other things.", pace));
}

/// The model's part of the second turn. `url` is what the dev server said it listens on.
pub(crate) fn script_second_turn(model: &Model, url: &str, pace: Duration) {
    model.push((spoken("I'll start the tests, and ask the server.", pace), exec(TESTS).yield_ms(1000)));
    model.push(exec(check_command(url)).yield_ms(30_000));
    model.push(spoken("It answers with 200. The tests are still running.", pace));
}

pub(crate) fn check_command(url: &str) -> String {
    format!("node check.js {url}")
}

/// Lets the tests come to their end.
pub(crate) fn end_tests(workspace: &Path) -> anyhow::Result<()> {
    fs::write(workspace.join(LAST_TEST), "").context("tell the tests to end")
}

fn spoken(text: &str, pace: Duration) -> Say {
    say(text).chunks(text.split(' ').count(), pace)
}
