//! Where an app-server listens: a unix socket, or a port of this machine.
//!
//! Does not look whether anybody is there.

#[cfg(test)]
mod tests;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

/// Where to connect to. Shown as it is given to `--connect`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Unix(PathBuf),
    /// A loopback address.
    Tcp(SocketAddr),
}

/// Why a text is no address, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAnAddress {
    #[error("{0:?} is no address of an app-server; write unix:PATH or ws://127.0.0.1:PORT")]
    Unknown(String),
    #[error("unix: needs the path of the socket, such as unix:/run/user/1000/codex.sock")]
    NoPath,
    #[error("{0:?} names no port; write ws://127.0.0.1:PORT")]
    NoPort(String),
    #[error("{0:?} has something after the port; the address of an app-server is ws://127.0.0.1:PORT alone")]
    Path(String),
    #[error(
        "wss is not spoken here: only an app-server of this machine is connected to, which needs no TLS; for one elsewhere forward its port (ssh -L PORT:127.0.0.1:PORT HOST) and write ws://127.0.0.1:PORT"
    )]
    Tls,
    #[error(
        "{0:?} is another machine, and a connection to it would carry your work unencrypted; forward its port (ssh -L PORT:127.0.0.1:PORT HOST) and write ws://127.0.0.1:PORT"
    )]
    Elsewhere(String),
}

impl FromStr for Address {
    type Err = NotAnAddress;

    fn from_str(text: &str) -> Result<Self, NotAnAddress> {
        if let Some(path) = text.strip_prefix("unix:") {
            // As Codex writes it: unix:///run/codex.sock.
            let path = path.strip_prefix("//").unwrap_or(path);
            return if path.is_empty() { Err(NotAnAddress::NoPath) } else { Ok(Self::Unix(path.into())) };
        }
        if text.starts_with("wss:") {
            return Err(NotAnAddress::Tls);
        }
        let Some(place) = text.strip_prefix("ws://") else {
            return Err(NotAnAddress::Unknown(text.to_owned()));
        };
        let place = place.strip_suffix('/').unwrap_or(place);
        if place.contains(['/', '?', '#']) {
            return Err(NotAnAddress::Path(text.to_owned()));
        }
        let (host, port) = match place.rsplit_once(':') {
            // The last colon of a bare IPv6 address is no port's.
            Some((host, port)) if !place.ends_with(']') => (host, port),
            Some(_) | None => return Err(NotAnAddress::NoPort(text.to_owned())),
        };
        let port: u16 = port
            .parse()
            .ok()
            .filter(|port| *port != 0)
            .ok_or_else(|| NotAnAddress::NoPort(text.to_owned()))?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let ip = match bare {
            "localhost" => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            other => other.parse::<IpAddr>().ok(),
        };
        match ip.filter(IpAddr::is_loopback) {
            Some(ip) => Ok(Self::Tcp(SocketAddr::new(ip, port))),
            None => Err(NotAnAddress::Elsewhere(host.to_owned())),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(out, "unix:{}", path.display()),
            Self::Tcp(address) => write!(out, "ws://{address}"),
        }
    }
}
