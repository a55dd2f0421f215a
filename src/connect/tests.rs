#![cfg(unix)]

use super::address::Address;
use super::dial::dial;
use super::{Connection, Target};
use crate::child::FromChild;
use crate::core::ids::Generation;
use crate::core::sign_in::Secret;
use crate::transport::{CODEX_LINE_MAX, Frame};
use futures_util::{SinkExt, StreamExt};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::mpsc::{self, Receiver};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::{WebSocketStream, accept_async};

const GENERATION: Generation = Generation(3);

struct Adapter {
    connection: Connection,
    events: Receiver<FromChild>,
}

impl Adapter {
    fn to(address: Address, token: Option<&str>) -> Self {
        let (sender, events) = mpsc::channel(4);
        let target = Target { address, token: token.map(Secret::new) };
        Self { connection: Connection::open(target, GENERATION, sender), events }
    }

    /// What happens next, in words.
    async fn next(&mut self) -> String {
        match self.events.recv().await {
            Some(FromChild::Frame { generation: GENERATION, frame: Frame::Line(line) }) => {
                String::from_utf8_lossy(&line).into_owned()
            }
            Some(FromChild::Frame { generation: GENERATION, frame: Frame::Oversized(_) }) => {
                "oversized".to_owned()
            }
            Some(FromChild::NotStarted { generation: GENERATION, message }) => message,
            Some(FromChild::Died { generation: GENERATION, how, stderr: None }) => format!("died: {how}"),
            other => panic!("{other:?}"),
        }
    }

    async fn is_over(&mut self) -> bool {
        self.events.recv().await.is_none()
    }
}

/// An adapter, and the app-server's end of its connection.
async fn connected() -> (Adapter, WebSocketStream<UnixStream>, tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let adapter = Adapter::to(Address::Unix(path), None);
    let (stream, _) = listener.accept().await.unwrap();
    (adapter, accept_async(stream).await.unwrap(), home)
}

/// Where something listens that answers each connection with these bytes.
async fn answering(answer: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_head(&mut stream).await;
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    address
}

async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

async fn refusal(address: Address, token: Option<&str>) -> String {
    let mut adapter = Adapter::to(address, token);
    let said = adapter.next().await;
    assert!(adapter.is_over().await, "nothing follows");
    said
}

#[tokio::test]
async fn a_message_is_a_line_and_a_line_is_a_message() {
    let (mut adapter, mut server, _home) = connected().await;
    adapter.connection.send("{\"a\":1}".to_owned());
    adapter.connection.send("{\"b\":2}".to_owned());
    assert_eq!(server.next().await.unwrap().unwrap(), Message::text("{\"a\":1}"));
    assert_eq!(server.next().await.unwrap().unwrap(), Message::text("{\"b\":2}"));
    for message in [
        Message::text("{\"c\":3}"),
        Message::text(" "),
        Message::binary(b"\xff{".to_vec()),
        Message::text("{\n  \"d\":\r\n4}"),
        Message::Ping("alive?".into()),
        Message::text("no JSON"),
    ] {
        server.send(message).await.unwrap();
    }
    assert_eq!(adapter.next().await, "{\"c\":3}");
    assert_eq!(adapter.next().await, "\u{fffd}{", "for the envelope to refuse");
    assert_eq!(adapter.next().await, "{   \"d\":  4}", "a line stays one");
    assert_eq!(adapter.next().await, "no JSON");
    assert_eq!(server.next().await.unwrap().unwrap(), Message::Pong("alive?".into()));
}

#[tokio::test]
async fn the_process_at_the_other_end_is_known() {
    let (mut adapter, mut server, _home) = connected().await;
    server.send(Message::text("{}")).await.unwrap();
    adapter.next().await;
    assert_eq!(adapter.connection.pid(), Some(std::process::id()));
}

#[cfg(all(target_os = "linux", not(portable_unix)))]
#[tokio::test]
async fn the_process_that_listens_on_a_port_is_known() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut adapter = Adapter::to(Address::Tcp(listener.local_addr().unwrap()), None);
    let (stream, _) = listener.accept().await.unwrap();
    let mut server = accept_async(stream).await.unwrap();
    server.send(Message::text("{}")).await.unwrap();
    assert_eq!(adapter.next().await, "{}");
    assert_eq!(adapter.connection.pid(), Some(std::process::id()));
}

#[tokio::test]
async fn what_is_too_long_costs_itself_and_what_is_long_goes_in_pieces() {
    let (mut adapter, mut server, _home) = connected().await;
    let received = tokio::spawn(async move {
        server.send(Message::text("x".repeat(CODEX_LINE_MAX + 1))).await.unwrap();
        server.send(Message::text("{}")).await.unwrap();
        // As Codex, this end takes frames of 16 MiB at most.
        server.next().await.unwrap().unwrap().into_data().len()
    });
    adapter.connection.send("y".repeat(20 << 20));
    assert_eq!(adapter.next().await, "oversized");
    assert_eq!(adapter.next().await, "{}");
    assert_eq!(received.await.unwrap(), 20 << 20);
}

