use super::{Child, FromChild, Grace, Program};
use crate::core::ids::Generation;
use crate::transport::Frame;
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::mpsc::{self, Receiver};
use tokio::time::timeout;

/// Only a test that fails waits this long.
const PATIENCE: Duration = Duration::from_secs(60);
/// What has to come comes by itself, however slow the machine is.
const PATIENT: Grace = Grace { drain: PATIENCE, after_eof: PATIENCE, after_term: PATIENCE };
/// For a step that has to be in vain.
const SHORT: Duration = Duration::from_millis(50);

/// A `codex` made of a shell script, and what comes from it.
struct Rig {
    child: Child,
    events: Receiver<FromChild>,
    _dir: TempDir,
}

fn start(script: &str) -> Rig {
    start_with(PATIENT, script)
}

fn start_with(grace: Grace, script: &str) -> Rig {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("codex");
    testkit::program::script(&path, script).unwrap();
    let (sender, events) = mpsc::channel(8);
    let program = Program { path, overrides: vec!["a=1".to_owned(), "b=\"x\"".to_owned()], run: None };
    let child = Child::start_with(grace, &program, Generation(3), sender).unwrap();
    Rig { child, events, _dir: dir }
}

impl Rig {
    async fn next(&mut self) -> String {
        let event = timeout(PATIENCE, self.events.recv()).await.expect("something comes");
        match event {
            None => "end".to_owned(),
            Some(FromChild::Frame { generation: Generation(3), frame: Frame::Line(line) }) => {
                String::from_utf8_lossy(&line).into_owned()
            }
            Some(FromChild::Died { generation: Generation(3), how, stderr }) => {
                format!("died: {how}, stderr {stderr:?}")
            }
            Some(other) => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn arguments_lines_both_ways_and_the_exit() {
    let mut rig = start(r#"echo "$*"; read line; echo "got $line"; echo oops >&2; exit 7"#);
    assert_eq!(rig.next().await, "app-server -c a=1 -c b=\"x\"");
    rig.child.send("hello".to_owned());
    assert_eq!(rig.next().await, "got hello");
    assert_eq!(rig.next().await, "died: exit code 7, stderr Some(\"oops\")");
    assert_eq!(rig.next().await, "end");
}

#[tokio::test]
async fn everything_written_before_the_exit_arrives_before_the_death() {
    let mut rig = start("i=0; while [ $i -lt 500 ]; do echo $i; i=$((i+1)); done; printf last");
    for n in 0..500 {
        assert_eq!(rig.next().await, n.to_string());
    }
    assert_eq!(rig.next().await, "last");
    assert_eq!(rig.next().await, "died: exit code 0, stderr None");
}

#[tokio::test]
async fn a_signal_is_named() {
    let mut rig = start("kill -9 $$");
    assert_eq!(rig.next().await, "died: signal 9, stderr None");
}

#[tokio::test]
async fn a_descendant_that_holds_the_pipes_does_not_hold_the_death() {
    let grace = Grace { drain: SHORT, ..PATIENT };
    let mut rig = start_with(grace, "sleep 60 & echo $!; echo why >&2; exit 1");
    let pid = rig.next().await;
    assert_eq!(rig.next().await, "died: exit code 1, stderr Some(\"why\")");
    kill(&pid);
}

#[tokio::test]
async fn a_descendant_that_writes_on_and_on_does_not_hold_the_death() {
    let mut rig = start_with(Grace { drain: SHORT, ..PATIENT }, "echo $$; yes & yes >&2 & exit 1");
    let group = rig.next().await;
    let mut last = String::new();
    for _ in 0..5_000_000 {
        last = rig.next().await;
        if last != "y" {
            break;
        }
    }
    assert!(last.starts_with("died: exit code 1"), "{last}");
    let group = rustix::process::Pid::from_raw(group.parse().unwrap()).unwrap();
    // They are ended by the closed pipes already.
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
}

#[tokio::test]
async fn end_closes_stdin_first() {
    let mut rig = start("trap 'echo term; exit 9' TERM; echo up; while read line; do :; done; exit 4");
    assert_eq!(rig.next().await, "up");
    rig.child.end();
    assert_eq!(rig.next().await, "died: exit code 4, stderr None");
}

#[tokio::test]
async fn end_terminates_what_ignores_the_end_of_stdin() {
    let script = "exec 2>/dev/null; trap 'echo term; exit 9' TERM; echo up; while :; do sleep 0.02; done";
    let mut rig = start_with(Grace { after_eof: SHORT, ..PATIENT }, script);
    assert_eq!(rig.next().await, "up");
    rig.child.end();
    assert_eq!(rig.next().await, "term");
    assert_eq!(rig.next().await, "died: exit code 9, stderr None");
}

#[tokio::test]
async fn end_kills_the_group_of_what_ignores_everything() {
    let grace = Grace { drain: SHORT, after_eof: SHORT, after_term: SHORT };
    let mut rig = start_with(grace, "trap '' TERM; sleep 60 & echo $!; while :; do sleep 0.02; done");
    let helper = rig.next().await;
    rig.child.end();
    assert_eq!(rig.next().await, "died: signal 9, stderr None");
    // Its signal has gone out; it is gone when it has taken it.
    until(|| !std::path::Path::new(&format!("/proc/{helper}/fd/0")).exists()).await;
}

#[tokio::test]
async fn a_dropped_child_is_ended() {
    let Rig { child, mut events, _dir } = start("echo up; read line; exit 5");
    assert!(matches!(events.recv().await, Some(FromChild::Frame { .. })));
    drop(child);
    let Some(FromChild::Died { how, .. }) = events.recv().await else { panic!("it ends") };
    assert_eq!(how, "exit code 5");
}

#[tokio::test]
async fn closed_output_is_an_end() {
    let grace = Grace { drain: SHORT, ..PATIENT };
    let mut rig = start_with(grace, "echo up; exec >&-; read line; exit 6");
    assert_eq!(rig.next().await, "up");
    assert_eq!(rig.next().await, "died: closed its output, exit code 6, stderr None");
}

#[tokio::test]
async fn what_is_no_program_says_so() {
    let (sender, _events) = mpsc::channel(1);
    let program = Program { path: "/nonexistent/codex".into(), overrides: Vec::new(), run: None };
    let error = Child::start(&program, Generation(1), sender).unwrap_err().to_string();
    assert!(error.starts_with("/nonexistent/codex could not be started: No such file"), "{error}");
}

async fn until(is_so: impl Fn() -> bool) {
    let so = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, so).await.expect("it becomes so");
}

fn kill(pid: &str) {
    let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}
