//! The ACP edge: lines of the client to core inputs, core effects to lines, in both versions.
//!
//! Owns the version, the client's profile and which requests are open on either side. No I/O.

pub mod dropped;
pub mod error;
pub mod meta;

mod answer;
mod decode;
mod form;
mod gateway;
mod header;
mod image;
mod initialize;
mod line;
mod method;
mod params;
mod patch;
mod place;
mod prompt;
mod raw;
mod read;
mod sign_in;
mod time;
mod v1;
mod v2;

#[cfg(test)]
mod tests;

use self::answer::AskKind;
use self::dropped::Dropped;
use self::error::{RpcError, rpc_error};
use crate::core::ask::{Answer, Ask};
use crate::core::effect::Anomaly;
use crate::core::ids::{AskId, Json, RequestId, SessionId};
use crate::core::input::FromClient;
use crate::core::request::{ClientProfile, Reply, Ticket, Version};
use crate::core::sign_in::Means;
use crate::core::update::Update;
use std::collections::BTreeMap;

/// Longest line to the client, in bytes. What Codex says is bounded where it is decoded, so that nothing
/// real is ever as long; this is for what nobody thought of.
const LINE_MAX: usize = 16 << 20;

/// What we say about ourselves in `initialize`.
#[derive(Clone, Debug)]
pub struct AgentInfo {
    pub name: String,
    pub version: String,
    /// What there is to sign in with.
    pub sign_in: Means,
}

/// What one line of the client means.
#[derive(Debug, PartialEq)]
pub enum Read {
    /// For the core.
    Input(FromClient),
    /// An error that is answered at once; the core learns nothing of it.
    Reply(String),
    /// `initialize` succeeded: send `reply`, then give the core `FromClient::Hello(profile)`.
    Hello { reply: String, profile: ClientProfile },
    /// Nothing to do: an unknown notification, a late answer.
    Nothing,
    /// It does not fit, and nobody waits for an answer.
    Anomaly(Anomaly),
}

/// The lines of one update, in order, and why there is none for it (a held one may precede).
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Encoded {
    /// Each one JSON object, no newline.
    pub lines: Vec<String>,
    /// Set if the update itself made no line.
    pub dropped: Option<Dropped>,
}

/// One connection to one client.
#[derive(Debug)]
pub struct Edge {
    agent: AgentInfo,
    speaks: Option<Speaks>,
    /// A request other than `initialize` was served: the version stands.
    settled: bool,
    /// Requests of the client that still wait for their answer.
    open: BTreeMap<RequestId, Option<SessionId>>,
    asks: BTreeMap<AskId, OpenAsk>,
}

#[derive(Debug)]
struct Speaks {
    profile: ClientProfile,
    v1: v1::Encoder,
}

#[derive(Clone, Copy, Debug)]
enum OpenAsk {
    Waiting(AskKind),
    /// Withdrawn; the client still owes an answer that nobody waits for.
    Withdrawn,
}

impl Edge {
    /// A connection that nobody has initialized yet.
    pub fn new(agent: AgentInfo) -> Self {
        Self { agent, speaks: None, settled: false, open: BTreeMap::new(), asks: BTreeMap::new() }
    }

    /// Who the client is, once it has initialized.
    pub fn profile(&self) -> Option<&ClientProfile> {
        self.speaks.as_ref().map(|it| &it.profile)
    }

    /// The answer to one request: one line.
    ///
    /// A reply that does not belong to the ticket's method becomes -32603.
    pub fn respond(&mut self, ticket: Ticket, reply: Reply) -> String {
        let session = self.open.remove(ticket.id()).flatten();
        let result = match (reply, &mut self.speaks) {
            (Reply::Failed(failure), _) => Err(rpc_error(&failure)),
            (reply, Some(speaks)) => match speaks.profile.version {
                Version::V1 => speaks.v1.result(ticket.method(), session.as_ref(), &reply),
                Version::V2 => v2::result(ticket.method(), &reply),
            }
            .ok_or_else(|| RpcError::new(-32603, format!("no answer fits {}", ticket.method()))),
            (_, None) => Err(RpcError::new(-32603, "answered before initialize")),
        };
        let line = match result {
            Ok(result) => line::success(ticket.id(), result),
            Err(error) => line::refusal(ticket.id(), &error),
        };
        match line.len() {
            n_bytes if n_bytes > LINE_MAX => {
                let message = format!("the answer has {n_bytes} bytes, more than a client takes");
                line::refusal(ticket.id(), &RpcError::new(-32603, message))
            }
            _ => line,
        }
    }

