//! ACP's `session/update`, version 2 and 1, read into [`Event`]s.

mod v1;
mod v2;

use serde_json::Value;

use super::event::{End, Event};

/// The version of ACP that the demo speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    V1,
    V2,
}

/// The adapter's own key inside `_meta`.
const META: &str = "dev.appserver-acp";

impl Version {
    pub(crate) fn number(self) -> u16 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }

    /// The events of the `update` of a `session/update`; none if it says nothing that the demo shows.
    pub(crate) fn events(self, update: &Value) -> Vec<Event> {
        match self {
            Self::V1 => v1::events(update),
            Self::V2 => v2::events(update),
        }
    }

    /// What the answer to a prompt says of the state: in version 1 it ends the turn.
    pub(crate) fn prompt_answered(self, result: &Value) -> Option<Event> {
        match self {
            Self::V1 => Some(v1::turn_ended(result)),
            Self::V2 => None,
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn end(status: &Value, [code, signal]: [&str; 2], meta: &Value) -> End {
    let account = &meta[META];
    End {
        code: status[code].as_i64(),
        signal: status[signal].as_str().map(str::to_owned),
        by: account["by"].as_str().map(str::to_owned),
        reason: account["reason"].as_str().map(str::to_owned),
    }
}

fn said(update: &Value) -> Event {
    Event::Said { message: text(&update["messageId"]), text: text(&update["content"]["text"]) }
}

fn commands(update: &Value) -> Event {
    let names = update["availableCommands"].as_array().into_iter().flatten();
    Event::Commands(names.map(|it| text(&it["name"])).collect())
}

fn notice(update: &Value) -> Event {
    let title = text(&update["title"]);
    Event::Notice(match update["description"].as_str() {
        Some(description) => format!("{title}: {description}"),
        None => title,
    })
}
