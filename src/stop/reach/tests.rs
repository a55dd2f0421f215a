#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::super::pursuit::Bounds;
use super::super::signal::{self, Signal};
use super::super::tree::{COMMAND_MARKER, MARKER, Marked, Processes, Scope};
use super::Reach;
use crate::core::effect::StopAct;
use crate::core::ids::{ItemId, StopId, ThreadId};
use crate::core::input::{Gentle, StopReport};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;
use tempfile::TempDir;

const ONE: StopId = StopId(1);
const TWO: StopId = StopId(2);
/// Only a test that fails waits this long.
const PATIENCE: Duration = Duration::from_secs(120);
/// What takes a request or a kill has the time for it, however slow the machine is.
const PATIENT: Bounds = Bounds { term: Duration::from_secs(60), kill: Duration::from_secs(60) };
/// For what takes no request.
const IN_VAIN: Bounds = Bounds { term: Duration::from_millis(200), ..PATIENT };

/// A real command under ids that no other test uses. This process is its app-server.
struct Rig {
    thread: ThreadId,
    item: ItemId,
    dir: TempDir,
    app_server: Option<u32>,
    started: Vec<Started>,
    reach: Option<Reach>,
    reports: Receiver<(StopId, StopReport)>,
}

struct Started {
    process: Child,
    stdout: BufReader<ChildStdout>,
}

impl Rig {
    fn new() -> Self {
        Self::within(PATIENT)
    }

    fn within(bounds: Bounds) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (told, reports) = mpsc::channel();
        let reach = Reach::within(bounds, move |stop, report| {
            // A test that is over hears nothing.
            let _ = told.send((stop, report));
        });
        Self {
            thread: ThreadId::new(dir.path().to_string_lossy()),
            item: ItemId::new("call_1"),
            dir,
            app_server: Some(std::process::id()),
            started: Vec::new(),
            reach: Some(reach.unwrap()),
            reports,
        }
    }

    /// A rig whose command is this script, leader of its session as under Codex, and has said that
    /// it is ready. The script has `$DIR` for files of its own.
    fn running(script: &str) -> Self {
        let mut rig = Self::new();
        rig.command(&["sh", "-c", script]);
        rig
    }

    /// The same with a script that takes no request.
    fn stubborn(script: &str) -> Self {
        let mut rig = Self::within(IN_VAIN);
        rig.command(&["sh", "-c", script]);
        rig
    }

    fn command(&mut self, program: &[&str]) -> Vec<u32> {
        let mut command = Command::new("setsid");
        command.args(program).env(MARKER, self.thread.as_str()).env(COMMAND_MARKER, self.item.as_str());
        self.start(command)
    }

    /// Starts it; the pids of its first line.
    fn start(&mut self, mut command: Command) -> Vec<u32> {
        command.env("DIR", self.dir.path()).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        self.started.push(Started { process, stdout });
        line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    }

    /// Makes a program of this name; its path.
    fn program(&self, name: &str, script: &str) -> String {
        let path = self.dir.path().join(name);
        testkit::program::script(&path, script).unwrap();
        path.to_string_lossy().into_owned()
    }

    fn act(&self, stop: StopId, act: StopAct) {
        self.reach.as_ref().unwrap().act(stop, act, self.app_server);
    }

    fn ask(&self) -> StopReport {
        self.act(ONE, self.asking());
        self.next()
    }

    fn asking(&self) -> StopAct {
        StopAct::Ask { thread: self.thread.clone(), item: self.item.clone() }
    }

    fn finish(&self) -> StopReport {
        self.act(ONE, StopAct::Finish);
        self.next()
    }

    fn next(&self) -> StopReport {
        let (stop, report) = self.reports.recv_timeout(PATIENCE).unwrap();
        assert_eq!(stop, ONE);
        report
    }

    /// Exit code of the first command; nothing may hold its output open any more.
    fn code(&mut self) -> Option<i32> {
        let Started { process, stdout } = &mut self.started[0];
        stdout.read_to_end(&mut Vec::new()).unwrap();
        process.wait().unwrap().code()
    }

    fn has_witness(&self) -> bool {
        self.dir.path().join("witness").exists()
    }

    fn scope(&self, app_server: Option<u32>) -> Scope {
        let marked = Marked::Command { thread: self.thread.clone(), item: self.item.clone() };
        Scope { marked, app_server }
    }

    fn assert_nothing_left(&self) {
        let members = Processes::look().unwrap().members(&self.scope(self.app_server));
        assert!(members.is_empty(), "{members:?}");
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // What a test spared on purpose, or failed to end.
        let mut processes = Processes::look().unwrap();
        for key in processes.members(&self.scope(Some(std::process::id()))).into_keys() {
            signal::send(&mut processes, key, Signal::Kill);
        }
        for Started { process, .. } in &mut self.started {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }
}

