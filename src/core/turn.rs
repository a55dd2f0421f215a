//! The foreground of a session: one turn at a time.
//!
//! A turn ends only after its calls are closed or moved to the background.

use super::codex::{Choices, TurnEnd};
use super::cx::Cx;
use super::effect::Anomaly;
use super::failure::Failure;
use super::fault::Fault;
use super::ids::{ItemId, TurnId};
use super::outage::Outages;
use super::request::{Reply, Ticket};
use super::session::{Session, Tie};
use super::timer::Timer;
use super::update::{CallChange, EndedBy, FinalStatus, Severity, StopReason, Update};
use crate::background::ledger::{Call, Work};

/// How long a cancelled turn waits for the ends of its commands beyond their grace before they are
/// listed, in ms (D7).
const CANCEL_BOUND: u64 = 1_000;
/// How long an idle thread may keep us waiting for the end of its turn, in ms.
const QUIET_BOUND: u64 = 2_000;

/// What the foreground does.
#[derive(Debug)]
pub(crate) enum Front {
    Idle,
    /// `turn/start` is on its way.
    Starting {
        cancelled: bool,
        waiting: Vec<Ticket>,
        choices: Choices,
    },
    Active(Turn),
}

/// A running turn.
#[derive(Debug)]
pub(crate) struct Turn {
    /// `None` for a moment in a thread that was resumed in mid-turn.
    pub(crate) id: Option<TurnId>,
    /// Codex said that it runs; before that it cannot be interrupted.
    pub(crate) has_started: bool,
    /// The user cancelled it: an interrupt forges signs of a detach (D3).
    pub(crate) cancelled: bool,
    /// The interrupt is sent.
    pub(crate) interrupted: bool,
    /// Codex's end of it, while its commands are still ending (D7).
    pub(crate) ended: Option<TurnEnd>,
    /// Codex refused to steer it.
    pub(crate) no_steering: bool,
    pub(crate) outages: Outages,
    /// Last error that Codex will not retry.
    pub(crate) error: Option<Fault>,
    /// It ended with its app-server, whose loss is told as that.
    pub(crate) is_lost: bool,
    /// v1 prompts that are answered at its end.
    pub(crate) waiting: Vec<Ticket>,
    /// Codex started it by itself, and no message is in it.
    pub(crate) unprompted: bool,
    /// It answers a prompt, and the client has seen nothing of it. Of one that was joined midway nobody knows.
    pub(crate) is_silent: bool,
    /// What the hook said that failed last: Codex says no more of a prompt that one blocks.
    pub(crate) hook: Option<String>,
}

impl Turn {
    pub(crate) fn new(id: Option<TurnId>, waiting: Vec<Ticket>) -> Self {
        Self {
            id,
            has_started: false,
            cancelled: false,
            interrupted: false,
            ended: None,
            no_steering: false,
            outages: Outages::default(),
            error: None,
            is_lost: false,
            waiting,
            unprompted: false,
            is_silent: false,
            hook: None,
        }
    }

    /// One that Codex started by itself.
    fn by_itself(id: TurnId) -> Self {
        Self { unprompted: true, ..Self::new(Some(id), Vec::new()) }
    }

    pub(crate) fn is_steerable(&self) -> bool {
        self.id.is_some() && !self.cancelled && self.ended.is_none() && !self.no_steering
    }
}

impl Session {
    /// `turn/started`.
    pub(crate) fn turn_started(&mut self, cx: &mut Cx<'_>, turn: TurnId, root: Option<TurnId>) {
        let is_late = self.is_late_part(&turn, root.as_ref());
        let turn = self.whole_of(&turn, root).unwrap_or(turn);
        if is_late || self.is_over(&turn) {
            return self.repeated(cx, &ItemId::new(turn.as_str()), "start of a turn");
        }
        self.turn_is(cx, turn);
        self.turn_runs(cx);
    }

    /// A sign that the turn really runs: from here on it can be interrupted.
    pub(crate) fn turn_runs(&mut self, cx: &mut Cx<'_>) {
        match &mut self.front {
            Front::Active(turn) => turn.has_started = true,
            // Cancelled, and Codex owes nothing but the turn: only one that is asked can be found to hang.
            Front::Starting { cancelled: true, .. } if self.own.is_some() => self.poll_terminals(cx),
            Front::Starting { .. } | Front::Idle => {}
        }
        self.interrupt_if_due(cx);
    }

