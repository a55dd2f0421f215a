//! D6: what an end of a command may be called.
//!
//! Codex reports one integer; our own record says who acted. Never a signal nobody saw or sent.

#[cfg(test)]
mod tests;

use crate::core::codex::CommandItem;
use crate::core::ids::StopId;
use crate::core::input::Gentle;
use crate::core::update::{EndedBy, Exit, ExitAccount, ExitStatus};
use crate::stop::plan::{Account, Plan};

/// Our record of why a command is being ended, made before anything is sent.
#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) by: EndedBy,
    /// The ladder; `None` for the user's own shell, which only an interrupt of its turn ends.
    pub(crate) ladder: Option<Ladder>,
}

/// A ladder that is being climbed.
#[derive(Debug)]
pub(crate) struct Ladder {
    pub(crate) id: StopId,
    pub(crate) plan: Plan,
    /// Codex's end of the command, held back until its processes are gone.
    pub(crate) held: Option<Box<CommandItem>>,
}

impl Stop {
    fn account(&self) -> Account {
        self.ladder.as_ref().map(|ladder| ladder.plan.account()).unwrap_or_default()
    }
}

/// The end that Codex reported with `item/completed`.
pub(crate) fn reported(code: Option<i64>, duration_ms: Option<i64>, stop: Option<&Stop>) -> Exit {
    let mut account = ExitAccount { raw_code: code, duration_ms, ..ExitAccount::default() };
    let Some(stop) = stop else {
        let status = match code {
            Some(-1) => {
                account.by = EndedBy::Codex;
                account.reason = Some("codex ended it and did not say how");
                ExitStatus::Unknown
            }
            Some(code) => {
                account.looks_like = signal_name(code.saturating_sub(128));
                ExitStatus::Code(code)
            }
            None => {
                account.reason = Some("codex reported the end without an exit code");
                ExitStatus::Unknown
            }
        };
        return Exit { status, account };
    };
    let done = stop.account();
    account.by = stop.by;
    (account.escaped, account.killed, account.left) = (done.escaped, done.killed, done.left);
    let status = match (code, last_signal(&done)) {
        (Some(code), _) if code > 128 && was_sent(&done, code.saturating_sub(128)) => {
            account.reason = Some("ended by the signal it was sent");
            signal_name(code.saturating_sub(128)).map_or(ExitStatus::Code(code), ExitStatus::Signal)
        }
        // Codex's terminate and clean are one SIGKILL to the group, reported as -1. In a tty it
        // loses every signal: 1 or -1.
        (Some(-1), Some(name)) => {
            account.inferred = true;
            account.reason = Some("ended on request; codex did not report the signal");
            ExitStatus::Signal(name)
        }
        (Some(1), Some(name)) if done.gentle == Some(Gentle::Int) => {
            account.inferred = true;
            account.reason = Some("ended on request; in a tty codex does not report the signal");
            ExitStatus::Signal(name)
        }
        (Some(-1), None) => {
            account.reason = Some("codex ended it and did not say how");
            ExitStatus::Unknown
        }
        // Its own handler, or an end of its own that came first: the code is its own.
        (Some(code), sent) => {
            match (sent, done.gentle) {
                // In a tty, Codex calls its own SIGKILL 1 too, and what was not found may have one.
                (Some(_), None) if code == 1 => {
                    account.reason = Some(
                        "its processes could not be found, so codex ended its process group at once; \
                         the code may be its own or stand for that",
                    );
                }
                // Nothing handles SIGKILL: it had ended before.
                (Some(_) | None, None) => account.by = EndedBy::Itself,
                (Some(_) | None, Some(_)) => {
                    account.reason = Some("ended by its own handler, or by itself, after it was asked to");
                }
            }
            account.looks_like = signal_name(code.saturating_sub(128));
            ExitStatus::Code(code)
        }
        (None, _) => {
            account.reason = Some("codex reported the end without an exit code");
            ExitStatus::Unknown
        }
    };
    if done.not_found && matches!(status, ExitStatus::Signal(_)) {
        account.reason = Some("its processes could not be found, so codex ended its process group at once");
    }
    Exit { status, account }
}

/// An end that nobody reported. What we had begun to end was ended by us.
pub(crate) fn unseen(by: EndedBy, reason: &'static str, stop: Option<&Stop>) -> Exit {
    let done = stop.map(Stop::account).unwrap_or_default();
    let account = ExitAccount {
        by: stop.map_or(by, |stop| stop.by),
        reason: Some(reason),
        escaped: done.escaped,
        killed: done.killed,
        left: done.left,
        ..ExitAccount::default()
    };
    Exit { status: ExitStatus::Unknown, account }
}

/// The last signal that could have ended it.
fn last_signal(done: &Account) -> Option<&'static str> {
    match (done.terminated, done.gentle) {
        (true, _) => Some("SIGKILL"),
        (false, Some(Gentle::Term)) => Some("SIGTERM"),
        (false, Some(Gentle::Int)) => Some("SIGINT"),
        (false, None) => None,
    }
}

fn was_sent(done: &Account, number: i64) -> bool {
    match number {
        2 => done.gentle == Some(Gentle::Int),
        9 => done.terminated || done.killed > 0,
        15 => done.gentle == Some(Gentle::Term),
        _ => false,
    }
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
