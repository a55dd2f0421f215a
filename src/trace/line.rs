//! One step as a line of the trace file. The shape is described in `Step`.

use super::Record;
use super::rules::rules_of;
use super::{oversized, reach, settings, survey, watch};
use crate::bridge::arrival::Arrival;
use crate::bridge::departure::{Departure, Note};
use crate::core::codex::Preset;
use crate::core::input::Pressure;
use crate::core::settings::Settings;
use crate::redact::{
    self,
    unread::{Unread, Wrong},
};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

#[derive(Serialize)]
struct Line<'a> {
    seq: u64,
    at: u64,
    #[serde(rename = "in")]
    input: In<'a>,
    rule: Vec<&'static str>,
    out: Vec<Out<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    note: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<Told<'a>>,
}

#[derive(Serialize)]
struct Told<'a> {
    nonce: &'a str,
    preset: Option<&'static str>,
    stop_grace: u64,
    sign_in: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    connect: Option<&'a str>,
}

struct In<'a>(&'a Record<'a>);

struct Out<'a>(&'a Departure);

/// The line of a step, newline included, secrets taken out.
pub(crate) fn of_step(seq: u64, record: &Record<'_>, settings: Option<&Settings>) -> String {
    let line = Line {
        seq,
        at: record.now.0,
        input: In(record),
        rule: rules_of(&record.arrival, record.version),
        out: record.departures.iter().filter(|it| !matches!(it, Departure::Noted(_))).map(Out).collect(),
        note: record.departures.iter().filter_map(note).collect(),
        settings: settings.map(|it| Told {
            nonce: &it.nonce,
            preset: it.preset.map(Preset::id),
            stop_grace: it.stop_grace,
            sign_in: settings::of_means(&it.sign_in),
            connect: it.connect.as_deref(),
        }),
    };
    let mut text = serde_json::to_string(&line).expect("all keys are strings");
    text.push('\n');
    text
}

/// A departure as the trace shows it, without secrets; `None` for what is only noted.
pub fn departure(departure: &Departure) -> Option<serde_json::Value> {
    match note(departure) {
        Some(_) => None,
        None => serde_json::to_value(Out(departure)).ok(),
    }
}

/// A note in words, without secrets: what Codex refused is told with its own words.
pub fn note_text(note: &Note) -> String {
    redact::text(&format!("{note:?}")).into_owned()
}

fn note(departure: &Departure) -> Option<String> {
    match departure {
        Departure::Noted(note) => Some(note_text(note)),
        Departure::ToClient(_)
        | Departure::ToCodex { .. }
        | Departure::StartCodex(_)
        | Departure::EndCodex(_)
        | Departure::Sweep { .. }
        | Departure::Stop { .. }
        | Departure::Survey { .. }
        | Departure::Watch { .. }
        | Departure::OpenPage(_)
        | Departure::Exit { .. } => None,
    }
}

impl Serialize for In<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.0.arrival {
            Arrival::ClientLine(line) => message(&mut map, ["client", "client_unread"], line)?,
            Arrival::ClientOversized(remains) => {
                map.serialize_entry("client_oversized", &oversized::of_remains(remains))?;
            }
            Arrival::ClientEof => map.serialize_entry("client_eof", &true)?,
            Arrival::CodexLine { generation, line } => {
                message(&mut map, ["codex", "codex_unread"], line)?;
                map.serialize_entry("generation", &generation.0)?;
            }
            Arrival::CodexOversized { generation } => {
                map.serialize_entry("codex_oversized", &generation.0)?;
            }
            Arrival::CodexNotStarted { generation, message } => map.serialize_entry(
                "codex_not_started",
                &json!({ "generation": generation.0, "message": redact::text(message) }),
            )?,
            Arrival::CodexDied { generation, how, stderr } => map.serialize_entry(
                "codex_died",
                &json!({ "generation": generation.0, "how": redact::text(how), "stderr": stderr.map(redact::text) }),
            )?,
            Arrival::Deadline => map.serialize_entry("deadline", self.0.deadline.unwrap_or_default())?,
            Arrival::ClientQueue(Pressure::High) => map.serialize_entry("client_queue", "high")?,
            Arrival::ClientQueue(Pressure::Low) => map.serialize_entry("client_queue", "low")?,
            Arrival::Swept { generation, report } => map.serialize_entry(
                "swept",
                &json!({ "generation": generation.0, "ended": report.ended, "left": report.left }),
            )?,
            Arrival::Stop { stop, report } => map.serialize_entry("stop", &reach::of_report(stop, report))?,
            Arrival::Surveyed { session, found } => {
                map.serialize_entry("surveyed", &survey::of_found(session, found))?;
            }
            Arrival::Watched { watch, report } => {
                map.serialize_entry("watched", &watch::of_report(watch, report))?;
            }
            Arrival::PageNotOpened(why) => map.serialize_entry("page_not_opened", &redact::text(why))?,
            Arrival::Signal(number) => map.serialize_entry("signal", &number)?,
        }
        map.end()
    }
}

impl Serialize for Out<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.0 {
            Departure::ToClient(line) => {
                message(&mut map, ["client", "client_unread"], line.as_bytes())?;
            }
            Departure::ToCodex { generation, line } => {
                message(&mut map, ["codex", "codex_unread"], line.as_bytes())?;
                map.serialize_entry("generation", &generation.0)?;
            }
            Departure::StartCodex(generation) => map.serialize_entry("start_codex", &generation.0)?,
            Departure::EndCodex(generation) => map.serialize_entry("end_codex", &generation.0)?,
            Departure::Sweep { generation, threads, whole } => {
                let threads: Vec<&str> = threads.iter().map(|thread| thread.as_str()).collect();
                map.serialize_entry(
                    "sweep",
                    &json!({ "generation": generation.0, "threads": threads, "whole": whole }),
                )?;
            }
            Departure::Stop { stop, act } => map.serialize_entry("stop", &reach::of_act(*stop, act))?,
            Departure::Survey { session, thread } => {
                let told = json!({ "session": session.as_str(), "thread": thread.as_str() });
                map.serialize_entry("survey", &told)?;
            }
            Departure::Watch { watch, act } => {
                map.serialize_entry("watch", &watch::of_act(*watch, act))?;
            }
            Departure::OpenPage(url) => map.serialize_entry("open_page", &redact::text(url))?,
            Departure::Exit { code } => map.serialize_entry("exit", code)?,
            Departure::Noted(note) => map.serialize_entry("noted", &note_text(note))?,
        }
        map.end()
    }
}

// The names are for JSON, and for what is none: of that nothing is written but what is wrong with it,
// because it cannot be searched for secrets.
fn message<M: SerializeMap>(map: &mut M, names: [&str; 2], line: &[u8]) -> Result<(), M::Error> {
    match redact::line(line) {
        Ok(clean) => {
            let raw: &RawValue = serde_json::from_str(&clean).expect("redaction gives JSON for JSON");
            map.serialize_entry(names[0], raw)
        }
        Err(Unread { bytes, wrong }) => {
            let told = match wrong {
                Wrong::NotUtf8 => json!({ "bytes": bytes, "wrong": "not UTF-8" }),
                Wrong::NotJson { column } => json!({ "bytes": bytes, "wrong": "no JSON", "column": column }),
                Wrong::Value => json!({ "bytes": bytes, "wrong": "no value" }),
            };
            map.serialize_entry(names[1], &told)
        }
    }
}
