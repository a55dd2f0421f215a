//! A bridge whose Codex and whose client are played by hand, and the log of all that passed.

#[path = "rig/client.rs"]
mod client;
#[path = "rig/codex.rs"]
mod codex;
#[path = "rig/watch.rs"]
mod watch;

use appserver_acp::acp::dropped::Dropped;
use appserver_acp::bridge::Bridge;
use appserver_acp::bridge::arrival::Arrival;
use appserver_acp::bridge::departure::{Departure, Note};
use appserver_acp::core::effect::StopAct;
use appserver_acp::core::ids::{Generation, Tick, WatchId};
use appserver_acp::core::input::StopReport;
use appserver_acp::core::settings::Settings;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};

/// The session of most tests, and its thread.
pub(crate) const SESSION: &str = "T";

/// What we ask a silent Codex.
pub(crate) const PROBE: &str = "thread/loaded/list";

pub(crate) struct Rig {
    bridge: Bridge,
    now: u64,
    codex: Generation,
    /// Requests to Codex that it has not answered.
    calls: Vec<Value>,
    /// Our answers to Codex's requests, in order.
    answers: Vec<Value>,
    /// Everything the client was told, in order.
    pub(crate) told: Vec<Value>,
    /// Ids of the client's requests, in order.
    asked: Vec<String>,
    /// What a stop finds when it asks.
    pub(crate) found: StopReport,
    /// App-servers that we ended.
    pub(crate) ended: Vec<Generation>,
    pub(crate) exit: Option<i32>,
    /// Codex answers by hand what goal and what queue a thread has; else none and an empty one.
    pub(crate) standing: bool,
    /// Codex answers by hand what subagents a thread has; else none.
    pub(crate) descendants: bool,
    /// Sweeps under way.
    pub(crate) sweeps: VecDeque<Generation>,
    /// Stops that were begun.
    pub(crate) n_stops: usize,
    /// Methods of all requests to Codex and the threads that they are about, in order.
    called: Vec<(String, String)>,
    /// What is watched, by item.
    pub(crate) watched: BTreeMap<String, WatchId>,
    /// Bytes of the longest line to the client.
    pub(crate) longest: usize,
    /// Why updates made no line.
    pub(crate) dropped: Vec<Dropped>,
    /// What passed, for a person who looks at a failure.
    log: Vec<String>,
}

impl Rig {
    /// A client that has initialized; Codex has not answered its own `initialize`.
    pub(crate) fn greeted(version: u32) -> Self {
        Self::greeted_with(version, &json!({}))
    }

    /// As `greeted`, by a client that can do something.
    pub(crate) fn greeted_with(version: u32, capabilities: &Value) -> Self {
        Self::set(Settings::plain("n"), version, capabilities)
    }

    /// As `open`, with an app-server that runs already, at `unix:/s`.
    pub(crate) fn connected(version: u32) -> Self {
        let mut rig = Self::linked(version);
        rig.opens();
        rig
    }

    /// As `new`, with such an app-server.
    pub(crate) fn linked(version: u32) -> Self {
        let settings = Settings { connect: Some("unix:/s".to_owned()), ..Settings::plain("n") };
        let mut rig = Self::set(settings, version, &json!({}));
        rig.booted();
        rig
    }

    fn set(settings: Settings, version: u32, capabilities: &Value) -> Self {
        let mut rig = Self {
            bridge: Bridge::new(settings),
            now: 0,
            codex: Generation(0),
            calls: Vec::new(),
            answers: Vec::new(),
            told: Vec::new(),
            asked: Vec::new(),
            // Played commands are no processes: Codex ends them.
            found: StopReport::NotFound,
            ended: Vec::new(),
            exit: None,
            standing: false,
            descendants: false,
            sweeps: VecDeque::new(),
            n_stops: 0,
            called: Vec::new(),
            watched: BTreeMap::new(),
            longest: 0,
            dropped: Vec::new(),
            log: Vec::new(),
        };
        let info = json!({"name": "c", "version": "1"});
        let member = if version == 1 { "clientCapabilities" } else { "capabilities" };
        let params = json!({"protocolVersion": version, "info": info, member: capabilities});
        rig.request("init", "initialize", params);
        rig
    }

    /// A client and a Codex that know each other.
    pub(crate) fn new(version: u32) -> Self {
        let mut rig = Self::greeted(version);
        rig.booted();
        rig
    }

