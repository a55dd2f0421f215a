//! From an address to a WebSocket, or to words about why there is none.
//!
//! Bounded in time. Tries once: when to try again is the core's matter.

use super::address::Address;
use super::{Target, peer};
use crate::transport::CODEX_LINE_MAX;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::error::Error;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::http::StatusCode;
use tokio_tungstenite::tungstenite::http::header::AUTHORIZATION;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

/// A message of more than this ends the connection; the cap of a line is far below and costs only itself.
const MESSAGE_MAX: usize = 4 * CODEX_LINE_MAX;
/// Bytes of an HTTP answer that are told.
const WORDS_MAX: usize = 200;

/// A stream of bytes of either kind.
pub(super) trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bytes for T {}

/// An open connection.
pub(super) struct Dialled {
    pub(super) socket: WebSocketStream<Box<dyn Bytes>>,
    /// Pid of the app-server, if it is a process of ours on this host.
    pub(super) pid: Option<u32>,
}

/// Why there is no connection: what was tried, what came of it, what to do.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotDialled {
    #[error("no connection to an app-server at {address}: {why}; start one with `codex app-server --listen {listen}`, or leave out --connect to have codex started for you", listen = listen(address))]
    Nobody { address: Address, why: String },
    #[error(
        "the app-server at {address} wants a token ({words}); set APPSERVER_ACP_CONNECT_TOKEN to the one it was started with (--ws-token-file)"
    )]
    TokenWanted { address: Address, words: String },
    #[error(
        "the app-server at {address} does not take the token in APPSERVER_ACP_CONNECT_TOKEN ({words}); set it to the one it was started with (--ws-token-file)"
    )]
    TokenRefused { address: Address, words: String },
    #[error(
        "what listens at {address} is no codex app-server: {why}; look what runs there, and start one elsewhere with `codex app-server --listen URL`"
    )]
    Stranger { address: Address, why: String },
}

/// Connects and greets, with this patience for each.
///
/// # Errors
/// `NotDialled`.
pub(super) async fn dial(target: &Target, patience: Duration) -> Result<Dialled, NotDialled> {
    let address = &target.address;
    let nobody = |why: String| NotDialled::Nobody { address: address.clone(), why };
    let (stream, pid) = match timeout(patience, reach(address)).await {
        Ok(Ok(reached)) => reached,
        Ok(Err(error)) => return Err(nobody(in_words(address, &error))),
        Err(_) => return Err(nobody(format!("no answer within {patience:?}"))),
    };
    let request = request(target).map_err(|error| nobody(error.to_string()))?;
    let mut config = WebSocketConfig::default();
    config.max_message_size = Some(MESSAGE_MAX);
    config.max_frame_size = Some(MESSAGE_MAX);
    let greeted = timeout(patience, client_async_with_config(request, stream, Some(config))).await;
    let stranger = |why: String| NotDialled::Stranger { address: address.clone(), why };
    match greeted {
        // Without an answer nobody is known.
        Ok(Ok((socket, _))) => Ok(Dialled { socket, pid: pid.await.unwrap_or_default() }),
        Ok(Err(Error::Http(answer))) => {
            let body = answer.body().as_deref().unwrap_or_default();
            let words = String::from_utf8_lossy(&body[..body.len().min(WORDS_MAX)]);
            let words = format!("HTTP {}: {}", answer.status(), words.trim());
            let words = words.trim_end_matches(": ").to_owned();
            let address = address.clone();
            Err(match (answer.status(), &target.token) {
                (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, None) => {
                    NotDialled::TokenWanted { address, words }
                }
                (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, Some(_)) => {
                    NotDialled::TokenRefused { address, words }
                }
                _ => NotDialled::Stranger { address, why: format!("it answered {words}") },
            })
        }
        Ok(Err(error)) => Err(stranger(error.to_string())),
        Err(_) => Err(stranger(format!("it did not answer within {patience:?}"))),
    }
}

/// A stream, and who is asked for the process at its other end.
async fn reach(address: &Address) -> io::Result<(Box<dyn Bytes>, JoinHandle<Option<u32>>)> {
    match address {
        #[cfg(unix)]
        Address::Unix(path) => {
            let stream = tokio::net::UnixStream::connect(path).await?;
            let pid = peer::of_unix(&stream);
            Ok((Box::new(stream), spawn_blocking(move || pid)))
        }
        #[cfg(not(unix))]
        Address::Unix(_) => {
            Err(io::Error::other("there are no unix sockets on this system; use ws://127.0.0.1:PORT"))
        }
        Address::Tcp(address) => {
            let stream = TcpStream::connect(*address).await?;
            stream.set_nodelay(true)?;
            let address = *address;
            Ok((Box::new(stream), spawn_blocking(move || peer::of_tcp(address))))
        }
    }
}

fn request(target: &Target) -> Result<Request, Error> {
    let url = match &target.address {
        // It has no host; Codex does not look at this one.
        Address::Unix(_) => "ws://localhost/".to_owned(),
        Address::Tcp(address) => format!("ws://{address}/"),
    };
    let mut request = url.into_client_request()?;
    if let Some(token) = &target.token {
        let mut value = HeaderValue::try_from(format!("Bearer {}", token.expose())).map_err(|_| {
            io::Error::other("the token in APPSERVER_ACP_CONNECT_TOKEN has a line break or the like")
        })?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    Ok(request)
}

fn in_words(address: &Address, error: &io::Error) -> String {
    match (address, error.kind()) {
        (Address::Unix(_), io::ErrorKind::NotFound) => "there is no such socket".to_owned(),
        (_, io::ErrorKind::ConnectionRefused) => "nobody listens there".to_owned(),
        (_, io::ErrorKind::PermissionDenied) => "it is not yours to use (permission denied)".to_owned(),
        _ => error.to_string(),
    }
}

fn listen(address: &Address) -> String {
    match address {
        Address::Unix(path) => format!("unix://{}", path.display()),
        Address::Tcp(address) => format!("ws://{address}"),
    }
}
