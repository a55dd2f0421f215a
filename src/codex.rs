//! The Codex edge: lines of one app-server to core inputs, core calls to lines.
//!
//! Owns which calls are open and which requests are owed an answer. Pure: no I/O, no time, no process.

mod account;
mod action;
mod answer;
mod ask;
mod bound;
mod causes;
mod command;
mod decision;
mod diff;
mod elicit;
mod event;
mod inquiry;
pub mod inventory;
mod item;
mod mcp;
mod misfit;
mod permission;
mod place;
mod preset;
mod rate_limit;
mod reply;
mod request;
mod said;
mod shell;
mod standing;
mod tool;
mod turn;
mod user;

#[cfg(test)]
#[expect(clippy::wildcard_enum_match_arm, reason = "a test names the one variant it wants")]
mod tests;

use crate::core::asked::CodexAnswer;
use crate::core::codex::{CodexError, CodexReply, CodexRequest, Event, FromCodex};
use crate::core::effect::Anomaly;
use crate::core::ids::{CodexCallId, Generation, RequestId};
use crate::core::update::Severity;
use crate::envelope::Envelope;
use answer::{Owed, Refusal, encode_answer};
use misfit::Misfit;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Methods of ours with answers of any size, largest first.
const LARGE: [&str; 4] = ["thread/items/list", "thread/list", "mcpServerStatus/list", "model/list"];

/// Largest question that is put to the user, in bytes of its JSON: each option of a form becomes longer.
const ASK_MAX: usize = 512 << 10;

/// Who we say we are in `initialize`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientInfo {
    pub name: String,
    pub title: String,
    pub version: String,
}

/// What one line of Codex comes to.
#[derive(Debug, PartialEq)]
pub struct Read {
    pub heard: Heard,
    /// A line to send back at once, before anything the core says to `heard`.
    pub reply: Option<String>,
}

/// The one input that a line becomes.
#[derive(Debug, PartialEq)]
pub enum Heard {
    Codex(FromCodex),
    Anomaly(Anomaly),
    /// An anomaly that hides what became of something: the input is an `Event::Misfit`.
    Both(Anomaly, FromCodex),
}

/// One app-server process as seen over its wire: newline JSON-RPC without a `jsonrpc` member.
#[derive(Debug)]
pub struct Edge {
    client: ClientInfo,
    /// Threads outlive their subscribers by so many seconds; `None`: as Codex has it.
    kept: Option<u64>,
    generation: Option<Generation>,
    calls: BTreeMap<CodexCallId, &'static str>,
    owed: BTreeMap<RequestId, Owed>,
}

impl Edge {
    /// An edge before its first process.
    pub fn new(client: ClientInfo) -> Self {
        Self { client, kept: None, generation: None, calls: BTreeMap::new(), owed: BTreeMap::new() }
    }

    /// Threads that are loaded for us stay loaded for so many seconds without a subscriber.
    pub fn keeping(self, seconds: Option<u64>) -> Self {
        Self { kept: seconds, ..self }
    }

    /// A new process: forgets the calls and requests of the former one.
    pub fn start(&mut self, generation: Generation) {
        self.generation = Some(generation);
        self.calls.clear();
        self.owed.clear();
    }

    /// The process whose lines are read; `None` before the first `start`.
    pub fn generation(&self) -> Option<Generation> {
        self.generation
    }

    /// How many of our calls are unanswered.
    pub fn pending(&self) -> usize {
        self.calls.len()
    }

    /// Reads one line, without its newline. Never fails: what does not fit becomes an anomaly or,
    /// for an answer of Codex, an error answer, and a request that does not fit is refused at once.
    pub fn read(&mut self, line: &[u8]) -> Read {
        match Envelope::parse(line) {
            Ok(Envelope::Notification { method, params }) => self.notified(method, params),
            Ok(Envelope::Request { id, method, params }) => self.asked(id, method, params),
            Ok(Envelope::Response { id, result }) => self.answered(&id, |method| {
                reply::decode_reply(method, result).map_err(|misfit| CodexError {
                    code: -32603,
                    message: format!("codex answered {method}, but {misfit}"),
                })
            }),
            Ok(Envelope::Error { id: Some(id), error }) => self
                .answered(&id, |_| Err(CodexError { code: error.code, message: said::said(&error.message) })),
            Ok(Envelope::Error { id: None, .. }) => unknown_answer("codex error without an id"),
            Err(error) => Read {
                heard: Heard::Anomaly(undecodable(String::new(), Misfit::at(error.to_string()))),
                reply: None,
            },
        }
    }

