//! Prompts of open sessions that come while nobody is signed in.
//!
//! Codex would put them to the model without an account, and hand on what that one says after some attempts.

use super::Core;
use super::account::Opening;
use super::effect::Effects;
use super::failure::Failure;
use super::ids::{PromptKey, SessionId, Tick};
use super::request::{PromptPart, Ticket};
use super::slash;

/// A prompt that waits for the account.
#[derive(Debug)]
pub(crate) struct Barred {
    pub(super) ticket: Ticket,
    pub(super) session: SessionId,
    pub(super) parts: Vec<PromptPart>,
    pub(super) key: PromptKey,
    pub(super) is_fresh: bool,
}

impl Core {
    /// A prompt of a session: for the session, or held until it is known that somebody is signed in (again).
    pub(super) fn admit_prompt(&mut self, now: Tick, prompt: Barred, out: &mut Effects) {
        let is_open = self.sessions.get(&prompt.session).is_some_and(|it| it.is_open && it.closing.is_none());
        // A command may need nobody, and says itself what it misses.
        if !is_open
            || !self.account.is_missing
            || self.account.gateway.is_some()
            || slash::parse(&prompt.parts).is_some()
        {
            return self.let_in(now, prompt, out);
        }
        match self.link.ensure(now, out) {
            Ok(()) => self.admit(now, Opening::Prompt(prompt), out),
            Err(failure) => out.refuse(prompt.ticket, failure),
        }
    }

    /// The session takes it.
    pub(super) fn let_in(&mut self, now: Tick, prompt: Barred, out: &mut Effects) {
        let Barred { ticket, session, parts, key, is_fresh } = prompt;
        let (sessions, mut cx) = self.split(now, out);
        match sessions.get_mut(&session) {
            Some(it) if it.is_open && it.closing.is_none() => {
                it.prompt(&mut cx, ticket, parts, key, is_fresh);
            }
            Some(_) | None => cx.out.refuse(ticket, Failure::UnknownSession(session)),
        }
    }

    /// Those of this session are for nothing.
    pub(super) fn cancel_all_barred(&mut self, now: Tick, session: &SessionId, out: &mut Effects) {
        let mut its = Vec::new();
        for opening in std::mem::take(self.account.held()) {
            match opening {
                Opening::Prompt(barred) if barred.session == *session => its.push(barred),
                other @ (Opening::New { .. }
                | Opening::Resume(_)
                | Opening::Confirm(_)
                | Opening::Prompt(_)) => self.account.held().push(other),
            }
        }
        for barred in its {
            self.cancel_barred(now, barred, out);
        }
    }

    /// Answers as the session would, had it held the prompt.
    pub(super) fn cancel_barred(&mut self, now: Tick, prompt: Barred, out: &mut Effects) {
        let Barred { ticket, session, .. } = prompt;
        let (sessions, mut cx) = self.split(now, out);
        match sessions.get_mut(&session) {
            Some(it) => it.cancel_ticket(&mut cx, ticket),
            None => cx.out.refuse(ticket, Failure::Cancelled),
        }
    }
}
