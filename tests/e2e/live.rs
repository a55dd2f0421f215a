//! Which commands of a Codex thread really run, by the marks that Codex gives its commands.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::ensure;
use testkit::PATIENCE;
use tokio::time::Instant;

use sysinfo::{Process, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System, UpdateKind};

/// The item ids of all commands of the thread that have a living process.
pub(crate) fn commands(thread: &str) -> BTreeSet<String> {
    let mut system = System::new().expect("sysinfo knows the systems that Codex runs on");
    let wanted = ProcessRefreshKind::nothing().with_environ(UpdateKind::Always).without_tasks();
    system.refresh_processes_specifics(ProcessesToUpdate::All, true, wanted);
    system
        .processes()
        .values()
        .filter(|it| !matches!(it.status(), ProcessStatus::Zombie | ProcessStatus::Dead))
        .filter(|it| variable(it, "CODEX_THREAD_ID=") == Some(thread))
        .filter_map(|it| variable(it, "CODEX_TOOL_CALL_ID=").map(str::to_owned))
        .collect()
}

/// Waits until no command of the thread has a process: what was killed needs a moment to take that.
pub(crate) async fn until_none(thread: &str) -> anyhow::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let live = commands(thread);
        if live.is_empty() {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "{live:?} still run");
        // The system has no event for "a process of this environment ended".
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn variable<'a>(process: &'a Process, prefix: &str) -> Option<&'a str> {
    process.environ().iter().find_map(|it| it.to_str()?.strip_prefix(prefix))
}
