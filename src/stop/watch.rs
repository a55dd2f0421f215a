//! The thread that watches the processes of listed commands, off the loop.
//!
//! Takes acts, gives reports. Sleeps while nothing is watched; all watches share its looks.

#[cfg(all(test, target_os = "linux"))]
mod tests;

use super::tree::{Marked, Processes, Scope};
use super::watched::Watched;
use crate::core::ids::WatchId;
use crate::core::vitals::{WatchAct, WatchReport};
use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;
use tokio::time::Instant;

/// How often is looked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Between two questions whether the leaders live.
    pub(super) tick: Duration,
    /// From the start of a watch to its first measure.
    pub(super) first: Duration,
    /// Between two measures after that.
    pub(super) then: Duration,
    /// Between two looks at all processes of the system, for new children: the dear part.
    pub(super) look: Duration,
}

const PACE: Pace = Pace {
    tick: Duration::from_millis(500),
    first: Duration::from_secs(2),
    then: Duration::from_secs(5),
    look: Duration::from_secs(10),
};

/// Hold of the thread. Dropping it ends every watch.
#[derive(Debug)]
pub struct Watch(Sender<Order>);

#[derive(Debug)]
struct Order {
    watch: WatchId,
    act: WatchAct,
    app_server: Option<u32>,
}

struct Worker<R> {
    report: R,
    pace: Pace,
    watched: BTreeMap<WatchId, Watched>,
    /// Of what is watched only; kept while there is something, so that keys stay comparable.
    processes: Option<Processes>,
    looked: Option<Instant>,
}

impl Watch {
    /// Starts the thread. `report` is called on it.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn start(report: impl Fn(WatchId, WatchReport) + Send + 'static) -> io::Result<Self> {
        Self::at_pace(PACE, report)
    }

    fn at_pace(pace: Pace, report: impl Fn(WatchId, WatchReport) + Send + 'static) -> io::Result<Self> {
        let (orders, ordered) = mpsc::channel();
        let worker = Worker { report, pace, watched: BTreeMap::new(), processes: None, looked: None };
        std::thread::Builder::new().name("watch".to_owned()).spawn(move || worker.run(&ordered))?;
        Ok(Self(orders))
    }

    /// Does one act. `app_server` is the pid of ours. Never waits.
    ///
    /// A watch that was answered by `Ended` or `NotFound` is over.
    pub fn act(&self, watch: WatchId, act: WatchAct, app_server: Option<u32>) {
        if self.0.send(Order { watch, act, app_server }).is_err() {
            tracing::error!(watch = watch.0, "the thread that watches processes is gone");
        }
    }
}

impl<R: Fn(WatchId, WatchReport)> Worker<R> {
    fn run(mut self, orders: &Receiver<Order>) {
        loop {
            let order = match self.watched.is_empty() {
                true => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
                false => orders.recv_timeout(self.pace.tick),
            };
            match order {
                Ok(order) => self.take(order),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            // One look serves all that came together.
            for order in orders.try_iter() {
                self.take(order);
            }
            if let Err(error) = self.go_on() {
                self.give_up(&error);
            }
        }
    }

    fn take(&mut self, Order { watch, act, app_server }: Order) {
        tracing::debug!(watch = watch.0, ?act, "watch");
        match act {
            WatchAct::Begin { thread, item } => {
                let scope = Scope { marked: Marked::Command { thread, item }, app_server };
                self.watched.insert(watch, Watched::new(scope));
            }
            WatchAct::End => {
                self.watched.remove(&watch);
            }
        }
    }

    fn go_on(&mut self) -> Result<(), sysinfo::Error> {
        if self.watched.is_empty() {
            self.processes = None;
            return Ok(());
        }
        let processes = match &mut self.processes {
            Some(processes) => processes,
            None => self.processes.insert(Processes::empty()?),
        };
        let mut reports = Vec::new();
        for (watch, watched) in &self.watched {
            if watched.has_ended(processes) {
                reports.push((*watch, WatchReport::Ended));
            }
        }
        let now = Instant::now();
        let is_stale = self.looked.is_none_or(|at| at + self.pace.look <= now);
        if is_stale || self.watched.values().any(Watched::is_sought) {
            // Everybody's environment is much to keep: this look is let go of at once.
            let seen = Processes::look()?;
            let now = Instant::now();
            self.looked = Some(now);
            for (watch, watched) in &mut self.watched {
                let report = watched.looked(&seen, processes, &self.pace, now);
                reports.extend(report.map(|report| (*watch, report)));
            }
        }
        for (watch, watched) in &mut self.watched {
            let report = watched.measured(processes, &self.pace, Instant::now());
            reports.extend(report.map(|report| (*watch, report)));
        }
        for (watch, report) in reports {
            self.tell(watch, report);
        }
        Ok(())
    }

    fn tell(&mut self, watch: WatchId, report: WatchReport) {
        if !self.watched.contains_key(&watch) {
            return;
        }
        tracing::debug!(watch = watch.0, ?report, "watched");
        match report {
            WatchReport::Vitals(_) => {}
            WatchReport::Ended | WatchReport::NotFound => {
                self.watched.remove(&watch);
            }
        }
        (self.report)(watch, report);
    }

    fn give_up(&mut self, error: &sysinfo::Error) {
        tracing::warn!(%error, "processes cannot be listed, nothing is watched");
        for watch in std::mem::take(&mut self.watched).into_keys() {
            (self.report)(watch, WatchReport::NotFound);
        }
    }
}
