//! A thread is told something for its model only: new input, which ends a wait that names nobody.

use super::{LATENCY, Server};
use serde_json::{Value, json};

impl Server {
    /// `thread/inject_items`. What a thread that waits was going to say comes as much sooner.
    pub(super) fn inform(&mut self, now: u64, id: &Value, params: &Value) {
        let found = self.of(params).or_else(|| self.parent_of(params));
        let Some(idx) = found.filter(|idx| self.threads[*idx].is_loaded(params)) else {
            return self.answer(now, id, json!({"error": {"code": -32600, "message": "thread not found"}}));
        };
        self.answer(now, id, json!({"result": {}}));
        let is_its = |of: Option<usize>, line: &Value| {
            of == Some(idx) && line["params"]["threadId"] == params["threadId"]
        };
        let ends_wait = |(_, (of, line)): &(&(u64, u64), &(Option<usize>, Value))| {
            is_its(*of, line) && is_end_of_wait(line)
        };
        let Some(end) = self.queue.iter().find(ends_wait).map(|(at, _)| *at) else { return };
        let sooner = end.0.saturating_sub(now + LATENCY);
        let queue = std::mem::take(&mut self.queue);
        let moved = queue.into_iter().map(|((at, n), (of, line))| {
            let at = if (at, n) >= end && is_its(of, &line) { at - sooner } else { at };
            ((at, n), (of, line))
        });
        self.queue = moved.collect();
    }
}

fn is_end_of_wait(line: &Value) -> bool {
    let item = &line["params"]["item"];
    let names_nobody = item["receiverThreadIds"].as_array().is_some_and(Vec::is_empty);
    line["method"] == "item/completed" && item["tool"] == "wait" && names_nobody
}
