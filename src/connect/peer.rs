//! Which process of this host listens at the other end, if it runs as the same user as we do.
//!
//! Says "unknown" for everything else: what belongs to somebody else is never signalled.

/// The process that listens on a unix socket, told by the system.
#[cfg(unix)]
pub(super) fn of_unix(socket: &tokio::net::UnixStream) -> Option<u32> {
    let peer = socket.peer_cred().ok()?;
    let is_ours = peer.uid() == rustix::process::geteuid().as_raw();
    let pid = u32::try_from(peer.pid()?).ok()?;
    // A socket that the system's first process opened says nothing about who serves it.
    (is_ours && pid > 1).then_some(pid)
}

/// The one process of ours that listens at this address. Reads files of every process.
#[cfg(all(target_os = "linux", not(portable_unix)))]
pub(super) fn of_tcp(address: std::net::SocketAddr) -> Option<u32> {
    use procfs::net::{TcpState, tcp, tcp6};
    use procfs::process::{FDTarget, all_processes};
    let ours = rustix::process::geteuid().as_raw();
    let table = if address.is_ipv4() { tcp() } else { tcp6() };
    let listens_there = |it: &procfs::net::TcpNetEntry| {
        let ip = it.local_address.ip();
        it.state == TcpState::Listen
            && it.uid == ours
            && it.local_address.port() == address.port()
            && (ip == address.ip() || ip.is_unspecified())
    };
    let sockets: Vec<u64> = table.ok()?.into_iter().filter(listens_there).map(|it| it.inode).collect();
    let has_it = |process: &procfs::process::Process| {
        let is_it = |target: &FDTarget| matches!(target, FDTarget::Socket(inode) if sockets.contains(inode));
        process.fd().is_ok_and(|mut all| all.any(|it| it.is_ok_and(|it| is_it(&it.target))))
    };
    if sockets.is_empty() {
        return None;
    }
    let mut holders = all_processes().ok()?.flatten().filter(has_it);
    // One of several may be anybody.
    match (holders.next(), holders.next()) {
        (Some(only), None) => u32::try_from(only.pid()).ok().filter(|pid| *pid > 1),
        (Some(_), Some(_)) | (None, _) => None,
    }
}

#[cfg(any(portable_unix, not(target_os = "linux")))]
pub(super) fn of_tcp(_: std::net::SocketAddr) -> Option<u32> {
    None
}
