//! Secrets found in free text: by how they look, and by what is said before them.
//!
//! Does not know JSON. Linear in the text: names and starts are of bounded length.

use super::REDACTED;
use super::name::Name;
use std::ops::Range;

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

/// A key that nothing but its look gives away is at least this long.
const KEY_MIN: usize = 12;

/// No name is longer.
const NAME_MAX: usize = 64;

/// Where the first secret of `text` is, from `from` on.
pub(super) fn next_secret(text: &str, from: usize) -> Option<Range<usize>> {
    (from..text.len()).find_map(|at| secret_at(text, at))
}

fn secret_at(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    if bytes[at] == b':' && bytes[at..].starts_with(b"://") {
        return user_info(bytes, at + 3);
    }
    // Only a letter can start a name or a key, and only where no word goes on.
    if !bytes[at].is_ascii_alphabetic() || (at > 0 && bytes[at - 1].is_ascii_alphanumeric()) {
        return None;
    }
    if let Some(start) = KEY_STARTS.iter().find(|start| bytes[at..].starts_with(start.as_bytes())) {
        return key(bytes, at, at + start.len());
    }
    let reach = &bytes[at..bytes.len().min(at + NAME_MAX)];
    let end = at + length(reach, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    named(bytes, at, end)
}

/// The value of the name at `at..end`, if both are there.
fn named(bytes: &[u8], at: usize, end: usize) -> Option<Range<usize>> {
    let name = Name::of(&bytes[at..end]);
    let next = bytes.get(end).copied();
    match (name, next) {
        (Name::Authorization, _) => authorization(bytes, end),
        (Name::Bearer, Some(b' ')) => key(bytes, end + 1, end + 1),
        (Name::Basic, Some(b' ')) => basic(bytes, end + 1),
        (Name::Secret, Some(b'=')) => value(bytes, end + 1),
        (Name::Vague, Some(b'=')) if is_flag(bytes, at) || is_of_query(bytes, at) => value(bytes, end + 1),
        (Name::Secret | Name::Vague, Some(b' ')) if is_flag(bytes, at) => {
            let from = end + length(&bytes[end..], |byte| byte == b' ');
            // The next flag is no value.
            if bytes.get(from) == Some(&b'-') { None } else { value(bytes, from) }
        }
        (Name::Secret, Some(_)) => after_colon(bytes, end),
        _ => None,
    }
}

/// `user:password` of a URL.
fn user_info(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let length = length(&bytes[from..], |byte| !is_end(byte) && !matches!(byte, b'/' | b'?'));
    let at = bytes[from..from + length].iter().rposition(|byte| *byte == b'@')?;
    found(bytes, from..from + at)
}

fn key(bytes: &[u8], at: usize, body: usize) -> Option<Range<usize>> {
    let length = length(&bytes[body..], is_key_byte);
    (length >= KEY_MIN).then_some(at..body + length)
}

/// What follows `basic ` and is no word of a language.
fn basic(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let is_word = |range: &Range<usize>| bytes[range.start + 1..range.end].iter().all(u8::is_ascii_lowercase);
    key(bytes, from, from).filter(|range| !is_word(range))
}

/// The header `Authorization: Scheme credential`, in any dress; the scheme stays.
fn authorization(bytes: &[u8], end: usize) -> Option<Range<usize>> {
    let from = separated(bytes, end, |byte| matches!(byte, b':' | b'='))?;
    let from = from + length(&bytes[from..], |byte| matches!(byte, b'\\' | b'"' | b'\''));
    let scheme = length(&bytes[from..], |byte| byte.is_ascii_alphabetic());
    match bytes.get(from + scheme) {
        Some(b' ') if scheme > 0 => value(bytes, from + scheme + 1),
        _ => value(bytes, from),
    }
}

/// `"name": "value"`; without quotes only what looks like a key.
fn after_colon(bytes: &[u8], end: usize) -> Option<Range<usize>> {
    let from = separated(bytes, end, |byte| byte == b':')?;
    match bytes.get(from) {
        Some(b'"' | b'\'' | b'\\') => value(bytes, from),
        _ => key(bytes, from, from),
    }
    .filter(|range| !bytes[range.clone()].starts_with(REDACTED.as_bytes()))
}

/// Behind a closing quote and spaces, one separator and more spaces.
fn separated(bytes: &[u8], end: usize, is_separator: fn(u8) -> bool) -> Option<usize> {
    let quote = length(&bytes[end..], |byte| matches!(byte, b'\\' | b'"' | b'\''));
    let at = end + quote + length(&bytes[end + quote..], |byte| byte == b' ');
    bytes.get(at).filter(|byte| is_separator(**byte))?;
    Some(at + 1 + length(&bytes[at + 1..], |byte| byte == b' '))
}

/// A value to its closing quote, or to the end of its word.
fn value(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let escape = length(&bytes[at..], |byte| byte == b'\\');
    let from = at + escape;
    match bytes.get(from).copied() {
        Some(quote @ (b'"' | b'\'')) => {
            let from = from + 1;
            let is_inside = |byte| byte != quote && byte != b'\n' && (escape == 0 || byte != b'\\');
            found(bytes, from..from + length(&bytes[from..], is_inside))
        }
        // `==` and `=>` are code.
        Some(b'=' | b'>') => None,
        _ => found(bytes, at..at + length(&bytes[at..], |byte| !is_end(byte) && byte != b'&')),
    }
}

fn found(bytes: &[u8], range: Range<usize>) -> Option<Range<usize>> {
    let is_new = !range.is_empty() && !bytes[range.clone()].starts_with(REDACTED.as_bytes());
    is_new.then_some(range)
}

/// One or two dashes before the name, and no word before them.
fn is_flag(bytes: &[u8], at: usize) -> bool {
    let dashes = bytes[..at].iter().rev().take(3).take_while(|byte| **byte == b'-').count();
    let before = at.checked_sub(dashes + 1).map(|before| bytes[before]);
    (1..=2).contains(&dashes) && before.is_none_or(|byte| !byte.is_ascii_alphanumeric() && byte != b'_')
}

fn is_of_query(bytes: &[u8], at: usize) -> bool {
    at > 0 && matches!(bytes[at - 1], b'?' | b'&')
}

fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'+' | b'/' | b'=' | b'~')
}

// What ends a word that is not quoted. All ASCII, so that a range never cuts a character.
fn is_end(byte: u8) -> bool {
    byte.is_ascii_whitespace()
        || matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b';' | b',' | b'<' | b'>' | b'|' | b')' | b'#')
}

fn length(bytes: &[u8], is_of: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| is_of(**byte)).count()
}
