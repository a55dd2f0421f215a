//! The `explain` subcommand: a trace as a story in two columns.
//!
//! Codex on the left, the client on the right, what we did about it between them.

#[cfg(test)]
mod tests;

use crate::core::input::{Gentle, Pressure, StopReport};
use crate::core::vitals::WatchReport;
use crate::envelope::remains::Remains;
use crate::trace::step::{Received, Step};
use crate::trace::{self, TraceError};
use serde_json::Value;
use std::io::{self, Write};
use std::path::PathBuf;

const LEFT: usize = 46;
const MIDDLE: usize = 30;
/// Longest piece of a message that is shown.
const DETAIL: usize = 60;

/// Tell a trace as a story: Codex on the left, the client on the right, the rule between.
#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    /// A file that --trace wrote.
    file: PathBuf,
}

/// The story could not be told.
#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error("write the story")]
    Write(#[from] io::Error),
}

/// Runs the subcommand; the exit code.
///
/// # Errors
/// If the trace cannot be read or the story cannot be written.
pub fn run(args: &ExplainArgs, out: &mut dyn Write) -> Result<u8, ExplainError> {
    let steps = trace::read(&args.file)?;
    write!(out, "{}", Row::of("time", "codex", "rule", "client"))?;
    for step in &steps {
        if step.seq == 1 {
            writeln!(out)?;
        }
        for row in rows(step) {
            write!(out, "{row}")?;
        }
    }
    Ok(0)
}

/// One line of the story.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Row {
    time: String,
    codex: String,
    rule: String,
    client: String,
}

impl Row {
    fn of(time: &str, codex: &str, rule: &str, client: &str) -> Self {
        Self { time: time.into(), codex: codex.into(), rule: rule.into(), client: client.into() }
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { time, codex, rule, client } = self;
        let line = format!("{time:>9}  {codex:<LEFT$}  {rule:<MIDDLE$}  {client}");
        writeln!(f, "{}", line.trim_end())
    }
}

fn rows(step: &Step) -> Vec<Row> {
    let time = format!("{}.{:03}", step.at.0 / 1000, step.at.0 % 1000);
    let mut first = Row { time, ..received(&step.input) };
    if let Some(rule) = step.rules.first() {
        first.rule.clone_from(rule);
    }
    let mut rows = vec![first];
    rows.extend(step.out.iter().map(sent));
    rows.extend(step.notes.iter().map(|note| Row::of("", "", "", &format!("! {}", short(note)))));
    rows
}

fn received(input: &Received) -> Row {
    match input {
        Received::ClientLine(line) => Row::of("", "", "", &format!("-> {}", line_in_words(line))),
        Received::ClientUnread { unread, .. } => Row::of("", "", "", &format!("-> ({unread})")),
        Received::ClientOversized(Remains { method, .. }) => {
            let what = method.as_deref().unwrap_or("a line");
            Row::of("", "", "", &short(&format!("-> ({what} that is too long)")))
        }
        Received::ClientEof => Row::of("", "", "", "-> (end)"),
        Received::CodexLine { line, .. } => Row::of("", &format!("{} ->", line_in_words(line)), "", ""),
        Received::CodexUnread { unread, .. } => Row::of("", &format!("({unread}) ->"), "", ""),
        Received::CodexOversized { .. } => Row::of("", "(a line that is too long) ->", "", ""),
        Received::CodexNotStarted { message, .. } => {
            Row::of("", &short(&format!("(not started: {message})")), "", "")
        }
        Received::CodexDied { how, .. } => Row::of("", &short(&format!("(died: {how})")), "", ""),
        Received::Deadline { reason } => Row::of("", "", &format!("(time: {reason})"), ""),
        Received::ClientQueue(Pressure::High) => Row::of("", "", "", "(does not keep up)"),
        Received::ClientQueue(Pressure::Low) => Row::of("", "", "", "(keeps up again)"),
        Received::Swept { report, .. } => {
            Row::of("", "", &format!("(swept: {} ended, {} left)", report.ended, report.left), "")
        }
        Received::Stop { stop, report } => {
            Row::of("", "", &format!("(stop {}: {})", stop.0, report_in_words(*report)), "")
        }
        Received::Surveyed { found, .. } => {
            Row::of("", "", &format!("(surveyed: {} commands with processes)", found.len()), "")
        }
        Received::Watched { watch, report } => {
            Row::of("", "", &format!("(watch {}: {})", watch.0, watched_in_words(*report)), "")
        }
        Received::PageNotOpened(why) => Row::of("", "", &short(&format!("(no page: {why})")), ""),
        Received::Signal(number) => Row::of("", "", &format!("(signal {number})"), ""),
    }
}