    /// A turn runs: Codex started it, or answered that our prompt went to it.
    pub(crate) fn turn_is(&mut self, cx: &mut Cx<'_>, turn: TurnId) {
        self.idle_since = None;
        self.chosen.turn_begins();
        // A turn of the thread reaches us, so it is loaded.
        if self.tie == Tie::Unloaded {
            self.tie = Tie::Loaded;
            if self.lineage.is_none() {
                self.read_standing(cx);
            }
        }
        match std::mem::replace(&mut self.front, Front::Idle) {
            Front::Active(mut active) if active.id.as_ref().is_none_or(|id| *id == turn) => {
                active.id = Some(turn);
                self.front = Front::Active(active);
            }
            Front::Active(active) => {
                // Codex begins another: the end of the former was lost, or waits for its commands.
                self.front = Front::Active(active);
                self.finish_turn(cx);
                self.turn_by_itself(cx);
                self.front = Front::Active(Turn::by_itself(turn));
            }
            Front::Starting { cancelled, waiting, choices: _ } => {
                let mut active = Turn::new(Some(turn), waiting);
                active.cancelled = cancelled;
                active.is_silent = true;
                self.front = Front::Active(active);
            }
            Front::Idle => {
                self.turn_by_itself(cx);
                let mut active = Turn::by_itself(turn);
                active.cancelled = self.closing.is_some() || self.is_stray(cx.now);
                self.front = Front::Active(active);
            }
        }
        self.goal_runs(cx);
        self.report(cx);
        self.interrupt_if_due(cx);
        self.pump(cx);
    }

    /// The id of a turn that was running when we came in.
    pub(crate) fn learn_turn(&mut self, cx: &mut Cx<'_>, turn: &TurnId) {
        match &mut self.front {
            Front::Active(active) if active.id.is_none() => active.id = Some(turn.clone()),
            Front::Active(active) if active.id.as_ref() == Some(turn) && !active.has_started => {}
            Front::Active(_) | Front::Idle | Front::Starting { .. } => return,
        }
        // A cancel and prompts may have waited for this.
        self.turn_runs(cx);
        self.pump(cx);
    }

    /// Whether `turn` is the one that ended last.
    pub(crate) fn is_over(&self, turn: &TurnId) -> bool {
        self.over.as_ref().is_some_and(|(over, _)| over == turn)
    }

    /// Whether `turn` is the one that runs.
    pub(crate) fn is_current(&self, turn: &TurnId) -> bool {
        matches!(&self.front, Front::Active(active) if active.id.as_ref() == Some(turn))
    }

    /// `turn/completed`.
    pub(crate) fn turn_completed(&mut self, cx: &mut Cx<'_>, turn: &TurnId, end: TurnEnd) {
        self.is_blank = false;
        self.learn_turn(cx, turn);
        if let Front::Starting { .. } = &self.front {
            self.turn_is(cx, turn.clone());
        }
        match &mut self.front {
            Front::Active(active) if active.id.as_ref() == Some(turn) && active.ended.is_none() => {
                active.ended = Some(end);
            }
            Front::Active(_) | Front::Idle | Front::Starting { .. } => {
                return cx.out.anomaly(Anomaly::Repeated {
                    thread: self.thread.clone(),
                    item: ItemId::new(turn.as_str()),
                    what: "end of a turn",
                });
            }
        }
        self.withdraw_asks(cx);
        if self.awaits_ends() {
            cx.timers.arm(
                cx.now.plus(cx.settings.stop_grace + CANCEL_BOUND),
                Timer::TurnBound { session: self.id.clone(), turn: turn.clone() },
            );
            return;
        }
        self.finish_turn(cx);
    }

    /// The bound of a cancelled turn is reached: what is left is listed.
    pub(crate) fn turn_bound(&mut self, cx: &mut Cx<'_>, turn: &TurnId) {
        if self.is_current(turn) && self.has_ended() {
            self.finish_turn(cx);
        }
    }

    /// The thread is idle; the end of the turn should be here or on its way.
    pub(crate) fn thread_is_idle(&mut self, cx: &mut Cx<'_>) {
        self.idle_since = Some(cx.now);
        if let Front::Active(Turn { id: Some(turn), ended: None, .. }) = &self.front {
            let timer = Timer::QuietTurn { session: self.id.clone(), turn: turn.clone() };
            cx.timers.arm(cx.now.plus(QUIET_BOUND), timer);
        }
    }

