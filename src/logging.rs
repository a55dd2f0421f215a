//! Logs to stderr. stdout carries protocol only.
//!
//! A stderr that nobody reads costs log lines, never time.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// Log lines that wait; beyond them lines are dropped.
const WAITING: usize = 1024;
/// How long an exit waits for a stderr that is not read.
const FLUSH: Duration = Duration::from_millis(200);

/// Keeps logging alive; dropping it writes what waits.
#[derive(Debug)]
pub struct Logging {
    lines: SyncSender<Line>,
    done: Receiver<()>,
}

#[derive(Debug)]
enum Line {
    Text(Vec<u8>),
    Last,
}

/// Starts logging: warnings, with 1 info, with 2 debug, with 3 trace. `RUST_LOG` wins.
pub fn start(verbosity: u8) -> Logging {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level(verbosity)));
    let (lines, waiting) = sync_channel(WAITING);
    let (written, done) = channel();
    thread::spawn(move || {
        let mut stderr = io::stderr();
        while let Ok(Line::Text(line)) = waiting.recv() {
            // Nobody is left to be told that nobody listens.
            let _ = stderr.write_all(&line);
        }
        // The exit does not wait any more if this comes too late.
        let _ = written.send(());
    });
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(io::stderr().is_terminal())
        .with_writer(ToThread(lines.clone()))
        .init();
    Logging { lines, done }
}

fn level(verbosity: u8) -> &'static str {
    match verbosity {
        0 => "warn",
        1 => "warn,appserver_acp=info",
        2 => "warn,appserver_acp=debug",
        _ => "warn,appserver_acp=trace",
    }
}

impl Drop for Logging {
    fn drop(&mut self) {
        if self.lines.try_send(Line::Last).is_ok() {
            // Either it is written or the time is over.
            let _ = self.done.recv_timeout(FLUSH);
        }
    }
}

#[derive(Clone)]
struct ToThread(SyncSender<Line>);

impl<'a> MakeWriter<'a> for ToThread {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Write for ToThread {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        // A full queue means that nobody reads; the line is lost and the work goes on.
        let _ = self.0.try_send(Line::Text(text.to_vec()));
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, ToThread, level};
    use std::io::Write;
    use std::sync::mpsc::sync_channel;
    use tracing_subscriber::EnvFilter;

    #[test]
    fn a_reader_that_stops_costs_lines_and_never_blocks() {
        let (lines, waiting) = sync_channel(2);
        let mut writer = ToThread(lines);
        for line in ["one", "two", "three"] {
            writer.write_all(line.as_bytes()).unwrap();
        }
        let kept: Vec<_> = waiting
            .try_iter()
            .map(|line| match line {
                Line::Text(text) => String::from_utf8(text).unwrap(),
                Line::Last => "last".to_owned(),
            })
            .collect();
        assert_eq!(kept, ["one", "two"]);
    }

    #[test]
    fn every_level_is_a_valid_filter() {
        for verbosity in 0..5 {
            assert!(EnvFilter::try_new(level(verbosity)).unwrap().to_string().contains("warn"));
        }
    }
}