/// For a handler: starts a process in a session of its own, and waits until that has it.
const AWAY: &str = r#"setsid sh -c "echo > $DIR/away; exec sleep 60" & until [ -e $DIR/away ]; do :; done;"#;

fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

fn until_named(pid: u32, name: &str) {
    let comm = || std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
    while comm().trim_end() != name {
        std::thread::yield_now();
    }
}

fn is_alive(pid: u32) -> bool {
    state(pid).is_some_and(|state| state != 'Z')
}

fn asked_with_term(report: StopReport) -> bool {
    matches!(report, StopReport::Signalled { with: Gentle::Term, .. })
}

#[test]
fn a_handler_that_cleans_up_ends_the_command_by_itself() {
    let mut rig = Rig::running("trap 'echo > $DIR/witness; exit 0' TERM; sleep 60 & echo $!; wait");
    assert_eq!(rig.ask(), StopReport::Signalled { with: Gentle::Term, members: 2 });
    assert_eq!(rig.next(), StopReport::Gone { escaped: 0, killed: 0 });
    assert_eq!((rig.code(), rig.has_witness()), (Some(0), true));
    rig.assert_nothing_left();
}

#[test]
fn the_exit_code_of_a_handler_is_kept() {
    let mut rig = Rig::running("trap 'exit 3' TERM; sleep 60 & echo $!; wait");
    assert!(asked_with_term(rig.ask()));
    assert_eq!(rig.next(), StopReport::Gone { escaped: 0, killed: 0 });
    assert_eq!(rig.code(), Some(3));
    rig.assert_nothing_left();
}

#[test]
fn a_handler_that_takes_long_is_waited_for() {
    let mut rig = Rig::running(
        "trap 'i=0; while [ $i -lt 20 ]; do sleep 0.05; i=$((i+1)); done; echo > $DIR/witness; exit 0' TERM
         sleep 60 & echo $!; wait",
    );
    assert!(asked_with_term(rig.ask()));
    // The helpers of a handler carry the marker too, and are not asked to end before it is over.
    assert_eq!(rig.next(), StopReport::Gone { escaped: 0, killed: 0 });
    assert_eq!((rig.code(), rig.has_witness()), (Some(0), true));
}

#[test]
fn what_ignores_the_request_is_killed_when_told_so() {
    let mut rig = Rig::stubborn("trap '' TERM; sleep 60 & echo $!; wait");
    assert_eq!(rig.ask(), StopReport::Signalled { with: Gentle::Term, members: 2 });
    assert_eq!(rig.finish(), StopReport::Gone { escaped: 0, killed: 2 });
    assert_eq!(rig.code(), None);
    rig.assert_nothing_left();
}

#[test]
fn a_handler_of_the_last_request_still_counts() {
    let mut rig = Rig::running(
        "trap 'trap \"echo > $DIR/witness; exit 4\" TERM; echo again > $DIR/first' TERM
         sleep 60 & echo $!; while :; do wait; done",
    );
    assert!(asked_with_term(rig.ask()));
    while !rig.dir.path().join("first").exists() {
        std::thread::yield_now();
    }
    assert!(matches!(rig.finish(), StopReport::Gone { escaped: 0, .. }));
    assert_eq!((rig.code(), rig.has_witness()), (Some(4), true));
    rig.assert_nothing_left();
}

