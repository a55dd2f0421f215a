//! Child threads of a played thread: what the recording says of them, and what Codex does where it does not.
//!
//! Their lines come in the parent's recording; what runs in them is the truth about their sessions.

use super::kept::page;
use super::{KILLED_AFTER, Later, Running, Thread, ends, is_about};
use crate::recording::Gate;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

impl Thread {
    /// Whether this is a child of it, at whatever depth.
    pub(crate) fn has_child(&self, thread: &str) -> bool {
        self.subagents.has(thread)
    }

    /// Whether the thread that is named, itself or a child, is in Codex's memory.
    pub(crate) fn is_loaded(&self, params: &Value) -> bool {
        let id = params["threadId"].as_str().unwrap_or_default();
        if id == self.id { self.loaded } else { self.subagents.turn_of(id).is_some() }
    }

    /// Items of the commands that run in a child.
    pub(crate) fn live_in_child(&self, thread: &str) -> Option<BTreeSet<String>> {
        self.subagents.live(thread)
    }

    /// Items that the history of a child has.
    pub(crate) fn kept_of_child(&self, thread: &str) -> Option<BTreeSet<String>> {
        let history = &self.subagents.children.get(thread)?.history;
        let ids = history.iter().filter_map(|it| it["item"]["id"].as_str());
        Some(ids.map(str::to_owned).collect())
    }

    /// Children that work, or have something at work.
    pub(crate) fn children_at_work(&self) -> BTreeSet<String> {
        self.subagents.at_work()
    }

    /// What `thread/list` says of its subagents, at every depth.
    pub(crate) fn descendants(&self) -> Vec<Value> {
        self.subagents.list()
    }

    /// The thread is taken out of Codex's memory, and its subagents with it: their ends are told.
    pub(crate) fn unload_children(&mut self) -> Vec<Later> {
        self.subagents
            .children
            .iter()
            .filter(|(_, it)| it.is_loaded)
            .flat_map(|(id, it)| it.unload(id))
            .collect()
    }

    /// The answer to `thread/resume` of a child.
    pub(crate) fn resume_child(&mut self, child: &str) -> Value {
        let mut opened = self.opened.clone();
        let (entry, turn) = self.subagents.load(child);
        for (name, value) in entry.as_object().into_iter().flatten() {
            opened["thread"][name] = value.clone();
        }
        let newest =
            turn.map(|id| json!({"id": id, "items": [], "itemsView": "notLoaded", "status": "inProgress"}));
        opened["initialTurnsPage"] =
            json!({"data": newest.into_iter().collect::<Vec<_>>(), "nextCursor": null});
        opened
    }

    /// Answers a request about a child.
    pub(crate) fn child_request(&mut self, method: &str, params: &Value) -> (Value, Vec<Later>) {
        let recorded = self.take(|gate| match gate {
            Gate::Interrupt { turn } => method == "turn/interrupt" && params["turnId"] == turn.as_str(),
            Gate::Terminate { process } => {
                method.ends_with("/terminate") && params["processId"] == process.as_str()
            }
            Gate::ThreadStart | Gate::TurnStart | Gate::Clean | Gate::Answer { .. } => false,
        });
        self.subagents.request(method, params, recorded.map(|segment| segment.lines))
    }

    /// Of lines that are not sent yet, whether this one still comes after this child was cut off.
    pub(crate) fn outlives_child(&self, child: &str, line: &Value) -> bool {
        line["params"]["threadId"] != child || self.subagents.outlives(line, Some(child))
    }
}

/// All children of a thread, at every depth.
#[derive(Debug, Default)]
pub(super) struct Subagents {
    children: BTreeMap<String, Child>,
    /// Parent and path of a child, by the recording.
    births: BTreeMap<String, (String, String)>,
}

#[derive(Debug, Default)]
struct Child {
    live: BTreeMap<String, Running>,
    /// Commands that wait for an approval: the item as it was started.
    waiting: BTreeMap<String, Value>,
    ended: BTreeSet<String>,
    turn: Option<String>,
    ended_turns: BTreeSet<String>,
    /// It is in Codex's memory.
    is_loaded: bool,
    /// What Codex keeps of it: turns that began, and items that ended.
    turns: Vec<String>,
    history: Vec<Value>,
}

