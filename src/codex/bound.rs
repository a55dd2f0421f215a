//! How much of what Codex says is handed on: a client takes lines of 16 MiB.
//!
//! Does not know any message. What is left out is said where it was.

use crate::core::update::Location;

/// Longest readable text beside the conversation, in bytes.
const TEXT_MAX: usize = 64 << 10;
/// Longest text that somebody works with: a script, a message of the user's.
const LONG_MAX: usize = 1 << 20;
/// Most that the places of one call take in a line, in bytes.
const PLACES_MAX: usize = 1 << 20;

/// `text`, cut where it is too long to be shown, with a mark.
pub(crate) fn bounded(text: String) -> String {
    cut(text, TEXT_MAX)
}

/// `text`, cut where nobody has a text of that length, with a mark.
pub(crate) fn long(text: String) -> String {
    cut(text, LONG_MAX)
}

fn cut(mut text: String, max: usize) -> String {
    let n_bytes = text.len();
    if n_bytes > max {
        text.truncate(text.floor_char_boundary(max));
        let left_out = n_bytes - text.len();
        text.push_str(&format!("\n[{left_out} more bytes left out]"));
    }
    text
}

/// Places of these paths. They help to follow along: the last of very many are left out.
pub(crate) fn places(paths: impl Iterator<Item = String>) -> Vec<Location> {
    let mut room = Room(PLACES_MAX);
    paths.take_while(|path| room.takes(json_len(path))).map(|path| Location { path, line: None }).collect()
}

/// Room in a line for several things, in bytes.
pub(crate) struct Room(pub(crate) usize);

impl Room {
    /// What JSON has around each of many things, at most.
    pub(crate) const FRAME: usize = 512;

    /// Whether `n_bytes` and their frame still fit; they take their room if so.
    pub(crate) fn takes(&mut self, n_bytes: usize) -> bool {
        let left = self.0.checked_sub(n_bytes.saturating_add(Self::FRAME));
        left.map(|left| self.0 = left).is_some()
    }
}

/// Bytes that `text` takes inside a JSON string.
pub(crate) fn json_len(text: &str) -> usize {
    let escapes = text.bytes().map(|it| match it {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 1,
        0..=0x1f => 5,
        _ => 0,
    });
    text.len() + escapes.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::{Room, TEXT_MAX, bounded, json_len, places};

    #[test]
    fn what_is_cut_says_how_much() {
        assert_eq!(bounded("as it is".to_owned()), "as it is");
        let cut = bounded("é".repeat(TEXT_MAX));
        assert!(cut.ends_with(&format!("é\n[{TEXT_MAX} more bytes left out]")), "{}", &cut[TEXT_MAX..]);
    }

    #[test]
    fn a_length_is_that_of_the_json() {
        for text in ["plain", "é\"\\\n\r\t", "\u{1}\u{1f}\u{8}\u{7f}"] {
            let json = serde_json::to_string(text).unwrap();
            assert!((json.len() - 2..=json.len() + 8).contains(&json_len(text)), "{json}");
        }
    }

    #[test]
    fn room_is_taken_until_there_is_none() {
        let mut room = Room(2 * Room::FRAME + 10);
        assert_eq!([room.takes(6), room.takes(5), room.takes(4), room.takes(0)], [true, false, true, false]);
        let n_places = places((0..5000).map(|n| n.to_string())).len();
        assert!((2000..2050).contains(&n_places), "{n_places} of 5000");
    }
}
