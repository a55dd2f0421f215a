//! One bridge between a client and a played app-server, in virtual time.
//!
//! Every line is traced, checked against the schema and folded into the client's belief.

use crate::client::{Act, Client};
use crate::reach::Reach;
use crate::server::Server;
use crate::standing::{Said, Standing};
use crate::thread::Doing;
use crate::watches::{Told, Watches};
use appserver_acp::bridge::Bridge;
use appserver_acp::bridge::arrival::Arrival;
use appserver_acp::bridge::departure::Departure;
use appserver_acp::core::ids::{Generation, ItemId, SessionId, StopId, Tick, WatchId};
use appserver_acp::core::input::{Found, Pressure, StopReport, SweepReport};
use appserver_acp::core::request;
use appserver_acp::core::settings::Settings;
use appserver_acp::core::vitals::WatchReport;
use appserver_acp::map;
use appserver_acp::map::row::{ItemEvent, Side};
use appserver_acp::trace::rules::rules_of;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use testkit::belief::{Belief, Version};
use testkit::wire::{self, Kind};

/// A step that comes of one of ours, a little later.
#[derive(Debug)]
enum Happening {
    Died(Generation, &'static str),
    Swept(Generation),
    Reached(StopId, StopReport),
    Surveyed(SessionId),
    Watched(WatchId, WatchReport),
}

/// A rule that was broken, and when.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) at: u64,
    /// A rule of the belief, or `wire`, or `after-exit`.
    pub(crate) rule: &'static str,
    detail: String,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "at {}: {}: {}", self.at, self.rule, self.detail)
    }
}

/// What to do at a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnFault {
    GoOn,
    Stop,
}

pub(crate) struct World {
    version: Version,
    on_fault: OnFault,
    bridge: Bridge,
    client: Client,
    pub(crate) server: Server,
    belief: Belief,
    now: u64,
    generation: Option<Generation>,
    soon: VecDeque<(u64, Happening)>,
    /// What Codex has said and we have not read, and until when we do not.
    held: VecDeque<(Option<Generation>, Value)>,
    held_until: u64,
    /// What commands wrote, by thread and item, as Codex said when they ended.
    outputs: BTreeMap<(String, String), String>,
    /// Commands that leave a process behind when they end.
    pub(crate) leaves: BTreeSet<String>,
    /// What a stop finds.
    pub(crate) reach: Reach,
    pub(crate) watches: Watches,
    /// The client has left, or a signal came.
    leaving: bool,
    exit: Option<i32>,
    trace: Vec<String>,
    /// Our lines to Codex.
    asked: Vec<Value>,
    faults: Vec<Fault>,
    /// Rules of the protocol map that a line of this world came under.
    hit: BTreeSet<String>,
}

impl World {
    pub(crate) fn new(version: Version, server: Server, on_fault: OnFault) -> Self {
        Self::with(Settings::plain("n"), version, server, on_fault)
    }

    pub(crate) fn with(settings: Settings, version: Version, server: Server, on_fault: OnFault) -> Self {
        Self {
            version,
            on_fault,
            bridge: Bridge::new(settings),
            client: Client::new(version),
            server,
            belief: Belief::new(version),
            now: 0,
            generation: None,
            soon: VecDeque::new(),
            held: VecDeque::new(),
            held_until: 0,
            outputs: BTreeMap::new(),
            leaves: BTreeSet::new(),
            reach: Reach::default(),
            watches: Watches::default(),
            leaving: false,
            exit: None,
            trace: Vec::new(),
            asked: Vec::new(),
            faults: Vec::new(),
            hit: BTreeSet::new(),
        }
    }

    pub(crate) fn version(&self) -> Version {
        self.version
    }

    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    pub(crate) fn exit(&self) -> Option<i32> {
        self.exit
    }

    pub(crate) fn trace(&self) -> &[String] {
        &self.trace
    }

    pub(crate) fn faults(&self) -> &[Fault] {
        &self.faults
    }

    pub(crate) fn hit(&self) -> &BTreeSet<String> {
        &self.hit
    }

    /// Drops the faults of one rule, where a plan makes it unavoidable.
    pub(crate) fn forgive(&mut self, rule: &str) {
        self.faults.retain(|fault| fault.rule != rule);
    }

    pub(crate) fn sessions(&self) -> &[String] {
        self.client.sessions()
    }

    /// The client acts now.
    pub(crate) fn act(&mut self, act: &Act) {
        if self.exit.is_some() {
            return;
        }
        for line in self.client.act(act) {
            self.say(&line);
        }
        if *act == Act::Eof {
            self.trace.push(json!({"at": self.now, "sent": "eof"}).to_string());
            self.leaving = true;
            self.step(Arrival::ClientEof);
        }
    }

