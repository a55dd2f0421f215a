//! `$/cancel_request` of a prompt: that prompt is withdrawn, and what is done for it alone is cancelled.
//!
//! Answered as its `session/cancel` would be. In v2 a prompt is answered when it is in the thread: then nothing of
//! it is left to cancel by this (V2-06).

use super::cx::Cx;
use super::ids::RequestId;
use super::prompts::{Prompt, Stage};
use super::request::{Ticket, Version};
use super::session::Session;

impl Session {
    /// Returns whether a prompt of this session has that request.
    pub(crate) fn cancel_request(&mut self, cx: &mut Cx<'_>, request: &RequestId) -> bool {
        self.cancel_of_many(cx, request)
            || self.cancel_held(cx, request)
            || self.cancel_local(cx, request)
            || (cx.version() == Version::V1 && self.cancel_at_work(cx, request))
    }

    /// One of several requests for one prompt: only the one that was named is cancelled.
    fn cancel_of_many(&mut self, cx: &mut Cx<'_>, request: &RequestId) -> bool {
        let is_open = |prompt: &&mut Prompt| prompt.stage == Stage::Held || cx.version() == Version::V1;
        let ticket = self.prompts.iter_mut().filter(is_open).find_map(|it| take_of_many(it, request));
        ticket.is_some_and(|ticket| {
            self.cancel_ticket(cx, ticket);
            true
        })
    }

    /// A prompt that is not with Codex yet.
    fn cancel_held(&mut self, cx: &mut Cx<'_>, request: &RequestId) -> bool {
        let is_it = |prompt: &Prompt| prompt.stage == Stage::Held && prompt.ticket.id() == request;
        let at = self.prompts.iter().position(is_it);
        let Some(prompt) = at.and_then(|at| self.prompts.remove(at)) else { return false };
        self.cancel_prompt(cx, prompt);
        true
    }

    /// v1: a prompt that Codex has: its turn is cancelled, unless others wait for that too.
    fn cancel_at_work(&mut self, cx: &mut Cx<'_>, request: &RequestId) -> bool {
        if let Some(prompt) = self.prompts.iter_mut().find(|prompt| prompt.ticket.id() == request) {
            match prompt.stage {
                // Codex cannot be asked to take it back: it may come into the turn, which is not its own.
                Stage::Steered | Stage::Held => prompt.withdrawn = true,
                Stage::Started(_) => self.cancel_turn(cx),
            }
            return true;
        }
        let is_alone = self.prompts.iter().all(|prompt| prompt.stage != Stage::Steered || prompt.withdrawn);
        let Some(waiting) = self.waiting() else { return false };
        let Some(at) = waiting.iter().position(|ticket| ticket.id() == request) else { return false };
        if is_alone && waiting.len() == 1 {
            self.cancel_turn(cx);
        } else {
            let ticket = waiting.remove(at);
            self.cancel_ticket(cx, ticket);
        }
        true
    }
}

/// Takes this request out of those that wait for a prompt, if it is not the only one.
fn take_of_many(prompt: &mut Prompt, request: &RequestId) -> Option<Ticket> {
    if let Some(twin) = prompt.twins.iter().position(|twin| twin.id() == request) {
        return Some(prompt.twins.remove(twin));
    }
    if prompt.ticket.id() != request {
        return None;
    }
    prompt.twins.pop().map(|twin| std::mem::replace(&mut prompt.ticket, twin))
}
