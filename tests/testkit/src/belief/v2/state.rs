//! Rules of the snapshots: the foreground's state and the background list.

use super::{call, terminal};
use crate::belief::Findings;
use crate::belief::fold::Store;
use serde_json::Value;
use std::collections::BTreeSet;

/// The last snapshot, and whether a turn is open.
#[derive(Debug, Default)]
pub(super) struct State {
    last: Option<Value>,
    active: bool,
    /// A turn ran when this session was opened again, and its end was not told before.
    pub(super) may_end: bool,
    keys: Vec<String>,
}

impl State {
    pub(super) fn snapshot(&mut self, store: &Store, update: &Value, n_asks: usize, found: &mut Findings) {
        let list = update["background"].as_array();
        if list.is_none() {
            found.add("background-missing", update.to_string());
        }
        let keys: Vec<String> = list.into_iter().flatten().filter_map(|item| key(item, found)).collect();
        self.check_state(update, &keys, n_asks, found);
        self.check_list(store, &keys, found);
        if update["state"] == "idle" {
            check_nothing_left(store, &keys, found);
        }
        self.last = Some(update.clone());
        self.keys = keys;
    }

    /// A turn runs or waits, as far as the client knows.
    pub(super) fn is_active(&self) -> bool {
        self.active
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.last.as_ref().is_some_and(|last| last["state"] == "requires_action")
    }

    pub(super) fn lists(&self, key: &str) -> bool {
        self.keys.iter().any(|listed| listed == key)
    }

    pub(super) fn listed(&self) -> Vec<String> {
        self.keys.clone()
    }

    fn check_state(&mut self, update: &Value, keys: &[String], n_asks: usize, found: &mut Findings) {
        let stop = update.get("stopReason").and_then(Value::as_str);
        let same = |last: &Value| last["state"] == update["state"] && self.keys == *keys;
        match update["state"].as_str() {
            Some("running") => {
                self.active = true;
                self.may_end = false;
            }
            Some("requires_action") => {
                self.active = true;
                if n_asks == 0 {
                    found.add("requires-action-unasked", update.to_string());
                }
            }
            Some("idle") => match (self.active, stop) {
                (true, None) => found.add("idle-without-stop", update.to_string()),
                (false, Some(_)) if self.may_end => self.may_end = false,
                (false, Some(_)) => found.add("stop-without-run", update.to_string()),
                (true, Some(_)) => self.active = false,
                (false, None) => {}
            },
            Some("unknown") => {}
            _ => found.add("unknown-state", update.to_string()),
        }
        if stop.is_none() && self.last.as_ref().is_some_and(same) {
            found.add("snapshot-repeated", update.to_string());
        }
    }

    fn check_list(&self, store: &Store, keys: &[String], found: &mut Findings) {
        let mut seen = BTreeSet::new();
        for key in keys {
            if !seen.insert(key) {
                found.add("listed-twice", key.clone());
            }
            match is_live(store, key) {
                None => found.add("listed-unannounced", key.clone()),
                Some(false) => found.add("listed-ended", key.clone()),
                Some(true) => {}
            }
            if let Some(id) = key.strip_prefix("tool_call:")
                && let Some(entity) = store.get("toolCall", id)
                && call::terminals(entity).any(|id| keys.contains(&terminal_key(id)))
            {
                found.add("listed-with-its-terminal", key.clone());
            }
        }
        for key in self.keys.iter().filter(|key| !keys.contains(key)) {
            if is_live(store, key) == Some(true) && !is_awaited(store, key) {
                found.add("removed-alive", key.clone());
            }
        }
        // A subagent is at work beside its parent from its announcement on.
        for (id, _) in store.all("subagent") {
            let key = format!("subagent:{id}");
            if is_live(store, &key) == Some(true) && !keys.contains(&key) && !is_awaited(store, &key) {
                found.add("subagent-not-listed", key);
            }
        }
    }
}

// A terminal that cannot be cancelled may be the user's own shell command, which is never listed.
fn check_nothing_left(store: &Store, keys: &[String], found: &mut Findings) {
    for (id, entity) in store.all("terminal") {
        let stoppable = !entity["capabilities"]["cancel"].is_null();
        if stoppable && terminal::is_live(store, id) == Some(true) && !keys.contains(&terminal_key(id)) {
            found.add("idle-hides-work", terminal_key(id));
        }
    }
}

pub(super) fn terminal_key(id: &str) -> String {
    format!("terminal:{id}")
}

pub(super) fn call_key(id: &str) -> String {
    format!("tool_call:{id}")
}

fn key(item: &Value, found: &mut Findings) -> Option<String> {
    let name = match item["type"].as_str() {
        Some("terminal") => "terminalId",
        Some("tool_call") => "toolCallId",
        Some("subagent") => "sessionId",
        _ => "",
    };
    match (item["type"].as_str(), item[name].as_str()) {
        (Some(kind), Some(id)) => Some(format!("{kind}:{id}")),
        _ => {
            found.add("list-malformed", item.to_string());
            None
        }
    }
}

/// Whether an open call waits for this subagent.
fn is_awaited(store: &Store, key: &str) -> bool {
    let Some(id) = key.strip_prefix("subagent:") else { return false };
    store.all("toolCall").any(|(_, call)| {
        call["name"] == "wait" && !call::is_final(call) && call::sessions(call).any(|session| session == id)
    })
}

/// Whether listed work runs as far as the client knows; `None` if it was never announced.
fn is_live(store: &Store, key: &str) -> Option<bool> {
    match key.split_once(':')? {
        ("terminal", id) => terminal::is_live(store, id),
        ("tool_call", id) => Some(!call::is_final(store.get("toolCall", id)?)),
        (_, id) => {
            let state = &store.get("subagent", id)?["state"];
            let quiet = state["background"].as_array().is_some_and(Vec::is_empty);
            Some(state["state"] != "idle" || !quiet)
        }
    }
}
