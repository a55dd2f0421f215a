//! What watching commands tells.

use super::Rig;
use appserver_acp::bridge::arrival::Arrival;
use appserver_acp::core::ids::WatchId;
use appserver_acp::core::input::Pressure;
use appserver_acp::core::vitals::{Vitals, WatchAct, WatchReport};
use serde_json::Value;

impl Rig {
    pub(super) fn watch(&mut self, watch: WatchId, act: WatchAct) {
        match act {
            WatchAct::Begin { item, .. } => {
                self.note("  watch", item.as_str());
                self.watched.insert(item.as_str().to_owned(), watch);
            }
            WatchAct::End => {
                self.note("  no longer watch", &watch.0.to_string());
                self.watched.retain(|_, other| *other != watch);
            }
        }
    }

    /// The watch of a command that is watched.
    #[track_caller]
    pub(crate) fn watch_of(&self, item: &str) -> WatchId {
        self.want(self.watched.contains_key(item), &format!("{item} is not watched"));
        self.watched[item]
    }

    pub(crate) fn watch_tells(&mut self, watch: WatchId, report: WatchReport) {
        self.note("watch", &format!("{} {report:?}", watch.0));
        self.step(Arrival::Watched { watch, report });
    }

    /// Vitals with this many processes.
    pub(crate) fn vitals(&mut self, watch: WatchId, processes: u32) {
        let vitals = Vitals { pid: 71, processes, cpu_percent: 3, memory: 1 << 20, started: 0 };
        self.watch_tells(watch, WatchReport::Vitals(vitals));
    }

    /// Numbers of processes that the client was told, in order.
    pub(crate) fn processes_told(&self) -> Vec<u64> {
        let told = self.updates().map(|it| &it["_meta"]["dev.appserver-acp"]["processes"]);
        told.filter_map(Value::as_u64).collect()
    }

    pub(crate) fn press(&mut self, pressure: Pressure) {
        self.note("queue", &format!("{pressure:?}"));
        self.step(Arrival::ClientQueue(pressure));
    }
}
