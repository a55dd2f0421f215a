//! D16: prompts on their way into the thread.
//!
//! In order; steered into a running turn, else they start one; inserted when Codex says so.

use super::beginning::{Way, as_typed};
use super::codex::{CodexError, CodexReply, CodexRequest};
use super::cx::Cx;
use super::effect::Anomaly;
use super::failure::Failure;
use super::fault::Fault;
use super::ids::{ItemId, MessageId, PromptKey, TurnId};
use super::link::Purpose;
use super::request::{PromptPart, Reply, Ticket, Version};
use super::session::{History, Session, Tie};
use super::slash;
use super::turn::Front;
use super::update::{Content, StopReason, Update};
use std::collections::VecDeque;

/// A prompt that is not inserted yet.
#[derive(Debug)]
pub(crate) struct Prompt {
    pub(crate) ticket: Ticket,
    /// More requests with the same key: they get the same answer.
    pub(crate) twins: Vec<Ticket>,
    pub(crate) key: PromptKey,
    pub(crate) origin: Origin,
    pub(crate) parts: Vec<PromptPart>,
    pub(crate) stage: Stage,
    /// It may be a skill or an unknown command: known once the skills are.
    pub(crate) undecided: bool,
    /// v1: its request was cancelled while Codex was taking it; answered so, whatever becomes of it.
    pub(crate) withdrawn: bool,
}

/// Who made the key of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Fresh: it is in no thread.
    Ours,
    /// An `idempotencyKey`: it may have been inserted by an earlier process.
    Client,
}

/// How far a prompt is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Held,
    /// `turn/steer` is with Codex.
    Steered,
    /// `turn/start` is with Codex, or was answered with this turn.
    Started(Option<TurnId>),
}

impl Session {
    /// `session/prompt`. A key of the client's may be in the thread already; a fresh one is not.
    pub(crate) fn prompt(
        &mut self,
        cx: &mut Cx<'_>,
        ticket: Ticket,
        mut parts: Vec<PromptPart>,
        key: PromptKey,
        is_fresh: bool,
    ) {
        if let Some(message) = self.inserted.get(&key) {
            let message = message.clone();
            return self.answer_inserted(cx, ticket, message);
        }
        if let Some(twin) = self.prompts.iter_mut().find(|prompt| prompt.key == key) {
            return twin.twins.push(ticket);
        }
        let said = parts.clone();
        let way = slash::parse(&parts).map(|slash| self.way_of(cx, slash, &mut parts));
        if let Some(Way::Local(slash)) = way {
            return self.local(cx, ticket, &said, key, slash);
        }
        let undecided = matches!(way, Some(Way::Undecided));
        if let Err(failure) = cx.link.ensure(cx.now, cx.out) {
            return cx.out.refuse(ticket, failure);
        }
        let origin = if is_fresh { Origin::Ours } else { Origin::Client };
        let stage = Stage::Held;
        let (twins, withdrawn) = (Vec::new(), false);
        self.prompts.push_back(Prompt { ticket, twins, key, origin, parts, stage, undecided, withdrawn });
        self.pump(cx);
    }

    /// Sends the next held prompt if its time has come: one at a time, so that order holds.
    pub(crate) fn pump(&mut self, cx: &mut Cx<'_>) {
        let is_sent = |prompt: &Prompt| prompt.stage != Stage::Held;
        if self.closing.is_some() || self.prompts.iter().any(is_sent) {
            return;
        }
        if self.prompts.is_empty() {
            return self.wake(cx);
        }
        if self.prompts.front().is_some_and(|prompt| prompt.undecided) {
            if self.skills.is_known() {
                self.decide(cx);
                self.pump(cx);
            }
            return;
        }
        if !self.is_ready_for_prompts(cx) {
            return;
        }
        let turn = match &self.front {
            Front::Idle => None,
            // Codex refuses to steer a compaction or a review.
            Front::Active(turn) if turn.is_steerable() && self.own.is_none() => turn.id.clone(),
            Front::Starting { .. } | Front::Active(_) => return,
        };
        let Some(prompt) = self.prompts.front_mut() else { return };
        prompt.stage = if turn.is_some() { Stage::Steered } else { Stage::Started(None) };
        let (key, input, thread) = (prompt.key.clone(), prompt.parts.clone(), self.thread.clone());
        self.waking.prompted();
        let (session, context) = (self.id.clone(), self.untold.take());
        match turn {
            Some(turn) => {
                let request = CodexRequest::TurnSteer { thread, turn, key: key.clone(), input, context };
                cx.link.call(Purpose::TurnSteer { session, key }, request, cx.out);
            }
            None => {
                let choices = self.chosen.take_fresh();
                self.front =
                    Front::Starting { cancelled: false, waiting: Vec::new(), choices: choices.clone() };
                let request = CodexRequest::TurnStart { thread, key: key.clone(), input, context, choices };
                cx.link.call(Purpose::TurnStart { session, key }, request, cx.out);
            }
        }
    }

