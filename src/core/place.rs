//! Whether the directory of a session that opens is there: Codex, which would work in it, is asked.
//!
//! Codex itself opens a thread anywhere, and the first command fails.

use super::Core;
use super::codex::{CodexError, CodexReply, CodexRequest};
use super::effect::Effects;
use super::failure::Failure;
use super::ids::{RequestId, Tick};
use super::link::Purpose;
use super::request::{Place, Ticket};

impl Core {
    /// Asked before the thread is started, loaded or copied, and answered before it, so that nothing waits for this.
    pub(super) fn look_at_place(&mut self, ticket: &Ticket, place: &Place, out: &mut Effects) {
        let purpose = Purpose::Look { opening: ticket.id().clone() };
        self.link.call(purpose, CodexRequest::LookAt { path: place.cwd.clone() }, out);
    }

    /// What is at the directory of a session that opens.
    pub(super) fn looked_at(
        &mut self,
        now: Tick,
        opening: &RequestId,
        result: Result<CodexReply, CodexError>,
        out: &mut Effects,
    ) {
        let why = match result {
            Ok(CodexReply::LookedAt { is_directory: false }) => "cwd is not a directory",
            Err(error) if is_missing(&error.message) => "cwd does not exist",
            // What cannot be looked at may be there all the same.
            Ok(_) | Err(_) => return,
        };
        self.withdraw(now, opening, &Failure::InvalidParams(why.to_owned()), out);
    }
}

/// By the number of the system's error: its words are in the language of the system.
fn is_missing(message: &str) -> bool {
    // ENOENT and ERROR_FILE_NOT_FOUND are 2, ERROR_PATH_NOT_FOUND is 3.
    ["(os error 2)", "(os error 3)"].iter().any(|it| message.ends_with(it))
}
