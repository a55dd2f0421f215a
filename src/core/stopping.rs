//! Ending work: one terminal, the foreground, the whole session.
//!
//! The cause is written down before anything is sent; the end itself is Codex's to report.

use super::codex::{CodexError, CodexReply, CodexRequest};
use super::cx::Cx;
use super::effect::{Anomaly, Effect, StopAct};
use super::failure::Failure;
use super::ids::{ItemId, TerminalId, Tick};
use super::input::SweepReport;
use super::link::Purpose;
use super::request::{Reply, Ticket};
use super::session::{Session, Tie};
use super::sweeper::Cause;
use super::timer::Timer;
use super::turn::{Front, Turn};
use super::update::{CallChange, EndedBy, FinalStatus, Severity};
use crate::background::exit::{Ladder, Stop};
use crate::background::ledger::Call;
use crate::stop::plan::{self, Act, Event, Plan};

/// How long a close waits for the ends of its work, and how long it may take in all, in ms (D8).
const ENDING_BOUND: u64 = 3_200;
const CLOSE_BOUND: u64 = 4_000;

/// Milliseconds that a closing command has at most for a gentle end.
const CLOSE_GRACE: u64 = 2_000;
/// How long a cancel waits for a sign that the turn runs, in ms.
const INTERRUPT_BOUND: u64 = 1_000;

/// When the end of a terminated command is missed, in ms.
const END_EXPECTED: u64 = 2_000;

/// A session that is being closed.
#[derive(Debug)]
pub(crate) struct Closing {
    /// `None` when we close by ourselves.
    ticket: Option<Ticket>,
    /// More requests to close it.
    twins: Vec<Ticket>,
    stage: Stage,
    since: Tick,
}

/// How far a close is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Turn and commands are ending.
    Ending,
    /// Codex reported every end; what left the process groups is sought.
    Sweeping,
    Answered,
}

impl Closing {
    pub(crate) fn is_done(&self) -> bool {
        self.stage == Stage::Answered
    }
}

impl Session {
    /// `terminal/cancel`: accepted at once, confirmed later by the exit (V2-56).
    pub(crate) fn cancel_terminal(&mut self, cx: &mut Cx<'_>, ticket: Ticket, terminal: &TerminalId) {
        let Some(item) = self.ledger.by_terminal(terminal) else {
            let message = "this session has no running terminal with that id; it may have exited already";
            return cx.out.refuse(ticket, Failure::InvalidParams(message.to_owned()));
        };
        let own_shell =
            self.ledger.get(&item).and_then(Call::command).is_some_and(|command| command.own_shell);
        if own_shell {
            let message = "this terminal is the user's own shell command; session/cancel ends it";
            return cx.out.refuse(ticket, Failure::InvalidParams(message.to_owned()));
        }
        cx.out.respond(ticket, Reply::CancelAccepted);
        self.stop_command(cx, &item, EndedBy::Client);
    }

    /// Starts the ladder for one command, or takes the next step of one that is being climbed.
    /// The cause, once written, stays.
    pub(crate) fn stop_command(&mut self, cx: &mut Cx<'_>, item: &ItemId, by: EndedBy) {
        let Some(command) = self.ledger.command_mut(item) else { return };
        if command.stop.as_ref().is_some_and(|stop| stop.ladder.is_some()) {
            return self.climb(cx, item, Event::Hurry);
        }
        // The user's own shell has no marker and no handle: the interrupt of its turn ends it. A
        // command that has no process yet is stopped when it has one.
        let has_process = command.live().is_some_and(|live| live.process.is_some());
        let stop = command.stop.get_or_insert(Stop { by, ladder: None });
        if !has_process {
            return;
        }
        let id = cx.desk.stop(&self.id, item);
        stop.ladder = Some(Ladder { id, plan: Plan::asked(), held: None });
        let grace = match stop.by {
            EndedBy::Close => CLOSE_GRACE.min(cx.settings.stop_grace),
            EndedBy::Client | EndedBy::Cancel | EndedBy::Itself | EndedBy::Codex | EndedBy::AppServerLost => {
                cx.settings.stop_grace
            }
        };
        let act = StopAct::Ask { thread: self.thread.clone(), item: item.clone() };
        cx.out.push(Effect::Stop { stop: id, act });
        cx.timers.arm(cx.now.plus(grace), Timer::Grace { stop: id });
        // Should nobody ever look.
        cx.timers.arm(cx.now.plus(grace + plan::BOUND), Timer::StopBound { stop: id });
    }

