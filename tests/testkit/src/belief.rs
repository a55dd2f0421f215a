//! What a client would believe after our messages, and the rules they broke on the way.
//!
//! Fed with raw JSON of both directions in wire order. Uses nothing of the crate under test.

mod fold;
mod ledger;
mod message;
mod subagents;
#[cfg(test)]
mod tests;
mod v1;
mod v2;

use ledger::{Call, Ledger};
use message::Message;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use subagents::Subagent;

/// Generation of ACP that the client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V1,
    V2,
}

/// A rule that was broken, by its kebab-case name, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub rule: &'static str,
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.detail)
    }
}

/// One client's view of one connection.
#[derive(Debug)]
pub struct Belief {
    version: Version,
    /// What the client said about itself.
    client: Value,
    /// The client's requests.
    requests: Ledger,
    /// The agent's requests.
    asks: Ledger,
    /// Elicitations that sent the user to a page, and are not over.
    pages: BTreeSet<String>,
    /// Lines of the client that were no message: each is owed one error without id.
    garbage: usize,
    sessions: BTreeMap<String, Session>,
    /// Sessions that were announced as subagents.
    subagents: BTreeMap<String, Subagent>,
    /// Subagents that were named since the resume of their session was asked for.
    coming_back: BTreeMap<String, BTreeSet<String>>,
    found: Findings,
}

impl Belief {
    pub fn new(version: Version) -> Self {
        Self {
            version,
            client: Value::Null,
            requests: Ledger::default(),
            asks: Ledger::default(),
            pages: BTreeSet::new(),
            garbage: 0,
            sessions: BTreeMap::new(),
            subagents: BTreeMap::new(),
            coming_back: BTreeMap::new(),
            found: Findings::default(),
        }
    }

    /// The client sent `message`.
    pub fn sent(&mut self, message: &Value) {
        match Message::of(message) {
            Message::Request { id, method, params } => {
                self.requests.open(id, method, params, &mut self.found);
                self.requested(method, params);
            }
            Message::Notification { .. } => {}
            Message::Result { id, .. } | Message::Error { id, .. } => drop(self.asks.close(id)),
            Message::Malformed => self.garbage += 1,
        }
    }

    /// The client received `message`.
    pub fn received(&mut self, message: &Value) {
        match Message::of(message) {
            Message::Request { id, method, params } => {
                self.asks.open(id, method, params, &mut self.found);
                self.pages.extend(params["elicitationId"].as_str().map(str::to_owned));
                self.asked(params);
            }
            Message::Notification { method: "session/update", params } => self.updated(params),
            Message::Notification { method: "$/cancel_request", params } => {
                self.asks.withdraw(&params["requestId"]);
            }
            Message::Notification { method: "elicitation/complete", params } => {
                let page = params["elicitationId"].as_str().unwrap_or_default();
                if !self.pages.remove(page) {
                    self.found.add("page-over-unknown", page.to_owned());
                }
            }
            Message::Notification { method, .. } => {
                if !method.starts_with('_') {
                    self.found.add("unknown-notification", method.to_owned());
                }
            }
            Message::Result { id, result } => {
                if let Some(call) = self.closed(id) {
                    self.answered(&call, result);
                }
            }
            Message::Error { id: Value::Null, .. } if self.garbage > 0 => self.garbage -= 1,
            Message::Error { id, error } => {
                if let Some(call) = self.closed(id) {
                    self.refused(&call, error);
                }
            }
            Message::Malformed => self.found.add("malformed", message.to_string()),
        }
    }

    /// Compares the belief with the world once nothing is under way: `live` are the item ids
    /// of the commands of `session` that really run.
    pub fn at_rest(&mut self, session: &str, live: &BTreeSet<String>) {
        self.at_rest_with(session, live, &BTreeSet::new());
    }

    /// As [`Self::at_rest`]; `standing` are the tool calls of work without a process that goes on or
    /// waits, without the suffix (`#2`) of one that came again.
    pub fn at_rest_with(&mut self, session: &str, live: &BTreeSet<String>, standing: &BTreeSet<String>) {
        for (id, call) in self.requests.of(session) {
            self.found.add("unanswered", format!("{} {id}", call.method));
        }
        let asks = self.asks.waiting(session);
        if let Some(Subagent { unmirrored, .. }) = self.subagents.get(session)
            && !unmirrored.is_empty()
        {
            self.found.add("mirror-missing", format!("{session}: {unmirrored:?}"));
        }
        match self.sessions.get_mut(session) {
            Some(Session { phase: Phase::Closed, .. }) | None => {
                // What is queued waits for the session to be opened again; a goal would go on.
                let goals = standing.iter().filter(|name| name.starts_with("goal-"));
                let left: Vec<_> = live.iter().chain(goals).collect();
                if !left.is_empty() {
                    self.found.add("rest-missing", format!("{left:?} of {session}, which is not open"));
                }
            }
            Some(Session { model: Model::V1(model), .. }) => model.at_rest(live, standing, &mut self.found),
            Some(Session { model: Model::V2(model), .. }) => {
                model.at_rest(live, standing, asks, &mut self.found)
            }
        }
    }

