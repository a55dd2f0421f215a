//! Requests of Codex to the user: asked once, answered exactly once whatever happens.
//!
//! Only an offered allow option is an approval (V2-49).

use super::ask::{Answer, Ask, Permission, PermissionKind, PermissionOption, Subject};
use super::ask_call::{self, AskCall, Settled};
use super::asked::{CodexAnswer, CodexAsk, CommandAsk, Decision, DecisionKind, ElicitationAction};
use super::cx::{Cx, News};
use super::effect::{Anomaly, Effect};
use super::ids::{AskId, ItemId, RequestId, TerminalId, ToolCallId};
use super::questions::SKIP;
use super::request::Version;
use super::session::{AskKind, HeldAsk, OpenAsk, Session};
use super::subagents::asks::Asker;
use super::update::{FinalStatus, Severity};
use crate::background::ledger::Call;
use crate::background::standing::headline;

/// An approval that Codex wants.
pub(super) struct Approval {
    pub(super) title: String,
    pub(super) reason: Option<String>,
    pub(super) subject: Subject,
    /// What it offers.
    pub(super) decisions: Vec<Decision>,
}

impl Session {
    /// A request of Codex's about this thread.
    pub(crate) fn asked(&mut self, cx: &mut Cx<'_>, request: RequestId, mut ask: CodexAsk) {
        if self.held.is_some() {
            let asker = self.asker.take();
            return self.held_asks.push(HeldAsk { request, ask, asker });
        }
        self.asks_for_child(cx, &mut ask);
        match ask {
            CodexAsk::Command { item, about, command, cwd, reason, decisions, .. } => {
                // The model can type only into what was handed back to it.
                if about == CommandAsk::Input && self.runs_in_front(&item) {
                    self.detach(cx, &item);
                    self.report(cx);
                }
                let title = title(&about, &command);
                let item = self.asked_about(cx, item, &title, reason.as_deref());
                let call = self.call_of(&item);
                let terminal = self.terminal_of(&item);
                let subject = Subject::Command { command, cwd, call, terminal };
                self.ask_decision(cx, request, item, Approval { title, reason, subject, decisions });
            }
            CodexAsk::FileChange { item, reason, decisions, .. } => {
                self.show_call(cx, &item, ("apply_patch", "Change files"), AskCall::choice(reason.clone()));
                let subject = self.call_subject(&item);
                let title = "Apply these file changes?".to_owned();
                self.ask_decision(cx, request, item, Approval { title, reason, subject, decisions });
            }
            CodexAsk::Permissions { item, reason, permissions, .. } => {
                self.ask_for_permissions(cx, request, item, reason, &permissions);
            }
            CodexAsk::Questions { item, questions, .. } => self.ask_questions(cx, request, item, questions),
            CodexAsk::McpForm { server, message, form, .. } => {
                self.ask_form(cx, request, &server, message, form);
            }
            CodexAsk::McpUrl { server, message, elicitation, url, .. } => {
                self.ask_to_visit(cx, request, &server, message, (elicitation, url));
            }
            CodexAsk::Unsupported { method } => leave(cx, request, &method),
        }
        self.asker = None;
        self.report(cx);
    }

    fn ask_decision(&mut self, cx: &mut Cx<'_>, request: RequestId, item: ItemId, approval: Approval) {
        if approval.decisions.is_empty() {
            let notice = "Codex offered no decision that this version knows; it was told no".to_owned();
            self.notice(cx, Severity::Warning, notice, Some(approval.title));
            let message = "no decision that the client knows was offered".to_owned();
            cx.out.push(Effect::AnswerCodex { request, answer: CodexAnswer::Refused { message } });
            return self.hide_call(cx, Some(&item), FinalStatus::Failed, &Settled::Withdrawn);
        }
        let (kind, permission) = decisions(approval);
        let open = OpenAsk { request, item: Some(item), kind, child: None };
        self.put(cx, open, Ask::Permission(permission));
    }

    /// The item that a question about a command is put for. v1 asks about a call only: where the command has
    /// none (it was asked about before we came), one that stands for the question, and ends with it.
    fn asked_about(&mut self, cx: &mut Cx<'_>, item: ItemId, title: &str, reason: Option<&str>) -> ItemId {
        if cx.version() == Version::V2 || self.ledger.get(&item).is_some() {
            return item;
        }
        // Its own is for the command, which may come yet.
        let stand_in = ItemId::new(format!("question-{}", cx.desk.next_key()));
        let asked = AskCall::choice(reason.map(str::to_owned));
        self.show_call(cx, &stand_in, ("request_approval", title), asked);
        stand_in
    }

