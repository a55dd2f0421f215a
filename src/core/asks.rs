//! Requests of Codex to the user: asked once, answered exactly once whatever happens.
//!
//! Only an offered allow option is an approval (V2-49).

use super::ask::{Answer, Ask, Permission, PermissionKind, PermissionOption, Subject};
use super::codex::{CodexAnswer, CodexAsk, Decision, DecisionKind, ElicitationAction, Question};
use super::cx::Cx;
use super::effect::{Anomaly, Effect};
use super::ids::{AskId, ItemId, RequestId, TerminalId, ToolCallId};
use super::items::Opening;
use super::session::{AskKind, OpenAsk, Session};
use super::update::{CallChange, FinalStatus, Severity, ToolKind};

impl Session {
    /// A request of Codex's about this thread.
    pub(crate) fn asked(&mut self, cx: &mut Cx<'_>, request: RequestId, ask: CodexAsk) {
        if self.held.is_some() {
            return self.held_asks.push((request, ask));
        }
        match ask {
            CodexAsk::Command { item, command, cwd, reason, decisions, .. } => {
                let call = self.call_of(&item);
                let terminal = self.terminal_of(&item);
                let subject = Subject::Command { command: command.clone(), cwd, call, terminal };
                let title = format!("Run {}?", first_line(&command));
                self.ask_decision(cx, request, item, title, reason, subject, decisions);
            }
            CodexAsk::FileChange { item, reason, decisions, .. } => {
                self.show_call(cx, &item, "apply_patch", "Change files");
                let subject = self.call_subject(&item);
                self.ask_decision(
                    cx,
                    request,
                    item,
                    "Apply these file changes?".to_owned(),
                    reason,
                    subject,
                    decisions,
                );
            }
            CodexAsk::Permissions { item, reason, permissions, .. } => {
                self.show_call(cx, &item, "request_permissions", "Grant more permissions");
                let question = Ask::Permission(Permission {
                    title: "Grant more permissions for this turn?".to_owned(),
                    description: reason,
                    subject: self.call_subject(&item),
                    options: vec![
                        option("grant", "Grant for this turn", PermissionKind::AllowOnce),
                        option("refuse", "Refuse", PermissionKind::RejectOnce),
                    ],
                });
                self.put(
                    cx,
                    OpenAsk { request, item: Some(item), kind: AskKind::Permissions(permissions) },
                    question,
                );
            }
            CodexAsk::Questions { item, questions, .. } if cx.client.elicitation_form => {
                self.show_call(cx, &item, "request_user_input", "Ask the user");
                let question = Ask::Questions { call: self.call_of(&item), questions };
                self.put(cx, OpenAsk { request, item: Some(item), kind: AskKind::QuestionForm }, question);
            }
            CodexAsk::Questions { item, questions, .. } => {
                self.show_call(cx, &item, "request_user_input", "Ask the user");
                self.ask_next(cx, request, item, questions, Vec::new());
            }
            CodexAsk::McpForm { server, message, schema, .. } if cx.client.elicitation_form => {
                let message = from_server(&server, &message);
                let question = Ask::Form { message, call: None, schema };
                self.put(cx, OpenAsk { request, item: None, kind: AskKind::Elicitation }, question);
            }
            CodexAsk::McpUrl { server, message, elicitation, url, .. } if cx.client.elicitation_url => {
                let message = from_server(&server, &message);
                let question = Ask::Url { message, elicitation, url };
                self.put(cx, OpenAsk { request, item: None, kind: AskKind::Elicitation }, question);
            }
            CodexAsk::McpForm { server, message, .. } | CodexAsk::McpUrl { server, message, .. } => {
                let title = format!(
                    "MCP server {server} asked a question that this client cannot show; it was declined"
                );
                self.notice(cx, Severity::Warning, title, Some(message));
                let answer = CodexAnswer::Elicitation { action: ElicitationAction::Decline, content: None };
                cx.out.push(Effect::AnswerCodex { request, answer });
            }
            CodexAsk::Unsupported { method } => refuse(cx, request, &method),
        }
        self.report(cx);
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one call site per kind of approval; a struct would only rename them"
    )]
    fn ask_decision(
        &mut self,
        cx: &mut Cx<'_>,
        request: RequestId,
        item: ItemId,
        title: String,
        description: Option<String>,
        subject: Subject,
        mut decisions: Vec<Decision>,
    ) {
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
        let question = Ask::Permission(Permission { title, description, subject, options });
        self.put(cx, OpenAsk { request, item: Some(item), kind: AskKind::Decisions(decisions) }, question);
    }

    /// Puts the first question that has options; a client without forms cannot answer the others.
    fn ask_next(
        &mut self,
        cx: &mut Cx<'_>,
        request: RequestId,
        item: ItemId,
        mut left: Vec<Question>,
        mut answers: Vec<(String, Vec<String>)>,
    ) {
        while left.first().is_some_and(|question| question.options.is_empty()) {
            let question = left.remove(0);
            let title =
                "Codex asked a question that this client cannot show; it was left unanswered".to_owned();
            self.notice(cx, Severity::Warning, title, Some(question.question));
            answers.push((question.id, Vec::new()));
        }
        match left.first() {
            Some(first) => {
                let question = Ask::Permission(AskKind::as_permission(first, self.call_subject(&item)));
                let kind = AskKind::Questions { left, answers };
                self.put(cx, OpenAsk { request, item: Some(item), kind }, question);
            }
            None => {
                cx.out.push(Effect::AnswerCodex { request, answer: CodexAnswer::Questions(answers) });
                self.hide_call(cx, Some(&item), FinalStatus::Completed);
            }
        }
    }

    /// A question needs a call to refer to; where Codex has no item for it, one of ours.
    fn show_call(&mut self, cx: &mut Cx<'_>, item: &ItemId, name: &str, title: &str) {
        if self.ledger.get(item).is_some() {
            return;
        }
        let opening = Opening {
            name: Some(name.to_owned()),
            title: title.to_owned(),
            kind: ToolKind::Other,
            locations: Vec::new(),
            content: Vec::new(),
            input: None,
        };
        let turn = self.current_turn();
        self.open_tool(cx, &turn, item, opening);
        self.ask_calls.insert(item.clone());
    }

    /// The question is settled, and so is the call that was only there for it.
    fn hide_call(&mut self, cx: &mut Cx<'_>, item: Option<&ItemId>, status: FinalStatus) {
        if let Some(item) = item.filter(|item| self.ask_calls.remove(*item)) {
            self.close_call(cx, item, status, CallChange::default());
        }
    }

    fn put(&mut self, cx: &mut Cx<'_>, open: OpenAsk, question: Ask) {
        let ask = cx.desk.ask(&self.id);
        self.asks.insert(ask, open);
        cx.out.push(Effect::Ask { ask, session: self.id.clone(), question });
    }

    /// The client answered.
    pub(crate) fn answered(&mut self, cx: &mut Cx<'_>, ask: AskId, answer: Answer) {
        let Some(open) = self.asks.remove(&ask) else {
            return cx.out.anomaly(Anomaly::UnknownAnswer { what: "answer to a question" });
        };
        if let Answer::Failed { message } = &answer {
            let title = "The client could not ask you; Codex was told no".to_owned();
            self.notice(cx, Severity::Warning, title, Some(message.clone()));
        }
        let OpenAsk { request, item, kind } = open;
        let answer = match kind {
            AskKind::Decisions(decisions) => self.decided(cx, item.as_ref(), decisions, &answer),
            AskKind::Permissions(permissions) => {
                let granted = matches!(&answer, Answer::Selected(id) if id == "grant").then_some(permissions);
                CodexAnswer::Permissions { granted }
            }
            AskKind::QuestionForm => match answer {
                Answer::Accepted(Some(form)) => CodexAnswer::QuestionForm(form.0),
                Answer::Accepted(None)
                | Answer::Selected(_)
                | Answer::Declined
                | Answer::Cancelled
                | Answer::Failed { .. } => CodexAnswer::Questions(Vec::new()),
            },
            AskKind::Questions { mut left, mut answers } => {
                let question = left.remove(0);
                let chosen = match &answer {
                    Answer::Selected(id) => id.strip_prefix("answer-").and_then(|n| n.parse::<usize>().ok()),
                    Answer::Accepted(_) | Answer::Declined | Answer::Cancelled | Answer::Failed { .. } => {
                        None
                    }
                };
                let label = chosen.and_then(|n| question.options.get(n)).map(|(label, _)| label.clone());
                answers.push((question.id, label.into_iter().collect()));
                let Some(item) = item else { return };
                self.ask_next(cx, request, item, left, answers);
                return self.report(cx);
            }
            AskKind::Elicitation => {
                let (action, content) = match answer {
                    Answer::Accepted(form) => (ElicitationAction::Accept, form.map(|form| form.0)),
                    Answer::Cancelled => (ElicitationAction::Cancel, None),
                    Answer::Selected(_) | Answer::Declined | Answer::Failed { .. } => {
                        (ElicitationAction::Decline, None)
                    }
                };
                CodexAnswer::Elicitation { action, content }
            }
        };
        cx.out.push(Effect::AnswerCodex { request, answer });
        self.hide_call(cx, item.as_ref(), FinalStatus::Completed);
        self.report(cx);
    }

    fn decided(
        &mut self,
        cx: &mut Cx<'_>,
        item: Option<&ItemId>,
        decisions: Vec<Decision>,
        answer: &Answer,
    ) -> CodexAnswer {
        let chosen = match answer {
            Answer::Selected(id) => decisions.iter().enumerate().find(|(n, _)| decision_id(*n) == *id),
            Answer::Accepted(_) | Answer::Declined | Answer::Cancelled | Answer::Failed { .. } => None,
        };
        if let Some((_, decision)) = chosen {
            if decision.kind.is_allow()
                && let Some(command) = item.and_then(|item| self.ledger.command_mut(item))
            {
                command.approved = true;
                self.poll_terminals(cx);
            }
            return CodexAnswer::Decision(decision.value.clone());
        }
        let no = [DecisionKind::Decline, DecisionKind::Cancel];
        let safe = no.iter().find_map(|kind| decisions.iter().find(|decision| decision.kind == *kind));
        safe.map_or_else(
            || CodexAnswer::Refused { message: "the user did not allow it".to_owned() },
            |decision| CodexAnswer::Decision(decision.value.clone()),
        )
    }

    /// Codex settled a request by itself or with another client.
    pub(crate) fn resolved(&mut self, cx: &mut Cx<'_>, request: &RequestId) {
        self.held_asks.retain(|(held, _)| held != request);
        let ask = self.asks.iter().find(|(_, open)| open.request == *request).map(|(ask, _)| *ask);
        if let Some(ask) = ask {
            self.withdraw(cx, ask);
            self.report(cx);
        }
    }

    /// The work that asked is over: nobody waits for an answer.
    pub(crate) fn withdraw_asks(&mut self, cx: &mut Cx<'_>) {
        self.held_asks.clear();
        let asks: Vec<_> = self.asks.keys().copied().collect();
        for ask in asks {
            self.withdraw(cx, ask);
        }
    }

    fn withdraw(&mut self, cx: &mut Cx<'_>, ask: AskId) {
        let open = self.asks.remove(&ask);
        cx.desk.settle(ask);
        cx.out.push(Effect::Withdraw { ask });
        self.hide_call(cx, open.and_then(|open| open.item).as_ref(), FinalStatus::Cancelled);
    }

    fn call_of(&self, item: &ItemId) -> Option<ToolCallId> {
        self.ledger.get(item).map(|call| call.call.clone())
    }

    fn terminal_of(&self, item: &ItemId) -> Option<TerminalId> {
        self.ledger.get(item)?.live().map(|live| live.terminal.terminal().clone())
    }

    fn call_subject(&self, item: &ItemId) -> Subject {
        Subject::Call(self.call_of(item).unwrap_or_else(|| ToolCallId::new(item.as_str())))
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

/// A request that nobody here can answer.
pub(crate) fn refuse(cx: &mut Cx<'_>, request: RequestId, method: &str) {
    let message = format!("appserver-acp does not handle {method}");
    cx.out.push(Effect::AnswerCodex { request, answer: CodexAnswer::Refused { message } });
}

/// Who asks is for the user to judge by.
fn from_server(server: &str, message: &str) -> String {
    format!("MCP server {server} asks: {message}")
}

fn decision_id(n: usize) -> String {
    format!("decision-{n}")
}

fn option(id: &str, name: &str, kind: PermissionKind) -> PermissionOption {
    PermissionOption { id: id.to_owned(), name: name.to_owned(), kind }
}

fn first_line(command: &str) -> &str {
    command.lines().next().unwrap_or_default()
}