    /// Sessions that were announced as subagents.
    pub fn subagents(&self) -> Vec<String> {
        self.subagents.keys().cloned().collect()
    }

    /// The text that the client holds for a terminal, `None` if it knows no such terminal.
    pub fn output(&self, session: &str, terminal: &str) -> Option<String> {
        match &self.sessions.get(session)?.model {
            Model::V1(model) => model.output(terminal),
            Model::V2(model) => model.output(terminal),
        }
    }

    /// Whether the client believes that this terminal runs; `None` if it knows no such terminal.
    pub fn is_running(&self, session: &str, terminal: &str) -> Option<bool> {
        match &self.sessions.get(session)?.model {
            Model::V1(model) => model.is_running(terminal),
            Model::V2(model) => model.is_live(terminal),
        }
    }

    /// Keys of the background list, e.g. `terminal:call_1` (v1 has no list: empty).
    pub fn listed(&self, session: &str) -> Vec<String> {
        match self.sessions.get(session).map(|session| &session.model) {
            Some(Model::V2(model)) => model.listed(),
            Some(Model::V1(_)) | None => Vec::new(),
        }
    }

    /// The requests that the agent waits for an answer to, by id.
    pub fn open_asks(&self, session: &str) -> Vec<Value> {
        self.asks.of(session).filter_map(|(id, _)| serde_json::from_str(id).ok()).collect()
    }

    /// Whether a request of the client about `session` has no answer yet.
    pub fn is_waiting(&self, session: &str) -> bool {
        self.requests.of(session).next().is_some()
    }

    /// Everything found so far.
    pub fn violations(&self) -> &[Violation] {
        &self.found.0
    }

    /// Takes out what was found since the last time.
    pub fn take_violations(&mut self) -> Vec<Violation> {
        std::mem::take(&mut self.found.0)
    }

    fn requested(&mut self, method: &str, params: &Value) {
        let name = params["sessionId"].as_str().unwrap_or_default();
        match method {
            "initialize" => self.client = params.clone(),
            // Updates of the session come before the answer; what was known before starts afresh.
            "session/resume" | "session/load" => {
                let replay = method == "session/load" || !params["replayFrom"].is_null();
                let mut session = self.fresh(if replay { Phase::Replaying } else { Phase::Opening });
                let former = self.sessions.remove(name).filter(|it| it.phase == Phase::Open);
                if let (Some(Session { model: Model::V2(former), .. }), Model::V2(model)) =
                    (&former, &mut session.model)
                {
                    model.comes_after(former);
                }
                session.former = former.map(Box::new);
                self.sessions.insert(name.to_owned(), session);
            }
            "session/prompt" => {
                if let Some(Session { model: Model::V2(model), .. }) = self.sessions.get_mut(name) {
                    model.prompted(params);
                }
            }
            _ => {}
        }
    }

    fn closed(&mut self, id: &Value) -> Option<Call> {
        let call = self.requests.close(id);
        if call.is_none() {
            self.found.add("answer-to-nothing", format!("no request {id} is open"));
        }
        call
    }

    fn answered(&mut self, call: &Call, result: &Value) {
        match call.method.as_str() {
            "session/new" | "session/fork" => {
                let name = result["sessionId"].as_str().unwrap_or_default();
                let fresh = self.fresh(Phase::Open);
                self.sessions.insert(name.to_owned(), fresh);
            }
            method => {
                let Some(session) = self.sessions.get_mut(call.session()) else { return };
                match (method, &mut session.model) {
                    ("session/resume" | "session/load", model) => {
                        if let Model::V2(model) = model {
                            model.resumed(!call.params["replayFrom"].is_null(), &mut self.found);
                        }
                        session.phase = Phase::Open;
                        session.former = None;
                        self.subagents_are_back(call);
                    }
                    ("session/close" | "session/delete" | "session/archive", model) => {
                        if let Model::V2(model) = model {
                            model.closed(&mut self.found);
                        }
                        session.phase = Phase::Closed;
                    }
                    ("session/prompt", Model::V2(model)) => {
                        model.inserted(&call.params, result, &mut self.found);
                    }
                    _ => {}
                }
            }
        }
    }

    fn refused(&mut self, call: &Call, error: &Value) {
        if error["code"].as_i64().is_none() || error["message"].as_str().is_none() {
            self.found.add("malformed", format!("error without code or message: {error}"));
        }
        if matches!(call.method.as_str(), "session/resume" | "session/load") {
            self.subagents_stay(call);
        }
        match (call.method.as_str(), self.sessions.get_mut(call.session())) {
            // One that was open before stays so, as it was.
            ("session/resume" | "session/load", Some(session)) => match session.former.take() {
                Some(mut former) => {
                    if let (Model::V2(former), Model::V2(model)) = (&mut former.model, &mut session.model) {
                        former.keep_prompts(model);
                    }
                    *session = *former;
                }
                None => session.phase = Phase::Closed,
            },
            ("session/prompt", Some(Session { model: Model::V2(model), .. })) => {
                model.refused(&call.params, &mut self.found);
            }
            _ => {}
        }
    }

