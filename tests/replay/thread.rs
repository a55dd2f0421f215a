//! One thread of a played Codex: the recording where it fits, plain behaviour of Codex where it does not.
//!
//! Knows what really runs, which is the truth that a client's belief is held against.

use crate::recording::{Gate, Recording, Segment};
use crate::standing::Standing;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

#[path = "thread/chain.rs"]
mod chain;
#[path = "thread/kept.rs"]
mod kept;
#[path = "thread/own.rs"]
mod own;
#[path = "thread/running.rs"]
mod running;
#[path = "thread/spawns.rs"]
mod spawns;
#[path = "thread/subagents.rs"]
mod subagents;

pub(crate) use spawns::Doing;

/// Milliseconds between a kill and the report of it.
const KILLED_AFTER: u64 = 5;

/// A line to be sent, so many milliseconds from now.
pub(crate) type Later = (u64, Value);

#[derive(Debug)]
pub(crate) struct Thread {
    id: String,
    opened: Value,
    /// `None` where it was played.
    script: Vec<Option<Segment>>,
    /// Commands that run, by item.
    live: BTreeMap<String, Running>,
    /// Items that ended, also by a kill that the recording does not know of.
    ended: BTreeSet<String>,
    turn: Option<String>,
    /// The turn of its reviewer, inside that one.
    part: Option<String>,
    ended_turns: BTreeSet<String>,
    newest_turn: String,
    /// A turn that no recording has does not end by itself.
    held: bool,
    /// Requests to the user that are open, with the item they are about.
    asks: Vec<(Value, String)>,
    /// Commands that wait for an approval: the item as it was started.
    waiting: BTreeMap<String, Value>,
    /// The last input: its key and content, until its message is shown.
    inputs: Vec<(Value, Value)>,
    history: Vec<Value>,
    /// When each item began, in milliseconds, and the last one of them.
    starts: BTreeMap<String, i64>,
    last_start: i64,
    /// Given by somebody.
    name: Option<String>,
    /// Every turn that began: its id, and when, in seconds.
    turns: Vec<(String, Value)>,
    n_turns: u32,
    n_messages: u32,
    /// Somebody listens to it.
    subscribed: bool,
    /// It is in Codex's memory: nothing happens in it otherwise.
    loaded: bool,
    standing: Standing,
    subagents: subagents::Subagents,
    started: spawns::Started,
}

#[derive(Debug)]
struct Running {
    /// The turn that started it.
    turn: Option<String>,
    process: String,
    item: Value,
    output: String,
}

