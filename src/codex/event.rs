//! Notifications of Codex as events.

mod delta;
mod hook;
mod limits;
pub(super) mod notice;
mod review;
mod thread;

use super::account;
use super::diff::{WireChange, decode_changes};
use super::inventory::is_ignored;
use super::item::{Decoded, decode_item};
use super::misfit::{Misfit, decode_json};
use super::standing;
use crate::core::codex::{Event, Item, ItemStatus};
use crate::core::ids::{ItemId, ProcessId, ThreadId, TurnId};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Largest settings that are believed, in bytes: they are names and numbers.
const SETTINGS_MAX: usize = 1 << 20;

/// The event of one notification; `Unmapped` for a name, or a kind of item, that is new.
///
/// # Errors
/// The first field that does not fit.
pub(crate) fn decode_event(method: &str, params: Option<&RawValue>) -> Result<Event, Misfit> {
    if is_ignored(method) {
        return Ok(Event::Ignored { method: method.to_owned() });
    }
    let Some(params) = params else {
        return Ok(Event::Unmapped { method: method.to_owned() });
    };
    match method {
        "item/commandExecution/outputDelta" => delta::output(params),
        "item/agentMessage/delta" => delta::agent(params),
        "item/plan/delta" => delta::plan(params),
        "item/reasoning/summaryTextDelta" => delta::summary(params),
        "item/reasoning/textDelta" => delta::reasoning(params),
        "item/commandExecution/terminalInteraction" => delta::input(params),
        "item/mcpToolCall/progress" => delta::progress(params),
        "item/started" => item(method, params, ItemStatus::InProgress, |thread, turn, item| {
            Event::ItemStarted { thread, turn, item }
        }),
        "item/completed" => item(method, params, ItemStatus::Completed, |thread, turn, item| {
            Event::ItemCompleted { thread, turn, item }
        }),
        "item/fileChange/patchUpdated" => decode_json(params).map(patch),
        "rawResponseItem/completed" => raw_output(method, decode_json(params)?),
        "skills/changed" => Ok(Event::SkillsChanged),
        "turn/started" => thread::turn_started(params),
        "turn/completed" => thread::turn_completed(params),
        "turn/plan/updated" => thread::plan(params),
        "thread/status/changed" => thread::status(params),
        "thread/closed" => thread::closed(params),
        "thread/archived" => thread::archived(params),
        "thread/deleted" => thread::deleted(params),
        "thread/name/updated" => thread::renamed(params),
        "thread/settings/updated" if params.get().len() > SETTINGS_MAX => Err(Misfit::at("its size")),
        "thread/settings/updated" => thread::settings(params),
        "thread/tokenUsage/updated" => thread::token_usage(params),
        "thread/goal/updated" => standing::goal_updated(params),
        "thread/goal/cleared" => standing::goal_cleared(params),
        "thread/queue/changed" => standing::queue_changed(params),
        "serverRequest/resolved" => thread::resolved(params),
        "hook/started" => hook::started(method, params),
        "hook/completed" => hook::completed(params),
        "item/autoApprovalReview/started" => review::started(params),
        "item/autoApprovalReview/completed" => review::completed(params),
        "account/rateLimits/updated" => limits::updated(params),
        "error" => notice::error(params),
        "warning" => notice::warning(params),
        "guardianWarning" => notice::guardian_warning(params),
        "configWarning" => notice::config_warning(params),
        "account/login/completed" => account::completed(params),
        "account/updated" => account::updated(params),
        "mcpServer/startupStatus/updated" => notice::tool_server(method, params),
        "model/rerouted" => notice::rerouted(params),
        _ => Ok(Event::Unmapped { method: method.to_owned() }),
    }
}

/// The thread of a notification that `decode_event` refused, where it tells a start or an end.
pub(crate) fn thread_of(method: &str, params: Option<&RawValue>) -> Option<ThreadId> {
    match method {
        "item/started" | "item/completed" | "turn/completed" => named(params?),
        _ => None,
    }
}

/// The thread that `params` names, whatever else is in them.
pub(crate) fn named(params: &RawValue) -> Option<ThreadId> {
    thread::named(params)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireItemEvent<'a> {
    thread_id: String,
    turn_id: String,
    #[serde(borrow)]
    item: &'a RawValue,
}

fn item(
    method: &str,
    params: &RawValue,
    unstated: ItemStatus,
    event: fn(ThreadId, TurnId, Item) -> Event,
) -> Result<Event, Misfit> {
    let WireItemEvent { thread_id, turn_id, item } = decode_json(params)?;
    Ok(match decode_item(item, unstated).map_err(|it| it.under("item"))? {
        Decoded::Item(item) => event(ThreadId::new(thread_id), TurnId::new(turn_id), item),
        Decoded::Unknown { kind, .. } => Event::Unmapped { method: format!("{method} {kind}") },
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePatch {
    thread_id: String,
    item_id: String,
    changes: Vec<WireChange>,
}

fn patch(wire: WirePatch) -> Event {
    let WirePatch { thread_id, item_id, changes } = wire;
    let (changes, n_more) = decode_changes(changes);
    Event::Patch { thread: ThreadId::new(thread_id), item: ItemId::new(item_id), changes, n_more }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireRawItem<'a> {
    thread_id: String,
    turn_id: String,
    #[serde(borrow)]
    item: &'a RawValue,
}

#[derive(Deserialize)]
struct WireResponseItem<'a> {
    #[serde(rename = "type")]
    kind: String,
    call_id: Option<String>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    name: Option<String>,
    arguments: Option<String>,
}

/// Arguments of the tool that writes to a command or asks for its output.
#[derive(Deserialize)]
struct WireStdin {
    session_id: u64,
}

#[derive(Deserialize)]
struct WireOutputPart {
    text: Option<String>,
}

// Everything else the model says or is told comes as an item of its own.
fn raw_output(method: &str, wire: WireRawItem<'_>) -> Result<Event, Misfit> {
    let WireRawItem { thread_id, turn_id, item } = wire;
    let item: WireResponseItem<'_> = decode_json(item).map_err(|it| it.under("item"))?;
    if let ("function_call", Some("write_stdin"), Some(arguments)) =
        (item.kind.as_str(), item.name.as_deref(), &item.arguments)
        && let Ok(WireStdin { session_id }) = serde_json::from_str(arguments)
    {
        let process = ProcessId::new(session_id.to_string());
        return Ok(Event::LookedAt { thread: ThreadId::new(thread_id), process });
    }
    let is_output = matches!(item.kind.as_str(), "function_call_output" | "custom_tool_call_output");
    let (true, Some(call_id), Some(output)) = (is_output, item.call_id, item.output) else {
        return Ok(Event::Ignored { method: method.to_owned() });
    };
    let text: Option<String> = match output.get().as_bytes().first() {
        Some(b'"') => serde_json::from_str(output.get()).map(Some),
        Some(b'[') => serde_json::from_str::<Vec<WireOutputPart>>(output.get())
            .map(|parts| parts.into_iter().filter_map(|it| it.text).reduce(|all, it| all + &it)),
        _ => Ok(None),
    }
    .map_err(|_| Misfit::at("item.output"))?;
    let Some(text) = text else {
        return Ok(Event::Ignored { method: method.to_owned() });
    };
    Ok(Event::RawOutput {
        thread: ThreadId::new(thread_id),
        turn: TurnId::new(turn_id),
        item: ItemId::new(call_id),
        text,
    })
}
