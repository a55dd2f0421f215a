//! What a request says so far: the script in force and the outputs of tool calls.

use serde_json::{Deserializer, Value};

use super::script::{OPEN, Script};

/// The latest script of the `input` of a request, with the text that carries it.
///
/// Scripts are taken from what users and other agents say, never from the model's own calls:
/// a parent can so hand a script to a child by the arguments of `spawn_agent`.
///
/// # Errors
/// A sentence about the text behind the opening mark, when that is no script.
pub(super) fn script(input: &[Value]) -> Result<Option<(Script, String)>, String> {
    let texts = input.iter().filter(|item| speaks_to_the_model(item)).flat_map(texts);
    for text in texts.collect::<Vec<_>>().into_iter().rev() {
        if let Some(script) = last_script(text)? {
            return Ok(Some((script, text.to_owned())));
        }
    }
    Ok(None)
}

/// The text of all tool outputs, oldest first, one per line.
pub(super) fn outputs(input: &[Value]) -> Vec<&str> {
    input.iter().filter(|item| is_output(item)).flat_map(texts).collect()
}

/// The text of all messages of users and other agents, oldest first.
pub(super) fn messages(input: &[Value]) -> Vec<&str> {
    input.iter().filter(|item| speaks_to_the_model(item)).flat_map(texts).collect()
}

fn is_output(item: &Value) -> bool {
    matches!(kind(item), "function_call_output" | "custom_tool_call_output")
}

fn speaks_to_the_model(item: &Value) -> bool {
    let is_call = matches!(kind(item), "function_call" | "custom_tool_call" | "reasoning");
    let role = item["role"].as_str().unwrap_or_default();
    !is_call && !is_output(item) && !matches!(role, "assistant" | "developer" | "system")
}

fn kind(item: &Value) -> &str {
    item["type"].as_str().unwrap_or_default()
}

/// All text of an item, whatever its kind.
fn texts(value: &Value) -> Vec<&str> {
    const TEXT_FIELDS: [&str; 5] = ["content", "output", "text", "message", "encrypted_content"];
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => {
            TEXT_FIELDS.iter().filter_map(|name| fields.get(*name)).flat_map(texts).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// The last script of a text; one inside a string of another is not looked at.
fn last_script(text: &str) -> Result<Option<Script>, String> {
    let mut script = None;
    let mut rest = text;
    while let Some(at) = rest.find(OPEN) {
        rest = &rest[at + OPEN.len()..];
        let mut json = Deserializer::from_str(rest).into_iter::<Script>();
        match json.next() {
            Some(Ok(it)) => script = Some(it),
            Some(Err(error)) => return Err(format!("bad script: {error}")),
            None => return Err("bad script: nothing behind the opening mark".to_owned()),
        }
        rest = &rest[json.byte_offset()..];
    }
    Ok(script)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Action, call};
    use super::*;

    fn user(text: &str) -> Value {
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
    }

    #[test]
    fn the_last_message_with_a_script_wins() {
        let first = Script::new().step(Action::say("one"));
        let second = Script::new().step(Action::say("two"));
        let input = [user(&first.prompt("a")), user(&second.prompt("b")), user("plain")];
        let (found, carrier) = script(&input).unwrap().unwrap();
        assert_eq!(found, second);
        assert!(carrier.starts_with("b ["), "{carrier}");
    }

    #[test]
    fn a_script_for_a_child_is_not_the_parents() {
        let child = Script::new().step(Action::say("child")).prompt("work");
        let parent = Script::new().step(call("spawn_agent", json!({"message": child})));
        let prompt = parent.prompt("go");
        assert_eq!(last_script(&prompt), Ok(Some(parent)));
        let call = json!({"type": "function_call", "arguments": prompt});
        let output = json!({"type": "function_call_output", "output": prompt});
        let said = json!({"type": "message", "role": "assistant", "content": prompt});
        assert_eq!(script(&[call, output, said]), Ok(None));
    }

    #[test]
    fn a_broken_script_is_told() {
        assert!(script(&[user("x @@SCRIPT [[{\"sya\":1}]] @@END")]).is_err());
    }
}
