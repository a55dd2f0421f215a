use super::{Ladder, Stop, reported, unseen};
use crate::core::ids::StopId;
use crate::core::input::{Gentle, StopReport};
use crate::core::update::{EndedBy, Exit, ExitStatus};
use crate::stop::plan::{Event, Plan};

/// An end with this code after the client's stop went through these events.
fn stopped(code: i64, events: &[Event]) -> Exit {
    let mut plan = Plan::asked();
    for event in events {
        plan.on(*event);
    }
    let ladder = Some(Ladder { id: StopId(1), plan, held: None });
    let exit = reported(Some(code), None, Some(&Stop { by: EndedBy::Client, ladder }));
    assert_eq!(exit.account.raw_code, Some(code), "the raw code is always there");
    exit
}

fn signalled(with: Gentle) -> Event {
    Event::Reached(StopReport::Signalled { with, members: 2 })
}

#[test]
fn an_end_of_its_own_keeps_the_code() {
    for code in [0, 1, 3, 137, 143, 255] {
        let exit = reported(Some(code), None, None);
        assert_eq!((exit.status, exit.account.by), (ExitStatus::Code(code), EndedBy::Itself));
    }
    assert_eq!(reported(Some(143), None, None).account.looks_like, Some("SIGTERM"));
    assert_eq!(reported(Some(3), None, None).account.looks_like, None);
}

#[test]
fn a_signal_that_was_sent_and_reported_is_named() {
    let exit = stopped(143, &[signalled(Gentle::Term)]);
    assert_eq!((exit.status, exit.account.inferred), (ExitStatus::Signal("SIGTERM"), false));
    let exit = stopped(130, &[signalled(Gentle::Int)]);
    assert_eq!((exit.status, exit.account.inferred), (ExitStatus::Signal("SIGINT"), false));
    let exit = stopped(137, &[signalled(Gentle::Term), Event::Hurry]);
    assert_eq!((exit.status, exit.account.inferred), (ExitStatus::Signal("SIGKILL"), false));
}

#[test]
fn a_signal_that_was_sent_and_not_reported_is_inferred() {
    for (code, events, name) in [
        (-1, vec![signalled(Gentle::Term), Event::Hurry], "SIGKILL"),
        (-1, vec![Event::Reached(StopReport::NotFound)], "SIGKILL"),
        (1, vec![signalled(Gentle::Int)], "SIGINT"),
        (-1, vec![signalled(Gentle::Int)], "SIGINT"),
    ] {
        let exit = stopped(code, &events);
        assert_eq!((exit.status, exit.account.inferred), (ExitStatus::Signal(name), true), "{code}");
        assert_eq!(exit.account.by, EndedBy::Client);
    }
}

#[test]
fn an_end_without_a_request_says_why() {
    for code in [-1, 137] {
        let exit = stopped(code, &[Event::Reached(StopReport::NotFound)]);
        assert_eq!(exit.status, ExitStatus::Signal("SIGKILL"));
        let reason = exit.account.reason.unwrap_or_default();
        assert!(reason.contains("could not be found"), "{code}: {reason}");
        assert_eq!(exit.account.inferred, code != 137, "{code}");
        let exit = stopped(code, &[signalled(Gentle::Term), Event::Hurry]);
        let reason = exit.account.reason.unwrap_or_default();
        assert!(!reason.contains("could not be found"), "{code}: {reason}");
    }
    // 1 is what Codex calls its own SIGKILL in a tty, and a code like any other elsewhere.
    let exit = stopped(1, &[Event::Reached(StopReport::NotFound)]);
    assert_eq!((exit.status, exit.account.by), (ExitStatus::Code(1), EndedBy::Client));
    assert!(exit.account.reason.unwrap_or_default().contains("may be its own"));
    // It ended by itself before Codex got to it.
    let exit = stopped(3, &[Event::Reached(StopReport::NotFound)]);
    assert_eq!((exit.status, exit.account.by), (ExitStatus::Code(3), EndedBy::Itself));
    assert!(!exit.account.reason.unwrap_or_default().contains("could not be found"));
}

#[test]
fn a_handler_keeps_its_code() {
    for code in [0, 1, 3] {
        let exit = stopped(code, &[signalled(Gentle::Term)]);
        assert_eq!((exit.status, exit.account.by), (ExitStatus::Code(code), EndedBy::Client));
    }
}

#[test]
fn a_signal_that_nobody_sent_is_not_named() {
    assert_eq!(stopped(139, &[signalled(Gentle::Term)]).status, ExitStatus::Code(139));
    assert_eq!(stopped(130, &[signalled(Gentle::Term)]).status, ExitStatus::Code(130));
    let exit = stopped(143, &[]);
    assert_eq!((exit.status, exit.account.by), (ExitStatus::Code(143), EndedBy::Itself), "it came first");
}

#[test]
fn nobody_is_blamed_without_a_record() {
    let exit = reported(Some(-1), None, None);
    assert_eq!((exit.status, exit.account.by), (ExitStatus::Unknown, EndedBy::Codex));
    assert_eq!(reported(None, None, None).status, ExitStatus::Unknown);
    assert_eq!(unseen(EndedBy::AppServerLost, "gone", None).status, ExitStatus::Unknown);
}

#[test]
fn what_codex_had_no_more_ended_by_itself() {
    let late = [Event::Reached(StopReport::NotFound), Event::Terminated(false)];
    for code in [0, 1, 3] {
        let exit = stopped(code, &late);
        assert_eq!((exit.status, exit.account.by), (ExitStatus::Code(code), EndedBy::Itself), "{code}");
    }
    assert_eq!(stopped(-1, &late).status, ExitStatus::Unknown);
}

#[test]
fn an_end_that_nobody_reported_keeps_what_is_known_of_its_processes() {
    let mut plan = Plan::asked();
    plan.on(signalled(Gentle::Term));
    plan.on(Event::Reached(StopReport::Gone { escaped: 2, killed: 1 }));
    let stop = Stop { by: EndedBy::Client, ladder: Some(Ladder { id: StopId(1), plan, held: None }) };
    let exit = unseen(EndedBy::AppServerLost, "gone", Some(&stop));
    assert_eq!(exit.status, ExitStatus::Unknown);
    assert_eq!((exit.account.by, exit.account.escaped, exit.account.killed), (EndedBy::Client, 2, 1));
}
