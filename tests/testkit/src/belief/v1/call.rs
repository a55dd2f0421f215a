//! Rules of one v1 tool call, and of the terminal that `_meta` gives it.

use crate::belief::Findings;
use serde_json::Value;

/// What an emulator takes as "clear the screen and what scrolled off it".
const CLEAR: &str = "\u{1b}[2J\u{1b}[3J\u{1b}[H";

/// A tool call and its terminal.
#[derive(Debug, Default)]
pub(super) struct Call {
    status: String,
    terminal: Option<Terminal>,
    /// Text of the content, for clients without terminals.
    text: String,
}

#[derive(Debug, Default)]
struct Terminal {
    id: String,
    screen: String,
    exited: bool,
}

impl Call {
    pub(super) fn open(id: &str, update: &Value, found: &mut Findings) -> Self {
        let info = &update["_meta"]["terminal_info"]["terminal_id"];
        let terminal = info.as_str().map(|id| Terminal { id: id.to_owned(), ..Terminal::default() });
        let mut call = Self { status: "pending".into(), terminal, text: String::new() };
        call.take(id, update, found);
        call
    }

    pub(super) fn update(&mut self, id: &str, update: &Value, found: &mut Findings) {
        if !self.is_running() {
            return found.add("update-after-final", format!("{id} was {}", self.status));
        }
        if update["_meta"].get("terminal_info").is_some() {
            found.add("late-terminal-info", id.to_owned());
        }
        self.take(id, update, found);
    }

    /// Neither finished nor, if it has a terminal, exited.
    pub(super) fn is_running(&self) -> bool {
        self.status == "pending" || self.status == "in_progress"
    }

    pub(super) fn output(&self) -> String {
        match &self.terminal {
            Some(terminal) => terminal.screen.clone(),
            None => unfenced(&self.text).to_owned(),
        }
    }

    fn take(&mut self, id: &str, update: &Value, found: &mut Findings) {
        self.take_content(id, update, found);
        self.take_output(id, &update["_meta"], found);
        let Some(status) = update["status"].as_str() else { return };
        match (self.status.as_str(), status) {
            ("in_progress", "pending") => found.add("back-to-pending", id.to_owned()),
            (_, "pending" | "in_progress" | "completed" | "failed") => {}
            _ => found.add("unknown-status", format!("{id} {status}")),
        }
        if matches!(status, "completed" | "failed") && self.terminal.as_ref().is_some_and(|it| !it.exited) {
            found.add("final-without-exit", id.to_owned());
        }
        status.clone_into(&mut self.status);
    }

    fn take_content(&mut self, id: &str, update: &Value, found: &mut Findings) {
        let Some(content) = update["content"].as_array() else { return };
        self.text = content.iter().filter_map(|block| block["content"]["text"].as_str()).collect();
        for shown in content.iter().filter_map(|block| block["terminalId"].as_str()) {
            match &self.terminal {
                Some(terminal) if terminal.id == shown && !terminal.exited => {}
                _ => found.add("unknown-terminal", format!("{shown} in {id}")),
            }
        }
    }

    fn take_output(&mut self, id: &str, meta: &Value, found: &mut Findings) {
        let output = &meta["terminal_output"];
        let exit = &meta["terminal_exit"];
        let is_vitals = meta["dev.appserver-acp"]["pid"].is_number();
        let Some(terminal) = &mut self.terminal else {
            if !output.is_null() || !exit.is_null() || is_vitals {
                found.add("unknown-terminal", format!("{id} was opened without one"));
            }
            return;
        };
        for part in [output, exit].into_iter().filter(|part| !part.is_null()) {
            if part["terminal_id"] != terminal.id.as_str() {
                found.add("unknown-terminal", format!("{part} in {id}"));
            }
        }
        if let Some(data) = output["data"].as_str() {
            if terminal.exited {
                found.add("output-after-exit", id.to_owned());
            }
            terminal.print(data);
        }
        if is_vitals && terminal.exited {
            found.add("vitals-after-exit", id.to_owned());
        }
        if !exit.is_null() {
            if terminal.exited {
                found.add("second-exit", id.to_owned());
            }
            if exit["exit_code"].as_i64().is_some_and(i64::is_negative) {
                found.add("negative-exit-code", id.to_owned());
            }
            terminal.exited = true;
        }
    }
}

/// What a Markdown code block shows, without what stands below it; other text as it is.
fn unfenced(text: &str) -> &str {
    let Some((opening, rest)) = text.split_once('\n') else { return text };
    let n_ticks = opening.len() - opening.trim_start_matches('`').len();
    let fence = &opening[..n_ticks];
    if n_ticks < 3 {
        return text;
    }
    let mut start = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == fence {
            let inside = &rest[..start];
            return inside.strip_suffix('\n').unwrap_or(inside);
        }
        start += line.len();
    }
    text
}

impl Terminal {
    fn print(&mut self, data: &str) {
        match data.rsplit_once(CLEAR) {
            Some((_, rest)) => rest.clone_into(&mut self.screen),
            None => self.screen.push_str(data),
        }
    }
}
