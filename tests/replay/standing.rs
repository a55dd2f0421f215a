//! The goal and the queue of a played thread, as Codex was measured to treat them.
//!
//! Says what becomes of them in which order; the thread makes lines of it.

use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A notification about the thread, so many milliseconds from now.
pub(crate) type Said = (u64, &'static str, Value);

#[derive(Debug, Default)]
pub(crate) struct Standing {
    goal: Option<Value>,
    /// Turns that a goal of a story still takes; one of a recording takes those that were recorded.
    turns_left: u32,
    /// What becomes of the goal in its last turn, if anything.
    ends: Option<String>,
    queue: Vec<Value>,
    /// A turn was cut off: nothing is started until the next one has ended or the thread is resumed.
    halted: bool,
    n_made: u32,
}

impl Standing {
    /// Names of the calls that show what waits or goes on, without a suffix for one that came again.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        let goal = self.goal.iter().filter(|goal| goal["status"] == "active");
        let goal = goal.map(|goal| format!("goal-{}", goal["createdAt"]));
        let queued = self.queue.iter().filter_map(|it| Some(format!("queued-{}", it["id"].as_str()?)));
        goal.chain(queued).collect()
    }

    /// A goal is set; it takes `turns` turns and then `ends` with this status, or stays.
    pub(crate) fn set_goal(&mut self, objective: &str, turns: u32, ends: Option<String>) -> Said {
        self.n_made += 1;
        (self.turns_left, self.ends) = (turns, ends);
        self.goal = Some(json!({
            "objective": objective, "status": "active", "tokenBudget": 1000, "tokensUsed": 0,
            "timeUsedSeconds": 0, "createdAt": self.n_made, "updatedAt": self.n_made
        }));
        self.told(0)
    }

    /// Somebody else gives the goal another status.
    pub(crate) fn set_status(&mut self, status: &str) -> Option<Said> {
        self.goal.as_mut()?["status"] = json!(status);
        if status == "active" {
            self.halted = false;
        }
        Some(self.told(0))
    }

    /// A message joins the queue.
    pub(crate) fn enqueue(&mut self, key: &str, text: &str) -> Said {
        self.n_made += 1;
        let input = json!([{"type": "text", "text": text, "text_elements": []}]);
        let id = format!("sub-{}", self.n_made);
        self.queue.push(json!({"id": id, "clientUserMessageId": key, "input": input}));
        changed()
    }

    /// Somebody else takes the message with this key out of it.
    pub(crate) fn unqueue(&mut self, key: &str) -> Said {
        self.queue.retain(|it| it["clientUserMessageId"] != key);
        changed()
    }

    /// Somebody else takes out what was queued last.
    pub(crate) fn unqueue_newest(&mut self) -> Option<Said> {
        self.queue.pop().map(|_| changed())
    }

    /// Answers one of our requests, and what follows; `None` if it is about something else.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Option<(Value, Vec<Said>)> {
        let ok = |result: Value| json!({ "result": result });
        Some(match method {
            "thread/goal/get" => (ok(json!({"goal": self.goal})), Vec::new()),
            "thread/goal/set" if params["objective"].is_string() => {
                let said = self.set_goal(params["objective"].as_str().unwrap_or_default(), 1, None);
                (ok(json!({"goal": self.goal})), vec![said])
            }
            "thread/goal/set" => match &mut self.goal {
                Some(goal) => {
                    goal["status"] = params["status"].clone();
                    (ok(json!({"goal": self.goal})), vec![self.told(2)])
                }
                None => {
                    let message = "cannot update goal for thread: no goal exists";
                    (json!({"error": {"code": -32600, "message": message}}), Vec::new())
                }
            },
            "thread/goal/clear" => match self.goal.take() {
                Some(_) => (ok(json!({"cleared": true})), vec![(2, "thread/goal/cleared", json!({}))]),
                None => (ok(json!({"cleared": false})), Vec::new()),
            },
            "thread/queue/list" => (ok(json!({"data": self.queue, "nextCursor": null})), Vec::new()),
            "thread/queue/delete" => {
                let former = self.queue.len();
                self.queue.retain(|it| it["id"] != params["queuedSubmissionId"]);
                let deleted = self.queue.len() < former;
                let said = deleted.then(|| (1, "thread/queue/changed", json!({})));
                (ok(json!({"deleted": deleted})), said.into_iter().collect())
            }
            _ => return None,
        })
    }

    /// What a line says that is about to be sent. `false`: Codex would not say it any more.
    pub(crate) fn hears(&mut self, method: &str, params: &Value, is_idle: bool) -> bool {
        match method {
            "thread/goal/updated" => {
                let (told, known) = (&params["goal"], self.goal.as_ref());
                let is_of_story = told["createdAt"].as_u64().is_some_and(|at| at <= u64::from(self.n_made));
                let is_same = |goal: &Value| goal["createdAt"] == told["createdAt"];
                // The account of a turn comes only of a goal that is still at work.
                if is_of_story && !known.is_some_and(|goal| is_same(goal) && goal["status"] == "active") {
                    return known.is_some_and(|goal| is_same(goal) && goal["status"] == told["status"]);
                }
                self.goal = Some(told.clone());
            }
            "thread/goal/cleared" => self.goal = None,
            // Only in a recording: somebody added a message, and Codex answered with it.
            "played/queued" => {
                self.queue.push(params["queuedSubmission"].clone());
                return false;
            }
            // Said between turns it means that the first message is being started.
            "thread/queue/changed" if is_idle && !self.queue.is_empty() && !self.halted => {
                self.queue.remove(0);
            }
            "item/started" if params["item"]["type"] == "userMessage" => {
                let key = &params["item"]["clientId"];
                self.queue.retain(|it| it["clientUserMessageId"] != *key);
            }
            "turn/completed" => self.halted = params["turn"]["status"] == "interrupted",
            _ => {}
        }
        true
    }

    /// The thread is resumed: what was halted goes on.
    pub(crate) fn resumed(&mut self) -> Option<Said> {
        self.halted = false;
        self.goal.as_ref().map(|_| self.told(1))
    }

    /// The message that Codex starts by itself now, if nothing runs.
    pub(crate) fn next_message(&mut self) -> Option<Value> {
        (!self.halted && !self.queue.is_empty()).then(|| self.queue.remove(0))
    }

    /// The account that ends the next turn of the goal, if nothing runs and it goes on.
    pub(crate) fn next_goal_turn(&mut self) -> Option<Value> {
        let goal = self.goal.as_ref().filter(|goal| goal["status"] == "active")?;
        if self.halted || self.turns_left == 0 {
            return None;
        }
        self.turns_left -= 1;
        let mut account = goal.clone();
        account["tokensUsed"] = json!(account["tokensUsed"].as_i64().unwrap_or_default() + 110);
        if let (0, Some(ends)) = (self.turns_left, &self.ends) {
            account["status"] = json!(ends);
        }
        Some(account)
    }

    fn told(&self, after: u64) -> Said {
        (after, "thread/goal/updated", json!({"turnId": null, "goal": self.goal}))
    }
}

fn changed() -> Said {
    (0, "thread/queue/changed", json!({}))
}
