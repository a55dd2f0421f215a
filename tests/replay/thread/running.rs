//! A command that runs, as the list of terminals has it.

use serde_json::{Value, json};

use super::Running;

impl Running {
    /// Its line in the list; the user's own commands have none.
    pub(super) fn listed(&self, id: &str) -> Option<Value> {
        if self.is_users() {
            return None;
        }
        let command = self.item["command"].as_str().unwrap_or_default();
        let script = command.strip_prefix("/bin/bash -lc ").unwrap_or(command);
        let command = script.trim_matches(['\'', '"']);
        Some(
            json!({"itemId": id, "processId": self.process, "command": command, "cwd": self.item["cwd"], "osPid": null, "cpuPercent": null, "rssKb": null}),
        )
    }

    pub(super) fn is_users(&self) -> bool {
        self.item["source"] == "userShell"
    }
}
