//! A goal that Codex works at by itself, turn after turn, shown as a listed tool call (D15).
//!
//! Codex decides when it goes on and when it is over; we show it, and stop it when we are asked.

use super::codex::{CodexError, CodexReply, CodexRequest};
use super::cx::Cx;
use super::effect::Anomaly;
use super::ids::{ItemId, Tick};
use super::link::Purpose;
use super::session::{Session, Tie};
use super::turn::Front;
use super::update::{EndedBy, FinalStatus, OpenStatus, Severity, StopReason};
use crate::background::ledger::Work;
use crate::background::standing::{Kind, Standing};

/// How long after the end of a goal a turn of it may still begin: one that was scheduled, in ms.
const STRAY: u64 = 1_000;
/// The goal of a thread, as Codex describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    pub objective: String,
    pub status: GoalStatus,
    pub token_budget: Option<i64>,
    pub tokens_used: i64,
    pub seconds_used: i64,
    /// Seconds since the epoch; tells one goal from the next.
    pub created_at: i64,
}

/// Status of a goal; only an active one goes on by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoalStatus {
    Active,
    Paused,
    Blocked,
    UsageLimited,
    BudgetLimited,
    Complete,
}

impl Session {
    /// What Codex says of the goal; `None`: there is none.
    pub(crate) fn goal_told(&mut self, cx: &mut Cx<'_>, goal: Option<Goal>) {
        let open = self.standing_item(|standing| matches!(standing.kind, Kind::Goal(_)));
        match (goal, open) {
            (Some(goal), Some(item)) if goal.status == GoalStatus::Active => {
                match self.is_goal(&item, goal.created_at) {
                    true => self.change_standing(cx, &item, |standing| standing.kind = Kind::Goal(goal)),
                    false => {
                        self.end_standing(cx, &item, FinalStatus::Cancelled, "Another goal took its place.");
                        self.open_goal(cx, goal);
                    }
                }
            }
            (Some(goal), None) if goal.status == GoalStatus::Active => self.open_goal(cx, goal),
            (Some(goal), Some(item)) => {
                let (status, line) = ending(goal.status);
                // Its last account is told with its end.
                if let Some(standing) = self.ledger.standing_mut(&item) {
                    standing.kind = Kind::Goal(goal);
                }
                self.goal_ended(cx, &item, status, line);
            }
            (None, Some(item)) => {
                self.goal_ended(cx, &item, FinalStatus::Cancelled, "Cleared.");
            }
            (Some(_) | None, None) => {}
        }
        self.report(cx);
        self.close_if_done(cx);
    }

    fn open_goal(&mut self, cx: &mut Cx<'_>, goal: Goal) {
        // Set while the session closes: it must not go on after that.
        if self.closing.is_some() {
            self.await_turn_on_its_way(cx);
            let request = CodexRequest::GoalPause { thread: self.thread.clone() };
            return self.change_goal(cx, request);
        }
        if self.tie != Tie::Loaded {
            return;
        }
        self.reads.goal_stopped = None;
        let status = match self.front {
            Front::Active(_) => OpenStatus::InProgress,
            Front::Idle | Front::Starting { .. } => OpenStatus::Pending,
        };
        let item = ItemId::new(format!("goal-{}", goal.created_at));
        self.open_standing(cx, &item, Standing::goal(goal, status));
    }

    fn goal_ended(&mut self, cx: &mut Cx<'_>, item: &ItemId, status: FinalStatus, line: &str) {
        let stop = self.ledger.standing_mut(item).and_then(|standing| standing.stop);
        let (status, line) = match stop {
            // One that was reached all the same was not stopped.
            _ if status == FinalStatus::Completed => (status, line),
            Some(EndedBy::Close) => (FinalStatus::Cancelled, "Paused with its session."),
            Some(_) => (FinalStatus::Cancelled, "Stopped by you."),
            None => (status, line),
        };
        self.end_standing(cx, item, status, line);
    }

    fn is_goal(&self, item: &ItemId, created_at: i64) -> bool {
        let Some(Work::Standing(standing)) = self.ledger.get(item).map(|call| &call.work) else {
            return false;
        };
        matches!(&standing.kind, Kind::Goal(goal) if goal.created_at == created_at)
    }

