//! Questions to the client in version 2.

use crate::acp::{form, line, method};
use crate::core::ask::{Ask, Permission, PermissionKind, Subject};
use crate::core::ids::{AskId, Json, SessionId, ToolCallId};
use agent_client_protocol_schema::v2;

/// The request line of a question; `None` if ACP cannot express it.
pub(crate) fn ask(ask: AskId, session: &SessionId, question: &Ask) -> Option<String> {
    Some(match question {
        Ask::Permission(it) => line::call(ask.0, method::REQUEST_PERMISSION, permission(session, it)),
        Ask::Form { message, call, schema } => {
            let form = v2::ElicitationFormMode::new(scope(session, call.as_ref()), form_schema(schema)?);
            line::call(ask.0, method::ELICITATION_CREATE, v2::CreateElicitationRequest::new(form, message))
        }
        Ask::Questions { call, questions } => {
            let schema = form_schema(&form::schema(questions))?;
            let mode = v2::ElicitationFormMode::new(scope(session, call.as_ref()), schema);
            let message = form::message(questions);
            line::call(ask.0, method::ELICITATION_CREATE, v2::CreateElicitationRequest::new(mode, message))
        }
        Ask::Url { message, elicitation, url } => {
            let url = v2::ElicitationUrlMode::new(scope(session, None), elicitation.as_str(), url);
            line::call(ask.0, method::ELICITATION_CREATE, v2::CreateElicitationRequest::new(url, message))
        }
    })
}

fn permission(session: &SessionId, permission: &Permission) -> v2::RequestPermissionRequest {
    let options = permission
        .options
        .iter()
        .map(|it| {
            let kind = match it.kind {
                PermissionKind::AllowOnce => v2::PermissionOptionKind::AllowOnce,
                PermissionKind::AllowAlways => v2::PermissionOptionKind::AllowAlways,
                PermissionKind::RejectOnce => v2::PermissionOptionKind::RejectOnce,
                PermissionKind::RejectAlways => v2::PermissionOptionKind::RejectAlways,
            };
            v2::PermissionOption::new(it.id.as_str(), &it.name, kind)
        })
        .collect();
    let subject = match &permission.subject {
        Subject::Command { command, cwd, call, terminal } => v2::RequestPermissionSubject::Command(
            v2::CommandPermissionSubject::new(command, cwd.as_str())
                .tool_call_id(call.as_ref().map(|it| v2::ToolCallId::new(it.as_str())))
                .terminal_id(terminal.as_ref().map(|it| v2::TerminalId::new(it.as_str()))),
        ),
        Subject::Call(call) => v2::RequestPermissionSubject::ToolCall(Box::new(
            v2::ToolCallPermissionSubject::new(v2::ToolCallUpdate::new(call.as_str())),
        )),
    };
    v2::RequestPermissionRequest::new(session.as_str(), &permission.title, options)
        .description(permission.description.clone())
        .subject(subject)
}

fn scope(session: &SessionId, call: Option<&ToolCallId>) -> v2::ElicitationSessionScope {
    v2::ElicitationSessionScope::new(session.as_str())
        .tool_call_id(call.map(|it| v2::ToolCallId::new(it.as_str())))
}

/// Whether ACP has words for a form of this schema.
pub(crate) fn fits(schema: &Json) -> bool {
    form_schema(schema).is_some()
}

/// The schema of a form, if it has only the kinds of property that ACP knows.
fn form_schema(schema: &Json) -> Option<v2::ElicitationSchema> {
    let (schema, n_properties) = form::object(schema)?;
    let schema: v2::ElicitationSchema = serde_json::from_value(schema).ok()?;
    let known = schema.properties.values().all(|property| match property {
        v2::ElicitationPropertySchema::Array(array) => !matches!(array.items, v2::MultiSelectItems::Other(_)),
        v2::ElicitationPropertySchema::String(text) => {
            !matches!(text.format, Some(v2::StringFormat::Other(_)))
        }
        v2::ElicitationPropertySchema::Number(_)
        | v2::ElicitationPropertySchema::Integer(_)
        | v2::ElicitationPropertySchema::Boolean(_) => true,
        v2::ElicitationPropertySchema::Other(_) | _ => false,
    });
    (known && schema.properties.len() == n_properties).then_some(schema)
}
