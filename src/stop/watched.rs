//! One command whose processes are watched: found, measured from time to time, in the end gone.
//!
//! Decides from look to look what is reported. Owns no thread and no clock.

use super::pulse::Pulse;
use super::tree::{ProcessKey, Processes, Scope};
use super::watch::Pace;
use crate::core::vitals::{Vitals, WatchReport};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::Instant;

/// Looks that find nothing before that is believed: a process in the middle of an exec shows no
/// environment for a moment.
const LOOKS: u32 = 3;

/// The processes of one command.
#[derive(Debug)]
pub(super) struct Watched {
    scope: Scope,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// Nothing is found yet, in so many looks.
    Seeking {
        looks: u32,
    },
    Found(Found),
}

#[derive(Debug)]
struct Found {
    leader: Pulse,
    /// Those that lived at the last look or measure, with the processor time of each, in
    /// milliseconds; `None` before its first measure.
    members: BTreeMap<ProcessKey, Option<u64>>,
    /// When they were last measured, and when they are again.
    measured: Instant,
    due: Instant,
    told: Option<Vitals>,
}

impl Watched {
    pub(super) fn new(scope: Scope) -> Self {
        Self { scope, stage: Stage::Seeking { looks: 0 } }
    }

    pub(super) fn is_sought(&self) -> bool {
        matches!(self.stage, Stage::Seeking { .. })
    }

    /// Whether its leader was found and is gone.
    pub(super) fn has_ended(&self, processes: &mut Processes) -> bool {
        match &self.stage {
            Stage::Seeking { .. } => false,
            Stage::Found(found) => !found.leader.beats(processes),
        }
    }

    /// Takes in a look at all processes. `NotFound` is the last report.
    ///
    /// `seen` is that look; `processes` is the table that keeps only what is watched.
    pub(super) fn looked(
        &mut self,
        seen: &Processes,
        processes: &mut Processes,
        pace: &Pace,
        now: Instant,
    ) -> Option<WatchReport> {
        let members = seen.members(&self.scope);
        let known = match &self.stage {
            Stage::Found(found) => Some(found.leader.key().pid),
            Stage::Seeking { .. } => seen.leader(&members, self.scope.app_server).map(|key| key.pid),
        };
        let mut pids: BTreeSet<u32> = members.keys().map(|key| key.pid).collect();
        if let Some(leader) = known
            && members.keys().any(|key| key.pid == leader && seen.session(*key) == Some(leader))
        {
            pids.extend(seen.in_session(leader, &self.scope).keys().map(|key| key.pid));
        }
        // The two tables reckon the start of a process each by its own clock: the pid is what they share.
        let measures = processes.weigh(pids);
        match &mut self.stage {
            Stage::Found(found) => {
                for key in measures.into_keys() {
                    found.members.entry(key).or_insert(None);
                }
                None
            }
            Stage::Seeking { looks } => {
                let leader = measures.keys().find(|key| Some(key.pid) == known).copied();
                match leader.and_then(|key| Pulse::take(key, processes)) {
                    Some(leader) => {
                        let members = measures.into_iter().map(|(key, it)| (key, Some(it.cpu_ms))).collect();
                        let due = now + pace.first;
                        self.stage = Stage::Found(Found { leader, members, measured: now, due, told: None });
                        None
                    }
                    None => {
                        *looks += 1;
                        (*looks >= LOOKS).then_some(WatchReport::NotFound)
                    }
                }
            }
        }
    }

    /// Measures it if that is due; what is worth telling.
    pub(super) fn measured(
        &mut self,
        processes: &mut Processes,
        pace: &Pace,
        now: Instant,
    ) -> Option<WatchReport> {
        let Stage::Found(found) = &mut self.stage else { return None };
        if found.due > now {
            return None;
        }
        found.due = now + pace.then;
        let vitals = found.measure(processes, now)?;
        if found.told.is_some_and(|told| !vitals.is_news_after(&told)) {
            return None;
        }
        found.told = Some(vitals);
        Some(WatchReport::Vitals(vitals))
    }
}

impl Found {
    fn measure(&mut self, processes: &mut Processes, now: Instant) -> Option<Vitals> {
        let mut measures = processes.weigh(self.members.keys().map(|key| key.pid));
        // A pid may be somebody else's by now.
        measures.retain(|key, _| self.members.contains_key(key));
        let mut cpu_ms = 0;
        for (key, measure) in &measures {
            let before = self.members[key].unwrap_or(measure.cpu_ms);
            cpu_ms += measure.cpu_ms.saturating_sub(before);
        }
        let elapsed = std::mem::replace(&mut self.measured, now);
        let cpu_percent = percent(cpu_ms, now.duration_since(elapsed));
        let memory = measures.values().map(|it| it.memory).sum();
        self.members = measures.iter().map(|(key, it)| (*key, Some(it.cpu_ms))).collect();
        let leader = self.leader.key();
        self.members.contains_key(&leader).then(|| Vitals {
            pid: leader.pid,
            processes: u32::try_from(self.members.len()).unwrap_or(u32::MAX),
            cpu_percent,
            memory,
            started: leader.started,
        })
    }
}

fn percent(cpu_ms: u64, elapsed: Duration) -> u32 {
    let elapsed = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
    u32::try_from((cpu_ms.saturating_mul(100) + elapsed / 2) / elapsed).unwrap_or(u32::MAX)
}
