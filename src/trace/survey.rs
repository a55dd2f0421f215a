//! The member of a step that tells what runs. The shape is described in `Step`.

use super::step::{StepError, number, text_of};
use crate::core::ids::{ItemId, SessionId};
use crate::core::input::Found;
use crate::redact;
use serde_json::{Value, json};

/// `in.surveyed`.
pub(super) fn of_found(session: &SessionId, found: &[Found]) -> Value {
    let found: Vec<Value> = found
        .iter()
        .map(|it| {
            json!({ "item": it.item.as_str(), "pid": it.pid, "processes": it.processes,
                "cpu_percent": it.cpu_percent, "memory": it.memory, "age": it.age,
                "line": redact::text(&it.line) })
        })
        .collect();
    json!({ "session": session.as_str(), "found": found })
}

/// `in.surveyed`, read back.
///
/// # Errors
/// `StepError::Shape` if it is none.
pub(super) fn found(value: &Value) -> Result<(SessionId, Vec<Found>), StepError> {
    let none = StepError::Shape("a survey without what it found");
    let found = value["found"].as_array().ok_or(none)?.iter().map(one).collect::<Result<_, _>>()?;
    Ok((SessionId::new(text_of(&value["session"])?), found))
}

fn one(value: &Value) -> Result<Found, StepError> {
    let large = |name: &str| value[name].as_u64().ok_or(StepError::Shape("a number is missing"));
    Ok(Found {
        item: ItemId::new(text_of(&value["item"])?),
        pid: number(&value["pid"])?,
        processes: number(&value["processes"])?,
        cpu_percent: number(&value["cpu_percent"])?,
        memory: large("memory")?,
        age: large("age")?,
        line: text_of(&value["line"])?,
    })
}
