//! A text that is too long for one update, as several.
//!
//! Nothing is lost: the client puts them together as it does with what is streamed.

use super::ids::MessageId;
use super::update::Update;

/// Longest text of one update, in bytes; in JSON it can be six times as long.
const MAX: usize = 2 << 20;

/// `update`, in pieces where it is a text of more than the bound.
pub(crate) fn of(mut update: Update) -> impl Iterator<Item = Update> {
    let rest = rest(&mut update);
    std::iter::once(update).chain(rest)
}

type Piece = fn(MessageId, String) -> Update;

/// Cuts what is too long off, as pieces that follow.
fn rest(update: &mut Update) -> Vec<Update> {
    let (message, text, piece): (_, _, Piece) =
        if let Update::AgentText { message, text } | Update::AgentMessage { message, text } = update {
            (message, text, Update::agent_text)
        } else if let Update::ThoughtText { message, text } = update {
            (message, text, Update::thought_text)
        } else {
            return Vec::new();
        };
    if text.len() <= MAX {
        return Vec::new();
    }
    let tail = text.split_off(text.floor_char_boundary(MAX));
    split(message, &tail, piece)
}

fn split(message: &MessageId, mut text: &str, piece: Piece) -> Vec<Update> {
    let mut pieces = Vec::new();
    while !text.is_empty() {
        let (head, tail) = text.split_at(text.floor_char_boundary(MAX));
        pieces.push(piece(message.clone(), head.to_owned()));
        text = tail;
    }
    pieces
}

impl Update {
    fn agent_text(message: MessageId, text: String) -> Self {
        Self::AgentText { message, text }
    }

    fn thought_text(message: MessageId, text: String) -> Self {
        Self::ThoughtText { message, text }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ids::MessageId;
    use super::{MAX, of};
    use crate::core::update::Update;

    #[test]
    fn the_pieces_are_the_text() {
        let message = || MessageId::new("m");
        let text = format!("x{}", "é".repeat(MAX));
        let whole = Update::AgentMessage { message: message(), text: text.clone() };
        let mut joined = String::new();
        for (n, piece) in of(whole).enumerate() {
            assert_eq!(matches!(piece, Update::AgentMessage { .. }), n == 0);
            let (Update::AgentMessage { text, .. } | Update::AgentText { text, .. }) = piece else {
                panic!("{piece:?}");
            };
            assert!(text.len() <= MAX);
            joined += &text;
        }
        assert_eq!(joined, text);
        let short = Update::ThoughtText { message: message(), text: "short".to_owned() };
        assert_eq!(of(short.clone()).collect::<Vec<_>>(), [short]);
    }
}
