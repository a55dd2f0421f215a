//! Slash commands that are a turn of Codex's: compaction and review, which bring a turn of their own,
//! and those that are an ordinary prompt in other words.

use super::asking::refused;
use super::codex::{Choices, CodexError, CodexReply, CodexRequest, TurnEnd};
use super::cx::Cx;
use super::fault::Fault;
use super::ids::{MessageId, PromptKey, TurnId};
use super::inquiry::{Inquiry, Told};
use super::link::Purpose;
use super::request::PromptPart;
use super::rules::CollaborationMode;
use super::session::Session;
use super::slash::{self, Slash, Start, Task};
use super::status::grouped;
use super::turn::{Front, Turn};
use super::update::{StopReason, Update};

const INIT: &str = "Write a file AGENTS.md at the root of this project, for coding agents that come to it without \
having seen it. First look around: what is built here and with what, how it is built, tested, formatted and run, how the \
folders are laid out, which conventions the code and the commits keep. Then write down what such an agent has to know, and \
nothing that it would find out at a glance: the commands, exactly as they are typed; where things are; the rules that a \
change has to keep; what easily goes wrong. Only what you have seen in the project itself, in short sections, at most two \
pages. If there is an AGENTS.md already, keep what is right in it and mend the rest.";

/// What the user typed where `/init` was sent in other words, here or by an earlier process.
pub(crate) fn as_typed(text: &str) -> Option<String> {
    let more = text.strip_prefix(INIT)?.trim();
    Some(if more.is_empty() { "/init".to_owned() } else { format!("/init {more}") })
}

/// The title of a thread that has none but its first message, where that is `/init`: it is cut to a line.
pub(crate) fn title_as_typed(title: String) -> String {
    let is_init = INIT.split_once(". ").is_some_and(|(first, _)| title.starts_with(first));
    if is_init { "/init".to_owned() } else { title }
}

const BUSY_OWN: &str = "A turn is running, and Codex would cut it off for this. Say it again when the turn has ended, \
                        or cancel the turn first.";
const BUSY_PLAN: &str = "A turn is running, and a turn keeps the mode that it began with. Say it again when the turn \
                         has ended.";
const BUSY_SKILL: &str = "A turn is running, and Codex reads a skill only when a turn begins. Say it again when the \
                          turn has ended.";

/// A turn that is no answer to a message.
#[derive(Debug)]
pub(crate) enum Own {
    /// Tokens that were in the context before.
    Compaction(Option<u64>),
    /// The turn in which the reviewer works, and by whose name it is interrupted; items and end carry
    /// the name of the whole.
    Review(Option<TurnId>),
}

/// What a prompt that is a command becomes.
pub(crate) enum Way {
    /// Answered here.
    Local(Slash),
    /// A prompt of these parts.
    Prompt,
    /// Known once the skills are.
    Undecided,
}

impl Session {
    /// What to do with a command; `parts` become those to send.
    pub(crate) fn way_of(&mut self, cx: &mut Cx<'_>, slash: Slash, parts: &mut [PromptPart]) -> Way {
        match slash {
            Slash::Init => {
                let more = |rest: String| if rest.is_empty() { rest } else { format!("\n\n{rest}") };
                reword(parts, |rest| format!("{INIT}{}", more(rest)));
                Way::Prompt
            }
            Slash::Plan(Some(_)) if self.is_at_work() => Way::Local(Slash::NotNow(BUSY_PLAN)),
            Slash::Plan(Some(_)) => {
                self.collaborate(cx, CollaborationMode::Plan);
                reword(parts, |rest| rest);
                Way::Prompt
            }
            Slash::Task(Task::Start(_)) if self.is_at_work() => Way::Local(Slash::NotNow(BUSY_OWN)),
            Slash::Other(name) if self.skills.has(&name) => match self.is_at_work() {
                true => Way::Local(Slash::NotNow(BUSY_SKILL)),
                false => {
                    reword(parts, |rest| format!("${name} {rest}").trim_end().to_owned());
                    Way::Prompt
                }
            },
            Slash::Other(_) if !self.skills.is_known() => Way::Undecided,
            Slash::Other(name) if slash::is_name(&name) => {
                let own: Vec<_> = slash::commands().map(|it| it.name).collect();
                let known = own.iter().map(String::as_str).chain(self.skills.names());
                let near = slash::nearest(&name, known);
                Way::Local(Slash::Unknown { name, near })
            }
            Slash::Other(_) => Way::Prompt,
            local @ (Slash::Ps
            | Slash::Stop(_)
            | Slash::Task(_)
            | Slash::Choice(..)
            | Slash::Plan(None)
            | Slash::Misused(_)
            | Slash::TooMuch(_)
            | Slash::NotNow(_)
            | Slash::Unknown { .. }) => Way::Local(local),
        }
    }

    fn is_at_work(&self) -> bool {
        !matches!(self.front, Front::Idle) || !self.prompts.is_empty() || self.locals.begins()
    }

    /// Starts the turn of `/compact` or `/review`.
    pub(crate) fn begin(&mut self, cx: &mut Cx<'_>, key: &PromptKey, start: &Start) {
        if !matches!(self.front, Front::Idle) {
            return self.answer_local(cx, key, BUSY_OWN);
        }
        let thread = self.thread.clone();
        let (own, inquiry) = match start {
            Start::Review(target) => (Own::Review(None), Inquiry::Review { thread, target: target.clone() }),
            Start::Compaction => {
                (Own::Compaction(self.usage.map(|(used, _)| used)), Inquiry::Compact { thread })
            }
        };
        // What ends the turn ends the prompt.
        let waiting = self.locals.hand_over(key).into_iter().collect();
        self.own = Some(own);
        self.front = Front::Starting { cancelled: false, waiting, choices: Choices::default() };
        self.tell_choices(cx);
        let purpose = Purpose::Begin { session: self.id.clone(), key: key.clone() };
        cx.link.call(purpose, CodexRequest::Inquiry(inquiry), cx.out);
    }

