//! Prompts that are answered here: `/ps` and `/stop` (D13).
//!
//! Owns the cycle running, answer, idle of a prompt that the model never sees, also while a turn runs.

use super::cx::Cx;
use super::effect::Effect;
use super::ids::{ItemId, MessageId, PromptKey, RequestId, Tick};
use super::input::Found;
use super::jobs::Jobs;
use super::leftovers::Leftovers;
use super::ps;
use super::request::{PromptPart, Reply, Ticket, Version};
use super::session::Session;
use super::slash::{Slash, Which};
use super::timer::Timer;
use super::turn::Front;
use super::update::{Content, EndedBy, StopReason, Update};
use crate::background::ledger::{Call, Work};

/// Bytes of an id that may stand for the whole.
const BEGINNING: usize = 6;
/// How long an answer waits for what runs, in ms.
const SURVEY_BOUND: u64 = 2_000;

/// The local prompts of a session.
#[derive(Debug, Default)]
pub(crate) struct Locals {
    open: Vec<Local>,
    /// Since when what runs is being looked at.
    surveyed: Option<Tick>,
    jobs: Jobs,
    pub(crate) leftovers: Leftovers,
}

/// A prompt that waits for the look at what runs.
#[derive(Debug)]
struct Local {
    /// v1: answered at its end.
    ticket: Option<Ticket>,
    key: PromptKey,
    slash: Slash,
}

impl Locals {
    /// Whether a prompt is being answered.
    pub(crate) fn is_busy(&self) -> bool {
        !self.open.is_empty()
    }
}

impl Session {
    /// A prompt that is a command of ours.
    pub(crate) fn local(
        &mut self,
        cx: &mut Cx<'_>,
        ticket: Ticket,
        parts: &[PromptPart],
        key: PromptKey,
        slash: Slash,
    ) {
        let message = MessageId::new(format!("local-{key}"));
        self.inserted.insert(key.clone(), message.clone());
        let (ticket, owed) = match cx.version() {
            Version::V1 => (Some(ticket), None),
            Version::V2 => (None, Some(ticket)),
        };
        let is_misused = matches!(slash, Slash::Misused(_));
        self.locals.open.push(Local { ticket, key, slash });
        self.report(cx);
        if let Some(ticket) = owed {
            let texts = parts.iter().filter_map(|part| match part {
                PromptPart::Text(text) => Some(Content::Text(text.clone())),
                PromptPart::Link { .. } | PromptPart::Embedded { .. } | PromptPart::Image { .. } => None,
            });
            let content = texts.collect();
            self.emit(cx, Update::UserMessage { message: message.clone(), content });
            self.answer(cx, ticket, Reply::Inserted { message });
        }
        if is_misused {
            return self.answer_locals(cx, None);
        }
        if self.locals.surveyed.is_none() {
            self.locals.surveyed = Some(cx.now);
            cx.out.push(Effect::Survey { session: self.id.clone(), thread: self.thread.clone() });
            cx.timers.arm(cx.now.plus(SURVEY_BOUND), Timer::Survey { session: self.id.clone() });
        }
    }

    /// What runs is known.
    pub(crate) fn surveyed(&mut self, cx: &mut Cx<'_>, found: &[Found]) {
        if self.locals.surveyed.take().is_some() {
            self.answer_locals(cx, Some(found));
        }
    }

    /// The look takes too long: the answers do without.
    pub(crate) fn survey_bound(&mut self, cx: &mut Cx<'_>) {
        if self.locals.surveyed.is_some_and(|since| cx.now.0 - since.0 >= SURVEY_BOUND) {
            self.locals.surveyed = None;
            self.answer_locals(cx, None);
        }
    }