    /// Stops a goal: gone if the client asked for it, kept and paused if its session closes. Then
    /// the turn that nobody but the goal started; the other way round Codex would start the next.
    pub(crate) fn stop_goal(&mut self, cx: &mut Cx<'_>, item: &ItemId, by: EndedBy) {
        let Some(standing) = self.ledger.standing_mut(item) else { return };
        // What is being cleared need not be paused.
        if standing.stop == Some(by) || standing.stop == Some(EndedBy::Client) {
            return;
        }
        standing.stop = Some(by);
        let thread = self.thread.clone();
        let request = match by {
            EndedBy::Close => CodexRequest::GoalPause { thread },
            EndedBy::Client | EndedBy::Cancel | EndedBy::Itself | EndedBy::Codex | EndedBy::AppServerLost => {
                CodexRequest::GoalClear { thread }
            }
        };
        self.change_goal(cx, request);
        self.reads.goal_stopped = Some(cx.now);
        let is_its_turn = matches!(&self.front, Front::Active(turn) if turn.unprompted);
        if is_its_turn && self.prompts.is_empty() {
            self.cancel_turn(cx);
        }
    }

    fn change_goal(&mut self, cx: &mut Cx<'_>, request: CodexRequest) {
        self.reads.goal_changes += 1;
        cx.link.call(Purpose::GoalStop { session: self.id.clone() }, request, cx.out);
    }

    /// Codex answered a pause or a clear.
    pub(crate) fn goal_stop_answered(&mut self, cx: &mut Cx<'_>, result: Result<CodexReply, CodexError>) {
        self.reads.goal_changed();
        let error = match result {
            Ok(CodexReply::Goal(goal)) => return self.goal_told(cx, goal),
            Ok(_) => "the answer has another shape than expected".to_owned(),
            Err(error) if error.message.contains("no goal") => return self.goal_told(cx, None),
            Err(error) => error.message,
        };
        cx.out.anomaly(Anomaly::CodexRefused { method: "thread/goal/set or clear", message: error.clone() });
        let open = self.standing_item(|standing| matches!(standing.kind, Kind::Goal(_)));
        let waiting = self.locals.waiting_for_goal();
        let is_told = !waiting.is_empty();
        for key in waiting {
            self.answer_local(cx, &key, &format!("Codex did not clear the goal, which goes on: {error}."));
        }
        let Some(item) = open else { return self.close_if_done(cx) };
        if self.closing.is_some() {
            self.end_standing(cx, &item, FinalStatus::Failed, "Codex did not let itself be stopped.");
            return self.close_if_done(cx);
        }
        if let Some(standing) = self.ledger.standing_mut(&item) {
            standing.stop = None;
        }
        if !is_told {
            let title = "Codex did not stop its goal; it goes on".to_owned();
            self.notice(cx, Severity::Warning, title, Some(error));
        }
    }

    /// A turn runs: the goal is at work in it, or goes on after it.
    pub(crate) fn goal_runs(&mut self, cx: &mut Cx<'_>) {
        self.goal_is(cx, OpenStatus::InProgress);
    }

    /// A turn that was cut off ends the chain: Codex goes on after the next turn, not by itself.
    pub(crate) fn goal_waits(&mut self, cx: &mut Cx<'_>, stop: &StopReason) {
        match stop {
            StopReason::Cancelled | StopReason::Error { .. } => self.goal_is(cx, OpenStatus::Paused),
            StopReason::EndTurn | StopReason::MaxTokens | StopReason::Refusal => {}
        }
    }

    fn goal_is(&mut self, cx: &mut Cx<'_>, status: OpenStatus) {
        if let Some(item) = self.standing_item(|standing| matches!(standing.kind, Kind::Goal(_))) {
            self.change_standing(cx, &item, |standing| standing.status = status);
        }
    }

    /// Whether a turn that begins now by itself is one of a goal that was just stopped.
    pub(crate) fn is_stray(&self, now: Tick) -> bool {
        let is_young = self.reads.goal_stopped.is_some_and(|at| now.0.saturating_sub(at.0) < STRAY);
        let waits = |standing: &Standing| matches!(standing.kind, Kind::Queued { .. });
        is_young && self.tie == Tie::Loaded && self.standing_item(waits).is_none()
    }
}

/// How a goal that is no longer active ended.
fn ending(status: GoalStatus) -> (FinalStatus, &'static str) {
    match status {
        GoalStatus::Complete => (FinalStatus::Completed, "Reached."),
        GoalStatus::Paused => (FinalStatus::Cancelled, "Paused: Codex does not go on with it by itself."),
        GoalStatus::Blocked => (FinalStatus::Failed, "Blocked: Codex cannot go on with it."),
        GoalStatus::BudgetLimited => (FinalStatus::Failed, "Stopped: its token budget is used up."),
        GoalStatus::UsageLimited => {
            (FinalStatus::Failed, "Stopped: the usage limit of the account is reached.")
        }
        // Not an end; said of an active one it would be a mistake of ours.
        GoalStatus::Active => (FinalStatus::Failed, "Ended."),
    }
}
