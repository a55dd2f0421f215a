//! One session as a v2 client believes it to be.
//!
//! Each update is first held against what is known, then folded.

mod call;
mod prompt;
mod state;
mod terminal;

use super::fold::{Store, bytes};
use super::{Findings, base};
use prompt::Prompts;
use serde_json::Value;
use state::State;
use std::collections::BTreeSet;

/// Whether an update is news or history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scene {
    Replay,
    Live,
}

#[derive(Debug, Default)]
pub(crate) struct Session {
    store: Store,
    state: State,
    prompts: Prompts,
    /// `state_update` and `replay_complete` so far, for the order of a resume.
    n_snapshots: usize,
    n_replays: usize,
}

impl Session {
    pub(crate) fn update(&mut self, update: &Value, scene: Scene, n_asks: usize, found: &mut Findings) {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        if !Store::knows(kind) {
            return found.add("unknown-update", kind.to_owned());
        }
        match kind {
            "terminal_update" => terminal::check_update(&self.store, update, found),
            "terminal_output_chunk" => terminal::check_chunk(&self.store, update, found),
            "tool_call_update" => call::check_update(&self.store, update, found),
            "tool_call_content_chunk" => call::check_chunk(&self.store, update, found),
            "user_message" if scene == Scene::Live => self.prompts.user_message(update, found),
            "replay_complete" => self.n_replays += 1,
            "state_update" => {
                self.n_snapshots += 1;
                if scene == Scene::Replay {
                    found.add("state-during-replay", update.to_string());
                }
                self.state.snapshot(&self.store, update, n_asks, found);
            }
            _ => {}
        }
        self.store.apply(update);
    }

    pub(crate) fn asked(&mut self, params: &Value, found: &mut Findings) {
        let subject = &params["subject"];
        let call = subject["toolCallId"].as_str().or_else(|| subject["toolCall"]["toolCallId"].as_str());
        if subject["type"] == "tool_call" {
            let mut update = subject["toolCall"].clone();
            if let Some(members) = update.as_object_mut() {
                members.insert("sessionUpdate".into(), "tool_call_update".into());
                call::check_update(&self.store, &update, found);
                self.store.apply(&update);
            }
        }
        let terminal = subject["terminalId"].as_str();
        for (target, id) in [("toolCall", call), ("terminal", terminal)] {
            if let Some(id) = id
                && self.store.get(target, id).is_none()
            {
                found.add("ask-about-unknown", format!("{target} {id}"));
            }
        }
        let keys: Vec<String> =
            call.map(state::call_key).into_iter().chain(terminal.map(state::terminal_key)).collect();
        if !self.state.is_active() && !keys.is_empty() && !keys.iter().any(|key| self.state.lists(key)) {
            found.add("ask-about-unlisted", keys.join(" "));
        }
    }

    pub(crate) fn prompted(&mut self, params: &Value) {
        self.prompts.sent(params);
    }

    pub(crate) fn inserted(&mut self, params: &Value, result: &Value, found: &mut Findings) {
        self.prompts.inserted(params, result, found);
    }

    pub(crate) fn refused(&mut self, params: &Value, found: &mut Findings) {
        self.prompts.refused(params, found);
    }

    /// A resume was answered; `replay` if it asked for the history.
    pub(crate) fn resumed(&mut self, replay: bool, found: &mut Findings) {
        if self.n_snapshots != 1 {
            found.add("resume-snapshot", format!("{} state updates before the answer", self.n_snapshots));
        }
        if self.n_replays != usize::from(replay) {
            found.add("replay-complete", format!("{} of them", self.n_replays));
        }
    }

    /// The session that it works for is back, and so is this subagent.
    pub(crate) fn is_back(&mut self, found: &mut Findings) {
        if self.n_snapshots == 0 {
            found.add("resume-snapshot", "no state update of a subagent before the answer".into());
        }
    }

    /// A close was answered.
    pub(crate) fn closed(&mut self, found: &mut Findings) {
        if self.state.is_active() {
            found.add("close-while-running", "no idle before the answer".into());
        }
    }

    pub(crate) fn at_rest(
        &mut self,
        live: &BTreeSet<String>,
        standing: &BTreeSet<String>,
        n_asks: usize,
        found: &mut Findings,
    ) {
        let calls = || self.state.listed().into_iter();
        let listed: BTreeSet<String> =
            calls().filter_map(|key| Some(base(key.strip_prefix("tool_call:")?).to_owned())).collect();
        for name in standing.difference(&listed) {
            found.add("rest-missing", format!("{name} stands and is not listed"));
        }
        for name in listed.difference(standing) {
            found.add("rest-ghost", format!("tool call {name} is listed and nothing of it stands"));
        }
        for id in live {
            match terminal::is_live(&self.store, id) {
                None => found.add("rest-missing", format!("{id} runs and was never announced")),
                Some(false) => found.add("rest-missing", format!("{id} runs and is believed to have ended")),
                Some(true) if self.state.is_active() || self.state.lists(&state::terminal_key(id)) => {}
                Some(true) => {
                    found.add("rest-missing", format!("{id} runs in the background and is not listed"))
                }
            }
        }
        for (id, _) in self.store.all("terminal") {
            if terminal::is_live(&self.store, id) == Some(true) && !live.contains(id) {
                found.add("rest-ghost", format!("terminal {id} has ended and is believed to run"));
            }
        }
        if !self.state.is_active() {
            for (id, entity) in self.store.all("toolCall") {
                if !call::is_final(entity) && !live.contains(id) && !self.state.lists(&state::call_key(id)) {
                    found.add(
                        "rest-ghost",
                        format!("tool call {id} is {} with nothing running", entity["status"]),
                    );
                }
            }
        }
        if self.state.is_waiting() && n_asks == 0 {
            found.add("requires-action-unasked", "at rest".into());
        }
        call::check_references(&self.store, found);
        self.prompts.at_rest(found);
    }

    /// A turn that ran before a resume may end under it.
    pub(crate) fn comes_after(&mut self, former: &Self) {
        self.state.may_end = former.state.is_active();
    }

    /// The prompts of the session that this one is taken for again.
    pub(crate) fn keep_prompts(&mut self, other: &mut Self) {
        self.prompts.keep(std::mem::take(&mut other.prompts));
    }

    pub(crate) fn output(&self, terminal: &str) -> Option<String> {
        let data = &self.store.get("terminal", terminal)?["output"]["data"];
        Some(String::from_utf8_lossy(&bytes(data).unwrap_or_default()).into_owned())
    }

    pub(crate) fn is_live(&self, terminal: &str) -> Option<bool> {
        terminal::is_live(&self.store, terminal)
    }

    pub(crate) fn listed(&self) -> Vec<String> {
        self.state.listed()
    }
}
