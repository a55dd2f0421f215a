use super::{Stop, reported, unseen};
use crate::core::update::{EndedBy, ExitStatus};

fn judge(code: Option<i64>, by: Option<EndedBy>) -> (ExitStatus, EndedBy, Option<&'static str>) {
    let exit = reported(code, None, by.map(|by| Stop { by }));
    assert_eq!(exit.account.raw_code, code, "the raw code is always there");
    (exit.status, exit.account.by, exit.account.looks_like)
}

#[test]
fn an_end_of_its_own_keeps_the_code() {
    for code in [0, 1, 3, 137, 143, 255] {
        assert_eq!(judge(Some(code), None).0, ExitStatus::Code(code));
    }
    assert_eq!(judge(Some(143), None).2, Some("SIGTERM"));
    assert_eq!(judge(Some(3), None).2, None);
}

#[test]
fn our_kill_is_named() {
    for code in [-1, 137] {
        assert_eq!(
            judge(Some(code), Some(EndedBy::Client)),
            (ExitStatus::Signal("SIGKILL"), EndedBy::Client, None)
        );
    }
}

#[test]
fn an_end_that_came_before_our_kill_is_its_own() {
    assert_eq!(judge(Some(3), Some(EndedBy::Client)), (ExitStatus::Code(3), EndedBy::Itself, None));
}

#[test]
fn nobody_is_blamed_without_a_record() {
    assert_eq!(judge(Some(-1), None), (ExitStatus::Unknown, EndedBy::Codex, None));
    assert_eq!(judge(None, None), (ExitStatus::Unknown, EndedBy::Itself, None));
    assert_eq!(unseen(EndedBy::AppServerLost, "gone").status, ExitStatus::Unknown);
}