    /// An event of a ladder: does what the plan says.
    pub(crate) fn climb(&mut self, cx: &mut Cx<'_>, item: &ItemId, event: Event) {
        let Some(command) = self.ledger.command_mut(item) else {
            return self.climb_leftover(cx, item, event);
        };
        let process = command.live().and_then(|live| live.process.clone());
        let Some(ladder) = command.stop.as_mut().and_then(|stop| stop.ladder.as_mut()) else { return };
        let id = ladder.id;
        for act in ladder.plan.on(event) {
            match act {
                Act::Terminate => {
                    let Some(process) = process.clone() else { continue };
                    let purpose = Purpose::Terminate { session: self.id.clone(), item: item.clone() };
                    let request = CodexRequest::Terminate { thread: self.thread.clone(), process };
                    cx.link.call(purpose, request, cx.out);
                    cx.timers.arm(cx.now.plus(plan::BOUND), Timer::StopBound { stop: id });
                }
                Act::Finish => {
                    cx.out.push(Effect::Stop { stop: id, act: StopAct::Finish });
                    cx.timers.arm(cx.now.plus(plan::BOUND), Timer::StopBound { stop: id });
                }
                Act::Report => self.tell_held_end(cx, item),
            }
        }
    }

    /// The processes of a command that ended are gone, or the bound is reached: the exit is told.
    fn tell_held_end(&mut self, cx: &mut Cx<'_>, item: &ItemId) {
        let ladder = self.ledger.command_mut(item).and_then(|command| command.stop.as_mut()?.ladder.as_mut());
        let Some(held) = ladder.and_then(|ladder| ladder.held.take()) else { return };
        self.command_ended(cx, item, &held);
        self.report(cx);
        self.turn_may_finish(cx);
        self.close_if_done(cx);
    }

    /// Codex answered `terminate`. `false`: it had no such process; the list tells.
    pub(crate) fn terminate_answered(
        &mut self,
        cx: &mut Cx<'_>,
        item: &ItemId,
        result: Result<CodexReply, CodexError>,
    ) {
        self.climb(cx, item, Event::Terminated(matches!(result, Ok(CodexReply::Terminated(true)))));
        match result {
            // The end should follow within milliseconds; if it does not, the list is asked.
            Ok(CodexReply::Terminated(true)) => {
                cx.timers.arm(cx.now.plus(END_EXPECTED), Timer::Recheck { session: self.id.clone() });
            }
            Ok(_) => self.poll_terminals(cx),
            Err(error) => {
                let method = "thread/backgroundTerminals/terminate";
                cx.out.anomaly(Anomaly::CodexRefused { method, message: error.message });
                self.poll_terminals(cx);
            }
        }
    }

    /// `session/cancel`: the foreground and what it waits on; listed work is untouched (D7).
    pub(crate) fn cancel(&mut self, cx: &mut Cx<'_>) {
        self.cancel_all_held(cx);
        self.cancel_locals(cx);
        self.cancel_turn(cx);
    }

    /// The turn that runs or starts, and nothing of what waits for its end.
    pub(crate) fn cancel_turn(&mut self, cx: &mut Cx<'_>) {
        match &mut self.front {
            Front::Idle => return,
            Front::Starting { cancelled, .. } => *cancelled = true,
            Front::Active(turn) => turn.cancelled = true,
        }
        self.withdraw_asks(cx);
        self.interrupt_if_due(cx);
        cx.timers.arm(cx.now.plus(INTERRUPT_BOUND), Timer::Interrupt { session: self.id.clone() });
        self.report(cx);
    }

