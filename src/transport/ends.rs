//! The two ends of a line that is too long to be kept.
//!
//! Does not look into them.

use tokio_util::bytes::Bytes;

/// Most that is kept of each end, in bytes.
const KEPT: usize = 1024;

/// What is left of such a line: its first and its last bytes, without its LF. They may overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    pub head: Bytes,
    pub tail: Bytes,
}

impl Ends {
    /// The ends of `line`.
    pub fn of(line: &[u8]) -> Self {
        let mut growing = Growing::default();
        growing.push(line);
        growing.finish()
    }
}

/// The ends of a line that is still coming.
#[derive(Debug, Default)]
pub(super) struct Growing {
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Growing {
    /// More of the line.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = KEPT - self.head.len();
        self.head.extend(bytes.iter().take(room));
        self.tail.extend(&bytes[bytes.len().saturating_sub(KEPT)..]);
        self.tail.drain(..self.tail.len().saturating_sub(KEPT));
    }

    /// The line is over.
    pub(super) fn finish(self) -> Ends {
        Ends { head: self.head.into(), tail: self.tail.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Ends, Growing, KEPT};

    #[test]
    fn the_ends_are_the_same_however_the_line_comes() {
        let line: Vec<u8> = (0..5 * KEPT).map(|at| (at % 251) as u8).collect();
        let whole = Ends::of(&line);
        assert_eq!((&whole.head[..], &whole.tail[..]), (&line[..KEPT], &line[4 * KEPT..]));
        for size in [1, 100, KEPT - 1, KEPT, KEPT + 1, 3 * KEPT] {
            let mut growing = Growing::default();
            line.chunks(size).for_each(|chunk| growing.push(chunk));
            assert_eq!(growing.finish(), whole, "in pieces of {size}");
        }
        let short = Ends::of(b"ab");
        assert_eq!((&short.head[..], &short.tail[..]), (&b"ab"[..], &b"ab"[..]));
    }
}
