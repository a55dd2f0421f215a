//! Subagents that no recording has: somebody's model starts them, and what they do comes at any moment.
//!
//! An act that makes no sense now does nothing.

use super::{Later, Thread};
use serde_json::{Value, json};

/// What a subagent does, or what is done with it; numbers are in the order of their start.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Doing {
    /// The thread, or this subagent of it, starts another one.
    Starts(Option<usize>),
    /// It works: for the first time, or again.
    Works(usize),
    /// It runs a command, and waits for it.
    Runs(usize),
    /// What it runs is handed back to it.
    IsHandedBack(usize),
    /// Its oldest command ends by itself.
    Ends(usize),
    /// It asks whether it may run one.
    Asks(usize),
    Rests(usize),
    /// Codex takes it out of its memory.
    IsUnloaded(usize),
    /// The thread waits for it by name, as with the older tools; beside other such waits.
    IsAwaited(usize),
    /// The newest of them is over.
    IsAwaitedNoMore,
}

/// Those that were started, and how many things they did.
#[derive(Debug, Default)]
pub(super) struct Started {
    ids: Vec<String>,
    n: i64,
    /// Waits of the thread, with the turn that they are in.
    waits: Vec<(String, Value)>,
}

impl Thread {
    /// What Codex says of it.
    pub(crate) fn does(&mut self, doing: Doing) -> Vec<Later> {
        self.started.n += 1;
        let n = self.started.n;
        match doing {
            Doing::Starts(None) => {
                match (self.loaded && self.subscribed).then(|| self.turn.clone()).flatten() {
                    Some(turn) => self.starts_one(&self.id.clone(), &turn, "/root"),
                    None => Vec::new(),
                }
            }
            Doing::Starts(Some(nth)) => match self.of_started(nth) {
                Some((id, Some(turn))) => self.starts_one(&id, &turn, &format!("/root/x{nth}")),
                Some((_, None)) | None => Vec::new(),
            },
            Doing::Works(nth) => match self.of_started(nth) {
                Some((id, None)) => self.works(&id, 0),
                Some((_, Some(_))) | None => Vec::new(),
            },
            Doing::Rests(nth) => {
                let Some((id, Some(turn))) = self.of_started(nth) else { return Vec::new() };
                let end = json!({"id": turn, "items": [], "status": "completed", "error": null});
                let idle = json!({"status": {"type": "idle"}});
                vec![
                    (0, line(&id, "thread/status/changed", idle)),
                    (1, line(&id, "turn/completed", json!({"turn": end}))),
                ]
            }
            Doing::Runs(nth) => {
                let Some((id, Some(turn))) = self.of_started(nth) else { return Vec::new() };
                let item = command(n, &id, Some(n), "inProgress");
                vec![(0, line(&id, "item/started", json!({"turnId": turn, "item": item})))]
            }
            Doing::IsHandedBack(nth) => {
                let Some((id, Some(turn))) = self.of_started(nth) else { return Vec::new() };
                let last = json!({"totalTokens": 110, "inputTokens": 100, "cachedInputTokens": 0, "outputTokens": 10, "reasoningOutputTokens": 0});
                let usage = json!({"total": last, "last": last, "modelContextWindow": 1000});
                vec![(
                    0,
                    line(&id, "thread/tokenUsage/updated", json!({"turnId": turn, "tokenUsage": usage})),
                )]
            }
            Doing::Ends(nth) => {
                let Some(id) = self.started.ids.get(nth).cloned() else { return Vec::new() };
                self.subagents.ends_by_itself(&id).into_iter().collect()
            }
            Doing::Asks(nth) => {
                let Some((id, Some(turn))) = self.of_started(nth) else { return Vec::new() };
                let item = command(n, &id, None, "inProgress");
                let params = json!({"kind": "command", "turnId": turn, "itemId": item["id"], "startedAtMs": n, "approvalId": null, "environmentId": null,
                    "reason": null, "command": item["command"], "cwd": item["cwd"], "availableDecisions": ["accept", "cancel"]});
                let mut ask = line(&id, "item/commandExecution/requestApproval", params);
                ask["id"] = json!(500 + n);
                vec![(0, line(&id, "item/started", json!({"turnId": turn, "item": item}))), (1, ask)]
            }
            Doing::IsUnloaded(nth) => match self.of_started(nth) {
                Some((id, None)) => {
                    vec![(0, line(&id, "thread/status/changed", json!({"status": {"type": "notLoaded"}})))]
                }
                Some((_, Some(_))) | None => Vec::new(),
            },
            Doing::IsAwaited(nth) => {
                let (Some((id, _)), Some(turn)) = (self.of_started(nth), self.turn.clone()) else {
                    return Vec::new();
                };
                let wait = wait(&format!("wait-{n}-{}", self.id), &id, "inProgress");
                self.started.waits.push((turn.clone(), wait.clone()));
                vec![(0, line(&self.id, "item/started", json!({"turnId": turn, "item": wait})))]
            }
            Doing::IsAwaitedNoMore => {
                let Some((turn, mut wait)) = self.started.waits.pop() else { return Vec::new() };
                // Codex says no more of what was open when its turn was over.
                if self.turn.as_ref() != Some(&turn) || !self.loaded {
                    return Vec::new();
                }
                wait["status"] = json!("completed");
                vec![(0, line(&self.id, "item/completed", json!({"turnId": turn, "item": wait})))]
            }
        }
    }

