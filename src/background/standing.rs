//! Work without a process that outlives its turn: a goal, or a message that waits in Codex's queue.
//!
//! Owns how it looks as a tool call. Does not know when it ends.

use crate::core::goals::Goal;
use crate::core::ids::{Tick, ToolCallId};
use crate::core::queued::QueuedMessage;
use crate::core::update::{CallChange, CallContent, CallOpened, EndedBy, OpenStatus, ToolKind};

/// Characters of a title's text; the whole text is in the content then.
const TITLE: usize = 100;

/// Why a goal that was at work is not: v1 has no status for it.
const CUT_OFF: &str = "Its turn was cut off: Codex goes on with it after the next turn.";

/// One piece of standing work, listed from its announcement to its end.
#[derive(Debug)]
pub(crate) struct Standing {
    pub(crate) kind: Kind,
    pub(crate) status: OpenStatus,
    /// Why we end it; written down before Codex is asked.
    pub(crate) stop: Option<EndedBy>,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Goal(Goal),
    Queued {
        message: QueuedMessage,
        /// When a list first did not name it: it is being started, or somebody took it out.
        missing: Option<Tick>,
    },
}

impl Standing {
    pub(crate) fn goal(goal: Goal, status: OpenStatus) -> Self {
        Self { kind: Kind::Goal(goal), status, stop: None }
    }

    pub(crate) fn queued(message: QueuedMessage) -> Self {
        Self { kind: Kind::Queued { message, missing: None }, status: OpenStatus::Pending, stop: None }
    }

    /// Its announcement, as it is now.
    pub(crate) fn opened(&self, call: ToolCallId) -> CallOpened {
        let name = match self.kind {
            Kind::Goal(_) => "goal",
            Kind::Queued { .. } => "queued_message",
        };
        CallOpened {
            call,
            name: Some(name.to_owned()),
            title: self.title(),
            kind: ToolKind::Other,
            status: self.status,
            locations: Vec::new(),
            content: self.content(None),
            input: None,
            can_cancel: true,
        }
    }

    /// What is different from `former`; `None` if nothing is.
    pub(crate) fn change(&self, former: &CallOpened) -> Option<CallChange> {
        let now = self.opened(former.call.clone());
        let change = CallChange {
            status: (now.status != former.status).then_some(now.status),
            title: (now.title != former.title).then_some(now.title),
            content: (now.content != former.content).then_some(now.content),
            ..CallChange::default()
        };
        (change != CallChange::default()).then_some(change)
    }

    /// Its last update: the text stays, `line` says how it ended.
    pub(crate) fn last(&self, line: &str) -> CallChange {
        CallChange {
            content: Some(self.content(Some(line))),
            can_cancel: Some(false),
            ..CallChange::default()
        }
    }

    /// One line for people.
    pub(crate) fn title(&self) -> String {
        match &self.kind {
            Kind::Goal(goal) => format!("Goal: {}", headline(&goal.objective)),
            Kind::Queued { message, .. } => format!("Queued: {}", headline(&message.text)),
        }
    }

    fn content(&self, line: Option<&str>) -> Vec<CallContent> {
        let (text, spent) = match &self.kind {
            Kind::Goal(goal) => (&goal.objective, spent(goal)),
            Kind::Queued { message, .. } => (&message.text, None),
        };
        let text = (headline(text) != text.trim()).then(|| text.clone());
        let line = line.or((self.status == OpenStatus::Paused).then_some(CUT_OFF));
        text.into_iter().chain(spent).chain(line.map(str::to_owned)).map(CallContent::Text).collect()
    }
}

/// The first line, bounded.
pub(crate) fn headline(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default().trim_end();
    match line.char_indices().nth(TITLE) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// What a goal has taken so far, once it is something.
fn spent(goal: &Goal) -> Option<String> {
    let tokens = match goal.token_budget {
        Some(budget) => format!("{} of {budget} tokens", goal.tokens_used),
        None => format!("{} tokens", goal.tokens_used),
    };
    (goal.tokens_used > 0 || goal.token_budget.is_some())
        .then(|| format!("{tokens}, {} s", goal.seconds_used))
}

#[cfg(test)]
mod tests {
    use super::{Standing, headline};
    use crate::core::goals::{Goal, GoalStatus};
    use crate::core::ids::{PromptKey, ToolCallId};
    use crate::core::queued::QueuedMessage;
    use crate::core::update::{CallContent, OpenStatus};

    fn goal(objective: &str, tokens_used: i64) -> Goal {
        Goal {
            objective: objective.to_owned(),
            status: GoalStatus::Active,
            token_budget: Some(300),
            tokens_used,
            seconds_used: 2,
            created_at: 7,
        }
    }

    #[test]
    fn a_title_is_one_bounded_line_and_the_rest_is_in_the_content() {
        assert_eq!(headline("one\ntwo"), "one");
        assert_eq!(headline(&"ä".repeat(200)), format!("{}…", "ä".repeat(100)));
        let message =
            QueuedMessage { id: "q".to_owned(), key: PromptKey::new("k"), text: "one\ntwo".to_owned() };
        let opened = Standing::queued(message).opened(ToolCallId::new("c"));
        assert_eq!(opened.title, "Queued: one");
        assert_eq!(opened.content, [CallContent::Text("one\ntwo".to_owned())]);
    }

    #[test]
    fn only_what_changed_is_said_again() {
        let call = || ToolCallId::new("c");
        let former = Standing::goal(goal("do it", 0), OpenStatus::Pending).opened(call());
        assert_eq!(Standing::goal(goal("do it", 0), OpenStatus::Pending).change(&former), None);
        let change = Standing::goal(goal("do it", 110), OpenStatus::InProgress).change(&former);
        let change = change.expect("tokens were used");
        assert_eq!((change.status, change.title), (Some(OpenStatus::InProgress), None));
        assert_eq!(change.content, Some(vec![CallContent::Text("110 of 300 tokens, 2 s".to_owned())]));
    }

    #[test]
    fn the_last_update_says_how_it_ended_and_takes_the_cancel_back() {
        let last = Standing::goal(goal("do it", 330), OpenStatus::InProgress).last("Done.");
        assert_eq!(last.can_cancel, Some(false));
        let texts = ["330 of 300 tokens, 2 s", "Done."].map(|text| CallContent::Text(text.to_owned()));
        assert_eq!(last.content, Some(texts.to_vec()));
    }
}
