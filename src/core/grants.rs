//! More permissions that the model asks for, and how the call of a question ends.
//!
//! What was not granted or not answered does not end as if it had been.

use super::ask::{Answer, Ask, Permission, PermissionKind, PermissionOption};
use super::ask_call::AskCall;
use super::asked::{CodexAnswer, ElicitationAction, GrantScope};
use super::cx::Cx;
use super::ids::{ItemId, Json, RequestId};
use super::session::{AskKind, OpenAsk, Session};
use super::update::FinalStatus;

/// What can be granted, the least first: some clients take the first that allows.
const GRANTS: [(&str, PermissionKind, GrantScope); 3] = [
    ("Grant for this turn", PermissionKind::AllowOnce, GrantScope::Turn),
    (
        "Grant for this turn, with each further command of it reviewed by Codex",
        PermissionKind::AllowOnce,
        GrantScope::ReviewedTurn,
    ),
    ("Grant for this session", PermissionKind::AllowAlways, GrantScope::Session),
];

impl Session {
    /// The model wants to be allowed more than its mode allows.
    pub(super) fn ask_for_permissions(
        &mut self,
        cx: &mut Cx<'_>,
        request: RequestId,
        item: ItemId,
        reason: Option<String>,
        permissions: &Json,
    ) {
        let names = ("request_permissions", "Grant more permissions");
        self.show_call(cx, &item, names, AskCall::choice(reason.clone()));
        let refused = CodexAnswer::Permissions { granted: None, scope: GrantScope::Turn };
        let mut options = Vec::new();
        let mut answers = Vec::new();
        for (name, kind, scope) in GRANTS {
            options.push((name, kind));
            answers.push(CodexAnswer::Permissions { granted: Some(permissions.clone()), scope });
        }
        options.push(("Refuse", PermissionKind::RejectOnce));
        answers.push(refused.clone());
        let options = options.into_iter().enumerate().map(|(n, (name, kind))| PermissionOption {
            id: AskKind::option_id(n),
            name: name.to_owned(),
            kind,
        });
        let question = Ask::Permission(Permission {
            title: "Grant more permissions?".to_owned(),
            description: reason,
            subject: self.call_subject(&item),
            options: options.collect(),
        });
        let kind = AskKind::Offered { answers, refused: refused.clone(), dismissed: refused };
        self.put(cx, OpenAsk { request, item: Some(item), kind, child: None }, question);
    }
}

impl CodexAnswer {
    /// How the call ends that was only there for a question that `by` answered so.
    pub(super) fn outcome(&self, by: &Answer) -> FinalStatus {
        let is_yes = match self {
            Self::Permissions { granted, .. } => granted.is_some(),
            Self::Questions(answers) => answers.iter().any(|(_, texts)| !texts.is_empty()),
            Self::Elicitation { action, .. } => *action == ElicitationAction::Accept,
            Self::Decision(_) => true,
            Self::Refused { .. } => false,
        };
        match (is_yes, by) {
            (true, _) => FinalStatus::Completed,
            (false, Answer::Cancelled) => FinalStatus::Cancelled,
            (false, _) => FinalStatus::Failed,
        }
    }
}
