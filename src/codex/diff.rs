//! File changes of Codex as diffs.

use super::bound::{Room, json_len};
use crate::core::update::{Diff, DiffOp};
use serde::Deserialize;

/// One `FileUpdateChange`. Paths are absolute.
#[derive(Deserialize)]
pub(crate) struct WireChange {
    path: String,
    kind: WireChangeKind,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
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
/// Most that the names of its files take.
const NAMES_MAX: usize = 6 << 20;
/// How often a line can name one file: as a change, as a place, in a note, in the header of a patch.
const NAMED: usize = 8;

/// The changes as the client gets them, in Codex's order, and how many more there are.
pub(crate) fn decode_changes(changes: Vec<WireChange>) -> (Vec<Diff>, usize) {
    let (mut left, mut names) = (MAX, Room(NAMES_MAX));
    let n_changes = changes.len();
    let named = |change: &WireChange| {
        let target = change.kind.move_path.as_deref().map_or(0, json_len);
        names.takes(NAMED * (json_len(&change.path) + target))
    };
    let shown = changes.into_iter().take_while(named);
    let shown: Vec<Diff> = shown.map(|change| bounded(decode_change(change), &mut left)).collect();
    let n_more = n_changes - shown.len();
    (shown, n_more)
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
