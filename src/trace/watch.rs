//! The members of a step that tell of watching a command. The shape is described in `Step`.

use super::step::{StepError, number};
use crate::core::ids::WatchId;
use crate::core::vitals::{Vitals, WatchAct, WatchReport};
use serde_json::{Value, json};

/// `out.watch`.
pub(super) fn of_act(watch: WatchId, act: &WatchAct) -> Value {
    match act {
        WatchAct::Begin { thread, item } => {
            json!({ "id": watch.0, "act": "begin", "thread": thread.as_str(), "item": item.as_str() })
        }
        WatchAct::End => json!({ "id": watch.0, "act": "end" }),
    }
}

/// `in.watched`.
pub(super) fn of_report(watch: WatchId, report: WatchReport) -> Value {
    match report {
        WatchReport::Vitals(it) => json!({
            "id": watch.0, "report": "vitals", "pid": it.pid, "processes": it.processes,
            "cpu_percent": it.cpu_percent, "memory": it.memory, "started": it.started,
        }),
        WatchReport::Ended => json!({ "id": watch.0, "report": "ended" }),
        WatchReport::NotFound => json!({ "id": watch.0, "report": "not_found" }),
    }
}

/// `in.watched`, read back.
///
/// # Errors
/// `StepError::Shape` if it is none.
pub(super) fn report(value: &Value) -> Result<(WatchId, WatchReport), StepError> {
    let large = |name: &str| value[name].as_u64().ok_or(StepError::Shape("a number is missing"));
    let report = match value["report"].as_str() {
        Some("vitals") => WatchReport::Vitals(Vitals {
            pid: number(&value["pid"])?,
            processes: number(&value["processes"])?,
            cpu_percent: number(&value["cpu_percent"])?,
            memory: large("memory")?,
            started: large("started")?,
        }),
        Some("ended") => WatchReport::Ended,
        Some("not_found") => WatchReport::NotFound,
        Some(_) | None => return Err(StepError::Shape("a watch without a known report")),
    };
    Ok((WatchId(number(&value["id"])?), report))
}
