use super::super::signal::{self, Sent, Signal};
use super::super::tree::{MARKER, Marked, ProcessKey, Processes, Role, Scope};
use super::{Bounds, sweep_within};
use crate::core::ids::ThreadId;
use crate::core::input::SweepReport;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// What takes a request or a kill has the time for it, however slow the machine is.
const PATIENT: Bounds = Bounds { term: 3_000, kill: 3_000 };
/// For what takes no request.
const IN_VAIN: Bounds = Bounds { term: 10, ..PATIENT };

/// Real processes under a thread id that no other test uses.
struct Rig {
    thread: ThreadId,
    dir: TempDir,
    started: Vec<Child>,
}

impl Rig {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { thread: ThreadId::new(dir.path().to_string_lossy()), dir, started: Vec::new() }
    }

    /// Starts a marked shell; gives the pids it prints on its first line, when it is ready.
    fn marked(&mut self, script: &str) -> Vec<u32> {
        let mut command = Command::new("sh");
        command.args(["-c", script]).env(MARKER, self.thread.as_str());
        self.start(command)
    }

    /// Starts an unmarked app-server that runs a marked shell; gives what the shell prints.
    fn app_server(&mut self, script: &str) -> (u32, Vec<u32>) {
        self.codex("codex", "app-server", script)
    }

    fn codex(&mut self, name: &str, command: &str, script: &str) -> (u32, Vec<u32>) {
        let path = self.dir.path().join(name);
        let body = format!("{MARKER}={} sh -c '{script}' &\nwait", self.thread);
        testkit::program::script(&path, &body).unwrap();
        let mut process = Command::new(path);
        process.arg(command);
        let pids = self.start(process);
        (self.started.last().unwrap().id(), pids)
    }

    fn start(&mut self, mut command: Command) -> Vec<u32> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        self.started.push(child);
        let pids: Vec<u32> = line.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
        pids.iter().for_each(|pid| await_exec(*pid));
        pids
    }

    fn scope(&self, app_server: Option<u32>) -> Scope {
        Scope { marked: Marked::Threads(BTreeSet::from([self.thread.clone()])), app_server }
    }

    fn sweep(&self, app_server: Option<u32>) -> SweepReport {
        sweep_within(PATIENT, &self.scope(app_server))
    }
}