    fn asked(&mut self, params: &Value) {
        let name = params["sessionId"].as_str().unwrap_or_default();
        // An elicitation may belong to a request instead of a session.
        if name.is_empty() {
            return;
        }
        let Some(session) = Session::open(&mut self.sessions, name, &mut self.found) else { return };
        match &mut session.model {
            Model::V1(model) => model.asked(params, &mut self.found),
            Model::V2(model) => model.asked(params, &mut self.found),
        }
    }

    fn updated(&mut self, params: &Value) {
        let name = params["sessionId"].as_str().unwrap_or_default();
        let update = &params["update"];
        if update["sessionUpdate"] == "subagent_update"
            && let Some(child) = update["sessionId"].as_str()
        {
            self.named(name, child, !update["state"].is_null());
            let known = self.subagents.entry(child.to_owned()).or_default();
            if !update["state"].is_null() && self.version == Version::V2 {
                known.mirror(child, &update["state"], &mut self.found);
            }
        }
        if update["sessionUpdate"] == "state_update"
            && let Some(known) = self.subagents.get_mut(name)
        {
            let mut state = update.clone();
            state.as_object_mut().and_then(|state| state.remove("sessionUpdate"));
            known.unmirrored.push_back(state);
        }
        for session in named_sessions(update) {
            if !self.sessions.contains_key(session) {
                self.found.add("unannounced-session", format!("{session} in {update}"));
            }
        }
        let n_prompts = self.requests.count(name, "session/prompt");
        let n_asks = self.asks.waiting(name);
        let is_subagent = self.subagents.contains_key(name);
        let Some(session) = Session::open(&mut self.sessions, name, &mut self.found) else { return };
        match &mut session.model {
            Model::V1(model) => {
                // What comes before the answer of a load or a resume is no turn of its own. The turns of a
                // subagent are no answers to prompts.
                let scene = if session.phase != Phase::Open || n_prompts > 0 || is_subagent {
                    v1::Scene::Turn
                } else {
                    v1::Scene::Quiet
                };
                model.update(update, scene, &self.client, &mut self.found);
            }
            Model::V2(model) => {
                let replaying = session.phase == Phase::Replaying;
                model.update(
                    update,
                    if replaying { v2::Scene::Replay } else { v2::Scene::Live },
                    n_asks,
                    &mut self.found,
                );
                if update["sessionUpdate"] == "replay_complete" && replaying {
                    session.phase = Phase::Opening;
                }
            }
        }
    }

    fn fresh(&self, phase: Phase) -> Session {
        let model = match self.version {
            Version::V1 => Model::V1(v1::Session::default()),
            Version::V2 => Model::V2(v2::Session::default()),
        };
        Session { phase, model, former: None }
    }
}

/// Sessions that an update refers to.
fn named_sessions(update: &Value) -> impl Iterator<Item = &str> {
    let content = update["content"].as_array().into_iter().flatten();
    let referred = content.filter(|it| it["type"] == "session").map(|it| &it["sessionId"]);
    let background = update["background"].as_array().into_iter().flatten().map(|it| &it["sessionId"]);
    let sides = [&update["senderSessionId"], &update["recipientSessionId"]];
    referred.chain(background).chain(sides).filter_map(Value::as_str)
}

/// What is known of a session, and how far its life has come.
#[derive(Debug)]
struct Session {
    phase: Phase,
    model: Model,
    /// The open session that a resume, which has no answer yet, wants to begin afresh.
    former: Option<Box<Session>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// A resume asked for the history, which comes first.
    Replaying,
    /// A resume is not answered yet.
    Opening,
    Open,
    /// Closed, or never opened after all: nothing more may be said about it.
    Closed,
}

#[derive(Debug)]
enum Model {
    V1(v1::Session),
    V2(v2::Session),
}

impl Session {
    fn open<'a>(
        sessions: &'a mut BTreeMap<String, Session>,
        name: &str,
        found: &mut Findings,
    ) -> Option<&'a mut Session> {
        match sessions.get_mut(name) {
            None => {
                found.add("unknown-session", name.to_owned());
                None
            }
            Some(Session { phase: Phase::Closed, .. }) => {
                found.add("after-close", name.to_owned());
                None
            }
            session => session,
        }
    }
}

/// The name of a tool call without the suffix of one that came again.
fn base(id: &str) -> &str {
    id.split_once('#').map_or(id, |(base, _)| base)
}

/// Collects violations.
#[derive(Debug, Default)]
struct Findings(Vec<Violation>);

impl Findings {
    fn add(&mut self, rule: &'static str, detail: String) {
        self.0.push(Violation { rule, detail });
    }
}
