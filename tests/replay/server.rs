//! A played app-server: takes our lines, answers in virtual time, one thread per recording.

use crate::recording::Recording;
use crate::service;
use crate::shelf::Shelf;
use crate::standing::{Said, Standing};
use crate::thread::{Doing, Thread};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

#[path = "server/informed.rs"]
mod informed;

/// Milliseconds until an answer.
const LATENCY: u64 = 1;

/// Request ids of one thread are kept apart from those of the next by this.
const IDS_PER_THREAD: i64 = 1000;

#[derive(Debug, Default)]
pub(crate) struct Server {
    /// Recordings for the threads to come.
    waiting: VecDeque<Recording>,
    threads: Vec<Thread>,
    /// Lines to send by time and order: the thread they are of, if any.
    queue: BTreeMap<(u64, u64), (Option<usize>, Value)>,
    n_queued: u64,
    /// Answers that a story has put in the place of the player's, by method, for the next call each.
    scripted: BTreeMap<String, VecDeque<Value>>,
    /// It lives and does nothing: no answer, no line.
    hung: bool,
    /// Somebody is signed in.
    account: bool,
    /// What was put away.
    shelf: Shelf,
}

impl Server {
    pub(crate) fn new(recordings: impl IntoIterator<Item = Recording>) -> Self {
        Self { waiting: recordings.into_iter().collect(), account: true, ..Self::default() }
    }

    /// Lets the first thread start and play `n_turns` before anybody listens; gives its id.
    pub(crate) fn play_ahead(&mut self, n_turns: usize) -> String {
        self.handle(0, &json!({"id": 0, "method": "thread/start", "params": {}}));
        let thread = self.threads[0].id().to_owned();
        for _ in 0..n_turns {
            self.handle(0, &json!({"id": 0, "method": "turn/start", "params": {"threadId": thread, "clientUserMessageId": null, "input": [{"type": "text", "text": "earlier"}]}}));
            // What runs on beyond the turn is left for the session to come.
            while self.threads[0].is_active() {
                let Some(at) = self.next_due() else { break };
                self.pop(at);
            }
        }
        let soon: Vec<_> = std::mem::take(&mut self.queue).into_iter().collect();
        let start = soon.first().map_or(0, |((at, _), _)| *at);
        self.queue = soon.into_iter().map(|((at, n), line)| ((at - start + 2000, n), line)).collect();
        thread
    }

    /// The next call of `method` is answered so: `{result}` or `{error}`, or not at all: `null`.
    pub(crate) fn script(&mut self, method: &str, answer: Value) {
        self.scripted.entry(method.to_owned()).or_default().push_back(answer);
    }

    /// Somebody signs in, or out, elsewhere: nothing is said of it.
    pub(crate) fn set_account(&mut self, account: bool) {
        self.account = account;
    }

    /// From now on it only lives.
    pub(crate) fn hang(&mut self) {
        self.hung = true;
    }

    pub(crate) fn is_hung(&self) -> bool {
        self.hung
    }

    /// The next turn that no recording has goes on until somebody says that it is over.
    pub(crate) fn hold(&mut self) {
        self.threads.iter_mut().for_each(Thread::hold);
    }

    /// A command of the first thread is gone, and nobody says so.
    pub(crate) fn vanish(&mut self, item: &str) {
        self.threads.iter_mut().for_each(|thread| thread.vanish(item));
    }

    /// What the first thread says when told to say `line`: `$thread` and `$turn` are its own.
    pub(crate) fn say(&mut self, line: Value) -> Option<Value> {
        let Some(thread) = self.threads.first_mut() else { return Some(line) };
        let line = line.to_string().replace("\"$thread\"", &json!(thread.id()).to_string());
        let line = line.replace("\"$turn\"", &json!(thread.newest_turn()).to_string());
        thread.send(serde_json::from_str(&line).expect("ids are put in as JSON"))
    }

    /// When the next line is due.
    pub(crate) fn next_due(&self) -> Option<u64> {
        if self.hung {
            return None;
        }
        self.queue.keys().next().map(|(at, _)| *at)
    }

