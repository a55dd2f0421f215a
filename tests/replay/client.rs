//! A client that turns neutral acts into lines of its protocol version, and is polite about questions.

use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use testkit::belief::Version;

/// Number of the first session of a subagent.
pub(crate) const KIDS: usize = 100;

/// One act of a client, in words of neither version.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Act {
    /// `initialize`.
    Hello {
        #[serde(default)]
        can: Vec<Can>,
    },
    /// v1 `authenticate`, v2 `auth/login`.
    SignIn {
        method: String,
        /// `_meta` of the request.
        #[serde(default)]
        meta: Option<Value>,
    },
    /// v1 `logout`, v2 `auth/logout`.
    SignOut,
    /// `session/new`.
    Open,
    Prompt {
        text: String,
        /// The client's own key, which v1 does not have.
        #[serde(default)]
        key: Option<String>,
        #[serde(default)]
        session: usize,
    },
    /// `session/list`.
    List {
        #[serde(default)]
        cursor: Option<String>,
        #[serde(default)]
        cwd: Option<String>,
        #[serde(default)]
        archived: Option<String>,
    },
    /// `session/fork`.
    Fork {
        #[serde(default)]
        session: usize,
    },
    /// `session/delete`.
    Delete {
        #[serde(default)]
        session: usize,
    },
    /// `session/archive`.
    Archive {
        #[serde(default)]
        session: usize,
    },
    /// `session/unarchive`.
    Unarchive {
        #[serde(default)]
        session: usize,
    },
    /// `session/set_title`.
    SetTitle {
        title: String,
        #[serde(default)]
        session: usize,
    },
    /// A request about a session of this name, open or not.
    About {
        method: String,
        thread: String,
        #[serde(default)]
        more: Value,
    },
    /// `session/set_config_option`.
    SetOption {
        option: String,
        value: String,
        #[serde(default)]
        session: usize,
    },
    /// v1 `session/set_mode`, v2 the option `mode`.
    SetMode {
        mode: String,
        #[serde(default)]
        session: usize,
    },
    /// v2 `tool_call/cancel`, nothing in v1.
    CancelToolCall {
        call: String,
        #[serde(default)]
        session: usize,
    },
    /// `$/cancel_request` of the newest request, or one so many before it.
    CancelRequest {
        #[serde(default)]
        back: i64,
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
    /// Answers the oldest open question with its first option of this kind or name, or `cancelled`.
    /// An elicitation can be answered with `decline`.
    Answer { kind: String },
    /// Accepts the oldest open elicitation, with this content if it is a form.
    Fill {
        #[serde(default)]
        content: Option<Value>,
    },
    /// Closes our stdin.
    Eof,
}

/// What a client says it can do beyond what every client of the stories can.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Can {
    /// Forms and pages.
    Elicitation,
    /// v1 `notice`; every v2 client can.
    Notices,
    /// To run `codex login` in a terminal.
    Terminal,
    /// v1 `compaction_update`; every v2 client can.
    Compaction,
    /// v1 `subagent_update`; every v2 client can.
    Subagents,
    /// To sign in with a gateway of its own.
    Gateway,
}