    /// The skills are known: the first prompt is one, an unknown command, or just a text.
    fn decide(&mut self, cx: &mut Cx<'_>) {
        let Some(mut prompt) = self.prompts.pop_front() else { return };
        let said = prompt.parts.clone();
        prompt.undecided = false;
        // What comes after it does not keep it waiting.
        let later = std::mem::take(&mut self.prompts);
        let way = slash::parse(&said).map(|slash| self.way_of(cx, slash, &mut prompt.parts));
        self.prompts = later;
        match way {
            Some(Way::Local(slash)) => {
                self.local(cx, prompt.ticket, &said, prompt.key.clone(), slash);
                let Some(message) = self.inserted.get(&prompt.key).cloned() else { return };
                for twin in prompt.twins {
                    self.answer_inserted(cx, twin, message.clone());
                }
            }
            Some(Way::Prompt | Way::Undecided) | None => self.prompts.push_front(prompt),
        }
    }

    fn is_ready_for_prompts(&mut self, cx: &mut Cx<'_>) -> bool {
        match self.tie {
            Tie::Loaded => {}
            Tie::Reviving | Tie::Lost(_) => return false,
            Tie::Unloaded => {
                if let Err(failure) = cx.link.ensure(cx.now, cx.out) {
                    self.refuse_all(cx, &failure);
                    return false;
                }
                self.revive(cx);
                return false;
            }
        }
        match self.history {
            History::Known => true,
            History::Reading => false,
            History::Unread if self.prompts.iter().all(|prompt| prompt.origin == Origin::Ours) => true,
            History::Unread => {
                self.history = History::Reading;
                self.scan_keys(cx, None);
                false
            }
        }
    }

    /// Loads the thread again.
    pub(crate) fn revive(&mut self, cx: &mut Cx<'_>) {
        self.tie = Tie::Reviving;
        let request = CodexRequest::ThreadResume {
            thread: self.thread.clone(),
            cwd: None,
            roots: self.place.additional_directories.clone(),
            mcp_servers: self.place.mcp_servers.clone(),
            instructions: self.place.instructions.clone(),
            gateway: self.place.gateway.clone(),
        };
        cx.link.load(Purpose::Revive { session: self.id.clone() }, request, cx.out);
    }

    /// The keys are read: prompts that are in the thread already are answered, the rest goes on.
    pub(crate) fn keys_known(&mut self, cx: &mut Cx<'_>) {
        self.history = History::Known;
        let (known, left) = std::mem::take(&mut self.prompts)
            .into_iter()
            .partition(|prompt: &Prompt| self.inserted.contains_key(&prompt.key));
        self.prompts = left;
        let known: VecDeque<Prompt> = known;
        for prompt in known {
            let message = self.inserted[&prompt.key].clone();
            for ticket in std::iter::once(prompt.ticket).chain(prompt.twins) {
                self.answer_inserted(cx, ticket, message.clone());
            }
        }
        self.pump(cx);
    }

    /// Codex answered `turn/start`.
    pub(crate) fn turn_start_answered(
        &mut self,
        cx: &mut Cx<'_>,
        key: &PromptKey,
        result: Result<CodexReply, CodexError>,
    ) {
        match result {
            Ok(CodexReply::Turn(turn)) => {
                match self.prompts.iter_mut().find(|prompt| prompt.key == *key) {
                    Some(prompt) => prompt.stage = Stage::Started(Some(turn.clone())),
                    // What the woken model is told came along.
                    None if self.waking.is_key(key) => self.untold.told(),
                    None => {}
                }
                // Its end may have come before this answer.
                if let Some((_, stop)) = self.over.clone().filter(|(over, _)| *over == turn) {
                    self.settle_sent(cx, Some(&turn), &stop, None);
                    return self.pump(cx);
                }
                self.turn_is(cx, turn);
            }
            Ok(_) => {}
            Err(error) => {
                let mut was_cancelled = false;
                if let Front::Starting { waiting, choices, cancelled } = &mut self.front {
                    was_cancelled = *cancelled;
                    let (waiting, choices) = (std::mem::take(waiting), std::mem::take(choices));
                    self.front = Front::Idle;
                    self.chosen.give_back(choices);
                    for ticket in waiting {
                        cx.out.refuse(ticket, Failure::TurnFailed(Fault::plain(error.message.clone())));
                    }
                }
                match was_cancelled {
                    true => self.cancel_prompt_of(cx, key),
                    false => self.refuse_prompt(cx, key, &prompt_refusal(&error)),
                }
                self.report(cx);
                self.pump(cx);
                self.close_if_done(cx);
            }
        }
    }