#[test]
fn a_child_in_a_session_of_its_own_is_asked_as_well() {
    let mut rig = Rig::running("setsid sh -c 'trap \"exit 0\" TERM; sleep 60 & echo $$; wait' & wait");
    assert!(asked_with_term(rig.ask()));
    assert_eq!(rig.next(), StopReport::Gone { escaped: 2, killed: 0 });
    assert_eq!(rig.code(), None);
    rig.assert_nothing_left();
}

#[test]
fn a_child_that_took_its_marks_off_is_asked_as_long_as_it_descends_from_the_command() {
    let unmarked = format!("env -u {MARKER} {COMMAND_MARKER}=another");
    let script = format!("setsid {unmarked} sh -c 'trap \"exit 0\" TERM; sleep 60 & echo $$; wait' & wait");
    let mut rig = Rig::new();
    let pids = rig.command(&["sh", "-c", &script]);
    assert!(asked_with_term(rig.ask()));
    assert_eq!(rig.next(), StopReport::Gone { escaped: 2, killed: 0 });
    assert!(!is_alive(pids[0]));
    assert_eq!(rig.code(), None);
    rig.assert_nothing_left();
}

#[test]
fn a_daemon_that_forked_twice_is_asked_as_well() {
    let mut rig = Rig::new();
    let pids = rig.command(&["sh", "-c", "setsid sh -c 'sleep 60 & echo $! $$' & sleep 60; exit 0"]);
    while is_alive(pids[1]) {
        std::thread::yield_now();
    }
    assert!(asked_with_term(rig.ask()));
    assert_eq!(rig.next(), StopReport::Gone { escaped: 1, killed: 0 });
    assert!(!is_alive(pids[0]));
    rig.code();
    rig.assert_nothing_left();
}

#[test]
fn jobs_in_groups_of_their_own_are_asked_as_well() {
    let mut rig = Rig::new();
    let pids = rig.command(&["bash", "-c", "set -m; sleep 60 & a=$!; sleep 60 & echo $a $!; wait"]);
    assert_eq!(rig.ask(), StopReport::Signalled { with: Gentle::Term, members: 3 });
    assert_eq!(rig.next(), StopReport::Gone { escaped: 2, killed: 0 });
    assert!(!pids.into_iter().any(is_alive));
    rig.code();
    rig.assert_nothing_left();
}

#[test]
fn a_stopped_child_goes_on_and_hears_the_request() {
    let mut rig = Rig::new();
    let pids = rig.command(&["sh", "-c", "sleep 60 & kill -STOP $!; echo $!; wait"]);
    while state(pids[0]) != Some('T') {
        std::thread::yield_now();
    }
    assert_eq!(rig.ask(), StopReport::Signalled { with: Gentle::Term, members: 2 });
    assert_eq!(rig.next(), StopReport::Gone { escaped: 0, killed: 0 });
    rig.code();
    rig.assert_nothing_left();
}

#[test]
fn what_a_handler_starts_while_it_ends_is_found_later() {
    let mut rig = Rig::running(&format!(
        "trap '{AWAY} sleep 60 & echo > $DIR/witness; exit 0' TERM; sleep 60 & echo $!; wait"
    ));
    assert_eq!(rig.ask(), StopReport::Signalled { with: Gentle::Term, members: 2 });
    assert_eq!(rig.next(), StopReport::Gone { escaped: 1, killed: 0 });
    assert_eq!((rig.code(), rig.has_witness()), (Some(0), true));
    rig.assert_nothing_left();
}

#[test]
fn a_request_that_a_fork_took_before_its_exec_is_repeated() {
    // The subshell has the command line of its parent, takes the request, and becomes a program.
    let mut rig = Rig::running(
        "(trap 'exec sleep 60' TERM; sleep 60 & echo $!; while :; do wait; done) & trap 'exit 0' TERM; wait",
    );
    assert!(asked_with_term(rig.ask()));
    assert_eq!(rig.next(), StopReport::Gone { escaped: 0, killed: 0 });
    rig.code();
    rig.assert_nothing_left();
}