impl Thread {
    pub(crate) fn new(recording: Recording) -> Self {
        let id = recording.opened["thread"]["id"].as_str().unwrap_or_default().to_owned();
        let lines = recording.segments.iter().flat_map(|segment| &segment.lines);
        let subagents = subagents::Subagents::of(lines.map(|(_, line)| line));
        Self {
            id,
            opened: recording.opened,
            script: recording.segments.into_iter().map(Some).collect(),
            live: BTreeMap::new(),
            ended: BTreeSet::new(),
            turn: None,
            part: None,
            ended_turns: BTreeSet::new(),
            newest_turn: String::new(),
            held: false,
            asks: Vec::new(),
            waiting: BTreeMap::new(),
            inputs: Vec::new(),
            history: Vec::new(),
            starts: BTreeMap::new(),
            last_start: 0,
            name: None,
            turns: Vec::new(),
            n_turns: 0,
            n_messages: 0,
            subscribed: true,
            loaded: true,
            standing: Standing::default(),
            subagents,
            started: spawns::Started::default(),
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Items of the commands that run now.
    pub(crate) fn live(&self) -> BTreeSet<String> {
        self.live.keys().cloned().collect()
    }

    /// The turn that runs, or the last that did.
    pub(crate) fn newest_turn(&self) -> &str {
        self.turn.as_ref().unwrap_or(&self.newest_turn)
    }

    /// The next turn that no recording has goes on until its end is said.
    pub(crate) fn hold(&mut self) {
        self.held = true;
    }

    /// A command is gone without a word.
    pub(crate) fn vanish(&mut self, item: &str) {
        self.live.remove(item);
        self.subagents.vanish(item);
    }

    /// Whether the running turn has commands of its own.
    pub(crate) fn has_foreground(&self) -> bool {
        self.turn.is_some() && self.live.values().any(|running| running.turn == self.turn)
    }

    /// Lines that end the running turn, for one whose recorded end is not going to come.
    pub(crate) fn end_turn(&self) -> Vec<Later> {
        let Some(turn) = &self.turn else { return Vec::new() };
        let turn = json!({"id": turn, "items": [], "status": "completed", "error": null});
        vec![(30, self.status("idle")), (31, self.line("turn/completed", json!({"turn": turn})))]
    }

    /// Whether this line ends the running turn.
    pub(crate) fn is_turn_end(&self, line: &Value) -> bool {
        line["method"] == "turn/completed" && line["params"]["turn"]["id"].as_str() == self.turn.as_deref()
    }

    pub(crate) fn is_active(&self) -> bool {
        self.turn.is_some()
    }

    /// The answer to `thread/start` and what follows it.
    pub(crate) fn start(&mut self) -> (Value, Vec<Later>) {
        let lines = self.take(|gate| *gate == Gate::ThreadStart).map(|segment| segment.lines);
        (self.opened.clone(), lines.unwrap_or_default())
    }

    /// The answer to `thread/resume`.
    pub(crate) fn resume(&mut self) -> Value {
        self.subscribed = true;
        self.loaded = true;
        let mut opened = self.opened.clone();
        let kind = if self.turn.is_some() { "active" } else { "idle" };
        opened["thread"]["status"] = json!({"type": kind, "activeFlags": []});
        opened["thread"]["turns"] = json!([]);
        let newest = self
            .turn
            .iter()
            .map(|id| json!({"id": id, "items": [], "itemsView": "notLoaded", "status": "inProgress"}));
        opened["initialTurnsPage"] = json!({"data": newest.collect::<Vec<_>>(), "nextCursor": null});
        opened
    }

    /// Answers a request about this thread: its result or error member, and what follows.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> (Value, Vec<Later>) {
        match method {
            "thread/items/list" => (self.items_page(params), Vec::new()),
            "thread/turns/list" => (self.turns_page(params), Vec::new()),
            // A name needs no loaded thread.
            _ if !self.loaded && method != "thread/name/set" => (
                json!({"error": {"code": -32600, "message": format!("thread not found: {}", self.id)}}),
                Vec::new(),
            ),
            _ if method.starts_with("thread/goal/") || method.starts_with("thread/queue/") => {
                match self.standing.request(method, params) {
                    Some((answer, said)) => (answer, self.lines(said)),
                    None => (json!({"error": {"code": -32600, "message": "not played"}}), Vec::new()),
                }
            }
            "thread/name/set" => {
                self.name = params["name"].as_str().map(str::to_owned);
                let renamed = self.line("thread/name/updated", json!({"threadName": params["name"]}));
                (json!({"result": {}}), vec![(0, renamed)])
            }
            "thread/settings/update" => (json!({"result": {}}), Vec::new()),
            "thread/compact/start" if self.turn.is_none() => self.compact(),
            "review/start" if self.turn.is_none() => self.review(&params["target"]),
            "turn/start" => self.start_turn(params),
            "turn/steer" => self.steer(params),
            "turn/interrupt" => self.interrupt(params),
            "thread/backgroundTerminals/list" => {
                let data: Vec<Value> =
                    self.live.iter().filter_map(|(id, running)| running.listed(id)).collect();
                (json!({"result": {"data": data, "nextCursor": null}}), Vec::new())
            }
            "thread/backgroundTerminals/terminate" => self.terminate(params),
            "thread/backgroundTerminals/clean" => {
                let lines = self.take(|gate| *gate == Gate::Clean).map(|segment| segment.lines);
                let mut lines = self.about_live(lines);
                let ids =
                    self.live.iter().filter(|(_, running)| !running.is_users()).map(|(id, _)| id.clone());
                let ids: Vec<String> = ids.collect();
                lines.extend(
                    ids.iter()
                        .filter(|id| !ends(&lines, id))
                        .filter_map(|id| self.kill(id))
                        .collect::<Vec<_>>(),
                );
                (json!({"result": {}}), lines)
            }
            "thread/unsubscribe" => {
                self.subscribed = false;
                (json!({"result": {"status": "unsubscribed"}}), Vec::new())
            }
            _ => (json!({"error": {"code": -32600, "message": format!("not played: {method}")}}), Vec::new()),
        }
    }

    /// Our answer to a request of Codex's.
    pub(crate) fn answered(&mut self, request: &Value, result: &Value) -> Vec<Later> {
        let Some(idx) = self.asks.iter().position(|(ask, _)| ask == request) else { return Vec::new() };
        let (_, item) = self.asks.remove(idx);
        let recorded = |gate: &Gate| matches!(gate, Gate::Answer { request: asked, .. } if asked == request);
        let segment = self.take(recorded);
        let agrees = |segment: &Segment| matches!(&segment.gate, Gate::Answer { decision, .. } if approves(decision) == approves(result));
        let started = self.waiting.remove(&item);
        let process = self.process_of(&item);
        let declined = self.subagents.answered(&item, approves(result).then_some(process.as_str()));
        if approves(result)
            && let Some(started) = started.clone()
        {
            self.run(&item, started);
        }
        match segment {
            Some(segment) if agrees(&segment) => segment.lines,
            Some(segment) => {
                let mut lines = vec![(1, self.resolved(request))];
                lines.extend(started.map(|started| {
                    (2, self.completed(&item, started, if approves(result) { 0 } else { -1 }))
                }));
                lines.extend(declined);
                lines.extend(segment.lines.into_iter().filter(|(_, line)| {
                    !is_about(line, &item) && line["method"] != "serverRequest/resolved"
                }));
                lines
            }
            None => std::iter::once((1, self.resolved(request))).chain(declined).collect(),
        }
    }

    /// Whether a due line is really sent, and how: Codex says nothing of what is over.
    pub(crate) fn send(&mut self, mut line: Value) -> Option<Value> {
        let method = line["method"].as_str().unwrap_or_default().to_owned();
        let own = line["params"]["threadId"] == self.id.as_str();
        // What others start in a thread that nobody of ours listens to is not played.
        if own && (!self.loaded || (!self.subscribed && line["method"] == "item/started")) {
            return None;
        }
        if own && !self.happens(&method, &mut line) {
            return None;
        }
        if !own && !self.subagents.observe(&line) {
            return None;
        }
        if !own && line.get("id").is_some() {
            let item = line["params"]["itemId"].as_str().unwrap_or_default().to_owned();
            self.asks.push((line["id"].clone(), item));
        }
        self.subscribed.then_some(line)
    }

    /// Of lines that are not sent yet, whether this one still comes after the running turn was cut off.
    pub(crate) fn outlives_turn(&self, line: &Value) -> bool {
        self.live.keys().any(|id| is_about(line, id)) || self.subagents.outlives(line, None)
    }

    /// The thread, or the app-server, is gone, and everything it ran.
    pub(crate) fn died(&mut self) {
        self.subagents.died();
        self.unloaded();
    }

    /// Its subagents are told of by themselves.
    fn unloaded(&mut self) {
        self.loaded = false;
        self.ended.extend(std::mem::take(&mut self.live).into_keys());
        self.ended_turns.extend(self.turn.take());
        self.asks.clear();
        self.waiting.clear();
        self.inputs.clear();
    }

    fn happens(&mut self, method: &str, line: &mut Value) -> bool {
        let params = &line["params"];
        if !self.standing.hears(method, params, self.turn.is_none()) {
            return false;
        }
        let id = params["item"]["id"]
            .as_str()
            .or_else(|| params["itemId"].as_str())
            .unwrap_or_default()
            .to_owned();
        let turn = params["turnId"]
            .as_str()
            .or_else(|| params["turn"]["id"].as_str())
            .unwrap_or_default()
            .to_owned();
        let command = params["item"]["type"] == "commandExecution";
        if method == "item/started" {
            self.starts(&params["item"]);
        }
        if method == "turn/started" {
            self.began(&turn, &params["turn"]["startedAt"]);
        }
        match method {
            "turn/started"
                if self.turn.is_some() && params["turn"]["rootTurnId"].as_str() == self.turn.as_deref() =>
            {
                self.part = Some(turn).filter(|part| Some(part) != self.turn.as_ref());
            }
            "turn/started" => self.turn = Some(turn),
            "turn/completed" => {
                if !self.ended_turns.insert(turn.clone()) {
                    return false;
                }
                self.turn.take_if(|running| *running == turn);
                self.newest_turn = turn;
            }
            "item/started" if command => {
                let item = params["item"].clone();
                match (item["processId"].as_str(), item["source"] == "userShell") {
                    (Some(_), _) | (_, true) => self.run(&id, item),
                    (None, false) => drop(self.waiting.insert(id, item)),
                }
            }
            "item/completed" if command => {
                self.live.remove(&id);
                self.waiting.remove(&id);
                self.remember(params, &id);
                return self.ended.insert(id);
            }
            "item/started" | "item/completed" if params["item"]["type"] == "userMessage" => {
                if params["item"]["clientId"].is_null()
                    && let Some((key, content)) = self.inputs.first().cloned()
                {
                    let is_silent = content.as_array().is_some_and(Vec::is_empty);
                    line["params"]["item"]["clientId"] = key;
                    line["params"]["item"]["content"] = content;
                    if method == "item/completed" {
                        self.inputs.remove(0);
                    }
                    // A turn without input has no such item.
                    if is_silent {
                        return false;
                    }
                }
                if method == "item/completed" {
                    self.remember(&line["params"].clone(), &id);
                }
            }
            "item/completed" => self.remember(&params.clone(), &id),
            "item/commandExecution/outputDelta" => match self.live.get_mut(&id) {
                Some(running) => running.output.push_str(params["delta"].as_str().unwrap_or_default()),
                None => return !self.ended.contains(&id),
            },
            "thread/status/changed" if params["status"]["type"] == "notLoaded" => self.unloaded(),
            "thread/closed" | "thread/archived" | "thread/deleted" => {
                self.unloaded();
            }
            "serverRequest/resolved" => {
                let request = &params["requestId"];
                self.asks.retain(|(ask, _)| ask != request);
            }
            _ if line.get("id").is_some() => self.asks.push((line["id"].clone(), id)),
            _ => {}
        }
        true
    }

    fn start_turn(&mut self, params: &Value) -> (Value, Vec<Later>) {
        if let Some(turn) = self.turn.clone() {
            return (
                json!({"result": {"turn": {"id": turn, "items": [], "status": "inProgress"}}}),
                self.show(params, &turn),
            );
        }
        self.inputs.push((params["clientUserMessageId"].clone(), params["input"].clone()));
        if let Some(segment) = self.take(|gate| *gate == Gate::TurnStart) {
            let answer = segment
                .answer
                .unwrap_or_else(|| json!({"error": {"code": -32603, "message": "not recorded"}}));
            if let Some(turn) = answer["result"]["turn"]["id"].as_str() {
                self.turn = Some(turn.to_owned());
            } else {
                self.inputs.pop();
            }
            return (answer, segment.lines);
        }
        let (key, content) = self.inputs.pop().unwrap_or_default();
        self.n_turns += 1;
        let turn = format!("turn-{}-{}", self.n_turns, self.id);
        self.turn = Some(turn.clone());
        let mut lines = vec![
            (1, self.status("active")),
            (
                2,
                self.line("turn/started", json!({"turn": {"id": turn, "items": [], "status": "inProgress"}})),
            ),
        ];
        lines.extend(self.message(&turn, &key, &content).into_iter().map(|(_, line)| (4, line)));
        if !std::mem::take(&mut self.held) {
            let end = json!({"turn": {"id": turn, "items": [], "status": "completed", "error": null}});
            lines.push((6, self.status("idle")));
            lines.push((7, self.line("turn/completed", end)));
        }
        (json!({"result": {"turn": {"id": turn, "items": [], "status": "inProgress"}}}), lines)
    }

    fn steer(&mut self, params: &Value) -> (Value, Vec<Later>) {
        match self.turn.clone() {
            Some(_) if self.part.is_some() => {
                (json!({"error": {"code": -32600, "message": "cannot steer a review turn"}}), Vec::new())
            }
            Some(turn) if params["expectedTurnId"] == turn.as_str() => {
                (json!({"result": {"turnId": turn}}), self.show(params, &turn))
            }
            _ => (json!({"error": {"code": -32600, "message": "no active turn to steer"}}), Vec::new()),
        }
    }

    fn show(&mut self, params: &Value, turn: &str) -> Vec<Later> {
        self.message(turn, &params["clientUserMessageId"], &params["input"])
    }

    fn message(&mut self, turn: &str, key: &Value, content: &Value) -> Vec<Later> {
        if content.as_array().is_some_and(Vec::is_empty) {
            return Vec::new();
        }
        self.n_messages += 1;
        let id = format!("user-{}-{}", self.n_messages, self.id);
        let item = json!({"type": "userMessage", "id": id, "clientId": key, "content": content});
        let line = |method| self.line(method, json!({"turnId": turn, "item": item}));
        vec![(0, line("item/started")), (0, line("item/completed"))]
    }

    fn interrupt(&mut self, params: &Value) -> (Value, Vec<Later>) {
        let asked = params["turnId"].as_str().unwrap_or_default();
        let named = self.part.as_ref().or(self.turn.as_ref());
        let is_it = asked.is_empty() || named.is_some_and(|named| named == asked);
        let Some(turn) = self.turn.clone().filter(|_| is_it) else {
            return (
                json!({"error": {"code": -32600, "message": "no active turn to interrupt"}}),
                Vec::new(),
            );
        };
        let recorded = |gate: &Gate| matches!(gate, Gate::Interrupt { turn: cut } if *cut == turn);
        if let Some(segment) = self.take(recorded) {
            self.inputs.clear();
            return (json!({"result": {}}), segment.lines);
        }
        self.waiting.clear();
        self.inputs.clear();
        let users: Vec<String> =
            self.live.iter().filter(|(_, it)| it.is_users()).map(|(id, _)| id.clone()).collect();
        let mut lines: Vec<Later> =
            users.iter().filter_map(|id| self.kill(id)).map(|(_, line)| (1, line)).collect();
        lines.extend(self.cut_review(&turn));
        lines.extend([
            (2, self.status("idle")),
            (
                3,
                self.line(
                    "turn/completed",
                    json!({"turn": {"id": turn, "items": [], "status": "interrupted", "error": null}}),
                ),
            ),
        ]);
        // What a child asks is not settled by this.
        let (kept, over): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.asks).into_iter().partition(|(_, item)| self.subagents.waits(item));
        self.asks = kept;
        lines.extend(over.iter().map(|(ask, _)| (4, self.resolved(ask))));
        (json!({"result": {}}), lines)
    }

