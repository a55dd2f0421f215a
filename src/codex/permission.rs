//! A permission profile that is asked for, in words for people.

use serde_json::Value;

/// One line per permission; a profile of an unknown shape is shown as it is.
pub(super) fn describe(profile: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    if profile["network"]["enabled"] == true {
        lines.push("Network access".to_owned());
    }
    let files = &profile["fileSystem"];
    let entries = list(&files["entries"]);
    for entry in entries {
        let verb = match entry["access"].as_str() {
            Some("read") => "Read",
            Some("write") => "Read and write",
            Some("deny") => "Never touch",
            Some(_) | None => "Use",
        };
        lines.push(format!("{verb} {}", place(&entry["path"])));
    }
    // The older fields repeat the entries.
    if entries.is_empty() {
        for (field, verb) in [("read", "Read"), ("write", "Read and write")] {
            lines.extend(
                list(&files[field]).iter().filter_map(Value::as_str).map(|it| format!("{verb} {it}")),
            );
        }
    }
    if lines.is_empty() && profile.as_object().is_some_and(|it| it.values().any(|it| !it.is_null())) {
        lines.push(profile.to_string());
    }
    lines
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn place(path: &Value) -> String {
    let text = path["path"].as_str().or_else(|| path["pattern"].as_str());
    match (text, path["value"]["kind"].as_str()) {
        (Some(text), _) => text.to_owned(),
        (None, Some("root")) => "every file".to_owned(),
        (None, Some("project_roots")) => "the workspace".to_owned(),
        (None, Some("tmpdir" | "slash_tmp")) => "temporary files".to_owned(),
        (None, Some(_) | None) => path.to_string(),
    }
}
