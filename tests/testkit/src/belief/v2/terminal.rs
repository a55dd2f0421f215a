//! Rules of one terminal: announced, output, one exit, then silence.

use crate::belief::Findings;
use crate::belief::fold::{Store, bytes};
use serde_json::Value;

/// The key of everything that only our adapter says.
const OURS: &str = "dev.appserver-acp";

pub(super) fn check_update(store: &Store, update: &Value, found: &mut Findings) {
    let id = id(update);
    let known = store.get("terminal", id);
    let exited = known.is_some_and(|terminal| terminal["exitStatus"].is_object());
    let says = |name: &str| update.get(name).is_some_and(|value| !value.is_null());
    if known.is_none() && update["cwd"].as_str().is_some_and(|cwd| !is_absolute(cwd)) {
        found.add("cwd-not-absolute", id.to_owned());
    }
    if says("output") && bytes(&update["output"]["data"]).is_none() {
        found.add("base64", id.to_owned());
    }
    if is_vitals(update) {
        if exited {
            found.add("vitals-after-exit", id.to_owned());
        }
        if known.is_none() {
            found.add("vitals-before-terminal", id.to_owned());
        }
    }
    if exited {
        if update.get("exitStatus").is_some() {
            found.add("second-exit", format!("{id} {}", update["exitStatus"]));
        }
        if update.get("output").is_some() {
            found.add("output-after-exit", id.to_owned());
        }
        if says("capabilities") {
            found.add("capabilities-after-exit", id.to_owned());
        }
    } else if says("exitStatus") {
        if known.is_some_and(is_vitals) && update["_meta"].get(OURS).is_none() {
            found.add("vitals-after-exit", format!("{id} keeps them"));
        }
        let kept = match update.get("capabilities") {
            Some(capabilities) => !capabilities.is_null(),
            None => known.is_some_and(|terminal| terminal.get("capabilities").is_some()),
        };
        if kept {
            found.add("capabilities-after-exit", format!("{id}, not cleared with the exit"));
        }
    }
}

pub(super) fn check_chunk(store: &Store, update: &Value, found: &mut Findings) {
    let id = id(update);
    if bytes(&update["data"]).is_none() {
        found.add("base64", id.to_owned());
    }
    match is_live(store, id) {
        None => found.add("chunk-before-terminal", id.to_owned()),
        Some(false) => found.add("output-after-exit", id.to_owned()),
        Some(true) => {}
    }
}

/// Whether a terminal runs as far as the client knows; `None` if it does not know it.
pub(super) fn is_live(store: &Store, id: &str) -> Option<bool> {
    Some(!store.get("terminal", id)?["exitStatus"].is_object())
}

/// Whether it tells how processes do.
fn is_vitals(update: &Value) -> bool {
    update["_meta"][OURS]["pid"].is_number()
}

fn id(update: &Value) -> &str {
    update["terminalId"].as_str().unwrap_or_default()
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || path.starts_with('\\') || path.as_bytes().get(1) == Some(&b':')
}
