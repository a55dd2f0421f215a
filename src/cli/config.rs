//! JSON settings to Codex's `-c key=value`, whose values are TOML.

use serde_json::{Map, Value};

/// `CODEX_CONFIG` cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("expected a JSON object of codex settings")]
pub(crate) struct NotAnObject(#[from] serde_json::Error);

/// The settings of a JSON object, one each; tables become dotted keys, so that they add to what the
/// configuration file has and do not replace it.
///
/// # Errors
/// If `json` is no JSON object.
pub(crate) fn overrides(json: &str) -> Result<Vec<String>, NotAnObject> {
    let settings: Map<String, Value> = serde_json::from_str(json)?;
    let mut overrides = Vec::new();
    for (key, value) in &settings {
        add(key.clone(), value, &mut overrides);
    }
    Ok(overrides)
}

/// One setting with a text as its value.
pub(crate) fn setting(key: &str, text: &str) -> String {
    format!("{key}={}", toml(&Value::from(text)))
}

fn add(key: String, value: &Value, overrides: &mut Vec<String>) {
    match value {
        // TOML has no null; it stands for what is not set.
        Value::Null => {}
        Value::Object(members) if members.keys().all(|name| is_bare(name)) => {
            for (name, value) in members {
                add(format!("{key}.{name}"), value, overrides);
            }
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            overrides.push(format!("{key}={}", toml(value)));
        }
    }
}

fn toml(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(toml).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let members = members.iter().filter(|(_, value)| !value.is_null());
            let members: Vec<String> = members
                .map(|(name, value)| format!("{} = {}", toml(&Value::from(name.as_str())), toml(value)))
                .collect();
            format!("{{ {} }}", members.join(", "))
        }
        // Strings, numbers and truth values are spelled alike in both.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

fn is_bare(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::{overrides, setting};

    /// Each override has to mean in TOML what it says in JSON.
    fn read_back(overrides: &[String]) -> serde_json::Value {
        let table: toml::Table = toml::from_str(&overrides.join("\n")).unwrap();
        serde_json::to_value(table).unwrap()
    }

    #[test]
    fn tables_become_dotted_keys_and_null_is_left_out() {
        let json = r#"{"model":"gpt","features":{"a":true,"b":null},"n":1.5,"list":["x",2]}"#;
        let mut overrides = overrides(json).unwrap();
        overrides.sort();
        assert_eq!(overrides, ["features.a=true", "list=[\"x\", 2]", "model=\"gpt\"", "n=1.5"]);
    }

    #[test]
    fn odd_names_and_texts_keep_their_meaning() {
        let json = serde_json::json!({
            "mcp_servers": { "a.b": { "command": "x \"y\" \\ \n \u{1} é", "env": { "K": "v" } } },
            "empty": "",
        });
        assert_eq!(read_back(&overrides(&json.to_string()).unwrap()), json);
    }

    #[test]
    fn what_is_no_object_is_refused() {
        assert!(overrides("[]").is_err());
        assert!(overrides("model=1").is_err());
    }

    #[test]
    fn a_text_is_quoted() {
        assert_eq!(setting("model_provider", "my \"own\""), r#"model_provider="my \"own\"""#);
    }
}
