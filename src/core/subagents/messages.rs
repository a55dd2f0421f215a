//! What a session tells its subagents, as both of them see it.
//!
//! Codex shows both ends with the older set of its tools only: the call that sends it, and the message that the
//! subagent got. Neither names the other, and either may come first: they are matched by their text.

use crate::core::cx::{Cx, News};
use crate::core::ids::{ItemId, MessageId, SessionId};
use crate::core::session::Session;
use crate::core::subagents::children::Lineage;
use crate::core::subagents::collab::{CollabAct, CollabCall};
use crate::core::update::{Content, SessionMessage, Twin, Update};
use std::collections::VecDeque;

/// Messages of which the other end is awaited, at most.
const UNMATCHED_MAX: usize = 16;

/// What is between a session and one of its subagents, as far as only one end was seen.
#[derive(Debug, Default)]
pub(crate) struct Unmatched {
    sent: VecDeque<(MessageId, String)>,
    received: VecDeque<(MessageId, String)>,
}

impl Unmatched {
    /// Notes one end; gives the other one if that was seen.
    fn meet(&mut self, end: Twin, text: &str) -> Option<MessageId> {
        let (own, other, message) = match end {
            Twin::Sent(message) => (&mut self.sent, &mut self.received, message),
            Twin::Received(message) => (&mut self.received, &mut self.sent, message),
        };
        if let Some(at) = other.iter().position(|(_, other)| other == text) {
            return other.remove(at).map(|(message, _)| message);
        }
        if own.len() == UNMATCHED_MAX {
            own.pop_front();
        }
        own.push_back((message, text.to_owned()));
        None
    }
}

impl Session {
    /// Its history is told again, and with it what it told this subagent.
    pub(in crate::core) fn forget_messages(&mut self, child: &SessionId) {
        if let Some(unmatched) = self.children.unmatched(child) {
            *unmatched = Unmatched::default();
        }
    }

    /// A call of this session has told subagents something.
    pub(in crate::core) fn told_children(&mut self, cx: &mut Cx<'_>, item: &ItemId, collab: &CollabCall) {
        let (CollabAct::Uses, Some(text)) = (collab.act, &collab.task) else { return };
        if !cx.client.subagents {
            return;
        }
        for (nth, child) in collab.threads.iter().map(SessionId::of).enumerate() {
            let Some(unmatched) = self.children.unmatched(&child) else { continue };
            let message = match nth {
                0 => MessageId::from(item),
                nth => MessageId::new(format!("{}-{nth}", item.as_str())),
            };
            let twin = unmatched.meet(Twin::Sent(message.clone()), text);
            let told = SessionMessage {
                message: message.clone(),
                from: self.id.clone(),
                to: child.clone(),
                twin: twin.clone().map(Twin::Received),
                content: Some(vec![Content::Text(text.clone())]),
            };
            self.emit(cx, Update::SessionMessage(told));
            if let Some(twin) = twin {
                cx.desk.news.push_back(News::Matched { child, received: twin, sent: message });
            }
        }
    }

    /// What this subagent was told, where Codex shows it.
    pub(in crate::core) fn instructed(&mut self, cx: &mut Cx<'_>, message: MessageId, content: Vec<Content>) {
        let Some(Lineage { parent, .. }) = &self.lineage else { return };
        let (from, to) = (parent.clone(), self.id.clone());
        let text = |it: &Content| match it {
            Content::Text(text) => Some(text.clone()),
            Content::Link { .. } | Content::Image { .. } => None,
        };
        let text: String = content.iter().filter_map(text).collect();
        let told = SessionMessage {
            message: message.clone(),
            from: from.clone(),
            to: to.clone(),
            twin: None,
            content: Some(content),
        };
        self.emit(cx, Update::SessionMessage(told));
        cx.desk.news.push_back(News::Instructed { parent: from, child: to, message, text });
    }

    /// One of its subagents has got a message.
    pub(in crate::core) fn child_instructed(
        &mut self,
        cx: &mut Cx<'_>,
        child: SessionId,
        received: MessageId,
        text: &str,
    ) {
        let Some(unmatched) = self.children.unmatched(&child).filter(|_| cx.client.subagents) else { return };
        let Some(sent) = unmatched.meet(Twin::Received(received.clone()), text) else { return };
        let twin = Some(Twin::Received(received.clone()));
        let (from, to) = (self.id.clone(), child.clone());
        self.emit(
            cx,
            Update::SessionMessage(SessionMessage { message: sent.clone(), from, to, twin, content: None }),
        );
        cx.desk.news.push_back(News::Matched { child, received, sent });
    }

    /// What its parent calls a message that this subagent has got.
    pub(in crate::core) fn message_matched(&mut self, cx: &mut Cx<'_>, received: MessageId, sent: MessageId) {
        let Some(Lineage { parent, .. }) = &self.lineage else { return };
        let (from, to) = (parent.clone(), self.id.clone());
        let twin = Some(Twin::Sent(sent));
        self.emit(
            cx,
            Update::SessionMessage(SessionMessage { message: received, from, to, twin, content: None }),
        );
    }
}
