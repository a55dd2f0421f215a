//! An app-server that runs already and not below us: losing the connection to it, finding it again, leaving it.
//!
//! It and its work live on without us, so that nothing ends here: what cannot be seen is unknown.

use super::Core;
use super::codex::{CodexRequest, ThreadOpened, TurnEnd};
use super::cx::Cx;
use super::effect::Effects;
use super::failure::Failure;
use super::fault::Fault;
use super::ids::Tick;
use super::link::{LOST_TOO_OFTEN, Link, Purpose};
use super::request::Shelf;
use super::session::{History, Session, Tie};
use super::timer::Timer;
use super::turn::{Front, Turn};
use super::update::Severity;
use crate::background::ledger::Call;

/// The first try comes so soon after a loss, each later one after twice the time, in ms.
const FIRST_TRY: u64 = 250;
/// Between two tries at most, in ms.
const LONGEST: u64 = 30_000;
/// After so many tries, 4 s after the loss, nobody is kept waiting for the end of a turn.
const TRIES: u32 = 5;

/// How long the app-server keeps a thread that we start and nobody is subscribed to, in seconds. Its own
/// default is a minute, and its commands end with it. Taken by Codex 0.171.0 for a thread that it loads.
pub(crate) const KEPT: u64 = 7 * 24 * 60 * 60;

impl Link {
    /// What is said of the end of a connection.
    pub(crate) fn lost_in_words(&self, now: Tick, address: &str, how: &str) -> String {
        let what = match self.watch.observed() {
            Some(observed) => format!("{observed}; the connection to {address} was closed"),
            None => format!("the connection to the app-server at {address} was lost ({how})"),
        };
        match self.is_ready() {
            _ if self.is_retired() => "the agent is shutting down".to_owned(),
            true if self.is_last_death(now) => format!("{what}{LOST_TOO_OFTEN}"),
            true => format!("{what}; what it runs is not ended by that, and it is connected to again"),
            false => format!(
                "{what} before it was ready; look whether that is a codex app-server, \
                 run `appserver-acp doctor --connect {address}`, then try again"
            ),
        }
    }

    /// How long to wait before the next try.
    fn pause(&self) -> u64 {
        FIRST_TRY.saturating_mul(1 << self.tries().min(10)).min(LONGEST)
    }
}

impl Core {
    /// The connection is gone, or there is still none. Whoever waited for an answer has been told.
    pub(super) fn connection_lost(
        &mut self,
        now: Tick,
        failure: &Failure,
        was_open: bool,
        out: &mut Effects,
    ) {
        self.each(now, out, |session, cx| {
            session.unwatch_all(cx);
            session.connection_lost(cx, failure, was_open);
        });
        if self.is_leaving() {
            return self.exit_if_alone(out);
        }
        self.look_for_it_later(now);
    }

    /// It is time to try again, if that still matters to anybody.
    pub(super) fn reconnect(&mut self, now: Tick, out: &mut Effects) {
        if self.is_leaving() || !self.link.is_down() || !self.is_missed() {
            return;
        }
        if self.link.ensure(now, out).is_err() {
            // Cut off for now: what was lost too often is tried again when that is a while ago.
            self.timers.arm(now.plus(LONGEST), Timer::Reconnect);
        }
    }

    /// The app-server is there: every session that does not know how things stand asks.
    pub(super) fn connected_again(&mut self, now: Tick, out: &mut Effects) {
        let (sessions, mut cx) = self.split(now, out);
        for session in sessions.values_mut() {
            if session.is_unsure && session.tie == Tie::Unloaded {
                session.revive(&mut cx);
            }
        }
    }

    /// Lets go of every session that has nothing to be waited for any more.
    pub(super) fn part(&mut self, now: Tick, out: &mut Effects) {
        let (sessions, mut cx) = self.split(now, out);
        for session in sessions.values_mut() {
            if session.may_part() {
                session.part(&mut cx);
            }
        }
    }

    fn look_for_it_later(&mut self, now: Tick) {
        if self.is_missed() {
            self.timers.arm(now.plus(self.link.pause()), Timer::Reconnect);
        }
    }

    fn is_missed(&self) -> bool {
        self.sessions.values().any(|it| it.is_unsure)
    }
}

impl Session {
    fn connection_lost(&mut self, cx: &mut Cx<'_>, failure: &Failure, was_open: bool) {
        self.withdraw_all_asks(cx);
        self.polls.reset();
        self.reads.reset();
        // What it had saved by then, nobody can say: a key is looked up before it is sent again.
        self.history = History::Unread;
        self.skills.give_up();
        self.catching_up = None;
        self.idle_since = None;
        if !was_open {
            self.refuse_all(cx, failure);
        }
        if let Some(resuming) = self.resuming.take() {
            self.resume_failed(cx, resuming, failure.clone());
        }
        if !self.is_open || (self.tie == Tie::Unloaded && !self.is_unsure) {
            return self.locals_lost(cx, failure, !was_open);
        }
        if was_open && !self.is_unsure && !cx.link.is_retired() && self.lineage.is_none() {
            self.notice(cx, Severity::Warning, failure.to_string(), None);
        }
        self.tie = Tie::Unloaded;
        self.is_unsure = true;
        self.turn_shows();
        self.stop_starting();
        self.refuse_sent(cx, failure);
        self.locals_lost(cx, failure, !was_open);
        if cx.link.tries() >= TRIES {
            self.stop_waiting(cx, failure);
        }
        self.report(cx);
    }

