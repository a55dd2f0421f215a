//! The members of a step that tell of stopping a command. The shape is described in `Step`.

use super::step::{StepError, number};
use crate::core::effect::StopAct;
use crate::core::ids::StopId;
use crate::core::input::{Gentle, StopReport};
use serde_json::{Value, json};

/// `out.stop`.
pub(super) fn of_act(stop: StopId, act: &StopAct) -> Value {
    match act {
        StopAct::Ask { thread, item } => {
            json!({ "id": stop.0, "act": "ask", "thread": thread.as_str(), "item": item.as_str() })
        }
        StopAct::Finish => json!({ "id": stop.0, "act": "finish" }),
        StopAct::Forget => json!({ "id": stop.0, "act": "forget" }),
    }
}

/// `in.stop`.
pub(super) fn of_report(stop: StopId, report: StopReport) -> Value {
    match report {
        StopReport::Signalled { with, members } => {
            json!({ "id": stop.0, "report": "signalled", "with": name(with), "members": members })
        }
        StopReport::NotFound => json!({ "id": stop.0, "report": "not_found" }),
        StopReport::Gone { escaped, killed } => {
            json!({ "id": stop.0, "report": "gone", "escaped": escaped, "killed": killed })
        }
        StopReport::Left { left, escaped, killed } => {
            json!({ "id": stop.0, "report": "left", "left": left, "escaped": escaped, "killed": killed })
        }
    }
}

/// `in.stop`, read back.
///
/// # Errors
/// `StepError::Shape` if it is none.
pub(super) fn report(value: &Value) -> Result<(StopId, StopReport), StepError> {
    let count = |name: &str| number(&value[name]);
    let report = match value["report"].as_str() {
        Some("signalled") => {
            StopReport::Signalled { with: gentle(&value["with"])?, members: count("members")? }
        }
        Some("not_found") => StopReport::NotFound,
        Some("gone") => StopReport::Gone { escaped: count("escaped")?, killed: count("killed")? },
        Some("left") => {
            StopReport::Left { left: count("left")?, escaped: count("escaped")?, killed: count("killed")? }
        }
        Some(_) | None => return Err(StepError::Shape("a stop without a known report")),
    };
    Ok((StopId(count("id")?), report))
}

fn name(gentle: Gentle) -> &'static str {
    match gentle {
        Gentle::Int => "SIGINT",
        Gentle::Term => "SIGTERM",
    }
}

fn gentle(value: &Value) -> Result<Gentle, StepError> {
    match value.as_str() {
        Some("SIGINT") => Ok(Gentle::Int),
        Some("SIGTERM") => Ok(Gentle::Term),
        Some(_) | None => Err(StepError::Shape("a stop with an unknown signal")),
    }
}