fn sent(out: &Value) -> Row {
    if let Some(message) = out.get("client") {
        return Row::of("", "", "", &format!("<- {}", in_words(message)));
    }
    if let Some(message) = out.get("codex") {
        return Row::of("", &format!("<- {}", in_words(message)), "", "");
    }
    for name in ["stop", "watch"] {
        if let Some(it) = out.get(name) {
            let words = format!("* {name} {}: {} {}", it["id"], text(&it["act"]), text(&it["item"]));
            return Row::of("", "", short(&words).trim_end(), "");
        }
    }
    let mut members = out.as_object().into_iter().flatten();
    match members.next() {
        Some((name, value)) => Row::of("", "", &short(&format!("* {} {value}", name.replace('_', " "))), ""),
        None => Row::default(),
    }
}

fn report_in_words(report: StopReport) -> String {
    match report {
        StopReport::Signalled { with: Gentle::Int, members } => format!("SIGINT to {members}"),
        StopReport::Signalled { with: Gentle::Term, members } => format!("SIGTERM to {members}"),
        StopReport::NotFound => "no process found".to_owned(),
        StopReport::Gone { escaped, killed } => format!("gone, {escaped} escaped, {killed} killed"),
        StopReport::Left { left, escaped, killed } => {
            format!("{left} left, {escaped} escaped, {killed} killed")
        }
    }
}

fn watched_in_words(report: WatchReport) -> String {
    match report {
        WatchReport::Vitals(it) => {
            format!("{} processes, {} % cpu, {} MiB", it.processes, it.cpu_percent, it.memory >> 20)
        }
        WatchReport::Ended => "its leader ended".to_owned(),
        WatchReport::NotFound => "no process found".to_owned(),
    }
}

fn line_in_words(line: &[u8]) -> String {
    match serde_json::from_slice(line) {
        Ok(message) => in_words(&message),
        Err(_) => format!("(no JSON: {})", short(&String::from_utf8_lossy(line))),
    }
}

fn in_words(message: &Value) -> String {
    let id = message.get("id").map(|id| format!(" #{id}")).unwrap_or_default();
    let Some(method) = message["method"].as_str() else {
        return match message.get("error") {
            Some(error) => short(&format!("error{id} {}: {}", error["code"], text(&error["message"]))),
            None => format!("answer{id}"),
        };
    };
    let params = &message["params"];
    short(format!("{method}{id} {}", about(params)).trim_end())
}

// The one or two words that tell messages of the same method apart.
fn about(params: &Value) -> String {
    let update = &params["update"];
    let item = &params["item"];
    let words = [
        &update["sessionUpdate"],
        &update["state"],
        &update["toolCallId"],
        &update["terminalId"],
        &update["status"],
        &item["type"],
        &item["id"],
        &item["status"],
        &params["itemId"],
    ];
    let words: Vec<&str> = words.into_iter().filter_map(Value::as_str).collect();
    words.join(" ")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn short(text: &str) -> String {
    let line = text.replace(['\n', '\r', '\t'], " ");
    match line.char_indices().nth(DETAIL) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}
