//! How the processes of a command do, and what watching them can tell.
//!
//! Values only: who looks is `stop/watch.rs`, who is told is decided in `watching.rs`.

use super::ids::{ItemId, ThreadId};

/// Points of `cpu_percent` that are news.
const CPU_STEP: u32 = 5;
/// Bytes of `memory` that are news, if they are also a tenth of what was told.
const MEMORY_STEP: u64 = 1 << 20;

/// The processes of one command at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vitals {
    /// Process id of the leader, the one that Codex started. Of a sandboxed command it is the sandbox.
    pub pid: u32,
    /// Living processes of the command: the leader, what descends from it, a sandbox around it.
    pub processes: u32,
    /// Percent of one core that all of them took since the look before; beyond 100 with several cores.
    pub cpu_percent: u32,
    /// Bytes of resident memory of all of them, added up: what they share counts once for each.
    pub memory: u64,
    /// When the leader started, in seconds since the epoch; 0 where the system does not tell.
    pub started: u64,
}

impl Vitals {
    /// Whether these are worth telling to somebody who was last told `told`.
    pub fn is_news_after(&self, told: &Self) -> bool {
        let moved = self.memory.abs_diff(told.memory);
        (self.pid, self.processes) != (told.pid, told.processes)
            || self.cpu_percent.abs_diff(told.cpu_percent) >= CPU_STEP
            || (moved >= MEMORY_STEP && moved >= told.memory / 10)
    }
}

/// What to do about the processes of a listed command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchAct {
    /// Find what carries the marker of `item` (`CODEX_TOOL_CALL_ID`) of `thread` and tell of it:
    /// `NotFound`, or `Vitals` again and again and in the end `Ended`.
    Begin { thread: ThreadId, item: ItemId },
    /// Nobody wants to know any more; nothing is answered.
    End,
}

/// What watching a command tells. Nothing follows `Ended` and `NotFound`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchReport {
    /// The first ones, and then those that are news.
    Vitals(Vitals),
    /// The leader is gone.
    Ended,
    /// No living process carries the marker: wiped environment, other user, elsewhere, or ended.
    NotFound,
}

#[cfg(test)]
mod tests {
    use super::Vitals;

    const MIB: u64 = 1 << 20;

    #[test]
    fn what_hardly_moved_is_no_news() {
        let told = Vitals { pid: 7, processes: 2, cpu_percent: 10, memory: 100 * MIB, started: 1 };
        let is_news = |now: Vitals| now.is_news_after(&told);
        assert!(!is_news(told));
        assert!(!is_news(Vitals { cpu_percent: 14, memory: 109 * MIB, ..told }));
        assert!(!is_news(Vitals { cpu_percent: 6, memory: 91 * MIB, ..told }));
        assert!(is_news(Vitals { cpu_percent: 15, ..told }));
        assert!(is_news(Vitals { cpu_percent: 5, ..told }));
        assert!(is_news(Vitals { memory: 110 * MIB, ..told }));
        assert!(is_news(Vitals { memory: 90 * MIB, ..told }));
        assert!(is_news(Vitals { processes: 3, ..told }));
    }

    #[test]
    fn of_little_memory_a_tenth_is_no_news() {
        let told = Vitals { pid: 7, processes: 1, cpu_percent: 0, memory: MIB, started: 1 };
        assert!(!Vitals { memory: 2 * MIB - 1, ..told }.is_news_after(&told));
        assert!(Vitals { memory: 2 * MIB, ..told }.is_news_after(&told));
    }
}
