//! The end of everything that lost threads left running: TERM, then KILL, then a look.
//!
//! Blocks for up to two seconds; runs off the loop.

#[cfg(test)]
mod tests;

use super::signal::{self, Sent, Signal};
use super::tree::{ProcessKey, Processes, Role, Scope};
use crate::core::input::SweepReport;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const POLL: Duration = Duration::from_millis(20);
/// While a process is in the middle of its exec, a look that found nothing is not believed for so many polls.
const UNREAD_POLLS: u32 = 25;
/// A process may fork between the look and the signal.
const KILL_ROUNDS: u32 = 3;

/// Polls that are waited for an effect.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// For handlers of TERM.
    term: u32,
    /// For KILL to take effect.
    kill: u32,
}

/// Half a second each.
const BOUNDS: Bounds = Bounds { term: 25, kill: 25 };

/// Ends all processes in `scope`.
pub fn sweep(scope: &Scope) -> SweepReport {
    sweep_within(BOUNDS, scope)
}

fn sweep_within(bounds: Bounds, scope: &Scope) -> SweepReport {
    let mut processes = match Processes::look() {
        Ok(processes) => processes,
        Err(error) => {
            tracing::warn!(%error, "processes cannot be listed, nothing is swept");
            return SweepReport::default();
        }
    };
    let mut members = sought(&mut processes, scope);
    let mut seen: BTreeSet<ProcessKey> = members.keys().copied().collect();
    if members.is_empty() {
        return SweepReport::default();
    }
    terminate(&mut processes, &members);
    wait(&mut processes, &members, bounds.term);
    for _ in 0..KILL_ROUNDS {
        processes.look_again();
        members = sought(&mut processes, scope);
        seen.extend(members.keys());
        if members.is_empty() {
            break;
        }
        for key in members.keys() {
            signal::send(&mut processes, *key, Signal::Kill);
        }
        wait(&mut processes, &members, bounds.kill);
    }
    processes.look_again();
    let left = processes.members(scope).len();
    let report = SweepReport { ended: count(seen.len().saturating_sub(left)), left: count(left) };
    tracing::info!(ended = report.ended, left = report.left, "swept");
    report
}

/// Kills all processes in `scope`, without a word before. Takes a fraction of a second.
pub fn kill(scope: &Scope) {
    let Ok(mut processes) = Processes::look() else { return };
    for _ in 0..KILL_ROUNDS {
        let members = processes.members(scope);
        if members.is_empty() {
            return;
        }
        for key in members.keys() {
            signal::send(&mut processes, *key, Signal::Kill);
        }
        wait(&mut processes, &members, BOUNDS.kill);
        processes.look_again();
    }
}

/// Those of the last look, or of the next ones if it found none: a process in the middle of its exec shows
/// no environment.
fn sought(processes: &mut Processes, scope: &Scope) -> BTreeMap<ProcessKey, Role> {
    let mut members = processes.members(scope);
    let mut unread = processes.unread();
    for n in 0..UNREAD_POLLS {
        if !members.is_empty() || (n > 0 && unread.is_empty()) {
            break;
        }
        std::thread::sleep(POLL);
        processes.look_again();
        members = processes.members(scope);
        let still = processes.unread();
        unread.retain(|key| still.contains(key));
    }
    members
}

fn terminate(processes: &mut Processes, members: &BTreeMap<ProcessKey, Role>) {
    for (key, role) in members {
        let sent = match role {
            Role::Wrapper => continue,
            Role::Member | Role::Stopped => signal::send(processes, *key, Signal::Term),
        };
        if *role == Role::Stopped && sent == Sent::Delivered {
            signal::send(processes, *key, Signal::Continue);
        }
    }
}

fn wait(processes: &mut Processes, members: &BTreeMap<ProcessKey, Role>, polls: u32) {
    for _ in 0..polls {
        if processes.alive(members.keys().copied()).is_empty() {
            return;
        }
        std::thread::sleep(POLL);
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