    /// With an open, idle session.
    pub(crate) fn open(version: u32) -> Self {
        let mut rig = Self::new(version);
        rig.opens();
        rig
    }

    fn opens(&mut self) {
        self.request("new", "session/new", json!({"cwd": "/w", "mcpServers": []}));
        self.ok("fs/getMetadata", json!({"isDirectory": true}));
        self.ok("thread/start", idle());
    }

    /// With a session whose turn `A` runs for the prompt `p1`.
    pub(crate) fn running(version: u32) -> Self {
        Self::running_with(version, &json!({}))
    }

    /// As `running`, with a client that can do something.
    pub(crate) fn running_with(version: u32, capabilities: &Value) -> Self {
        let mut rig = Self::greeted_with(version, capabilities);
        rig.booted();
        rig.opens();
        rig.prompt("p1");
        rig.started("A");
        rig
    }

    /// With the session being resumed under the request `res`: Codex has not answered.
    pub(crate) fn resuming(version: u32, replay: bool) -> Self {
        let mut rig = Self::new(version);
        rig.resume(replay);
        rig
    }

    /// Lets time pass; Codex lists these terminals whenever it is asked, and answers probes.
    pub(crate) fn pass(&mut self, millis: u64, terminals: &Value) {
        let end = self.now + millis;
        loop {
            while self.is_called("thread/backgroundTerminals/list") {
                let page = json!({"data": terminals, "nextCursor": null});
                self.ok("thread/backgroundTerminals/list", page);
            }
            while self.is_called(PROBE) {
                self.ok(PROBE, json!({"data": [], "nextCursor": null}));
            }
            match self.bridge.next_deadline() {
                Some((tick, _)) if tick.0 <= end => self.now = self.now.max(tick.0),
                _ => break,
            }
            self.step(Arrival::Deadline);
        }
        self.now = end;
    }

    /// Lets time pass; Codex answers nothing.
    pub(crate) fn hang(&mut self, millis: u64) {
        let end = self.now + millis;
        while let Some((tick, _)) = self.bridge.next_deadline().filter(|(tick, _)| tick.0 <= end) {
            self.now = self.now.max(tick.0);
            self.step(Arrival::Deadline);
        }
        self.now = end;
    }

    /// We stand still for so long: nothing is looked at before it is over.
    pub(crate) fn sleeps(&mut self, millis: u64) {
        self.now += millis;
        self.hang(0);
    }

    /// The client's requests that have no answer.
    pub(crate) fn unanswered(&self) -> Vec<&str> {
        self.asked.iter().map(String::as_str).filter(|id| self.answer(id).is_none()).collect()
    }

    /// How often Codex was asked this.
    pub(crate) fn n_called(&self, method: &str) -> usize {
        self.called.iter().filter(|(it, _)| it == method).count()
    }

    /// The same about one thread.
    pub(crate) fn n_called_about(&self, method: &str, thread: &str) -> usize {
        self.called.iter().filter(|(it, of)| it == method && of == thread).count()
    }

    /// The answer to a request of the client; more than one is a fault.
    #[track_caller]
    pub(crate) fn answer(&self, id: &str) -> Option<Value> {
        let is_its = |it: &&Value| it["id"] == id && it.get("method").is_none();
        let answers: Vec<&Value> = self.told.iter().filter(is_its).collect();
        self.want(answers.len() < 2, &format!("{id} was answered twice"));
        answers.first().map(|it| (*it).clone())
    }

    pub(crate) fn updates(&self) -> impl DoubleEndedIterator<Item = &Value> {
        self.told.iter().map(|it| &it["params"]["update"]).filter(|it| it.is_object())
    }

    /// The last `state_update`.
    pub(crate) fn state(&self) -> Value {
        let last = self.updates().rev().find(|it| it["sessionUpdate"] == "state_update");
        last.cloned().unwrap_or_default()
    }

    /// The last `state_update` of a session.
    pub(crate) fn state_of(&self, session: &str) -> Value {
        let last = self.told.iter().rev().find(|it| {
            it["params"]["sessionId"] == session && it["params"]["update"]["sessionUpdate"] == "state_update"
        });
        last.map(|it| it["params"]["update"].clone()).unwrap_or_default()
    }

    /// Where the first message that fits stands in what the client was told.
    pub(crate) fn place(&self, fits: impl Fn(&Value) -> bool) -> Option<usize> {
        self.told.iter().position(fits)
    }

