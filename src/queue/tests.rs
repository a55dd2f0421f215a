use super::{Limits, Outbox, Report, Writer, open};
use crate::core::input::Pressure;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWrite};
use tokio::sync::mpsc::{self, UnboundedReceiver};

fn queue(limits: Limits) -> (Outbox, Writer, UnboundedReceiver<Report>) {
    let (reports, heard) = mpsc::unbounded_channel();
    let (outbox, writer) = open(limits, reports);
    (outbox, writer, heard)
}

/// Takes everything and remembers how it came.
#[derive(Default)]
struct Recorder {
    writes: Vec<Vec<u8>>,
    fails: bool,
}

impl AsyncWrite for &mut Recorder {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.fails {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        self.writes.push(bytes.to_vec());
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn waiting_lines_go_out_in_order_and_in_one_write() {
    let (outbox, writer, _heard) = queue(Limits::default());
    for n in 0..100 {
        outbox.push(format!("line {n}"));
    }
    outbox.close();
    let mut pipe = Recorder::default();
    writer.run(&mut pipe).await;
    let expected: String = (0..100).map(|n| format!("line {n}\n")).collect();
    assert_eq!(pipe.writes, [expected.into_bytes()]);
    assert_eq!(outbox.bytes(), 0);
}

#[tokio::test]
async fn a_batch_ends_where_the_next_line_would_not_fit() {
    let (outbox, writer, _heard) = queue(Limits { batch: 8, ..Limits::default() });
    for line in ["abc", "def", "g", "a line longer than any batch", "h"] {
        outbox.push(line.to_owned());
    }
    outbox.close();
    let mut pipe = Recorder::default();
    writer.run(&mut pipe).await;
    let writes: Vec<_> = pipe.writes.iter().map(|bytes| String::from_utf8_lossy(bytes)).collect();
    assert_eq!(writes, ["abc\ndef\n", "g\n", "a line longer than any batch\n", "h\n"]);
}

#[tokio::test]
async fn marks_are_reported_once_each_and_alternate() {
    let (outbox, writer, mut heard) =
        queue(Limits { high: 10, low: 4, cap: 1000, batch: 1, ..Limits::default() });
    for _ in 0..6 {
        outbox.push("123".to_owned());
    }
    assert_eq!(heard.try_recv(), Ok(Report::Fill(Pressure::High)));
    assert!(heard.try_recv().is_err());
    outbox.close();
    writer.run(&mut Recorder::default()).await;
    assert_eq!(heard.try_recv(), Ok(Report::Fill(Pressure::Low)));
    assert!(heard.try_recv().is_err());
}

/// A pipe that takes 8 bytes and then nothing, because nobody reads the other end; when it is given up.
async fn stuck(limits: Limits, n_lines: usize) -> usize {
    let (outbox, writer, mut heard) = queue(limits);
    let (pipe, _unread) = tokio::io::duplex(8);
    let run = tokio::spawn(writer.run(pipe));
    for _ in 0..n_lines {
        outbox.push("0123456789".to_owned());
        tokio::task::yield_now().await;
    }
    let bytes = outbox.bytes();
    assert_eq!(heard.recv().await, Some(Report::Fill(Pressure::High)));
    let Some(Report::Gone { reason }) = heard.recv().await else { panic!("the reader is gone") };
    assert!(reason.starts_with("it does not read, and "), "{reason}");
    run.await.unwrap();
    outbox.push("dropped".to_owned());
    assert_eq!(outbox.bytes(), 0);
    assert!(heard.try_recv().is_err());
    bytes
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_stops_above_the_cap_is_gone_after_a_while_and_keeps_no_memory() {
    let stall = Duration::from_secs(30);
    let limits = Limits { high: 50, low: 10, cap: 100, stall, ..Limits::default() };
    assert_eq!(stuck(limits, 20).await, 220, "and not before");
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_stopped_below_the_cap_is_gone_when_it_is_passed() {
    let stall = Duration::from_secs(30);
    let (outbox, writer, mut heard) =
        queue(Limits { high: 50, low: 10, cap: 100, stall, ..Limits::default() });
    let (pipe, _unread) = tokio::io::duplex(8);
    let run = tokio::spawn(writer.run(pipe));
    outbox.push("0123456789".to_owned());
    while !outbox.0.lock().is_stalled {
        tokio::time::sleep(stall).await;
    }
    assert!(heard.try_recv().is_err(), "below the cap it may take its time");
    outbox.push("x".repeat(100));
    assert!(matches!(heard.recv().await, Some(Report::Gone { .. })));
    run.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_reader_is_gone_at_once_where_memory_would_end() {
    let limits = Limits { high: 50, low: 10, cap: 100, runaway: 200, ..Limits::default() };
    assert_eq!(stuck(limits, 20).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_reads_gets_more_than_the_cap() {
    let (outbox, writer, mut heard) =
        queue(Limits { high: 50, low: 10, cap: 100, stall: Duration::from_secs(30), ..Limits::default() });
    let (pipe, mut far) = tokio::io::duplex(64);
    let line = "x".repeat(1 << 20);
    outbox.push(line.clone());
    outbox.close();
    let run = tokio::spawn(writer.run(pipe));
    let mut text = String::new();
    far.read_to_string(&mut text).await.unwrap();
    run.await.unwrap();
    assert_eq!(text.len(), line.len() + 1);
    assert_eq!(heard.recv().await, Some(Report::Fill(Pressure::High)));
    assert_eq!(heard.recv().await, Some(Report::Fill(Pressure::Low)));
}

#[tokio::test]
async fn a_failing_pipe_is_reported_once() {
    let (outbox, writer, mut heard) = queue(Limits::default());
    outbox.push("a".to_owned());
    let mut pipe = Recorder { fails: true, ..Recorder::default() };
    writer.run(&mut pipe).await;
    let Some(Report::Gone { reason }) = heard.recv().await else { panic!("the pipe is gone") };
    assert!(reason.starts_with("its pipe failed"), "{reason}");
    outbox.push("b".to_owned());
    assert!(heard.try_recv().is_err());
}

#[tokio::test]
async fn a_slow_reader_gets_everything() {
    let (outbox, writer, _heard) = queue(Limits::default());
    let (pipe, mut far) = tokio::io::duplex(7);
    let run = tokio::spawn(writer.run(pipe));
    for n in 0..500 {
        outbox.push(format!("{n}"));
    }
    outbox.close();
    let mut text = String::new();
    far.read_to_string(&mut text).await.unwrap();
    run.await.unwrap();
    let expected: String = (0..500).map(|n| format!("{n}\n")).collect();
    assert_eq!(text, expected);
}
