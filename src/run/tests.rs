#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::{Ends, FLUSH, Leave, PANICKED, RunError, guarded};
use crate::child::{Child, FromChild, Program};
use crate::core::ids::Generation;
use crate::stop::sweep::sweep;
use crate::stop::tree::{Marked, Scope};
use crate::transport::Frame;
use std::cell::Cell;
use std::time::Duration;
use tokio::io::{AsyncReadExt, DuplexStream, duplex};
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

/// Only a test that fails waits this long. The command of [`STUBBORN`] would live longer.
const PATIENCE: Duration = Duration::from_secs(60);
/// What the pipe to the client holds in these tests.
const PIPE: usize = 1 << 20;
/// A Codex that takes neither the end of its input nor SIGTERM, and has a command that left its group.
const STUBBORN: &str = "trap '' TERM\nsetsid sleep 1000 &\necho $!\nwhile :; do sleep 0.05; done";

/// Processes that were seen to run.
#[derive(Default)]
struct Seen {
    codex: Cell<Option<u32>>,
    command: Cell<Option<u32>>,
}

/// A mark that no other run of these tests has.
fn run(name: &str) -> String {
    format!("{name}-{}", crate::run::nonce())
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Serves as the loop would: with a Codex, and with lines that nobody has written yet.
async fn serving(ends: Ends<'_>, run: &str, seen: &Seen, lines: &[String]) -> (Child, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("codex");
    testkit::program::script(&path, STUBBORN).unwrap();
    let program = Program { path, overrides: Vec::new(), run: Some(format!("{run}.1")) };
    let child = Child::start(&program, Generation(1), ends.children).unwrap();
    seen.codex.set(child.pid());
    // Its first line: from here on it ignores SIGTERM.
    let said = ends.from_children.recv().await.unwrap();
    let FromChild::Frame { frame: Frame::Line(line), .. } = said else { panic!("{said:?}") };
    seen.command.set(std::str::from_utf8(&line).unwrap().parse().ok());
    lines.iter().for_each(|line| ends.client.push(line.clone()));
    (child, dir)
}

fn received(mut client: DuplexStream) -> String {
    let mut text = String::new();
    runtime().block_on(client.read_to_string(&mut text)).unwrap();
    text
}

/// Waits until it is gone: what was killed is so once it had a moment to take that. A zombie that nobody has
/// reaped yet is gone.
fn assert_ends(pid: Option<u32>, what: &str) {
    let pid = pid.expect("it was started");
    let stat = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let is_alive = || stat().rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'));
    let start = Instant::now();
    while is_alive() {
        assert!(start.elapsed() < PATIENCE, "{what} outlived us");
        std::thread::yield_now();
    }
}

#[test]
fn a_panic_of_ours_leaves_no_codex_and_the_client_gets_what_was_queued() {
    let (ours, client) = duplex(PIPE);
    let lines = ["one".to_owned(), "x".repeat(300_000)];
    let (seen, run) = (Seen::default(), run("panic"));
    let outcome = guarded(
        runtime(),
        &run,
        || ours,
        async |ends| {
            let _held = serving(ends, &run, &seen, &lines).await;
            panic!("on purpose")
        },
    );
    assert_eq!(outcome.unwrap(), PANICKED);
    assert_ends(seen.codex.get(), "Codex");
    assert_ends(seen.command.get(), "a command that left its group");
    assert_eq!(received(client), format!("{}\n", lines.join("\n")));
}

#[test]
fn a_panic_before_any_codex_is_no_other_case() {
    // A clock that goes on only where everybody waits for it.
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let clock = runtime.handle().clone();
    let now = || {
        let _context = clock.enter();
        Instant::now()
    };
    let start = now();
    let (ours, client) = duplex(PIPE);
    let outcome = guarded(
        runtime,
        &run("no-codex"),
        || ours,
        async |ends| {
            ends.client.push("one".to_owned());
            panic!("on purpose")
        },
    );
    assert_eq!(outcome.unwrap(), PANICKED);
    assert_eq!(received(client), "one\n");
    assert!(now() < start + FLUSH, "a client that reads makes nobody wait");
}

#[test]
fn a_client_that_reads_nothing_holds_neither_a_panic_nor_an_end() {
    for panics in [true, false] {
        // The far end is held open and never read.
        let (ours, client) = duplex(1);
        let (seen, run) = (Seen::default(), run(if panics { "deaf-panic" } else { "deaf" }));
        let outcome = guarded(
            runtime(),
            &run,
            || ours,
            async |ends| {
                let _held = serving(ends, &run, &seen, &["never read".to_owned()]).await;
                assert!(!panics, "on purpose");
                Ok::<Leave, RunError>(Leave::Clean(0))
            },
        );
        assert_eq!(outcome.unwrap(), if panics { PANICKED } else { 0 });
        assert_ends(seen.codex.get(), "Codex");
        if !panics {
            // Here nobody played the core, which ends the commands of its sessions.
            sweep(&Scope { marked: Marked::Run(run), app_server: None });
        }
        assert_ends(seen.command.get(), "a command that left its group");
        drop(client);
    }
}
