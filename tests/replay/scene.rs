//! A turn that runs and waits: Codex says what a test wants, and the test looks at what came of it.

use crate::client::{Act, Can};
use crate::recording::Recording;
use crate::server::Server;
use crate::world::{OnFault, World};
use serde_json::{Value, json};
use testkit::belief::Version;

/// The id of every request that Codex makes here.
const ASK: i64 = 900;

/// One session in the middle of a turn in which nothing has happened.
pub(crate) struct Scene {
    world: World,
}

impl Scene {
    pub(crate) fn new(version: Version) -> Self {
        let mut scene = Self::opened(version);
        scene.world.server.hold();
        scene.prompt();
        scene
    }

    /// One session without a turn.
    pub(crate) fn opened(version: Version) -> Self {
        let recording = Recording::read("01-plain").without_first(usize::MAX);
        let mut scene = Self { world: World::new(version, Server::new([recording]), OnFault::Stop) };
        scene.act(&Act::Hello { can: vec![Can::Elicitation, Can::Notices] });
        scene.act(&Act::Open);
        scene.pass(100);
        scene
    }

    pub(crate) fn prompt(&mut self) {
        self.act(&Act::Prompt { text: "go".into(), key: None, session: 0 });
        self.pass(100);
    }

    pub(crate) fn act(&mut self, act: &Act) {
        self.world.act(act);
        self.pass(10);
    }

    pub(crate) fn pass(&mut self, millis: u64) {
        let until = self.world.now() + millis;
        self.world.pass(until, &mut |world, line| world.deliver(&line));
        assert_eq!(self.world.faults().iter().map(ToString::to_string).collect::<Vec<_>>(), [""; 0]);
    }

    /// The next call of `method` gets this result.
    pub(crate) fn script(&mut self, method: &str, result: &Value) {
        self.world.server.script(method, json!({"result": result}));
    }

    /// A notification about this thread and turn.
    pub(crate) fn say(&mut self, method: &str, params: Value) {
        self.line(json!({"method": method, "params": params}));
    }

    pub(crate) fn started(&mut self, item: Value) {
        self.say("item/started", json!({"item": item}));
    }

    pub(crate) fn completed(&mut self, item: Value) {
        self.say("item/completed", json!({"item": item}));
    }

    /// A request about this thread and turn; our question to the client, if it is asked anything.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Option<Value> {
        self.line(json!({"id": ASK, "method": method, "params": params}));
        self.got().into_iter().rfind(|line| line.get("id").is_some() && line.get("method").is_some())
    }

    /// The client answers; what Codex gets then.
    pub(crate) fn answer(&mut self, question: &Value, result: Value) -> Value {
        self.world.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
        self.pass(10);
        self.answer_to_codex()
    }

    /// What Codex was last answered.
    pub(crate) fn answer_to_codex(&self) -> Value {
        let is_it = |line: &&Value| line.get("method").is_none() && line["id"] == ASK;
        self.world.asked_of_codex().iter().rfind(is_it).cloned().unwrap_or_default()
    }

    /// The client's answers to its own requests, the newest last.
    pub(crate) fn answers(&self) -> Vec<Value> {
        self.got().into_iter().filter(|line| line.get("method").is_none()).collect()
    }

    /// A request of the client about this session that no act has; its answer.
    pub(crate) fn client_asks(&mut self, method: &str, mut params: Value) -> Value {
        params["sessionId"] = json!(self.world.sessions().first());
        self.world.say(&json!({"jsonrpc": "2.0", "id": ASK, "method": method, "params": params}));
        self.pass(100);
        self.answers().into_iter().rfind(|line| line["id"] == ASK).unwrap_or_default()
    }

    /// How many lines went out, to the client and to Codex.
    pub(crate) fn n_lines(&self) -> (usize, usize) {
        (self.got().len(), self.world.asked_of_codex().len())
    }

    /// Updates of one kind, the newest last.
    pub(crate) fn updates(&self, kind: &str) -> Vec<Value> {
        let updates = self.got().into_iter().map(|line| line["params"]["update"].clone());
        updates.filter(|update| update["sessionUpdate"] == kind).collect()
    }

    /// A field of the newest update of this kind that has it.
    pub(crate) fn newest(&self, kind: &str, path: &str) -> Option<String> {
        self.updates(kind).iter().rev().find_map(|update| Some(update.pointer(path)?.as_str()?.to_owned()))
    }

    /// The params of our newest call of `method` to Codex.
    pub(crate) fn called(&self, method: &str) -> Option<Value> {
        let calls = self.world.asked_of_codex().iter();
        Some(calls.rev().find(|line| line["method"] == method)?["params"].clone())
    }

    fn line(&mut self, mut line: Value) {
        line["params"]["threadId"] = json!("$thread");
        if line["params"]["turnId"].is_null() {
            line["params"]["turnId"] = json!("$turn");
        }
        self.world.say_of_codex(line);
        self.pass(10);
    }

    fn got(&self) -> Vec<Value> {
        let lines = self.world.trace().iter().map(|line| serde_json::from_str::<Value>(line));
        lines.filter_map(|line| line.expect("a trace is JSON lines").get("got").cloned()).collect()
    }
}
