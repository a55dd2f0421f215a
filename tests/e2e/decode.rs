//! Real clients read every line that we send in the transcripts: what one of them refuses or changes is a fault.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use testkit::PATIENCE;
use testkit::belief::Version;
use testkit::codex;
use tokio::process::Command;

use crate::stage::PYTHON;

in_both_versions!(the_sdk_reads_every_transcript);

async fn the_sdk_reads_every_transcript(version: Version) {
    let end = decode("node".into(), "decode.mjs", version).await.expect("all can be read");
    assert_eq!(end["unknown"], Value::Null);
}

#[tokio::test]
#[expect(clippy::print_stderr, reason = "a test that did not run says so")]
async fn the_python_sdk_reads_every_transcript() {
    let Some(python) = std::env::var_os(PYTHON) else {
        return eprintln!("skipped: no python with the ACP SDK");
    };
    let end = decode(python, "decode.py", Version::V1).await.expect("all can be read");
    // Its schema is older than ours, and says of none that it must not be there.
    let unknown = [
        "initialize/agentCapabilities/sessionCapabilities/archive",
        "initialize/agentCapabilities/sessionCapabilities/systemPrompt",
        "initialize/agentCapabilities/sessionCapabilities/title",
        "session/archive",
        "session/list/sessions/*/archived",
        "session/set_title",
        "session/unarchive",
        "session/update/update/name",
    ];
    assert_eq!(end["unknown"], json!(unknown));
}

/// Plays all transcripts of a version to a client, which must find every message in them and no fault.
async fn decode(program: OsString, script: &str, version: Version) -> anyhow::Result<Value> {
    let name = if version == Version::V1 { "v1" } else { "v2" };
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let transcripts = transcripts(&tests.join("transcripts"), &format!("{name}.jsonl"))?;
    let mut command = Command::new(program);
    command.arg(tests.join("clients").join(script)).arg(name).args(&transcripts);
    command.env("ACP_SDK_NODE_MODULES", codex::node_modules()?).stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await.context("it does not end")??;
    let events: Vec<Value> = String::from_utf8(output.stdout)?
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()
        .context("an event on each line")?;
    let Some((end, faults)) = events.split_last() else {
        bail!("nothing came: {}", String::from_utf8_lossy(&output.stderr));
    };
    ensure!(faults.is_empty() && end["ev"] == "decoded", "faults: {events:#?}");
    let sent = sent(&transcripts)?;
    let read = ["updates", "requests", "answers"].map(|what| end[what].as_u64().unwrap_or_default());
    ensure!(read == sent && sent.iter().all(|it| *it > 0), "sent {sent:?}, read {read:?}");
    Ok(end.clone())
}

fn transcripts(root: &Path, name: &str) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for area in std::fs::read_dir(root)? {
        let area = area?.path();
        if area.is_dir() {
            for case in std::fs::read_dir(area)? {
                found.push(case?.path().join(name));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// How many updates, requests and answers of ours the transcripts hold.
fn sent(transcripts: &[PathBuf]) -> anyhow::Result<[u64; 3]> {
    let mut counts = [0; 3];
    for path in transcripts {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        for line in text.lines() {
            let line: Value = serde_json::from_str(line)?;
            let got = &line["got"];
            match (got["method"].as_str(), got.get("id").filter(|it| !it.is_null())) {
                (Some("$/cancel_request"), _) | (None, None) => {}
                (Some(_), None) => counts[0] += 1,
                (Some(_), Some(_)) => counts[1] += 1,
                (None, Some(_)) => counts[2] += 1,
            }
        }
    }
    Ok(counts)
}