    pub(super) fn put(&mut self, cx: &mut Cx<'_>, mut open: OpenAsk, mut question: Ask) {
        self.says_who_asks(&mut open, &mut question);
        let question = question.headed();
        self.note_options(open.item.as_ref(), &question);
        let ask = cx.desk.ask(&self.id);
        self.asks.insert(ask, open);
        cx.out.push(Effect::Ask { ask, session: self.id.clone(), question });
    }

    /// The client answered.
    pub(crate) fn answered(&mut self, cx: &mut Cx<'_>, ask: AskId, answer: Answer) {
        let Some(open) = self.asks.remove(&ask) else {
            return cx.out.anomaly(Anomaly::UnknownAnswer { what: "answer to a question" });
        };
        let OpenAsk { request, item, kind, child } = open;
        match &answer {
            Answer::Failed { message } => {
                let title = "The client could not ask you; Codex was told no".to_owned();
                self.notice(cx, Severity::Warning, title, Some(message.clone()));
            }
            Answer::Selected(id) if !kind.offers(id) => {
                let title = "The client chose an option that was not offered; Codex was told no".to_owned();
                self.notice(cx, Severity::Warning, title, None);
            }
            Answer::Selected(_) | Answer::Accepted(_) | Answer::Declined | Answer::Cancelled => {}
        }
        let told = match kind {
            AskKind::Decisions(decisions) => {
                let about = (item.as_ref(), child.as_ref());
                let (told, status) = self.decided(cx, about, decisions, &answer);
                cx.out.push(Effect::AnswerCodex { request, answer: told });
                self.hide_call(cx, item.as_ref(), status, &Settled::By(&answer));
                return self.report(cx);
            }
            AskKind::Offered { mut answers, refused, dismissed } => match &answer {
                Answer::Selected(id) => match AskKind::option_of(id).filter(|n| *n < answers.len()) {
                    Some(n) => answers.swap_remove(n),
                    None => refused,
                },
                Answer::Cancelled => dismissed,
                Answer::Accepted(_) | Answer::Declined | Answer::Failed { .. } => refused,
            },
            AskKind::QuestionForm { questions, unasked } => {
                let form = match &answer {
                    Answer::Accepted(form) => form.clone(),
                    Answer::Selected(_) | Answer::Declined | Answer::Cancelled | Answer::Failed { .. } => {
                        None
                    }
                };
                let mut answers = ask_call::answers(questions, form);
                answers.extend(unasked);
                let Some(item) = item else { return };
                self.questions_answered(cx, request, &item, answers, &answer);
                return self.report(cx);
            }
            AskKind::Questions { mut left, mut answers } => {
                let question = left.remove(0);
                let chosen = match &answer {
                    Answer::Selected(id) => AskKind::option_of(id),
                    Answer::Accepted(_) | Answer::Declined | Answer::Cancelled | Answer::Failed { .. } => {
                        None
                    }
                };
                let label = chosen.and_then(|n| question.options.get(n)).map(|(label, _)| label.clone());
                answers.push((question.id, label.into_iter().collect()));
                let Some(item) = item else { return };
                self.asker = child;
                self.ask_next(cx, request, item, left, answers);
                self.asker = None;
                return self.report(cx);
            }
            AskKind::Page { server, elicitation } => {
                let action = match &answer {
                    Answer::Accepted(_) => ElicitationAction::Accept,
                    Answer::Cancelled => ElicitationAction::Cancel,
                    Answer::Selected(_) | Answer::Declined | Answer::Failed { .. } => {
                        ElicitationAction::Decline
                    }
                };
                match child {
                    _ if action != ElicitationAction::Accept => {}
                    None => self.visits(item.clone(), elicitation),
                    Some(Asker { thread, .. }) => {
                        let root = self.id.clone();
                        cx.desk.news.push_back(News::Visits { root, thread, server, elicitation });
                    }
                }
                CodexAnswer::Elicitation { action, content: None, persist: None }
            }
            AskKind::Elicitation => {
                let (action, content) = match &answer {
                    Answer::Accepted(form) => {
                        (ElicitationAction::Accept, form.as_ref().map(|form| form.json.clone()))
                    }
                    Answer::Cancelled => (ElicitationAction::Cancel, None),
                    Answer::Selected(_) | Answer::Declined | Answer::Failed { .. } => {
                        (ElicitationAction::Decline, None)
                    }
                };
                CodexAnswer::Elicitation { action, content, persist: None }
            }
        };
        let status = told.outcome(&answer);
        cx.out.push(Effect::AnswerCodex { request, answer: told });
        self.hide_call(cx, item.as_ref(), status, &Settled::By(&answer));
        self.report(cx);
    }

