//! One session as a v1 client believes it to be.
//!
//! v1 has no list: what runs is what is not finished.

mod call;

use super::{Findings, base};
use call::Call;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Whether a prompt (or the replay of a load) is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scene {
    Turn,
    Quiet,
}

/// Kinds that may come at any time.
const SESSION_LEVEL: [&str; 9] = [
    "tool_call_update",
    "usage_update",
    "session_info_update",
    "available_commands_update",
    "config_option_update",
    "current_mode_update",
    "plan",
    "plan_update",
    "notice",
];

const TURN_ONLY: [&str; 4] =
    ["user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call"];

#[derive(Debug, Default)]
pub(crate) struct Session {
    calls: BTreeMap<String, Call>,
    /// A turn that nobody prompted has opened with a line of its own (D13).
    woken: bool,
}

impl Session {
    pub(crate) fn update(&mut self, update: &Value, scene: Scene, client: &Value, found: &mut Findings) {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        check_kind(kind, client, found);
        match scene {
            Scene::Turn => self.woken = false,
            Scene::Quiet if TURN_ONLY.contains(&kind) => {
                self.woken |= opens_turn(update);
                if !self.woken {
                    found.add("after-answer", update.to_string());
                }
            }
            Scene::Quiet => {}
        }
        let id = update["toolCallId"].as_str().unwrap_or_default();
        let streams = client["clientCapabilities"]["_meta"]["terminal_output"] == true;
        if !streams
            && ["terminal_info", "terminal_output", "terminal_exit"]
                .iter()
                .any(|name| update["_meta"].get(name).is_some())
        {
            found.add("ungated", format!("terminal of {id}"));
        }
        match (kind, self.calls.get_mut(id)) {
            ("tool_call", None) => {
                let call = Call::open(id, update, found);
                self.calls.insert(id.to_owned(), call);
            }
            ("tool_call", Some(_)) => found.add("call-twice", id.to_owned()),
            ("tool_call_update", None) => found.add("update-before-call", id.to_owned()),
            ("tool_call_update", Some(call)) => call.update(id, update, found),
            _ => {}
        }
    }

    pub(crate) fn asked(&mut self, params: &Value, found: &mut Findings) {
        // The tool call of a question is an upsert: a new one only has to say what it is.
        let call = &params["toolCall"];
        let Some(id) = call["toolCallId"].as_str() else { return };
        match self.calls.get_mut(id) {
            Some(known) => known.update(id, call, found),
            None if call["title"].is_string() => {
                self.calls.insert(id.to_owned(), Call::open(id, call, found));
            }
            None => found.add("ask-about-unknown", id.to_owned()),
        }
    }

    pub(crate) fn at_rest(
        &mut self,
        live: &BTreeSet<String>,
        standing: &BTreeSet<String>,
        found: &mut Findings,
    ) {
        for name in standing {
            if !self.calls.iter().any(|(id, call)| base(id) == name && call.is_running()) {
                found.add("rest-missing", format!("{name} stands and is no open call"));
            }
        }
        for id in live {
            match self.is_running(id) {
                Some(true) => {}
                Some(false) => found.add("rest-missing", format!("{id} runs and is believed to have ended")),
                None => found.add("rest-missing", format!("{id} runs and was never announced")),
            }
        }
        for (id, call) in &self.calls {
            if call.is_running() && !live.contains(id) && !standing.contains(base(id)) {
                found.add("rest-ghost", format!("{id} has ended and is believed to run"));
            }
        }
    }

    pub(crate) fn output(&self, id: &str) -> Option<String> {
        Some(self.calls.get(id)?.output())
    }

    pub(crate) fn is_running(&self, id: &str) -> Option<bool> {
        Some(self.calls.get(id)?.is_running())
    }
}

fn opens_turn(update: &Value) -> bool {
    update["sessionUpdate"] == "agent_message_chunk"
}

fn check_kind(kind: &str, client: &Value, found: &mut Findings) {
    let capabilities = &client["clientCapabilities"];
    let gate = match kind {
        _ if TURN_ONLY.contains(&kind) => return,
        "notice" => &capabilities["session"]["notices"],
        "plan_update" | "plan_removed" => &capabilities["plan"],
        "compaction_update" | "compaction_summary_chunk" => &capabilities["session"]["compaction"],
        "subagent_update" | "session_message" | "session_message_chunk" => &capabilities["subagents"],
        _ if SESSION_LEVEL.contains(&kind) => return,
        _ => return found.add("unknown-update", kind.to_owned()),
    };
    if gate.is_null() || *gate == false {
        found.add("ungated", kind.to_owned());
    }
}
