//! A client that turns neutral acts into lines of its protocol version, and is polite about questions.

use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use testkit::belief::Version;

/// One act of a client, in words of neither version.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Act {
    /// `initialize`.
    Hello,
    /// `session/new`.
    Open,
    Prompt {
        text: String,
        #[serde(default)]
        session: usize,
    },
    Cancel {
        #[serde(default)]
        session: usize,
    },
    /// v2 `terminal/cancel`, v1 `/stop ID`.
    CancelTerminal {
        terminal: String,
        #[serde(default)]
        session: usize,
    },
    Close {
        #[serde(default)]
        session: usize,
    },
    /// Opens a thread that exists; `replay` asks for its history.
    Resume {
        thread: String,
        #[serde(default)]
        replay: bool,
    },
    /// Answers the oldest open question with its first option of this kind, or `cancelled`.
    Answer { kind: String },
    /// Closes our stdin.
    Eof,
}

#[derive(Debug)]
pub(crate) struct Client {
    version: Version,
    n_requests: i64,
    /// Requests that open a session: their id, and the session if it is known before.
    opening: BTreeMap<i64, Option<String>>,
    sessions: Vec<String>,
    /// Open questions, oldest first.
    questions: Vec<Value>,
    /// Methods of open requests, to judge their answers by.
    methods: BTreeMap<i64, String>,
}

impl Client {
    pub(crate) fn new(version: Version) -> Self {
        Self {
            version,
            n_requests: 0,
            opening: BTreeMap::new(),
            sessions: Vec::new(),
            questions: Vec::new(),
            methods: BTreeMap::new(),
        }
    }

    pub(crate) fn session(&self, idx: usize) -> Option<&str> {
        self.sessions.get(idx).map(String::as_str)
    }

    pub(crate) fn sessions(&self) -> &[String] {
        &self.sessions
    }

    /// The method that the request with this id asked for.
    pub(crate) fn method(&mut self, id: &Value) -> Option<String> {
        self.methods.remove(&id.as_i64()?)
    }

    /// The lines of one act; none where it makes no sense now.
    pub(crate) fn act(&mut self, act: &Act) -> Vec<Value> {
        let v1 = self.version == Version::V1;
        match act {
            Act::Hello => vec![self.hello()],
            Act::Open => {
                self.opening.insert(self.n_requests + 1, None);
                vec![self.request("session/new", json!({"cwd": "/workspace/project", "mcpServers": []}))]
            }
            Act::Resume { thread, replay } => {
                self.opening.insert(self.n_requests + 1, Some(thread.clone()));
                let mut params = json!({"sessionId": thread, "cwd": "/workspace/project", "mcpServers": []});
                if *replay && !v1 {
                    params["replayFrom"] = json!({"type": "start"});
                }
                let method = if *replay && v1 { "session/load" } else { "session/resume" };
                vec![self.request(method, params)]
            }
            Act::Prompt { text, session } => self.prompt(*session, text),
            Act::CancelTerminal { terminal, session } if v1 => {
                self.prompt(*session, &format!("/stop {terminal}"))
            }
            Act::CancelTerminal { terminal, session } => {
                let Some(session) = self.session(*session).map(str::to_owned) else { return Vec::new() };
                vec![self.request("terminal/cancel", json!({"sessionId": session, "terminalId": terminal}))]
            }
            Act::Cancel { session } => {
                let Some(session) = self.session(*session).map(str::to_owned) else { return Vec::new() };
                let mut lines = vec![
                    json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}),
                ];
                // A v1 client has to answer what is open itself.
                if v1 {
                    let open: Vec<Value> = self
                        .questions
                        .iter()
                        .filter(|it| it["params"]["sessionId"] == session)
                        .cloned()
                        .collect();
                    self.questions.retain(|it| it["params"]["sessionId"] != session);
                    lines.extend(open.iter().map(dismissal));
                }
                lines
            }
            Act::Close { session } => {
                let Some(session) = self.session(*session).map(str::to_owned) else { return Vec::new() };
                vec![self.request("session/close", json!({"sessionId": session}))]
            }
            Act::Answer { kind } if self.questions.is_empty() => {
                let _ = kind;
                Vec::new()
            }
            Act::Answer { kind } => {
                let question = self.questions.remove(0);
                let options = question["params"]["options"].as_array().into_iter().flatten();
                let option = options.clone().find(|option| option["kind"] == kind.as_str());
                vec![match option {
                    Some(option) => {
                        json!({"jsonrpc": "2.0", "id": question["id"], "result": {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}})
                    }
                    None => dismissal(&question),
                }]
            }
            Act::Eof => Vec::new(),
        }
    }

    /// Reads a message of ours; what has to be said to it at once.
    pub(crate) fn read(&mut self, message: &Value) -> Vec<Value> {
        match (message["method"].as_str(), &message["id"]) {
            (Some("$/cancel_request"), _) => {
                let id = &message["params"]["requestId"];
                let Some(idx) = self.questions.iter().position(|it| it["id"] == *id) else {
                    return Vec::new();
                };
                vec![dismissal(&self.questions.remove(idx))]
            }
            (Some(_), Value::Null) => Vec::new(),
            (Some(_), _) => {
                self.questions.push(message.clone());
                Vec::new()
            }
            (None, id) => {
                let opening = id.as_i64().and_then(|id| self.opening.remove(&id));
                if let (Some(known), Some(result)) = (opening, message.get("result")) {
                    let session = known.or_else(|| result["sessionId"].as_str().map(str::to_owned));
                    self.sessions.extend(session.filter(|session| !self.sessions.contains(session)));
                }
                Vec::new()
            }
        }
    }

    fn hello(&mut self) -> Value {
        let params = match self.version {
            Version::V1 => {
                json!({"protocolVersion": 1, "clientCapabilities": {"_meta": {"terminal_output": true}}})
            }
            Version::V2 => {
                json!({"protocolVersion": 2, "info": {"name": "replay", "version": "0"}, "capabilities": {}})
            }
        };
        self.request("initialize", params)
    }

    fn prompt(&mut self, session: usize, text: &str) -> Vec<Value> {
        let Some(session) = self.session(session).map(str::to_owned) else { return Vec::new() };
        vec![self.request(
            "session/prompt",
            json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]}),
        )]
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.n_requests += 1;
        self.methods.insert(self.n_requests, method.to_owned());
        json!({"jsonrpc": "2.0", "id": self.n_requests, "method": method, "params": params})
    }
}

fn dismissal(question: &Value) -> Value {
    let result = match question["method"].as_str() {
        Some("elicitation/create") => json!({"action": "cancel"}),
        _ => json!({"outcome": {"outcome": "cancelled"}}),
    };
    json!({"jsonrpc": "2.0", "id": question["id"], "result": result})
}