    /// Codex answered `turn/steer`.
    pub(crate) fn turn_steer_answered(
        &mut self,
        cx: &mut Cx<'_>,
        key: &PromptKey,
        result: Result<CodexReply, CodexError>,
    ) {
        if let Err(error) = result {
            // The turn cannot be steered or is over: the prompt waits for the next one.
            cx.out.anomaly(Anomaly::CodexRefused { method: "turn/steer", message: error.message });
            if let Front::Active(turn) = &mut self.front {
                turn.no_steering = true;
            }
            if self.is_cancelled() {
                return self.cancel_prompt_of(cx, key);
            }
            if self.prompts.iter().any(|prompt| prompt.key == *key && prompt.withdrawn) {
                self.cancel_prompt_of(cx, key);
                return self.pump(cx);
            }
            let is_it = |prompt: &&mut Prompt| prompt.key == *key && prompt.stage == Stage::Steered;
            if let Some(prompt) = self.prompts.iter_mut().find(is_it) {
                prompt.stage = Stage::Held;
            }
            self.pump(cx);
        }
    }

    /// A user's message is in the thread: ours or somebody else's.
    pub(crate) fn message_inserted(
        &mut self,
        cx: &mut Cx<'_>,
        item: &ItemId,
        key: Option<PromptKey>,
        content: Vec<Content>,
    ) {
        let message = MessageId::from(item);
        let typed = |part| match part {
            Content::Text(text) => Content::Text(as_typed(&text).unwrap_or(text)),
            other @ (Content::Link { .. } | Content::Image { .. }) => other,
        };
        let content = content.into_iter().map(typed).collect();
        if self.lineage.is_some() {
            return self.instructed(cx, message, content);
        }
        if let Some(key) = key.as_ref().filter(|_| !self.replaying) {
            self.queued_started(cx, key);
        }
        if let Front::Active(turn) = &mut self.front {
            turn.unprompted = false;
        }
        let ours = key.as_ref().and_then(|key| self.prompts.iter().position(|prompt| prompt.key == *key));
        // A v1 client shows what it sent by itself, also where Codex does not say whose it is; what Codex
        // asks a reviewer, nobody said.
        let may_be_ours = key.is_none() && self.prompts.iter().any(|prompt| prompt.stage != Stage::Held);
        let is_shown = match ours {
            Some(_) => cx.version() == Version::V2,
            None if may_be_ours && cx.version() == Version::V1 => false,
            None => !self.is_reviewing(),
        };
        if is_shown {
            self.emit(cx, Update::UserMessage { message: message.clone(), content });
        }
        if let Some(key) = key {
            self.inserted.insert(key, message.clone());
        }
        if let Some(prompt) = ours.and_then(|at| self.prompts.remove(at)) {
            self.untold.told();
            if prompt.withdrawn {
                self.cancel_prompt(cx, prompt);
                self.woken_again(cx);
                return self.pump(cx);
            }
            for ticket in std::iter::once(prompt.ticket).chain(prompt.twins) {
                self.answer_inserted(cx, ticket, message.clone());
            }
            self.pump(cx);
        }
    }

    fn answer_inserted(&mut self, cx: &mut Cx<'_>, ticket: Ticket, message: MessageId) {
        match cx.version() {
            Version::V2 => self.answer(cx, ticket, Reply::Inserted { message }),
            Version::V1 => match self.waiting() {
                Some(waiting) => waiting.push(ticket),
                None => {
                    let reply = self.turn_ended(StopReason::EndTurn);
                    self.answer(cx, ticket, reply);
                }
            },
        }
    }

    /// All prompts that are not with Codex yet (V2-33).
    pub(crate) fn cancel_all_held(&mut self, cx: &mut Cx<'_>) {
        let (held, sent) = std::mem::take(&mut self.prompts)
            .into_iter()
            .partition(|prompt: &Prompt| prompt.stage == Stage::Held);
        self.prompts = sent;
        let held: VecDeque<Prompt> = held;
        for prompt in held {
            self.cancel_prompt(cx, prompt);
        }
    }