    /// Fails with the whole log.
    #[track_caller]
    pub(crate) fn want(&self, holds: bool, otherwise: &str) {
        assert!(holds, "{otherwise}\n{}", self.log.join("\n"));
    }

    fn note(&mut self, who: &str, what: &str) {
        // A line of megabytes helps nobody.
        let what: String = what.chars().take(2000).collect();
        self.log.push(format!("{:>6} {who} {what}", self.now));
    }

    fn step(&mut self, arrival: Arrival<'_>) {
        let mut out = Vec::new();
        self.bridge.step(Tick(self.now), arrival, &mut out);
        for departure in out {
            self.perform(departure);
        }
    }

    fn perform(&mut self, departure: Departure) {
        match departure {
            Departure::ToClient(line) => {
                self.note("  to client", &line);
                self.longest = self.longest.max(line.len());
                self.told.push(serde_json::from_str(&line).expect("we write JSON"));
            }
            Departure::ToCodex { line, .. } => {
                self.note("  to codex", &line);
                let message: Value = serde_json::from_str(&line).expect("we write JSON");
                let result = match message["method"].as_str() {
                    Some("thread/goal/get") if !self.standing => Some(json!({"goal": null})),
                    Some("thread/queue/list") if !self.standing => {
                        Some(json!({"data": [], "nextCursor": null}))
                    }
                    Some("thread/list")
                        if !self.descendants && message["params"]["ancestorThreadId"].is_string() =>
                    {
                        Some(json!({"data": [], "nextCursor": null}))
                    }
                    // Without skills; the stories are not about them.
                    Some("skills/list") => Some(json!({"data": []})),
                    Some("permissionProfile/list") => Some(json!({"data": [], "nextCursor": null})),
                    _ => None,
                };
                match result {
                    Some(result) => self.codex(json!({"id": message["id"], "result": result})),
                    None if message["method"].is_string() && !message["id"].is_null() => {
                        let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
                        self.called.push((text(&message["method"]), text(&message["params"]["threadId"])));
                        self.calls.push(message);
                    }
                    None if message["method"].is_null() => self.answers.push(message),
                    None => {}
                }
            }
            Departure::StartCodex(generation) => {
                self.note("  start", &generation.0.to_string());
                self.codex = generation;
            }
            Departure::Stop { stop, act: StopAct::Ask { .. } } => {
                self.note("  ask to end", &stop.0.to_string());
                self.n_stops += 1;
                self.step(Arrival::Stop { stop, report: self.found });
            }
            Departure::Survey { session, .. } => {
                self.note("  survey", session.as_str());
                self.step(Arrival::Surveyed { session: &session, found: &[] });
            }
            Departure::Stop { .. } => {}
            Departure::OpenPage(url) => self.note("  open", &url),
            Departure::Watch { watch, act } => self.watch(watch, act),
            Departure::Sweep { generation, .. } => {
                self.note("  sweep", &generation.0.to_string());
                self.sweeps.push_back(generation);
            }
            Departure::EndCodex(generation) => {
                self.note("  end", &generation.0.to_string());
                self.ended.push(generation);
            }
            Departure::Exit { code } => {
                self.note("  exit", &code.to_string());
                self.exit = Some(code);
            }
            Departure::Noted(Note::Dropped { why, .. }) => self.dropped.push(why),
            Departure::Noted(note) => self.note("  ", &format!("{note:?}")),
        }
    }
}

/// The answer to `thread/start` or `thread/resume`: nothing runs.
pub(crate) fn idle() -> Value {
    thread(SESSION, "idle")
}

/// As [`idle`], in the middle of a turn.
pub(crate) fn active() -> Value {
    thread(SESSION, "active")
}

pub(crate) fn thread(id: &str, status: &str) -> Value {
    json!({"thread": {"id": id, "cwd": "/w", "status": {"type": status}}, "cwd": "/w", "model": "m"})
}

/// An entry of Codex's list of background terminals.
pub(crate) fn listed(item: &str, process: &str) -> Value {
    json!({"itemId": item, "processId": process, "command": "x", "cwd": "/w"})
}

/// A command as an item of Codex; without a process it waits for an approval.
pub(crate) fn command(id: &str, process: Option<&str>, status: &str) -> Value {
    json!({"type": "commandExecution", "id": id, "command": "/bin/bash -lc 'sleep 9'", "cwd": "/w",
        "processId": process, "source": "agent", "status": status, "aggregatedOutput": null, "exitCode": null})
}
