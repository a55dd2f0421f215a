//! Bytes of a pipe to lines: one JSON message per line, with a size cap.
//!
//! Does not look into a line: UTF-8 and JSON are the envelope's matter.

pub mod ends;
#[cfg(test)]
mod tests;

use ends::{Ends, Growing};
use std::io;
use tokio_util::bytes::{Bytes, BytesMut};
use tokio_util::codec::Decoder;

/// Longest line of the client, in bytes: a prompt with images as base64.
pub const CLIENT_LINE_MAX: usize = 32 * 1024 * 1024;

/// Longest line of Codex, in bytes: whole outputs, diffs and pages of history are one line each.
pub const CODEX_LINE_MAX: usize = 64 * 1024 * 1024;

// A buffer that one big line made large is given back once it is empty.
const BUFFER_KEPT: usize = 1024 * 1024;

/// What a pipe yields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// One line without its line ending; never empty.
    Line(Bytes),
    /// A line was longer than the cap and is left out. Said once per line, at its end.
    Oversized(Ends),
}

impl Frame {
    /// Its size; of an oversized line, that of what is kept.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Line(line) => line.len() + 1,
            Self::Oversized(Ends { head, tail }) => head.len() + tail.len() + 1,
        }
    }
}

/// Bytes asked for with each read.
pub const READ: usize = 64 * 1024;

/// Cuts a byte stream into lines; LF and CRLF end a line, and so does the end of the stream.
#[derive(Debug)]
pub struct Lines {
    cap: usize,
    /// How much of the buffer holds no newline.
    searched: usize,
    /// An oversized line whose rest is still coming.
    skipped: Option<Growing>,
}

impl Lines {
    /// Lines of at most `cap` bytes; memory stays below `cap` plus one read.
    pub fn capped(cap: usize) -> Self {
        Self { cap, searched: 0, skipped: None }
    }
}

impl Decoder for Lines {
    type Item = Frame;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Frame>> {
        loop {
            let end = memchr::memchr(b'\n', &buffer[self.searched..]).map(|at| self.searched + at);
            match (end, &mut self.skipped) {
                (None, Some(skipped)) => {
                    skipped.push(buffer);
                    buffer.clear();
                    self.searched = 0;
                    give_back(buffer);
                    return Ok(None);
                }
                // One byte more may be the CR of the line ending.
                (None, None) if buffer.len() > self.cap + usize::from(buffer.ends_with(b"\r")) => {
                    self.skipped = Some(Growing::default());
                }
                (None, None) => {
                    self.searched = buffer.len();
                    give_back(buffer);
                    return Ok(None);
                }
                (Some(end), _) => {
                    let mut line = buffer.split_to(end + 1).freeze();
                    line.truncate(end);
                    self.searched = 0;
                    if let Some(frame) = self.frame(line) {
                        return Ok(Some(frame));
                    }
                }
            }
        }
    }

    fn decode_eof(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Frame>> {
        if let Some(frame) = self.decode(buffer)? {
            return Ok(Some(frame));
        }
        self.searched = 0;
        let rest = buffer.split().freeze();
        Ok(self.frame(rest))
    }
}

impl Lines {
    fn frame(&mut self, mut line: Bytes) -> Option<Frame> {
        if let Some(mut skipped) = self.skipped.take() {
            skipped.push(&line);
            return Some(Frame::Oversized(skipped.finish()));
        }
        let whole = line.clone();
        if line.ends_with(b"\r") {
            line.truncate(line.len() - 1);
        }
        if line.len() > self.cap {
            return Some(Frame::Oversized(Ends::of(&whole)));
        }
        match line.trim_ascii().is_empty() {
            true => None,
            false => Some(Frame::Line(line)),
        }
    }
}

fn give_back(buffer: &mut BytesMut) {
    if buffer.is_empty() && buffer.capacity() > BUFFER_KEPT {
        // Not an empty one: it would be read into a few bytes at a time.
        *buffer = BytesMut::with_capacity(READ);
    }
}
