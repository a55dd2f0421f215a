//! Where a process runs: its process group and its terminal.
//!
//! Says "unknown" where the system does not tell.

/// The process group of a living process.
#[cfg(unix)]
pub(super) fn group(pid: u32) -> Option<u32> {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).ok()?)?;
    let group = rustix::process::getpgid(Some(pid)).ok()?;
    Some(group.as_raw_nonzero().get().unsigned_abs())
}

#[cfg(not(unix))]
pub(super) fn group(_: u32) -> Option<u32> {
    None
}

/// Whether a living process is known to have a controlling terminal.
#[cfg(all(target_os = "linux", not(portable_unix)))]
pub(super) fn has_tty(pid: u32) -> bool {
    let Ok(pid) = i32::try_from(pid) else {
        return false;
    };
    let stat = procfs::process::Process::new(pid).and_then(|process| process.stat());
    stat.is_ok_and(|stat| stat.tty_nr != 0)
}

#[cfg(any(portable_unix, not(target_os = "linux")))]
pub(super) fn has_tty(_: u32) -> bool {
    false
}
