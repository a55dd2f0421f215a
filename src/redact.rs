//! Secrets out of what is written down: traces, logs, and the last words of Codex.
//!
//! Keeps the structure and every value that is no secret. Best effort by name and by look.

mod look;
mod name;
#[cfg(test)]
mod tests;
pub mod unread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use look::next_secret;
use name::Name;
use serde_json::{Map, Value};
use std::borrow::Cow;
use unread::{Unread, Wrong};

/// What stands where a secret was.
pub const REDACTED: &str = "[redacted]";

/// So many secrets of one message are looked for in the rest of it.
const LEARNED_MAX: usize = 32;
/// Shorter secrets could be anything.
const LEARNED_MIN: usize = 8;

/// Takes secrets out of one JSON message; a line without any comes back as it was.
///
/// What cannot be read is not shown at all, because it cannot be searched: see `line`.
pub fn message(text: &str) -> Cow<'_, str> {
    line(text.as_bytes()).unwrap_or_else(|unread| Cow::Owned(format!("({unread})")))
}

/// Takes secrets out of the bytes of one JSON message.
///
/// # Errors
/// `Unread` for what is no JSON, which then must not be written down.
pub fn line(bytes: &[u8]) -> Result<Cow<'_, str>, Unread> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(Unread { bytes: bytes.len(), wrong: Wrong::NotUtf8 });
    };
    let Ok(mut value) = serde_json::from_str::<Value>(text) else {
        return Err(Unread::of(text));
    };
    // Of a member that is there twice, only the last one was looked at.
    let mut redaction = Redaction { is_changed: n_members(&value) != n_colons(bytes), learned: Vec::new() };
    redaction.visit(&mut value, Field::Plain);
    if !redaction.learned.is_empty() {
        redaction.everywhere(&mut value);
    }
    Ok(if redaction.is_changed { Cow::Owned(value.to_string()) } else { Cow::Borrowed(text) })
}

/// Takes what looks like a secret out of free text.
pub fn text(text: &str) -> Cow<'_, str> {
    let mut redaction = Redaction::default();
    match redaction.text(text) {
        Some(clean) => Cow::Owned(redaction.without_learned(&clean).unwrap_or(clean)),
        None => Cow::Borrowed(text),
    }
}

/// What the name above a value says of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Plain,
    /// A string here is a secret.
    Secret,
    /// Names to values, or a list of `{name, value}`.
    Table,
}

impl Field {
    fn of(name: &str) -> Self {
        match Name::of(name.as_bytes()) {
            Name::Table => Self::Table,
            Name::Secret | Name::Authorization | Name::Bearer => Self::Secret,
            Name::Plain | Name::Vague | Name::Basic => Self::Plain,
        }
    }
}

/// The work on one message.
#[derive(Default)]
struct Redaction {
    is_changed: bool,
    /// Secrets that were found and may be told a second time, where nothing gives them away.
    learned: Vec<String>,
}

impl Redaction {
    fn visit(&mut self, value: &mut Value, field: Field) {
        match value {
            Value::String(content) if field == Field::Plain => {
                if let Some(clean) = self.text(content) {
                    *content = clean;
                    self.is_changed = true;
                }
            }
            Value::String(content) if content.is_empty() || content == REDACTED => {}
            Value::String(content) => {
                self.learn(content);
                REDACTED.clone_into(content);
                self.is_changed = true;
            }
            Value::Array(items) => {
                let mut is_value = false;
                for item in items {
                    self.visit(item, if is_value { Field::Secret } else { field });
                    is_value = field == Field::Plain && is_secret_flag(item);
                }
            }
            Value::Object(members) => {
                if let Some(data) = terminal_data(members) {
                    self.base64(data);
                }
                let is_pair = field == Field::Table && members.contains_key("value");
                for (name, value) in members {
                    let field = match field {
                        Field::Table if is_pair && name != "value" => Field::Plain,
                        Field::Table => Field::Secret,
                        Field::Plain | Field::Secret => Field::of(name),
                    };
                    self.visit(value, field);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    // Of v2, output of a terminal is base64; a secret is none the less readable.
    fn base64(&mut self, data: &mut String) {
        let output = STANDARD.decode(&*data).ok().and_then(|it| String::from_utf8(it).ok());
        if let Some(clean) = output.and_then(|it| self.text(&it)) {
            *data = STANDARD.encode(clean);
            self.is_changed = true;
        }
    }

    /// `text` without its secrets; `None` if it has none.
    fn text(&mut self, text: &str) -> Option<String> {
        let mut clean = String::new();
        let mut copied = 0;
        while let Some(range) = next_secret(text, copied) {
            self.learn(&text[range.clone()]);
            clean.push_str(&text[copied..range.start]);
            clean.push_str(REDACTED);
            copied = range.end;
        }
        if copied == 0 {
            return None;
        }
        clean.push_str(&text[copied..]);
        Some(clean)
    }

    // Not what may be an everyday value, such as a path or a word.
    fn learn(&mut self, secret: &str) {
        let has = |is: fn(&u8) -> bool| secret.bytes().any(|byte| is(&byte));
        let is_telling = secret.len() >= LEARNED_MIN
            && has(u8::is_ascii_digit)
            && has(u8::is_ascii_alphabetic)
            && !has(|byte| byte.is_ascii_whitespace() || *byte == b'/');
        if is_telling && self.learned.len() < LEARNED_MAX && !self.learned.iter().any(|it| it == secret) {
            self.learned.push(secret.to_owned());
        }
    }

    fn everywhere(&mut self, value: &mut Value) {
        match value {
            Value::String(content) => {
                if let Some(clean) = self.without_learned(content) {
                    *content = clean;
                    self.is_changed = true;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.everywhere(item)),
            Value::Object(members) => members.values_mut().for_each(|value| self.everywhere(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn without_learned(&self, text: &str) -> Option<String> {
        let mut clean = None;
        for secret in &self.learned {
            let now = clean.as_deref().unwrap_or(text);
            if now.contains(secret) {
                clean = Some(now.replace(secret, REDACTED));
            }
        }
        clean
    }
}

fn terminal_data(update: &mut Map<String, Value>) -> Option<&mut String> {
    let data = match update.get("sessionUpdate")?.as_str()? {
        "terminal_output_chunk" => update.get_mut("data"),
        "terminal_update" => update.get_mut("output")?.get_mut("data"),
        _ => None,
    };
    match data? {
        Value::String(data) => Some(data),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Whether the next argument is a secret: `--api-key`.
fn is_secret_flag(value: &Value) -> bool {
    let name = value.as_str().and_then(|it| it.strip_prefix("--").or_else(|| it.strip_prefix('-')));
    name.is_some_and(|it| !it.contains('=') && matches!(Name::of(it.as_bytes()), Name::Secret | Name::Vague))
}

fn n_members(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(n_members).sum(),
        Value::Object(members) => members.len() + members.values().map(n_members).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Colons between a name and its value, in text that is JSON.
fn n_colons(json: &[u8]) -> usize {
    let (mut is_text, mut is_escaped, mut n_colons) = (false, false, 0);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_text = !is_text,
            b':' if !is_text => n_colons += 1,
            _ => {}
        }
    }
    n_colons
}
