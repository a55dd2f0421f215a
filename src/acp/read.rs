//! From one line of the client to what it means.

use super::answer;
use super::decode::{self, SessionParams};
use super::error::{RpcError, rpc_error};
use super::method;
use super::params::read;
use super::{Edge, OpenAsk, Read, Speaks, initialize, line, v1};
use crate::core::ask::Answer;
use crate::core::effect::Anomaly;
use crate::core::failure::Failure;
use crate::core::ids::{AskId, RequestId, SessionId};
use crate::core::input::FromClient;
use crate::core::request::{Request, Ticket};
use crate::envelope::Envelope;
use crate::envelope::remains::Remains;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The error code of a request that its receiver cancelled.
const CANCELLED: i64 = -32800;

/// Longest method name that we quote back, in characters.
const QUOTED_METHOD: usize = 60;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CancelParams {
    request_id: Value,
}

impl Edge {
    /// Reads one line, without its newline.
    pub fn read(&mut self, line: &[u8]) -> Read {
        // `jsonrpc` is not looked at: without it, or with another value, a line means the same, and
        // refusing it would help nobody.
        match Envelope::parse(line) {
            Ok(Envelope::Request { id, method, params }) => self.request(id, &method, params),
            Ok(Envelope::Notification { method, params }) => self.notification(&method, params),
            Ok(Envelope::Response { id, result }) => self.answer(&id, |kind| answer::decode(kind, result)),
            Ok(Envelope::Error { id: Some(id), error }) => self.answer(&id, |_| match error.code {
                CANCELLED => Answer::Cancelled,
                _ => Answer::Failed { message: error.message },
            }),
            Ok(Envelope::Error { id: None, .. }) => {
                Read::Anomaly(Anomaly::UnknownAnswer { what: "error of the client without an id" })
            }
            Err(error) => Read::Reply(line::orphan_refusal(&RpcError::new(error.code(), error.to_string()))),
        }
    }

    /// A line of more than `limit` bytes, which was thrown away but for what is known of it. A request is answered;
    /// a question of ours is answered by it as by an error.
    pub fn oversized(&mut self, remains: &Remains, limit: usize) -> Read {
        let too_long = format!("the line is longer than {limit} bytes");
        match remains {
            Remains { id: Some(id), method: None, is_answer: true } => {
                self.answer(id, |_| Answer::Failed { message: too_long })
            }
            Remains { id: Some(id), method: Some(method), is_answer: false }
                if !self.open.contains_key(id) =>
            {
                let method: String = method.chars().take(QUOTED_METHOD).collect();
                let advice = "send less, such as a link in the place of a file or an image";
                let message = format!("{method}: {too_long}; {advice}");
                Read::Reply(line::refusal(id, &RpcError::new(-32600, message)))
            }
            Remains { .. } => {
                let hint = "where id and method come before params, the request itself is answered";
                Read::Reply(line::orphan_refusal(&RpcError::new(-32600, format!("{too_long}; {hint}"))))
            }
        }
    }

    fn request(&mut self, id: RequestId, name: &str, params: Option<&RawValue>) -> Read {
        // An answer under the id would settle the first request on the client's side, and a cancel
        // could not say which of the two it means; so the complaint goes out without an id.
        if self.open.contains_key(&id) {
            return Read::Reply(line::orphan_refusal(&RpcError::new(
                -32600,
                format!("request id {} is in use by a request that is still open", quoted_id(&id)),
            )));
        }
        if name == method::INITIALIZE {
            return self.initialize(&id, params);
        }
        let Some(speaks) = &self.speaks else {
            return refuse(&id, Failure::InvalidRequest("send initialize before any other request".into()));
        };
        let version = speaks.profile.version;
        self.settled = true;
        let Some(method) = method::served(version, name) else {
            return refuse(&id, Failure::UnknownMethod(name.chars().take(QUOTED_METHOD).collect()));
        };
        match decode::request(version, method, params) {
            Ok(request) => {
                let session = session_of(&request).cloned();
                self.open.insert(id.clone(), session);
                Read::Input(FromClient::Request { ticket: Ticket::open(id, method), request })
            }
            Err(Failure::InvalidParams(why)) => {
                refuse(&id, Failure::InvalidParams(format!("{method}: {why}")))
            }
            Err(failure) => refuse(&id, failure),
        }
    }

