//! What we ask the client on Codex's behalf, and what it may answer.
//!
//! Only an offered allow option is an approval; everything else is not (V2-49).

use super::asked::Question;
use super::ids::{Json, TerminalId, ToolCallId};
use super::request::FormAnswers;

/// A question to the client.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// `session/request_permission`.
    Permission(Permission),
    /// `elicitation/create` with a form. `schema` is the requested JSON schema.
    Form { message: String, call: Option<ToolCallId>, schema: Json },
    /// `elicitation/create` with a form made of these questions: one required string property per
    /// question id; one with options is an enum of their labels.
    Questions { call: Option<ToolCallId>, questions: Vec<Question> },
    /// `elicitation/create` with a URL.
    Url { message: String, elicitation: String, url: String },
}

impl Ask {
    /// Says who asks, where it is not the session that it is put in.
    pub(crate) fn said_by(&mut self, who: &str) {
        match self {
            Self::Permission(Permission { title: text, .. })
            | Self::Form { message: text, .. }
            | Self::Url { message: text, .. } => *text = format!("{who} asks: {text}"),
            Self::Questions { questions, .. } => {
                for question in questions.iter_mut().filter(|it| !it.question.is_empty()) {
                    question.question = format!("{who} asks: {}", question.question);
                }
            }
        }
    }
}

/// A permission request.
#[derive(Clone, Debug, PartialEq)]
pub struct Permission {
    /// One line: what would be done.
    pub title: String,
    /// Why, if Codex says so.
    pub description: Option<String>,
    /// What it is about.
    pub subject: Subject,
    /// In the order to show; ids are ours and mean nothing outside this request.
    pub options: Vec<PermissionOption>,
}

/// What a permission is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// A command that wants to run.
    Command { command: String, cwd: String, call: Option<ToolCallId>, terminal: Option<TerminalId> },
    /// Any other tool call.
    Call(ToolCallId),
}

/// One way to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionOption {
    pub id: String,
    pub name: String,
    pub kind: PermissionKind,
}

/// ACP's four kinds of permission option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionKind {
    AllowOnce,
    AllowAlways,
    RejectOnce,
    RejectAlways,
}

/// The client's answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// One of the options, by id; not checked yet.
    Selected(String),
    /// The form was filled in.
    Accepted(Option<FormAnswers>),
    /// The user said no.
    Declined,
    /// The user dismissed it, or the client gave an outcome we do not know.
    Cancelled,
    /// The client answered with an error.
    Failed { message: String },
}