    /// The next line that is due by `now` and really sent.
    pub(crate) fn pop(&mut self, now: u64) -> Option<Value> {
        while self.next_due().is_some_and(|at| at <= now) {
            let (_, (thread, line)) = self.queue.pop_first()?;
            let sent = match thread {
                Some(idx) => self.threads[idx].send(line).map(|line| shift_ids(line, idx)),
                None => Some(line),
            };
            let ended = sent.as_ref().is_some_and(|line| line["method"] == "turn/completed");
            if let Some(idx) = thread.filter(|_| ended) {
                let has_more = self
                    .queue
                    .values()
                    .any(|(of, line)| *of == Some(idx) && line["method"] == "turn/started");
                // A recorded thread goes on as it was recorded.
                let lines = if has_more { Vec::new() } else { self.threads[idx].go_on() };
                self.later(now, idx, lines);
            }
            let is_unloaded = |line: &Value| {
                line["method"] == "thread/status/changed" && line["params"]["status"]["type"] == "notLoaded"
            };
            if let Some(idx) = thread.filter(|idx| {
                sent.as_ref()
                    .is_some_and(|it| is_unloaded(it) && it["params"]["threadId"] == self.threads[*idx].id())
            }) {
                let lines = self.threads[idx].unload_children();
                self.later(now, idx, lines);
            }
            if sent.is_some() {
                return sent;
            }
        }
        None
    }

    /// Takes one of our lines.
    pub(crate) fn handle(&mut self, now: u64, line: &Value) {
        if self.hung {
            return;
        }
        let (id, params) = (&line["id"], &line["params"]);
        let scripted = line["method"].as_str().and_then(|method| self.scripted.get_mut(method)?.pop_front());
        match scripted {
            Some(Value::Null) => return,
            Some(answer) => return self.answer(now, id, answer),
            None => {}
        }
        match line["method"].as_str() {
            Some("initialized") => {}
            Some("initialize") => self.answer(
                now,
                id,
                json!({"result": {"userAgent": "played/0.171.0", "codexHome": "/home/user/.codex"}}),
            ),
            Some("model/list") => {
                self.answer(now, id, json!({"result": {"data": [model()], "nextCursor": null}}))
            }
            Some("config/read") => self.answer(now, id, json!({"result": {"config": {}, "origins": {}}})),
            Some("account/read") => {
                let account = self.account.then(|| json!({"type": "apiKey"}));
                self.answer(now, id, json!({"result": {"account": account, "requiresOpenaiAuth": true}}));
            }
            Some("account/login/start") => self.sign_in(now, id, params),
            Some("account/login/cancel") => {
                self.answer(now, id, json!({"result": {"status": "canceled"}}));
                let params = json!({"loginId": params["loginId"], "success": false, "error": "Login was not completed"});
                self.push(
                    now + LATENCY,
                    None,
                    json!({"method": "account/login/completed", "params": params}),
                );
            }
            Some("account/logout") => {
                self.account = false;
                self.answer(now, id, json!({"result": {}}));
                let params = json!({"authMode": null, "planType": null, "reason": null});
                self.push(now + LATENCY, None, json!({"method": "account/updated", "params": params}));
            }
            Some("thread/name/set") if self.shelf.is_archived(params) => {
                let error = json!({"code": -32600, "message": "thread not found"});
                self.answer(now, id, json!({"error": error}));
            }
            Some("fs/getMetadata") => self.answer(now, id, json!({"result": {"isDirectory": true, "isFile": false, "isSymlink": false, "createdAtMs": 0, "modifiedAtMs": 0}})),
            Some("thread/loaded/list" | "permissionProfile/list") => {
                self.answer(now, id, json!({"result": {"data": [], "nextCursor": null}}));
            }
            Some("thread/list") => {
                let answer = self.shelf.list(&self.threads, params);
                self.answer(now, id, answer);
            }
            Some(method @ ("thread/delete" | "thread/archive" | "thread/unarchive")) => {
                self.put(now, id, method, params);
            }
            Some("thread/fork") => {
                let Some(idx) = self.of(params) else {
                    let error = json!({"code": -32600, "message": "no rollout found for thread id"});
                    return self.answer(now, id, json!({"error": error}));
                };
                match self.threads[idx].fork(self.threads.len()) {
                    Some(fork) => {
                        let opened = fork.opened();
                        self.threads.push(fork);
                        self.answer(now, id, json!({"result": opened}));
                    }
                    None => {
                        let error = json!({"code": -32600, "message": "no rollout found for thread id"});
                        self.answer(now, id, json!({"error": error}));
                    }
                }
            }
            Some("thread/start") => match self.waiting.pop_front() {
                Some(recording) => {
                    self.threads.push(Thread::new(recording));
                    let idx = self.threads.len() - 1;
                    let (opened, lines) = self.threads[idx].start();
                    self.answer(now, id, json!({"result": opened}));
                    self.later(now, idx, lines);
                }
                None => {
                    self.answer(now, id, json!({"error": {"code": -32600, "message": "no recording left"}}))
                }
            },
            Some("thread/resume") => {
                if self.shelf.is_archived(params) {
                    let message = format!("session {} is archived. Run `codex unarchive` first.", params["threadId"]);
                    return self.answer(now, id, json!({"error": {"code": -32600, "message": message}}));
                }
                if let Some(idx) = self.parent_of(params) {
                    let child = params["threadId"].as_str().unwrap_or_default();
                    let opened = self.threads[idx].resume_child(child);
                    return self.answer(now, id, json!({"result": opened}));
                }
                let Some(idx) = self.of(params) else {
                    let error = json!({"code": -32600, "message": "no rollout found for thread"});
                    return self.answer(now, id, json!({"error": error}));
                };
                let answer = json!({"result": self.threads[idx].resume()});
                self.answer(now, id, answer);
                let lines = self.threads[idx].after_resume();
                self.later(now + LATENCY, idx, lines);
            }
            Some(method) if service::answer(method, params).is_some() => {
                let result = service::answer(method, params);
                self.answer(now, id, json!({ "result": result }));
            }
            Some("thread/inject_items") => self.inform(now, id, params),
            Some(method) if self.parent_of(params).is_some() => {
                let idx = self.parent_of(params).unwrap_or_default();
                let child = params["threadId"].as_str().unwrap_or_default();
                let (answer, lines) = self.threads[idx].child_request(method, params);
                if method == "turn/interrupt" && answer.get("result").is_some() {
                    let thread = &self.threads[idx];
                    self.queue.retain(|_, (of, line)| *of != Some(idx) || thread.outlives_child(child, line));
                }
                self.answer(now, id, answer);
                self.later(now + LATENCY, idx, lines);
            }
            Some(method) => {
                let Some(idx) = self.of(params) else {
                    return self.answer(
                        now,
                        id,
                        json!({"error": {"code": -32600, "message": "thread not found"}}),
                    );
                };
                // An accepted steer is in the turn before the turn can end.
                let steered = matches!(method, "turn/steer" | "turn/start") && self.threads[idx].is_active();
                if method == "turn/start" && !self.threads[idx].is_active() {
                    // Turns of others that were still to come: now this one is first.
                    self.keep_commands(idx);
                }
                let had_foreground = self.threads[idx].has_foreground();
                let (answer, lines) = self.threads[idx].request(method, params);
                if method == "turn/interrupt" && answer.get("result").is_some() {
                    self.keep_commands(idx);
                }
                if matches!(method, "thread/goal/set" | "thread/goal/clear") {
                    self.drop_turns_to_come(idx);
                }
                let killed = method.ends_with("/terminate") || method.ends_with("/clean");
                self.answer(now, id, answer);
                self.later(if steered { now } else { now + LATENCY }, idx, lines);
                // The model learns of a killed command and goes on, also where the recording did not.
                let thread = &self.threads[idx];
                let ends = |(of, line): &(Option<usize>, Value)| *of == Some(idx) && thread.is_turn_end(line);
                if killed && had_foreground && !self.queue.values().any(ends) {
                    let lines = thread.end_turn();
                    self.later(now + LATENCY, idx, lines);
                }
            }
            None => {
                let Some(number) = id.as_i64() else { return };
                let idx = usize::try_from(number / IDS_PER_THREAD).unwrap_or_default();
                if let Some(thread) = self.threads.get_mut(idx) {
                    let lines = thread.answered(&json!(number % IDS_PER_THREAD), &line["result"]);
                    self.later(now + LATENCY, idx, lines);
                }
            }
        }
    }

