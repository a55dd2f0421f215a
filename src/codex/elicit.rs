//! Questions of tool servers, and Codex's own about their tools.
//!
//! Owns which of them are simple enough to be put as a choice.

use super::misfit::{Misfit, decode_json};
use crate::core::asked::{CodexAsk, McpForm, ToolApproval};
use crate::core::ids::{Json, ThreadId};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Characters of a tool's arguments that are shown.
const SHOWN_MAX: usize = 2_000;
/// Most answers that are put as a choice.
const CHOICES_MAX: usize = 64;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireElicitation<'a> {
    mode: String,
    thread_id: String,
    server_name: String,
    #[serde(rename = "_meta")]
    meta: Option<WireMeta>,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    message: String,
    #[serde(borrow)]
    requested_schema: Option<&'a RawValue>,
    elicitation_id: Option<String>,
    url: Option<String>,
}

/// What Codex adds where the question is its own. A tool server can send the same, so it decides nothing
/// that the user does not read.
#[derive(Default, Deserialize)]
#[serde(default)]
struct WireMeta {
    codex_approval_kind: Value,
    persist: Value,
    tool_name: Value,
    tool_params: Value,
}

/// The question of an `mcpServer/elicitation/request`.
///
/// # Errors
/// The first field that does not fit.
pub(super) fn decode_elicitation(method: &str, params: &RawValue) -> Result<CodexAsk, Misfit> {
    let wire: WireElicitation<'_> = decode_json(params)?;
    let thread = ThreadId::new(wire.thread_id);
    let (server, message) = (wire.server_name, wire.message);
    match wire.mode.as_str() {
        "form" => {
            let schema = wire.requested_schema.ok_or_else(|| Misfit::at("requestedSchema"))?;
            let form = McpForm {
                choices: choices(schema),
                schema: Json::trusted(schema.get()),
                fits: true,
                approval: wire.meta.and_then(approval),
            };
            Ok(CodexAsk::McpForm { thread, server, message, form })
        }
        "url" => Ok(CodexAsk::McpUrl {
            thread,
            server,
            message,
            elicitation: wire.elicitation_id.ok_or_else(|| Misfit::at("elicitationId"))?,
            url: wire.url.ok_or_else(|| Misfit::at("url"))?,
        }),
        // The `openai/…` modes are extensions that we do not declare.
        mode => Ok(CodexAsk::Unsupported { method: format!("{method} ({mode})") }),
    }
}

fn approval(meta: WireMeta) -> Option<ToolApproval> {
    if meta.codex_approval_kind != "mcp_tool_call" {
        return None;
    }
    let persist = match meta.persist {
        Value::String(one) => vec![one],
        Value::Array(many) => many.into_iter().filter_map(|it| it.as_str().map(str::to_owned)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    };
    let params = Some(meta.tool_params).filter(|it| !it.is_null());
    let params = params.map(|it| it.to_string().chars().take(SHOWN_MAX).collect());
    Some(ToolApproval { tool: meta.tool_name.as_str().map(str::to_owned), persist, params })
}

/// The answers to a form that asks for nothing, or for one of a few values; else none.
fn choices(schema: &RawValue) -> Vec<(String, Json)> {
    let schema: Value = serde_json::from_str(schema.get()).unwrap_or_default();
    let Some(properties) = schema["properties"].as_object() else { return Vec::new() };
    let mut properties = properties.iter();
    match (properties.next(), properties.next()) {
        (None, _) => vec![("Accept".to_owned(), Json::trusted("{}"))],
        (Some((name, property)), None) => {
            let values = values(property);
            // Nobody chooses from hundreds of buttons.
            if values.len() > CHOICES_MAX {
                return Vec::new();
            }
            let answer = |value| Json::trusted(json!({ name: value }).to_string());
            values.into_iter().map(|(label, value)| (label, answer(value))).collect()
        }
        (Some(_), Some(_)) => Vec::new(),
    }
}

fn values(property: &Value) -> Vec<(String, Value)> {
    let texts = |it: &Value| it.as_array().cloned().unwrap_or_default();
    match property["type"].as_str() {
        Some("boolean") => vec![("Yes".to_owned(), Value::from(true)), ("No".to_owned(), Value::from(false))],
        Some("string") => {
            let titled = texts(&property["oneOf"]).into_iter().filter_map(|it| {
                let value = it["const"].as_str()?;
                Some((it["title"].as_str().unwrap_or(value).to_owned(), Value::from(value)))
            });
            let names = texts(&property["enumNames"]);
            let plain = texts(&property["enum"]).into_iter().enumerate().filter_map(|(n, it)| {
                let value = it.as_str()?;
                let name = names.get(n).and_then(Value::as_str).unwrap_or(value);
                Some((name.to_owned(), Value::from(value)))
            });
            titled.chain(plain).collect()
        }
        Some(_) | None => Vec::new(),
    }
}
