//! Codex's answers to our requests, read by the method that was asked.

use super::account::{decode_account, decode_login};
use super::bound::{Room, bounded, json_len, long};
use super::inquiry::decode_told;
use super::item::{Decoded, decode_item};
use super::misfit::{Misfit, decode_json};
use super::place::one_line;
use super::preset::{WireProfile, decode_collaboration, decode_preset, decode_rules};
use super::standing;
use super::turn::WireTurn;
use crate::core::codex::{
    CodexReply, Holds, Item, ItemKind, ItemStatus, LiveTerminal, Profile, ThreadOpened,
};
use crate::core::ids::{ItemId, ProcessId, ThreadId, TurnId};
use crate::core::kept::{HistoryItem, HistoryTurn, Keeping};
use crate::core::models::{Model, Tier};
use crate::core::request::ThreadEntry;
use crate::core::subagents::collab::{Descent, task_name};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Largest list of choices and names that is believed, in bytes: the client gets all of it in one line.
const LIST_MAX: usize = 1 << 20;
const LISTS: [&str; 5] =
    ["model/list", "permissionProfile/list", "skills/list", "account/read", "account/login/start"];

/// Most that the threads of one page take in a line, in bytes.
const THREADS_MAX: usize = 8 << 20;

/// The answer to a request of `method`.
///
/// # Errors
/// The first field that does not fit.
pub(crate) fn decode_reply(method: &str, result: &RawValue) -> Result<CodexReply, Misfit> {
    if result.get().len() > LIST_MAX && LISTS.contains(&method) {
        return Err(Misfit::at("its size"));
    }
    match method {
        "initialize" => {
            let WireInitialized { user_agent } = decode_json(result)?;
            Ok(CodexReply::Initialized { user_agent })
        }
        "thread/start" | "thread/resume" | "thread/fork" => decode_json(result).map(opened),
        "thread/list" => {
            let WirePage::<WireThread<'_>> { data, next_cursor } = decode_json(result)?;
            let threads: Vec<ThreadEntry> = data.into_iter().map(entry).collect();
            let mut room = Room(THREADS_MAX);
            let title = |it: &ThreadEntry| it.title.as_deref().map_or(0, json_len);
            match threads.iter().all(|it| room.takes(json_len(&it.cwd) + title(it))) {
                true => Ok(CodexReply::Threads { threads, next: next_cursor }),
                false => Err(Misfit::at("its size")),
            }
        }
        "thread/read" => {
            let WireRead { thread } = decode_json(result)?;
            Ok(CodexReply::Descent(descent(thread)))
        }
        "thread/items/list" => {
            let WirePage::<WireEntry<'_>> { data, next_cursor } = decode_json(result)?;
            let items = data.into_iter().enumerate().map(history_item).collect::<Result<_, _>>()?;
            Ok(CodexReply::Items { items, next: next_cursor })
        }
        "thread/turns/list" => {
            let WirePage::<WireWholeTurn<'_>> { data, next_cursor } = decode_json(result)?;
            let turns = data.into_iter().enumerate().map(history_turn).collect::<Result<_, _>>()?;
            Ok(CodexReply::Turns { turns, next: next_cursor })
        }
        "turn/start" => {
            let WireTurnStarted { turn } = decode_json(result)?;
            Ok(CodexReply::Turn(turn.id()))
        }
        "turn/steer" => {
            let WireSteered { turn_id } = decode_json(result)?;
            Ok(CodexReply::Turn(TurnId::new(turn_id)))
        }
        "thread/backgroundTerminals/list" => {
            let WirePage::<WireTerminal> { data, next_cursor } = decode_json(result)?;
            Ok(CodexReply::Terminals {
                terminals: data.into_iter().map(terminal).collect(),
                next: next_cursor,
            })
        }
        "thread/backgroundTerminals/terminate" => {
            let WireTerminated { terminated } = decode_json(result)?;
            Ok(CodexReply::Terminated(terminated))
        }
        "model/list" => {
            let WirePage::<WireModel> { data, next_cursor } = decode_json(result)?;
            Ok(CodexReply::Models { models: data.into_iter().map(model).collect(), next: next_cursor })
        }
        "permissionProfile/list" => {
            let WirePage::<WireSummary> { data, .. } = decode_json(result)?;
            Ok(CodexReply::Profiles(data.into_iter().filter_map(profile).collect()))
        }
        "thread/goal/get" | "thread/goal/set" => standing::goal_reply(result),
        "thread/goal/clear" => Ok(CodexReply::Goal(None)),
        "thread/queue/list" => standing::queue_reply(result),
        "thread/queue/delete" => standing::deleted_reply(result),
        "account/read" => decode_account(result),
        "account/login/start" => decode_login(result),
        "fs/getMetadata" => {
            let WireMetadata { is_directory } = decode_json(result)?;
            Ok(CodexReply::LookedAt { is_directory })
        }
        _ => Ok(decode_told(method, result)?.unwrap_or(CodexReply::Done)),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMetadata {
    is_directory: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireInitialized {
    user_agent: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePage<T> {
    data: Vec<T>,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireThread<'a> {
    id: String,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    cwd: String,
    name: Option<String>,
    preview: Option<String>,
    updated_at: Option<i64>,
    status: Option<WireStatus>,
    history_mode: Option<String>,
    agent_nickname: Option<String>,
    #[serde(borrow)]
    source: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireStatus {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireOpened<'a> {
    #[serde(borrow)]
    thread: WireThread<'a>,
    cwd: String,
    model: String,
    reasoning_effort: Option<String>,
    #[serde(borrow)]
    approval_policy: Option<&'a RawValue>,
    #[serde(borrow)]
    sandbox: Option<&'a RawValue>,
    #[serde(borrow)]
    collaboration_mode: Option<&'a RawValue>,
    active_permission_profile: Option<WireProfile>,
    service_tier: Option<String>,
    #[serde(borrow)]
    initial_turns_page: Option<WireTurns<'a>>,
}

#[derive(Deserialize)]
struct WireTurns<'a> {
    #[serde(borrow)]
    data: Vec<WireTurn<'a>>,
}

fn opened(wire: WireOpened<'_>) -> CodexReply {
    let newest = wire.initial_turns_page.and_then(|page| page.data.into_iter().next());
    let turn = newest.as_ref().filter(|it| it.runs()).map(WireTurn::id);
    CodexReply::ThreadOpened(ThreadOpened {
        title: title(&wire.thread),
        keeping: keeping(&wire.thread),
        parent: wire.thread.source.and_then(parent),
        active: wire.thread.status.is_some_and(|it| it.kind == "active"),
        turn,
        over: newest.filter(|it| !it.runs()).map(|it| Box::new((it.id(), it.end()))),
        thread: ThreadId::new(wire.thread.id),
        cwd: bounded(wire.cwd),
        holds: Holds {
            model: bounded(wire.model),
            effort: wire.reasoning_effort.map(bounded),
            preset: decode_preset(wire.approval_policy, wire.sandbox),
            profile: wire.active_permission_profile.and_then(WireProfile::configured),
            tier: wire.service_tier.map(bounded),
            rules: decode_rules(wire.approval_policy, wire.sandbox),
            collaboration: decode_collaboration(wire.collaboration_mode),
        },
    })
}

fn entry(wire: WireThread<'_>) -> ThreadEntry {
    let descent = descent(WireDescent {
        cwd: wire.cwd.clone(),
        agent_nickname: wire.agent_nickname.clone(),
        source: wire.source,
    });
    let keeping = keeping(&wire);
    ThreadEntry {
        keeping,
        title: title(&wire),
        thread: ThreadId::new(wire.id),
        cwd: bounded(wire.cwd),
        updated_at: wire.updated_at,
        is_loaded: wire.status.is_some_and(|it| it.kind != "notLoaded"),
        descent: descent.parent.is_some().then(|| Box::new(descent)),
    }
}

fn keeping(thread: &WireThread<'_>) -> Keeping {
    match thread.history_mode.as_deref() {
        Some("legacy") => Keeping::ByTurn,
        Some(_) | None => Keeping::ByItem,
    }
}

// A thread without a name is known by its first message.
fn title(thread: &WireThread<'_>) -> Option<String> {
    let text = thread.name.as_deref().or(thread.preview.as_deref())?;
    Some(one_line(text)).filter(|it| !it.is_empty())
}

#[derive(Deserialize)]
struct WireRead<'a> {
    #[serde(borrow)]
    thread: WireDescent<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireDescent<'a> {
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    cwd: String,
    agent_nickname: Option<String>,
    #[serde(borrow)]
    source: Option<&'a RawValue>,
}

/// A source is a word, or an object with one field.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSource<'a> {
    #[serde(borrow)]
    sub_agent: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireSubAgent {
    thread_spawn: Option<WireSpawn>,
}

#[derive(Deserialize)]
struct WireSpawn {
    parent_thread_id: String,
    agent_path: Option<String>,
    agent_nickname: Option<String>,
}

// Any other kind of source has no parent whose user it works for.
fn spawn(source: &RawValue) -> Option<WireSpawn> {
    let sub_agent = decode_json::<WireSource<'_>>(source).ok()?.sub_agent?;
    decode_json::<WireSubAgent>(sub_agent).ok()?.thread_spawn
}

fn parent(source: &RawValue) -> Option<ThreadId> {
    spawn(source).map(|it| ThreadId::new(it.parent_thread_id))
}

fn descent(wire: WireDescent<'_>) -> Descent {
    let (parent, path, nickname) = match wire.source.and_then(spawn) {
        Some(it) => (Some(ThreadId::new(it.parent_thread_id)), it.agent_path, it.agent_nickname),
        None => (None, None, None),
    };
    Descent {
        parent,
        nickname: wire.agent_nickname.or(nickname).map(bounded),
        name: path.map(bounded).as_deref().and_then(task_name),
        cwd: bounded(wire.cwd),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireEntry<'a> {
    turn_id: Option<String>,
    #[serde(borrow)]
    item: &'a RawValue,
    started_at_ms: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireWholeTurn<'a> {
    id: String,
    started_at: Option<i64>,
    #[serde(borrow, default, deserialize_with = "crate::codex::misfit::or_default")]
    items: Vec<&'a RawValue>,
}

fn history_turn((idx, wire): (usize, WireWholeTurn<'_>)) -> Result<HistoryTurn, Misfit> {
    let entry = |item| WireEntry { turn_id: Some(wire.id.clone()), item, started_at_ms: None };
    let items = wire.items.iter().map(|item| entry(*item)).enumerate().map(history_item);
    Ok(HistoryTurn {
        items: items.collect::<Result<_, _>>().map_err(|it| it.under(&format!("data[{idx}]")))?,
        began: wire.started_at.map(|seconds| seconds.saturating_mul(1000)),
        turn: TurnId::new(wire.id),
    })
}

fn history_item((idx, wire): (usize, WireEntry<'_>)) -> Result<HistoryItem, Misfit> {
    let item = match decode_item(wire.item, ItemStatus::Completed) {
        Ok(Decoded::Item(item)) => item,
        // History is complete without it; live, the same item is reported as unmapped.
        Ok(Decoded::Unknown { id, .. }) => Item { id, kind: ItemKind::Hidden },
        Err(misfit) => return Err(misfit.under(&format!("data[{idx}].item"))),
    };
    let size = wire.item.get().len();
    Ok(HistoryItem { turn: wire.turn_id.map(TurnId::new), item, started: wire.started_at_ms, size })
}

#[derive(Deserialize)]
struct WireTurnStarted<'a> {
    #[serde(borrow)]
    turn: WireTurn<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSteered {
    turn_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireTerminal {
    item_id: String,
    process_id: String,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    command: String,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    cwd: String,
}

fn terminal(wire: WireTerminal) -> LiveTerminal {
    let WireTerminal { item_id, process_id, command, cwd } = wire;
    LiveTerminal {
        item: ItemId::new(item_id),
        process: ProcessId::new(process_id),
        command: long(command),
        cwd: bounded(cwd),
    }
}

#[derive(Deserialize)]
struct WireTerminated {
    terminated: bool,
}

#[derive(Deserialize)]
struct WireSummary {
    id: String,
    description: Option<String>,
    #[serde(default = "yes")]
    allowed: bool,
}

fn yes() -> bool {
    true
}

// Codex's own are the presets.
fn profile(wire: WireSummary) -> Option<Profile> {
    let WireSummary { id, description, allowed } = wire;
    (allowed && !id.starts_with(':')).then_some(Profile { id, description })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireModel {
    model: String,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    display_name: String,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    description: String,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    hidden: bool,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    supported_reasoning_efforts: Vec<WireEffort>,
    default_reasoning_effort: Option<String>,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    service_tiers: Vec<WireTier>,
    default_service_tier: Option<String>,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    is_default: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireEffort {
    reasoning_effort: String,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    description: String,
}

#[derive(Deserialize)]
struct WireTier {
    id: String,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    name: String,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    description: String,
}

fn tier(WireTier { id, name, description }: WireTier) -> Tier {
    Tier { name: if name.is_empty() { id.clone() } else { name }, id, description }
}

fn model(wire: WireModel) -> Model {
    Model {
        name: if wire.display_name.is_empty() { wire.model.clone() } else { wire.display_name },
        slug: wire.model,
        description: wire.description,
        hidden: wire.hidden,
        efforts: wire
            .supported_reasoning_efforts
            .into_iter()
            .map(|it| (it.reasoning_effort, it.description))
            .collect(),
        default_effort: wire.default_reasoning_effort,
        tiers: wire.service_tiers.into_iter().map(tier).collect(),
        default_tier: wire.default_service_tier,
        is_default: wire.is_default,
    }
}
