use super::{Act, Event, Plan};
use crate::core::input::{Gentle, StopReport};

const SIGNALLED: Event = Event::Reached(StopReport::Signalled { with: Gentle::Term, members: 3 });
const NOT_FOUND: Event = Event::Reached(StopReport::NotFound);
const GONE: Event = Event::Reached(StopReport::Gone { escaped: 1, killed: 0 });
const LEFT: Event = Event::Reached(StopReport::Left { left: 1, escaped: 1, killed: 2 });

fn play(events: &[Event]) -> Vec<Act> {
    let mut plan = Plan::asked();
    events.iter().flat_map(|event| plan.on(*event)).collect()
}

#[test]
fn a_gentle_end_needs_no_force() {
    assert_eq!(play(&[SIGNALLED, Event::Ended, GONE]), [Act::Report]);
    assert_eq!(play(&[SIGNALLED, GONE, Event::Ended]), [Act::Report]);
}

#[test]
fn a_handler_may_outlive_the_leader_within_the_grace() {
    let mut plan = Plan::asked();
    plan.on(SIGNALLED);
    assert_eq!(plan.on(Event::Ended), []);
    assert_eq!(plan.on(Event::Hurry), [Act::Finish]);
    assert_eq!(plan.on(LEFT), [Act::Report]);
    assert_eq!(plan.account().left, 1);
}

#[test]
fn the_end_of_the_grace_and_a_second_request_are_the_same() {
    assert_eq!(play(&[SIGNALLED, Event::Hurry, Event::Hurry]), [Act::Terminate, Act::Finish]);
    // Nobody has looked yet: what left the group would be lost.
    assert_eq!(play(&[Event::Hurry]), []);
    assert_eq!(play(&[Event::Hurry, SIGNALLED]), [Act::Terminate, Act::Finish]);
    assert_eq!(play(&[Event::Hurry, Event::Bound]), [Act::Terminate, Act::Finish]);
}

#[test]
fn what_cannot_be_found_is_codexs_to_end() {
    assert_eq!(play(&[NOT_FOUND, Event::Ended]), [Act::Terminate]);
    assert_eq!(play(&[NOT_FOUND, Event::Ended, Event::Terminated(true)]), [Act::Terminate, Act::Report]);
    assert_eq!(play(&[NOT_FOUND, Event::Ended, Event::Bound]), [Act::Terminate, Act::Report]);
    assert_eq!(play(&[Event::Ended, NOT_FOUND]), [Act::Report]);
}

#[test]
fn what_codex_did_not_have_it_did_not_kill() {
    for (had_it, events) in [
        (true, [NOT_FOUND, Event::Terminated(true), Event::Ended]),
        (false, [NOT_FOUND, Event::Terminated(false), Event::Ended]),
        (false, [NOT_FOUND, Event::Ended, Event::Terminated(false)]),
    ] {
        let mut plan = Plan::asked();
        let acts: Vec<Act> = events.iter().flat_map(|event| plan.on(*event)).collect();
        assert_eq!(acts, [Act::Terminate, Act::Report]);
        assert_eq!(plan.account().terminated, had_it);
    }
}

/// Every sequence of up to six events: terminated at most once, reported at most once, never before
/// Codex's word, always once its word and the end of the members or a bound are there; and
/// nothing after the report.
#[test]
fn every_order_of_events_ends_in_one_report() {
    let answer = Event::Terminated(true);
    let events = [SIGNALLED, NOT_FOUND, GONE, LEFT, Event::Ended, Event::Hurry, answer, Event::Bound];
    let mut n_plays = 0;
    let mut stack: Vec<Vec<Event>> = vec![Vec::new()];
    while let Some(play) = stack.pop() {
        check(&play);
        n_plays += 1;
        if play.len() < 6 {
            stack.extend(events.iter().map(|event| [&play[..], &[*event]].concat()));
        }
    }
    assert_eq!(n_plays, (0..=6).map(|n| 8_usize.pow(n)).sum::<usize>());
}

fn check(play: &[Event]) {
    let mut plan = Plan::asked();
    let (mut n_terminates, mut n_finishes, mut n_reports) = (0, 0, 0);
    let (mut ended, mut bound) = (false, false);
    let (mut last, mut answered) = (None, false);
    for event in play {
        let was_reported = plan.is_reported();
        let acts = plan.on(*event);
        assert!(!was_reported || acts.is_empty(), "{play:?}");
        ended |= *event == Event::Ended;
        bound |= *event == Event::Bound;
        answered |= n_terminates == 1 && matches!(event, Event::Terminated(_));
        if [SIGNALLED, NOT_FOUND, GONE, LEFT].contains(event) {
            last = Some(*event);
        }
        for act in &acts {
            match act {
                Act::Terminate => n_terminates += 1,
                Act::Finish => n_finishes += 1,
                Act::Report => n_reports += 1,
            }
        }
        assert!(!acts.contains(&Act::Report) || ended, "{play:?}");
        let is_gone = [Some(GONE), Some(LEFT)].contains(&last);
        let is_codexs = last == Some(NOT_FOUND) && (answered || n_terminates == 0);
        let must = ended && (bound || is_gone || is_codexs);
        assert!(!must || n_reports == 1, "{play:?}");
        assert_eq!(plan.is_reported(), n_reports == 1, "{play:?}");
    }
    assert!(n_terminates <= 1 && n_finishes <= 1 && n_reports <= 1, "{play:?}");
}
