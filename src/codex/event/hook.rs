//! Hooks of the user, put into words.

use crate::codex::bound::bounded;
use crate::codex::misfit::{Misfit, decode_json};
use crate::codex::place::one_line;
use crate::codex::said::said;
use crate::codex::tool::plain;
use crate::core::codex::{Event, HOOK, ItemStatus, ToolItem};
use crate::core::ids::{ItemId, ThreadId, TurnId};
use crate::core::update::ToolKind;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireHook {
    thread_id: String,
    turn_id: Option<String>,
    run: WireRun,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireRun {
    id: String,
    event_name: String,
    status: String,
    status_message: Option<String>,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    entries: Vec<WireEntry>,
}

#[derive(Deserialize)]
struct WireEntry {
    kind: String,
    text: String,
}

/// `hook/started`. One without a message of its author is shown only if it has something to say in the end.
pub(super) fn started(method: &str, params: &RawValue) -> Result<Event, Misfit> {
    let WireHook { thread_id, turn_id, run } = decode_json(params)?;
    let (Some(turn), Some(_)) = (turn_id, &run.status_message) else {
        return Ok(Event::Ignored { method: method.to_owned() });
    };
    let item = item_id(&run);
    let tool = hook(run, ItemStatus::InProgress);
    Ok(Event::AsideStarted { thread: ThreadId::new(thread_id), turn: TurnId::new(turn), item, tool })
}

/// `hook/completed`.
pub(super) fn completed(params: &RawValue) -> Result<Event, Misfit> {
    let WireHook { thread_id, turn_id, run } = decode_json(params)?;
    let item = item_id(&run);
    let tool = hook(run, ItemStatus::Completed);
    Ok(Event::AsideEnded { thread: ThreadId::new(thread_id), turn: turn_id.map(TurnId::new), item, tool })
}

fn item_id(run: &WireRun) -> ItemId {
    ItemId::new(format!("hook:{}", run.id))
}

fn hook(run: WireRun, unstated: ItemStatus) -> ToolItem {
    let when = match run.event_name.as_str() {
        "preModelRequest" => "before a request to the model",
        "postModelRequest" => "after a request to the model",
        "preToolUse" => "before a tool",
        "permissionRequest" => "on a permission request",
        "postToolUse" => "after a tool",
        "preCompact" => "before a compaction",
        "postCompact" => "after a compaction",
        "sessionStart" => "at the start of the session",
        "sessionEnd" => "at the end of the session",
        "userPromptSubmit" => "on a prompt",
        "subagentStart" => "at the start of a subagent",
        "subagentStop" => "at the end of a subagent",
        "stop" => "at the end of the turn",
        "interrupt" => "on an interrupt",
        other => other,
    };
    let (status, verdict) = match run.status.as_str() {
        "running" => (ItemStatus::InProgress, ""),
        "completed" => (ItemStatus::Completed, ""),
        "failed" => (ItemStatus::Failed, " failed"),
        "blocked" => (ItemStatus::Failed, " blocked it"),
        "stopped" => (ItemStatus::Failed, " stopped the turn"),
        _ => (unstated, ""),
    };
    let about = run.status_message.map(|it| format!(": {it}")).unwrap_or_default();
    let lines: Vec<_> = run.entries.iter().map(|it| said(&format!("{}: {}", it.kind, it.text))).collect();
    ToolItem {
        status,
        text: (!lines.is_empty()).then(|| bounded(lines.join("\n\n"))),
        ..plain(HOOK, one_line(&format!("Hook {when}{verdict}{about}")), ToolKind::Other, unstated)
    }
}
