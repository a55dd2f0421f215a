//! What watching commands tells where they are played: nothing by itself, or what a story says.

use crate::server::Server;
use appserver_acp::core::ids::WatchId;
use appserver_acp::core::vitals::{Vitals, WatchAct, WatchReport};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(crate) struct Watches {
    /// Watches tell what they can tell.
    tell: bool,
    /// What was ever watched, by thread and item.
    all: BTreeMap<WatchId, (String, String)>,
    on: BTreeSet<WatchId>,
}

/// What watching the command `item` tells, as a story writes it.
#[derive(Debug, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub(crate) enum Told {
    Vitals { item: String, pid: u32, processes: u32, cpu_percent: u32, memory: u64, started: u64 },
    Ended { item: String },
    NotFound { item: String },
}

impl Watches {
    /// Some commands are found, do this and that, and their ends are seen; others are never found.
    pub(crate) fn telling() -> Self {
        Self { tell: true, ..Self::default() }
    }

    /// Does one act; what is told of it, after so many milliseconds.
    pub(crate) fn act(&mut self, watch: WatchId, act: WatchAct) -> Vec<(u64, WatchReport)> {
        let WatchAct::Begin { thread, item } = act else {
            self.on.remove(&watch);
            return Vec::new();
        };
        self.all.insert(watch, (thread.as_str().to_owned(), item.as_str().to_owned()));
        self.on.insert(watch);
        match self.tell {
            false => Vec::new(),
            true if is_never_found(watch) => vec![(500, WatchReport::NotFound)],
            true => [(1, 2_000), (2, 7_000), (3, 12_000)]
                .map(|(n, after)| (after, WatchReport::Vitals(vitals(watch, n))))
                .into(),
        }
    }

    pub(crate) fn is_on(&self, watch: WatchId) -> bool {
        self.on.contains(&watch)
    }

    /// The newest watch of a command, over or not.
    pub(crate) fn of(&self, item: &str) -> Option<WatchId> {
        self.all.iter().rfind(|(_, (_, of))| of == item).map(|(watch, _)| *watch)
    }

    /// Takes out whose leader is gone: whoever watches sees that, often before Codex has said a word.
    pub(crate) fn take_ended(&mut self, server: &Server) -> Vec<WatchId> {
        if !self.tell {
            return Vec::new();
        }
        let has_ended = |watch: &WatchId| {
            let (thread, item) = &self.all[watch];
            !is_never_found(*watch) && !server.live(thread).contains(item)
        };
        let ended: Vec<WatchId> = self.on.iter().copied().filter(has_ended).collect();
        self.on.retain(|watch| !ended.contains(watch));
        ended
    }
}

impl Told {
    pub(crate) fn item(&self) -> &str {
        match self {
            Self::Vitals { item, .. } | Self::Ended { item } | Self::NotFound { item } => item,
        }
    }

    pub(crate) fn report(&self) -> WatchReport {
        match *self {
            Self::Vitals { pid, processes, cpu_percent, memory, started, .. } => {
                WatchReport::Vitals(Vitals { pid, processes, cpu_percent, memory, started })
            }
            Self::Ended { .. } => WatchReport::Ended,
            Self::NotFound { .. } => WatchReport::NotFound,
        }
    }
}

fn is_never_found(watch: WatchId) -> bool {
    watch.0.is_multiple_of(4)
}

fn vitals(watch: WatchId, n: u32) -> Vitals {
    Vitals { pid: 100 + watch.0, processes: n, cpu_percent: 10 * n, memory: 1 << 20, started: 0 }
}