impl Subagents {
    /// Who is whose child, by all lines that will come.
    pub(super) fn of<'a>(lines: impl Iterator<Item = &'a Value>) -> Self {
        let mut subagents = Self::default();
        for line in lines {
            let (parent, item) = (&line["params"]["threadId"], &line["params"]["item"]);
            let path = item["agentPath"].as_str().unwrap_or_default();
            let named = item["receiverThreadIds"].as_array().into_iter().flatten();
            for child in named.chain([&item["agentThreadId"]]).filter_map(Value::as_str) {
                let birth = (parent.as_str().unwrap_or_default().to_owned(), path.to_owned());
                subagents.births.entry(child.to_owned()).or_insert(birth);
            }
        }
        subagents
    }

    pub(super) fn has(&self, thread: &str) -> bool {
        self.births.contains_key(thread)
    }

    /// Children in which something is at work.
    pub(super) fn at_work(&self) -> BTreeSet<String> {
        let is_at_work = |child: &Child| child.turn.is_some() || !child.live.is_empty();
        let its = self.children.iter().filter(|(_, child)| is_at_work(child));
        let mut at_work: BTreeSet<String> = its.map(|(id, _)| id.clone()).collect();
        // What is at work below a child is work of that child.
        loop {
            let above = at_work.iter().filter_map(|id| Some(self.births.get(id)?.0.clone()));
            let above: Vec<String> = above.filter(|id| self.has(id) && !at_work.contains(id)).collect();
            if above.is_empty() {
                return at_work;
            }
            at_work.extend(above);
        }
    }

    pub(super) fn live(&self, thread: &str) -> Option<BTreeSet<String>> {
        self.has(thread).then(|| {
            self.children.get(thread).map(|it| it.live.keys().cloned().collect()).unwrap_or_default()
        })
    }

    /// Those that were seen, in the order of their first sign.
    fn list(&self) -> Vec<Value> {
        let mut seen: Vec<&String> = self.children.keys().collect();
        // Names are made of their time.
        seen.sort();
        seen.into_iter().map(|id| self.entry(id)).collect()
    }

    fn entry(&self, id: &str) -> Value {
        let child = &self.children[id];
        let status = match (child.is_loaded, &child.turn) {
            (false, _) => "notLoaded",
            (true, Some(_)) => "active",
            (true, None) => "idle",
        };
        let (parent, path) = self.births.get(id).cloned().unwrap_or_default();
        let spawn = json!({"parent_thread_id": parent, "depth": 1, "agent_path": path, "agent_nickname": "Ada", "agent_role": null});
        json!({"id": id, "cwd": "/workspace/project", "agentNickname": "Ada", "preview": "", "name": null,
            "source": {"subAgent": {"thread_spawn": spawn}}, "status": {"type": status, "activeFlags": []}})
    }

    /// Takes a child into memory; what is told of it then, and its turn.
    fn load(&mut self, id: &str) -> (Value, Option<String>) {
        self.children.entry(id.to_owned()).or_default().is_loaded = true;
        (self.entry(id), self.children[id].turn.clone())
    }

    /// A child that no recording has.
    pub(super) fn is_born(&mut self, child: &str, parent: &str, path: &str) {
        self.births.insert(child.to_owned(), (parent.to_owned(), path.to_owned()));
    }

    /// The turn of a child that is in Codex's memory.
    pub(super) fn turn_of(&self, child: &str) -> Option<Option<String>> {
        let child = self.children.get(child).filter(|it| it.is_loaded)?;
        Some(child.turn.clone())
    }

    /// The oldest command of a child ends well.
    pub(super) fn ends_by_itself(&self, child: &str) -> Option<Later> {
        let (id, running) = self.children.get(child)?.live.iter().next()?;
        let mut item = running.item.clone();
        (item["id"], item["status"], item["exitCode"]) = (json!(id), json!("completed"), json!(0));
        Some((0, line(child, "item/completed", json!({"turnId": running.turn, "item": item}))))
    }

    pub(super) fn vanish(&mut self, item: &str) {
        for child in self.children.values_mut() {
            child.live.remove(item);
        }
    }

    pub(super) fn died(&mut self) {
        self.children.values_mut().for_each(Child::died);
    }

    /// Whether a child asks about this command of its own.
    pub(super) fn waits(&self, item: &str) -> bool {
        self.children.values().any(|it| it.waiting.contains_key(item))
    }

    /// The question about a command of a child is answered: it runs as this process, or is told as declined.
    pub(super) fn answered(&mut self, item: &str, process: Option<&str>) -> Option<Later> {
        let (thread, child) = self.children.iter_mut().find(|(_, it)| it.waiting.contains_key(item))?;
        let mut started = child.waiting.remove(item)?;
        let Some(process) = process else {
            started["status"] = json!("declined");
            let params = json!({"turnId": child.turn, "item": started});
            return Some((2, line(thread, "item/completed", params)));
        };
        child.run(item, process, started);
        None
    }

    /// A line about a child; whether it is really sent.
    pub(super) fn observe(&mut self, line: &Value) -> bool {
        let (method, params) = (line["method"].as_str().unwrap_or_default(), &line["params"]);
        let Some(thread) = params["threadId"].as_str().filter(|thread| self.has(thread)) else { return true };
        self.children.entry(thread.to_owned()).or_default().observe(method, params)
    }

    /// The answer to a request about a child, and what follows.
    pub(super) fn request(
        &mut self,
        method: &str,
        params: &Value,
        recorded: Option<Vec<Later>>,
    ) -> (Value, Vec<Later>) {
        let thread = params["threadId"].as_str().unwrap_or_default().to_owned();
        let child = self.children.entry(thread.clone()).or_default();
        match method {
            "thread/read" => (json!({"result": {"thread": self.entry(&thread)}}), Vec::new()),
            "thread/items/list" => (child.items_page(params), Vec::new()),
            "thread/turns/list" => (child.turns_page(params), Vec::new()),
            _ if !child.is_loaded => {
                let message = format!("thread not found: {thread}");
                (json!({"error": {"code": -32600, "message": message}}), Vec::new())
            }
            "turn/interrupt" if child.turn.as_deref() == params["turnId"].as_str() => {
                let turn = json!({"id": child.turn, "items": [], "status": "interrupted", "error": null});
                let lines = recorded.unwrap_or_else(|| {
                    vec![
                        (2, line(&thread, "thread/status/changed", json!({"status": {"type": "idle"}}))),
                        (3, line(&thread, "turn/completed", json!({"turn": turn}))),
                    ]
                });
                (json!({"result": {}}), lines)
            }
            "turn/interrupt" => {
                (json!({"error": {"code": -32600, "message": "no active turn to interrupt"}}), Vec::new())
            }
            "thread/backgroundTerminals/list" => {
                let data: Vec<Value> =
                    child.live.iter().filter_map(|(id, running)| running.listed(id)).collect();
                (json!({"result": {"data": data, "nextCursor": null}}), Vec::new())
            }
            "thread/backgroundTerminals/terminate" => {
                let found = child.live.iter().find(|(_, it)| params["processId"] == it.process.as_str());
                let Some(id) = found.map(|(id, _)| id.clone()) else {
                    return (json!({"result": {"terminated": false}}), Vec::new());
                };
                let mut lines = recorded.unwrap_or_default();
                lines.retain(|(_, line)| is_about(line, &id));
                if !ends(&lines, &id) {
                    lines.extend(child.kill(&thread, &id));
                }
                (json!({"result": {"terminated": true}}), lines)
            }
            "thread/backgroundTerminals/clean" => {
                let ids: Vec<String> = child.live.keys().cloned().collect();
                (json!({"result": {}}), ids.iter().filter_map(|id| child.kill(&thread, id)).collect())
            }
            "thread/unsubscribe" => (json!({"result": {"status": "unsubscribed"}}), Vec::new()),
            _ => (json!({"error": {"code": -32600, "message": format!("not played: {method}")}}), Vec::new()),
        }
    }

    /// Whether a line that is not sent yet still comes after the turn of the parent was cut off, or, if it
    /// is `cut`, that of this child.
    pub(super) fn outlives(&self, line: &Value, cut: Option<&str>) -> bool {
        let Some(thread) = line["params"]["threadId"].as_str().filter(|it| self.has(it)) else {
            return false;
        };
        cut != Some(thread)
            || self.children.get(thread).is_some_and(|it| it.live.keys().any(|id| is_about(line, id)))
    }
}

