//! What Codex hands on in the words of others: a provider's failure, the error of a tool server, a warning.
//!
//! Owns that it is bounded, shows no key, and is a sentence where that is to be had. Does not know any message.

use super::bound::bounded;
use crate::redact;
use serde_json::{Deserializer, Value};
use std::borrow::Cow;

/// `text` for people: bounded, without what looks like a secret.
pub(crate) fn said(text: &str) -> String {
    bounded(redact::text(text).into_owned())
}

/// The same of a provider's failure: its JSON gives way to the message in it, where that is unmistakable.
pub(crate) fn said_by_provider(text: &str) -> String {
    said(&sentence(text))
}

fn sentence(text: &str) -> Cow<'_, str> {
    let found = text.find('{').and_then(|at| {
        let mut values = Deserializer::from_str(&text[at..]).into_iter::<Value>();
        let body = values.next()?.ok()?;
        let (head, tail) = (&text[..at], &text[at + values.byte_offset()..]);
        let is_all = head.trim().is_empty() && tail.trim().is_empty();
        Some(format!("{}{}{}", head, message(&body, is_all)?, tail).trim().to_owned())
    });
    found.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// `error.message`, as nearly every provider has it. What a few have in its place could be anything, unless
/// there is nothing else: `error` alone, or the `detail` of an account of ChatGPT's.
fn message(body: &Value, is_all: bool) -> Option<&str> {
    let members = body.as_object()?;
    let only = members.values().next().filter(|_| is_all && members.len() == 1);
    let plain = only.filter(|_| members.contains_key("error") || members.contains_key("detail"));
    let message = members.get("error").and_then(|it| it.get("message")).or(plain)?;
    message.as_str().filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::{said, said_by_provider};

    #[test]
    fn the_message_stands_for_the_json_where_there_is_no_doubt() {
        let cases = [
            (r#"{"error":{"message":"too long","type":"x","code":null}}"#, "too long"),
            ("{\n \"error\": {\"message\": \"two\\nlines\"}\n}\n", "two\nlines"),
            (r#"{"error":"no such model"}"#, "no such model"),
            (r#"{"detail":"not with this account"}"#, "not with this account"),
            (
                r#"unexpected status 403 Forbidden: {"error":{"message":"not you"}}, url: http://x/v1"#,
                "unexpected status 403 Forbidden: not you, url: http://x/v1",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(said_by_provider(text), expected);
        }
    }

    #[test]
    fn anything_else_stays_as_it_is() {
        let cases = [
            "plain",
            "",
            r#"{"error":{"message":""}}"#,
            r#"{"error":{"message":7}}"#,
            r#"{"message":"whose?"}"#,
            r#"{"detail":["x"]}"#,
            r#"{"detail":"which?","error":"this?"}"#,
            r#"{"error":{"message":"cut off"#,
            r#"at {"error":"a name"} of it"#,
            "use of {braces} in words",
        ];
        for text in cases {
            assert_eq!(said_by_provider(text), text);
        }
    }

    #[test]
    fn a_key_that_is_quoted_is_not_handed_on() {
        let body = r#"{"error":{"message":"Incorrect API key provided: sk-proj-0123456789abcdef."}}"#;
        let shown = said_by_provider(body);
        assert!(shown.starts_with("Incorrect API key provided: [redacted]"), "{shown}");
        assert_eq!(said("Authorization: Bearer abcdef0123456789"), "Authorization: Bearer [redacted]");
        assert_eq!(said("no route to http://me:pass@host/"), "no route to http://[redacted]@host/");
    }
}
