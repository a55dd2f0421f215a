//! The `commandExecution` item: script, title and kind of a command.

use super::bound::{Room, bounded, json_len, long};
use super::place::{absolute, one_line, shown};
use super::shell::decode_script;
use crate::background::output;
use crate::core::codex::{CommandItem, CommandSource, ItemStatus};
use crate::core::ids::ProcessId;
use crate::core::update::{Location, ToolKind};
use serde::Deserialize;

/// Most that the places of a command take in a line, in bytes.
const PLACES_MAX: usize = 256 << 10;
/// Most steps that a title names.
const TITLES_MAX: usize = 16;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireCommand {
    command: String,
    #[serde(default)]
    cwd: String,
    process_id: Option<String>,
    source: Option<String>,
    status: Option<String>,
    #[serde(default)]
    command_actions: Vec<WireAction>,
    aggregated_output: Option<String>,
    exit_code: Option<i64>,
    duration_ms: Option<i64>,
}

/// One step of Codex's own parse of a command.
#[derive(Deserialize)]
struct WireAction {
    #[serde(rename = "type")]
    kind: String,
    path: Option<String>,
    query: Option<String>,
}

/// What one step says about the whole command.
struct Step {
    title: String,
    kind: ToolKind,
    location: Option<Location>,
}

/// The command as the core wants it; `unstated` is the status where Codex names none we know.
pub(crate) fn decode_command(wire: WireCommand, unstated: ItemStatus) -> CommandItem {
    let command = long(decode_script(&wire.command));
    let steps: Option<Vec<Step>> = wire.command_actions.iter().map(|it| decode_step(it, &wire.cwd)).collect();
    let (title, kind, locations) = match steps {
        Some(steps) if !steps.is_empty() => sum_up(steps),
        _ => (one_line(&command), ToolKind::Execute, Vec::new()),
    };
    CommandItem {
        command,
        cwd: bounded(wire.cwd),
        process: wire.process_id.map(ProcessId::new),
        source: match wire.source.as_deref() {
            Some("userShell") => CommandSource::User,
            _ => CommandSource::Agent,
        },
        status: super::item::decode_status(wire.status.as_deref(), unstated),
        title,
        kind,
        locations,
        output: wire.aggregated_output.map(output::bounded),
        exit_code: wire.exit_code,
        duration_ms: wire.duration_ms,
    }
}

// `None` for a step that Codex could not read: the script says more than half a summary.
fn decode_step(action: &WireAction, cwd: &str) -> Option<Step> {
    let path = action.path.as_deref().filter(|it| !it.is_empty());
    let place = path.map(|it| shown(it, cwd));
    let (title, kind) = match (action.kind.as_str(), place, action.query.as_deref()) {
        ("read", Some(place), _) => (format!("Read {place}"), ToolKind::Read),
        ("listFiles", Some(place), _) => (format!("List {place}"), ToolKind::Search),
        ("listFiles", None, _) => ("List files".to_owned(), ToolKind::Search),
        ("search", Some(place), Some(query)) => (format!("Search {place} for {query}"), ToolKind::Search),
        ("search", Some(place), None) => (format!("Search {place}"), ToolKind::Search),
        ("search", None, Some(query)) => (format!("Search for {query}"), ToolKind::Search),
        _ => return None,
    };
    let location = path.map(|it| Location { path: absolute(it, cwd), line: None });
    Some(Step { title, kind, location })
}

fn sum_up(steps: Vec<Step>) -> (String, ToolKind, Vec<Location>) {
    let mut titles: Vec<String> = Vec::new();
    let mut locations: Vec<Location> = Vec::new();
    let mut kind = None;
    let mut room = Room(PLACES_MAX);
    for step in steps {
        kind = match kind {
            None => Some(step.kind),
            Some(kind) if kind == step.kind => Some(kind),
            Some(_) => Some(ToolKind::Execute),
        };
        // One line is all that is shown of them.
        if titles.len() < TITLES_MAX && !titles.contains(&step.title) {
            titles.push(step.title);
        }
        let is_new = |it: &Location| !locations.contains(it) && room.takes(json_len(&it.path));
        locations.extend(step.location.filter(is_new));
    }
    (one_line(&titles.join(", ")), kind.unwrap_or(ToolKind::Execute), locations)
}
