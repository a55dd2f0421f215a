//! The last words of a process: the end of its stderr, bounded and without secrets.

use super::LEFTOVER_MAX;
use crate::redact;
use crate::transport::{Frame, Lines};
use std::collections::VecDeque;
use tokio::io::AsyncRead;
use tokio_stream::StreamExt;
use tokio_util::codec::FramedRead;
use tokio_util::sync::CancellationToken;

const LINES_MAX: usize = 40;
const BYTES_MAX: usize = 8 * 1024;

/// The newest lines.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    lines: VecDeque<String>,
    bytes: usize,
}

impl Tail {
    /// Reads to the end, after `drained` only what is there already, and not without end; copies to
    /// our log. Gives what is left, `None` if nothing was said.
    pub(crate) async fn follow(
        mut self,
        stderr: impl AsyncRead + Unpin,
        drained: CancellationToken,
    ) -> Option<String> {
        let mut frames = FramedRead::new(stderr, Lines::capped(BYTES_MAX));
        let mut leftover = 0;
        while leftover < LEFTOVER_MAX {
            let frame = tokio::select! {
                biased;
                frame = frames.next() => frame,
                () = drained.cancelled() => None,
            };
            let line = match frame {
                Some(Ok(Frame::Line(line))) => redact::text(&String::from_utf8_lossy(&line)).into_owned(),
                Some(Ok(Frame::Oversized(_))) => "(a long line is left out)".to_owned(),
                Some(Err(_)) | None => break,
            };
            if drained.is_cancelled() {
                leftover += line.len() + 1;
            }
            tracing::debug!(line, "codex stderr");
            self.add(line);
        }
        self.text()
    }

    fn add(&mut self, line: String) {
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.lines.len() > LINES_MAX || self.bytes > BYTES_MAX {
            self.bytes -= self.lines.pop_front().map_or(0, |line| line.len());
        }
    }

    fn text(self) -> Option<String> {
        match self.lines.is_empty() {
            true => None,
            false => Some(Vec::from(self.lines).join("\n")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Tail;
    use tokio_util::sync::CancellationToken;

    async fn tail(text: &str) -> Option<String> {
        Tail::default().follow(text.as_bytes(), CancellationToken::new()).await
    }

    #[tokio::test]
    async fn silence_is_nothing() {
        assert_eq!(tail("").await, None);
        assert_eq!(tail("\n\n").await, None);
    }

    #[tokio::test]
    async fn the_newest_lines_stay() {
        let text: String = (0..1000).map(|n| format!("line {n}\n")).collect();
        let expected: Vec<String> = (960..1000).map(|n| format!("line {n}")).collect();
        assert_eq!(tail(&text).await, Some(expected.join("\n")));
    }

    #[tokio::test]
    async fn bytes_are_bounded_too() {
        let long = "x".repeat(3000);
        let kept = tail(&format!("{long}\n{long}\n{long}\n{}\nend\n", "y".repeat(100_000))).await.unwrap();
        assert_eq!(kept, format!("{long}\n{long}\n(a long line is left out)\nend"));
    }

    #[tokio::test]
    async fn secrets_are_taken_out() {
        assert_eq!(tail("key sk-0123456789abcdefgh\n").await.unwrap(), "key [redacted]");
    }
}