    /// Sends the interrupt as soon as the turn has a name, then ends what the turn waits on:
    /// the other way round the model would go on with the next step.
    pub(crate) fn interrupt_if_due(&mut self, cx: &mut Cx<'_>) {
        let Front::Active(turn) = &mut self.front else { return };
        let Some(id) = turn.id.clone() else { return };
        if !turn.cancelled || turn.interrupted || !turn.has_started {
            return;
        }
        let Some(id) = self.interrupted_as(id) else { return };
        let Front::Active(turn) = &mut self.front else { return };
        turn.interrupted = true;
        cx.timers.arm(cx.now.plus(END_EXPECTED), Timer::Recheck { session: self.id.clone() });
        let request = CodexRequest::TurnInterrupt { thread: self.thread.clone(), turn: id };
        cx.link.call(Purpose::Interrupt { session: self.id.clone() }, request, cx.out);
        let by = if self.closing.is_some() { EndedBy::Close } else { EndedBy::Cancel };
        for item in self.ledger.items(|call| call.is_foreground_process() && call.is_unstopped()) {
            self.stop_command(cx, &item, by);
        }
    }

    /// Codex refused an interrupt: the turn is over or about to be.
    pub(crate) fn interrupt_refused(&mut self, cx: &mut Cx<'_>, message: String) {
        let is_over = message.contains("no active turn");
        cx.out.anomaly(Anomaly::CodexRefused { method: "turn/interrupt", message: message.clone() });
        if is_over && self.idle_since.is_some() {
            return self.thread_is_idle(cx);
        }
        if is_over {
            // Its end is on its way, or its start: the next sign of it tries again.
            if let Front::Active(turn) = &mut self.front {
                turn.interrupted = false;
            }
            return;
        }
        if let Front::Active(turn) = &mut self.front {
            (turn.cancelled, turn.interrupted) = (false, false);
        }
        let title = "Codex did not let itself be interrupted; the turn goes on".to_owned();
        self.notice(cx, Severity::Warning, title, Some(message));
    }

    /// `session/close`, or our own end: everything of the session is stopped (D8).
    pub(crate) fn close(&mut self, cx: &mut Cx<'_>, ticket: Option<Ticket>) {
        match &mut self.closing {
            Some(closing) => return closing.twins.extend(ticket),
            None => {
                self.closing =
                    Some(Closing { ticket, twins: Vec::new(), stage: Stage::Ending, since: cx.now })
            }
        }
        self.withdraw_all_asks(cx);
        self.interrupt_housekeeping(cx);
        self.hasten(cx);
        for item in self.ledger.items(Call::is_unstopped) {
            self.stop_command(cx, &item, EndedBy::Close);
        }
        self.close_standing(cx);
        self.cancel(cx);
        for bound in [ENDING_BOUND, CLOSE_BOUND] {
            cx.timers.arm(cx.now.plus(bound), Timer::CloseBound { session: self.id.clone() });
        }
        self.close_if_done(cx);
    }

    /// Stops that are under way get no more time than those of a close.
    fn hasten(&mut self, cx: &mut Cx<'_>) {
        let grace = CLOSE_GRACE.min(cx.settings.stop_grace);
        for item in self.ledger.items(|call| call.command().is_some()) {
            let ladder = self.ledger.command_mut(&item).and_then(|it| it.stop.as_ref()?.ladder.as_ref());
            if let Some(ladder) = ladder {
                cx.timers.arm(cx.now.plus(grace), Timer::Grace { stop: ladder.id });
            }
        }
    }

    /// Once nothing of the session is at work: looks for what left the process groups (D8).
    pub(crate) fn close_if_done(&mut self, cx: &mut Cx<'_>) {
        let is_quiet = self.is_quiet(cx.now);
        let Some(closing) = &mut self.closing else { return };
        if !is_quiet || closing.stage != Stage::Ending {
            return;
        }
        // Its subagents took all the time that there was.
        if cx.now.0 - closing.since.0 >= CLOSE_BOUND {
            return self.close_now(cx);
        }
        let children = cx.subagents.housekeeping(&self.id).into_iter().map(|(thread, _)| thread);
        let mut threads: Vec<_> = std::iter::once(self.thread.clone()).chain(children).collect();
        threads.retain(|thread| cx.link.unmark(thread));
        if threads.is_empty() {
            return self.close_now(cx);
        }
        closing.stage = Stage::Sweeping;
        let cause = Cause::Close(vec![self.id.clone()]);
        cx.sweeper.sweep(cx.link.generation(), cause, threads, cx.out);
    }

