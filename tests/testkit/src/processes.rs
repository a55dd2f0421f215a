//! Finds processes by a variable of their environment, which all their descendants inherit.
//!
//! Sends a signal only to a pid that the test names.

use std::fmt;
use std::thread;
use std::time::Duration;

use sysinfo::{ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System, UpdateKind};

/// A running process; zombies are not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub pid: u32,
    /// The parent, if it is known.
    pub ppid: Option<u32>,
    /// The process group; `None` where there are none.
    pub pgid: Option<u32>,
    /// Program and arguments, joined by spaces.
    pub cmd: String,
}

/// Looks for processes whose environment holds one variable with one value.
///
/// Useful variables: `CODEX_HOME` (all of one test), `CODEX_THREAD_ID` (all commands of a thread),
/// `CODEX_TOOL_CALL_ID` (all of one command).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Census {
    marker: String,
}

impl Census {
    pub fn new(key: &str, value: impl fmt::Display) -> Self {
        Self { marker: format!("{key}={value}") }
    }

    /// The processes that carry the marker now, ordered by pid.
    #[must_use]
    pub fn take(&self) -> Vec<Found> {
        let wanted = ProcessRefreshKind::nothing()
            .with_environ(UpdateKind::Always)
            .with_cmd(UpdateKind::Always)
            .without_tasks();
        let mut system = System::new().expect("sysinfo knows the systems that Codex runs on");
        system.refresh_processes_specifics(ProcessesToUpdate::All, true, wanted);
        let mut found: Vec<Found> = system
            .processes()
            .values()
            .filter(|it| !matches!(it.status(), ProcessStatus::Zombie | ProcessStatus::Dead))
            .filter(|it| it.environ().iter().any(|pair| *pair == *self.marker))
            .map(|it| Found {
                pid: it.pid().as_u32(),
                ppid: it.parent().map(sysinfo::Pid::as_u32),
                pgid: group(it.pid().as_u32()),
                cmd: it.cmd().join(" ".as_ref()).to_string_lossy().into_owned(),
            })
            .collect();
        found.sort_by_key(|it| it.pid);
        found
    }

    /// The processes that carry `key=value` now, ordered by pid.
    #[must_use]
    pub fn of_env(key: &str, value: impl fmt::Display) -> Vec<Found> {
        Self::new(key, value).take()
    }

    /// Waits until nothing carries the marker.
    ///
    /// # Errors
    /// What is still there after `timeout`.
    pub async fn wait_gone(&self, timeout: Duration) -> Result<(), Vec<Found>> {
        self.wait(timeout, Vec::is_empty).await.map(drop)
    }

    /// Waits until what carries the marker is as asked, and returns it.
    ///
    /// # Errors
    /// What is there after `timeout`.
    pub async fn wait(
        &self,
        timeout: Duration,
        is_as_asked: impl Fn(&Vec<Found>) -> bool,
    ) -> Result<Vec<Found>, Vec<Found>> {
        let deadline = tokio::time::Instant::now() + timeout;
        loop {
            let found = self.take();
            if is_as_asked(&found) {
                return Ok(found);
            }
            if tokio::time::Instant::now() >= deadline {
                return Err(found);
            }
            // The system has no event for "a process of this environment ended".
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Fails the test that leaves a process behind. Must be checked before it is dropped.
#[derive(Debug)]
#[must_use = "call check at the end of the test"]
pub struct NoneLeft {
    census: Census,
    checked: bool,
}

impl NoneLeft {
    /// # Panics
    /// When something carries the marker already: it would be blamed on this test.
    #[track_caller]
    pub fn new(key: &str, value: impl fmt::Display) -> Self {
        let census = Census::new(key, value);
        assert_eq!(census.take(), [], "processes with {} before the test", census.marker);
        Self { census, checked: false }
    }

    /// Asserts that nothing carries the marker at this moment.
    ///
    /// # Panics
    /// With the list of what is left.
    #[track_caller]
    pub fn check(mut self) {
        self.checked = true;
        assert_eq!(self.census.take(), [], "processes with {} left behind", self.census.marker);
    }

    /// Asserts that nothing carries the marker any more within `timeout`.
    ///
    /// # Panics
    /// With the list of what is left.
    pub async fn check_within(mut self, timeout: Duration) {
        self.checked = true;
        if let Err(left) = self.census.wait_gone(timeout).await {
            panic!("processes with {} left behind: {left:#?}", self.census.marker);
        }
    }
}

impl Drop for NoneLeft {
    fn drop(&mut self) {
        assert!(self.checked || thread::panicking(), "NoneLeft was dropped without a check");
    }
}

#[cfg(unix)]
fn group(pid: u32) -> Option<u32> {
    let pid = rustix::process::Pid::from_raw(pid.try_into().ok()?)?;
    // It may have ended since it was listed.
    let group = rustix::process::getpgid(Some(pid)).ok()?;
    u32::try_from(group.as_raw_nonzero().get()).ok()
}

#[cfg(not(unix))]
fn group(_pid: u32) -> Option<u32> {
    None
}

/// The signals that [`signal`] sends.
#[cfg(unix)]
pub use rustix::process::Signal;

/// Sends a signal to one process.
///
/// # Errors
/// When there is no such process, or it is not ours to signal.
#[cfg(target_os = "linux")]
pub fn signal(pid: u32, signal: Signal) -> std::io::Result<()> {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    Ok(pidfd_send_signal(pidfd_open(process_id(pid)?, PidfdFlags::empty())?, signal)?)
}

/// Sends a signal to one process.
///
/// # Errors
/// When there is no such process, or it is not ours to signal.
#[cfg(all(unix, not(target_os = "linux")))]
pub fn signal(pid: u32, signal: Signal) -> std::io::Result<()> {
    Ok(rustix::process::kill_process(process_id(pid)?, signal)?)
}

#[cfg(unix)]
fn process_id(pid: u32) -> std::io::Result<rustix::process::Pid> {
    // Pid 0 and what does not fit mean "my whole group" or nothing at all: never what a test wants.
    let raw = i32::try_from(pid).ok();
    raw.and_then(rustix::process::Pid::from_raw)
        .ok_or_else(|| std::io::Error::from(std::io::ErrorKind::InvalidInput))
}
