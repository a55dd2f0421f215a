#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::super::tree::{COMMAND_MARKER, MARKER};
use super::{Pace, Watch};
use crate::core::ids::{ItemId, ThreadId, WatchId};
use crate::core::vitals::{Vitals, WatchAct, WatchReport};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;
use tempfile::TempDir;

const ONE: WatchId = WatchId(1);
const TWO: WatchId = WatchId(2);
const MIB: u64 = 1 << 20;
/// Only a test that fails waits this long.
const PATIENCE: Duration = Duration::from_secs(120);
/// So that a test sees many measures.
const QUICK: Pace = Pace {
    tick: Duration::from_millis(10),
    first: Duration::from_millis(200),
    then: Duration::from_millis(200),
    look: Duration::from_millis(50),
};

/// Real commands under ids that no other test uses. This process is their app-server.
struct Rig {
    thread: ThreadId,
    /// Names the thread.
    _dir: TempDir,
    started: Vec<Started>,
    watch: Watch,
    reports: Receiver<(WatchId, WatchReport)>,
}

/// A script that reads its orders from a pipe, and ends with it.
struct Started {
    process: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Rig {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (told, reports) = mpsc::channel();
        let watch = Watch::at_pace(QUICK, move |watch, report| {
            // A test that is over hears nothing.
            let _ = told.send((watch, report));
        });
        let thread = ThreadId::new(dir.path().to_string_lossy());
        Self { thread, _dir: dir, started: Vec::new(), watch: watch.unwrap(), reports }
    }

    /// Starts `script` as command `item`, leader of its session as under Codex; it must write a line
    /// when it is ready. Its pid.
    fn start(&mut self, item: &str, script: &str) -> u32 {
        // `setsid` forks only where it leads a group already: the pid is that of the script.
        self.launch(Command::new("setsid").args(["sh", "-c", script]).env(COMMAND_MARKER, item))
    }