    fn terminate(&mut self, params: &Value) -> (Value, Vec<Later>) {
        let process = params["processId"].as_str().unwrap_or_default();
        let found =
            self.live.iter().find(|(_, running)| running.process == process).map(|(id, _)| id.clone());
        let Some(id) = found else { return (json!({"result": {"terminated": false}}), Vec::new()) };
        let recorded = |gate: &Gate| matches!(gate, Gate::Terminate { process: killed } if killed == process);
        let lines = self.take(recorded).map(|segment| segment.lines);
        let mut lines = self.about_live(lines);
        if !ends(&lines, &id) {
            lines.extend(self.kill(&id));
        }
        (json!({"result": {"terminated": true}}), lines)
    }

    // A recorded kill comes with what else went on in that moment; here other things do.
    fn about_live(&self, lines: Option<Vec<Later>>) -> Vec<Later> {
        let mut lines = lines.unwrap_or_default();
        lines.retain(|(_, line)| self.outlives_turn(line));
        lines
    }

    fn kill(&mut self, id: &str) -> Option<Later> {
        let running = self.live.get(id)?;
        let item = running.item.clone();
        Some((KILLED_AFTER, self.completed(id, item, -1)))
    }

    fn completed(&self, id: &str, mut item: Value, code: i64) -> Value {
        let running = self.live.get(id);
        // Codex names the turn that started the command, also when that is over.
        let turn = running.map_or(&self.turn, |running| &running.turn).clone();
        let output = running.map(|running| running.output.clone());
        let declined = output.is_none() && code < 0;
        item["status"] = json!(if declined {
            "declined"
        } else if code == 0 {
            "completed"
        } else {
            "failed"
        });
        item["exitCode"] = if declined { Value::Null } else { json!(code) };
        item["aggregatedOutput"] = json!(output.filter(|output| !output.is_empty()));
        self.line("item/completed", json!({"turnId": turn, "item": item}))
    }

