//! Errors of a turn: an outage of the model is one line when it begins and one when it is over.

use super::cx::Cx;
use super::fault::Fault;
use super::session::Session;
use super::turn::Front;
use super::update::Severity;

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

    /// The model said something: an outage is over.
    pub(crate) fn model_speaks(&mut self, cx: &mut Cx<'_>) {
        if let Front::Active(turn) = &mut self.front
            && std::mem::take(&mut turn.outages.is_out)
        {
            self.notice(cx, Severity::Info, "The model is back".to_owned(), None);
        }
    }
}
