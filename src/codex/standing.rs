//! Goals and queued messages as Codex describes them, in notifications and answers alike.

use super::bound::long;
use super::misfit::{Misfit, decode_json};
use super::user::decode_content;
use crate::core::codex::{CodexReply, Event};
use crate::core::goals::{Goal, GoalStatus};
use crate::core::ids::{PromptKey, ThreadId, TurnId};
use crate::core::queued::QueuedMessage;
use crate::core::update::Content;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireGoalUpdated {
    thread_id: String,
    turn_id: Option<String>,
    goal: WireGoal,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireGoal {
    objective: String,
    status: String,
    token_budget: Option<i64>,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    tokens_used: i64,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    time_used_seconds: i64,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    created_at: i64,
}

#[derive(Deserialize)]
struct WireMaybeGoal {
    goal: Option<WireGoal>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireThread {
    thread_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireQueue<'a> {
    #[serde(borrow)]
    data: Vec<WireSubmission<'a>>,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSubmission<'a> {
    id: String,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    client_user_message_id: String,
    #[serde(borrow, default, deserialize_with = "crate::codex::misfit::or_default")]
    input: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireDeleted {
    deleted: bool,
}

pub(crate) fn goal_updated(params: &RawValue) -> Result<Event, Misfit> {
    let WireGoalUpdated { thread_id, turn_id, goal: it } = decode_json(params)?;
    let it = goal(it).map_err(|misfit| misfit.under("goal"))?;
    Ok(Event::Goal { thread: ThreadId::new(thread_id), turn: turn_id.map(TurnId::new), goal: Some(it) })
}

pub(crate) fn goal_cleared(params: &RawValue) -> Result<Event, Misfit> {
    let WireThread { thread_id } = decode_json(params)?;
    Ok(Event::Goal { thread: ThreadId::new(thread_id), turn: None, goal: None })
}

pub(crate) fn queue_changed(params: &RawValue) -> Result<Event, Misfit> {
    let WireThread { thread_id } = decode_json(params)?;
    Ok(Event::QueueChanged { thread: ThreadId::new(thread_id) })
}

/// The answer to `thread/goal/get` and `thread/goal/set`.
pub(crate) fn goal_reply(result: &RawValue) -> Result<CodexReply, Misfit> {
    let WireMaybeGoal { goal: it } = decode_json(result)?;
    let it = it.map(goal).transpose().map_err(|misfit| misfit.under("goal"))?;
    Ok(CodexReply::Goal(it))
}

/// The answer to `thread/queue/list`.
pub(crate) fn queue_reply(result: &RawValue) -> Result<CodexReply, Misfit> {
    let WireQueue { data, next_cursor } = decode_json(result)?;
    let messages = data.into_iter().enumerate().map(|(idx, it)| {
        let content = decode_content(&it.input).map_err(|misfit| misfit.under(&format!("data[{idx}]")))?;
        let key = PromptKey::new(it.client_user_message_id);
        Ok(QueuedMessage { id: it.id, key, text: long(text(&content)) })
    });
    Ok(CodexReply::Queued { messages: messages.collect::<Result<_, _>>()?, next: next_cursor })
}

/// The answer to `thread/queue/delete`.
pub(crate) fn deleted_reply(result: &RawValue) -> Result<CodexReply, Misfit> {
    let WireDeleted { deleted } = decode_json(result)?;
    Ok(CodexReply::Deleted(deleted))
}

fn goal(wire: WireGoal) -> Result<Goal, Misfit> {
    let status = match wire.status.as_str() {
        "active" => GoalStatus::Active,
        "paused" => GoalStatus::Paused,
        "blocked" => GoalStatus::Blocked,
        "usageLimited" => GoalStatus::UsageLimited,
        "budgetLimited" => GoalStatus::BudgetLimited,
        "complete" => GoalStatus::Complete,
        _ => return Err(Misfit::at("status")),
    };
    Ok(Goal {
        objective: long(wire.objective),
        status,
        token_budget: wire.token_budget,
        tokens_used: wire.tokens_used,
        seconds_used: wire.time_used_seconds,
        created_at: wire.created_at,
    })
}

fn text(content: &[Content]) -> String {
    let parts = content.iter().map(|part| match part {
        Content::Text(text) => text.as_str(),
        Content::Link { name, .. } => name.as_str(),
        Content::Image { .. } => "[image]",
    });
    parts.collect::<Vec<_>>().join("\n")
}