    fn decided(
        &mut self,
        cx: &mut Cx<'_>,
        (item, child): (Option<&ItemId>, Option<&Asker>),
        decisions: Vec<Decision>,
        answer: &Answer,
    ) -> (CodexAnswer, FinalStatus) {
        let chosen = match answer {
            Answer::Selected(id) => decisions.iter().enumerate().find(|(n, _)| decision_id(*n) == *id),
            Answer::Accepted(_) | Answer::Declined | Answer::Cancelled | Answer::Failed { .. } => None,
        };
        let no_status = match answer {
            Answer::Cancelled => FinalStatus::Cancelled,
            Answer::Selected(_) | Answer::Accepted(_) | Answer::Declined | Answer::Failed { .. } => {
                FinalStatus::Failed
            }
        };
        if let Some((_, decision)) = chosen {
            let is_allow = decision.kind.is_allow();
            match (item, child) {
                (Some(item), None) if is_allow => self.approved(cx, item),
                (_, Some(Asker { thread, item: Some(item), .. })) if is_allow => {
                    let (thread, item) = (thread.clone(), item.clone());
                    cx.desk.news.push_back(News::Approved { thread, item });
                }
                (Some(_) | None, _) => {}
            }
            let status = if is_allow { FinalStatus::Completed } else { no_status };
            return (CodexAnswer::Decision(decision.value.clone()), status);
        }
        let no = [DecisionKind::Decline, DecisionKind::Cancel];
        let safe = no.iter().find_map(|kind| decisions.iter().find(|decision| decision.kind == *kind));
        let answer = safe.map_or_else(
            || CodexAnswer::Refused { message: "the user did not allow it".to_owned() },
            |decision| CodexAnswer::Decision(decision.value.clone()),
        );
        (answer, no_status)
    }

    /// The user allowed a command: it starts without another word.
    pub(crate) fn approved(&mut self, cx: &mut Cx<'_>, item: &ItemId) {
        if let Some(command) = self.ledger.command_mut(item) {
            command.approved = true;
            self.poll_terminals(cx);
        }
    }

    /// Codex settled a request by itself or with another client.
    pub(crate) fn resolved(&mut self, cx: &mut Cx<'_>, request: &RequestId) {
        self.held_asks.retain(|held| held.request != *request);
        let ask = self.asks.iter().find(|(_, open)| open.request == *request).map(|(ask, _)| *ask);
        if let Some(ask) = ask {
            Self::settled_elsewhere(cx, &self.asks[&ask]);
            self.withdraw(cx, ask);
            self.report(cx);
        }
    }

    /// The turn that asked is over: nobody waits for an answer. A child may still do so.
    pub(crate) fn withdraw_asks(&mut self, cx: &mut Cx<'_>) {
        let thread = self.thread.clone();
        self.held_asks.retain(|held| held.ask.thread() != Some(&thread));
        let its = self.asks.iter().filter(|(_, ask)| ask.child.is_none());
        for ask in its.map(|(ask, _)| *ask).collect::<Vec<_>>() {
            self.withdraw(cx, ask);
        }
        self.leaves_all_pages(cx);
    }

    /// Everything is over.
    pub(crate) fn withdraw_all_asks(&mut self, cx: &mut Cx<'_>) {
        self.held_asks.clear();
        self.leaves_all_pages(cx);
        for ask in self.asks.keys().copied().collect::<Vec<_>>() {
            self.withdraw(cx, ask);
        }
    }