    /// Codex called the thread idle a while ago.
    pub(crate) fn quiet_turn(&mut self, cx: &mut Cx<'_>, turn: &TurnId) {
        let is_quiet = self.idle_since.is_some_and(|at| cx.now.0 - at.0 >= QUIET_BOUND);
        if is_quiet && self.is_current(turn) && !self.has_ended() {
            cx.out.anomaly(Anomaly::SilentEnd {
                thread: self.thread.clone(),
                item: ItemId::new(turn.as_str()),
            });
            self.turn_completed(cx, turn, TurnEnd::Completed);
        }
    }

    /// A command ended: maybe the last one that a cancelled turn waited for, maybe one that wakes.
    pub(crate) fn turn_may_finish(&mut self, cx: &mut Cx<'_>) {
        if self.has_ended() && !self.awaits_ends() && !self.is_unsure {
            self.finish_turn(cx);
        }
    }

    fn has_ended(&self) -> bool {
        matches!(&self.front, Front::Active(turn) if turn.ended.is_some())
    }

    /// D7: a command of the foreground is being ended because of the cancel.
    fn awaits_ends(&self) -> bool {
        let is_ending = |call: &Call| {
            call.is_foreground_process() && call.command().is_some_and(|command| command.stop.is_some())
        };
        matches!(&self.front, Front::Active(turn) if turn.cancelled)
            && self.ledger.in_order().iter().any(|(_, call)| is_ending(call))
    }

    /// Ends the turn for the client: calls, then the state, then v1's answers.
    pub(crate) fn finish_turn(&mut self, cx: &mut Cx<'_>) {
        let Front::Active(turn) = std::mem::replace(&mut self.front, Front::Idle) else { return };
        let stop = stop_reason(&turn);
        if let (StopReason::EndTurn, Some(error)) = (&stop, &turn.error) {
            self.report_error(cx, error);
        } else {
            self.report_silence(cx, &turn, &stop);
            self.report_failure(cx, &turn, &stop);
        }
        if let Some(id) = &turn.id {
            self.over = Some((id.clone(), stop.clone()));
        }
        self.withdraw_asks(cx);
        self.texts.clear();
        self.close_unfinished(cx, &stop);
        self.flush_all(cx);
        self.detach_all();
        self.own_is_over(cx, &stop);
        self.watch_listed(cx);
        self.goal_waits(cx, &stop);
        self.report_end(cx, stop.clone());
        self.woken &= turn.waiting.is_empty();
        for ticket in turn.waiting {
            let reply = match &stop {
                StopReason::Error(fault) => Reply::Failed(Failure::TurnFailed(fault.clone())),
                StopReason::EndTurn | StopReason::MaxTokens | StopReason::Refusal | StopReason::Cancelled => {
                    self.turn_ended(stop.clone())
                }
            };
            self.answer(cx, ticket, reply);
        }
        self.settle_sent(cx, turn.id.as_ref(), &stop, turn.hook.as_deref());
        self.poll_terminals(cx);
        self.close_if_done(cx);
        self.pump(cx);
    }

    /// The answer of a v1 prompt.
    pub(crate) fn turn_ended(&self, stop: StopReason) -> Reply {
        let listed = self.ledger.background().into_iter().map(|it| it.call());
        let shown =
            self.open_subagent_calls.iter().filter_map(|item| Some(self.ledger.get(item)?.call.clone()));
        let background = listed.chain(shown).collect();
        Reply::TurnEnded { stop, background }
    }

    /// Calls that Codex leaves open at the end of a turn: no process, and no end ever comes.
    fn close_unfinished(&mut self, cx: &mut Cx<'_>, stop: &StopReason) {
        let status = match stop {
            StopReason::Cancelled => FinalStatus::Cancelled,
            StopReason::EndTurn | StopReason::MaxTokens | StopReason::Refusal | StopReason::Error { .. } => {
                FinalStatus::Failed
            }
        };
        // The user's own shell command has a turn of its own and ends with it, but says so itself.
        let is_left = |call: &Call| call.live().is_none() && !matches!(call.work, Work::Standing(_));
        for item in self.ledger.items(is_left) {
            // An approved command whose process no list has named yet is alive, as far as we know, and
            // outlives an interrupt. So do the question of a child, and a child itself.
            if self.is_approved(&item) || self.is_asked_by_child(&item) || self.is_subagent_call(&item) {
                continue;
            }
            self.close_call(cx, &item, status, CallChange::default());
        }
    }