    fn answer_locals(&mut self, cx: &mut Cx<'_>, found: Option<&[Found]>) {
        if !self.locals.is_busy() {
            return;
        }
        for Local { ticket, key, slash } in std::mem::take(&mut self.locals.open) {
            let text = match slash {
                Slash::Ps => self.ps(found),
                Slash::Stop(which) => self.stop(cx, &which, found),
                Slash::Misused(usage) => format!("{usage}."),
            };
            // A v1 client may join it to the message that the turn is writing.
            let is_between = cx.version() == Version::V1 && !matches!(self.front, Front::Idle);
            let text = if is_between { format!("\n\n{text}\n\n") } else { text };
            self.emit(
                cx,
                Update::AgentMessage { message: MessageId::new(format!("local-{key}-answer")), text },
            );
            self.locals_ended(cx, ticket, StopReason::EndTurn);
        }
        self.report_locals(cx, StopReason::EndTurn);
    }

    /// `session/cancel`, or the session closes: nothing is looked at or stopped any more.
    pub(crate) fn cancel_locals(&mut self, cx: &mut Cx<'_>) {
        if !self.locals.is_busy() {
            return;
        }
        for local in std::mem::take(&mut self.locals.open) {
            self.locals_ended(cx, local.ticket, StopReason::Cancelled);
        }
        self.report_locals(cx, StopReason::Cancelled);
    }

    /// `$/cancel_request` of a v1 prompt that is being answered here.
    pub(crate) fn cancel_local(&mut self, cx: &mut Cx<'_>, request: &RequestId) -> bool {
        let is_it = |local: &Local| local.ticket.as_ref().is_some_and(|ticket| ticket.id() == request);
        let Some(at) = self.locals.open.iter().position(is_it) else { return false };
        let local = self.locals.open.remove(at);
        self.locals_ended(cx, local.ticket, StopReason::Cancelled);
        if !self.locals.is_busy() {
            self.report_locals(cx, StopReason::Cancelled);
        }
        true
    }

    fn locals_ended(&mut self, cx: &mut Cx<'_>, ticket: Option<Ticket>, stop: StopReason) {
        if let Some(ticket) = ticket {
            let reply = self.turn_ended(stop);
            self.answer(cx, ticket, reply);
            self.woken_again(cx);
        }
    }

    /// v1: an answer closes what was opened before it. What goes on without a prompt opens anew (D13).
    fn woken_again(&mut self, cx: &mut Cx<'_>) {
        let is_prompted = !self.prompts.is_empty() || self.waiting().is_some_and(|it| !it.is_empty());
        if is_prompted {
            return;
        }
        self.woken = false;
        if matches!(self.front, Front::Active(_)) {
            self.say_woken(cx);
        }
    }

    // A turn that runs or starts ends by itself.
    fn report_locals(&mut self, cx: &mut Cx<'_>, stop: StopReason) {
        match self.front {
            Front::Idle => self.report_end(cx, stop),
            Front::Starting { .. } | Front::Active(_) => self.report(cx),
        }
    }

    fn ps(&mut self, found: Option<&[Found]>) -> String {
        let all = self.all(found);
        self.locals.jobs.renumber(&all);
        self.table(found)
    }

    /// Everything that runs, under the numbers that it has.
    fn table(&self, found: Option<&[Found]>) -> String {
        let running = self.running();
        let jobs = &self.locals.jobs;
        let rows = running.iter().filter_map(|item| {
            let call = self.ledger.get(item)?;
            let cost = found.map(|found| found.iter().find(|it| it.item == *item));
            Some(ps::running(jobs.number(item)?, call.call.as_str(), call.command()?, cost))
        });
        let rows: Vec<String> = rows.collect();
        let standing = running.iter().filter_map(|item| {
            let call = self.ledger.get(item)?;
            Some(ps::standing(jobs.number(item)?, call.call.as_str(), call.standing()?))
        });
        let standing: Vec<String> = standing.collect();
        let left = self.left_behind(found);
        let left: Vec<String> =
            left.iter().filter_map(|it| Some(ps::left(jobs.number(&it.item)?, it))).collect();
        ps::table(&rows, &standing, &left)
    }

