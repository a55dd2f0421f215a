//! What a client shows of one session: messages, calls and terminals, in the order in which they appeared.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use testkit::belief::Version;

/// What clears a terminal in v1.
const CLEAR: &str = "\u{1b}[2J\u{1b}[3J\u{1b}[H";

/// Entries by kind and id, in order of their appearance.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct View(Vec<(String, Value)>);

impl View {
    /// Folds the lines of a trace that are about this session, which comes back with `root`: itself, or the one that it
    /// is a subagent of.
    pub(crate) fn of(version: Version, session: &str, root: &str, lines: &[Value]) -> Self {
        let mut view = Self::default();
        let was_done =
            |id: &Value| lines.iter().any(|it| it["got"]["id"] == *id && it["got"]["result"].is_object());
        for line in lines {
            let (sent, params) = (&line["sent"], &line["got"]["params"]);
            if asks_for_all(sent) && sent["params"]["sessionId"] == root && was_done(&sent["id"]) {
                view = Self::default();
            }
            if params["sessionId"] == session {
                match version {
                    Version::V1 => view.v1(&params["update"]),
                    Version::V2 => view.v2(&params["update"]),
                }
            }
        }
        view
    }

    /// Kind, id and entry, in order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &str, &Value)> {
        self.0.iter().filter_map(|(key, entry)| {
            let (kind, id) = key.split_once(' ')?;
            Some((kind, id, entry))
        })
    }

    fn entry(&mut self, kind: &str, id: &Value) -> &mut Map<String, Value> {
        let key = format!("{kind} {}", id.as_str().unwrap_or_default());
        let at = self.0.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            self.0.push((key, json!({})));
            self.0.len() - 1
        });
        self.0[at].1.as_object_mut().expect("made as an object")
    }

    fn text(&mut self, kind: &str, update: &Value, more: &str) {
        // Without an id it is a notice of v1.
        if update["messageId"].is_string() {
            let entry = self.entry(kind, &update["messageId"]);
            let text = entry.get("text").and_then(Value::as_str).unwrap_or_default().to_owned() + more;
            entry.insert("text".into(), json!(text));
        }
    }

    fn v2(&mut self, update: &Value) {
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            "user_message" => {
                self.entry("user", &update["messageId"])
                    .insert("text".into(), json!(texts(&update["content"])));
            }
            "agent_message" => {
                let text = json!(texts(&update["content"]));
                self.entry("agent", &update["messageId"]).insert("text".into(), text);
            }
            "agent_message_chunk" => self.text("agent", update, text(&update["content"])),
            "agent_thought_chunk" => self.text("thought", update, text(&update["content"])),
            "tool_call_update" => patch(self.entry("call", &update["toolCallId"]), update),
            "compaction_update" => patch(self.entry("call", &update["compactionId"]), update),
            "terminal_update" => {
                let entry = self.entry("terminal", &update["terminalId"]);
                patch(entry, update);
                if let Some(data) = update["output"]["data"].as_str() {
                    entry.insert("output".into(), json!(decoded(data)));
                }
            }
            "terminal_output_chunk" => {
                let more = decoded(update["data"].as_str().unwrap_or_default());
                append(self.entry("terminal", &update["terminalId"]), &more);
            }
            _ => {}
        }
    }

    fn v1(&mut self, update: &Value) {
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            "user_message_chunk" => self.text("user", update, text(&update["content"])),
            "agent_message_chunk" => self.text("agent", update, text(&update["content"])),
            "agent_thought_chunk" => self.text("thought", update, text(&update["content"])),
            "tool_call" | "tool_call_update" => {
                patch(self.entry("call", &update["toolCallId"]), update);
                let meta = &update["_meta"];
                if meta["terminal_info"].is_object() {
                    let cwd = meta["terminal_info"]["cwd"].clone();
                    let entry = self.entry("terminal", &update["toolCallId"]);
                    // It is a new terminal to the client.
                    entry.remove("output");
                    entry.insert("cwd".into(), cwd);
                }
                if let Some(data) = meta["terminal_output"]["data"].as_str() {
                    let entry = self.entry("terminal", &update["toolCallId"]);
                    match data.strip_prefix(CLEAR) {
                        Some(whole) => drop(entry.insert("output".into(), json!(whole))),
                        None => append(entry, data),
                    }
                }
                if meta["terminal_exit"].is_object() {
                    let entry = self.entry("terminal", &update["toolCallId"]);
                    let exit = &meta["terminal_exit"];
                    entry.insert("exitStatus".into(), json!([exit["exit_code"], exit["signal"]]));
                    entry.insert("_meta".into(), meta.clone());
                }
            }
            _ => {}
        }
    }
}

fn asks_for_all(sent: &Value) -> bool {
    sent["method"] == "session/load" || !sent["params"]["replayFrom"].is_null()
}

fn patch(entry: &mut Map<String, Value>, update: &Value) {
    for (name, value) in update.as_object().into_iter().flatten() {
        if !matches!(
            name.as_str(),
            "sessionUpdate" | "toolCallId" | "terminalId" | "compactionId" | "capabilities"
        ) {
            entry.insert(name.clone(), value.clone());
        }
    }
    // A history knows of no session of a subagent.
    if let Some(content) = entry.get_mut("content").and_then(Value::as_array_mut) {
        content.retain(|it| it["type"] != "session");
        if content.is_empty() {
            entry.remove("content");
        }
    }
}

fn append(entry: &mut Map<String, Value>, more: &str) {
    let held = entry.get("output").and_then(Value::as_str).unwrap_or_default().to_owned();
    entry.insert("output".into(), json!(held + more));
}

fn decoded(data: &str) -> String {
    String::from_utf8_lossy(&STANDARD.decode(data).unwrap_or_default()).into_owned()
}

fn texts(content: &Value) -> String {
    content.as_array().into_iter().flatten().map(text).collect()
}

fn text(content: &Value) -> &str {
    content["text"].as_str().or_else(|| content["uri"].as_str()).unwrap_or_default()
}