    /// The page to open could not be opened.
    pub(crate) fn no_page(&mut self, why: &str) {
        self.step(Arrival::PageNotOpened(why));
    }

    /// The queue to the client crosses a mark.
    pub(crate) fn press(&mut self, pressure: Pressure) {
        self.step(Arrival::ClientQueue(pressure));
    }

    /// A signal reaches us.
    pub(crate) fn signal(&mut self, number: i32) {
        self.leaving = true;
        self.step(Arrival::Signal(number));
    }

    /// The app-server lives and does nothing any more. What it has said by then is in the pipe.
    pub(crate) fn hang_server(&mut self) {
        self.server.hang();
    }

    /// The app-server dies of something.
    pub(crate) fn kill_server(&mut self) {
        self.server.die();
        if let Some(generation) = self.generation.take() {
            self.step(Arrival::CodexDied { generation, how: "signal 9", stderr: Some("killed") });
        }
    }

    /// A line of Codex arrives, as it is.
    pub(crate) fn deliver(&mut self, line: &Value) {
        let (params, item) = (&line["params"], &line["params"]["item"]);
        if line["method"] == "item/completed"
            && let (Some(thread), Some(id)) = (params["threadId"].as_str(), item["id"].as_str())
            && let Some(output) = item["aggregatedOutput"].as_str()
            // An end that the client was told before, unseen and at a bound, is not told again.
            && self.belief.is_running(thread, id) != Some(false)
        {
            self.outputs.insert((thread.to_owned(), id.to_owned()), output.to_owned());
        }
        self.hit.extend(history_rules(line));
        self.deliver_text(&line.to_string());
    }

    /// Somebody else does something to the goal or the queue of a thread.
    pub(crate) fn stand(&mut self, thread: usize, act: impl FnOnce(&mut Standing) -> Option<Said>) {
        self.server.stand(self.now, thread, act);
    }

    /// A subagent of a thread does something.
    pub(crate) fn does(&mut self, thread: usize, doing: Doing) {
        self.server.does(self.now, thread, doing);
    }

    /// Codex says a line that was made by hand.
    pub(crate) fn say_of_codex(&mut self, line: Value) {
        if let Some(line) = self.server.say(line) {
            self.deliver(&line);
        }
    }

    /// Our lines to Codex so far, in order.
    pub(crate) fn asked_of_codex(&self) -> &[Value] {
        &self.asked
    }

    /// Bytes of Codex arrive that may be no message.
    pub(crate) fn deliver_text(&mut self, text: &str) {
        if let Some(generation) = self.generation {
            self.step(Arrival::CodexLine { generation, line: text.as_bytes() });
        }
    }

    /// We read nothing more of Codex for so many milliseconds; `first` will be the first line then.
    pub(crate) fn stall(&mut self, millis: u64, first: Option<Value>) {
        self.held_until = self.now + millis;
        if let Some(line) = first {
            self.held.push_front((self.generation, line));
        }
    }

    /// Lets time pass until `until`; each line of Codex goes through `read`.
    pub(crate) fn pass(&mut self, until: u64, read: &mut dyn FnMut(&mut World, Value)) {
        while self.exit.is_none() && (self.on_fault == OnFault::GoOn || self.faults.is_empty()) {
            let deadline = self.bridge.next_deadline().map(|(tick, _)| tick.0);
            let line = self.server.next_due();
            let happening = self.soon.front().map(|(at, _)| *at);
            let held = self.held.front().map(|_| self.held_until);
            let Some(next) = [deadline, line, happening, held].into_iter().flatten().min() else { break };
            if next > until {
                break;
            }
            self.now = self.now.max(next);
            if line == Some(next) {
                self.held.extend(self.server.pop(next).map(|line| (self.generation, line)));
                self.flow(read);
            } else if held == Some(next) {
                self.flow(read);
            } else if happening == Some(next) {
                if let Some((_, happening)) = self.soon.pop_front() {
                    self.happen(&happening);
                }
            } else {
                self.step(Arrival::Deadline);
            }
            for watch in self.watches.take_ended(&self.server) {
                self.step(Arrival::Watched { watch, report: WatchReport::Ended });
            }
        }
        self.now = self.now.max(until);
    }

