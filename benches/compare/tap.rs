//! The bench program in a second role: it stands between an agent and Codex and notes when Codex wrote what.
//!
//! The agent starts it by CODEX_PATH; it starts the real Codex with the same arguments.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, anyhow};
use serde_json::Value;

use crate::clock;

const CODEX: &str = "COMPARE_CODEX";
const NOTES: &str = "COMPARE_NOTES";

/// The environment that makes an agent use the tap: its Codex writes notes to this file.
pub(crate) fn env(codex: &Path, notes: &Path) -> anyhow::Result<[(&'static str, PathBuf); 3]> {
    Ok([("CODEX_PATH", std::env::current_exe()?), (CODEX, codex.to_owned()), (NOTES, notes.to_owned())])
}

/// Whether this process was started as a tap.
pub(crate) fn is_wanted() -> bool {
    std::env::var_os(NOTES).is_some()
}

pub(crate) fn run() -> anyhow::Result<()> {
    let codex = std::env::var_os(CODEX).context("the tap needs the real codex")?;
    let is_server = std::env::args().any(|it| it == "app-server");
    let mut command = Command::new(codex);
    command.args(std::env::args_os().skip(1)).env_remove(NOTES).env_remove(CODEX);
    if !is_server {
        let status = command.status()?;
        std::process::exit(status.code().unwrap_or(1));
    }
    let notes = std::env::var_os(NOTES).context("the tap needs a file for its notes")?;
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut to_codex = child.stdin.take().ok_or_else(|| anyhow!("codex has no stdin"))?;
    std::thread::spawn(move || {
        let mut buffer = [0; 65536];
        let mut stdin = std::io::stdin().lock();
        while let Ok(n @ 1..) = stdin.read(&mut buffer) {
            if to_codex.write_all(&buffer[..n]).is_err() {
                return;
            }
        }
    });
    let from_codex = child.stdout.take().ok_or_else(|| anyhow!("codex has no stdout"))?;
    note_lines(BufReader::new(from_codex), &mut BufWriter::new(File::create(notes)?))?;
    std::process::exit(child.wait()?.code().unwrap_or(1));
}

/// Hands every line on at once; the note is made of the time before that.
fn note_lines(mut from: impl BufRead, notes: &mut impl Write) -> anyhow::Result<()> {
    let mut line = Vec::new();
    let mut stdout = std::io::stdout().lock();
    while from.read_until(b'\n', &mut line)? > 0 {
        let at = clock::micros();
        stdout.write_all(&line)?;
        stdout.flush()?;
        let message: Value = serde_json::from_slice(&line)?;
        if message["method"] == "item/agentMessage/delta" {
            writeln!(notes, "{at} {}", message["params"]["delta"])?;
            notes.flush()?;
        }
        line.clear();
    }
    Ok(())
}

/// The notes of a run: when each delta of an assistant's text that holds `mark` was written, and its length.
pub(crate) fn read(notes: &Path, mark: &str) -> anyhow::Result<Vec<(u64, usize)>> {
    let text = std::fs::read_to_string(notes).context("read the notes of the tap")?;
    let mut read = Vec::new();
    for line in text.lines() {
        let (at, delta) = line.split_once(' ').context("a note is a time and a text")?;
        let delta: String = serde_json::from_str(delta)?;
        if delta.contains(mark) {
            read.push((at.parse()?, delta.len()));
        }
    }
    Ok(read)
}
