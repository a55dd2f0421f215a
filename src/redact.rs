//! Secrets out of what is written down: traces, and the last words of Codex.
//!
//! Keeps the structure and every value that is no secret. Best effort by name and by look.

#[cfg(test)]
mod tests;

use serde_json::Value;
use std::borrow::Cow;

/// What stands where a secret was.
pub const REDACTED: &str = "[redacted]";

/// Takes secrets out of one JSON message; a line without any comes back as it was.
///
/// Text that is no JSON is treated like `text`.
pub fn message(line: &str) -> Cow<'_, str> {
    let Ok(mut value) = serde_json::from_str::<Value>(line) else {
        return text(line);
    };
    match visit(&mut value, Field::Plain) {
        Found::Nothing => Cow::Borrowed(line),
        Found::Secret => Cow::Owned(value.to_string()),
    }
}

/// Takes what looks like a secret out of free text.
pub fn text(text: &str) -> Cow<'_, str> {
    let mut clean = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some((from, to)) = next_secret(text, at) {
        clean.push_str(&text[copied..from]);
        clean.push_str(REDACTED);
        copied = to;
        at = to;
    }
    match copied {
        0 => Cow::Borrowed(text),
        _ => {
            clean.push_str(&text[copied..]);
            Cow::Owned(clean)
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    Secret,
}

/// What the name above a value says of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Plain,
    /// A string here is a secret.
    Secret,
    /// `env` and `headers`: names to values, or a list of `{name, value}`.
    Table,
}

fn visit(value: &mut Value, field: Field) -> Found {
    match value {
        Value::String(content) if field == Field::Plain => match text(content) {
            Cow::Borrowed(_) => Found::Nothing,
            Cow::Owned(clean) => replace(content, clean),
        },
        Value::String(content) if content.is_empty() || content == REDACTED => Found::Nothing,
        Value::String(content) => replace(content, REDACTED.to_owned()),
        Value::Array(items) => any(items.iter_mut().map(|item| visit(item, field))),
        Value::Object(members) if field == Field::Table && members.contains_key("value") => any(members
            .iter_mut()
            .map(|(name, value)| visit(value, if name == "value" { Field::Secret } else { Field::Plain }))),
        Value::Object(members) if field == Field::Table => {
            any(members.values_mut().map(|value| visit(value, Field::Secret)))
        }
        Value::Object(members) => any(members.iter_mut().map(|(name, value)| visit(value, field_of(name)))),
        Value::Null | Value::Bool(_) | Value::Number(_) => Found::Nothing,
    }
}

fn replace(content: &mut String, clean: String) -> Found {
    *content = clean;
    Found::Secret
}

fn any(found: impl Iterator<Item = Found>) -> Found {
    // `any` of the iterator would stop at the first secret and leave the others in.
    found.fold(Found::Nothing, |all, one| if one == Found::Secret { one } else { all })
}

fn field_of(name: &str) -> Field {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|it| it.to_ascii_lowercase()).collect();
    match plain.as_str() {
        "env" | "headers" | "httpheaders" => Field::Table,
        "authorization" | "cookie" | "setcookie" | "bearer" | "credentials" => Field::Secret,
        _ if SECRET_ENDINGS.iter().any(|ending| plain.ends_with(ending)) => Field::Secret,
        _ => Field::Plain,
    }
}

const SECRET_ENDINGS: [&str; 7] =
    ["apikey", "token", "secret", "password", "passwd", "privatekey", "accesskey"];

/// Starts of well-known keys; each is followed by letters, digits, `-`, `_` or `.`.
const KEY_STARTS: [&str; 12] = [
    "sk-",
    "sess-",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "AIza",
    "eyJhbGciOi",
];

/// Words whose next word is a secret, lower case.
const LABELS: [&str; 5] = ["bearer ", "api_key=", "api-key: ", "apikey=", "access_token="];

/// A key is at least this long behind its start.
const KEY_MIN: usize = 12;

fn next_secret(text: &str, from: usize) -> Option<(usize, usize)> {
    let mut at = from;
    while at < text.len() {
        if let Some(found) = secret_at(text, at) {
            return Some(found);
        }
        // Only a letter can start a secret, and only where no word goes on.
        at += 1;
    }
    None
}

fn secret_at(text: &str, at: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    if !bytes[at].is_ascii_alphabetic() || (at > 0 && bytes[at - 1].is_ascii_alphanumeric()) {
        return None;
    }
    let rest = &text[at..];
    let key = KEY_STARTS.iter().find(|start| rest.starts_with(**start)).map(|start| (at, at + start.len()));
    let labelled = LABELS
        .iter()
        .find(|label| rest.get(..label.len()).is_some_and(|head| head.eq_ignore_ascii_case(label)))
        .map(|label| (at + label.len(), at + label.len()));
    let (from, body) = key.or(labelled)?;
    let length = bytes[body..].iter().take_while(|byte| is_key_byte(**byte)).count();
    (length >= KEY_MIN).then_some((from, body + length))
}

fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'+' | b'/' | b'=' | b'~')
}
