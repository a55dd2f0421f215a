//! Bytes of a pipe to lines: one JSON message per line, with a size cap.
//!
//! Does not look into a line: UTF-8 and JSON are the envelope's matter.

#[cfg(test)]
mod tests;

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
    /// A line was longer than the cap and is left out. Said once per line, as soon as it is known.
    Oversized,
}

impl Frame {
    /// Its size; that of an oversized line is not known and counts as one byte.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Line(line) => line.len() + 1,
            Self::Oversized => 1,
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
    /// The rest of an oversized line is still coming.
    skipping: bool,
}

impl Lines {
    /// Lines of at most `cap` bytes; memory stays below `cap` plus one read.
    pub fn capped(cap: usize) -> Self {
        Self { cap, searched: 0, skipping: false }
    }
}

impl Decoder for Lines {
    type Item = Frame;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Frame>> {
        loop {
            let end = memchr::memchr(b'\n', &buffer[self.searched..]).map(|at| self.searched + at);
            match (end, self.skipping) {
                (None, true) => {
                    buffer.clear();
                    self.searched = 0;
                    give_back(buffer);
                    return Ok(None);
                }
                // One byte more may be the CR of the line ending.
                (None, false) if buffer.len() > self.cap + usize::from(buffer.ends_with(b"\r")) => {
                    self.skipping = true;
                    return Ok(Some(Frame::Oversized));
                }
                (None, false) => {
                    self.searched = buffer.len();
                    give_back(buffer);
                    return Ok(None);
                }
                (Some(end), skipping) => {
                    let mut line = buffer.split_to(end + 1).freeze();
                    line.truncate(end);
                    self.searched = 0;
                    self.skipping = false;
                    match self.frame(line) {
                        Some(frame) if !skipping => return Ok(Some(frame)),
                        Some(_) | None => {}
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
        match self.skipping {
            true => Ok(None),
            false => Ok(self.frame(rest)),
        }
    }
}

impl Lines {
    fn frame(&self, mut line: Bytes) -> Option<Frame> {
        if line.ends_with(b"\r") {
            line.truncate(line.len() - 1);
        }
        if line.len() > self.cap {
            return Some(Frame::Oversized);
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