#[derive(Debug)]
pub(crate) struct Client {
    version: Version,
    n_requests: i64,
    /// Requests that open a session: their id, and the session if it is known before.
    opening: BTreeMap<i64, Option<String>>,
    sessions: Vec<String>,
    /// Sessions of subagents.
    children: Vec<String>,
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
            children: Vec::new(),
            questions: Vec::new(),
            methods: BTreeMap::new(),
        }
    }

    /// The session with this number: those of subagents are counted from 100, in the order of their appearance.
    pub(crate) fn session(&self, idx: usize) -> Option<&str> {
        let found = match idx.checked_sub(KIDS) {
            Some(idx) => self.children.get(idx),
            None => self.sessions.get(idx),
        };
        found.map(String::as_str)
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
            Act::Hello { can } => vec![self.hello(can)],
            Act::SignIn { method, meta } => {
                let name = if v1 { "authenticate" } else { "auth/login" };
                let mut params = json!({"methodId": method});
                if let Some(meta) = meta {
                    params["_meta"] = meta.clone();
                }
                vec![self.request(name, params)]
            }
            Act::SignOut => vec![self.request(if v1 { "logout" } else { "auth/logout" }, json!({}))],
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
            Act::Prompt { text, key, session } => self.prompt(*session, text, key.as_deref().filter(|_| !v1)),
            Act::List { cursor, cwd, archived } => {
                let mut params = json!({});
                for (name, value) in [("cursor", cursor), ("cwd", cwd), ("archived", archived)] {
                    if let Some(value) = value {
                        params[name] = json!(value);
                    }
                }
                vec![self.request("session/list", params)]
            }
            Act::Fork { session } => {
                if self.session(*session).is_some() {
                    self.opening.insert(self.n_requests + 1, None);
                }
                self.about(*session, "session/fork", json!({"cwd": "/workspace/project", "mcpServers": []}))
            }
            Act::Delete { session } => self.about(*session, "session/delete", json!({})),
            Act::Archive { session } => self.about(*session, "session/archive", json!({})),
            Act::Unarchive { session } => self.about(*session, "session/unarchive", json!({})),
            Act::SetTitle { title, session } => {
                self.about(*session, "session/set_title", json!({"title": title}))
            }
            Act::About { method, thread, more } => {
                let mut params = json!({"sessionId": thread});
                for (name, value) in more.as_object().into_iter().flatten() {
                    params[name] = value.clone();
                }
                vec![self.request(method, params)]
            }
            Act::SetOption { option, value, session } => {
                let mut params = json!({"configId": option, "value": value});
                if !v1 {
                    params["type"] = json!("id");
                }
                self.about(*session, "session/set_config_option", params)
            }
            Act::SetMode { mode, session } if v1 => {
                self.about(*session, "session/set_mode", json!({"modeId": mode}))
            }
            Act::SetMode { mode, session } => {
                let params = json!({"configId": "mode", "type": "id", "value": mode});
                self.about(*session, "session/set_config_option", params)
            }
            Act::CancelToolCall { .. } if v1 => Vec::new(),
            Act::CancelToolCall { call, session } => {
                self.about(*session, "tool_call/cancel", json!({"toolCallId": call}))
            }
            Act::CancelRequest { back } => {
                let params = json!({"requestId": self.n_requests - back});
                vec![json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": params})]
            }
            Act::CancelTerminal { terminal, session } if v1 => {
                self.prompt(*session, &format!("/stop {terminal}"), None)
            }
            Act::CancelTerminal { terminal, session } => {
                self.about(*session, "terminal/cancel", json!({"terminalId": terminal}))
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
            Act::Close { session } => self.about(*session, "session/close", json!({})),
            Act::Answer { .. } | Act::Fill { .. } if self.questions.is_empty() => Vec::new(),
            Act::Fill { content } => {
                let question = self.questions.remove(0);
                let mut result = json!({"action": "accept"});
                if let Some(content) = content {
                    result["content"] = content.clone();
                }
                vec![json!({"jsonrpc": "2.0", "id": question["id"], "result": result})]
            }
            Act::Answer { kind } => {
                let question = self.questions.remove(0);
                if kind == "decline" && question["method"] == "elicitation/create" {
                    return vec![
                        json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}),
                    ];
                }
                let options = question["params"]["options"].as_array().into_iter().flatten();
                let option = options
                    .clone()
                    .find(|option| [&option["kind"], &option["name"]].contains(&&Value::from(kind.as_str())));
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
            (Some(_), Value::Null) => {
                let update = &message["params"]["update"];
                let child =
                    update["sessionId"].as_str().filter(|_| update["sessionUpdate"] == "subagent_update");
                self.children.extend(child.map(str::to_owned).filter(|child| !self.children.contains(child)));
                Vec::new()
            }
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

    fn hello(&mut self, can: &[Can]) -> Value {
        let mut params = match self.version {
            Version::V1 => {
                json!({"protocolVersion": 1, "clientCapabilities": {"_meta": {"terminal_output": true}}})
            }
            Version::V2 => {
                json!({"protocolVersion": 2, "info": {"name": "replay", "version": "0"}, "capabilities": {}})
            }
        };
        let v1 = self.version == Version::V1;
        let capabilities = &mut params[if v1 { "clientCapabilities" } else { "capabilities" }];
        if can.contains(&Can::Elicitation) {
            capabilities["elicitation"] = json!({"form": {}, "url": {}});
        }
        if can.contains(&Can::Terminal) {
            capabilities["auth"] = json!({"terminal": if v1 { json!(true) } else { json!({}) }});
        }
        if can.contains(&Can::Subagents) && v1 {
            capabilities["subagents"] = json!({});
        }
        if can.contains(&Can::Gateway) {
            capabilities["auth"]["_meta"] = json!({"gateway": true});
        }
        for (able, name) in [(Can::Notices, "notices"), (Can::Compaction, "compaction")] {
            if can.contains(&able) && v1 {
                capabilities["session"][name] = json!({});
            }
        }
        self.request("initialize", params)
    }

    fn prompt(&mut self, session: usize, text: &str, key: Option<&str>) -> Vec<Value> {
        let mut params = json!({"prompt": [{"type": "text", "text": text}]});
        if let Some(key) = key {
            params["idempotencyKey"] = json!(key);
        }
        self.about(session, "session/prompt", params)
    }

    /// A request about a session; none where there is no such session.
    fn about(&mut self, session: usize, method: &str, more: Value) -> Vec<Value> {
        let Some(session) = self.session(session) else { return Vec::new() };
        let mut params = json!({"sessionId": session});
        for (name, value) in more.as_object().into_iter().flatten() {
            params[name] = value.clone();
        }
        vec![self.request(method, params)]
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
