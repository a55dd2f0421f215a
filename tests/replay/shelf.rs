//! Threads of a played Codex that were archived or deleted, and its list of all.

use crate::thread::Thread;
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub(crate) struct Shelf {
    archived: BTreeSet<String>,
    deleted: BTreeSet<String>,
}

impl Shelf {
    pub(crate) fn is_archived(&self, params: &Value) -> bool {
        params["threadId"].as_str().is_some_and(|id| self.archived.contains(id))
    }

    pub(crate) fn is_deleted(&self, params: &Value) -> bool {
        params["threadId"].as_str().is_some_and(|id| self.deleted.contains(id))
    }

    /// Puts a thread there; `exists` if there is one of that name.
    pub(crate) fn put(&mut self, method: &str, params: &Value, exists: bool) -> Result<(), Value> {
        let id = params["threadId"].as_str().unwrap_or_default().to_owned();
        let unknown = |what: &str| {
            Err(json!({"code": -32600, "message": format!("no {what} found for thread id {id}")}))
        };
        let is_archived = self.archived.contains(&id);
        match method {
            "thread/unarchive" if !is_archived => return unknown("archived rollout"),
            "thread/unarchive" => drop(self.archived.remove(&id)),
            _ if !exists => return unknown("rollout"),
            "thread/archive" if is_archived => return unknown("rollout"),
            "thread/archive" => drop(self.archived.insert(id)),
            _ => {
                self.archived.remove(&id);
                self.deleted.insert(id);
            }
        }
        Ok(())
    }

    /// The answer to `thread/list`: threads that something was said in, the newest first.
    pub(crate) fn list(&self, threads: &[Thread], params: &Value) -> Value {
        let cursor = params["cursor"].as_str();
        let from = match cursor.map(str::parse::<usize>) {
            None => 0,
            Some(Ok(from)) => from,
            Some(Err(_)) => {
                let message = format!("invalid cursor: {}", cursor.unwrap_or_default());
                return json!({"error": {"code": -32600, "message": message}});
            }
        };
        if let Some(ancestor) = params["ancestorThreadId"].as_str() {
            let found = threads.iter().find(|it| it.id() == ancestor).map(Thread::descendants);
            return json!({"result": {"data": found.unwrap_or_default(), "nextCursor": null}});
        }
        let of_archived = params["archived"] == true;
        let only = params["includedThreadIds"].as_array();
        let is_listed = |thread: &&Thread| {
            let id = thread.id();
            thread.is_saved()
                && !self.deleted.contains(id)
                && self.archived.contains(id) == of_archived
                && only.is_none_or(|only| only.iter().any(|it| it == id))
                && (params["cwd"].is_null() || params["cwd"] == thread.opened()["cwd"])
        };
        let all: Vec<Value> = threads.iter().rev().filter(is_listed).map(Thread::entry).collect();
        let limit = params["limit"].as_u64().and_then(|it| usize::try_from(it).ok()).unwrap_or(25);
        let to = all.len().min(from + limit);
        let data = all.get(from..to).unwrap_or_default();
        json!({"result": {"data": data, "nextCursor": (to < all.len()).then(|| to.to_string())}})
    }
}
