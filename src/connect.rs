//! A connection to an app-server that already runs: one JSON message per WebSocket text frame.
//!
//! Gives the same frames and ends as a child of ours. Starts nothing, ends nothing but itself.

pub mod address;
mod dial;
mod peer;
#[cfg(test)]
mod tests;

use crate::child::FromChild;
use crate::core::ids::Generation;
use crate::core::sign_in::Secret;
use crate::queue::{self, Limits, Outbox};
use crate::transport::ends::Ends;
use crate::transport::{CODEX_LINE_MAX, Frame, Lines, READ};
use address::Address;
use dial::{Bytes, Dialled, dial};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::DuplexStream;
use tokio::sync::mpsc::{self, Sender, UnboundedReceiver, UnboundedSender};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::Error;
use tokio_tungstenite::tungstenite::protocol::frame::Frame as Piece;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_util::bytes;
use tokio_util::codec::FramedRead;

/// Bytes of one frame that we send. Codex 0.171.0 takes frames of 16 MiB and messages of 64 MiB.
const PIECE: usize = 8 << 20;
/// Between the queue of lines and the socket.
const PIPE: usize = 64 << 10;
/// Read ahead of the loop. Codex cuts off a client that does not keep up.
const AHEAD: usize = 4 * CODEX_LINE_MAX;
/// Of what is read ahead is kept account in these.
const UNIT: usize = 1 << 10;
/// For a connection, and again for the answer to our greeting.
const PATIENCE: Duration = Duration::from_secs(5);
/// For our last lines to be taken, and again for the other side to close.
const PARTING: Duration = Duration::from_millis(500);

/// What to connect to.
#[derive(Clone, Debug)]
pub struct Target {
    pub address: Address,
    /// What the app-server wants to be shown before it listens.
    pub token: Option<Secret>,
}

/// Hold of a connection, open or being opened. Dropping it closes it like `end`.
#[derive(Debug)]
pub struct Connection {
    outbox: Outbox,
    pid: Arc<OnceLock<u32>>,
    end: Option<oneshot::Sender<()>>,
}

impl Connection {
    /// Connects in the background. Lines may be sent at once; a failure comes as
    /// `FromChild::NotStarted`, the end of an open connection as `FromChild::Died`.
    pub fn open(target: Target, generation: Generation, events: Sender<FromChild>) -> Self {
        let (reports, reported) = mpsc::unbounded_channel();
        let (outbox, writer) = queue::open(Limits::default(), reports);
        let (end, end_asked) = oneshot::channel();
        let pid = Arc::new(OnceLock::new());
        let (pipe, lines) = tokio::io::duplex(PIPE);
        let supervisor = Supervisor {
            generation,
            outbox: outbox.clone(),
            writer: tokio::spawn(writer.run(pipe)),
            reported,
            events,
            pid: Arc::clone(&pid),
        };
        tokio::spawn(supervisor.run(target, lines, end_asked));
        Self { outbox, pid, end: Some(end) }
    }

    /// Pid of the app-server, once it is known: of one that runs on this host as this user.
    pub fn pid(&self) -> Option<u32> {
        self.pid.get().copied()
    }

    /// Sends one line, given without its newline. Never waits.
    pub fn send(&self, line: String) {
        self.outbox.push(line);
    }

    /// Closes it, after what was sent before. `FromChild::Died` follows.
    pub fn end(&mut self) {
        if let Some(end) = self.end.take() {
            // The supervisor is gone only if the connection is.
            let _ = end.send(());
        }
    }
}

struct Supervisor {
    generation: Generation,
    outbox: Outbox,
    writer: JoinHandle<()>,
    reported: UnboundedReceiver<queue::Report>,
    events: Sender<FromChild>,
    pid: Arc<OnceLock<u32>>,
}

type Socket = WebSocketStream<Box<dyn Bytes>>;

impl Supervisor {
    async fn run(mut self, target: Target, lines: DuplexStream, mut end_asked: oneshot::Receiver<()>) {
        let dialled = tokio::select! {
            biased;
            _ = &mut end_asked => None,
            dialled = dial(&target, PATIENCE) => Some(dialled),
        };
        let generation = self.generation;
        let last = match dialled {
            None => FromChild::Died { generation, how: "closed by us".to_owned(), stderr: None },
            Some(Err(error)) => FromChild::NotStarted { generation, message: error.to_string() },
            Some(Ok(Dialled { socket, pid })) => {
                tracing::info!(generation = generation.0, pid, "connected");
                // It is set here only.
                let _ = pid.map(|pid| self.pid.set(pid));
                let how = self.serve(socket, lines, end_asked).await;
                tracing::info!(generation = generation.0, how, "connection closed");
                FromChild::Died { generation, how, stderr: None }
            }
        };
        self.outbox.close();
        self.writer.abort();
        // Without a loop there is nobody to tell.
        let _ = self.events.send(last).await;
    }

