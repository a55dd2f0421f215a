//! Life of threads and turns.

use crate::codex::bound::{Room, bounded, json_len};
use crate::codex::misfit::{Misfit, decode_json};
use crate::codex::preset::{WireProfile, decode_collaboration, decode_preset, decode_rules};
use crate::codex::turn::WireTurn;
use crate::core::codex::{Event, Holds, ThreadStatus};
use crate::core::ids::{RequestId, ThreadId, TurnId};
use crate::core::request::Shelf;
use crate::core::update::{PlanEntry, PlanStatus};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireThread {
    thread_id: String,
}

/// The thread that `params` names, whatever else is in them.
pub(super) fn named(params: &RawValue) -> Option<ThreadId> {
    // What does not even name its thread tells nobody anything.
    decode_json::<WireThread>(params).ok().map(|it| ThreadId::new(it.thread_id))
}

pub(super) fn closed(params: &RawValue) -> Result<Event, Misfit> {
    let WireThread { thread_id } = decode_json(params)?;
    Ok(Event::ThreadClosed { thread: ThreadId::new(thread_id) })
}

pub(super) fn archived(params: &RawValue) -> Result<Event, Misfit> {
    removed(params, Shelf::Archive)
}

pub(super) fn deleted(params: &RawValue) -> Result<Event, Misfit> {
    removed(params, Shelf::Deleted)
}

fn removed(params: &RawValue, to: Shelf) -> Result<Event, Misfit> {
    let WireThread { thread_id } = decode_json(params)?;
    Ok(Event::ThreadRemoved { thread: ThreadId::new(thread_id), to })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireRenamed {
    thread_id: String,
    thread_name: Option<String>,
}

pub(super) fn renamed(params: &RawValue) -> Result<Event, Misfit> {
    let WireRenamed { thread_id, thread_name } = decode_json(params)?;
    Ok(Event::ThreadRenamed { thread: ThreadId::new(thread_id), name: thread_name.map(bounded) })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireStatusChanged {
    thread_id: String,
    status: WireStatus,
}

#[derive(Deserialize)]
struct WireStatus {
    #[serde(rename = "type")]
    kind: String,
}

pub(super) fn status(params: &RawValue) -> Result<Event, Misfit> {
    let WireStatusChanged { thread_id, status } = decode_json(params)?;
    let status = match status.kind.as_str() {
        "notLoaded" => ThreadStatus::NotLoaded,
        "idle" => ThreadStatus::Idle,
        "systemError" => ThreadStatus::SystemError,
        "active" => ThreadStatus::Active,
        _ => return Err(Misfit::at("status.type")),
    };
    Ok(Event::ThreadStatus { thread: ThreadId::new(thread_id), status })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSettingsUpdated<'a> {
    thread_id: String,
    #[serde(borrow)]
    thread_settings: WireSettings<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSettings<'a> {
    model: String,
    effort: Option<String>,
    service_tier: Option<String>,
    active_permission_profile: Option<WireProfile>,
    #[serde(borrow)]
    approval_policy: Option<&'a RawValue>,
    #[serde(borrow)]
    sandbox_policy: Option<&'a RawValue>,
    #[serde(borrow)]
    collaboration_mode: Option<&'a RawValue>,
}

pub(super) fn settings(params: &RawValue) -> Result<Event, Misfit> {
    let WireSettingsUpdated { thread_id, thread_settings: wire } = decode_json(params)?;
    let holds = Holds {
        model: wire.model,
        effort: wire.effort,
        preset: decode_preset(wire.approval_policy, wire.sandbox_policy),
        profile: wire.active_permission_profile.and_then(WireProfile::configured),
        tier: wire.service_tier,
        rules: decode_rules(wire.approval_policy, wire.sandbox_policy),
        collaboration: decode_collaboration(wire.collaboration_mode),
    };
    Ok(Event::Settings { thread: ThreadId::new(thread_id), holds })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireUsageUpdated {
    thread_id: String,
    turn_id: String,
    token_usage: WireUsage,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireUsage {
    last: WireTokens,
    model_context_window: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireTokens {
    total_tokens: i64,
}

pub(super) fn token_usage(params: &RawValue) -> Result<Event, Misfit> {
    let WireUsageUpdated { thread_id, turn_id, token_usage } = decode_json(params)?;
    Ok(Event::TokenUsage {
        thread: ThreadId::new(thread_id),
        turn: TurnId::new(turn_id),
        // `last` is the context of the last request; `total` adds up all of them.
        used: u64::try_from(token_usage.last.total_tokens).unwrap_or(0),
        window: token_usage.model_context_window.and_then(|it| u64::try_from(it).ok()),
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireTurnEvent<'a> {
    thread_id: String,
    #[serde(borrow)]
    turn: WireTurn<'a>,
}

pub(super) fn turn_started(params: &RawValue) -> Result<Event, Misfit> {
    let WireTurnEvent { thread_id, turn } = decode_json(params)?;
    Ok(Event::TurnStarted { thread: ThreadId::new(thread_id), turn: turn.id(), root: turn.root() })
}

pub(super) fn turn_completed(params: &RawValue) -> Result<Event, Misfit> {
    let WireTurnEvent { thread_id, turn } = decode_json(params)?;
    Ok(Event::TurnCompleted { thread: ThreadId::new(thread_id), turn: turn.id(), end: turn.end() })
}

/// Most that the steps of a plan take in a line, in bytes.
const PLAN_MAX: usize = 4 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePlan {
    thread_id: String,
    explanation: Option<String>,
    plan: Vec<WireStep>,
}

#[derive(Deserialize)]
struct WireStep {
    step: String,
    status: Option<String>,
}

pub(super) fn plan(params: &RawValue) -> Result<Event, Misfit> {
    let WirePlan { thread_id, explanation, plan } = decode_json(params)?;
    let n_steps = plan.len();
    let mut room = Room(PLAN_MAX);
    let fits = plan.into_iter().take_while(|it| room.takes(json_len(&it.step)));
    let mut entries: Vec<PlanEntry> = fits.map(entry).collect();
    if entries.len() < n_steps {
        let text = format!("[{} more steps left out]", n_steps - entries.len());
        entries.push(PlanEntry { text, status: PlanStatus::Pending });
    }
    let thread = ThreadId::new(thread_id);
    Ok(Event::Plan { thread, reason: explanation.map(bounded), entries })
}

fn entry(WireStep { step, status }: WireStep) -> PlanEntry {
    PlanEntry {
        text: step,
        status: match status.as_deref() {
            Some("inProgress") => PlanStatus::InProgress,
            Some("completed") => PlanStatus::Completed,
            _ => PlanStatus::Pending,
        },
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireResolved<'a> {
    thread_id: String,
    #[serde(borrow)]
    request_id: &'a RawValue,
}

pub(super) fn resolved(params: &RawValue) -> Result<Event, Misfit> {
    let WireResolved { thread_id, request_id } = decode_json(params)?;
    let number = serde_json::from_str(request_id.get()).map(RequestId::Number);
    let request = number
        .or_else(|_| serde_json::from_str::<String>(request_id.get()).map(|it| RequestId::Text(it.into())))
        .map_err(|_| Misfit::at("requestId"))?;
    Ok(Event::RequestResolved { thread: ThreadId::new(thread_id), request })
}
