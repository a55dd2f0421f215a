//! Placeholders: text of a script that is replaced by what an earlier tool call gave.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

use super::script::OPEN;

/// Group 1 (or the whole) of the last match of `regex` in the outputs of earlier tool calls.
///
/// A string that is nothing but this placeholder becomes a JSON number when the match is an integer:
/// `call("write_stdin", json!({"session_id": found(r"session ID (\d+)"), "chars": "q"}))`.
/// The regex may not contain `}}`.
#[must_use]
pub fn found(regex: &str) -> String {
    format!("{{{{find:{regex}}}}}")
}

/// Like [`found`], of the `n`-th match (from 0).
#[must_use]
pub fn found_nth(n: usize, regex: &str) -> String {
    format!("{{{{find#{n}:{regex}}}}}")
}

/// Like [`found`], but stays a string.
#[must_use]
pub fn found_text(regex: &str) -> String {
    format!("{{{{text:{regex}}}}}")
}

static PLACEHOLDER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?s)\{\{(find|text)(?:#([0-9]+))?:(.*?)\}\}").expect("a constant pattern"));

/// Fills the placeholders of every string within `value`, except in a script meant for another model.
///
/// # Errors
/// A bad regex, or one that matches nothing: a sentence for the author of the script.
pub(super) fn fill(value: &Value, outputs: &str) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => {
            let filled = fill_text(text, outputs)?;
            let is_number =
                PLACEHOLDER.captures(text).is_some_and(|it| it[0].len() == text.len() && &it[1] == "find");
            match filled.parse::<i64>() {
                Ok(number) if is_number => number.into(),
                Ok(_) | Err(_) => filled.into(),
            }
        }
        Value::Array(items) => items.iter().map(|it| fill(it, outputs)).collect::<Result<_, _>>()?,
        Value::Object(fields) => fields
            .iter()
            .map(|(name, it)| Ok((name.clone(), fill(it, outputs)?)))
            .collect::<Result<_, String>>()?,
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}

/// Fills the placeholders of a text; see [`fill`].
pub(super) fn fill_text(text: &str, outputs: &str) -> Result<String, String> {
    if text.contains(OPEN) {
        return Ok(text.to_owned());
    }
    let mut filled = String::new();
    let mut end = 0;
    for placeholder in PLACEHOLDER.captures_iter(text) {
        let whole = placeholder.get(0).expect("group 0 always takes part");
        filled.push_str(&text[end..whole.start()]);
        filled.push_str(find(&placeholder, outputs)?);
        end = whole.end();
    }
    filled.push_str(&text[end..]);
    Ok(filled)
}

fn find<'a>(placeholder: &Captures, outputs: &'a str) -> Result<&'a str, String> {
    let pattern = &placeholder[3];
    let regex = Regex::new(pattern).map_err(|error| error.to_string())?;
    let mut matches = regex.captures_iter(outputs);
    let hit = match placeholder.get(2) {
        Some(n) => n.as_str().parse().ok().and_then(|n| matches.nth(n)),
        None => matches.last(),
    };
    hit.and_then(|it| it.get(1).or(it.get(0)))
        .map(|it| it.as_str())
        .ok_or_else(|| format!("no tool output so far has {pattern}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const OUTPUTS: &str = "Process running with session ID 41\nProcess running with session ID 42\n";

    #[test]
    fn whole_string_becomes_a_number() {
        let args = json!({"session_id": found(r"session ID (\d+)"), "chars": "q\n"});
        assert_eq!(fill(&args, OUTPUTS), Ok(json!({"session_id": 42, "chars": "q\n"})));
    }

    #[test]
    fn counted_embedded_and_textual() {
        let args = json!([
            found_nth(0, r"session ID (\d+)"),
            format!("id {}!", found(r"ID \d+")),
            found_text(r"session ID (\d+)"),
        ]);
        assert_eq!(fill(&args, OUTPUTS), Ok(json!([41, "id ID 42!", "42"])));
    }

    #[test]
    fn no_match_is_an_error_and_a_nested_script_is_left_alone() {
        assert!(fill(&json!(found("nothing")), OUTPUTS).is_err());
        assert!(fill(&json!(found_nth(2, "ID")), OUTPUTS).is_err());
        assert!(fill(&json!(found("(")), OUTPUTS).is_err());
        let nested = json!(format!("do it {OPEN} [\"{}\"] @@END", found("nothing")));
        assert_eq!(fill(&nested, OUTPUTS), Ok(nested.clone()));
    }
}
