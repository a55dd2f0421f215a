//! D6: what an end of a command may be called.
//!
//! Codex reports one integer; our own record says who acted. Never a signal nobody saw or sent.

#[cfg(test)]
mod tests;

use crate::core::update::{EndedBy, Exit, ExitAccount, ExitStatus};

/// Our record of why a command is being ended, made before anything is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) by: EndedBy,
}

/// The end that Codex reported with `item/completed`.
pub(crate) fn reported(code: Option<i64>, duration_ms: Option<i64>, stop: Option<Stop>) -> Exit {
    let mut account = ExitAccount { raw_code: code, duration_ms, ..ExitAccount::default() };
    let status = match (code, stop) {
        // Codex's terminate and clean are one SIGKILL to the group; it reports -1, or 137 if the
        // process was reaped first.
        (Some(-1 | 137), Some(stop)) => {
            account.by = stop.by;
            account.inferred = code == Some(-1);
            account.reason = Some("ended by codex on our request");
            ExitStatus::Signal("SIGKILL")
        }
        (Some(-1), None) => {
            account.by = EndedBy::Codex;
            account.reason = Some("codex ended it and did not say how");
            ExitStatus::Unknown
        }
        // It was faster than we: the code is its own.
        (Some(code), _) => {
            account.looks_like = signal_name(code.saturating_sub(128));
            ExitStatus::Code(code)
        }
        (None, stop) => {
            account.by = stop.map_or(EndedBy::Itself, |stop| stop.by);
            account.reason = Some("codex reported the end without an exit code");
            ExitStatus::Unknown
        }
    };
    Exit { status, account }
}

/// An end that nobody reported.
pub(crate) fn unseen(by: EndedBy, reason: &'static str) -> Exit {
    let account = ExitAccount { by, reason: Some(reason), ..ExitAccount::default() };
    Exit { status: ExitStatus::Unknown, account }
}

/// Name of a signal that has the same number on all Unixes.
fn signal_name(number: i64) -> Option<&'static str> {
    match number {
        1 => Some("SIGHUP"),
        2 => Some("SIGINT"),
        3 => Some("SIGQUIT"),
        4 => Some("SIGILL"),
        6 => Some("SIGABRT"),
        8 => Some("SIGFPE"),
        9 => Some("SIGKILL"),
        11 => Some("SIGSEGV"),
        13 => Some("SIGPIPE"),
        14 => Some("SIGALRM"),
        15 => Some("SIGTERM"),
        _ => None,
    }
}
