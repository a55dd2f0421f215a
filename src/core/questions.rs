//! Questions of the model and of tool servers, and whether these are there: as a form, a page, a choice, or a word that nobody could ask.
//!
//! How it is put is decided before it is put: a question that cannot be shown changes no state.

use super::ask::{Answer, Ask, Permission, PermissionKind, PermissionOption, Subject};
use super::ask_call::{Answers, AskCall, Settled};
use super::asked::{CodexAnswer, ElicitationAction, McpForm, Question, ToolApproval};
use super::cx::Cx;
use super::effect::Effect;
use super::ids::{ItemId, Json, RequestId};
use super::session::{AskKind, OpenAsk, Session};
use super::update::Severity;
use crate::background::standing::headline;

/// The option that answers nothing.
pub(super) const SKIP: &str = "skip";
/// Said of a question whose answer must be seen by nobody.
const SECRET: &str = "Codex asked for a secret, which a client would show and keep; it was left unanswered";
const SECRET_ADVICE: &str =
    "If Codex needs it, put it where commands find it, such as an environment variable, and say so.";

impl Session {
    /// The model asks; question by question where the client has no forms. What must be seen by nobody is
    /// not asked for: ACP has no field whose answer a client would hide, or forget.
    pub(super) fn ask_questions(
        &mut self,
        cx: &mut Cx<'_>,
        request: RequestId,
        item: ItemId,
        questions: Vec<Question>,
    ) {
        self.show_call(
            cx,
            &item,
            ("request_user_input", "Ask the user"),
            AskCall::Questions(questions.clone()),
        );
        let (secret, questions): (Vec<_>, Vec<_>) = questions.into_iter().partition(|it| it.is_secret);
        let mut answers = Vec::new();
        for question in secret {
            let advice = format!("{}\n{SECRET_ADVICE}", question.question);
            self.notice(cx, Severity::Warning, SECRET.to_owned(), Some(advice));
            answers.push((question.id, Vec::new()));
        }
        if questions.is_empty() || !cx.client.elicitation_form {
            return self.ask_next(cx, request, item, questions, answers);
        }
        let question = Ask::Questions { call: self.call_of(&item), questions: questions.clone() };
        let kind = AskKind::QuestionForm { questions, unasked: answers };
        self.put(cx, OpenAsk { request, item: Some(item), kind, child: None }, question);
    }

