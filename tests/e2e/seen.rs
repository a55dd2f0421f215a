//! What a client saw: the messages of both directions in wire order, and everything wrong with them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use testkit::belief::{Belief, Version};
use testkit::wire::{self, Kind};

/// A message on the wire between client and adapter.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) dir: Dir,
    /// Milliseconds since 1970, by the client's clock.
    pub(crate) at: f64,
    pub(crate) body: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dir {
    ToAdapter,
    FromAdapter,
}

/// Everything one client process reported so far.
#[derive(Debug)]
pub(crate) struct Seen {
    version: Version,
    pub(crate) wire: Vec<Message>,
    pub(crate) belief: Belief,
    /// Results of commands that ended, by their number.
    pub(crate) done: BTreeMap<u64, Result<Value, Value>>,
    /// What the SDK says `session.background` is, by session.
    sdk_lists: BTreeMap<String, BTreeSet<String>>,
    /// How the adapter ended.
    pub(crate) exit: Option<Exit>,
    pub(crate) adapter_pid: Option<u32>,
    /// The client process has closed its output.
    pub(crate) is_over: bool,
    methods: BTreeMap<String, String>,
    faults: Vec<String>,
}

/// How the adapter ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Exit {
    pub(crate) code: Option<i64>,
    /// A name for the clients on node, a number for python.
    pub(crate) signal: Value,
    /// What it said to a person after its input had ended.
    pub(crate) remarks: Vec<String>,
}

impl Seen {
    pub(crate) fn new(version: Version) -> Self {
        Self {
            version,
            wire: Vec::new(),
            belief: Belief::new(version),
            done: BTreeMap::new(),
            sdk_lists: BTreeMap::new(),
            exit: None,
            adapter_pid: None,
            is_over: false,
            methods: BTreeMap::new(),
            faults: Vec::new(),
        }
    }

    /// Takes one event of the client process.
    pub(crate) fn take(&mut self, event: Value) {
        let at = event["t"].as_f64().unwrap_or_default();
        match event["ev"].as_str().unwrap_or_default() {
            "wire" if event["dir"] == "in" => self.received(at, event["msg"].clone()),
            "wire" => self.sent(at, event["msg"].clone()),
            "done" => self.ended(&event, Ok(event["result"].clone())),
            "failed" => self.ended(&event, Err(event["error"].clone())),
            "sdk_background" => self.sdk_believes(&event),
            "agent" => self.adapter_pid = event["pid"].as_u64().and_then(|it| it.try_into().ok()),
            "agent_exit" => {
                let (code, signal) = (event["code"].as_i64(), event["signal"].clone());
                self.exit = Some(Exit { code, signal, remarks: Vec::new() });
            }
            "permission_withdrawn" | "agent_stdin_error" => {}
            // sdk_error, sdk_changed, bad_line, and what nobody thought of.
            _ => self.faults.push(event.to_string()),
        }
    }

    /// Takes note of bytes that the client sent past its SDK and that are no message.
    pub(crate) fn sent_garbage(&mut self) {
        self.belief.sent(&Value::Null);
    }

    /// Takes note of a message that the client sent past its SDK.
    pub(crate) fn sent(&mut self, at: f64, body: Value) {
        if let (Some(id), Some(method)) = (body.get("id"), body["method"].as_str()) {
            self.methods.insert(id.to_string(), method.to_owned());
        }
        self.belief.sent(&body);
        self.wire.push(Message { dir: Dir::ToAdapter, at, body });
    }

    /// What is wrong with the belief about a session of which the commands `live` run.
    pub(crate) fn at_rest(&mut self, session: &str, live: &BTreeSet<String>) -> Vec<String> {
        let before = self.belief.take_violations();
        self.faults.extend(before.iter().map(ToString::to_string));
        self.belief.at_rest(session, live);
        let found = self.belief.take_violations();
        let differs = self.sdk_lists.get(session).filter(|list| **list != self.listed(session));
        let differs = differs.map(|list| format!("the sdk believes in {list:?}"));
        found.iter().map(ToString::to_string).chain(differs).collect()
    }

    /// The background list as the client was told.
    fn listed(&self, session: &str) -> BTreeSet<String> {
        self.belief.listed(session).into_iter().collect()
    }

