//! The shape of one JSON-RPC message: request, notification, response or error.
//!
//! Told apart by which members are there, never by guessing; does not know any method.

pub mod remains;
#[cfg(test)]
mod tests;

use crate::core::ids::RequestId;
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use serde_json::value::RawValue;

/// One message; `params`, `result` and `data` stay raw text of the line.
#[derive(Debug)]
pub enum Envelope<'a> {
    /// Has `method` and `id`.
    Request { id: RequestId, method: String, params: Option<&'a RawValue> },
    /// Has `method` and no `id`.
    Notification { method: String, params: Option<&'a RawValue> },
    /// Has `id` and `result`.
    Response { id: RequestId, result: &'a RawValue },
    /// Has `error`; `id` is `None` where the peer could not tell which request it means.
    Error { id: Option<RequestId>, error: WireError<'a> },
}

/// The `error` member.
#[derive(Debug, Deserialize)]
pub struct WireError<'a> {
    pub code: i64,
    #[serde(default)]
    pub message: String,
    #[serde(borrow, default)]
    pub data: Option<&'a RawValue>,
}

/// Why a line is no message. Carries no text of the line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// -32700, id null.
    #[error("the line is not UTF-8")]
    NotUtf8,
    /// -32700, id null.
    #[error("the line is not JSON: {0}")]
    NotJson(String),
    /// -32600, id null: arrays (batches included), other values, objects of the wrong shape.
    #[error("the line is not a JSON-RPC message: {0}")]
    NotAMessage(&'static str),
}

impl EnvelopeError {
    /// The JSON-RPC error code to answer with.
    pub fn code(&self) -> i64 {
        match self {
            Self::NotUtf8 | Self::NotJson(_) => -32700,
            Self::NotAMessage(_) => -32600,
        }
    }
}

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

// A plain `Option` would turn `"id": null` into "no id", and a request into a notification.
fn present<'de, D: Deserializer<'de>>(input: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(input).map(Some)
}

impl<'a> Envelope<'a> {
    /// Reads one line, without its newline.
    ///
    /// # Errors
    /// See `EnvelopeError`; each costs only this line.
    pub fn parse(line: &'a [u8]) -> Result<Self, EnvelopeError> {
        let text = std::str::from_utf8(line).map_err(|_| EnvelopeError::NotUtf8)?;
        // Serde reads a struct from an array too, so anything but an object is turned away here.
        if !text.trim_ascii_start().starts_with('{') {
            serde_json::from_str::<serde::de::IgnoredAny>(text).map_err(not_json)?;
            return Err(EnvelopeError::NotAMessage(
                "batches and bare values are not supported, send one object per line",
            ));
        }
        let fields: Fields = serde_json::from_str(text).map_err(not_json)?;
        match fields {
            Fields { method: Some(method), id: Some(id), params, result: None, error: None } => {
                let id =
                    read_id(id)?.ok_or(EnvelopeError::NotAMessage("the id of a request must not be null"))?;
                Ok(Self::Request { id, method: read_method(method)?, params: read_params(params)? })
            }
            Fields { method: Some(method), id: None, params, result: None, error: None } => {
                Ok(Self::Notification { method: read_method(method)?, params: read_params(params)? })
            }
            Fields { method: None, id: Some(id), result: Some(result), error: None, .. } => {
                let id =
                    read_id(id)?.ok_or(EnvelopeError::NotAMessage("the id of a result must not be null"))?;
                Ok(Self::Response { id, result })
            }
            Fields { method: None, id: Some(id), result: None, error: Some(error), .. } => {
                let error = serde_json::from_str(error.get())
                    .map_err(|_| EnvelopeError::NotAMessage("error must be an object with a code"))?;
                Ok(Self::Error { id: read_id(id)?, error })
            }
            _ => Err(EnvelopeError::NotAMessage("expected method, or id with either result or error")),
        }
    }
}

fn not_json(error: serde_json::Error) -> EnvelopeError {
    match error.classify() {
        Category::Data => EnvelopeError::NotAMessage("a member is there twice"),
        Category::Syntax | Category::Eof | Category::Io => {
            EnvelopeError::NotJson(format!("column {}", error.column()))
        }
    }
}

fn read_id(raw: &RawValue) -> Result<Option<RequestId>, EnvelopeError> {
    if raw.get() == "null" {
        return Ok(None);
    }
    if let Ok(number) = serde_json::from_str::<i64>(raw.get()) {
        return Ok(Some(RequestId::Number(number)));
    }
    match serde_json::from_str::<String>(raw.get()) {
        Ok(text) => Ok(Some(RequestId::Text(text.into()))),
        Err(_) => Err(EnvelopeError::NotAMessage("an id is a string or a 64-bit integer")),
    }
}

fn read_method(raw: &RawValue) -> Result<String, EnvelopeError> {
    serde_json::from_str(raw.get()).map_err(|_| EnvelopeError::NotAMessage("method must be a string"))
}

fn read_params(raw: Option<&RawValue>) -> Result<Option<&RawValue>, EnvelopeError> {
    match raw {
        None => Ok(None),
        Some(raw) => match raw.get().as_bytes().first() {
            Some(b'{' | b'[') => Ok(Some(raw)),
            Some(b'n') => Ok(None),
            _ => Err(EnvelopeError::NotAMessage("params must be an object")),
        },
    }
}
