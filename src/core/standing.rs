//! What goals and queued messages have in common: opened, changed, ended, asked for.
//!
//! The call of each is announced here, changed here and ended here, and nowhere else.

use super::codex::{CodexError, CodexReply, CodexRequest};
use super::cx::Cx;
use super::effect::Anomaly;
use super::failure::Failure;
use super::ids::{ItemId, Tick, ToolCallId, TurnId};
use super::link::Purpose;
use super::request::{Reply, Ticket};
use super::session::Session;
use super::timer::Timer;
use super::turn::Front;
use super::update::{EndedBy, FinalStatus, OpenStatus, Update};

use crate::background::ledger::{Call, Work};
use crate::background::standing::{Kind, Standing};

/// How long a close waits for a turn that Codex may have scheduled, in ms; it took 10 where it was
/// measured.
const ON_ITS_WAY: u64 = 250;

/// What is being asked of Codex about standing work.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    pub(crate) goal_running: bool,
    pub(crate) queue_running: bool,
    pub(crate) queue_again: bool,
    /// So many changes of the goal are with Codex.
    pub(crate) goal_changes: usize,
    /// When we last stopped a goal.
    pub(crate) goal_stopped: Option<Tick>,
    /// Until when a close waits for a turn that Codex may have scheduled: of a goal, of a message, or of a subagent that
    /// was just announced.
    pub(crate) settled_at: Option<Tick>,
}

impl Reads {
    /// Whether everything that was asked is known.
    pub(crate) fn is_done(&self) -> bool {
        !self.goal_running && !self.queue_running
    }

    /// Whether no goal and no turn is on its way that a close would have to stop.
    pub(crate) fn is_settled(&self, now: Tick) -> bool {
        self.goal_changes == 0 && self.settled_at.is_none_or(|at| now >= at)
    }

    /// One of the changes of the goal is answered.
    pub(crate) fn goal_changed(&mut self) {
        self.goal_changes = self.goal_changes.saturating_sub(1);
    }

    /// No answer will come any more.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }
}

impl Session {
    /// The thread was loaded: asks for its goal and its queue.
    pub(crate) fn read_standing(&mut self, cx: &mut Cx<'_>) {
        if !self.reads.goal_running {
            self.reads.goal_running = true;
            let request = CodexRequest::GoalGet { thread: self.thread.clone() };
            cx.link.call(Purpose::Goal { session: self.id.clone() }, request, cx.out);
        }
        self.read_queue(cx);
    }

    /// Codex answered `thread/goal/get`; it refuses where goals are turned off.
    pub(crate) fn goal_read(&mut self, cx: &mut Cx<'_>, result: Result<CodexReply, CodexError>) {
        self.reads.goal_running = false;
        match result {
            Ok(CodexReply::Goal(goal)) => self.goal_told(cx, goal),
            Ok(_) => {}
            Err(error) if error.message.contains("disabled") => {}
            Err(error) => {
                let message = error.message;
                cx.out.anomaly(Anomaly::CodexRefused { method: "thread/goal/get", message });
            }
        }
        self.answer_resume(cx);
    }

    /// `tool_call/cancel`: accepted at once, confirmed later by the final status (V2-56).
    pub(crate) fn cancel_call(&mut self, cx: &mut Cx<'_>, ticket: Ticket, call: &ToolCallId) {
        let is_it = |open: &Call| open.call == *call && matches!(open.work, Work::Standing(_));
        let Some(item) = self.ledger.items(is_it).pop() else {
            let message = "this tool call is unknown, has ended or cannot be cancelled by itself; \
                           use terminal/cancel for a terminal and session/cancel for the turn";
            return cx.out.refuse(ticket, Failure::InvalidParams(message.to_owned()));
        };
        cx.out.respond(ticket, Reply::CancelAccepted);
        self.stop_standing(cx, &item);
    }

    /// The client wants it to end: a goal is cleared, a message taken out of the queue.
    pub(crate) fn stop_standing(&mut self, cx: &mut Cx<'_>, item: &ItemId) {
        match self.ledger.standing_mut(item).map(|standing| &standing.kind) {
            Some(Kind::Goal(_)) => self.stop_goal(cx, item, EndedBy::Client),
            Some(Kind::Queued { .. }) => self.unqueue(cx, item),
            None => {}
        }
    }