    pub(super) fn withdraw(&mut self, cx: &mut Cx<'_>, ask: AskId) {
        let open = self.asks.remove(&ask);
        cx.desk.settle(ask);
        cx.out.push(Effect::Withdraw { ask });
        let item = open.and_then(|open| open.item);
        self.hide_call(cx, item.as_ref(), FinalStatus::Cancelled, &Settled::Withdrawn);
    }

    fn runs_in_front(&self, item: &ItemId) -> bool {
        !self.is_cancelled() && self.ledger.get(item).is_some_and(Call::is_foreground_process)
    }

    pub(super) fn call_of(&self, item: &ItemId) -> Option<ToolCallId> {
        self.ledger.get(item).map(|call| call.call.clone())
    }

    fn terminal_of(&self, item: &ItemId) -> Option<TerminalId> {
        self.ledger.get(item)?.live().map(|live| live.terminal.terminal().clone())
    }

    pub(super) fn call_subject(&self, item: &ItemId) -> Subject {
        Subject::Call(self.call_of(item).unwrap_or_else(|| ToolCallId::new(item.as_str())))
    }
}

impl AskKind {
    /// Whether this option was offered.
    fn offers(&self, id: &str) -> bool {
        let is_of = |n_options: usize| Self::option_of(id).is_some_and(|n| n < n_options);
        match self {
            Self::Decisions(decisions) => (0..decisions.len()).any(|n| decision_id(n) == id),
            Self::Offered { answers, .. } => is_of(answers.len()),
            Self::Questions { left, .. } => {
                id == SKIP || left.first().is_some_and(|question| is_of(question.options.len()))
            }
            // They have none.
            Self::QuestionForm { .. } | Self::Elicitation | Self::Page { .. } => false,
        }
    }
}

impl DecisionKind {
    fn order(self) -> u8 {
        match self {
            Self::Accept => 0,
            Self::AcceptAlways => 1,
            Self::Decline => 2,
            Self::Cancel => 3,
            Self::DeclineAlways => 4,
        }
    }

    fn permission(self) -> PermissionKind {
        match self {
            Self::Accept => PermissionKind::AllowOnce,
            Self::AcceptAlways => PermissionKind::AllowAlways,
            Self::Decline | Self::Cancel => PermissionKind::RejectOnce,
            Self::DeclineAlways => PermissionKind::RejectAlways,
        }
    }

    fn is_allow(self) -> bool {
        matches!(self, Self::Accept | Self::AcceptAlways)
    }
}

/// How an approval is put, and how its answer is understood.
pub(super) fn decisions(approval: Approval) -> (AskKind, Permission) {
    let Approval { title, reason, subject, mut decisions } = approval;
    // Clients that take the first allow or the first reject must not end the turn by it (P49).
    decisions.sort_by_key(|decision| decision.kind.order());
    let options = decisions
        .iter()
        .enumerate()
        .map(|(n, decision)| PermissionOption {
            id: decision_id(n),
            name: decision.name.clone(),
            kind: decision.kind.permission(),
        })
        .collect();
    (AskKind::Decisions(decisions), Permission { title, description: reason, subject, options })
}

/// A request that is not for this client. An app-server of its own hears that at once. One that is shared asks all
/// of its clients, and the first answer counts: a refusal would be one for whoever can answer.
pub(crate) fn leave(cx: &mut Cx<'_>, request: RequestId, method: &str) {
    if cx.link.address().is_none() {
        refuse(cx, request, method);
    }
}

/// A request that nobody here can answer.
pub(crate) fn refuse(cx: &mut Cx<'_>, request: RequestId, method: &str) {
    let message = format!("appserver-acp does not handle {method}");
    cx.out.push(Effect::AnswerCodex { request, answer: CodexAnswer::Refused { message } });
}

/// Who asks is for the user to judge by.
fn decision_id(n: usize) -> String {
    format!("decision-{n}")
}

pub(super) fn title(about: &CommandAsk, command: &str) -> String {
    match (about, headline(command).as_str()) {
        (CommandAsk::Network { host }, _) => format!("Allow network access to {host}?"),
        (CommandAsk::Run, "") => "Run a command?".to_owned(),
        (CommandAsk::Run, line) => format!("Run {line}?"),
        (CommandAsk::Input, "") => "Type into a running command?".to_owned(),
        (CommandAsk::Input, line) => format!("Type into {line}?"),
    }
}
