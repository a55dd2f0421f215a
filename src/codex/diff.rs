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

/// Most that the diffs of one call take in a line, in bytes: v1 carries text twice, as old and as new.
const MAX: usize = 4 << 20;

/// The changes as the client gets them, in Codex's order.
pub(crate) fn decode_changes(changes: Vec<WireChange>) -> Vec<Diff> {
    let mut left = MAX;
    changes.into_iter().map(|change| bounded(decode_change(change), &mut left)).collect()
}

fn bounded(diff: Diff, left: &mut usize) -> Diff {
    match left.checked_sub(json_len(&diff.text)) {
        Some(rest) => {
            *left = rest;
            diff
        }
        None => Diff { left_out: Some(diff.text.len()), text: String::new(), ..diff },
    }
}

/// Bytes that `text` takes inside a JSON string.
fn json_len(text: &str) -> usize {
    let escapes = text.bytes().map(|it| match it {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 1,
        0..=0x1f => 5,
        _ => 0,
    });
    text.len() + escapes.sum::<usize>()
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
    Diff { path, op, text: diff, left_out: None }
}