    /// The process is gone, with all it ran; its threads are on disk.
    pub(crate) fn die(&mut self) {
        self.hung = false;
        self.queue.clear();
        self.threads.iter_mut().for_each(Thread::died);
    }

    /// Items that the history of `thread` has.
    pub(crate) fn kept(&self, thread: &str) -> BTreeSet<String> {
        let own = self.threads.iter().find(|it| it.id() == thread).map(Thread::kept);
        let child = || self.threads.iter().find_map(|it| it.kept_of_child(thread));
        own.or_else(child).unwrap_or_default()
    }

    /// Children of `thread`, at every depth.
    pub(crate) fn children(&self, thread: &str) -> Vec<String> {
        let its = self.threads.iter().find(|it| it.id() == thread).map(Thread::descendants);
        its.into_iter().flatten().filter_map(|it| it["id"].as_str().map(str::to_owned)).collect()
    }

    /// Items of the commands of `thread` that run.
    pub(crate) fn live(&self, thread: &str) -> BTreeSet<String> {
        let own = self.threads.iter().find(|it| it.id() == thread).map(Thread::live);
        let child = || self.threads.iter().find_map(|it| it.live_in_child(thread));
        own.or_else(child).unwrap_or_default()
    }

    /// Children of `thread` that work, or have something at work.
    pub(crate) fn children_at_work(&self, thread: &str) -> BTreeSet<String> {
        self.threads.iter().find(|it| it.id() == thread).map(Thread::children_at_work).unwrap_or_default()
    }

    /// Names of the calls that show the goal and the queue of `thread`.
    pub(crate) fn standing(&self, thread: &str) -> BTreeSet<String> {
        self.threads.iter().find(|it| it.id() == thread).map(Thread::standing).unwrap_or_default()
    }