#[test]
fn what_is_seen_while_a_handler_runs_is_asked_once_the_handler_is_over() {
    // Two of the same command line have it look again while the handler is at work.
    let mut rig = Rig::new();
    let script = format!(
        "trap '{AWAY} sleep 0.4; exit 0' TERM
        sleep 60 & a=$!; sleep 60 & echo $a $!; while :; do wait; done"
    );
    for pid in rig.command(&["sh", "-c", &script]) {
        until_named(pid, "sleep");
    }
    assert!(asked_with_term(rig.ask()));
    assert_eq!(rig.next(), StopReport::Gone { escaped: 1, killed: 0 });
    assert_eq!(rig.code(), Some(0));
    rig.assert_nothing_left();
}

#[test]
fn a_request_that_a_handler_took_is_not_repeated() {
    let mut rig = Rig::running(
        "trap 'echo >> $DIR/witness; sleep 0.5; exit 0' TERM; sleep 60 & echo $!; while :; do wait; done",
    );
    assert!(asked_with_term(rig.ask()));
    assert_eq!(rig.next(), StopReport::Gone { escaped: 0, killed: 0 });
    assert_eq!(rig.code(), Some(0));
    assert_eq!(std::fs::read_to_string(rig.dir.path().join("witness")).unwrap(), "\n");
}

#[test]
fn what_starts_itself_again_and_again_is_ended_for_good() {
    let script = "trap '' TERM; echo; while :; do setsid sleep 60 & wait; done";
    let mut rig = Rig::stubborn(script);
    assert!(asked_with_term(rig.ask()));
    let StopReport::Gone { killed, .. } = rig.finish() else { panic!("it is ended") };
    assert!(killed >= 1);
    rig.code();
    rig.assert_nothing_left();
}

#[test]
fn a_pipe_that_a_grandchild_holds_is_closed_in_the_end() {
    let mut rig = Rig::stubborn("setsid sh -c 'trap \"\" TERM; sleep 60 & echo; wait' & wait");
    assert!(asked_with_term(rig.ask()));
    let StopReport::Gone { escaped, killed } = rig.finish() else { panic!("it is ended") };
    assert!(escaped >= 2 && killed >= 2, "{escaped} {killed}");
    // Reads to the end of the pipe.
    rig.code();
    rig.assert_nothing_left();
}

#[test]
fn many_members_are_asked_at_once() {
    let mut rig = Rig::running("for i in $(seq 64); do sleep 60 & done; echo $!; wait");
    assert_eq!(rig.ask(), StopReport::Signalled { with: Gentle::Term, members: 65 });
    assert_eq!(rig.next(), StopReport::Gone { escaped: 0, killed: 0 });
    rig.code();
    rig.assert_nothing_left();
}

#[test]
fn a_child_without_environment_is_found_by_its_session() {
    let mut rig = Rig::new();
    let pids = rig.command(&["sh", "-c", "env -i sleep 60 & echo $!; wait"]);
    until_named(pids[0], "sleep");
    assert_eq!(rig.ask(), StopReport::Signalled { with: Gentle::Term, members: 2 });
    assert_eq!(rig.next(), StopReport::Gone { escaped: 0, killed: 0 });
    assert!(!is_alive(pids[0]));
    rig.code();
}

#[test]
fn a_sandbox_is_not_asked_but_what_runs_in_it_is() {
    let mut rig = Rig::new();
    let inner = "trap 'exit 3' TERM; sleep 60 & echo \\$!; wait";
    let sandbox = rig.program("bwrap", &format!("trap 'exit 9' TERM\nsetsid sh -c \"{inner}\"\nexit $?"));
    let pids = rig.command(&[&sandbox]);
    // In the middle of its exec it would be found later.
    until_named(pids[0], "sleep");
    let asked = rig.ask();
    assert_eq!(asked, StopReport::Signalled { with: Gentle::Term, members: 2 });
    // The session that the sandbox made for the command is no escape.
    assert_eq!(rig.next(), StopReport::Gone { escaped: 0, killed: 0 });
    assert_eq!(rig.code(), Some(3));
    rig.assert_nothing_left();
}