    /// The `session/update` lines of one update.
    pub fn update(&mut self, session: &SessionId, update: &Update) -> Encoded {
        let Some(speaks) = &mut self.speaks else {
            return Encoded { lines: Vec::new(), dropped: Some(Dropped::NotInitialized) };
        };
        let mut encoded = match speaks.profile.version {
            Version::V1 => speaks.v1.update(session, update),
            Version::V2 => v2::update(session, update),
        };
        if encoded.lines.iter().any(|line| line.len() > LINE_MAX) {
            encoded.lines.retain(|line| line.len() <= LINE_MAX);
            encoded.dropped = Some(Dropped::TooLarge);
        }
        encoded
    }

    /// Whether the client's version has words for a form of this schema.
    pub fn fits(&self, schema: &Json) -> bool {
        match self.speaks.as_ref().map(|it| it.profile.version) {
            Some(Version::V1) => v1::fits(schema),
            Some(Version::V2) => v2::fits(schema),
            None => false,
        }
    }

    /// The request line of a question.
    ///
    /// # Errors
    /// The question cannot be put to this client (no capability, a schema that ACP forms cannot
    /// express, no option): feed this answer to the core as `FromClient::Answered`.
    pub fn ask(&mut self, ask: AskId, session: &SessionId, question: &Ask) -> Result<String, Answer> {
        let failed = |message: &str| Answer::Failed { message: message.to_owned() };
        let Some(speaks) = &mut self.speaks else {
            return Err(failed("nobody has initialized"));
        };
        let (kind, supported) = match question {
            Ask::Permission(permission) => (AskKind::Permission, !permission.options.is_empty()),
            Ask::Form { .. } | Ask::Questions { .. } => {
                (AskKind::Elicitation, speaks.profile.elicitation_form)
            }
            Ask::Url { .. } => (AskKind::Elicitation, speaks.profile.elicitation_url),
        };
        if !supported {
            return Err(failed("the client does not take this question"));
        }
        let line = match speaks.profile.version {
            Version::V1 => speaks.v1.ask(ask, session, question),
            Version::V2 => v2::ask(ask, session, question),
        };
        let line = line.ok_or_else(|| failed("the question cannot be expressed in ACP"))?;
        if line.len() > LINE_MAX {
            return Err(failed("the question is larger than a line that a client takes"));
        }
        self.asks.insert(ask, OpenAsk::Waiting(kind));
        Ok(line)
    }

    /// The request line of a question about a request of the client's.
    ///
    /// # Errors
    /// As `ask`; only a page can be asked for so.
    pub fn ask_beside(&mut self, ask: AskId, request: &RequestId, question: &Ask) -> Result<String, Answer> {
        let failed = |message: &str| Answer::Failed { message: message.to_owned() };
        let page = match (question, &self.speaks) {
            (Ask::Url { message, elicitation, url }, Some(speaks)) if speaks.profile.elicitation_url => {
                let page = sign_in::Page { request, message, elicitation, url };
                sign_in::ask(speaks.profile.version, ask, &page)
            }
            (Ask::Url { .. } | Ask::Permission(_) | Ask::Form { .. } | Ask::Questions { .. }, _) => {
                return Err(failed("the client does not take this question"));
            }
        };
        self.asks.insert(ask, OpenAsk::Waiting(AskKind::Elicitation));
        Ok(page)
    }

    /// The notification that a page is done with.
    pub fn page_over(elicitation: &str) -> String {
        // The same in both versions.
        line::notification(method::ELICITATION_COMPLETE, serde_json::json!({ "elicitationId": elicitation }))
    }

    /// `$/cancel_request` for an open question; `None` if it is answered or withdrawn already.
    pub fn withdraw(&mut self, ask: AskId) -> Option<String> {
        let state = self.asks.get_mut(&ask)?;
        match state {
            OpenAsk::Withdrawn => None,
            OpenAsk::Waiting(_) => {
                *state = OpenAsk::Withdrawn;
                Some(line::notification(method::CANCEL_REQUEST, serde_json::json!({ "requestId": ask.0 })))
            }
        }
    }
}
