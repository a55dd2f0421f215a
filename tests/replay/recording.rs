//! A recording of the real Codex, cut where somebody had to act before it went on.
//!
//! Line format: `{t, dir: "->" | "<-" | "--", conn, msg}`, `t` in seconds; only the first connection counts.

use serde_json::Value;
use std::path::{Path, PathBuf};

/// What one thread of Codex did.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    /// The answer to `thread/start`.
    pub(crate) opened: Value,
    pub(crate) segments: Vec<Segment>,
}

/// What Codex did after somebody acted.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) gate: Gate,
    /// What Codex answered to the act, if it was a request.
    pub(crate) answer: Option<Value>,
    /// Milliseconds after the act, and the line.
    pub(crate) lines: Vec<(u64, Value)>,
}

/// An act that Codex waited for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Gate {
    ThreadStart,
    TurnStart,
    Interrupt {
        turn: String,
    },
    Terminate {
        process: String,
    },
    Clean,
    /// An answer to a request of Codex's, by what was decided.
    Answer {
        request: Value,
        decision: Value,
    },
}

impl Recording {
    pub(crate) fn read(name: &str) -> Self {
        let path = dir().join(format!("{name}.jsonl"));
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let lines =
            text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a recording is JSON lines"));
        Self::cut(lines)
    }

    /// A thread that nothing was recorded of.
    pub(crate) fn blank(opened: Value) -> Self {
        Self { opened, segments: Vec::new() }
    }

    /// Without its first turns and all that belongs to them.
    pub(crate) fn without_first(mut self, n_turns: usize) -> Self {
        let mut n_started = 0;
        self.segments.retain(|segment| {
            n_started += usize::from(segment.gate == Gate::TurnStart);
            segment.gate == Gate::ThreadStart || n_started > n_turns
        });
        self
    }

    /// Names of the recordings that show a thread from its start.
    pub(crate) fn all() -> Vec<String> {
        let files = std::fs::read_dir(dir()).expect("recordings are part of the repository");
        let names = files.filter_map(|file| {
            let name = file.expect("a directory can be read").file_name().into_string().ok()?;
            Some(name.strip_suffix(".jsonl")?.to_owned())
        });
        let mut names: Vec<String> = names.collect();
        names.retain(|name| !Self::read(name).opened.is_null());
        names.sort();
        names
    }

    fn cut(lines: impl Iterator<Item = Value>) -> Self {
        let mut opened = Value::Null;
        let mut segments: Vec<Segment> = Vec::new();
        let mut asked: Vec<(Value, String)> = Vec::new();
        let mut since = 0.0;
        for entry in lines.filter(|entry| entry["conn"] == "c1") {
            let (message, at) = (&entry["msg"], entry["t"].as_f64().unwrap_or_default());
            let method = message["method"].as_str();
            match (entry["dir"].as_str(), method, message.get("id")) {
                // The same connection name after a restart is another process.
                (Some("->"), Some("initialize"), _) if !segments.is_empty() => break,
                (Some("->"), Some(method), Some(id)) => {
                    asked.push((id.clone(), method.to_owned()));
                    if let Some(gate) = gate(method, &message["params"]) {
                        segments.push(Segment { gate, answer: None, lines: Vec::new() });
                        since = at;
                    }
                }
                (Some("->"), None, Some(id)) => {
                    let gate = Gate::Answer { request: id.clone(), decision: message["result"].clone() };
                    segments.push(Segment { gate, answer: None, lines: Vec::new() });
                    since = at;
                }
                (Some("<-"), None, Some(id)) => {
                    let Some(idx) = asked.iter().position(|(asked, _)| asked == id) else { continue };
                    let (_, method) = asked.swap_remove(idx);
                    if let (Some(last), "thread/queue/add") = (segments.last_mut(), method.as_str()) {
                        let mut params = message["result"].clone();
                        params["threadId"] = opened["thread"]["id"].clone();
                        let line = serde_json::json!({"method": "played/queued", "params": params});
                        last.lines.push((((at - since) * 1000.0).max(0.0) as u64, line));
                    }
                    if method == "thread/start" && opened.is_null() {
                        opened = message["result"].clone();
                    }
                    let answered = segments.last_mut().filter(|last| last.answer.is_none());
                    if let Some(last) = answered.filter(|last| last.gate.method() == Some(method.as_str())) {
                        last.answer = Some(message.clone());
                    }
                }
                (Some("<-"), Some(_), _) => {
                    if let Some(last) = segments.last_mut() {
                        last.lines.push((((at - since) * 1000.0).max(0.0) as u64, message.clone()));
                    }
                }
                _ => {}
            }
        }
        Self { opened, segments }
    }
}

impl Gate {
    fn method(&self) -> Option<&'static str> {
        match self {
            Self::ThreadStart => Some("thread/start"),
            Self::TurnStart => Some("turn/start"),
            Self::Interrupt { .. } => Some("turn/interrupt"),
            Self::Terminate { .. } => Some("thread/backgroundTerminals/terminate"),
            Self::Clean => Some("thread/backgroundTerminals/clean"),
            Self::Answer { .. } => None,
        }
    }
}

fn gate(method: &str, params: &Value) -> Option<Gate> {
    let text = |name: &str| params[name].as_str().unwrap_or_default().to_owned();
    match method {
        "thread/start" => Some(Gate::ThreadStart),
        "turn/start" => Some(Gate::TurnStart),
        "turn/interrupt" => Some(Gate::Interrupt { turn: text("turnId") }),
        "thread/backgroundTerminals/terminate" => Some(Gate::Terminate { process: text("processId") }),
        "thread/backgroundTerminals/clean" => Some(Gate::Clean),
        _ => None,
    }
}

fn dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings")
}