#[tokio::test]
async fn an_app_server_is_read_however_slow_we_are() {
    let (mut adapter, mut server, _home) = connected().await;
    let line = "z".repeat(1 << 10);
    for _ in 0..10_000 {
        server.send(Message::text(line.as_str())).await.unwrap();
    }
    server.close(None).await.unwrap();
    for _ in 0..10_000 {
        assert_eq!(adapter.next().await, line);
    }
    assert_eq!(adapter.next().await, "died: closed by the app-server");
    assert!(adapter.is_over().await);
}

#[tokio::test]
async fn an_end_says_why() {
    let (mut adapter, mut server, _home) = connected().await;
    let frame = CloseFrame { code: CloseCode::Away, reason: "restarting".into() };
    server.close(Some(frame)).await.unwrap();
    assert_eq!(adapter.next().await, "died: closed by the app-server: 1001 restarting");

    let (mut adapter, server, _home) = connected().await;
    drop(server);
    let how = adapter.next().await;
    assert!(how.starts_with("died: ") && how.contains("closing handshake"), "{how}");

    let (mut adapter, mut server, _home) = connected().await;
    server.get_mut().write_all(b"no frame at all").await.unwrap();
    let how = adapter.next().await;
    assert!(how.starts_with("died: WebSocket protocol error"), "{how}");
}

#[tokio::test]
async fn what_was_sent_before_the_end_is_delivered() {
    let (mut adapter, mut server, _home) = connected().await;
    server.send(Message::text("{}")).await.unwrap();
    assert_eq!(adapter.next().await, "{}");
    adapter.connection.send("{\"last\":1}".to_owned());
    adapter.connection.end();
    assert_eq!(server.next().await.unwrap().unwrap(), Message::text("{\"last\":1}"));
    assert_eq!(server.next().await.unwrap().unwrap(), Message::Close(None));
    assert!(server.next().await.is_none());
    drop(server);
    assert_eq!(adapter.next().await, "died: closed by us");
    assert!(adapter.is_over().await);
}

#[tokio::test]
async fn a_refusal_says_what_was_tried_and_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("none");
    let said = refusal(Address::Unix(path.clone()), None).await;
    let listen = format!("codex app-server --listen unix://{}", path.display());
    assert!(said.contains("there is no such socket") && said.contains(&listen), "{said}");
    drop(UnixListener::bind(&path).unwrap());
    let said = refusal(Address::Unix(path), None).await;
    assert!(said.contains("nobody listens there"), "{said}");
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let said = refusal(Address::Tcp(closed), None).await;
    assert!(said.contains(&format!("at ws://{closed}: nobody listens there")), "{said}");
}

#[tokio::test]
async fn a_stranger_is_told_from_an_app_server() {
    let web = answering("HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\nnope").await;
    let said = refusal(Address::Tcp(web), None).await;
    assert!(said.contains("is no codex app-server: it answered HTTP 404 Not Found"), "{said}");
    let other = answering("SSH-2.0-OpenSSH_9\r\n\r\n").await;
    let said = refusal(Address::Tcp(other), None).await;
    assert!(said.contains("is no codex app-server"), "{said}");
}

#[tokio::test]
async fn a_missing_and_a_wrong_token_are_told_apart() {
    let guarded = answering("HTTP/1.1 401 Unauthorized\r\ncontent-length: 6\r\n\r\nno way").await;
    let said = refusal(Address::Tcp(guarded), None).await;
    assert!(said.contains("wants a token (HTTP 401 Unauthorized: no way)"), "{said}");
    assert!(said.contains("APPSERVER_ACP_CONNECT_TOKEN"), "{said}");
    let said = refusal(Address::Tcp(guarded), Some("sesame")).await;
    assert!(said.contains("does not take the token") && !said.contains("sesame"), "{said}");
}

#[tokio::test]
async fn the_token_is_shown_as_codex_wants_it() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let _adapter = Adapter::to(Address::Tcp(listener.local_addr().unwrap()), Some("sesame"));
    let (mut stream, _) = listener.accept().await.unwrap();
    let head = read_head(&mut stream).await.to_lowercase();
    assert!(head.contains("authorization: bearer sesame\r\n"), "{head}");
    assert!(!head.contains("origin:"), "codex refuses whoever names an origin: {head}");
}

#[tokio::test]
async fn one_that_says_nothing_is_not_waited_for_without_end() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("s");
    // It is connected to at once, also while it accepts nobody.
    let _listener = UnixListener::bind(&path).unwrap();
    let target = Target { address: Address::Unix(path), token: None };
    let said = dial(&target, Duration::from_secs(1)).await.err().unwrap().to_string();
    assert!(said.contains("it did not answer within 1s"), "{said}");
}