    /// Somebody else does something to the goal or the queue of a thread.
    pub(crate) fn stand(&mut self, now: u64, idx: usize, act: impl FnOnce(&mut Standing) -> Option<Said>) {
        // One that hangs does nothing for anybody.
        let Some(thread) = self.threads.get_mut(idx).filter(|_| !self.hung) else { return };
        let lines = thread.stand(act);
        self.later(now, idx, lines);
    }

    /// A subagent of a thread does something, or something is done with it.
    pub(crate) fn does(&mut self, now: u64, idx: usize, doing: Doing) {
        let Some(thread) = self.threads.get_mut(idx).filter(|_| !self.hung) else { return };
        let lines = thread.does(doing);
        self.later(now, idx, lines);
    }

    /// A stopped goal ends the recorded chain of its turns after the one that runs.
    fn drop_turns_to_come(&mut self, idx: usize) {
        let thread = &self.threads[idx];
        let end = self.queue.iter().find(|(_, (of, line))| *of == Some(idx) && thread.is_turn_end(line));
        let Some(end) = end.map(|(at, _)| *at) else { return };
        self.queue.retain(|at, (of, line)| *of != Some(idx) || *at <= end || thread.outlives_turn(line));
    }

    /// Of what one thread is going to say, keeps what is about its commands.
    fn keep_commands(&mut self, idx: usize) {
        let thread = &self.threads[idx];
        self.queue.retain(|_, (of, line)| *of != Some(idx) || thread.outlives_turn(line));
    }

    fn sign_in(&mut self, now: u64, id: &Value, params: &Value) {
        let answer = match params["type"].as_str() {
            Some("apiKey") => {
                self.account = true;
                let params = json!({"loginId": null, "success": true, "error": null});
                self.push(
                    now + LATENCY,
                    None,
                    json!({"method": "account/login/completed", "params": params}),
                );
                json!({"type": "apiKey"})
            }
            Some("chatgpt") => {
                json!({"type": "chatgpt", "loginId": "login-1", "authUrl": "https://auth.example/authorize"})
            }
            _ => {
                json!({"type": "chatgptDeviceCode", "loginId": "login-1", "verificationUrl": "https://auth.example/device",
                    "userCode": "ABCD-1234"})
            }
        };
        self.answer(now, id, json!({"result": answer}));
    }

    /// Deletes, archives or brings back a thread, as Codex was measured to.
    fn put(&mut self, now: u64, id: &Value, method: &str, params: &Value) {
        let found = self.of(params);
        let lines = match (found, self.shelf.put(method, params, found.is_some())) {
            (_, Err(error)) => return self.answer(now, id, json!({"error": error})),
            (Some(idx), Ok(())) => self.threads[idx].put(method),
            (None, Ok(())) => Vec::new(),
        };
        self.answer(now, id, json!({"result": {}}));
        self.later(now, found.unwrap_or_default(), lines);
    }

    /// The thread whose child is asked about.
    fn parent_of(&self, params: &Value) -> Option<usize> {
        let child = params["threadId"].as_str()?;
        self.threads.iter().position(|thread| thread.id() != child && thread.has_child(child))
    }

    fn of(&self, params: &Value) -> Option<usize> {
        let is_it = |thread: &Thread| params["threadId"] == thread.id() && !self.shelf.is_deleted(params);
        self.threads.iter().position(is_it)
    }

    fn answer(&mut self, now: u64, id: &Value, mut answer: Value) {
        answer["id"] = id.clone();
        self.push(now + LATENCY, None, answer);
    }

    fn later(&mut self, now: u64, idx: usize, lines: Vec<(u64, Value)>) {
        for (after, line) in lines {
            self.push(now + after, Some(idx), line);
        }
    }

    fn push(&mut self, at: u64, thread: Option<usize>, line: Value) {
        self.n_queued += 1;
        self.queue.insert((at, self.n_queued), (thread, line));
    }
}

fn shift_ids(mut line: Value, idx: usize) -> Value {
    let offset = IDS_PER_THREAD * i64::try_from(idx).unwrap_or_default();
    if let Some(id) = line["id"].as_i64() {
        line["id"] = json!(id + offset);
    }
    if let Some(id) = line["params"]["requestId"].as_i64() {
        line["params"]["requestId"] = json!(id + offset);
    }
    line
}

fn model() -> Value {
    json!({
        "id": "gpt-5.5", "model": "gpt-5.5", "displayName": "GPT-5.5", "description": "A model", "hidden": false,
        "supportedReasoningEfforts": [{"reasoningEffort": "medium", "description": "Balanced"}],
        "defaultReasoningEffort": "medium", "isDefault": true
    })
}
