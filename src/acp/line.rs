//! JSON-RPC lines to the client, each one JSON object without a newline.
//!
//! Does not know any payload.

use super::error::RpcError;
use crate::core::ids::RequestId;
use serde::Serialize;

#[derive(Serialize)]
#[serde(untagged)]
enum Id<'a> {
    Number(i64),
    Text(&'a str),
}

impl<'a> From<&'a RequestId> for Id<'a> {
    fn from(id: &'a RequestId) -> Self {
        match id {
            RequestId::Number(number) => Self::Number(*number),
            RequestId::Text(text) => Self::Text(text),
        }
    }
}

#[derive(Serialize)]
struct Success<'a, R> {
    jsonrpc: &'static str,
    id: Id<'a>,
    result: R,
}

#[derive(Serialize)]
struct Refusal<'a> {
    jsonrpc: &'static str,
    id: Option<Id<'a>>,
    error: &'a RpcError,
}

#[derive(Serialize)]
struct Call<P> {
    jsonrpc: &'static str,
    id: i64,
    method: &'static str,
    params: P,
}

#[derive(Serialize)]
struct Notification<P> {
    jsonrpc: &'static str,
    method: &'static str,
    params: P,
}

/// The successful answer to request `id`.
pub(crate) fn success(id: &RequestId, result: impl Serialize) -> String {
    text(&Success { jsonrpc: "2.0", id: id.into(), result })
}

/// The error answer to request `id`.
pub(crate) fn refusal(id: &RequestId, error: &RpcError) -> String {
    text(&Refusal { jsonrpc: "2.0", id: Some(id.into()), error })
}

/// An error that answers no particular request (`id: null`).
pub(crate) fn orphan_refusal(error: &RpcError) -> String {
    text(&Refusal { jsonrpc: "2.0", id: None, error })
}

/// A request of ours.
pub(crate) fn call(id: i64, method: &'static str, params: impl Serialize) -> String {
    text(&Call { jsonrpc: "2.0", id, method, params })
}

/// A notification of ours.
pub(crate) fn notification(method: &'static str, params: impl Serialize) -> String {
    text(&Notification { jsonrpc: "2.0", method, params })
}

fn text(message: &impl Serialize) -> String {
    serde_json::to_string(message).expect("wire types have string keys and UTF-8 paths only")
}
