//! The thread that ends commands gently, off the loop.
//!
//! Takes acts, gives reports. All stops share its looks at the processes: a close has many.

#[cfg(all(test, target_os = "linux"))]
mod tests;

use super::pursuit::{BOUNDS, Bounds, Found, Pursuit};
use super::tree::{Marked, Processes, Scope};
use crate::core::effect::StopAct;
use crate::core::ids::StopId;
use crate::core::input::StopReport;
use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use tokio::time::Instant;

/// Hold of the thread. Dropping it gives up every stop.
#[derive(Debug)]
pub struct Reach(Sender<Order>);

#[derive(Debug)]
struct Order {
    stop: StopId,
    act: StopAct,
    app_server: Option<u32>,
}

struct Worker<R> {
    report: R,
    bounds: Bounds,
    pursuits: BTreeMap<StopId, Pursuit>,
    /// The last look; kept while there is something to stop, so that keys stay comparable.
    processes: Option<Processes>,
}

impl Reach {
    /// Starts the thread. `report` is called on it.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn start(report: impl Fn(StopId, StopReport) + Send + 'static) -> io::Result<Self> {
        Self::within(BOUNDS, report)
    }

    fn within(bounds: Bounds, report: impl Fn(StopId, StopReport) + Send + 'static) -> io::Result<Self> {
        let (orders, ordered) = mpsc::channel();
        let worker = Worker { report, bounds, pursuits: BTreeMap::new(), processes: None };
        std::thread::Builder::new().name("reach".to_owned()).spawn(move || worker.run(&ordered))?;
        Ok(Self(orders))
    }

    /// Does one act. `app_server` is the pid of ours, alive or dead. Never waits.
    ///
    /// A stop that was answered by `NotFound` waits for `Finish` or `Forget`; one that was answered
    /// by `Gone` or `Left` is over, and further acts on it are not answered.
    pub fn act(&self, stop: StopId, act: StopAct, app_server: Option<u32>) {
        if self.0.send(Order { stop, act, app_server }).is_err() {
            tracing::error!(stop = stop.0, "the thread that ends processes is gone");
        }
    }
}

impl<R: Fn(StopId, StopReport)> Worker<R> {
    fn run(mut self, orders: &Receiver<Order>) {
        loop {
            let order = match self.pursuits.values().filter_map(Pursuit::due).min() {
                None => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => orders.recv_timeout(due.saturating_duration_since(Instant::now())),
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
            self.go_on();
        }
    }

    fn take(&mut self, Order { stop, act, app_server }: Order) {
        tracing::debug!(stop = stop.0, ?act, "stop");
        let now = Instant::now();
        match act {
            StopAct::Ask { thread, item } => {
                let scope = Scope { marked: Marked::Command { thread, item }, app_server };
                self.pursuits.insert(stop, Pursuit::new(scope, self.bounds, now));
            }
            StopAct::Finish => match self.pursuits.get_mut(&stop) {
                Some(pursuit) => pursuit.finish(now),
                None => tracing::debug!(stop = stop.0, "it is over already"),
            },
            StopAct::Forget => {
                self.pursuits.remove(&stop);
            }
        }
    }

    fn go_on(&mut self) {
        let now = Instant::now();
        let is_due = |pursuit: &Pursuit| pursuit.due().is_some_and(|due| due <= now);
        if self.pursuits.is_empty() {
            self.processes = None;
        }
        if !self.pursuits.values().any(is_due) {
            return;
        }
        let processes = match &mut self.processes {
            Some(processes) => processes,
            None => match Processes::empty() {
                Ok(processes) => self.processes.insert(processes),
                Err(error) => return self.give_up(&error),
            },
        };
        let mut wanting = Vec::new();
        for (stop, pursuit) in &mut self.pursuits {
            if is_due(pursuit) && pursuit.needs_look(processes, now) {
                wanting.push(*stop);
            }
        }
        if wanting.is_empty() {
            return;
        }
        processes.look_again();
        for stop in wanting {
            let Some(pursuit) = self.pursuits.get_mut(&stop) else { continue };
            // The look took its time, and so do signals.
            let found = pursuit.looked(processes, Instant::now());
            match found {
                Found::Nothing => {}
                Found::Report(report) => tell(&self.report, stop, report),
                Found::End(report) => {
                    self.pursuits.remove(&stop);
                    tell(&self.report, stop, report);
                }
            }
        }
    }

    fn give_up(&mut self, error: &sysinfo::Error) {
        tracing::warn!(%error, "processes cannot be listed, nothing is stopped");
        for stop in std::mem::take(&mut self.pursuits).into_keys() {
            tell(&self.report, stop, StopReport::NotFound);
        }
    }
}

fn tell(how: impl Fn(StopId, StopReport), stop: StopId, report: StopReport) {
    tracing::info!(stop = stop.0, ?report, "stop");
    how(stop, report);
}
