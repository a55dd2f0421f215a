//! Whether one process still lives, asked often and cheaply.
//!
//! Where the system has handles of processes, a question is one call and reads nothing.

use super::tree::{ProcessKey, Processes};

/// A process whose end matters.
#[derive(Debug)]
pub(super) struct Pulse {
    key: ProcessKey,
    /// None are left, or some container forbids them: then the table of processes is asked.
    #[cfg(all(target_os = "linux", not(portable_unix)))]
    handle: Option<rustix::fd::OwnedFd>,
}

impl Pulse {
    /// `None` if it is gone already.
    pub(super) fn take(key: ProcessKey, processes: &mut Processes) -> Option<Self> {
        // The handle is taken before the check: from then on it means the process that was checked.
        #[cfg(all(target_os = "linux", not(portable_unix)))]
        let handle = handle(key);
        let is_alive = !processes.alive([key]).is_empty();
        is_alive.then_some(Self {
            key,
            #[cfg(all(target_os = "linux", not(portable_unix)))]
            handle,
        })
    }

    /// Whose it is.
    pub(super) fn key(&self) -> ProcessKey {
        self.key
    }

    /// Whether it lives. A zombie does not.
    pub(super) fn beats(&self, processes: &mut Processes) -> bool {
        #[cfg(all(target_os = "linux", not(portable_unix)))]
        if let Some(handle) = &self.handle {
            return !has_ended(handle);
        }
        !processes.alive([self.key]).is_empty()
    }
}

#[cfg(all(target_os = "linux", not(portable_unix)))]
fn handle(key: ProcessKey) -> Option<rustix::fd::OwnedFd> {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    let pid = Pid::from_raw(i32::try_from(key.pid).ok()?)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

#[cfg(all(target_os = "linux", not(portable_unix)))]
fn has_ended(handle: &rustix::fd::OwnedFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds = [PollFd::new(handle, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    // A poll that was interrupted is asked again the next time.
    poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
}
