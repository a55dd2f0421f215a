#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::super::tree::{COMMAND_MARKER, MARKER, Marked, Scope};
use super::{Found, survey};
use crate::core::ids::{ItemId, ThreadId};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Commands of one thread; this process is their app-server.
struct Rig {
    dir: tempfile::TempDir,
    started: Vec<Child>,
}

impl Rig {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), started: Vec::new() }
    }

    fn thread(&self) -> String {
        self.dir.path().to_string_lossy().into_owned()
    }

    /// Starts it; it must write a line when it is ready.
    fn start(&mut self, item: &str, script: &str) -> u32 {
        let mut command = Command::new("setsid");
        command.args(["sh", "-c", script]).env(MARKER, self.thread()).env(COMMAND_MARKER, item);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        self.started.push(child);
        self.started.last().unwrap().id()
    }

    fn scope(&self) -> Scope {
        let marked = Marked::Threads([ThreadId::new(self.thread())].into());
        Scope { marked, app_server: Some(std::process::id()) }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        for child in &mut self.started {
            // Each leads a session and a group of its own.
            let group = rustix::process::Pid::from_child(child);
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            child.wait().unwrap();
        }
    }
}

#[test]
fn each_command_is_found_with_its_cost() {
    let mut rig = Rig::new();
    let busy = rig.start("busy", "ulimit -t 60; echo; while :; do :; done");
    let quiet = rig.start("quiet", "sleep 1000 & echo; wait");
    // On a crowded machine the loop may get no time between two looks, the other may still be busy with its
    // start at the first, and its child be in the middle of its exec at the second.
    let of = |found: &[Found], item: &str| found.iter().find(|it| it.item == ItemId::new(item)).cloned();
    let told = |found: &[Found]| {
        let (one, other) = (of(found, "busy")?, of(found, "quiet")?);
        let is_so = one.cpu_percent > 0 && other.cpu_percent == 0 && other.processes == 2;
        (is_so && other.memory > one.memory).then_some((one, other))
    };
    let mut found = Vec::new();
    let looks = (0..1000).find_map(|_| {
        found = survey(&rig.scope());
        told(&found)
    });
    let (one, other) = looks.unwrap_or_else(|| panic!("a loop costs something, a wait nothing: {found:?}"));
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!((one.pid, one.processes), (busy, 1), "{found:?}");
    assert_eq!(other.pid, quiet, "{found:?}");
    assert!(one.memory > 100 << 10, "{found:?}");
    assert_eq!(one.line, "sh -c ulimit -t 60; echo; while :; do :; done");
}

#[test]
fn nothing_is_found_where_nothing_runs() {
    assert_eq!(survey(&Rig::new().scope()), []);
}