    fn launch(&mut self, command: &mut Command) -> u32 {
        command.env(MARKER, self.thread.as_str()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let (stdin, stdout) = (process.stdin.take(), BufReader::new(process.stdout.take().unwrap()));
        let pid = process.id();
        self.started.push(Started { process, stdin, stdout });
        self.line(self.started.len() - 1);
        pid
    }

    /// Waits for the next line of a script.
    fn line(&mut self, n: usize) -> String {
        let mut line = String::new();
        self.started[n].stdout.read_line(&mut line).unwrap();
        line
    }

    fn say(&mut self, n: usize, line: &str) {
        writeln!(self.started[n].stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn kill(&mut self, n: usize) {
        self.started[n].process.kill().unwrap();
    }

    fn begin(&self, watch: WatchId, item: &str) {
        let act = WatchAct::Begin { thread: self.thread.clone(), item: ItemId::new(item) };
        self.watch.act(watch, act, Some(std::process::id()));
    }

    fn end(&self, watch: WatchId) {
        self.watch.act(watch, WatchAct::End, Some(std::process::id()));
    }

    fn next(&self) -> (WatchId, WatchReport) {
        self.reports.recv_timeout(PATIENCE).unwrap()
    }

    /// The next vitals of `watch` that are so.
    fn until(&self, watch: WatchId, is_so: impl Fn(&Vitals) -> bool) -> Vitals {
        loop {
            match self.next() {
                (of, WatchReport::Vitals(vitals)) if of == watch && is_so(&vitals) => return vitals,
                (_, WatchReport::Vitals(_)) => {}
                (of, report) => panic!("{report:?} of {of:?}"),
            }
        }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        for Started { process, stdin, .. } in &mut self.started {
            // Children of a script read from the same pipe, or end with it.
            drop(stdin.take());
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }
}

const IDLE: &str = "echo up; read line";

#[test]
fn an_idle_command_is_told_once() {
    let mut rig = Rig::new();
    let pid = rig.start("idle", IDLE);
    rig.begin(ONE, "idle");
    let first = rig.until(ONE, |_| true);
    assert_eq!((first.pid, first.processes), (pid, 1));
    assert!(first.memory > 0 && first.started > 0, "{first:?}");
    // The limit of CPU time (s) ends the loop where a test that was killed leaves it behind.
    // Many measures of an idle command fit between two of a busy one.
    rig.start("busy", "ulimit -t 60; echo up; while :; do :; done");
    let mut n_idle = 0;
    for n in 0..5 {
        let busy = WatchId(100 + n);
        rig.begin(busy, "busy");
        loop {
            match rig.next() {
                (ONE, _) => n_idle += 1,
                (of, WatchReport::Vitals(_)) if of == busy => break,
                (_, WatchReport::Vitals(_)) => {}
                other => panic!("{other:?}"),
            }
        }
        rig.end(busy);
    }
    // The start of the shell may still count in the first one.
    assert!(n_idle <= 1, "{n_idle} more of an idle command");
}

#[test]
fn a_busy_child_shows() {
    let mut rig = Rig::new();
    let pid = rig.start(
        "busy",
        "ulimit -t 60; sh -c 'while :; do :; done' & child=$!; echo up; read line; kill $child",
    );
    rig.begin(ONE, "busy");
    let busy = rig.until(ONE, |it| it.cpu_percent > 0 && it.processes == 2);
    assert_eq!(busy.pid, pid);
    rig.say(0, "end");
    rig.line(0);
}

#[test]
fn children_that_come_and_go_show() {
    let mut rig = Rig::new();
    rig.start(
        "tree",
        "echo up; read line; sleep 1000 & echo $!; read line; kill $!; wait; echo gone; read line",
    );
    rig.begin(ONE, "tree");
    rig.until(ONE, |it| it.processes == 1);
    rig.say(0, "more");
    rig.line(0);
    rig.until(ONE, |it| it.processes == 2);
    rig.say(0, "less");
    rig.until(ONE, |it| it.processes == 1);
}

#[test]
fn a_child_without_the_marker_counts_by_its_session() {
    let mut rig = Rig::new();
    rig.start("wiping", "env -i sleep 1000 & echo up; read line; kill $!; wait");
    rig.begin(ONE, "wiping");
    rig.until(ONE, |it| it.processes == 2);
    rig.say(0, "end");
    assert_eq!(rig.line(0), "");
}

#[test]
fn memory_that_grows_is_news() {
    let mut rig = Rig::new();
    rig.start(
        "hungry",
        "echo up; read line; x=$(head -c 20000000 /dev/zero | tr '\\0' x); echo full; read line",
    );
    rig.begin(ONE, "hungry");
    let before = rig.until(ONE, |_| true);
    rig.say(0, "eat");
    assert_eq!(rig.line(0), "full\n");
    rig.until(ONE, |it| it.memory > before.memory + 10 * MIB);
}

#[test]
fn a_leader_that_is_killed_is_told_and_then_nothing() {
    let mut rig = Rig::new();
    rig.start("a", IDLE);
    rig.start("b", IDLE);
    rig.begin(ONE, "a");
    rig.begin(TWO, "b");
    rig.until(ONE, |_| true);
    // It stays a zombie: nobody waits for it.
    rig.kill(0);
    while let (_, report) = rig.next()
        && report != WatchReport::Ended
    {}
    rig.kill(1);
    loop {
        let (watch, report) = rig.next();
        assert_eq!(watch, TWO, "and nothing more of the first");
        if report == WatchReport::Ended {
            break;
        }
    }
}

#[test]
fn a_leader_that_leaves_a_child_behind_has_ended() {
    let mut rig = Rig::new();
    // It lives as long as the pipe.
    rig.start("leaving", "exec 3<&0; cat <&3 >/dev/null & echo up; wait");
    rig.begin(ONE, "leaving");
    rig.until(ONE, |it| it.processes == 2);
    rig.kill(0);
    while let (ONE, report) = rig.next()
        && report != WatchReport::Ended
    {}
}

#[test]
fn what_has_no_marker_is_not_found() {
    let mut rig = Rig::new();
    rig.launch(Command::new("setsid").args(["sh", "-c", IDLE]).env_clear());
    rig.begin(ONE, "wiped");
    assert_eq!(rig.next(), (ONE, WatchReport::NotFound));
}

#[test]
fn a_watch_that_was_ended_tells_nothing() {
    let mut rig = Rig::new();
    rig.start("a", IDLE);
    rig.start("b", IDLE);
    rig.begin(ONE, "a");
    rig.until(ONE, |_| true);
    rig.end(ONE);
    rig.begin(TWO, "b");
    rig.until(TWO, |_| true);
    rig.kill(0);
    rig.kill(1);
    loop {
        let (watch, report) = rig.next();
        assert_eq!(watch, TWO, "and nothing more of the first");
        if report == WatchReport::Ended {
            break;
        }
    }
    // Begun again it is looked for anew.
    rig.begin(ONE, "a");
    assert_eq!(rig.next(), (ONE, WatchReport::NotFound));
}