    /// A line of more than `cap` bytes was lost. It is most probably the answer to the oldest of our
    /// requests that have large answers, which fails by that; `None` if there is no such request.
    pub fn oversized(&mut self, cap: usize) -> Option<FromCodex> {
        let oldest = |method: &&str| self.calls.iter().find(|(_, asked)| *asked == method);
        let (call, _) = LARGE.iter().find_map(oldest)?;
        let call = *call;
        self.calls.remove(&call);
        let message = format!("the answer is larger than {cap} bytes");
        Some(FromCodex::Answered { call, result: Err(CodexError { code: -32603, message }) })
    }

    /// The line of a request of ours. Its answer is read by the method remembered here.
    pub fn call(&mut self, call: CodexCallId, request: &CodexRequest) -> String {
        let method = request.method();
        self.calls.insert(call, method);
        let params = request::encode_params(request, &self.client, self.kept);
        json!({"id": call.0, "method": method, "params": params}).to_string()
    }

    /// The line of an answer to a request of Codex; the request is settled by it.
    pub fn answer(&mut self, request: &RequestId, answer: &CodexAnswer) -> String {
        let owed = self.owed.remove(request);
        match encode_answer(owed, answer) {
            Ok(result) => format!("{{\"id\":{},\"result\":{result}}}", encode_id(request)),
            Err(refusal) => refuse(request, &refusal),
        }
    }

    fn notified(&mut self, method: String, params: Option<&RawValue>) -> Read {
        match event::decode_event(&method, params) {
            Ok(event) => {
                if let Event::RequestResolved { request, .. } = &event {
                    self.owed.remove(request);
                }
                Read { heard: Heard::Codex(FromCodex::Event(event)), reply: None }
            }
            Err(misfit) => {
                let thread = event::thread_of(&method, params);
                let anomaly = undecodable(method, misfit);
                let heard = match thread {
                    Some(thread) => Heard::Both(anomaly, FromCodex::Event(Event::Misfit { thread })),
                    None => Heard::Anomaly(anomaly),
                };
                Read { heard, reply: None }
            }
        }
    }

    fn asked(&mut self, request: RequestId, method: String, params: Option<&RawValue>) -> Read {
        if let Some(n_bytes) = params.map(|it| it.get().len()).filter(|it| *it > ASK_MAX) {
            return too_large(&request, method, params, n_bytes);
        }
        match ask::decode_ask(&method, params.unwrap_or(RawValue::NULL)) {
            Ok(ask) => {
                self.owed.insert(request.clone(), Owed::of(&ask));
                Read { heard: Heard::Codex(FromCodex::Asked { request, ask }), reply: None }
            }
            Err(misfit) => {
                // The core never hears of it, so nobody else could answer.
                let refusal = Refusal { code: -32602, message: misfit.to_string() };
                let reply = Some(refuse(&request, &refusal));
                Read { heard: Heard::Anomaly(undecodable(method, misfit)), reply }
            }
        }
    }

    fn answered(
        &mut self,
        id: &RequestId,
        read: impl FnOnce(&'static str) -> Result<CodexReply, CodexError>,
    ) -> Read {
        let RequestId::Number(number) = id else {
            return unknown_answer("codex answer with an id that is not ours");
        };
        let call = CodexCallId(*number);
        let Some(method) = self.calls.remove(&call) else {
            return unknown_answer("codex answer to no open call");
        };
        let result = read(method);
        let reply = match &result {
            Ok(CodexReply::Initialized { .. }) => Some(json!({"method": "initialized"}).to_string()),
            _ => None,
        };
        Read { heard: Heard::Codex(FromCodex::Answered { call, result }), reply }
    }
}

/// Part of a question would be no question: it is refused, and the user told so.
fn too_large(request: &RequestId, method: String, params: Option<&RawValue>, n_bytes: usize) -> Read {
    let message = format!("{n_bytes} bytes are too many to be asked about");
    let reply = Some(refuse(request, &Refusal { code: -32602, message }));
    let notice = Event::Notice {
        thread: params.and_then(event::named),
        severity: Severity::Warning,
        title: "Codex asked something that is too large to be shown; it was refused".to_owned(),
        description: Some(format!("{method} with {n_bytes} bytes")),
    };
    let anomaly = undecodable(method, Misfit::at("its size"));
    Read { heard: Heard::Both(anomaly, FromCodex::Event(notice)), reply }
}

fn unknown_answer(what: &'static str) -> Read {
    Read { heard: Heard::Anomaly(Anomaly::UnknownAnswer { what }), reply: None }
}

fn undecodable(method: String, misfit: Misfit) -> Anomaly {
    Anomaly::Undecodable { side: "codex", method, at: misfit.at }
}

fn refuse(request: &RequestId, refusal: &Refusal) -> String {
    let error = json!({"code": refusal.code, "message": refusal.message});
    format!("{{\"id\":{},\"error\":{error}}}", encode_id(request))
}

fn encode_id(id: &RequestId) -> Value {
    match id {
        RequestId::Number(number) => Value::from(*number),
        RequestId::Text(text) => Value::from(&**text),
    }
}
