//! Requests of Codex to the user.

use super::decision::decode_decisions;
use super::misfit::{Misfit, decode_json};
use super::shell::decode_script;
use crate::core::codex::{CodexAsk, Question};
use crate::core::ids::{ItemId, Json, ThreadId};
use serde::Deserialize;
use serde_json::value::RawValue;

/// What Codex asks; every method that is not shown to the user is `Unsupported`.
///
/// # Errors
/// The first field that does not fit; the caller still owes Codex an answer.
pub(crate) fn decode_ask(method: &str, params: &RawValue) -> Result<CodexAsk, Misfit> {
    match method {
        "item/commandExecution/requestApproval" => decode_json(params).map(command),
        "item/fileChange/requestApproval" => decode_json(params).map(|it: WireFileChange| {
            let WireFileChange { thread_id, item_id, reason } = it;
            CodexAsk::FileChange {
                thread: ThreadId::new(thread_id),
                item: ItemId::new(item_id),
                reason,
                decisions: decode_decisions(None),
            }
        }),
        "item/permissions/requestApproval" => decode_json(params).map(|it: WirePermissions<'_>| {
            let WirePermissions { thread_id, item_id, reason, permissions } = it;
            CodexAsk::Permissions {
                thread: ThreadId::new(thread_id),
                item: ItemId::new(item_id),
                reason,
                permissions: Json::trusted(permissions.get()),
            }
        }),
        "item/tool/requestUserInput" => decode_json(params).map(questions),
        "mcpServer/elicitation/request" => elicitation(method, decode_json(params)?),
        _ => Ok(CodexAsk::Unsupported { method: method.to_owned() }),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireCommandAsk<'a> {
    kind: Option<String>,
    thread_id: String,
    item_id: String,
    reason: Option<String>,
    network_approval_context: Option<WireNetwork>,
    command: Option<String>,
    cwd: Option<String>,
    #[serde(borrow)]
    available_decisions: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct WireNetwork {
    host: String,
    protocol: String,
}

fn command(wire: WireCommandAsk<'_>) -> CodexAsk {
    let reason = match (wire.reason, wire.network_approval_context, wire.kind.as_deref()) {
        (Some(reason), ..) => Some(reason),
        (None, Some(WireNetwork { host, protocol }), _) => {
            Some(format!("Network access to {host} ({protocol})"))
        }
        (None, None, Some("writeStdin")) => Some("Input for a running command".to_owned()),
        (None, None, _) => None,
    };
    CodexAsk::Command {
        thread: ThreadId::new(wire.thread_id),
        item: ItemId::new(wire.item_id),
        command: wire.command.as_deref().map(decode_script).unwrap_or_default(),
        cwd: wire.cwd.unwrap_or_default(),
        reason,
        decisions: decode_decisions(wire.available_decisions.as_deref()),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireFileChange {
    thread_id: String,
    item_id: String,
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePermissions<'a> {
    thread_id: String,
    item_id: String,
    reason: Option<String>,
    #[serde(borrow)]
    permissions: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireQuestions {
    thread_id: String,
    item_id: String,
    #[serde(default)]
    questions: Vec<WireQuestion>,
}

#[derive(Deserialize)]
struct WireQuestion {
    id: String,
    #[serde(default)]
    header: String,
    #[serde(default)]
    question: String,
    options: Option<Vec<WireOption>>,
}

#[derive(Deserialize)]
struct WireOption {
    label: String,
    #[serde(default)]
    description: String,
}

fn questions(wire: WireQuestions) -> CodexAsk {
    let questions = wire
        .questions
        .into_iter()
        .map(|WireQuestion { id, header, question, options }| Question {
            id,
            header,
            question,
            options: options
                .unwrap_or_default()
                .into_iter()
                .map(|WireOption { label, description }| (label, description))
                .collect(),
        })
        .collect();
    CodexAsk::Questions { thread: ThreadId::new(wire.thread_id), item: ItemId::new(wire.item_id), questions }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireElicitation<'a> {
    mode: String,
    thread_id: String,
    server_name: String,
    #[serde(default)]
    message: String,
    #[serde(borrow)]
    requested_schema: Option<&'a RawValue>,
    elicitation_id: Option<String>,
    url: Option<String>,
}

// The `openai/…` modes are extensions that we do not declare.
fn elicitation(method: &str, wire: WireElicitation<'_>) -> Result<CodexAsk, Misfit> {
    let thread = ThreadId::new(wire.thread_id);
    let (server, message) = (wire.server_name, wire.message);
    match wire.mode.as_str() {
        "form" => {
            let schema = wire.requested_schema.ok_or_else(|| Misfit::at("requestedSchema"))?;
            Ok(CodexAsk::McpForm { thread, server, message, schema: Json::trusted(schema.get()) })
        }
        "url" => Ok(CodexAsk::McpUrl {
            thread,
            server,
            message,
            elicitation: wire.elicitation_id.ok_or_else(|| Misfit::at("elicitationId"))?,
            url: wire.url.ok_or_else(|| Misfit::at("url"))?,
        }),
        mode => Ok(CodexAsk::Unsupported { method: format!("{method} ({mode})") }),
    }
}
