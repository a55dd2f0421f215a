//! What a played thread does by itself: turns of its queue and of its goal.

use super::{Later, Thread};
use crate::standing::{Said, Standing};
use serde_json::json;
use std::collections::BTreeSet;

impl Thread {
    /// Names of the calls that show its goal and its queue.
    pub(crate) fn standing(&self) -> BTreeSet<String> {
        if self.loaded { self.standing.names() } else { BTreeSet::new() }
    }

    /// Somebody else does something to its goal or queue, where that can be.
    pub(crate) fn stand(&mut self, act: impl FnOnce(&mut Standing) -> Option<Said>) -> Vec<Later> {
        if !self.loaded || !self.subscribed {
            return Vec::new();
        }
        let said = act(&mut self.standing);
        let mut lines = self.lines(said);
        lines.extend(self.go_on());
        lines
    }

    /// What Codex starts by itself once no turn runs: a queued message first, then its goal.
    pub(crate) fn go_on(&mut self) -> Vec<Later> {
        if self.turn.is_some() || !self.loaded {
            return Vec::new();
        }
        let message = self.standing.next_message();
        let account = if message.is_none() { self.standing.next_goal_turn() } else { None };
        if message.is_none() && account.is_none() {
            return Vec::new();
        }
        self.n_turns += 1;
        let turn = format!("turn-{}-{}", self.n_turns, self.id);
        self.turn = Some(turn.clone());
        let started = json!({"turn": {"id": turn, "items": [], "status": "inProgress"}});
        let mut lines = vec![(5, self.status("active")), (6, self.line("turn/started", started))];
        if let Some(message) = message {
            lines.insert(0, (0, self.line("thread/queue/changed", json!({}))));
            let shown = self.message(&turn, &message["clientUserMessageId"], &message["input"]);
            lines.extend(shown.into_iter().map(|(_, line)| (14, line)));
        }
        if let Some(account) = account {
            let item = json!({"type": "agentMessage", "id": format!("step-{}-{}", self.n_turns, self.id), "text": "step"});
            let params = json!({"turnId": turn, "item": item});
            lines.push((20, self.line("item/started", params.clone())));
            lines.push((21, self.line("item/completed", params)));
            let params = json!({"turnId": turn, "goal": account});
            lines.push((298, self.line("thread/goal/updated", params)));
        }
        if !std::mem::take(&mut self.held) {
            let end = json!({"turn": {"id": turn, "items": [], "status": "completed", "error": null}});
            lines.push((299, self.status("idle")));
            lines.push((300, self.line("turn/completed", end)));
        }
        lines
    }

    pub(super) fn lines(&self, said: impl IntoIterator<Item = Said>) -> Vec<Later> {
        said.into_iter().map(|(after, method, params)| (after, self.line(method, params))).collect()
    }

    /// What follows a `thread/resume`.
    pub(crate) fn after_resume(&mut self) -> Vec<Later> {
        let said = self.standing.resumed();
        let mut lines = self.lines(said);
        lines.extend(self.go_on());
        lines
    }
}