    /// Compares belief and truth of every session, once nothing is under way.
    pub(crate) fn rest(&mut self) {
        if self.exit.is_some() {
            return self.is_left_in_peace();
        }
        if self.leaving {
            self.fault("no-exit", "the client left long ago".into());
        }
        for session in self.client.sessions().to_vec() {
            let (live, mut standing) = (self.server.live(&session), self.server.standing(&session));
            if self.version == Version::V1 && self.belief.subagents().is_empty() {
                // Each is a call of its root.
                let at_work = self.server.children_at_work(&session);
                standing.extend(at_work.iter().map(|child| format!("subagent-{child}")));
            }
            self.belief.at_rest_with(&session, &live, &standing);
        }
        for child in self.belief.subagents() {
            let live = self.server.live(&child);
            self.belief.at_rest(&child, &live);
        }
        self.judge();
        for ((session, item), whole) in std::mem::take(&mut self.outputs) {
            // What the client never saw, or no longer after a resume, it need not hold.
            let held = self.belief.output(&session, &item);
            let same = |held: String| match self.version {
                // Text in a code block ends without its last newline.
                Version::V1 => held.trim_end() == whole.trim_end(),
                Version::V2 => held == whole,
            };
            if !held.is_none_or(same) {
                self.fault("rest-output", format!("{item} wrote {whole:?} in the end"));
            }
        }
    }

    /// A goal that is left active goes on as soon as anybody opens its thread again.
    fn is_left_in_peace(&mut self) {
        for session in self.client.sessions().to_vec() {
            for goal in self.server.standing(&session).iter().filter(|it| it.starts_with("goal-")) {
                self.fault("goal-left", format!("{goal} of {session} is active when we are gone"));
            }
        }
    }

    pub(crate) fn belief(&self) -> &Belief {
        &self.belief
    }

    fn flow(&mut self, read: &mut dyn FnMut(&mut World, Value)) {
        while self.held_until <= self.now {
            let Some((generation, line)) = self.held.pop_front() else { break };
            // What a process said last is lost with it.
            if generation == self.generation {
                read(self, line);
            }
        }
    }

    fn happen(&mut self, happening: &Happening) {
        match happening {
            Happening::Died(generation, how) => {
                if self.server.is_hung() {
                    self.server.die();
                }
                self.step(Arrival::CodexDied { generation: *generation, how, stderr: None });
            }
            Happening::Watched(watch, report) => {
                if self.watches.is_on(*watch) {
                    self.step(Arrival::Watched { watch: *watch, report: *report });
                }
            }
            Happening::Reached(stop, report) => self.step(Arrival::Stop { stop: *stop, report: *report }),
            Happening::Surveyed(session) => self.survey(session),
            Happening::Swept(generation) => {
                let report = SweepReport::default();
                self.step(Arrival::Swept { generation: *generation, report });
            }
        }
    }

    /// Every second running command is seen, and what the story says that ended ones leave.
    fn survey(&mut self, session: &SessionId) {
        let live = self.server.live(session.as_str());
        let seen = live.iter().step_by(2).chain(&self.leaves);
        let found: Vec<Found> = seen.zip(0u32..).map(|(item, n)| played(item, n)).collect();
        self.step(Arrival::Surveyed { session, found: &found });
    }

    fn later(&mut self, millis: u64, happening: Happening) {
        let at = self.now + millis;
        let place = self.soon.partition_point(|(other, _)| *other <= at);
        self.soon.insert(place, (at, happening));
    }

    /// Watching a command tells this, also where it is no longer watched: a report may be under way.
    pub(crate) fn watched(&mut self, told: &Told) {
        match self.watches.of(told.item()) {
            Some(watch) => self.step(Arrival::Watched { watch, report: told.report() }),
            None => self.fault("never-watched", told.item().to_owned()),
        }
    }

    /// The processes of the newest stop are so now.
    pub(crate) fn reached(&mut self, report: StopReport) {
        if let Some(stop) = self.reach.newest() {
            self.step(Arrival::Stop { stop, report });
        }
    }

    /// The client says a line of its own.
    pub(crate) fn say(&mut self, line: &Value) {
        self.trace.push(json!({"at": self.now, "sent": line}).to_string());
        self.belief.sent(line);
        let text = line.to_string();
        self.step(Arrival::ClientLine(text.as_bytes()));
    }

    fn step(&mut self, arrival: Arrival<'_>) {
        let version = match self.version {
            Version::V1 => request::Version::V1,
            Version::V2 => request::Version::V2,
        };
        self.hit.extend(rules_of(&arrival, Some(version)).into_iter().map(str::to_owned));
        let mut out = Vec::new();
        self.bridge.step(Tick(self.now), arrival, &mut out);
        let mut replies = Vec::new();
        for departure in out {
            self.depart(departure, &mut replies);
        }
        // What the client says at once comes after all that this step made.
        for reply in replies {
            self.say(&reply);
        }
    }

