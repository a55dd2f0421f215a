//! Messages that are being streamed: what the client has of each.

use super::ids::ItemId;
use std::collections::BTreeMap;

/// The open messages of a turn.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    open: BTreeMap<ItemId, Text>,
}

#[derive(Debug, Default)]
struct Text {
    voice: Voice,
    sent: String,
    /// Reasoning part that was streamed last.
    part: u32,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Voice {
    #[default]
    Agent,
    Thought,
}

/// What the end of a message adds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Complete,
    Rest(String),
    /// What was streamed is not its beginning.
    Replaced(String),
}

impl Texts {
    /// A message began.
    pub(crate) fn open(&mut self, item: &ItemId) {
        self.open.entry(item.clone()).or_default();
    }

    /// What the client has of each message that is not whole.
    pub(crate) fn so_far(&self) -> impl Iterator<Item = (&ItemId, Voice, &str)> {
        let texts = self.open.iter().map(|(item, it)| (item, it.voice, it.sent.as_str()));
        texts.filter(|(_, _, text)| !text.is_empty())
    }

    /// More of a message; returns what to send. A new part of reasoning starts a paragraph.
    pub(crate) fn delta(&mut self, item: &ItemId, voice: Voice, part: u32, text: &str) -> String {
        let it = self.open.entry(item.clone()).or_default();
        it.voice = voice;
        let gap = if part > it.part && !it.sent.is_empty() { "\n\n" } else { "" };
        it.part = it.part.max(part);
        let more = format!("{gap}{text}");
        it.sent.push_str(&more);
        more
    }

    /// A message is whole.
    pub(crate) fn close(&mut self, item: &ItemId, whole: &str) -> Ending {
        let sent = self.open.remove(item).unwrap_or_default().sent;
        match whole.strip_prefix(sent.as_str()) {
            Some("") => Ending::Complete,
            Some(rest) => Ending::Rest(rest.to_owned()),
            None => Ending::Replaced(whole.to_owned()),
        }
    }

    /// Nothing is being written.
    pub(crate) fn is_quiet(&self) -> bool {
        self.open.is_empty()
    }

    /// The turn is over: what is not whole stays as it is.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::{Ending, Texts, Voice};
    use crate::core::ids::ItemId;

    #[test]
    fn the_end_adds_what_is_missing_and_nothing_else() {
        let item = ItemId::new("m");
        let mut texts = Texts::default();
        assert_eq!(texts.delta(&item, Voice::Agent, 0, "Hel"), "Hel");
        assert_eq!(texts.close(&item, "Hello"), Ending::Rest("lo".to_owned()));
        texts.delta(&item, Voice::Agent, 0, "Hello");
        assert_eq!(texts.close(&item, "Hello"), Ending::Complete);
        texts.delta(&item, Voice::Agent, 0, "lo");
        assert_eq!(texts.close(&item, "Hello"), Ending::Replaced("Hello".to_owned()));
        assert_eq!(texts.close(&item, "never streamed"), Ending::Rest("never streamed".to_owned()));
        assert!(texts.is_quiet());
    }

    #[test]
    fn parts_of_reasoning_are_paragraphs() {
        let item = ItemId::new("r");
        let mut texts = Texts::default();
        texts.delta(&item, Voice::Thought, 0, "one");
        assert_eq!(texts.delta(&item, Voice::Thought, 1, "two"), "\n\ntwo");
        assert_eq!(texts.delta(&item, Voice::Thought, 1, "!"), "!");
        assert_eq!(texts.close(&item, "one\n\ntwo!"), Ending::Complete);
    }
}