impl Child {
    fn died(&mut self) {
        self.is_loaded = false;
        self.ended.extend(std::mem::take(&mut self.live).into_keys());
        self.ended_turns.extend(self.turn.take());
    }

    fn unload(&self, id: &str) -> Vec<Later> {
        let status = |kind: &str| line(id, "thread/status/changed", json!({"status": {"type": kind}}));
        let mut lines = Vec::new();
        if let Some(turn) = &self.turn {
            let end = json!({"id": turn, "items": [], "status": "interrupted", "error": null});
            lines.extend([(0, status("idle")), (1, line(id, "turn/completed", json!({"turn": end})))]);
        }
        lines.extend(self.live.keys().filter_map(|item| self.kill(id, item)));
        lines.push((KILLED_AFTER + 1, status("notLoaded")));
        lines
    }

    fn observe(&mut self, method: &str, params: &Value) -> bool {
        let item = &params["item"];
        let id = item["id"].as_str().or_else(|| params["itemId"].as_str()).unwrap_or_default().to_owned();
        let is_command = item["type"] == "commandExecution";
        self.is_loaded |= params["status"]["type"] != "notLoaded";
        let ends = self.takes(method, params, &id, is_command);
        if ends && method == "item/completed" {
            let (turn, started) = (&params["turnId"], &item["startedAtMs"]);
            self.history.push(json!({"turnId": turn, "item": item, "startedAtMs": started}));
        }
        ends
    }

