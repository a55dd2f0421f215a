//! File changes of Codex as diffs.

use crate::core::update::{Diff, DiffOp};
use serde::Deserialize;

/// One `FileUpdateChange`. Paths are absolute.
#[derive(Deserialize)]
pub(crate) struct WireChange {
    path: String,
    kind: WireChangeKind,
    #[serde(default)]
    diff: String,
}

#[derive(Deserialize)]
struct WireChangeKind {
    #[serde(rename = "type")]
    kind: String,
    move_path: Option<String>,
}

/// The changes as the client gets them, in Codex's order.
pub(crate) fn decode_changes(changes: Vec<WireChange>) -> Vec<Diff> {
    changes.into_iter().map(decode_change).collect()
}

fn decode_change(change: WireChange) -> Diff {
    let WireChange { path, kind, mut diff } = change;
    let op = match (kind.kind.as_str(), kind.move_path) {
        ("add", _) => DiffOp::Add,
        ("delete", _) => DiffOp::Delete,
        (_, Some(target)) => {
            // Codex tells the target a second time, at the end of the diff.
            if let Some(rest) = diff.strip_suffix(&format!("\n\nMoved to: {target}")) {
                diff.truncate(rest.len());
            }
            DiffOp::Move(target)
        }
        _ => DiffOp::Modify,
    };
    Diff { path, op, text: diff }
}
