//! One look at everything that a thread's commands have running, with its cost.
//!
//! Takes a quarter of a second, for CPU is a difference; runs off the loop.

#[cfg(all(test, target_os = "linux"))]
mod tests;

use super::tree::{ProcessKey, Processes, Role, Scope};
use crate::core::ids::ItemId;
use crate::core::input::Found;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// Between the two looks that CPU is measured between.
const INTERVAL: Duration = Duration::from_millis(250);
/// Bytes of a command line that are told.
const LINE_MAX: usize = 256;

/// The commands that have living processes in `scope`, in no order that means anything.
pub fn survey(scope: &Scope) -> Vec<Found> {
    match surveyed(scope) {
        Ok(found) => found,
        Err(error) => {
            tracing::warn!(%error, "processes cannot be listed");
            Vec::new()
        }
    }
}

fn surveyed(scope: &Scope) -> Result<Vec<Found>, sysinfo::Error> {
    let mut processes = Processes::empty()?;
    let since = Instant::now();
    processes.look_at_cost();
    let spent = |processes: &Processes, key| processes.cost(key).map_or(0, |cost| cost.cpu_ms);
    let before: BTreeMap<ProcessKey, u64> =
        processes.members(scope).into_keys().map(|key| (key, spent(&processes, key))).collect();
    std::thread::sleep(INTERVAL);
    processes.look_at_cost();
    let millis = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
    let members = processes.members(scope);
    let mut commands: BTreeMap<ItemId, BTreeMap<ProcessKey, Role>> = BTreeMap::new();
    for (key, role) in members {
        if let Some(item) = processes.item(key) {
            commands.entry(item).or_default().insert(key, role);
        }
    }
    let percent = |keys: &BTreeMap<ProcessKey, Role>| {
        // One that began meanwhile spent all that it spent since.
        let spent = |key: &ProcessKey| {
            spent(&processes, *key).saturating_sub(before.get(key).copied().unwrap_or_default())
        };
        u32::try_from(keys.keys().map(spent).sum::<u64>() * 100 / millis).unwrap_or(u32::MAX)
    };
    let found = commands.into_iter().filter_map(|(item, keys)| {
        let leader = processes.leader(&keys, scope.app_server)?;
        Some(Found {
            item,
            pid: leader.pid,
            processes: u32::try_from(keys.len()).unwrap_or(u32::MAX),
            cpu_percent: percent(&keys),
            memory: keys.keys().filter_map(|key| processes.cost(*key)).map(|cost| cost.memory).sum(),
            age: processes.cost(leader).map_or(0, |cost| cost.age),
            line: line(&processes, leader),
        })
    });
    Ok(found.collect())
}

fn line(processes: &Processes, key: ProcessKey) -> String {
    let words: Vec<_> =
        processes.command(key).unwrap_or_default().iter().map(|it| it.to_string_lossy()).collect();
    let mut line = words.join(" ");
    line.truncate(line.floor_char_boundary(LINE_MAX));
    line
}