    fn takes(&mut self, method: &str, params: &Value, id: &str, is_command: bool) -> bool {
        let item = &params["item"];
        match method {
            "turn/started" => {
                self.turn = params["turn"]["id"].as_str().map(str::to_owned);
                self.turns.extend(self.turn.clone());
            }
            "turn/completed" => {
                let turn = params["turn"]["id"].as_str().unwrap_or_default().to_owned();
                self.turn.take_if(|running| *running == turn);
                return self.ended_turns.insert(turn);
            }
            "item/started" if is_command => match item["processId"].as_str() {
                Some(process) => self.run(id, process, item.clone()),
                None => drop(self.waiting.insert(id.to_owned(), item.clone())),
            },
            "item/completed" if is_command => {
                self.live.remove(id);
                return self.ended.insert(id.to_owned());
            }
            "item/commandExecution/outputDelta" => match self.live.get_mut(id) {
                Some(running) => running.output.push_str(params["delta"].as_str().unwrap_or_default()),
                None => return !self.ended.contains(id),
            },
            "thread/status/changed" if params["status"]["type"] == "notLoaded" => self.died(),
            _ => {}
        }
        true
    }

    fn items_page(&self, params: &Value) -> Value {
        let of_turn = |entry: &&Value| params["turnId"].is_null() || entry["turnId"] == params["turnId"];
        page(self.history.iter().filter(of_turn).cloned().collect(), params)
    }

    fn turns_page(&self, params: &Value) -> Value {
        let turns = self.turns.iter().map(|id| {
            let status = if self.turn.as_ref() == Some(id) { "inProgress" } else { "completed" };
            json!({"id": id, "items": [], "itemsView": "notLoaded", "status": status, "startedAt": null})
        });
        page(turns.collect(), params)
    }

    fn run(&mut self, id: &str, process: &str, item: Value) {
        let running =
            Running { turn: self.turn.clone(), process: process.to_owned(), item, output: String::new() };
        self.live.insert(id.to_owned(), running);
    }

    fn kill(&self, thread: &str, id: &str) -> Option<Later> {
        let running = self.live.get(id)?;
        let mut item = running.item.clone();
        item["status"] = json!("failed");
        item["exitCode"] = json!(-1);
        item["aggregatedOutput"] = json!(Some(&running.output).filter(|it| !it.is_empty()));
        let params = json!({"turnId": running.turn, "item": item});
        Some((KILLED_AFTER, line(thread, "item/completed", params)))
    }
}

fn line(thread: &str, method: &str, mut params: Value) -> Value {
    params["threadId"] = json!(thread);
    json!({"method": method, "params": params})
}
