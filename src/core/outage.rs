//! What a person has to be told of a turn beside its content: an outage of the model, one line when it begins
//! and one when it is over; an error that ends nothing; that there is no answer; in
//! v1 the failure of a turn that nobody waits for.

use super::cx::Cx;
use super::fault::Fault;
use super::request::Version;
use super::session::Session;
use super::turn::{Front, Turn};
use super::update::{Severity, StopReason, Update};

/// Outages of one turn that are told; a line that comes and goes all the time is then known to do so.
const TOLD: u8 = 3;

/// The outages of one turn.
#[derive(Debug, Default)]
pub(crate) struct Outages {
    n_told: u8,
    /// One is told and not over.
    is_out: bool,
}

impl Session {
    /// `error` of a turn: one line for all retries of an outage, the last word for the end.
    pub(crate) fn turn_error(&mut self, cx: &mut Cx<'_>, fault: Fault, will_retry: bool) {
        if !will_retry && self.review_is_starting() {
            return self.review_failed(cx, fault);
        }
        let Front::Active(turn) = &mut self.front else { return self.report_error(cx, &fault) };
        if !will_retry {
            turn.error = Some(fault);
        } else if !turn.outages.is_out && turn.outages.n_told < TOLD {
            turn.outages.is_out = true;
            turn.outages.n_told += 1;
            let what = fault.words().unwrap_or("The model was lost");
            let title = format!("{what}; Codex tries again");
            self.notice(cx, Severity::Warning, title, Some(fault.message));
        }
    }

    /// An error that ends nothing.
    pub(crate) fn report_error(&mut self, cx: &mut Cx<'_>, fault: &Fault) {
        self.notice(cx, Severity::Error, "Codex reports an error".to_owned(), Some(fault.to_string()));
    }

    /// A turn that showed nothing ends: it must not look like an answer that was lost.
    pub(crate) fn report_silence(&mut self, cx: &mut Cx<'_>, turn: &Turn, stop: &StopReason) {
        if turn.is_silent && *stop == StopReason::EndTurn && self.own.is_none() {
            let title = "Codex ended the turn without an answer".to_owned();
            let advice =
                "The model said nothing and did nothing that can be shown. Ask again, or in other words.";
            self.notice(cx, Severity::Info, title, Some(advice.to_owned()));
        }
    }

    /// v1: a turn that no prompt waits for has failed, and no answer would say so.
    pub(crate) fn report_failure(&mut self, cx: &mut Cx<'_>, turn: &Turn, stop: &StopReason) {
        let is_told_by_state = cx.version() == Version::V2 || self.lineage.is_some();
        let is_told = is_told_by_state || turn.is_lost || !turn.waiting.is_empty();
        if let (StopReason::Error(fault), false) = (stop, is_told) {
            self.notice(cx, Severity::Error, "The turn failed".to_owned(), Some(fault.to_string()));
        }
    }

    /// The client sees something of the turn.
    pub(crate) fn turn_shows(&mut self) {
        if let Front::Active(turn) = &mut self.front {
            turn.is_silent = false;
        }
    }

    /// Whether an update shows something of a turn. Texts and what is typed are known where they come from, for
    /// those of ours are none; how a subagent does that is there already is none either.
    pub(crate) fn is_shown_work(update: &Update) -> bool {
        let is_news = matches!(update, Update::Subagent(it) if it.title.is_some());
        is_news
            || matches!(
                update,
                Update::CallOpened(_)
                    | Update::Compaction { .. }
                    | Update::Plan(_)
                    | Update::SessionMessage { .. }
            )
    }

    /// The model said something: an outage is over.
    pub(crate) fn model_speaks(&mut self, cx: &mut Cx<'_>) {
        if let Front::Active(turn) = &mut self.front
            && std::mem::take(&mut turn.outages.is_out)
        {
            self.notice(cx, Severity::Info, "The model is back".to_owned(), None);
        }
    }
}