    pub(crate) fn close_call(
        &mut self,
        cx: &mut Cx<'_>,
        item: &ItemId,
        status: FinalStatus,
        change: CallChange,
    ) {
        self.tool_names.remove(item);
        self.collab_ended(item);
        self.leaves_page_of(cx, item);
        if let Some(Call { call, work, .. }) = self.ledger.close(item) {
            let update = match work {
                Work::Compaction => Update::Compaction { call, end: Some(status) },
                Work::Tool | Work::Command(_) | Work::Standing(_) => {
                    Update::CallClosed { call, status, change }
                }
            };
            self.emit(cx, update);
        }
    }

    fn is_approved(&self, item: &ItemId) -> bool {
        match self.ledger.get(item).map(|call| &call.work) {
            Some(Work::Command(command)) => command.approved,
            Some(Work::Tool | Work::Compaction | Work::Standing(_)) | None => false,
        }
    }

    /// D3: everything that still runs is handed back.
    fn detach_all(&mut self) {
        for item in self.ledger.items(Call::is_foreground_process) {
            if let Some(command) = self.ledger.command_mut(&item) {
                command.detach();
            }
        }
    }

    /// D3: a step of the turn is over, so what it started and still runs was handed back.
    pub(crate) fn step_is_over(&mut self, cx: &mut Cx<'_>, turn: &TurnId) {
        if self.is_current(turn) {
            self.model_speaks(cx);
        }
        if !self.is_current(turn) || self.is_cancelled() {
            return;
        }
        // What is being stopped is waited for: its exit will be told to the model.
        let is_over = |call: &Call| call.is_foreground_process() && call.is_unstopped() && call.turn == *turn;
        for item in self.ledger.items(is_over) {
            self.detach(cx, &item);
        }
        let waits = |call: &Call| call.command().is_some_and(|it| it.approved && it.live().is_none());
        for item in self.ledger.items(waits) {
            if let Some(command) = self.ledger.command_mut(&item) {
                command.handed_back = true;
            }
            self.poll_terminals(cx);
        }
        self.report(cx);
    }

    /// D3: one command was handed back.
    pub(crate) fn detach(&mut self, cx: &mut Cx<'_>, item: &ItemId) {
        self.flush(cx, item);
        if let Some(command) = self.ledger.command_mut(item) {
            command.detach();
        }
        self.watch_listed(cx);
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        matches!(&self.front, Front::Active(turn) if turn.cancelled)
    }

    pub(crate) fn notice(
        &mut self,
        cx: &mut Cx<'_>,
        severity: Severity,
        title: String,
        description: Option<String>,
    ) {
        self.emit(cx, Update::Notice { severity, title, description });
    }

    /// The thread is no longer loaded: what it held ended with it (D11).
    pub(crate) fn thread_is_gone(&mut self, cx: &mut Cx<'_>, reason: &'static str) {
        if self.tie == Tie::Loaded {
            self.tie = Tie::Unloaded;
        }
        self.end_all_unseen(cx, EndedBy::Codex, reason);
        self.lose_standing(cx, reason);
        if let Front::Active(turn) = &mut self.front {
            turn.ended.get_or_insert_with(|| TurnEnd::Failed(Fault::plain(reason)));
            self.finish_turn(cx);
        }
        self.report(cx);
        self.close_if_done(cx);
    }
}

fn stop_reason(turn: &Turn) -> StopReason {
    match (&turn.ended, &turn.error) {
        // Abort errors of a cancelled turn are a cancel (V2-45).
        _ if turn.cancelled => StopReason::Cancelled,
        // Nobody here wished for this end, and its reason must not get lost.
        (Some(TurnEnd::Interrupted), Some(error)) => StopReason::Error(error.clone()),
        (Some(TurnEnd::Interrupted), None) => StopReason::Cancelled,
        (Some(TurnEnd::Failed(fault)), Some(error)) if fault.message.is_empty() => {
            StopReason::Error(error.clone())
        }
        (Some(TurnEnd::Failed(fault)), _) => StopReason::Error(fault.clone()),
        (Some(TurnEnd::Completed) | None, _) => StopReason::EndTurn,
    }
}