#[test]
fn a_sandbox_is_known_by_what_it_is_called() {
    // As Codex runs its own: started by a file descriptor, so that the system has another name for it.
    let mut rig = Rig::new();
    let inner = "trap 'exit 3' TERM; sleep 60 & echo $!; wait";
    let file = rig.program("inner", inner);
    let sandbox = format!("trap 'exit 9' TERM; setsid {file}; exit $?");
    let pids = rig.command(&["bash", "-c", "exec -a bwrap sh -c \"$0\"", &sandbox]);
    until_named(pids[0], "sleep");
    assert_eq!(rig.ask(), StopReport::Signalled { with: Gentle::Term, members: 2 });
    assert_eq!(rig.next(), StopReport::Gone { escaped: 0, killed: 0 });
    assert_eq!(rig.code(), Some(3));
    rig.assert_nothing_left();
}

#[cfg(not(portable_unix))]
#[test]
fn a_command_in_a_terminal_is_interrupted() {
    let mut rig = Rig::new();
    rig.app_server = None;
    let script = "trap 'echo > $DIR/witness; exit 0' INT; sleep 60 & echo $!; wait";
    let file = rig.program("tty", script);
    let marked = format!("{MARKER}={} {COMMAND_MARKER}={} exec {file}", rig.thread, rig.item.as_str());
    let mut command = Command::new("script");
    command.args(["-qec", &marked, "/dev/null"]).env("SHELL", "/bin/sh");
    rig.start(command);
    let asked = rig.ask();
    assert!(matches!(asked, StopReport::Signalled { with: Gentle::Int, members: 2 }), "{asked:?}");
    while !rig.has_witness() {
        std::thread::yield_now();
    }
    // A shell starts its children deaf to the interrupt, as at any Ctrl-C.
    assert!(matches!(rig.finish(), StopReport::Gone { escaped: 0, killed: 0 }));
    rig.code();
    rig.assert_nothing_left();
}

#[cfg(not(portable_unix))]
#[test]
fn a_loop_in_a_terminal_is_interrupted_as_a_whole() {
    // A shell goes on with its loop if only itself, and not the program of that moment, hears of it. A Ctrl-C
    // can come between two programs too, so that it takes more than one try now and then; 64 never.
    let ends_at_once = |_| {
        let mut rig = Rig::new();
        rig.app_server = None;
        let marked = format!("{MARKER}={} {COMMAND_MARKER}={}", rig.thread, rig.item.as_str());
        let script = format!("{marked} exec bash -c 'echo $$; while :; do sleep 0.005; done'");
        let mut command = Command::new("script");
        command.args(["-qec", &script, "/dev/null"]).env("SHELL", "/bin/sh");
        rig.start(command);
        assert!(matches!(rig.ask(), StopReport::Signalled { with: Gentle::Int, .. }));
        let report = rig.reports.recv_timeout(Duration::from_secs(5));
        if report.is_err() {
            rig.finish();
        }
        rig.code();
        rig.assert_nothing_left();
        report == Ok((ONE, StopReport::Gone { escaped: 0, killed: 0 }))
    };
    assert!((0..64).any(ends_at_once));
}

/// Only Linux tells which terminal a process has.
#[cfg(portable_unix)]
#[test]
fn a_command_in_a_terminal_is_asked_as_any_other() {
    let mut rig = Rig::new();
    rig.app_server = None;
    let marked = format!("{MARKER}={} {COMMAND_MARKER}={}", rig.thread, rig.item.as_str());
    let script = format!("{marked} exec sh -c 'trap \"exit 3\" TERM; sleep 60 & echo $$; wait'");
    let mut command = Command::new("script");
    command.args(["-qec", &script, "/dev/null"]).env("SHELL", "/bin/sh");
    rig.start(command);
    assert!(asked_with_term(rig.ask()));
    assert_eq!(rig.next(), StopReport::Gone { escaped: 0, killed: 0 });
    assert_eq!(rig.code(), Some(3));
    rig.assert_nothing_left();
}