    /// Codex answered: a review has the name of its turn by that, a compaction gets it later.
    pub(crate) fn begin_answered(
        &mut self,
        cx: &mut Cx<'_>,
        key: &PromptKey,
        result: Result<CodexReply, CodexError>,
    ) {
        match result {
            Ok(CodexReply::Told(Told::Review(turn))) => {
                // It may have begun, and ended, before this answer.
                if self.own.is_some() && !self.is_over(&turn) {
                    self.turn_is(cx, turn);
                }
            }
            Ok(_) => {}
            Err(error) => {
                self.not_begun(cx, key, &error);
                self.pump(cx);
                self.close_if_done(cx);
            }
        }
    }

    /// Whether a review was asked for and its reviewer does not work yet.
    pub(crate) fn review_is_starting(&self) -> bool {
        matches!(self.own, Some(Own::Review(None))) && !matches!(self.front, Front::Idle)
    }

    /// Codex took a review and cannot begin it, such as outside of a repository: it says so and then tells
    /// neither a start nor an end of the turn.
    pub(crate) fn review_failed(&mut self, cx: &mut Cx<'_>, fault: Fault) {
        let mut turn = match std::mem::replace(&mut self.front, Front::Idle) {
            Front::Active(turn) => turn,
            Front::Starting { cancelled, waiting, choices: _ } => {
                let mut turn = Turn::new(None, waiting);
                turn.cancelled = cancelled;
                turn
            }
            Front::Idle => return,
        };
        turn.ended = Some(TurnEnd::Failed(fault));
        self.front = Front::Active(turn);
        self.finish_turn(cx);
    }

    /// Codex refused to begin it: said, and the prompt is over.
    fn not_begun(&mut self, cx: &mut Cx<'_>, key: &PromptKey, error: &CodexError) {
        let Front::Starting { cancelled, waiting, .. } = &mut self.front else { return };
        let (cancelled, waiting) = (*cancelled, std::mem::take(waiting));
        self.front = Front::Idle;
        self.own = None;
        let message = MessageId::new(format!("local-{key}-answer"));
        self.emit(cx, Update::AgentMessage { message, text: refused(error) });
        let stop = if cancelled { StopReason::Cancelled } else { StopReason::EndTurn };
        for ticket in waiting {
            let reply = self.turn_ended(stop.clone());
            self.answer(cx, ticket, reply);
        }
        self.report_end(cx, stop);
    }

    /// The turn in a review that an interrupt has to name; `None`: it is not known yet.
    pub(crate) fn interrupted_as(&self, turn: TurnId) -> Option<TurnId> {
        match &self.own {
            Some(Own::Review(part)) => part.clone(),
            Some(Own::Compaction(_)) | None => Some(turn),
        }
    }

    /// `turn/started` of a part of a turn: the whole, if it is the review that runs.
    pub(crate) fn whole_of(&mut self, turn: &TurnId, root: Option<TurnId>) -> Option<TurnId> {
        // One that is no part names itself.
        let root = root.filter(|root| root != turn);
        let is_it = match (&self.front, &root) {
            (Front::Active(active), Some(root)) => active.id.as_ref() == Some(root),
            (Front::Starting { .. }, Some(_)) => true,
            (Front::Idle, _) | (_, None) => false,
        };
        match &mut self.own {
            Some(Own::Review(part)) if is_it => {
                *part = Some(turn.clone());
                root
            }
            Some(_) | None => None,
        }
    }

    /// Whether this is the reviewer's turn of a review that is over: told late, or once more.
    pub(crate) fn is_late_part(&mut self, turn: &TurnId, root: Option<&TurnId>) -> bool {
        let Some((_, part)) = self.over_review.as_mut().filter(|(review, _)| root == Some(review)) else {
            return false;
        };
        // A review has one such turn; any other that goes back to it is work of its own.
        part.get_or_insert_with(|| turn.clone()) == turn
    }

    /// Whether what the model writes is for the one who reviews, and not for the user.
    pub(crate) fn is_reviewing(&self) -> bool {
        matches!(self.own, Some(Own::Review(_))) && !self.replaying
    }

    /// The turn is over: what came of it is said where nothing else says it.
    pub(crate) fn own_is_over(&mut self, cx: &mut Cx<'_>, stop: &StopReason) {
        let before = match self.own.take() {
            Some(Own::Compaction(before)) => before,
            Some(Own::Review(part)) => {
                self.over_review = self.over.as_ref().map(|(review, _)| (review.clone(), part));
                return;
            }
            None => return,
        };
        if *stop != StopReason::EndTurn {
            return;
        }
        let now = self.usage.map(|(used, size)| {
            let before = before.map(|before| format!(", {} before", grouped(before))).unwrap_or_default();
            format!(": about {} of {} tokens are in the context{before}", grouped(used), grouped(size))
        });
        let text = format!("The conversation is compacted{}.", now.unwrap_or_default());
        let message = MessageId::new(format!("compacted-{}", cx.desk.next_key()));
        self.emit(cx, Update::AgentMessage { message, text });
    }
}

/// The first text, without the command, in other words.
fn reword(parts: &mut [PromptPart], words: impl FnOnce(String) -> String) {
    let is_text = |part: &&mut PromptPart| matches!(part, PromptPart::Text(text) if !text.trim().is_empty());
    if let Some(PromptPart::Text(text)) = parts.iter_mut().find(is_text) {
        let rest = text.trim().split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim());
        *text = words(rest.to_owned());
    }
}
