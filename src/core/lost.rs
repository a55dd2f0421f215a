//! D10: a dead app-server is an event, not an end.
//!
//! First what nobody can say any more, then the sweep, then the ends, then a quiet session.

use super::codex::TurnEnd;
use super::cx::Cx;
use super::failure::Failure;
use super::fault::Fault;
use super::ids::Generation;
use super::session::{History, Session, Tie};
use super::turn::Front;
use super::update::{CallChange, EndedBy, FinalStatus, Severity};

impl Session {
    /// The app-server of this session's thread ended.
    pub(crate) fn app_server_lost(
        &mut self,
        cx: &mut Cx<'_>,
        failure: &Failure,
        was_running: bool,
        generation: Generation,
    ) {
        self.withdraw_all_asks(cx);
        self.polls.reset();
        self.reads.reset();
        // What it had saved by then, nobody can say: a key is looked up before it is sent again.
        self.history = History::Unread;
        // One that cannot even be started is not tried again for prompts that wait.
        if !was_running {
            self.refuse_all(cx, failure);
        }
        self.skills.give_up();
        if matches!(self.tie, Tie::Unloaded | Tie::Lost(_)) {
            // A prompt may have been on its way when Codex unloaded the thread.
            self.stop_starting();
            self.refuse_sent(cx, failure);
            self.locals_lost(cx, failure, !was_running);
            return self.report(cx);
        }
        self.tie = Tie::Lost(generation);
        if let Some(resuming) = self.resuming.take() {
            self.resume_failed(cx, resuming, failure.clone());
        }
        if !self.is_open {
            return;
        }
        if was_running && !cx.link.is_retired() && self.lineage.is_none() {
            self.notice(cx, Severity::Error, failure.to_string(), None);
        }
        self.stop_starting();
        if !matches!(self.front, Front::Active(_)) {
            self.own = None;
        }
        self.refuse_sent(cx, failure);
        self.locals_lost(cx, failure, !was_running);
        self.report(cx);
    }

    /// The sweep is over: nothing of the lost app-server lives.
    pub(crate) fn swept(&mut self, cx: &mut Cx<'_>, generation: Generation, failure: &Failure) {
        if self.tie != Tie::Lost(generation) {
            return;
        }
        self.end_all_unseen(
            cx,
            EndedBy::AppServerLost,
            "the codex app-server ended, and what it had started was ended with it",
        );
        self.lose_standing(cx, "The codex app-server ended; told again when the thread is loaded again.");
        self.tie = Tie::Unloaded;
        if let Front::Active(turn) = &mut self.front {
            turn.is_lost = turn.ended.is_none();
            turn.ended.get_or_insert_with(|| TurnEnd::Failed(Fault::plain(failure.to_string())));
            self.finish_turn(cx);
        }
        for item in self.ledger.items(|_| true) {
            self.close_call(cx, &item, FinalStatus::Failed, CallChange::default());
        }
        self.report(cx);
        self.close_if_done(cx);
        self.locals_go_on(cx);
        self.pump(cx);
    }
}