    fn depart(&mut self, departure: Departure, replies: &mut Vec<Value>) {
        if self.exit.is_some() {
            return self.fault("after-exit", format!("{departure:?}"));
        }
        match departure {
            Departure::ToClient(line) => {
                self.hit.extend(sent_rules(self.version, &line));
                self.hear(&line, replies);
            }
            Departure::ToCodex { generation, line } => {
                let line: Value = serde_json::from_str(&line).expect("a line to codex is JSON");
                self.hit.extend(asked_rule(&line));
                if self.generation == Some(generation) {
                    self.server.handle(self.now, &line);
                }
                self.asked.push(line);
            }
            Departure::StartCodex(generation) => self.generation = Some(generation),
            Departure::EndCodex(generation) => {
                if self.generation == Some(generation) {
                    self.generation = None;
                    match self.server.is_hung() {
                        // It takes neither the end of its input nor SIGTERM.
                        true => self.later(2500, Happening::Died(generation, "signal 9")),
                        false => {
                            self.server.die();
                            self.later(1, Happening::Died(generation, "exit 0"));
                        }
                    }
                }
            }
            Departure::Sweep { generation, .. } => self.later(1, Happening::Swept(generation)),
            Departure::Stop { stop, act } => {
                if let Some(report) = self.reach.act(stop, &act) {
                    self.later(1, Happening::Reached(stop, report));
                }
            }
            Departure::Watch { watch, act } => {
                for (after, report) in self.watches.act(watch, act) {
                    self.later(after, Happening::Watched(watch, report));
                }
            }
            Departure::Survey { session, .. } => self.later(1, Happening::Surveyed(session)),
            // No test opens one; the trace of the story shows that it would have been.
            Departure::OpenPage(url) => {
                self.trace.push(json!({"at": self.now, "opened": url}).to_string());
            }
            Departure::Exit { code } => self.exit = Some(code),
            Departure::Noted(_) => {}
        }
    }

    fn hear(&mut self, line: &str, replies: &mut Vec<Value>) {
        let message: Value = match serde_json::from_str(line) {
            Ok(message) => message,
            Err(error) => return self.fault("wire", format!("not JSON: {error}: {line}")),
        };
        let method = self.client.method(&message["id"]).filter(|_| message.get("method").is_none());
        let kind = match (message.get("method"), message.get("id"), method.as_deref()) {
            (Some(_), Some(_), _) => Some(Kind::Request),
            (Some(_), None, _) => Some(Kind::Notification),
            (None, _, Some(method)) => Some(Kind::Answer(method)),
            // An answer to nothing is a violation of its own.
            (None, _, None) => None,
        };
        self.trace.push(json!({"at": self.now, "got": masked(message.clone())}).to_string());
        if let Some(kind) = kind
            && let Err(error) = wire::check(self.version, kind, line)
        {
            self.fault("wire", error);
        }
        self.belief.received(&message);
        self.judge();
        replies.extend(self.client.read(&message));
    }

    fn judge(&mut self) {
        for violation in self.belief.take_violations() {
            self.fault(violation.rule, violation.detail);
        }
    }

    fn fault(&mut self, rule: &'static str, detail: String) {
        self.faults.push(Fault { at: self.now, rule, detail });
    }
}

fn played(item: &str, n: u32) -> Found {
    let (pid, age) = (1_000 + n, u64::from(4 + 100 * n));
    let (processes, cpu_percent, memory) = (1 + n, n, u64::from(1 + n) << 20);
    Found { item: ItemId::new(item), pid, processes, cpu_percent, memory, age, line: "sleep 300".into() }
}

// The version of the crate is no behaviour.
fn masked(mut message: Value) -> Value {
    for name in ["info", "agentInfo"] {
        if message["result"][name]["version"].is_string() {
            message["result"][name]["version"] = json!("0");
        }
    }
    message
}

/// The rules of a line to the client: its method, and its kind of update.
fn sent_rules(version: Version, line: &str) -> Vec<String> {
    let side = match version {
        Version::V1 => Side::V1,
        Version::V2 => Side::V2,
    };
    let line: Value = serde_json::from_str(line).expect("a line to the client is JSON");
    let method = line["method"].as_str().and_then(|method| map::acp_sent(side, method));
    let kind =
        line["params"]["update"]["sessionUpdate"].as_str().and_then(|kind| map::acp_update(side, kind));
    method.into_iter().chain(kind).map(|row| row.rule.as_str().to_owned()).collect()
}

/// The rule of a call to Codex, or of a notification.
fn asked_rule(line: &Value) -> Option<String> {
    let method = line["method"].as_str()?;
    let row = match line.get("id") {
        Some(_) => map::codex_request(method),
        None => map::rows()
            .iter()
            .find(|row| row.kind == map::row::Kind::CodexClientNotification && row.name == method),
    };
    Some(row?.rule.as_str().to_owned())
}

/// The rules of the items of a page of history.
fn history_rules(line: &Value) -> impl Iterator<Item = String> {
    let entries = line["result"]["data"].as_array().into_iter().flatten();
    let kinds = entries.filter_map(|entry| entry["item"]["type"].as_str());
    let rows = kinds.filter_map(|kind| map::codex_item(kind, ItemEvent::History));
    rows.map(|row| row.rule.as_str().to_owned())
}
