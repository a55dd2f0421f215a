//! Requests of Codex to the user.

use super::decision::{decode_decisions, plain_decisions};
use super::elicit::decode_elicitation;
use super::misfit::{Misfit, decode_json};
use super::permission::describe;
use super::shell::decode_script;
use crate::core::asked::{CodexAsk, CommandAsk, Question};
use crate::core::ids::{ItemId, Json, ThreadId};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// What Codex asks; every method that is not shown to the user is `Unsupported`.
///
/// # Errors
/// The first field that does not fit; the caller still owes Codex an answer.
pub(crate) fn decode_ask(method: &str, params: &RawValue) -> Result<CodexAsk, Misfit> {
    match method {
        "item/commandExecution/requestApproval" => decode_json(params).map(command),
        "item/fileChange/requestApproval" => decode_json(params).map(|it: WireFileChange| {
            let WireFileChange { thread_id, item_id, reason, grant_root } = it;
            let root = grant_root.map(|root| format!("Allows to write below {root} for this session"));
            CodexAsk::FileChange {
                thread: ThreadId::new(thread_id),
                item: ItemId::new(item_id),
                reason: lines(reason.into_iter().chain(root)),
                decisions: plain_decisions(),
            }
        }),
        "item/permissions/requestApproval" => decode_json(params).map(|it: WirePermissions<'_>| {
            let WirePermissions { thread_id, item_id, reason, permissions } = it;
            CodexAsk::Permissions {
                thread: ThreadId::new(thread_id),
                item: ItemId::new(item_id),
                reason: lines(reason.into_iter().chain(profile(permissions))),
                permissions: Json::trusted(permissions.get()),
            }
        }),
        "item/tool/requestUserInput" => decode_json(params).map(questions),
        "mcpServer/elicitation/request" => decode_elicitation(method, params),
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
    #[serde(borrow)]
    additional_permissions: Option<&'a RawValue>,
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
    let network = wire.network_approval_context;
    let about = match (&network, wire.kind.as_deref()) {
        (Some(WireNetwork { host, .. }), _) => CommandAsk::Network { host: host.clone() },
        (None, Some("writeStdin")) => CommandAsk::Input,
        (None, _) => CommandAsk::Run,
    };
    let network = network.map(|it| format!("Network access to {} ({})", it.host, it.protocol));
    let input = (about == CommandAsk::Input).then(|| "Input for a running command".to_owned());
    let more = wire.additional_permissions.map(profile).unwrap_or_default();
    CodexAsk::Command {
        thread: ThreadId::new(wire.thread_id),
        item: ItemId::new(wire.item_id),
        about,
        command: wire.command.as_deref().map(decode_script).unwrap_or_default(),
        cwd: wire.cwd.unwrap_or_default(),
        reason: lines(wire.reason.into_iter().chain(network).chain(input).chain(more)),
        decisions: decode_decisions(wire.available_decisions.as_deref()),
    }
}

fn profile(permissions: &RawValue) -> Vec<String> {
    describe(&serde_json::from_str::<Value>(permissions.get()).unwrap_or_default())
}

/// Everything that the user should know, a line each.
fn lines(parts: impl Iterator<Item = String>) -> Option<String> {
    let parts: Vec<_> = parts.filter(|it| !it.is_empty()).collect();
    if parts.is_empty() { None } else { Some(parts.join("\n")) }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireFileChange {
    thread_id: String,
    item_id: String,
    reason: Option<String>,
    grant_root: Option<String>,
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
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    questions: Vec<WireQuestion>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireQuestion {
    id: String,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    header: String,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    question: String,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    is_other: bool,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    is_secret: bool,
    options: Option<Vec<WireOption>>,
}

#[derive(Deserialize)]
struct WireOption {
    label: String,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    description: String,
}

fn questions(wire: WireQuestions) -> CodexAsk {
    let questions = wire
        .questions
        .into_iter()
        .map(|WireQuestion { id, header, question, is_other, is_secret, options }| Question {
            id,
            header,
            question,
            is_other,
            is_secret,
            options: options
                .unwrap_or_default()
                .into_iter()
                .map(|WireOption { label, description }| (label, description))
                .collect(),
        })
        .collect();
    CodexAsk::Questions { thread: ThreadId::new(wire.thread_id), item: ItemId::new(wire.item_id), questions }
}
