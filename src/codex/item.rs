//! Items of a turn, told apart by their `type`.
//!
//! Owns what is shown, hidden or unknown; the words for tools are in `tool`.

use super::command::{WireCommand, decode_command};
use super::diff::{WireChange, decode_changes};
use super::misfit::{Misfit, decode_json};
use super::tool::decode_tool;
use super::user::decode_content;
use crate::core::codex::{Item, ItemKind, ItemStatus};
use crate::core::ids::{ItemId, PromptKey};
use serde::Deserialize;
use serde_json::value::RawValue;

/// What an item turned out to be.
pub(crate) enum Decoded {
    Item(Item),
    /// A `type` that we do not know.
    Unknown {
        id: ItemId,
        kind: String,
    },
}

#[derive(Deserialize)]
struct WireTag {
    id: String,
    #[serde(rename = "type")]
    kind: String,
}

/// Reads one item; `unstated` is the status of a kind that has none on the wire.
///
/// # Errors
/// The first field that does not fit.
pub(crate) fn decode_item(raw: &RawValue, unstated: ItemStatus) -> Result<Decoded, Misfit> {
    let WireTag { id, kind: tag } = decode_json(raw)?;
    let id = ItemId::new(id);
    let kind = match tag.as_str() {
        "userMessage" => decode_user(raw)?,
        "agentMessage" => ItemKind::AgentMessage { text: message(decode_json(raw)?) },
        "plan" => ItemKind::Plan { text: decode_json::<WireText>(raw)?.text },
        "reasoning" => {
            let WireReasoning { summary, content } = decode_json(raw)?;
            ItemKind::Reasoning { parts: if summary.is_empty() { content } else { summary } }
        }
        "commandExecution" => ItemKind::Command(decode_command(decode_json::<WireCommand>(raw)?, unstated)),
        "fileChange" => {
            let WireFileChange { changes, status } = decode_json(raw)?;
            let status = decode_status(status.as_deref(), unstated);
            let (changes, n_more) = decode_changes(changes);
            ItemKind::FileChange { changes, n_more, status }
        }
        "contextCompaction" => ItemKind::Compaction,
        "hookPrompt" | "functionCallOutput" => ItemKind::Hidden,
        _ => match decode_tool(&tag, raw, unstated)? {
            Some(tool) => ItemKind::Tool(tool),
            None => return Ok(Decoded::Unknown { id, kind: tag }),
        },
    };
    Ok(Decoded::Item(Item { id, kind }))
}

/// Codex's item status; `unstated` where it names none, or one that is new.
pub(crate) fn decode_status(status: Option<&str>, unstated: ItemStatus) -> ItemStatus {
    match status {
        Some("inProgress") => ItemStatus::InProgress,
        Some("completed") => ItemStatus::Completed,
        Some("failed") => ItemStatus::Failed,
        Some("interrupted") => ItemStatus::Interrupted,
        Some("declined") => ItemStatus::Declined,
        _ => unstated,
    }
}

#[derive(Deserialize)]
struct WireMessage {
    text: String,
    questions: Option<Vec<WireAsync>>,
}

#[derive(Deserialize)]
struct WireAsync {
    title: String,
    options: Option<Vec<String>>,
}

// Questions that nothing waits for: the next prompt answers them, or does not. Codex's own text mostly
// has them already.
fn message(wire: WireMessage) -> String {
    let questions = wire.questions.unwrap_or_default();
    let text = wire.text.clone();
    let is_said = |it: &&WireAsync| {
        text.contains(&it.title)
            && it.options.iter().flatten().all(|option| text.contains(&format!("- {option}")))
    };
    let mut lines = vec![wire.text];
    for WireAsync { title, options } in questions.iter().filter(|it| !is_said(it)) {
        lines.push(format!("\n**{title}**"));
        lines.extend(options.iter().flatten().map(|option| format!("- {option}")));
    }
    if !questions.is_empty() {
        lines.push("\n*Answer with your next message.*".to_owned());
    }
    lines.join("\n")
}

#[derive(Deserialize)]
struct WireText {
    text: String,
}

#[derive(Deserialize)]
struct WireReasoning {
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    summary: Vec<String>,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    content: Vec<String>,
}

#[derive(Deserialize)]
struct WireFileChange {
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    changes: Vec<WireChange>,
    status: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireUser<'a> {
    client_id: Option<String>,
    #[serde(borrow, default, deserialize_with = "crate::codex::misfit::or_default")]
    content: Vec<&'a RawValue>,
}

fn decode_user(raw: &RawValue) -> Result<ItemKind, Misfit> {
    let WireUser { client_id, content } = decode_json(raw)?;
    Ok(ItemKind::UserMessage { key: client_id.map(PromptKey::new), content: decode_content(&content)? })
}