    /// Everything wrong so far, except faults that hold one of the `expected` texts.
    pub(crate) fn faults(&self, expected: &[&str]) -> Vec<String> {
        let violations = self.belief.violations().iter().map(ToString::to_string);
        let all = self.faults.iter().cloned().chain(violations);
        all.filter(|fault| !expected.iter().any(|it| fault.contains(it))).collect()
    }

    /// The updates of a session from message `from` on, with their place on the wire.
    pub(crate) fn updates(&self, session: &str, from: usize) -> impl Iterator<Item = (usize, &Value)> {
        let own = move |(idx, message): (usize, &'_ Message)| {
            let params = &message.body["params"];
            let is_own = idx >= from
                && message.dir == Dir::FromAdapter
                && message.body["method"] == "session/update"
                && params["sessionId"] == session;
            is_own.then_some(idx)
        };
        let idxs = self.wire.iter().enumerate().filter_map(own);
        idxs.map(|idx| (idx, &self.wire[idx].body["params"]["update"]))
    }

    /// What was said to a person from message `from` on.
    pub(crate) fn remarks(&self, from: usize) -> Vec<String> {
        let is_remark = |it: &&Message| {
            let kind = it.body["params"]["update"]["sessionUpdate"].as_str();
            it.dir == Dir::FromAdapter && matches!(kind, Some("notice" | "agent_message_chunk"))
        };
        self.wire
            .iter()
            .skip(from)
            .filter(is_remark)
            .map(|it| format!("said while leaving: {}", it.body))
            .collect()
    }

    /// The last messages in short, runs of one kind folded, for a person who looks at a failure.
    pub(crate) fn tail(&self, n: usize) -> String {
        let mut lines: Vec<(String, usize)> = Vec::new();
        let mut last_kind = String::new();
        for message in self.wire.iter().rev() {
            let kind = kind(message);
            let n_lines = lines.len();
            match lines.last_mut() {
                Some((_, more)) if kind == last_kind => *more += 1,
                _ if n_lines == n => break,
                _ => lines.push((short(message), 0)),
            }
            last_kind = kind;
        }
        let mut tail = format!("the end of {} messages:\n", self.wire.len());
        for (line, more) in lines.iter().rev() {
            if *more > 0 {
                tail += &format!("({more} before it of the same kind)\n");
            }
            tail += line;
            tail.push('\n');
        }
        tail + &self.faults(&[]).join("\n")
    }

    fn received(&mut self, at: f64, body: Value) {
        let id = body.get("id").filter(|it| !it.is_null());
        let method = id.and_then(|id| self.methods.get(&id.to_string()));
        let kind = match (body["method"].as_str(), id) {
            (Some(_), None) => Kind::Notification,
            (Some(_), Some(_)) => Kind::Request,
            // An error without id is for a line that was no request.
            (None, _) => Kind::Answer(method.map_or("no method", String::as_str)),
        };
        if let Err(why) = wire::check_value(self.version, kind, &body) {
            let body: String = body.to_string().chars().take(400).collect();
            self.faults.push(format!("{why}: {body}"));
        }
        self.belief.received(&body);
        self.wire.push(Message { dir: Dir::FromAdapter, at, body });
    }

    fn sdk_believes(&mut self, event: &Value) {
        let session = event["sessionId"].as_str().unwrap_or_default().to_owned();
        let key = |item: &Value| {
            let id = ["terminalId", "toolCallId", "sessionId"].iter().find_map(|it| item[it].as_str());
            format!("{}:{}", item["type"].as_str().unwrap_or_default(), id.unwrap_or_default())
        };
        let list = event["background"].as_array().into_iter().flatten().map(key).collect();
        self.sdk_lists.insert(session, list);
    }

    fn ended(&mut self, event: &Value, outcome: Result<Value, Value>) {
        if let Some(id) = event["id"].as_u64() {
            self.done.insert(id, outcome);
        }
    }
}

fn kind(message: &Message) -> String {
    let params = &message.body["params"];
    let update = &params["update"];
    let parts =
        [&message.body["method"], &params["sessionId"], &update["sessionUpdate"], &update["terminalId"]];
    match update["sessionUpdate"].as_str() {
        // Streams; everything else counts one by one.
        Some("terminal_output_chunk" | "agent_message_chunk" | "tool_call_update") => format!("{parts:?}"),
        _ => message.body.to_string(),
    }
}

fn short(message: &Message) -> String {
    let arrow = if message.dir == Dir::ToAdapter { '>' } else { '<' };
    let body: String = message.body.to_string().chars().take(400).collect();
    format!("{arrow} {body}")
}
