//! Subagents as tool calls of the thread that drives them.

use super::{json, plain};
use crate::codex::bound::bounded;
use crate::codex::item::decode_status;
use crate::codex::place::one_line;
use crate::core::codex::{ItemStatus, ToolItem};
use crate::core::ids::{Json, ThreadId};
use crate::core::subagents::collab::{CollabAct, CollabCall, task_name};
use crate::core::update::ToolKind;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Most receivers of one message that are named.
const RECEIVERS_MAX: usize = 64;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireCall<'a> {
    tool: String,
    status: Option<String>,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    receiver_thread_ids: Vec<String>,
    prompt: Option<String>,
    #[serde(borrow)]
    agents_states: Option<&'a RawValue>,
}

/// `collabAgentToolCall`: the input names the receivers and the prompt, the output their states.
pub(super) fn decode_call(wire: WireCall<'_>, unstated: ItemStatus) -> ToolItem {
    let title = match wire.tool.as_str() {
        "spawnAgent" => "Start a subagent",
        "sendInput" | "sendMessage" => "Message a subagent",
        "followupTask" => "Give a subagent another task",
        "resumeAgent" => "Resume a subagent",
        "wait" => "Wait for subagents",
        "closeAgent" => "Close a subagent",
        "interruptAgent" => "Interrupt a subagent",
        "listAgents" => "List subagents",
        other => other,
    };
    let act = match wire.tool.as_str() {
        "wait" => CollabAct::Waits,
        "closeAgent" => CollabAct::Ends,
        _ => CollabAct::Uses,
    };
    let prompt = wire.prompt.filter(|it| !it.is_empty()).map(bounded);
    let receivers = wire.receiver_thread_ids.into_iter().map(bounded).take(RECEIVERS_MAX);
    let receivers: Vec<String> = receivers.collect();
    // Whom it started is known at its end and is no input.
    let input = match wire.tool.as_str() {
        "spawnAgent" => serde_json::json!({"prompt": prompt}),
        _ => serde_json::json!({"receiverThreadIds": receivers, "prompt": prompt}),
    };
    let threads = receivers.iter().map(ThreadId::new).collect();
    ToolItem {
        status: decode_status(wire.status.as_deref(), unstated),
        input: Some(Json::trusted(input.to_string())),
        output: json(wire.agents_states),
        text: prompt.clone(),
        collab: Some(Box::new(CollabCall { act, threads, name: None, task: prompt })),
        ..plain(&wire.tool, one_line(title), ToolKind::Other, unstated)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireActivity {
    kind: String,
    agent_thread_id: String,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    agent_path: String,
    model: Option<String>,
}

/// `subAgentActivity`: one moment in a subagent's life; the input says which agent.
pub(super) fn decode_activity(wire: WireActivity, unstated: ItemStatus) -> ToolItem {
    let (thread, path) = (bounded(wire.agent_thread_id), bounded(wire.agent_path));
    let agent = path.strip_prefix("/root/").unwrap_or(&path);
    let title = match wire.kind.as_str() {
        "started" => format!("Subagent {agent} started"),
        "interacted" => format!("Subagent {agent} got a message"),
        "interrupted" => format!("Subagent {agent} was interrupted"),
        "completed" => format!("Subagent {agent} finished"),
        other => format!("Subagent {agent}: {other}"),
    };
    let act = if wire.kind == "completed" { CollabAct::Ends } else { CollabAct::Uses };
    let collab =
        CollabCall { act, threads: vec![ThreadId::new(&thread)], name: task_name(&path), task: None };
    let input = serde_json::json!({
        "kind": bounded(wire.kind),
        "agentThreadId": thread,
        "agentPath": path,
        "model": wire.model.map(bounded),
    });
    ToolItem {
        input: Some(Json::trusted(input.to_string())),
        collab: Some(Box::new(collab)),
        ..plain("subAgentActivity", one_line(&title), ToolKind::Other, unstated)
    }
}
