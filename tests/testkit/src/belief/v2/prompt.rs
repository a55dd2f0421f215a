//! Rules of prompts: inserted once and shown once, or refused and never shown.

use crate::belief::Findings;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(super) struct Prompts {
    /// Ids of the user messages shown live.
    shown: BTreeSet<String>,
    /// Message id to idempotency key of the prompt it was the answer to.
    answered: BTreeMap<String, Option<String>>,
    by_text: BTreeMap<String, Counts>,
}

/// How often one text was prompted, refused and shown.
#[derive(Debug, Default)]
struct Counts {
    n_sent: usize,
    n_refused: usize,
    n_shown: usize,
}

impl Prompts {
    pub(super) fn sent(&mut self, params: &Value) {
        self.by_text.entry(text(&params["prompt"])).or_default().n_sent += 1;
    }

    pub(super) fn user_message(&mut self, update: &Value, found: &mut Findings) {
        let id = update["messageId"].as_str().unwrap_or_default();
        if !self.shown.insert(id.to_owned()) {
            found.add("user-message-twice", id.to_owned());
        }
        let text = text(&update["content"]);
        self.by_text.entry(text.clone()).or_default().n_shown += 1;
        self.check_refused(&text, found);
    }

    pub(super) fn inserted(&mut self, params: &Value, result: &Value, found: &mut Findings) {
        let id = result["messageId"].as_str().unwrap_or_default();
        let key = params["idempotencyKey"].as_str().map(str::to_owned);
        let former = self.answered.insert(id.to_owned(), key.clone());
        if former.is_some_and(|former| former.is_none() || former != key) {
            found.add("message-id-shared", id.to_owned());
        }
    }

    pub(super) fn refused(&mut self, params: &Value, found: &mut Findings) {
        let text = text(&params["prompt"]);
        self.by_text.entry(text.clone()).or_default().n_refused += 1;
        self.check_refused(&text, found);
    }

    /// What happened to prompts elsewhere happened here.
    pub(super) fn keep(&mut self, other: Self) {
        self.shown.extend(other.shown);
        self.answered.extend(other.answered);
        for (text, counts) in other.by_text {
            let known = self.by_text.entry(text).or_default();
            known.n_sent += counts.n_sent;
            known.n_refused += counts.n_refused;
            known.n_shown += counts.n_shown;
        }
    }

    pub(super) fn at_rest(&mut self, found: &mut Findings) {
        for id in self.answered.keys().filter(|id| !self.shown.contains(*id)) {
            found.add("prompt-not-shown", id.clone());
        }
    }

    fn check_refused(&self, text: &str, found: &mut Findings) {
        let Some(counts) = self.by_text.get(text) else { return };
        if counts.n_refused > 0 && counts.n_shown + counts.n_refused > counts.n_sent {
            found.add("refused-prompt-shown", format!("{counts:?}"));
        }
    }
}

fn text(content: &Value) -> String {
    content.as_array().into_iter().flatten().filter_map(|block| block["text"].as_str()).collect()
}
