//! Turns of a played thread that answer no message: compaction and review, as they were recorded.

use super::{Later, Thread};
use serde_json::{Value, json};

impl Thread {
    /// `thread/compact/start`.
    pub(super) fn compact(&mut self) -> (Value, Vec<Later>) {
        let turn = self.own_turn();
        let item = json!({"type": "contextCompaction", "id": format!("compact-{turn}")});
        let params = json!({"turnId": turn, "item": item});
        let tokens = |total: u64| json!({"totalTokens": total, "inputTokens": total});
        let usage = json!({"total": tokens(330), "last": tokens(7955), "modelContextWindow": 258_400});
        let started = json!({"turn": {"id": turn, "rootTurnId": turn, "items": [], "status": "inProgress"}});
        let mut lines = vec![
            (1, self.status("active")),
            (2, self.line("turn/started", started)),
            (5, self.line("item/started", params.clone())),
        ];
        if !std::mem::take(&mut self.held) {
            lines.extend([
                (30, self.line("thread/tokenUsage/updated", json!({"turnId": turn, "tokenUsage": usage}))),
                (31, self.line("item/completed", params)),
            ]);
            lines.extend(self.own_end(&turn, 35));
        }
        (json!({"result": {}}), lines)
    }

    /// `review/start`: the reviewer works in a turn of its own name, and all that is said but for its
    /// start carries the name of the whole.
    pub(super) fn review(&mut self, target: &Value) -> (Value, Vec<Later>) {
        let turn = self.own_turn();
        self.turn = Some(turn.clone());
        let about = match target["type"].as_str() {
            Some("baseBranch") => {
                format!("changes against '{}'", target["branch"].as_str().unwrap_or_default())
            }
            Some("commit") => format!("commit {}", target["sha"].as_str().unwrap_or_default()),
            _ => "current changes".to_owned(),
        };
        let part =
            json!({"id": format!("part-{turn}"), "rootTurnId": turn, "items": [], "status": "inProgress"});
        let entered = self.own_item(
            &turn,
            json!({"type": "enteredReviewMode", "id": format!("entered-{turn}"), "review": about}),
        );
        let mut lines = vec![(1, entered[0].clone()), (2, entered[1].clone())];
        lines.push((20, self.status("active")));
        lines.push((21, self.line("turn/started", json!({"turn": part}))));
        let asked = json!([{"type": "text", "text": "Review it.", "text_elements": []}]);
        let message =
            json!({"type": "userMessage", "id": format!("asked-{turn}"), "clientId": null, "content": asked});
        lines.extend(self.own_item(&turn, message).map(|line| (25, line)));
        if !std::mem::take(&mut self.held) {
            let raw =
                json!({"type": "agentMessage", "id": format!("raw-{turn}"), "text": "{\"findings\":[]}"});
            lines.push((60, self.own_item(&turn, raw)[0].clone()));
            lines.extend(self.exited(&turn, "Nothing to find.").map(|line| (70, line)));
            let said =
                json!({"type": "agentMessage", "id": format!("said-{turn}"), "text": "Nothing to find."});
            lines.extend(self.own_item(&turn, said).map(|line| (71, line)));
            lines.extend(self.own_end(&turn, 75));
        }
        let result = json!({"id": turn, "rootTurnId": null, "items": [], "status": "inProgress"});
        (json!({"result": {"turn": result, "reviewThreadId": self.id()}}), lines)
    }

    /// What comes before the end of a review that is cut off.
    pub(super) fn cut_review(&mut self, turn: &str) -> Vec<Later> {
        match self.part.take() {
            Some(_) => {
                self.exited(turn, "Reviewer failed to output a response.").map(|line| (1, line)).to_vec()
            }
            None => Vec::new(),
        }
    }

    fn exited(&self, turn: &str, review: &str) -> [Value; 2] {
        let item = json!({"type": "exitedReviewMode", "id": format!("exited-{turn}"), "review": review});
        self.own_item(turn, item)
    }

    fn own_turn(&mut self) -> String {
        self.n_turns += 1;
        format!("turn-{}-{}", self.n_turns, self.id())
    }

    fn own_item(&self, turn: &str, item: Value) -> [Value; 2] {
        let params = json!({"turnId": turn, "item": item});
        ["item/started", "item/completed"].map(|method| self.line(method, params.clone()))
    }

    fn own_end(&self, turn: &str, after: u64) -> [Later; 2] {
        let end = json!({"turn": {"id": turn, "items": [], "status": "completed", "error": null}});
        [(after, self.status("idle")), (after, self.line("turn/completed", end))]
    }
}
