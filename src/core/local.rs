//! Prompts that are answered here (D13); `/ps` and `/stop` whole, the others in `asking.rs`.
//!
//! Owns the cycle running, answer, idle of a prompt that the model never sees, also while a turn runs.

use super::cx::Cx;
use super::effect::Effect;
use super::ids::{ItemId, MessageId, PromptKey, RequestId};
use super::input::Found;
use super::locals::{Local, Need};
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
/// How what looks like a command gets to the model.
const AS_TEXT: &str = "to send this to the model as it is, put a space or a word in front of the slash";
/// v1: opens what still comes of a turn that is being cut off.
const CUT_OFF: &str = "*What Codex was doing without a prompt is being ended.*\n\n";

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
        self.locals.open.push(Local { ticket, key: key.clone(), need: Need::Nothing });
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
        let text = match slash {
            Slash::Ps => return self.survey(cx, &key, None),
            Slash::Stop(which) => return self.survey(cx, &key, Some(which)),
            Slash::Task(task) => return self.inquire(cx, &key, task),
            Slash::Misused(usage) => format!("{usage}."),
            Slash::TooMuch(name) => {
                let takes = if name == "goal" { "one text and nothing after it" } else { "one line" };
                format!(
                    "`/{name}` takes {takes}, so nothing was done, and the model was not asked. Send the rest as a \
                     message of its own; {AS_TEXT}."
                )
            }
            Slash::NotNow(why) => why.to_owned(),
            Slash::Unknown { name, near } => {
                let near = near.map(|near| format!(" Did you mean `/{near}`?")).unwrap_or_default();
                format!("There is no command `/{name}`.{near} The model was not asked: {AS_TEXT}.")
            }
            Slash::Choice(id, wanted) => self.choose(cx, id, wanted.as_deref()),
            Slash::Plan(_) => self.turn_plan_mode(cx),
            // These are no local prompts; said all the same rather than left without an answer.
            Slash::Init | Slash::Other(_) => "This is a prompt for the model.".to_owned(),
        };
        self.answer_local(cx, &key, &text);
    }

    fn survey(&mut self, cx: &mut Cx<'_>, key: &PromptKey, stop: Option<Which>) {
        self.locals.needs(key, Need::Survey(stop));
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
        let waits = |local: &mut Local| matches!(local.need, Need::Survey(_));
        let surveyed: Vec<Local> = self.locals.open.extract_if(.., waits).collect();
        if surveyed.is_empty() {
            return;
        }
        for local in surveyed {
            let text = match &local.need {
                Need::Survey(Some(which)) => self.stop(cx, which, found),
                Need::Survey(None) | Need::Nothing | Need::Thread(_) | Need::GoalEnd | Need::Codex { .. } => {
                    self.ps(found)
                }
            };
            self.say_local(cx, local, &text);
        }
        self.report_locals(cx, StopReason::EndTurn);
    }

    /// Answers one prompt; nothing if it was cancelled.
    pub(crate) fn answer_local(&mut self, cx: &mut Cx<'_>, key: &PromptKey, text: &str) {
        let at = self.locals.open.iter().position(|local| local.key == *key);
        if let Some(at) = at {
            let local = self.locals.open.remove(at);
            self.say_local(cx, local, text);
            self.report_locals(cx, StopReason::EndTurn);
        }
    }

    fn say_local(&mut self, cx: &mut Cx<'_>, local: Local, text: &str) {
        let Local { ticket, key, .. } = local;
        // A v1 client may join it to the message that the turn is writing.
        let is_between = cx.version() == Version::V1 && !matches!(self.front, Front::Idle);
        let text = if is_between { format!("\n\n{text}\n\n") } else { text.to_owned() };
        self.emit(cx, Update::AgentMessage { message: MessageId::new(format!("local-{key}-answer")), text });
        self.locals_ended(cx, ticket, StopReason::EndTurn);
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
        self.report_locals(cx, StopReason::Cancelled);
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
    pub(crate) fn woken_again(&mut self, cx: &mut Cx<'_>) {
        if self.is_prompted() {
            return;
        }
        self.woken = false;
        match &self.front {
            Front::Active(turn) if turn.cancelled => self.open_by_itself(cx, CUT_OFF),
            Front::Active(_) => self.say_woken(cx),
            Front::Idle | Front::Starting { .. } => {}
        }
    }

    // A turn that runs or starts ends by itself, and so does another prompt that is being answered.
    fn report_locals(&mut self, cx: &mut Cx<'_>, stop: StopReason) {
        match self.front {
            _ if self.locals.is_busy() => {}
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
        ps::table(&rows, &standing, &self.subagent_rows(), &left)
    }

    /// All that has or gets a number.
    fn all(&self, found: Option<&[Found]>) -> Vec<ItemId> {
        let left = self.left_behind(found).into_iter().map(|it| it.item);
        let subagents = self.locals.subagent_jobs.iter().map(|it| it.item.clone());
        self.running().into_iter().chain(subagents).chain(left).collect()
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
            if let Some(line) = self.stop_subagent_job(cx, &item) {
                lines.push(line);
                continue;
            }
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
