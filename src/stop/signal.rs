//! The one place that sends signals to processes that are not our children.
//!
//! Checks the identity first. Does not choose whom.

#[cfg(all(test, unix))]
mod tests;

use super::place;
use super::tree::{ProcessKey, Processes};

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The interrupt of a terminal. On Windows this is `Kill`.
    Int,
    /// The request to end. On Windows this is `Kill`.
    Term,
    /// The end.
    Kill,
    /// Lets a stopped process go on. Nothing on Windows.
    Continue,
}

/// What became of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    Delivered,
    /// There is no such process any more, or the pid is somebody else's by now.
    Gone,
    /// The system refused, or it is a process that is never signalled.
    Refused,
}

/// Sends `signal` to the process of this key and to no other.
pub fn send(processes: &mut Processes, key: ProcessKey, signal: Signal) -> Sent {
    if key.pid <= 1 || key.pid == std::process::id() {
        return Sent::Refused;
    }
    let sent = deliver(processes, key, signal);
    tracing::debug!(pid = key.pid, ?signal, ?sent, "signal");
    sent
}

/// Sends `signal` to the whole process group that the process of this key leads, at one moment as a
/// terminal does. `Refused` where it leads none, or where there are no groups.
pub fn send_to_group(processes: &mut Processes, leader: ProcessKey, signal: Signal) -> Sent {
    let ourselves = std::process::id();
    if leader.pid <= 1
        || place::group(leader.pid) != Some(leader.pid)
        || place::group(ourselves) == Some(leader.pid)
    {
        return Sent::Refused;
    }
    let sent = deliver_to_group(processes, leader, signal);
    tracing::debug!(group = leader.pid, ?signal, ?sent, "signal");
    sent
}

#[cfg(unix)]
fn deliver_to_group(processes: &mut Processes, leader: ProcessKey, signal: Signal) -> Sent {
    match pid_of(leader) {
        None => Sent::Refused,
        // While its leader lives a group is nobody else's.
        Some(_) if processes.alive([leader]).is_empty() => Sent::Gone,
        Some(pid) => outcome(rustix::process::kill_process_group(pid, number(signal))),
    }
}

#[cfg(not(unix))]
fn deliver_to_group(_: &mut Processes, _: ProcessKey, _: Signal) -> Sent {
    Sent::Refused
}

#[cfg(all(target_os = "linux", not(portable_unix)))]
fn deliver(processes: &mut Processes, key: ProcessKey, signal: Signal) -> Sent {
    use rustix::io::Errno;
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    let Some(pid) = pid_of(key) else {
        return Sent::Refused;
    };
    // The handle is taken before the check: from then on it means the process that was checked.
    match pidfd_open(pid, PidfdFlags::empty()) {
        Err(Errno::SRCH) => Sent::Gone,
        // Some containers forbid pidfds.
        Err(_) => deliver_by_pid(processes, key, signal),
        Ok(_) if processes.alive([key]).is_empty() => Sent::Gone,
        Ok(handle) => outcome(pidfd_send_signal(handle, number(signal))),
    }
}

#[cfg(all(unix, any(portable_unix, not(target_os = "linux"))))]
fn deliver(processes: &mut Processes, key: ProcessKey, signal: Signal) -> Sent {
    deliver_by_pid(processes, key, signal)
}

#[cfg(unix)]
fn deliver_by_pid(processes: &mut Processes, key: ProcessKey, signal: Signal) -> Sent {
    match pid_of(key) {
        None => Sent::Refused,
        Some(_) if processes.alive([key]).is_empty() => Sent::Gone,
        Some(pid) => outcome(rustix::process::kill_process(pid, number(signal))),
    }
}

#[cfg(unix)]
fn pid_of(key: ProcessKey) -> Option<rustix::process::Pid> {
    rustix::process::Pid::from_raw(i32::try_from(key.pid).ok()?)
}

#[cfg(unix)]
fn outcome(result: rustix::io::Result<()>) -> Sent {
    match result {
        Ok(()) => Sent::Delivered,
        Err(rustix::io::Errno::SRCH) => Sent::Gone,
        Err(_) => Sent::Refused,
    }
}

#[cfg(unix)]
fn number(signal: Signal) -> rustix::process::Signal {
    match signal {
        Signal::Int => rustix::process::Signal::INT,
        Signal::Term => rustix::process::Signal::TERM,
        Signal::Kill => rustix::process::Signal::KILL,
        Signal::Continue => rustix::process::Signal::CONT,
    }
}

#[cfg(windows)]
fn deliver(processes: &mut Processes, key: ProcessKey, signal: Signal) -> Sent {
    if processes.alive([key]).is_empty() {
        return Sent::Gone;
    }
    match (signal, processes.find(key)) {
        (_, None) => Sent::Gone,
        (Signal::Continue, Some(_)) => Sent::Delivered,
        (Signal::Int | Signal::Term | Signal::Kill, Some(process)) if process.kill() => Sent::Delivered,
        (Signal::Int | Signal::Term | Signal::Kill, Some(_)) => Sent::Refused,
    }
}
