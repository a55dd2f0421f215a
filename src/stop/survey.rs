//! One look at everything that a thread's commands have running, with its cost.
//!
//! Takes a quarter of a second, for CPU is a difference; runs off the loop.

use super::tree::{ProcessKey, Processes, Role, Scope};
use crate::core::ids::ItemId;
use crate::core::input::Found;
use std::collections::BTreeMap;
use std::time::Duration;

/// Between the two looks that CPU is measured between; sysinfo takes no less than 200 ms.
const INTERVAL: Duration = Duration::from_millis(250);
/// Bytes of a command line that are told.
const LINE_MAX: usize = 256;

/// The commands that have living processes in `scope`, in no order that means anything.
pub fn survey(scope: &Scope) -> Vec<Found> {
    let mut processes = match Processes::look() {
        Ok(processes) => processes,
        Err(error) => {
            tracing::warn!(%error, "processes cannot be listed");
            return Vec::new();
        }
    };
    let members = processes.members(scope);
    if members.is_empty() {
        return Vec::new();
    }
    processes.measure(members.keys().copied());
    std::thread::sleep(INTERVAL);
    let alive = processes.measure(members.keys().copied());
    let mut commands: BTreeMap<ItemId, Vec<ProcessKey>> = BTreeMap::new();
    for key in alive {
        if let Some(item) = processes.item(key) {
            commands.entry(item).or_default().push(key);
        }
    }
    commands.into_iter().filter_map(|(item, keys)| found(&processes, scope, &members, item, &keys)).collect()
}

fn found(
    processes: &Processes,
    scope: &Scope,
    members: &BTreeMap<ProcessKey, Role>,
    item: ItemId,
    keys: &[ProcessKey],
) -> Option<Found> {
    // The child of the app-server leads; of those that were left, the oldest of the command itself.
    let is_child =
        |key: &ProcessKey| scope.app_server.is_some() && processes.parent(*key) == scope.app_server;
    let is_wrapper = |key: &ProcessKey| members.get(key) == Some(&Role::Wrapper);
    let leader = keys.iter().min_by_key(|key| (!is_child(key), is_wrapper(key), key.started, key.pid))?;
    let costs = keys.iter().filter_map(|key| processes.cost(*key));
    let (cpu, memory) = costs.fold((0.0, 0), |(cpu, memory), cost| (cpu + cost.cpu, memory + cost.memory));
    Some(Found {
        item,
        pid: leader.pid,
        processes: u32::try_from(keys.len()).unwrap_or(u32::MAX),
        cpu_percent: rounded(cpu),
        memory,
        age: processes.cost(*leader).map_or(0, |cost| cost.age),
        line: line(processes, *leader),
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast from float saturates")]
fn rounded(percent: f32) -> u32 {
    percent.round() as u32
}

fn line(processes: &Processes, key: ProcessKey) -> String {
    let words: Vec<_> =
        processes.command(key).unwrap_or_default().iter().map(|it| it.to_string_lossy()).collect();
    let mut line = words.join(" ");
    line.truncate(line.floor_char_boundary(LINE_MAX));
    line
}