    /// The thread is loaded again, and the app-server says what it does.
    pub(crate) fn rejoin(&mut self, cx: &mut Cx<'_>, opened: &ThreadOpened) {
        let Front::Active(turn) = &mut self.front else {
            self.joins_turn(opened);
            return;
        };
        // Nothing that was sent before the loss is on its way any more.
        (turn.interrupted, turn.no_steering) = (false, false);
        let is_same = turn.id.is_none() || opened.turn.is_none() || turn.id == opened.turn;
        if opened.active && is_same {
            turn.id = turn.id.take().or_else(|| opened.turn.clone());
            turn.has_started = turn.id.is_some();
            return self.interrupt_if_due(cx);
        }
        // Told with the list of what runs, so that both are true at once.
        let end = match opened.over.as_deref() {
            Some((id, TurnEnd::Interrupted)) if Some(id) == turn.id.as_ref() && !turn.cancelled => {
                TurnEnd::Failed(Fault::plain("the turn was interrupted while the connection was lost"))
            }
            Some((id, end)) if Some(id) == turn.id.as_ref() => end.clone(),
            Some(_) | None => TurnEnd::Failed(Fault::plain(
                "the turn ended while the connection to the app-server was lost, which no longer says how",
            )),
        };
        turn.ended.get_or_insert(end);
    }

    /// It is known again what runs.
    pub(crate) fn is_sure(&mut self, cx: &mut Cx<'_>) {
        if std::mem::take(&mut self.is_unsure) {
            self.turn_may_finish(cx);
            self.watch_listed(cx);
        }
    }

    /// The thread cannot be loaded: the reason is told to whoever waits, and what runs stays unknown, unless it was put away.
    pub(crate) fn not_rejoined(&mut self, cx: &mut Cx<'_>, failure: &Failure) {
        self.stop_waiting(cx, failure);
        // Nothing runs in a thread that was put away.
        let to = if let Failure::UnknownSession(_) = failure {
            Shelf::Deleted
        } else if let Failure::Archived(_) = failure {
            Shelf::Archive
        } else {
            return self.notice(cx, Severity::Warning, failure.to_string(), None);
        };
        self.is_unsure = false;
        self.thread_is_removed(cx, to);
    }

    /// A prompt was with the app-server, which had not said what became of it.
    pub(super) fn stop_starting(&mut self) {
        let Front::Starting { cancelled, waiting, choices } = &mut self.front else { return };
        let (cancelled, waiting, choices) = (*cancelled, std::mem::take(waiting), std::mem::take(choices));
        self.chosen.give_back(choices);
        self.front = Front::Idle;
        // A turn of its own has no prompt that could be refused: it ends with the app-server.
        if !waiting.is_empty() || self.own.is_some() {
            let mut turn = Turn::new(None, waiting);
            turn.cancelled = cancelled;
            self.front = Front::Active(turn);
        }
    }

    /// Whoever waits for the end of the turn waits no longer; the turn itself is not touched.
    fn stop_waiting(&mut self, cx: &mut Cx<'_>, failure: &Failure) {
        for ticket in self.waiting().map(std::mem::take).into_iter().flatten() {
            cx.out.refuse(ticket, failure.clone());
        }
    }

    /// Whether nothing that the client asked to be ended is still ending.
    fn may_part(&self) -> bool {
        let is_ending = |call: &Call| {
            call.command().and_then(|it| it.stop.as_ref()).is_some_and(|stop| stop.ladder.is_some())
        };
        let is_cut_off = matches!(&self.front, Front::Active(turn) if turn.cancelled && turn.ended.is_none());
        self.closing.is_none() && !is_cut_off && !self.ledger.has(is_ending)
    }

    /// We go; everything of this session stays as it is in the app-server.
    fn part(&mut self, cx: &mut Cx<'_>) {
        let failure = Failure::InvalidRequest(
            "the agent is shutting down; what was begun goes on in the app-server, session/resume shows it"
                .to_owned(),
        );
        self.withdraw_all_asks(cx);
        self.refuse_all(cx, &failure);
        self.stop_waiting(cx, &failure);
        self.locals_lost(cx, &failure, true);
        if let Some(resuming) = self.resuming.take() {
            resuming.refuse(failure, cx.out);
        }
        self.release_answers(cx);
        if self.tie == Tie::Loaded {
            let children = cx.subagents.housekeeping(&self.id).into_iter().map(|(thread, _)| thread);
            for thread in children.chain([self.thread.clone()]) {
                cx.link.call(Purpose::Parting, CodexRequest::Unsubscribe { thread }, cx.out);
            }
        }
        cx.desk.closed.push(self.id.clone());
    }
}