    /// The session closes: its goal is paused; what is queued stays in the queue. What Codex may be
    /// starting in this moment is waited for, and cut off when it comes.
    pub(crate) fn close_standing(&mut self, cx: &mut Cx<'_>) {
        let may_start = |standing: &Standing| match &standing.kind {
            Kind::Goal(_) => standing.status != OpenStatus::Paused,
            Kind::Queued { .. } => true,
        };
        if matches!(self.front, Front::Idle) && self.standing_item(may_start).is_some() {
            self.await_turn_on_its_way(cx);
        }
        if let Some(at) = self.reads.settled_at.filter(|at| *at > cx.now) {
            cx.timers.arm(at, Timer::Standing { session: self.id.clone() });
        }
        for item in self.ledger.items(|call| matches!(call.work, Work::Standing(_))) {
            match self.ledger.standing_mut(&item).map(|standing| &standing.kind) {
                Some(Kind::Goal(_)) => self.stop_goal(cx, &item, EndedBy::Close),
                // It has left the queue: its message ends it, or nothing within the bound.
                Some(Kind::Queued { missing: Some(_), .. }) => {}
                Some(Kind::Queued { missing: None, .. }) => {
                    let line = "Stays in the queue: Codex starts it when the session is opened again.";
                    self.end_standing(cx, &item, FinalStatus::Cancelled, line);
                }
                None => {}
            }
        }
    }

    /// Codex may have scheduled a turn, which a close would have to cut off.
    pub(crate) fn await_turn_on_its_way(&mut self, cx: &mut Cx<'_>) {
        self.expect_turn(cx.now);
        if let Some(at) = self.reads.settled_at {
            cx.timers.arm(at, Timer::Standing { session: self.id.clone() });
        }
    }

    /// That of a subagent that was just announced is here.
    pub(crate) fn expected_turn_came(&mut self) {
        if self.lineage.is_some() {
            self.reads.settled_at = None;
        }
    }

    /// The same, for a close that may come.
    pub(crate) fn expect_turn(&mut self, now: Tick) {
        self.reads.settled_at = Some(now.plus(ON_ITS_WAY));
    }

    /// Nothing of it goes on, whatever Codex still knows: told again once the thread is loaded again.
    pub(crate) fn lose_standing(&mut self, cx: &mut Cx<'_>, reason: &str) {
        for item in self.ledger.items(|call| matches!(call.work, Work::Standing(_))) {
            self.end_standing(cx, &item, FinalStatus::Failed, reason);
        }
        self.reads.reset();
    }

    /// The item of the first that `is_it`.
    pub(crate) fn standing_item(&self, is_it: impl Fn(&Standing) -> bool) -> Option<ItemId> {
        let fits = |work: &Work| matches!(work, Work::Standing(standing) if is_it(standing));
        self.ledger.items(|call| fits(&call.work)).into_iter().next()
    }

    pub(crate) fn open_standing(&mut self, cx: &mut Cx<'_>, item: &ItemId, standing: Standing) {
        let opened = standing.opened(ToolCallId::new(item.as_str()));
        let call = self.ledger.open(item, &TurnId::new(""), Work::Standing(Box::new(standing)));
        self.emit(cx, Update::CallOpened(super::update::CallOpened { call, ..opened }));
        self.choice_made(cx);
    }

    pub(crate) fn change_standing(
        &mut self,
        cx: &mut Cx<'_>,
        item: &ItemId,
        change: impl FnOnce(&mut Standing),
    ) {
        let Some(call) = self.ledger.get_mut(item) else { return };
        let Work::Standing(standing) = &mut call.work else { return };
        let former = standing.opened(call.call.clone());
        change(standing);
        if let Some(change) = standing.change(&former) {
            self.emit(cx, Update::CallChanged { call: former.call, change });
        }
    }

    pub(crate) fn end_standing(&mut self, cx: &mut Cx<'_>, item: &ItemId, status: FinalStatus, line: &str) {
        let Some(standing) = self.ledger.standing_mut(item) else { return };
        let change = standing.last(line);
        let is_goal = matches!(standing.kind, Kind::Goal(_));
        self.close_call(cx, item, status, change);
        if !is_goal {
            return;
        }
        let text = match status {
            FinalStatus::Completed => "The goal was reached in this moment.",
            FinalStatus::Cancelled => "The goal is cleared, and what Codex was doing for it is ended.",
            FinalStatus::Failed => line,
        };
        for key in self.locals.waiting_for_goal() {
            self.answer_local(cx, &key, text);
        }
    }
}
