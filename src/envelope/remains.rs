//! What can be known of a message that was too long to be read: from its first and its last bytes.
//!
//! Owns that nothing is guessed: a member counts only where it can be one of the message itself.

use super::read_id;
use crate::core::ids::RequestId;
use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// What is known of it. All of it is unknown where its members stand in the middle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remains {
    pub id: Option<RequestId>,
    pub method: Option<String>,
    /// It has a `result` or an `error`.
    pub is_answer: bool,
}

impl Remains {
    /// Of a message that begins and ends so.
    pub fn of(head: &[u8], tail: &[u8]) -> Self {
        let mut remains = Self::default();
        let mut reader = serde_json::Deserializer::from_slice(head);
        // It breaks off inside of the long member, which is no news.
        drop(Head(&mut remains).deserialize(&mut reader));
        for (name, value) in &last_members(tail) {
            remains.learn(name, value);
        }
        remains
    }

    fn learn(&mut self, name: &str, value: &Value) {
        match (name, value) {
            ("id", value) if self.id.is_none() => self.id = id(value),
            ("method", Value::String(method)) if self.method.is_none() => self.method = Some(method.clone()),
            _ => {}
        }
    }
}

fn id(value: &Value) -> Option<RequestId> {
    let raw = serde_json::value::to_raw_value(value).ok()?;
    read_id(&raw).ok().flatten()
}

/// The members at the beginning, up to the one that is cut off.
struct Head<'a>(&'a mut Remains);

impl<'de> DeserializeSeed<'de> for Head<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        input.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Head<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON-RPC message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut last: Option<(String, Value)> = None;
        loop {
            // A number that is cut off would be another number: it is whole once something follows.
            let name = map.next_key::<String>()?;
            if let Some((name, value)) = last.take() {
                self.0.learn(&name, &value);
            }
            match name.as_deref() {
                None => return Ok(()),
                Some("id" | "method") => last = name.zip(Some(map.next_value()?)),
                Some(name) => {
                    self.0.is_answer |= matches!(name, "result" | "error");
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
    }
}

/// The members at the end, after the one that is cut off: what closes the message and holds nothing but the
/// members of one. A comma inside of a text or of an object has no such rest.
fn last_members(tail: &[u8]) -> Map<String, Value> {
    let is_ours = |members: &Map<String, Value>| {
        members.keys().all(|name| matches!(name.as_str(), "jsonrpc" | "id" | "method"))
    };
    let commas = tail.iter().enumerate().rev().filter(|(_, byte)| **byte == b',');
    let rests = commas.filter_map(|(at, _)| {
        let object = [b"{", &tail[at + 1..]].concat();
        serde_json::from_slice::<Map<String, Value>>(&object).ok()
    });
    rests.take_while(is_ours).last().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::Remains;
    use crate::core::ids::RequestId;

    fn of(head: &str, tail: &str) -> (Option<String>, Option<String>, bool) {
        let Remains { id, method, is_answer } = Remains::of(head.as_bytes(), tail.as_bytes());
        let id = id.map(|id| match id {
            RequestId::Number(number) => number.to_string(),
            RequestId::Text(text) => format!("{text:?}"),
        });
        (id, method, is_answer)
    }

    fn known(id: &str, method: &str) -> (Option<String>, Option<String>, bool) {
        (Some(id.to_owned()), Some(method.to_owned()), false)
    }

    #[test]
    fn members_before_and_behind_the_long_one_are_read() {
        let params = r#""params":{"id":1,"prompt":[{"text":"xx"#;
        let end = r#"yy"}]}}"#;
        let head = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"session/prompt",{params}"#);
        assert_eq!(of(&head, end), known("7", "session/prompt"));
        let behind = r#"yy,"}]} , "method":"m", "id" : "a" } "#;
        assert_eq!(of(&format!("{{{params}"), behind), known("\"a\"", "m"));
        assert_eq!(of(&format!(r#"{{"method":"m",{params}"#), r#"yy"}]},"id":-3}"#), known("-3", "m"));
        let answer = of(r#"{"id":3,"result":{"x":"#, "1}}");
        assert_eq!(answer, (Some("3".to_owned()), None, true));
        assert_eq!(of(r#"{"error":{"x":"#, r#"1},"id":3}"#), answer);
    }

    #[test]
    fn members_of_what_is_inside_are_none_of_the_message() {
        let nothing = (None, None, false);
        for tail in [
            r#"yy"},"id":5}}"#,
            r#"\",\"id\":5}"}}"#,
            r#",","id":5}]}"#,
            r#"y,":1,"id":5}}"#,
            r#"yy"}]},"extra":1,"id":null}"#,
            "yy",
            "",
        ] {
            assert_eq!(of(r#"{"params":{"id":1,"#, tail), nothing, "{tail}");
        }
        // Cut inside of the number, and inside of the name.
        assert_eq!(of(r#"{"id":12"#, "yy"), nothing);
        assert_eq!(of(r#"{"jsonrpc":"2.0","method":"session/pr"#, "yy"), nothing);
        assert_eq!(of("[1,2", "3]"), nothing);
        assert_eq!(of(r#"{"id":1.5,"method":7,"params":{"#, "yy"), nothing);
    }
}
