//! What we say under `_meta`: one reverse-DNS key, documented field by field in docs/META.md.

use super::time;
use crate::core::ids::ToolCallId;
use crate::core::update::{EndedBy, ExitAccount};
use crate::core::vitals::Vitals;
use serde_json::{Map, Value, json};

/// The key of everything of ours inside an ACP `_meta`.
pub const KEY: &str = "dev.appserver-acp";

/// How a process ended, beyond ACP's `exitStatus`; `None` where there is nothing to add.
pub(crate) fn exit(account: &ExitAccount) -> Option<Map<String, Value>> {
    if *account == ExitAccount::default() {
        return None;
    }
    let mut fields = Map::new();
    fields.insert("by".into(), ended_by(account.by).into());
    if let Some(reason) = account.reason {
        fields.insert("reason".into(), reason.into());
    }
    if let Some(code) = account.raw_code {
        fields.insert("rawCode".into(), code.into());
    }
    if let Some(millis) = account.duration_ms {
        fields.insert("durationMs".into(), millis.into());
    }
    if account.inferred {
        fields.insert("inferred".into(), true.into());
    }
    for (name, count) in [("escaped", account.escaped), ("killed", account.killed), ("left", account.left)] {
        if count > 0 {
            fields.insert(name.into(), count.into());
        }
    }
    if let Some(name) = account.looks_like {
        fields.insert("looksLike".into(), name.into());
    }
    Some(under_key(Value::Object(fields)))
}

/// How the processes of a terminal do.
pub(crate) fn vitals(vitals: &Vitals) -> Map<String, Value> {
    let mut fields = json!({
        "pid": vitals.pid,
        "processes": vitals.processes,
        "cpuPercent": vitals.cpu_percent,
        "memoryBytes": vitals.memory,
    });
    let started = i64::try_from(vitals.started).ok().filter(|at| *at > 0);
    if let Some(at) = started.and_then(time::iso8601) {
        fields["startedAt"] = at.into();
    }
    under_key(fields)
}

/// The tool calls, of terminals and without, that go on after a v1 prompt's answer; an empty list says that none does.
pub(crate) fn background(calls: &[ToolCallId]) -> Map<String, Value> {
    let ids: Vec<_> = calls.iter().map(ToolCallId::as_str).collect();
    under_key(json!({ "background": ids }))
}

fn under_key(value: Value) -> Map<String, Value> {
    Map::from_iter([(KEY.to_owned(), value)])
}

fn ended_by(by: EndedBy) -> &'static str {
    match by {
        EndedBy::Itself => "itself",
        EndedBy::Client => "client",
        EndedBy::Cancel => "cancel",
        EndedBy::Close => "close",
        EndedBy::Codex => "codex",
        EndedBy::AppServerLost => "appServerLost",
    }
}