    /// Puts the first question that has options; a client without forms cannot answer the others.
    pub(super) fn ask_next(
        &mut self,
        cx: &mut Cx<'_>,
        request: RequestId,
        item: ItemId,
        mut left: Vec<Question>,
        mut answers: Answers,
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
                let question = Ask::Permission(as_permission(first, self.call_subject(&item)));
                let kind = AskKind::Questions { left, answers };
                self.put(cx, OpenAsk { request, item: Some(item), kind, child: None }, question);
            }
            None => self.questions_answered(cx, request, &item, answers, &Answer::Declined),
        }
    }

    /// Every question is answered, or left unanswered.
    pub(super) fn questions_answered(
        &mut self,
        cx: &mut Cx<'_>,
        request: RequestId,
        item: &ItemId,
        answers: Answers,
        by: &Answer,
    ) {
        let answer = CodexAnswer::Questions(answers.clone());
        let status = answer.outcome(by);
        cx.out.push(Effect::AnswerCodex { request, answer });
        self.hide_call(cx, Some(item), status, &Settled::Each(&answers));
    }

    /// A tool server asks, or Codex does about one of its tools.
    pub(super) fn ask_form(
        &mut self,
        cx: &mut Cx<'_>,
        request: RequestId,
        server: &str,
        message: String,
        form: McpForm,
    ) {
        let McpForm { schema, fits, choices, approval } = form;
        let tool = approval.as_ref().and_then(|it| it.tool.as_deref());
        let item = self.call_that_asks(server, tool);
        if let Some(approval) = approval {
            return self.ask_tool(cx, request, item, message, approval);
        }
        if fits && cx.client.elicitation_form {
            let call = item.as_ref().and_then(|item| self.call_of(item));
            let question = Ask::Form { message: from_server(server, &message), call, schema };
            return self.put(
                cx,
                OpenAsk { request, item, kind: AskKind::Elicitation, child: None },
                question,
            );
        }
        if choices.is_empty() {
            return self.decline_unasked(cx, request, server, message);
        }
        let offers = choices
            .into_iter()
            .map(|(label, content)| (label, PermissionKind::AllowOnce, accepted(content, None)))
            .collect();
        self.put_offers(
            cx,
            request,
            item,
            message,
            Some(format!("Asked by the MCP server {server}")),
            offers,
        );
    }

    /// A tool server asks for a visit to a page.
    pub(super) fn ask_to_visit(
        &mut self,
        cx: &mut Cx<'_>,
        request: RequestId,
        server: &str,
        message: String,
        page: (String, String),
    ) {
        let (elicitation, url) = page;
        let item = self.call_that_asks(server, None);
        if cx.client.elicitation_url {
            let message = from_server(server, &message);
            let kind = AskKind::Page { server: server.to_owned(), elicitation: elicitation.clone() };
            let question = Ask::Url { message, elicitation, url };
            return self.put(cx, OpenAsk { request, item, kind, child: None }, question);
        }
        let title = format!("The MCP server {server} asks you to open a page");
        let done =
            CodexAnswer::Elicitation { action: ElicitationAction::Accept, content: None, persist: None };
        let offers = vec![("I opened it".to_owned(), PermissionKind::AllowOnce, done)];
        self.put_offers(cx, request, item, title, Some(format!("{message}\n{url}")), offers);
    }

    /// Every client can answer this one: it is a permission.
    fn ask_tool(
        &mut self,
        cx: &mut Cx<'_>,
        request: RequestId,
        item: Option<ItemId>,
        message: String,
        approval: ToolApproval,
    ) {
        let nothing = || Json::trusted("{}");
        let mut offers =
            vec![("Allow once".to_owned(), PermissionKind::AllowOnce, accepted(nothing(), None))];
        for persist in approval.persist {
            let name = match persist.as_str() {
                "session" => "Allow this tool for this session",
                "always" => "Always allow this tool",
                // What it means cannot be told to the user.
                _ => continue,
            };
            offers.push((name.to_owned(), PermissionKind::AllowAlways, accepted(nothing(), Some(persist))));
        }
        self.put_offers(cx, request, item, message, approval.params, offers);
    }

    /// Puts an elicitation as a choice between these answers and a refusal.
    fn put_offers(
        &mut self,
        cx: &mut Cx<'_>,
        request: RequestId,
        item: Option<ItemId>,
        title: String,
        description: Option<String>,
        mut offers: Vec<(String, PermissionKind, CodexAnswer)>,
    ) {
        offers.push(("Decline".to_owned(), PermissionKind::RejectOnce, refused(ElicitationAction::Decline)));
        let (title, description) = headed(title, description);
        let mut options = Vec::new();
        let mut answers = Vec::new();
        for (n, (name, kind, answer)) in offers.into_iter().enumerate() {
            options.push(PermissionOption { id: AskKind::option_id(n), name, kind });
            answers.push(answer);
        }
        // It names no call, and a permission is about one.
        let item = item.unwrap_or_else(|| ItemId::new(format!("question-{}", cx.desk.next_key())));
        let asked = description.iter().fold(title.clone(), |all, it| format!("{all}\n\n{it}"));
        self.show_call(cx, &item, ("elicitation", "Ask the user"), AskCall::choice(Some(asked)));
        let subject = self.call_subject(&item);
        let kind = AskKind::Offered {
            answers,
            refused: refused(ElicitationAction::Decline),
            dismissed: refused(ElicitationAction::Cancel),
        };
        let question = Ask::Permission(Permission { title, description, subject, options });
        self.put(cx, OpenAsk { request, item: Some(item), kind, child: None }, question);
    }

    fn decline_unasked(&mut self, cx: &mut Cx<'_>, request: RequestId, server: &str, message: String) {
        let title =
            format!("MCP server {server} asked a question that this client cannot show; it was declined");
        self.notice(cx, Severity::Warning, title, Some(message));
        cx.out.push(Effect::AnswerCodex { request, answer: refused(ElicitationAction::Decline) });
    }

    /// A tool server started, or did not: that is told once, until it does.
    pub(crate) fn tool_server(&mut self, cx: &mut Cx<'_>, server: String, failure: Option<String>) {
        match failure {
            None => {
                self.absent_servers.remove(&server);
            }
            Some(why) => {
                let title = format!("MCP server {server} did not start; its tools are not there");
                if self.absent_servers.insert(server) {
                    self.notice(cx, Severity::Warning, title, Some(why));
                }
            }
        }
    }

    /// The call of a tool server that waits for the answer, if it can be no other.
    pub(super) fn call_that_asks(&self, server: &str, tool: Option<&str>) -> Option<ItemId> {
        // A call of ours is none of a subagent's.
        if self.asker.is_some() {
            return None;
        }
        let is_its = |name: &str| match name.strip_prefix(server).and_then(|rest| rest.strip_prefix('.')) {
            Some(name) => tool.is_none_or(|tool| tool == name),
            None => false,
        };
        let is_asking = |item: &ItemId| self.asks.values().any(|ask| ask.item.as_ref() == Some(item));
        let mut calls = self.tool_names.iter().filter(|(item, name)| is_its(name) && !is_asking(item));
        match (calls.next(), calls.next()) {
            (Some((item, _)), None) => Some(item.clone()),
            (Some(_), Some(_)) | (None, _) => None,
        }
    }
}

/// One question, as a permission for a client without forms.
fn as_permission(question: &Question, subject: Subject) -> Permission {
    let mut options: Vec<_> = question
        .options
        .iter()
        .enumerate()
        .map(|(n, (label, description))| PermissionOption {
            id: AskKind::option_id(n),
            name: match description.is_empty() {
                true => label.clone(),
                false => format!("{label}: {description}"),
            },
            kind: PermissionKind::AllowOnce,
        })
        .collect();
    options.push(PermissionOption {
        id: SKIP.to_owned(),
        name: "Leave unanswered".to_owned(),
        kind: PermissionKind::RejectOnce,
    });
    let header = Some(question.header.clone()).filter(|text| !text.is_empty());
    let (title, description) = headed(question.question.clone(), header);
    Permission { title, description, subject, options }
}

/// A title is one line; a text that is more is said below it.
fn headed(text: String, below: Option<String>) -> (String, Option<String>) {
    let title = headline(&text);
    if title == text.trim() {
        return (title, below);
    }
    (title, Some(below.into_iter().fold(text, |all, it| format!("{all}\n{it}"))))
}

fn accepted(content: Json, persist: Option<String>) -> CodexAnswer {
    CodexAnswer::Elicitation { action: ElicitationAction::Accept, content: Some(content), persist }
}

fn refused(action: ElicitationAction) -> CodexAnswer {
    CodexAnswer::Elicitation { action, content: None, persist: None }
}

fn from_server(server: &str, message: &str) -> String {
    format!("MCP server {server} asks: {message}")
}