    fn run(&mut self, id: &str, item: Value) {
        // An approved command shows its process only when it ends, and in the list.
        let process = item["processId"].as_str().map_or_else(|| self.process_of(id), str::to_owned);
        self.live
            .insert(id.to_owned(), Running { turn: self.turn.clone(), process, item, output: String::new() });
    }

    fn process_of(&self, id: &str) -> String {
        let lines = self.script.iter().flatten().flat_map(|segment| &segment.lines);
        let ends = lines.map(|(_, line)| &line["params"]["item"]).filter(|item| item["id"] == id);
        let process = ends.filter_map(|item| item["processId"].as_str()).next_back();
        process.map_or_else(|| format!("9{}", self.live.len()), str::to_owned)
    }

    /// Takes the next segment behind such a gate out of the script; a turn drops what was skipped.
    fn take(&mut self, gate: impl Fn(&Gate) -> bool) -> Option<Segment> {
        self.script
            .iter_mut()
            .find(|segment| segment.as_ref().is_some_and(|segment| gate(&segment.gate)))?
            .take()
    }

    fn resolved(&self, request: &Value) -> Value {
        self.line("serverRequest/resolved", json!({"requestId": request}))
    }

    fn status(&self, kind: &str) -> Value {
        let status =
            if kind == "active" { json!({"type": kind, "activeFlags": []}) } else { json!({"type": kind}) };
        self.line("thread/status/changed", json!({"status": status}))
    }

    fn line(&self, method: &str, mut params: Value) -> Value {
        params["threadId"] = json!(self.id);
        json!({"method": method, "params": params})
    }
}

fn approves(result: &Value) -> bool {
    result["decision"].as_str().is_some_and(|decision| decision.starts_with("accept"))
        || result["decision"].is_object()
}

fn ends(lines: &[Later], id: &str) -> bool {
    lines.iter().any(|(_, line)| line["method"] == "item/completed" && is_about(line, id))
}

fn is_about(line: &Value, id: &str) -> bool {
    line["params"]["itemId"] == id || line["params"]["item"]["id"] == id
}