    /// `turn` is over and Codex did not take these.
    pub(crate) fn settle_sent(
        &mut self,
        cx: &mut Cx<'_>,
        turn: Option<&TurnId>,
        stop: &StopReason,
        hook: Option<&str>,
    ) {
        let n_before = self.prompts.len();
        for mut prompt in std::mem::take(&mut self.prompts) {
            let is_its_turn = match &prompt.stage {
                Stage::Held => false,
                Stage::Steered => true,
                Stage::Started(started) => started.is_some() && started.as_ref() == turn,
            };
            match stop {
                _ if !is_its_turn => self.prompts.push_back(prompt),
                _ if prompt.withdrawn => self.cancel_prompt(cx, prompt),
                StopReason::Cancelled => self.cancel_prompt(cx, prompt),
                StopReason::Error(fault) => refuse(cx, prompt, &Failure::TurnFailed(fault.clone())),
                StopReason::EndTurn | StopReason::MaxTokens | StopReason::Refusal
                    if prompt.stage == Stage::Steered =>
                {
                    // Steered too late: it starts the next turn.
                    prompt.stage = Stage::Held;
                    self.prompts.push_back(prompt);
                }
                StopReason::EndTurn | StopReason::MaxTokens | StopReason::Refusal => {
                    let why = match hook {
                        Some(hook) => format!("the message was not taken: {hook}"),
                        None => "codex ended the turn without showing that it took the message".to_owned(),
                    };
                    refuse(cx, prompt, &Failure::TurnFailed(Fault::plain(why)));
                }
            }
        }
        // One that is answered ends what was announced as going on without a prompt.
        self.woken &= self.prompts.len() == n_before;
    }

    /// Refuses what is with Codex.
    pub(crate) fn refuse_sent(&mut self, cx: &mut Cx<'_>, failure: &Failure) {
        let (sent, held) = std::mem::take(&mut self.prompts)
            .into_iter()
            .partition(|prompt: &Prompt| prompt.stage != Stage::Held);
        self.prompts = held;
        let sent: VecDeque<Prompt> = sent;
        for prompt in sent {
            refuse(cx, prompt, failure);
        }
    }

    /// Refuses everything that waits.
    pub(crate) fn refuse_all(&mut self, cx: &mut Cx<'_>, failure: &Failure) {
        for prompt in std::mem::take(&mut self.prompts) {
            refuse(cx, prompt, failure);
        }
    }

    fn cancel_prompt_of(&mut self, cx: &mut Cx<'_>, key: &PromptKey) {
        let at = self.prompts.iter().position(|prompt| prompt.key == *key);
        if let Some(prompt) = at.and_then(|at| self.prompts.remove(at)) {
            self.cancel_prompt(cx, prompt);
        }
    }

    fn refuse_prompt(&mut self, cx: &mut Cx<'_>, key: &PromptKey, failure: &Failure) {
        let at = self.prompts.iter().position(|prompt| prompt.key == *key);
        if let Some(prompt) = at.and_then(|at| self.prompts.remove(at)) {
            refuse(cx, prompt, failure);
        }
    }

    pub(super) fn cancel_prompt(&mut self, cx: &mut Cx<'_>, prompt: Prompt) {
        for ticket in std::iter::once(prompt.ticket).chain(prompt.twins) {
            self.cancel_ticket(cx, ticket);
        }
        self.woken_again(cx);
    }

    pub(super) fn cancel_ticket(&mut self, cx: &mut Cx<'_>, ticket: Ticket) {
        match cx.version() {
            Version::V2 => self.answer(cx, ticket, Reply::Failed(Failure::Cancelled)),
            Version::V1 => {
                let reply = self.turn_ended(StopReason::Cancelled);
                self.answer(cx, ticket, reply);
            }
        }
    }
}

fn refuse(cx: &mut Cx<'_>, prompt: Prompt, failure: &Failure) {
    for ticket in std::iter::once(prompt.ticket).chain(prompt.twins) {
        cx.out.refuse(ticket, failure.clone());
    }
}

/// Why Codex did not take a prompt: it may be the prompt's own fault, such as its size.
fn prompt_refusal(error: &CodexError) -> Failure {
    match error.code {
        -32602 => Failure::InvalidParams(format!("codex does not take this prompt: {}", error.message)),
        _ => refusal("turn/start", error),
    }
}

/// Codex's refusal, for the client.
pub(crate) fn refusal(method: &'static str, error: &CodexError) -> Failure {
    Failure::Codex { method, message: error.message.clone(), code: error.code }
}