    /// All that has or gets a number.
    fn all(&self, found: Option<&[Found]>) -> Vec<ItemId> {
        let left = self.left_behind(found).into_iter().map(|it| it.item);
        self.running().into_iter().chain(left).collect()
    }

    fn stop(&mut self, cx: &mut Cx<'_>, which: &Which, found: Option<&[Found]>) -> String {
        let left = self.left_behind(found);
        let all = self.all(found);
        self.locals.jobs.extend(&all);
        let chosen = match which {
            Which::Only if all.len() > 1 => {
                let table = self.table(found);
                return format!("Which one? Say `/stop` with a number, or `/stop all`.\n\n{table}");
            }
            Which::Only => all,
            Which::All => {
                let waited =
                    |item: &ItemId| self.ledger.get(item).is_some_and(|it| it.is_foreground_process());
                all.into_iter().filter(|item| !waited(item)).collect()
            }
            Which::Named(name) => match self.named(name, &all) {
                Some(item) => vec![item],
                None => {
                    let table = self.table(found);
                    return format!("Nothing runs under `{name}`; it may have ended.\n\n{table}");
                }
            },
        };
        if chosen.is_empty() {
            return match self.running().is_empty() {
                true => "Nothing is running.".to_owned(),
                false => "Nothing runs in the background. What the turn waits on is stopped by its number in `/ps`, \
                          or together with the turn by cancelling it."
                    .to_owned(),
            };
        }
        let grace = cx.settings.stop_grace;
        let mut lines = Vec::new();
        for item in chosen {
            let number = self.locals.jobs.number(&item).unwrap_or_default();
            match self.ledger.get(&item).map(|call| &call.work) {
                Some(Work::Command(command)) => {
                    lines.push(ps::stopping(number, command, grace));
                    self.stop_command(cx, &item, EndedBy::Client);
                }
                Some(Work::Standing(standing)) => {
                    lines.push(ps::ending(number, standing));
                    self.stop_standing(cx, &item);
                }
                Some(Work::Tool | Work::Compaction) | None => {
                    lines.extend(
                        left.iter().find(|it| it.item == item).map(|it| ps::stopping_left(number, it, grace)),
                    );
                    self.stop_leftover(cx, &item);
                }
            }
        }
        lines.join("\n\n")
    }

    /// By the number that was shown, else by its id, or the beginning of it if no other has it too.
    fn named(&self, name: &str, all: &[ItemId]) -> Option<ItemId> {
        let by_number = name.parse().ok().and_then(|number| self.locals.jobs.item(number));
        if let Some(item) = by_number.filter(|item| all.contains(item)) {
            return Some(item.clone());
        }
        let id = |item: &ItemId| match self.ledger.get(item) {
            Some(call) => call.call.as_str().to_owned(),
            None => item.as_str().to_owned(),
        };
        let is_enough = name.len() >= BEGINNING;
        let mut beginning = all.iter().filter(|item| is_enough && id(item).starts_with(name));
        match (all.iter().find(|item| id(item) == name), beginning.next(), beginning.next()) {
            (Some(item), _, _) | (None, Some(item), None) => Some(item.clone()),
            (None, _, _) => None,
        }
    }

    /// Commands with a process, then goals and queued messages, each in order of their start.
    fn running(&self) -> Vec<ItemId> {
        let is_command =
            |call: &Call| call.live().is_some() && call.command().is_some_and(|command| !command.own_shell);
        let mut running = self.ledger.items(is_command);
        running.extend(self.ledger.items(|call| call.standing().is_some()));
        running
    }

    /// Processes of commands that ended.
    fn left_behind(&self, found: Option<&[Found]>) -> Vec<Found> {
        let found = found.unwrap_or_default().iter();
        found.filter(|it| self.ledger.get(&it.item).is_none()).cloned().collect()
    }
}
