//! The plan of a turn: its steps, and why they are what they are.

use super::cx::Cx;
use super::ids::MessageId;
use super::session::Session;
use super::update::{PlanEntry, Update};

impl Session {
    /// `turn/plan/updated`. Neither version's plan has room for the reason: it is a thought of its own.
    pub(crate) fn plan(&mut self, cx: &mut Cx<'_>, reason: Option<String>, entries: Vec<PlanEntry>) {
        if let Some(text) = reason.filter(|it| !it.trim().is_empty()) {
            let message = MessageId::new(format!("plan-{}", cx.desk.next_key()));
            self.emit(cx, Update::ThoughtText { message, text });
        }
        self.emit(cx, Update::Plan(entries));
    }
}
