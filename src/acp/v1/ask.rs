//! Questions to the client in version 1.

use super::convert::id;
use super::{Encoder, convert};
use crate::acp::{form, line, method};
use crate::core::ask::{Ask, Permission, PermissionKind, Subject};
use crate::core::ids::{AskId, Json, SessionId, ToolCallId};
use agent_client_protocol_schema::v1;
use serde_json::json;

impl Encoder {
    /// The request line of a question; `None` if ACP cannot express it.
    pub(crate) fn ask(&mut self, ask: AskId, session: &SessionId, question: &Ask) -> Option<String> {
        Some(match question {
            Ask::Permission(it) => {
                line::call(ask.0, method::REQUEST_PERMISSION, self.permission(ask, session, it))
            }
            Ask::Form { message, call, schema } => {
                let mode = v1::ElicitationFormMode::new(scope(session, call.as_ref()), form_schema(schema)?);
                let params = v1::CreateElicitationRequest::new(mode, message);
                line::call(ask.0, method::ELICITATION_CREATE, form::in_order(params, schema))
            }
            Ask::Questions { call, questions } => {
                let schema = form::schema(questions);
                let mode = v1::ElicitationFormMode::new(scope(session, call.as_ref()), form_schema(&schema)?);
                let params = v1::CreateElicitationRequest::new(mode, form::message(questions));
                line::call(ask.0, method::ELICITATION_CREATE, form::in_order(params, &schema))
            }
            Ask::Url { message, elicitation, url } => {
                let url = v1::ElicitationUrlMode::new(scope(session, None), id(elicitation), url);
                line::call(ask.0, method::ELICITATION_CREATE, v1::CreateElicitationRequest::new(url, message))
            }
        })
    }

    fn permission(
        &mut self,
        ask: AskId,
        session: &SessionId,
        permission: &Permission,
    ) -> v1::RequestPermissionRequest {
        let mut fields = v1::ToolCallUpdateFields::new();
        let call = match &permission.subject {
            Subject::Command { command, cwd, call, .. } => {
                fields =
                    fields.kind(v1::ToolKind::Execute).raw_input(json!({ "command": command, "cwd": cwd }));
                call.clone()
            }
            Subject::Call(call) => Some(call.clone()),
        };
        // v1 asks about a tool call only: a command without one gets a call of its own.
        let tool_call = call.unwrap_or_else(|| ToolCallId::new(format!("permission-{}", ask.0)));
        let view = self.session(session).calls.get(&tool_call);
        // A client takes these fields over into the call it shows, so the call's own title stays.
        let title = view.map_or(&permission.title, |it| &it.title).clone();
        let mut content = view.map(convert::contents).unwrap_or_default();
        // Then the question has no other place; a command's only repeats the command.
        let is_question = matches!(permission.subject, Subject::Call(_)) && title != permission.title;
        content.extend(is_question.then(|| convert::text_content(&permission.title)));
        // The call may say it already.
        let is_said = |it: &&str| view.is_some_and(|view| view.says(it));
        let description = permission.description.as_deref().filter(|it| !is_said(it));
        content.extend(description.map(convert::text_content));
        fields = fields.title(title);
        if !content.is_empty() {
            fields = fields.content(content);
        }
        if view.is_none() {
            fields = fields.status(v1::ToolCallStatus::Pending);
        }
        let options = permission
            .options
            .iter()
            .map(|it| {
                let kind = match it.kind {
                    PermissionKind::AllowOnce => v1::PermissionOptionKind::AllowOnce,
                    PermissionKind::AllowAlways => v1::PermissionOptionKind::AllowAlways,
                    PermissionKind::RejectOnce => v1::PermissionOptionKind::RejectOnce,
                    PermissionKind::RejectAlways => v1::PermissionOptionKind::RejectAlways,
                };
                v1::PermissionOption::new(id(&it.id), &it.name, kind)
            })
            .collect();
        v1::RequestPermissionRequest::new(
            id(session.as_str()),
            v1::ToolCallUpdate::new(id(tool_call.as_str()), fields),
            options,
        )
    }
}

fn scope(session: &SessionId, call: Option<&ToolCallId>) -> v1::ElicitationSessionScope {
    v1::ElicitationSessionScope::new(id(session.as_str()))
        .tool_call_id(call.map(|it| v1::ToolCallId::new(id(it.as_str()))))
}

/// Whether ACP has words for a form of this schema.
pub(crate) fn fits(schema: &Json) -> bool {
    form_schema(schema).is_some()
}

/// The schema of a form, if it has only the kinds of property that ACP knows.
fn form_schema(schema: &Json) -> Option<v1::ElicitationSchema> {
    let (schema, n_properties) = form::object(schema)?;
    let schema: v1::ElicitationSchema = serde_json::from_value(schema).ok()?;
    let known = schema.properties.values().all(|property| match property {
        v1::ElicitationPropertySchema::Array(array) => !matches!(array.items, v1::MultiSelectItems::Other(_)),
        v1::ElicitationPropertySchema::String(_)
        | v1::ElicitationPropertySchema::Number(_)
        | v1::ElicitationPropertySchema::Integer(_)
        | v1::ElicitationPropertySchema::Boolean(_) => true,
        v1::ElicitationPropertySchema::Other(_) | _ => false,
    });
    (known && schema.properties.len() == n_properties).then_some(schema)
}