    fn initialize(&mut self, id: &RequestId, params: Option<&RawValue>) -> Read {
        if self.settled {
            return refuse(
                id,
                Failure::InvalidRequest("initialize may be repeated only before any other request".into()),
            );
        }
        match initialize::decode(params) {
            Ok(profile) => {
                let reply = line::success(id, initialize::result(&profile, &self.agent));
                self.speaks = Some(Speaks { profile: profile.clone(), v1: v1::Encoder::new(&profile) });
                Read::Hello { reply, profile }
            }
            Err(error) => Read::Reply(line::refusal(id, &error)),
        }
    }

    fn notification(&mut self, name: &str, params: Option<&RawValue>) -> Read {
        if self.speaks.is_none() {
            return Read::Nothing;
        }
        let undecodable = |method: &str, at: String| {
            Read::Anomaly(Anomaly::Undecodable { side: "client", method: method.to_owned(), at })
        };
        match name {
            method::SESSION_CANCEL => match read::<SessionParams>(params) {
                Ok(params) => {
                    Read::Input(FromClient::CancelSession { session: SessionId::new(params.session_id) })
                }
                Err(misfit) => undecodable(method::SESSION_CANCEL, misfit.at),
            },
            method::CANCEL_REQUEST => match read::<CancelParams>(params).map(|it| request_id(&it.request_id))
            {
                Ok(Some(request)) if self.open.contains_key(&request) => {
                    Read::Input(FromClient::CancelRequest { request })
                }
                // Unknown and answered ids are ignored: the answer may have crossed the cancel.
                Ok(Some(_)) => Read::Nothing,
                Ok(None) => undecodable(method::CANCEL_REQUEST, "requestId".into()),
                Err(misfit) => undecodable(method::CANCEL_REQUEST, misfit.at),
            },
            _ => Read::Nothing,
        }
    }

    fn answer(&mut self, id: &RequestId, decode: impl FnOnce(answer::AskKind) -> Answer) -> Read {
        let known = match id {
            RequestId::Number(number) => self.asks.remove_entry(&AskId(*number)),
            RequestId::Text(_) => None,
        };
        match known {
            Some((ask, OpenAsk::Waiting(kind))) => {
                Read::Input(FromClient::Answered { ask, answer: decode(kind) })
            }
            Some((_, OpenAsk::Withdrawn)) => Read::Nothing,
            None => Read::Anomaly(Anomaly::UnknownAnswer { what: "answer of the client" }),
        }
    }
}

fn refuse(id: &RequestId, failure: Failure) -> Read {
    Read::Reply(line::refusal(id, &rpc_error(&failure)))
}

fn quoted_id(id: &RequestId) -> String {
    id.to_string().chars().take(QUOTED_METHOD).collect()
}

fn request_id(value: &Value) -> Option<RequestId> {
    match value {
        Value::Number(number) => number.as_i64().map(RequestId::Number),
        Value::String(text) => Some(RequestId::Text(text.as_str().into())),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn session_of(request: &Request) -> Option<&SessionId> {
    match request {
        Request::NewSession(_) | Request::ListSessions { .. } | Request::SignIn { .. } | Request::SignOut => {
            None
        }
        Request::ResumeSession { session, .. }
        | Request::CloseSession { session }
        | Request::ForkSession { session, .. }
        | Request::ShelveSession { session, .. }
        | Request::SetTitle { session, .. }
        | Request::Prompt { session, .. }
        | Request::SetOption { session, .. }
        | Request::CancelTerminal { session, .. }
        | Request::CancelToolCall { session, .. } => Some(session),
    }
}