    /// One that is in Codex's memory, and its turn.
    fn of_started(&self, nth: usize) -> Option<(String, Option<String>)> {
        let id = self.started.ids.get(nth).filter(|_| self.loaded && self.subscribed)?;
        Some((id.clone(), self.subagents.turn_of(id)?))
    }

    fn starts_one(&mut self, parent: &str, turn: &str, path: &str) -> Vec<Later> {
        let (nth, n) = (self.started.ids.len(), self.started.n);
        let child = format!("{}-{nth}", self.id);
        let path = format!("{path}/x{nth}");
        self.started.ids.push(child.clone());
        self.subagents.is_born(&child, parent, &path);
        let item = json!({"type": "subAgentActivity", "id": format!("start-{n}-{}", self.id), "kind": "started", "agentThreadId": child,
            "agentPath": path, "model": null, "reasoningEffort": null, "startedAtMs": n});
        let told = |method| line(parent, method, json!({"turnId": turn, "item": item}));
        let sign = line(&child, "thread/status/changed", json!({"status": {"type": "idle"}}));
        // The first sign of it may come before its parent names it.
        let (first, second) =
            if n % 2 == 0 { (sign, told("item/started")) } else { (told("item/started"), sign) };
        let mut lines = vec![(0, first), (0, second), (1, told("item/completed"))];
        lines.extend(self.works(&child, 2));
        lines
    }

    fn works(&self, child: &str, after: u64) -> Vec<Later> {
        let turn = json!({"id": format!("work-{}-{child}", self.started.n), "rootTurnId": self.newest_turn(), "items": [],
            "status": "inProgress", "error": null});
        vec![
            (
                after,
                line(
                    child,
                    "thread/status/changed",
                    json!({"status": {"type": "active", "activeFlags": []}}),
                ),
            ),
            (after + 1, line(child, "turn/started", json!({"turn": turn}))),
        ]
    }
}

fn wait(id: &str, child: &str, status: &str) -> Value {
    json!({"type": "collabAgentToolCall", "id": id, "tool": "wait", "status": status, "senderThreadId": null,
        "receiverThreadIds": [child], "agentsStates": {}, "prompt": null, "model": null, "reasoningEffort": null})
}

fn command(n: i64, thread: &str, process: Option<i64>, status: &str) -> Value {
    json!({"type": "commandExecution", "id": format!("cmd-{n}-{thread}"), "command": "/bin/bash -lc 'sleep 9'", "cwd": "/workspace/project",
        "processId": process.map(|it| it.to_string()), "source": "unifiedExecStartup", "status": status, "commandActions": [],
        "aggregatedOutput": null, "exitCode": null, "durationMs": null, "startedAtMs": n})
}

fn line(thread: &str, method: &str, mut params: Value) -> Value {
    params["threadId"] = json!(thread);
    json!({"method": method, "params": params})
}
