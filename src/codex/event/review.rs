//! Reviews of approvals by Codex's own reviewer, put into words.

use crate::codex::bound::{bounded, places};
use crate::codex::misfit::{Misfit, decode_json};
use crate::codex::place::one_line;
use crate::codex::shell::decode_script;
use crate::codex::tool::plain;
use crate::core::codex::{Event, ItemStatus, ToolItem};
use crate::core::ids::{ItemId, ThreadId, TurnId};
use crate::core::update::{Location, ToolKind};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireReviewed {
    thread_id: String,
    turn_id: String,
    review_id: String,
    review: WireReview,
    action: WireAction,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireReview {
    status: String,
    risk_level: Option<String>,
    rationale: Option<String>,
}

/// Every field that any kind has.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireAction {
    #[serde(rename = "type")]
    kind: String,
    command: Option<String>,
    argv: Option<Vec<String>>,
    files: Option<Vec<String>>,
    host: Option<String>,
    server: Option<String>,
    tool_name: Option<String>,
}

/// `item/autoApprovalReview/started`.
pub(super) fn started(params: &RawValue) -> Result<Event, Misfit> {
    let (thread, turn, item, tool) = decode_review(params, ItemStatus::InProgress)?;
    Ok(Event::AsideStarted { thread, turn, item, tool })
}

/// `item/autoApprovalReview/completed`.
pub(super) fn completed(params: &RawValue) -> Result<Event, Misfit> {
    let (thread, turn, item, tool) = decode_review(params, ItemStatus::Completed)?;
    Ok(Event::AsideEnded { thread, turn: Some(turn), item, tool })
}

fn decode_review(
    params: &RawValue,
    unstated: ItemStatus,
) -> Result<(ThreadId, TurnId, ItemId, ToolItem), Misfit> {
    let WireReviewed { thread_id, turn_id, review_id, review, action } = decode_json(params)?;
    let (status, verdict) = match review.status.as_str() {
        "inProgress" => (ItemStatus::InProgress, "Review"),
        "approved" => (ItemStatus::Completed, "Approved by review"),
        "denied" => (ItemStatus::Failed, "Denied by review"),
        "timedOut" => (ItemStatus::Failed, "Denied, the review took too long"),
        "aborted" => (ItemStatus::Interrupted, "Review broken off"),
        _ => (unstated, "Review"),
    };
    let risk = review.risk_level.map(|level| format!("Risk: {level}"));
    let said: Vec<String> = [risk, review.rationale].into_iter().flatten().collect();
    let tool = ToolItem {
        status,
        text: (!said.is_empty()).then(|| bounded(said.join("\n\n"))),
        locations: locations(&action),
        ..plain(
            "approval_review",
            one_line(&format!("{verdict}: {}", what(action))),
            ToolKind::Think,
            unstated,
        )
    };
    Ok((ThreadId::new(thread_id), TurnId::new(turn_id), ItemId::new(format!("review:{review_id}")), tool))
}

fn what(action: WireAction) -> String {
    match (action.kind.as_str(), action.command, action.argv, action.host, action.tool_name) {
        ("command", Some(command), ..) => decode_script(&command),
        ("execve", _, Some(argv), ..) => argv.join(" "),
        ("writeStdin", ..) => "type into a running command".to_owned(),
        ("applyPatch", ..) => match action.files.unwrap_or_default().as_slice() {
            [one] => format!("change {one}"),
            many => format!("change {} files", many.len()),
        },
        ("networkAccess", _, _, Some(host), _) => format!("reach {host}"),
        ("mcpToolCall", _, _, _, Some(tool)) => match action.server {
            Some(server) => format!("{tool} ({server})"),
            None => tool,
        },
        ("requestPermissions", ..) => "more permissions".to_owned(),
        (kind, ..) => kind.to_owned(),
    }
}

fn locations(action: &WireAction) -> Vec<Location> {
    places(action.files.iter().flatten().cloned())
}
