use super::super::event::Event;
use super::{Gate, Sources, merge};
use crate::child::FromChild;
use crate::core::ids::Generation;
use crate::core::input::Pressure;
use crate::queue::Report;
use crate::transport::Frame;
use std::rc::Rc;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::StreamExt;

fn show(event: &Event) -> String {
    match event {
        Event::ClientLine(line) => format!("client {}", String::from_utf8_lossy(line)),
        Event::Child(FromChild::Frame { frame: Frame::Line(line), .. }) => {
            format!("codex {}", String::from_utf8_lossy(line))
        }
        Event::ClientEof => "eof".to_owned(),
        Event::Deadline => "deadline".to_owned(),
        Event::ClientQueue(pressure) => format!("{pressure:?}"),
        Event::ClientOversized(_)
        | Event::Child(_)
        | Event::NotStarted { .. }
        | Event::Swept { .. }
        | Event::Stop { .. }
        | Event::Surveyed { .. }
        | Event::Watched { .. }
        | Event::PageNotOpened(_)
        | Event::Signal(_) => {
            format!("{event:?}")
        }
    }
}

/// The first `n` events of a client that wrote `client` and ended, a Codex that wrote `codex`, and
/// a queue that reported `reports`.
async fn events(
    n: usize,
    client: &str,
    codex: &[&'static str],
    reports: &[Report],
    gate: Gate,
) -> Vec<String> {
    let (report, reported) = mpsc::unbounded_channel();
    let (_happen, happened) = mpsc::unbounded_channel();
    let (children, mut from_children) = mpsc::channel(8);
    for line in codex {
        let frame = Frame::Line(line.as_bytes().into());
        children.send(FromChild::Frame { generation: Generation(1), frame }).await.unwrap();
    }
    for one in reports {
        report.send(one.clone()).unwrap();
    }
    let sources =
        Sources { client: client.as_bytes(), reported, happened, from_children: &mut from_children };
    let stream = merge(sources, Rc::new(gate)).unwrap();
    stream.take(n).map(|event| show(&event)).collect().await
}

#[tokio::test]
async fn the_client_is_heard_before_codex_however_much_that_says() {
    let seen = events(5, "a\nb\n", &["1", "2"], &[], Gate::default()).await;
    assert_eq!(seen, ["client a", "client b", "eof", "codex 1", "codex 2"]);
}

#[tokio::test]
async fn a_deadline_is_not_put_off_by_codex() {
    let gate = Gate::default();
    gate.deadline.set(Some(Instant::now()));
    assert_eq!(events(2, "", &["1"], &[], gate).await, ["eof", "deadline"]);
}

#[tokio::test]
async fn a_paused_codex_waits_and_nobody_else_does() {
    let gate = Gate::default();
    gate.paused.set(true);
    gate.deadline.set(Some(Instant::now()));
    let reports = [Report::Fill(Pressure::High)];
    assert_eq!(events(4, "a\n", &["1"], &reports, gate).await, ["client a", "eof", "High", "deadline"]);
}

#[tokio::test]
async fn the_end_of_the_client_is_told_once() {
    let gone = [Report::Gone { reason: "pipe".to_owned() }];
    assert_eq!(events(2, "", &["1"], &gone, Gate::default()).await, ["eof", "codex 1"]);
}
