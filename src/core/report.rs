//! The state of a session and what runs in its background: one snapshot, told when it is news (D1).
//!
//! The only maker of a `state_update`.

use super::cx::Cx;
use super::ids::ItemId;
use super::session::{Session, Tie};
use super::turn::Front;
use super::update::{Background, Snapshot, State, StopReason, Update};
use crate::background::ledger::Listed;

impl Session {
    /// Reports state and list if either changed. A resume reports once, at its end.
    pub(crate) fn report(&mut self, cx: &mut Cx<'_>) {
        if self.comes_back() {
            return;
        }
        let mut snapshot = self.snapshot();
        if snapshot != self.reported {
            let former = std::mem::replace(&mut self.reported, snapshot.clone());
            // The turn that a local prompt made `running` last for never came: what ran was that prompt.
            if let (State::Running, State::Idle(stop)) = (former.state, &mut snapshot.state) {
                let is_closing = self.closing.is_some();
                let end = if is_closing { StopReason::Cancelled } else { StopReason::EndTurn };
                stop.get_or_insert(self.held_end.take().unwrap_or(end));
            }
            self.tell_state(cx, snapshot);
        }
    }

    fn comes_back(&self) -> bool {
        self.resuming.is_some() || self.returning.is_some()
    }

    /// Reports the end of a turn: always, since the stop reason is news.
    pub(crate) fn report_end(&mut self, cx: &mut Cx<'_>, stop: StopReason) {
        if self.comes_back() {
            self.held_end = Some(stop);
            return;
        }
        let background = self.snapshot().background;
        let former = std::mem::replace(
            &mut self.reported,
            Snapshot { state: State::Idle(None), background: background.clone() },
        );
        // It began where nothing could be told, such as while a resume came to nothing.
        if matches!(former.state, State::Idle(_)) {
            self.tell_state(cx, Snapshot { state: State::Running, background: former.background });
        }
        self.tell_state(cx, Snapshot { state: State::Idle(Some(stop)), background });
        // A local prompt may still be answered.
        self.report(cx);
    }

    /// What was held back is told: the end of a turn with it.
    pub(crate) fn report_held(&mut self, cx: &mut Cx<'_>) {
        match self.held_end.take() {
            Some(stop) => self.report_end(cx, stop),
            None => self.report(cx),
        }
    }

    /// The state as it is, whatever was reported: the snapshot that a resume owes (V2-26). Returns what was told.
    pub(crate) fn report_ahead(&mut self, cx: &mut Cx<'_>) -> Snapshot {
        let mut snapshot = self.snapshot();
        // A turn that ended meanwhile ends with this snapshot, unless the next one runs already.
        if let (Some(stop), State::Idle(reason)) = (self.held_end.take(), &mut snapshot.state) {
            match self.reported.state {
                // It began meanwhile, too: its end is told after the answer, for there is one snapshot.
                State::Idle(_) => (snapshot.state, self.held_end) = (State::Running, Some(stop)),
                State::Running | State::RequiresAction | State::Unknown => *reason = Some(stop),
            }
        }
        self.reported = match snapshot.state {
            State::Idle(_) => Snapshot { state: State::Idle(None), ..snapshot.clone() },
            State::Running | State::RequiresAction | State::Unknown => snapshot.clone(),
        };
        self.emit_ahead(cx, Update::State(snapshot.clone()));
        snapshot
    }

    pub(in crate::core) fn snapshot(&self) -> Snapshot {
        let own = self.ledger.background().into_iter().map(|it| match it {
            Listed::Terminal(it) => Background::Terminal(it.terminal().clone()),
            Listed::Standing(call) => Background::ToolCall(call.clone()),
        });
        let background = own.chain(self.children.listed().into_iter().map(Background::Subagent)).collect();
        Snapshot { state: self.state(), background }
    }

    fn state(&self) -> State {
        match (&self.front, self.tie) {
            _ if self.is_unsure => State::Unknown,
            (Front::Active(_), Tie::Lost(_)) => State::Unknown,
            (Front::Active(_), _) if self.waits_for_user() => State::RequiresAction,
            (Front::Active(_), _) => State::Running,
            (Front::Idle | Front::Starting { .. }, _) if self.locals.is_busy() => State::Running,
            // A local prompt that was answered meanwhile does not make it idle: the turn is coming.
            (Front::Starting { .. }, _) if self.is_running_on() => State::Running,
            (Front::Idle | Front::Starting { .. }, _) => State::Idle(None),
        }
    }

    fn is_running_on(&self) -> bool {
        self.reported.state == State::Running
    }

    /// D1: a question of the thread's own is open and nothing else of the turn is at work.
    fn waits_for_user(&self) -> bool {
        let asked = |item: &ItemId| self.asks.values().any(|ask| ask.item.as_ref() == Some(item));
        self.asks.values().any(|ask| ask.child.is_none())
            && self.texts.is_quiet()
            && self.ledger.in_order().iter().all(|(item, call)| !call.is_foreground_work() || asked(item))
    }
}
