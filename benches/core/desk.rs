//! A bridge with open sessions, and the recorded lines that it is fed with.

use std::path::Path;

use appserver_acp::bridge::Bridge;
use appserver_acp::bridge::arrival::Arrival;
use appserver_acp::bridge::departure::Departure;
use appserver_acp::core::ids::{Generation, Tick};
use appserver_acp::core::settings::Settings;
use serde_json::{Value, json};

const RECORDING: &str = "tests/recordings/02a-background-pipe.jsonl";

/// One recorded thread; other threads are made of it by another id.
#[derive(Debug)]
pub(crate) struct Recording {
    thread: String,
    /// The answer to `thread/start`.
    opened: Value,
    /// The answer to the first `turn/start`.
    turn: Value,
    /// Notifications from the first turn's start to its end.
    lines: Vec<Value>,
    output: Value,
}

impl Recording {
    pub(crate) fn read() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(RECORDING);
        let text = std::fs::read_to_string(path).expect("the recording is part of the repository");
        let entries: Vec<Value> =
            text.lines().map(|it| serde_json::from_str(it).expect("a recording is JSON lines")).collect();
        let answer = |method: &str| {
            let call = entries.iter().find(|it| it["dir"] == "->" && it["msg"]["method"] == method);
            let id = call.expect("the recording has this call")["msg"]["id"].clone();
            let answer = entries.iter().find(|it| it["dir"] == "<-" && it["msg"]["id"] == id);
            answer.expect("the call was answered")["msg"]["result"].clone()
        };
        let opened = answer("thread/start");
        let notifications: Vec<Value> = entries
            .iter()
            .filter(|it| it["dir"] == "<-" && it["msg"]["method"].is_string())
            .map(|it| it["msg"].clone())
            .collect();
        let place = |method: &str| {
            let place = notifications.iter().position(|it| it["method"] == method);
            place.expect("the recording has this notification")
        };
        let lines = notifications[place("turn/started")..=place("turn/completed")].to_vec();
        let output = notifications[place("item/commandExecution/outputDelta")].clone();
        let thread = opened["thread"]["id"].as_str().expect("a thread has an id").to_owned();
        Self { thread, turn: answer("turn/start"), opened, lines, output }
    }

    /// The notifications of the turn, for the thread of session `n`.
    pub(crate) fn turn_values(&self, n: usize) -> Vec<Value> {
        self.lines.iter().map(|it| self.for_session(it, n)).collect()
    }

    pub(crate) fn turn_lines(&self, n: usize) -> Vec<String> {
        self.turn_values(n).iter().map(Value::to_string).collect()
    }

    /// Output of the command of session `n`.
    pub(crate) fn output_line(&self, n: usize, text: &str) -> String {
        let mut line = self.for_session(&self.output, n);
        line["params"]["delta"] = json!(text);
        line.to_string()
    }

    fn for_session(&self, value: &Value, n: usize) -> Value {
        let text = value.to_string().replace(&self.thread, &self.thread_of(n));
        serde_json::from_str(&text).expect("an id in place of an id")
    }

    fn thread_of(&self, n: usize) -> String {
        format!("{}{n:04}", &self.thread[..self.thread.len() - 4])
    }
}

/// A bridge whose Codex answers at once.
#[derive(Debug)]
pub(crate) struct Desk {
    bridge: Bridge,
    now: Tick,
    generation: Generation,
    out: Vec<Departure>,
    n_opened: usize,
    n_requests: u64,
}

impl Desk {
    /// Sessions `1..=n`, each with a prompt under way. The client speaks v2.
    pub(crate) fn with_sessions(recording: &Recording, n: usize) -> Self {
        let settings = Settings::plain("bench");
        let (bridge, generation) = (Bridge::new(settings), Generation(0));
        let mut desk = Self { bridge, now: Tick(0), generation, out: Vec::new(), n_opened: 0, n_requests: 0 };
        let info = json!({"name": "bench", "version": "1"});
        let hello = json!({"protocolVersion": 2, "info": info, "capabilities": {}});
        desk.client(recording, "initialize", &hello);
        for session in 1..=n {
            desk.client(recording, "session/new", &json!({"cwd": "/workspace", "mcpServers": []}));
            let prompt = json!([{"type": "text", "text": "go"}]);
            let thread = recording.thread_of(session);
            desk.client(recording, "session/prompt", &json!({"sessionId": thread, "prompt": prompt}));
        }
        assert_eq!(desk.n_opened, n, "every session has a thread");
        desk
    }

    /// Feeds one line of Codex; time goes on by 1 ms per 20 lines.
    pub(crate) fn codex(&mut self, line: &str) {
        self.n_requests += 1;
        self.now = Tick(self.n_requests / 20);
        if self.bridge.next_deadline().is_some_and(|(due, _)| due <= self.now) {
            self.bridge.step(self.now, Arrival::Deadline, &mut self.out);
        }
        let arrival = Arrival::CodexLine { generation: self.generation, line: line.as_bytes() };
        self.bridge.step(self.now, arrival, &mut self.out);
        divan::black_box(&self.out);
        self.out.clear();
    }

    /// Feeds a request of the client and answers whatever is asked of Codex for it.
    fn client(&mut self, recording: &Recording, method: &str, params: &Value) {
        self.n_requests += 1;
        let line = json!({"jsonrpc": "2.0", "id": self.n_requests, "method": method, "params": params});
        self.bridge.step(self.now, Arrival::ClientLine(line.to_string().as_bytes()), &mut self.out);
        while !self.out.is_empty() {
            for departure in std::mem::take(&mut self.out) {
                match departure {
                    Departure::StartCodex(generation) => self.generation = generation,
                    Departure::ToCodex { line, .. } => self.answer(recording, &line),
                    Departure::ToClient(line) => assert!(!line.contains("\"error\""), "refused: {line}"),
                    Departure::EndCodex(_)
                    | Departure::Sweep { .. }
                    | Departure::Stop { .. }
                    | Departure::Survey { .. }
                    | Departure::Watch { .. }
                    | Departure::OpenPage(_)
                    | Departure::Exit { .. }
                    | Departure::Noted(_) => {}
                }
            }
        }
    }

    fn answer(&mut self, recording: &Recording, line: &str) {
        let call: Value = serde_json::from_str(line).expect("the bridge writes JSON");
        let Some(id) = call.get("id") else { return };
        let result = match call["method"].as_str() {
            Some("initialize") => json!({"userAgent": "codex/0.171.0", "codexHome": "/codex"}),
            Some("thread/start") => {
                self.n_opened += 1;
                recording.for_session(&recording.opened, self.n_opened)
            }
            Some("turn/start") => recording.turn.clone(),
            Some("account/read") => json!({"account": null, "requiresOpenaiAuth": false}),
            Some("model/list" | "thread/backgroundTerminals/list") => json!({"data": [], "nextCursor": null}),
            _ => json!({}),
        };
        let line = json!({"id": id, "result": result}).to_string();
        let arrival = Arrival::CodexLine { generation: self.generation, line: line.as_bytes() };
        self.bridge.step(self.now, arrival, &mut self.out);
    }
}
