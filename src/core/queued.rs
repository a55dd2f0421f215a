//! Messages that wait in Codex's queue, each shown as a listed tool call (D15).
//!
//! The list says what waits; a message that it no longer names is being started, or was taken out.

use super::codex::{CodexError, CodexReply, CodexRequest};
use super::cx::Cx;
use super::effect::Anomaly;
use super::ids::{ItemId, PromptKey};
use super::link::Purpose;
use super::session::{Session, Tie};
use super::stopping::Closing;
use super::timer::Timer;
use super::update::{EndedBy, FinalStatus};
use crate::background::standing::{Kind, Standing};
use std::collections::BTreeSet;

/// How long a message that left the queue has until its turn shows it, in ms.
const STARTING: u64 = 2_000;

/// A message that Codex will start by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedMessage {
    /// Codex's id of it.
    pub id: String,
    /// Comes back with the message when it is in the thread.
    pub key: PromptKey,
    /// Its text; other parts are named.
    pub text: String,
}

impl Session {
    /// `thread/queue/changed`: asks what waits now.
    pub(crate) fn read_queue(&mut self, cx: &mut Cx<'_>) {
        if self.tie != Tie::Loaded || self.closing.as_ref().is_some_and(Closing::is_done) {
            return;
        }
        if self.reads.queue_running {
            self.reads.queue_again = true;
            return;
        }
        self.reads.queue_running = true;
        self.ask_queue(cx, Vec::new(), None);
    }

    fn ask_queue(&mut self, cx: &mut Cx<'_>, pages: Vec<QueuedMessage>, cursor: Option<String>) {
        let request = CodexRequest::QueueList { thread: self.thread.clone(), cursor: cursor.clone() };
        cx.link.call(Purpose::Queue { session: self.id.clone(), pages, cursor }, request, cx.out);
    }

    /// Codex answered one page.
    pub(crate) fn queue_page(
        &mut self,
        cx: &mut Cx<'_>,
        mut pages: Vec<QueuedMessage>,
        cursor: Option<String>,
        result: Result<CodexReply, CodexError>,
    ) {
        let error = match result {
            Ok(CodexReply::Queued { messages, next }) => {
                pages.extend(messages);
                match next {
                    Some(_) if next != cursor => return self.ask_queue(cx, pages, next),
                    Some(_) | None => return self.queue_known(cx, pages),
                }
            }
            Ok(_) => "the answer has another shape than expected".to_owned(),
            Err(error) => error.message,
        };
        cx.out.anomaly(Anomaly::CodexRefused { method: "thread/queue/list", message: error });
        self.queue_read(cx);
    }

    fn queue_known(&mut self, cx: &mut Cx<'_>, messages: Vec<QueuedMessage>) {
        let named: BTreeSet<String> = messages.iter().map(|message| message.id.clone()).collect();
        for message in messages {
            let item = item_of(&message.id);
            if self.ledger.standing_mut(&item).is_some() {
                self.change_standing(cx, &item, |standing| {
                    standing.kind = Kind::Queued { message, missing: None };
                });
            } else if self.closing.is_none() && self.tie == Tie::Loaded {
                self.open_standing(cx, &item, Standing::queued(message));
            }
        }
        let (now, mut is_missing) = (cx.now, false);
        for standing in self.ledger.standing_iter() {
            if let Kind::Queued { message, missing } = &mut standing.kind
                && !named.contains(&message.id)
            {
                is_missing |= missing.is_none();
                missing.get_or_insert(now);
            }
        }
        if is_missing {
            cx.timers.arm(now.plus(STARTING), Timer::Standing { session: self.id.clone() });
        }
        self.queue_read(cx);
    }

    fn queue_read(&mut self, cx: &mut Cx<'_>) {
        self.reads.queue_running = false;
        self.report(cx);
        if std::mem::take(&mut self.reads.queue_again) {
            return self.read_queue(cx);
        }
        self.close_if_done(cx);
        self.answer_resume(cx);
    }

    /// A message is in the thread: if it waited, its waiting is over.
    pub(crate) fn queued_started(&mut self, cx: &mut Cx<'_>, key: &PromptKey) {
        let is_it = |standing: &Standing| matches!(&standing.kind, Kind::Queued { message, .. } if message.key == *key);
        if let Some(item) = self.standing_item(is_it) {
            self.end_standing(cx, &item, FinalStatus::Completed, "Started.");
        }
    }

    /// Messages that left the queue some time ago and were not started were taken out.
    pub(crate) fn look_at_standing(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now;
        let is_over = |standing: &Standing| matches!(&standing.kind, Kind::Queued { missing: Some(at), .. } if now.0 - at.0 >= STARTING);
        while let Some(item) = self.standing_item(is_over) {
            self.unqueued(cx, &item);
        }
        self.report(cx);
        self.close_if_done(cx);
    }

    fn unqueued(&mut self, cx: &mut Cx<'_>, item: &ItemId) {
        let stop = self.ledger.standing_mut(item).and_then(|standing| standing.stop);
        let line = if stop.is_some() { "Taken out of the queue by you." } else { "Taken out of the queue." };
        self.end_standing(cx, item, FinalStatus::Cancelled, line);
    }

    /// Takes a message out of the queue.
    pub(crate) fn unqueue(&mut self, cx: &mut Cx<'_>, item: &ItemId) {
        let Some(standing) = self.ledger.standing_mut(item) else { return };
        let Kind::Queued { message, .. } = &standing.kind else { return };
        if standing.stop.replace(EndedBy::Client).is_some() {
            return;
        }
        let request = CodexRequest::QueueDelete { thread: self.thread.clone(), message: message.id.clone() };
        cx.link.call(Purpose::Unqueue { session: self.id.clone(), item: item.clone() }, request, cx.out);
    }

    /// Codex answered `thread/queue/delete`.
    pub(crate) fn unqueue_answered(
        &mut self,
        cx: &mut Cx<'_>,
        item: &ItemId,
        result: Result<CodexReply, CodexError>,
    ) {
        match result {
            Ok(CodexReply::Deleted(true)) => {
                self.unqueued(cx, item);
                self.report(cx);
                self.close_if_done(cx);
            }
            // It was started meanwhile, or somebody else was faster: the list and the thread tell.
            Ok(_) => self.forget_unqueue(cx, item),
            Err(error) => {
                let message = error.message;
                cx.out.anomaly(Anomaly::CodexRefused { method: "thread/queue/delete", message });
                self.forget_unqueue(cx, item);
            }
        }
    }

    fn forget_unqueue(&mut self, cx: &mut Cx<'_>, item: &ItemId) {
        if let Some(standing) = self.ledger.standing_mut(item) {
            standing.stop = None;
        }
        self.read_queue(cx);
    }
}

fn item_of(id: &str) -> ItemId {
    ItemId::new(format!("queued-{id}"))
}
