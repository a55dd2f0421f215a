//! One bridge between a client and a played app-server, in virtual time.
//!
//! Every line is traced, checked against the schema and folded into the client's belief.

use crate::client::{Act, Client};
use crate::server::Server;
use appserver_acp::bridge::Bridge;
use appserver_acp::bridge::arrival::Arrival;
use appserver_acp::bridge::departure::Departure;
use appserver_acp::core::ids::{Generation, Tick};
use appserver_acp::core::input::{Pressure, SweepReport};
use appserver_acp::core::settings::Settings;
use serde_json::{Value, json};
use std::collections::VecDeque;
use testkit::belief::{Belief, Version};
use testkit::wire::{self, Kind};

/// A step that comes of one of ours, a little later.
#[derive(Debug)]
enum Happening {
    Died(Generation),
    Swept(Generation),
}

pub(crate) struct World {
    version: Version,
    bridge: Bridge,
    client: Client,
    pub(crate) server: Server,
    belief: Belief,
    now: u64,
    generation: Option<Generation>,
    soon: VecDeque<(u64, Happening)>,
    exit: Option<i32>,
    trace: Vec<String>,
    faults: Vec<String>,
}

impl World {
    pub(crate) fn new(version: Version, server: Server) -> Self {
        let settings = Settings { nonce: "n".into(), preset: None };
        Self {
            version,
            bridge: Bridge::new(settings),
            client: Client::new(version),
            server,
            belief: Belief::new(version),
            now: 0,
            generation: None,
            soon: VecDeque::new(),
            exit: None,
            trace: Vec::new(),
            faults: Vec::new(),
        }
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

    pub(crate) fn faults(&self) -> &[String] {
        &self.faults
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
            self.step(Arrival::ClientEof);
        }
    }

    /// The queue to the client crosses a mark.
    pub(crate) fn press(&mut self, pressure: Pressure) {
        self.step(Arrival::ClientQueue(pressure));
    }

    /// A signal reaches us.
    pub(crate) fn signal(&mut self, number: i32) {
        self.step(Arrival::Signal(number));
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
        self.deliver_text(&line.to_string());
    }

    /// Bytes of Codex arrive that may be no message.
    pub(crate) fn deliver_text(&mut self, text: &str) {
        if let Some(generation) = self.generation {
            self.step(Arrival::CodexLine { generation, line: text.as_bytes() });
        }
    }

    /// Lets time pass until `until`; each line of Codex goes through `post`.
    pub(crate) fn pass(&mut self, until: u64, post: &mut dyn FnMut(&mut World, Value)) {
        while self.exit.is_none() {
            let deadline = self.bridge.next_deadline().map(|(tick, _)| tick.0);
            let line = self.server.next_due();
            let happening = self.soon.front().map(|(at, _)| *at);
            let Some(next) = [deadline, line, happening].into_iter().flatten().min() else { break };
            if next > until {
                break;
            }
            self.now = self.now.max(next);
            if line == Some(next) {
                if let Some(line) = self.server.pop(next) {
                    post(self, line);
                }
            } else if happening == Some(next) {
                if let Some((_, happening)) = self.soon.pop_front() {
                    self.happen(&happening);
                }
            } else {
                self.step(Arrival::Deadline);
            }
        }
        self.now = self.now.max(until);
    }

    /// Compares belief and truth of every session, once nothing is under way.
    pub(crate) fn rest(&mut self) {
        for session in self.client.sessions().to_vec() {
            self.belief.at_rest(&session, &self.server.live(&session));
        }
        self.judge();
    }

    pub(crate) fn belief(&self) -> &Belief {
        &self.belief
    }

    fn happen(&mut self, happening: &Happening) {
        match happening {
            Happening::Died(generation) => {
                let arrival = Arrival::CodexDied { generation: *generation, how: "exit 0", stderr: None };
                self.step(arrival);
            }
            Happening::Swept(generation) => {
                let report = SweepReport::default();
                self.step(Arrival::Swept { generation: *generation, report });
            }
        }
    }

    fn say(&mut self, line: &Value) {
        self.trace.push(json!({"at": self.now, "sent": line}).to_string());
        self.belief.sent(line);
        let text = line.to_string();
        self.step(Arrival::ClientLine(text.as_bytes()));
    }

    fn step(&mut self, arrival: Arrival<'_>) {
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
            return self.faults.push(format!("at {}: after the exit: {departure:?}", self.now));
        }
        match departure {
            Departure::ToClient(line) => self.hear(&line, replies),
            Departure::ToCodex { generation, line } => {
                if self.generation == Some(generation) {
                    let line = serde_json::from_str(&line).expect("a line to codex is JSON");
                    self.server.handle(self.now, &line);
                }
            }
            Departure::StartCodex(generation) => self.generation = Some(generation),
            Departure::EndCodex(generation) => {
                if self.generation == Some(generation) {
                    self.generation = None;
                    self.server.die();
                    self.soon.push_back((self.now + 1, Happening::Died(generation)));
                }
            }
            Departure::Sweep { generation, .. } => {
                self.soon.push_back((self.now + 1, Happening::Swept(generation)))
            }
            Departure::Exit { code } => self.exit = Some(code),
            Departure::Noted(_) => {}
        }
    }

    fn hear(&mut self, line: &str, replies: &mut Vec<Value>) {
        let message: Value = match serde_json::from_str(line) {
            Ok(message) => message,
            Err(error) => return self.faults.push(format!("at {}: not JSON: {error}: {line}", self.now)),
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
            self.faults.push(format!("at {}: wire: {error}", self.now));
        }
        self.belief.received(&message);
        self.judge();
        replies.extend(self.client.read(&message));
    }

    fn judge(&mut self) {
        let now = self.now;
        self.faults
            .extend(self.belief.take_violations().iter().map(|violation| format!("at {now}: {violation}")));
    }
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
