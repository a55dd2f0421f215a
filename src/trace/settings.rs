//! What there is to sign in with, as the trace tells it: that there is a key, and no key.

use crate::core::sign_in::{Means, Program, Secret};
use crate::redact::REDACTED;
use serde_json::{Map, Value, json};

/// For the first line of a run.
pub(super) fn of_means(means: &Means) -> Value {
    let Means { no_browser, opens_pages, codex_key, openai_key, program } = means;
    let program = program.as_ref().map(|Program { path, env }| {
        let env: Map<String, Value> =
            env.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
        json!({ "path": path, "env": env })
    });
    json!({
        "no_browser": no_browser,
        "opens_pages": opens_pages,
        "has_codex_key": codex_key.is_some(),
        "has_openai_key": openai_key.is_some(),
        "program": program,
    })
}

/// The same means, with keys that are none; without any where a trace tells nothing.
pub(super) fn means(told: &Value) -> Means {
    let key = |name: &str| (told[name] == true).then(|| Secret::new(REDACTED));
    let program = told["program"]["path"].as_str().map(|path| {
        let env = told["program"]["env"].as_object().into_iter().flatten();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Program { path: path.to_owned(), env: env.map(|(name, value)| (name.clone(), text(value))).collect() }
    });
    Means {
        no_browser: told["no_browser"] == true,
        opens_pages: told["opens_pages"] == true,
        codex_key: key("has_codex_key"),
        openai_key: key("has_openai_key"),
        program,
    }
}
