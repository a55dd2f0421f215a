//! Subagents as their client knows them: named by their parents, mirrored, and back with their session.

use super::ledger::Call;
use super::{Belief, Findings, Model, Phase, Session};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// What a subagent's own session was told of its state, and its parent's.
#[derive(Debug, Default)]
pub(super) struct Subagent {
    /// Told in its own session and not yet in its parent's, oldest first.
    pub(super) unmirrored: VecDeque<Value>,
    mirrored: Value,
}

impl Belief {
    /// A subagent is named by its parent: for the first time, or again while its session comes back.
    pub(super) fn named(&mut self, parent: &str, child: &str) {
        let is_asked =
            |(_, call): (&str, &Call)| matches!(call.method.as_str(), "session/resume" | "session/load");
        let root = match self.requests.of(parent).any(is_asked) {
            true => Some(parent.to_owned()),
            false => {
                self.coming_back.iter().find(|(_, its)| its.contains(parent)).map(|(root, _)| root.clone())
            }
        };
        let is_news = |root: String| self.coming_back.entry(root).or_default().insert(child.to_owned());
        let comes_back = root.is_some_and(is_news);
        if !comes_back && self.sessions.contains_key(child) {
            return;
        }
        let mut session = self.fresh(if comes_back { Phase::Opening } else { Phase::Open });
        let former = self.sessions.remove(child).filter(|_| comes_back);
        if let (Some(Session { model: Model::V2(former), .. }), Model::V2(model)) =
            (&former, &mut session.model)
        {
            model.comes_after(former);
        }
        session.former = former.map(Box::new);
        self.sessions.insert(child.to_owned(), session);
        if comes_back {
            self.subagents.remove(child);
        }
    }

    /// The resume of a session is answered: each of its subagents was told whole by then.
    pub(super) fn subagents_are_back(&mut self, call: &Call) {
        for child in self.coming_back.remove(call.session()).unwrap_or_default() {
            let Some(session) = self.sessions.get_mut(&child) else { continue };
            session.phase = Phase::Open;
            let is_new = session.former.take().is_none();
            // One that began meanwhile is as its announcement says.
            let is_announced = is_new && self.subagents.get(&child).is_some_and(|it| !it.mirrored.is_null());
            if let Model::V2(model) = &mut session.model
                && !is_announced
            {
                model.is_back(&mut self.found);
            }
        }
    }

    /// The resume of a session came to nothing: its subagents are what they were.
    pub(super) fn subagents_stay(&mut self, call: &Call) {
        for child in self.coming_back.remove(call.session()).unwrap_or_default() {
            let Some(session) = self.sessions.get_mut(&child) else { continue };
            match session.former.take() {
                Some(former) => *session = *former,
                None => session.phase = Phase::Closed,
            }
        }
    }
}

impl Subagent {
    /// Its parent's session tells its state: that which its own session was told, in the same order.
    pub(super) fn mirror(&mut self, name: &str, state: &Value, found: &mut Findings) {
        let quiet = json!({"state": "idle", "background": []});
        let wanted = match self.unmirrored.pop_front() {
            Some(state) => state,
            None if self.mirrored.is_null() => quiet,
            None => self.mirrored.clone(),
        };
        if *state != wanted {
            found.add("mirror-differs", format!("{name}: {state} for {wanted}"));
        }
        self.mirrored = state.clone();
    }
}