    /// Whether nothing of it is at work, nor on its way.
    pub(crate) fn is_quiet(&self, now: Tick) -> bool {
        self.children.is_empty() && !self.has_work_of_its_own(now)
    }

    /// Whether anything of its own is at work, or on its way.
    pub(crate) fn has_work_of_its_own(&self, now: Tick) -> bool {
        !matches!(self.front, Front::Idle) || !self.ledger.is_empty() || !self.reads.is_settled(now)
    }

    /// The sweep of a close is over.
    pub(crate) fn close_swept(&mut self, cx: &mut Cx<'_>, report: SweepReport) {
        if self.closing.as_ref().is_none_or(Closing::is_done) {
            return;
        }
        if report.left > 0 {
            let title = format!("{} processes of this session could not be ended", report.left);
            self.notice(cx, Severity::Warning, title, None);
        }
        // A turn of a subagent may have begun meanwhile: it is being cut off.
        let is_quiet = self.is_quiet(cx.now);
        match &mut self.closing {
            Some(closing) if !is_quiet => closing.stage = Stage::Ending,
            Some(_) | None => self.close_now(cx),
        }
    }

    /// The bound of a close is reached: the rest is given up, and said so.
    pub(crate) fn close_bound(&mut self, cx: &mut Cx<'_>) {
        let Some(closing) = &self.closing else { return };
        match closing.stage {
            Stage::Ending => {}
            Stage::Sweeping if cx.now.0 - closing.since.0 >= CLOSE_BOUND => return self.close_now(cx),
            Stage::Sweeping | Stage::Answered => return,
        }
        self.tell_all_held(cx);
        self.end_all_unseen(cx, EndedBy::Close, "codex reported no end within the bound of the close");
        for item in self.ledger.items(|_| true) {
            self.close_call(cx, &item, FinalStatus::Cancelled, CallChange::default());
        }
        if let Front::Starting { cancelled, waiting, .. } = &mut self.front {
            let (cancelled, waiting) = (*cancelled, std::mem::take(waiting));
            // A turn that was never shown has no end to show, only prompts to answer.
            self.front = Front::Idle;
            if !waiting.is_empty() {
                let mut turn = Turn::new(None, waiting);
                turn.cancelled = cancelled;
                self.front = Front::Active(turn);
            }
        }
        if let Front::Active(_) = self.front {
            self.finish_turn(cx);
        }
        // Codex has not said what became of the goal: whatever it is, it is paused.
        if std::mem::take(&mut self.reads.goal_changes) > 0 {
            let request = CodexRequest::GoalPause { thread: self.thread.clone() };
            cx.link.call(Purpose::Parting, request, cx.out);
        }
        // What is left is swept, if there is a thread to sweep for.
        self.close_if_done(cx);
    }

    /// Ends that are known and held back are told, whatever became of the processes.
    pub(crate) fn tell_all_held(&mut self, cx: &mut Cx<'_>) {
        for item in self.ledger.items(|call| call.command().is_some_and(|command| command.stop.is_some())) {
            self.climb(cx, &item, Event::Bound);
        }
    }

    fn close_now(&mut self, cx: &mut Cx<'_>) {
        self.report(cx);
        self.refuse_all(cx, &Failure::Cancelled);
        if self.tie == Tie::Loaded {
            // For what no item ever named.
            let children = cx.subagents.housekeeping(&self.id).into_iter().map(|(thread, _)| thread);
            for thread in children.chain([self.thread.clone()]) {
                let request = CodexRequest::Clean { thread: thread.clone() };
                cx.link.call(Purpose::Parting, request, cx.out);
                cx.link.call(Purpose::Parting, CodexRequest::Unsubscribe { thread }, cx.out);
            }
        }
        if let Some(resuming) = self.resuming.take() {
            resuming.refuse(Failure::Cancelled, cx.out);
        }
        self.forget_leftovers(cx);
        self.release_answers(cx);
        let Some(closing) = &mut self.closing else { return };
        closing.stage = Stage::Answered;
        cx.desk.closed.push(self.id.clone());
        for ticket in closing.ticket.take().into_iter().chain(std::mem::take(&mut closing.twins)) {
            cx.out.respond(ticket, Reply::SessionClosed);
        }
    }
}
