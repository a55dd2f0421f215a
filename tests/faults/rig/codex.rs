//! What Codex says.

use super::{Rig, SESSION, command, idle};
use appserver_acp::bridge::arrival::Arrival;
use appserver_acp::core::ids::Generation;
use appserver_acp::core::input::SweepReport;
use serde_json::{Value, json};

impl Rig {
    /// Codex answers its greeting, and the list of models if it was asked for.
    pub(crate) fn booted(&mut self) {
        self.ok("initialize", json!({"userAgent": "codex/1"}));
        if self.is_called("model/list") {
            self.ok("model/list", json!({"data": [], "nextCursor": null}));
        }
        if self.is_called("account/read") {
            self.ok("account/read", json!({"account": {"type": "apiKey"}, "requiresOpenaiAuth": true}));
        }
    }

    pub(crate) fn is_called(&self, method: &str) -> bool {
        self.calls.iter().any(|it| it["method"] == method)
    }

    /// Calls that nobody answered, oldest first.
    pub(crate) fn calls(&self) -> &[Value] {
        &self.calls
    }

    /// Takes the oldest open call of a method, to be answered or not.
    pub(crate) fn call(&mut self, method: &str) -> Value {
        match self.calls.iter().position(|it| it["method"] == method) {
            Some(at) => self.calls.remove(at),
            None => panic!("no call of {method}\n{}", self.log.join("\n")),
        }
    }

    /// Takes the open call with this id.
    pub(crate) fn take(&mut self, id: &Value) {
        self.calls.retain(|it| it["id"] != *id);
    }

    pub(crate) fn ok(&mut self, method: &str, result: Value) {
        let id = self.call(method)["id"].clone();
        self.codex(json!({"id": id, "result": result}));
    }

    pub(crate) fn err(&mut self, method: &str, message: &str) {
        let id = self.call(method)["id"].clone();
        self.codex(json!({"id": id, "error": {"code": -32600, "message": message}}));
    }

    pub(crate) fn codex(&mut self, message: Value) {
        let line = message.to_string();
        self.note("codex", &line);
        self.step(Arrival::CodexLine { generation: self.codex, line: line.as_bytes() });
    }

    pub(crate) fn notify(&mut self, method: &str, mut params: Value) {
        if params["threadId"].is_null() {
            params["threadId"] = json!(SESSION);
        }
        self.codex(json!({"method": method, "params": params}));
    }

    /// Codex takes the `turn/start` under way: answer, start, and the user's message.
    pub(crate) fn started(&mut self, turn: &str) {
        let call = self.call("turn/start");
        self.codex(json!({"id": call["id"], "result": {"turn": {"id": turn}}}));
        self.notify("turn/started", json!({"turn": {"id": turn, "status": "inProgress"}}));
        self.took(turn, &call);
    }

    /// Codex shows the message of a `turn/start` in the turn.
    pub(crate) fn took(&mut self, turn: &str, start: &Value) {
        let key = &start["params"]["clientUserMessageId"];
        let id = format!("u-{}", key.as_str().expect("a prompt has a key of ours"));
        let content = json!([{"type": "text", "text": "x"}]);
        let item = json!({"type": "userMessage", "id": id, "clientId": key, "content": content});
        self.item("item/started", turn, item);
    }

    pub(crate) fn done(&mut self, turn: &str, status: &str) {
        self.notify("turn/completed", json!({"turn": {"id": turn, "status": status}}));
    }

    pub(crate) fn item(&mut self, method: &str, turn: &str, item: Value) {
        self.notify(method, json!({"turnId": turn, "item": item}));
    }

    /// An agent message begins.
    pub(crate) fn message(&mut self, turn: &str, id: &str) {
        self.item("item/started", turn, json!({"type": "agentMessage", "id": id, "text": ""}));
    }

    pub(crate) fn text(&mut self, turn: &str, id: &str, text: &str) {
        self.notify("item/agentMessage/delta", json!({"turnId": turn, "itemId": id, "delta": text}));
    }

    /// A command begins; without a process it waits for an approval.
    pub(crate) fn command(&mut self, turn: &str, id: &str, process: Option<&str>) {
        self.item("item/started", turn, command(id, process, "inProgress"));
    }

    pub(crate) fn command_ended(&mut self, turn: &str, id: &str, output: &str, code: i64) {
        let mut item = command(id, Some("7"), "completed");
        item["aggregatedOutput"] = json!(output);
        item["exitCode"] = json!(code);
        self.item("item/completed", turn, item);
    }

    /// Codex asks whether a command may run.
    pub(crate) fn asks(&mut self, request: u32, kind: &str, turn: &str, item: &str) {
        let mut params = json!({"kind": kind, "threadId": SESSION, "turnId": turn, "itemId": item, "command": "echo hi",
            "cwd": "/w", "availableDecisions": ["accept", "cancel"]});
        if kind == "network" {
            params["networkApprovalContext"] = json!({"host": "x", "protocol": "https"});
        }
        let method = "item/commandExecution/requestApproval";
        self.codex(json!({"id": request, "method": method, "params": params}));
    }

    /// The results that a request of Codex's was answered with.
    pub(crate) fn answered(&self, request: u32) -> Vec<Value> {
        let its = self.answers.iter().filter(|it| it["id"] == request && it["error"].is_null());
        its.map(|it| it["result"].clone()).collect()
    }

    /// Whether a request of Codex's was answered with an error.
    pub(crate) fn refused(&self, request: u32) -> bool {
        self.answers.iter().any(|it| it["id"] == request && it["error"].is_object())
    }

    pub(crate) fn dies(&mut self) {
        self.dies_of("signal 9", None);
    }

    pub(crate) fn dies_of(&mut self, how: &str, stderr: Option<&str>) {
        self.note("codex", "DIES");
        self.calls.clear();
        self.step(Arrival::CodexDied { generation: self.codex, how, stderr });
    }

    /// A line that may be no message.
    pub(crate) fn writes(&mut self, line: &[u8]) {
        self.note("codex", &String::from_utf8_lossy(line));
        self.step(Arrival::CodexLine { generation: self.codex, line });
    }

    /// A line that is too long to be read.
    pub(crate) fn writes_too_much(&mut self) {
        self.note("codex", "OVERSIZED");
        self.step(Arrival::CodexOversized { generation: self.codex });
    }

    /// How often a method was called and not answered.
    pub(crate) fn n_calls(&self, method: &str) -> usize {
        self.calls.iter().filter(|it| it["method"] == method).count()
    }

    /// Codex cannot be started.
    pub(crate) fn not_started(&mut self) {
        self.note("codex", "NOT STARTED");
        self.calls.clear();
        self.step(Arrival::CodexNotStarted { generation: self.codex, message: "no such file" });
    }

    pub(crate) fn generation(&self) -> Generation {
        self.codex
    }

    /// The oldest sweep is over.
    pub(crate) fn swept(&mut self) {
        let generation = self.sweeps.pop_front().expect("a sweep is under way");
        self.note("sweep", "over");
        self.step(Arrival::Swept { generation, report: SweepReport::default() });
    }

    /// What the loss of an app-server brings with it, up to a thread that is there again.
    pub(crate) fn recovers(&mut self) {
        if !self.sweeps.is_empty() {
            self.swept();
        }
        if self.is_called("initialize") {
            self.booted();
        }
        if self.is_called("thread/resume") {
            self.ok("thread/resume", idle());
        }
    }
}