#[test]
fn a_command_of_another_app_server_is_spared() {
    let mut rig = Rig::new();
    rig.app_server = None;
    let marked = format!("{MARKER}={} {COMMAND_MARKER}={}", rig.thread, rig.item.as_str());
    let other = rig.program("codex", &format!("{marked} sh -c 'sleep 60 & echo $$ $!; wait' &\nwait"));
    let mut command = Command::new(other);
    command.arg("app-server");
    let pids = rig.start(command);
    assert_eq!(rig.ask(), StopReport::NotFound);
    rig.command(&["sh", "-c", "echo; sleep 60; :"]);
    assert!(asked_with_term(rig.ask()));
    assert_eq!(rig.next(), StopReport::Gone { escaped: 0, killed: 0 });
    assert!(pids.into_iter().all(is_alive));
}

#[test]
fn an_app_server_that_a_command_runs_belongs_to_the_command() {
    let mut rig = Rig::within(IN_VAIN);
    let inner = rig.program("codex", "trap '' TERM\nsleep 60 &\necho $!\nwait");
    let pids = rig.command(&[&inner, "app-server"]);
    assert_eq!(rig.ask(), StopReport::Signalled { with: Gentle::Term, members: 2 });
    assert_eq!(rig.finish(), StopReport::Gone { escaped: 0, killed: 2 });
    assert!(!pids.into_iter().any(is_alive));
}

#[test]
fn other_commands_of_the_thread_are_not_touched() {
    let mut rig = Rig::running("sleep 60 & echo $!; wait");
    let other = std::mem::replace(&mut rig.item, ItemId::new("call_2"));
    let pids = rig.command(&["sh", "-c", "sleep 60 & echo $$ $!; wait"]);
    rig.item = other;
    assert_eq!(rig.ask(), StopReport::Signalled { with: Gentle::Term, members: 2 });
    assert_eq!(rig.next(), StopReport::Gone { escaped: 0, killed: 0 });
    assert!(pids.into_iter().all(is_alive));
    rig.item = ItemId::new("call_2");
    assert!(asked_with_term(rig.ask()));
    assert_eq!(rig.next(), StopReport::Gone { escaped: 0, killed: 0 });
    rig.assert_nothing_left();
}

#[test]
fn nothing_to_end_is_said_and_can_be_finished() {
    let rig = Rig::new();
    assert_eq!(rig.ask(), StopReport::NotFound);
    assert_eq!(rig.finish(), StopReport::Gone { escaped: 0, killed: 0 });
}

#[test]
fn a_forgotten_stop_says_nothing_more() {
    let rig = Rig::stubborn("trap '' TERM; sleep 60 & echo $!; wait");
    assert!(asked_with_term(rig.ask()));
    rig.act(ONE, StopAct::Forget);
    rig.act(TWO, rig.asking());
    rig.act(TWO, StopAct::Finish);
    let (stop, report) = rig.reports.recv_timeout(PATIENCE).unwrap();
    assert_eq!((stop, report), (TWO, StopReport::Gone { escaped: 0, killed: 2 }));
    rig.act(ONE, StopAct::Finish);
    rig.act(ONE, StopAct::Ask { thread: rig.thread.clone(), item: rig.item.clone() });
    // The finish of what was forgotten is not answered: the next answer is that of the ask.
    assert_eq!(rig.next(), StopReport::NotFound);
}

#[test]
fn a_thread_whose_loop_is_over_ends_in_the_middle_of_a_stop() {
    let mut rig = Rig::running("trap '' TERM; sleep 60 & echo $!; wait");
    assert!(asked_with_term(rig.ask()));
    drop(rig.reach.take());
    // Its end of the channel is dropped with it.
    assert_eq!(rig.reports.recv_timeout(PATIENCE), Err(mpsc::RecvTimeoutError::Disconnected));
}