    /// Until the connection ends; why it did.
    async fn serve(
        &mut self,
        socket: Socket,
        lines: DuplexStream,
        end_asked: oneshot::Receiver<()>,
    ) -> String {
        let (sink, stream) = socket.split();
        let (ahead, read) = mpsc::unbounded_channel();
        let mut reader = tokio::spawn(receive(stream, ahead));
        let forwarder = tokio::spawn(forward(read, self.generation, self.events.clone()));
        let mut sender = tokio::spawn(send_all(lines, sink));
        let how = tokio::select! {
            biased;
            how = &mut reader => how.unwrap_or_else(|error| error.to_string()),
            sent = &mut sender => sent.ok().flatten().unwrap_or_else(|| "cannot be written to".to_owned()),
            reason = crate::child::gone(&mut self.reported) => reason,
            _ = end_asked => {
                self.outbox.close();
                // What it does not take in time it does not get.
                let _ = timeout(PARTING, &mut sender).await;
                let _ = timeout(PARTING, &mut reader).await;
                forwarder.abort();
                "closed by us".to_owned()
            }
        };
        sender.abort();
        reader.abort();
        // What came before the end is told before the end, however slow the client is.
        let _ = forwarder.await;
        how
    }
}

type Ahead = UnboundedSender<(Frame, OwnedSemaphorePermit)>;

/// Reads until the end, ahead of the loop up to a bound; why it ended.
async fn receive(mut stream: SplitStream<Socket>, ahead: Ahead) -> String {
    let room = Arc::new(Semaphore::new(AHEAD / UNIT));
    while let Some(message) = stream.next().await {
        let bytes = match message {
            Ok(Message::Text(text)) => bytes::Bytes::from(text),
            Ok(Message::Binary(bytes)) => bytes,
            Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => continue,
            Ok(Message::Close(None)) => return "closed by the app-server".to_owned(),
            Ok(Message::Close(Some(last))) => {
                return format!("closed by the app-server: {} {}", last.code, last.reason)
                    .trim_end()
                    .to_owned();
            }
            Err(Error::ConnectionClosed) => break,
            Err(error) => return error.to_string(),
        };
        let Some(frame) = frame(bytes) else { continue };
        let units = u32::try_from(frame.bytes() / UNIT + 1).unwrap_or(u32::MAX);
        let Ok(permit) = Arc::clone(&room).acquire_many_owned(units).await else { break };
        if ahead.send((frame, permit)).is_err() {
            break;
        }
    }
    "closed by the app-server".to_owned()
}

/// One message as the line it stands for.
fn frame(bytes: bytes::Bytes) -> Option<Frame> {
    match bytes.len() {
        _ if bytes.trim_ascii().is_empty() => None,
        CODEX_LINE_MAX.. => Some(Frame::Oversized(Ends::of(&bytes))),
        // Between the parts of JSON a line break is a space, and in them is none: a line has to stay one.
        _ if memchr::memchr2(b'\n', b'\r', &bytes).is_some() => {
            let flat = |byte: &u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte };
            Some(Frame::Line(bytes.iter().map(flat).collect()))
        }
        _ => Some(Frame::Line(bytes)),
    }
}

async fn forward(
    mut read: UnboundedReceiver<(Frame, OwnedSemaphorePermit)>,
    generation: Generation,
    events: Sender<FromChild>,
) {
    while let Some((frame, _room)) = read.recv().await {
        if events.send(FromChild::Frame { generation, frame }).await.is_err() {
            return;
        }
    }
}

/// Sends every line as a message, then closes; why it could not.
async fn send_all(lines: DuplexStream, mut sink: SplitSink<Socket, Message>) -> Option<String> {
    let mut lines = FramedRead::with_capacity(lines, Lines::capped(Limits::default().runaway), READ);
    while let Some(Ok(frame)) = lines.next().await {
        let Frame::Line(line) = frame else { continue };
        if let Err(error) = send(&mut sink, line).await {
            return Some(error.to_string());
        }
    }
    sink.close().await.err().map(|error| error.to_string())
}

async fn send(sink: &mut SplitSink<Socket, Message>, line: bytes::Bytes) -> Result<(), Error> {
    if line.len() <= PIECE {
        let text = Utf8Bytes::try_from(line).map_err(|error| Error::Utf8(error.to_string()))?;
        return sink.send(Message::Text(text)).await;
    }
    let mut rest = line;
    let mut kind = Data::Text;
    while !rest.is_empty() {
        let piece = rest.split_to(rest.len().min(PIECE));
        let piece = Piece::message(piece, OpCode::Data(kind), rest.is_empty());
        sink.feed(Message::Frame(piece)).await?;
        kind = Data::Continue;
    }
    sink.flush().await
}
