use super::{Ends, FLUSH, Leave, PANICKED, RunError, guarded};
use crate::child::{Child, Program};
use crate::core::ids::Generation;
use rustix::process::{Pid, test_kill_process};
use std::cell::Cell;
use std::os::unix::fs::PermissionsExt;
use tokio::io::{AsyncReadExt, DuplexStream, duplex};
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

/// What the pipe to the client holds in these tests.
const PIPE: usize = 1 << 20;
/// A Codex that takes neither the end of its input nor SIGTERM.
const STUBBORN: &str = "#!/bin/sh\ntrap '' TERM\necho ready\nwhile :; do sleep 0.05; done\n";

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Serves as the loop would: with a Codex, and with lines that nobody has written yet.
async fn serving(ends: Ends<'_>, pid: &Cell<Option<u32>>, lines: &[String]) -> (Child, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("codex");
    std::fs::write(&path, STUBBORN).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = Program { path, overrides: Vec::new() };
    let child = Child::start(&program, Generation(1), ends.children).unwrap();
    pid.set(child.pid());
    // Its first line: from here on it ignores SIGTERM.
    ends.from_children.recv().await.unwrap();
    lines.iter().for_each(|line| ends.client.push(line.clone()));
    (child, dir)
}

fn received(mut client: DuplexStream) -> String {
    let mut text = String::new();
    runtime().block_on(client.read_to_string(&mut text)).unwrap();
    text
}

fn is_alive(pid: Option<u32>) -> bool {
    let pid = pid.and_then(|pid| Pid::from_raw(i32::try_from(pid).unwrap()));
    test_kill_process(pid.expect("a Codex was started")).is_ok()
}

#[test]
fn a_panic_of_ours_leaves_no_codex_and_the_client_gets_what_was_queued() {
    let (ours, client) = duplex(PIPE);
    let lines = ["one".to_owned(), "x".repeat(300_000)];
    let pid = Cell::new(None);
    let outcome = guarded(
        runtime(),
        || ours,
        async |ends| {
            let _held = serving(ends, &pid, &lines).await;
            panic!("on purpose")
        },
    );
    assert_eq!(outcome.unwrap(), PANICKED);
    assert!(!is_alive(pid.get()), "Codex outlived us");
    assert_eq!(received(client), format!("{}\n", lines.join("\n")));
}

#[test]
fn a_panic_before_any_codex_is_no_other_case() {
    let start = Instant::now();
    let (ours, client) = duplex(PIPE);
    let outcome = guarded(
        runtime(),
        || ours,
        async |ends| {
            ends.client.push("one".to_owned());
            panic!("on purpose")
        },
    );
    assert_eq!(outcome.unwrap(), PANICKED);
    assert_eq!(received(client), "one\n");
    assert!(start.elapsed() < FLUSH, "a client that reads makes nobody wait");
}

#[test]
fn a_client_that_reads_nothing_holds_neither_a_panic_nor_an_end() {
    for panics in [true, false] {
        // The far end is held open and never read.
        let (ours, client) = duplex(1);
        let pid = Cell::new(None);
        let outcome = guarded(
            runtime(),
            || ours,
            async |ends| {
                let _held = serving(ends, &pid, &["never read".to_owned()]).await;
                assert!(!panics, "on purpose");
                Ok::<Leave, RunError>(Leave::Clean(0))
            },
        );
        assert_eq!(outcome.unwrap(), if panics { PANICKED } else { 0 });
        assert!(!is_alive(pid.get()), "Codex outlived us");
        drop(client);
    }
}
