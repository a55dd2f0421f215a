//! The `commandExecution` item: the script of a command and how it does.

use super::action::{Summary, WireAction, summary};
use super::bound::{bounded, long};
use super::shell::decode_script;
use crate::background::output;
use crate::core::codex::{CommandItem, CommandSource, ItemStatus};
use crate::core::ids::ProcessId;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireCommand {
    command: String,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    cwd: String,
    process_id: Option<String>,
    source: Option<String>,
    status: Option<String>,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    command_actions: Vec<WireAction>,
    aggregated_output: Option<String>,
    exit_code: Option<i64>,
    duration_ms: Option<i64>,
    started_at_ms: Option<i64>,
}

/// The command as the core wants it; `unstated` is the status where Codex names none we know.
pub(crate) fn decode_command(wire: WireCommand, unstated: ItemStatus) -> CommandItem {
    let command = long(decode_script(&wire.command));
    let Summary { title, kind, locations } = summary(&command, &wire.cwd, &wire.command_actions);
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
        started: wire.started_at_ms,
    }
}