/// A shell that says its pid and then execs is for a moment a process without an environment.
fn await_exec(pid: u32) {
    let cmdline = || std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let is_before = || cmdline().windows(10).any(|text| text == b"exec sleep");
    for _ in 0..12_000 {
        if !is_before() && !cmdline().is_empty() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("{pid} did not exec");
}

impl Drop for Rig {
    fn drop(&mut self) {
        // What a test spared on purpose: nothing may be left behind.
        let mut processes = Processes::look().unwrap();
        for server in &self.started {
            for key in processes.members(&self.scope(Some(server.id()))).into_keys() {
                signal::send(&mut processes, key, Signal::Kill);
            }
        }
        for child in &mut self.started {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

fn alive(pids: &[u32]) -> Vec<u32> {
    let status = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let is_alive = |pid: &u32| status(*pid).rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'));
    pids.iter().copied().filter(is_alive).collect()
}

#[test]
fn a_whole_tree_is_ended_with_what_left_its_session() {
    let mut rig = Rig::new();
    let pids = rig.marked("sleep 60 & a=$!; setsid sleep 60 & b=$!; echo $$ $a $b; wait");
    assert_eq!(alive(&pids), pids);
    assert_eq!(rig.sweep(None), SweepReport { ended: 3, left: 0 });
    assert_eq!(alive(&pids), Vec::<u32>::new());
}

#[test]
fn a_handler_runs_before_the_end() {
    let mut rig = Rig::new();
    let witness = rig.dir.path().join("handled");
    let script =
        format!("trap 'echo > {}; exit' TERM; echo $$; while :; do sleep 0.02; done", witness.display());
    rig.marked(&script);
    let report = rig.sweep(None);
    assert_eq!(report.left, 0);
    assert!(witness.exists());
}

#[test]
fn what_ignores_the_request_is_killed() {
    let mut rig = Rig::new();
    let pids = rig.marked("trap '' TERM; sleep 60 & echo $$ $!; while :; do sleep 0.05; done");
    let report = sweep_within(IN_VAIN, &rig.scope(None));
    assert_eq!(report.left, 0);
    assert!(report.ended >= 2, "{report:?}");
    assert_eq!(alive(&pids), Vec::<u32>::new());
}

#[test]
fn a_stopped_process_gets_its_chance_to_handle_the_request() {
    let mut rig = Rig::new();
    let witness = rig.dir.path().join("handled");
    let script = format!("trap 'echo > {}; exit' TERM; echo $$; kill -STOP $$; exit 3", witness.display());
    let pids = rig.marked(&script);
    let mut processes = Processes::look().unwrap();
    while !processes.members(&rig.scope(None)).values().any(|role| *role == Role::Stopped) {
        assert_eq!(alive(&pids), pids);
        processes.look_again();
    }
    assert_eq!(rig.sweep(None).left, 0);
    assert!(witness.exists());
}

#[test]
fn other_threads_are_no_business_of_ours() {
    let mut mine = Rig::new();
    let mut other = Rig::new();
    mine.marked("echo $$; exec sleep 60");
    let pids = other.marked("echo $$; exec sleep 60");
    assert_eq!(mine.sweep(None), SweepReport { ended: 1, left: 0 });
    assert_eq!(alive(&pids), pids);
    assert_eq!(other.sweep(None), SweepReport { ended: 1, left: 0 });
}

#[test]
fn what_runs_under_another_living_app_server_is_spared_and_under_ours_is_not() {
    let mut rig = Rig::new();
    let (server, pids) = rig.app_server("echo $$; exec sleep 60");
    assert_eq!(rig.sweep(None), SweepReport::default());
    assert_eq!(alive(&pids), pids);
    assert_eq!(rig.sweep(Some(server)), SweepReport { ended: 1, left: 0 });
    assert_eq!(alive(&pids), Vec::<u32>::new());
}

#[test]
fn what_runs_under_a_living_codex_of_somebody_is_spared() {
    for name in ["codex", "codex.js", "codex-x86_64-unknown-linux-musl"] {
        let mut rig = Rig::new();
        let (_, pids) = rig.codex(name, "resume", "echo $$; exec sleep 60");
        assert_eq!(rig.sweep(Some(u32::MAX)), SweepReport::default(), "{name}");
        assert_eq!(alive(&pids), pids, "{name}");
    }
}

#[test]
fn a_sandbox_that_outlived_its_codex_spares_nothing() {
    let mut rig = Rig::new();
    let (_, pids) = rig.codex("codex-linux-sandbox", "--", "echo $$; exec sleep 60");
    assert_eq!(rig.sweep(Some(u32::MAX)), SweepReport { ended: 1, left: 0 });
    assert_eq!(alive(&pids), Vec::<u32>::new());
}

/// Cargo hands on the words that choose tests: with this one we have the command line of a Codex.
#[test]
fn what_is_above_ourselves_is_nobody_elses_app_server() {
    let other = "stop::sweep::tests::a_whole_tree_is_ended_with_what_left_its_session";
    let mut again = Command::new(std::env::current_exe().unwrap());
    let output = again.args(["codex", "--exact", other]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn orphans_of_a_dead_app_server_are_found() {
    let mut rig = Rig::new();
    let (server, pids) = rig.app_server("echo $$; exec sleep 60");
    let child = rig.started.last_mut().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(alive(&pids), pids);
    assert_eq!(rig.sweep(Some(server)), SweepReport { ended: 1, left: 0 });
    assert_eq!(alive(&pids), Vec::<u32>::new());
}

#[test]
fn nothing_to_do_is_nothing_done() {
    assert_eq!(Rig::new().sweep(None), SweepReport::default());
}

#[test]
fn a_key_of_another_time_is_not_signalled() {
    let mut rig = Rig::new();
    let pids = rig.marked("echo $$; exec sleep 60");
    let mut processes = Processes::look().unwrap();
    let key = loop {
        // Until the exec of `sleep` is over, it shows no environment.
        if let Some(key) = processes.members(&rig.scope(None)).into_keys().next() {
            break key;
        }
        assert_eq!(alive(&pids), pids);
        processes.look_again();
    };
    let stale = ProcessKey { started: key.started - 5, ..key };
    assert_eq!(signal::send(&mut processes, stale, Signal::Kill), Sent::Gone);
    assert_eq!(alive(&pids), pids);
    assert_eq!(signal::send(&mut processes, key, Signal::Kill), Sent::Delivered);
}

#[test]
fn the_first_process_and_ourselves_are_never_signalled() {
    let mut processes = Processes::look().unwrap();
    for pid in [0, 1, std::process::id()] {
        let key = ProcessKey { pid, started: 0 };
        assert_eq!(signal::send(&mut processes, key, Signal::Term), Sent::Refused);
    }
}
