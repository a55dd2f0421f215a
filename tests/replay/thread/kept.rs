//! What a played Codex keeps of a thread, and how it gives it page by page.

use super::{Later, Thread};
use crate::recording::Recording;
use serde_json::{Value, json};
use std::collections::BTreeSet;

impl Thread {
    /// A turn begins.
    pub(super) fn began(&mut self, turn: &str, at: &Value) {
        if !turn.is_empty() && !self.turns.iter().any(|(known, _)| known == turn) {
            self.turns.push((turn.to_owned(), at.clone()));
        }
    }

    /// An item has ended: only then it is kept, with the turn that started it.
    pub(super) fn remember(&mut self, params: &Value, id: &str) {
        if id.is_empty() {
            return;
        }
        self.began(params["turnId"].as_str().unwrap_or_default(), &Value::Null);
        let (turn, item) = (&params["turnId"], &params["item"]);
        let started = self.starts.get(id).copied().or_else(|| item["startedAtMs"].as_i64());
        self.history.push(json!({"turnId": turn, "item": item, "startedAtMs": started}));
    }

    /// An item begins: when, by its own word or else just after the one before.
    pub(super) fn starts(&mut self, item: &Value) {
        let at = item["startedAtMs"].as_i64().unwrap_or(self.last_start + 1);
        self.last_start = self.last_start.max(at);
        if let Some(id) = item["id"].as_str() {
            self.starts.entry(id.to_owned()).or_insert(at);
        }
    }

    /// The items that are kept.
    pub(crate) fn kept(&self) -> BTreeSet<String> {
        let ids = self.history.iter().filter_map(|entry| entry["item"]["id"].as_str());
        ids.map(str::to_owned).collect()
    }

    pub(super) fn items_page(&self, params: &Value) -> Value {
        let of_turn = |entry: &&Value| params["turnId"].is_null() || entry["turnId"] == params["turnId"];
        page(self.history.iter().filter(of_turn).cloned().collect(), params)
    }

    pub(super) fn turns_page(&self, params: &Value) -> Value {
        if self.turns.is_empty() {
            let message = format!(
                "thread {} is not materialized yet; thread/turns/list is unavailable before first user message",
                self.id
            );
            return json!({"error": {"code": -32600, "message": message}});
        }
        let turns = self.turns.iter().map(|(id, at)| {
            let runs = self.turn.as_ref() == Some(id);
            let status = if runs { "inProgress" } else { "completed" };
            json!({"id": id, "items": [], "itemsView": "notLoaded", "status": status, "startedAt": at})
        });
        page(turns.collect(), params)
    }
}

impl Thread {
    /// Codex saves a thread with its first message.
    pub(crate) fn is_saved(&self) -> bool {
        !self.turns.is_empty()
    }

    /// What `thread/list` says of it.
    pub(crate) fn entry(&self) -> Value {
        let mut entry = self.opened["thread"].clone();
        entry["turns"] = json!([]);
        entry["name"] = json!(self.name);
        let first = self.history.iter().find(|it| it["item"]["type"] == "userMessage");
        entry["preview"] = first.map_or(json!(""), |it| it["item"]["content"][0]["text"].clone());
        entry
    }

    /// The answer to the request that opened it.
    pub(crate) fn opened(&self) -> Value {
        self.opened.clone()
    }

    /// A thread with the same history, and nothing that runs; `None` where nothing is saved.
    pub(crate) fn fork(&self, nth: usize) -> Option<Self> {
        if !self.is_saved() {
            return None;
        }
        let mut opened = self.opened.clone();
        let id = format!("01a20000-0000-7000-8000-{nth:012}");
        opened["thread"]["id"] = json!(id);
        opened["thread"]["forkedFromId"] = json!(self.id);
        let mut fork = Self::new(Recording::blank(opened));
        (fork.history, fork.turns) = (self.history.clone(), self.turns.clone());
        Some(fork)
    }

    /// What Codex says while it archives or deletes the thread.
    pub(crate) fn put(&mut self, method: &str) -> Vec<Later> {
        if method == "thread/unarchive" {
            return Vec::new();
        }
        let mut lines: Vec<Later> = Vec::new();
        if self.subscribed {
            let live: Vec<String> = self.live.keys().cloned().collect();
            lines.extend(live.iter().filter_map(|id| self.kill(id)).map(|(_, line)| (0, line)));
            lines.push((0, self.status("notLoaded")));
        } else {
            self.died();
        }
        let told = if method == "thread/archive" { "thread/archived" } else { "thread/deleted" };
        lines.push((1, self.line(told, json!({}))));
        lines
    }
}

pub(super) fn page(all: Vec<Value>, params: &Value) -> Value {
    let from = params["cursor"].as_str().and_then(|it| it.parse().ok()).unwrap_or(0_usize).min(all.len());
    let limit = params["limit"].as_u64().and_then(|it| usize::try_from(it).ok()).unwrap_or(25);
    let to = all.len().min(from + limit);
    let next = (to < all.len()).then(|| to.to_string());
    json!({"result": {"data": all[from..to], "nextCursor": next}})
}
