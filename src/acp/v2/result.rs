//! Results of the client's requests.

use super::convert;
use crate::acp::{method, time};
use crate::core::request::{Reply, SessionEntry};
use agent_client_protocol_schema::v2;
use serde::Serialize;
use serde_json::{Value, json};

/// The `result` of `reply`; `None` if it does not answer `name`.
pub(crate) fn result(name: &str, reply: &Reply) -> Option<Value> {
    match (name, reply) {
        (method::SESSION_NEW, Reply::SessionOpened(opened)) => value(
            v2::NewSessionResponse::new(opened.session.as_str())
                .config_options(convert::options(&opened.options))
                .available_commands(convert::commands(&opened.commands)),
        ),
        (method::SESSION_FORK, Reply::SessionOpened(opened)) => value(
            v2::ForkSessionResponse::new(opened.session.as_str())
                .config_options(convert::options(&opened.options))
                .available_commands(convert::commands(&opened.commands)),
        ),
        (method::SET_TITLE, Reply::Titled(title)) => value(v2::SetSessionTitleResponse::new(title.as_str())),
        (method::SESSION_RESUME, Reply::SessionOpened(opened)) => value(
            v2::ResumeSessionResponse::new()
                .config_options(convert::options(&opened.options))
                .available_commands(convert::commands(&opened.commands)),
        ),
        (method::SESSION_LIST, Reply::Sessions { sessions, next }) => value(
            v2::ListSessionsResponse::new(sessions.iter().map(info).collect())
                .next_cursor(next.as_deref().map(v2::SessionListCursor::new)),
        ),
        (method::SESSION_PROMPT, Reply::Inserted { message }) => {
            value(v2::PromptResponse::new(message.as_str()))
        }
        (method::SET_CONFIG_OPTION, Reply::OptionSet(options)) => {
            value(v2::SetSessionConfigOptionResponse::new(convert::options(options)))
        }
        (method::AUTH_LOGIN, Reply::SignedIn)
        | (method::AUTH_LOGOUT, Reply::SignedOut)
        | (method::SESSION_CLOSE, Reply::SessionClosed)
        | (method::SESSION_DELETE | method::SESSION_ARCHIVE | method::SESSION_UNARCHIVE, Reply::Shelved)
        | (method::TERMINAL_CANCEL | method::TOOL_CALL_CANCEL, Reply::CancelAccepted) => Some(json!({})),
        (
            _,
            Reply::SessionOpened(_)
            | Reply::Sessions { .. }
            | Reply::SessionClosed
            | Reply::Shelved
            | Reply::Titled(_)
            | Reply::Inserted { .. }
            | Reply::TurnEnded { .. }
            | Reply::OptionSet(_)
            | Reply::CancelAccepted
            | Reply::SignedIn
            | Reply::SignedOut
            | Reply::Failed(_),
        ) => None,
    }
}

fn info(entry: &SessionEntry) -> v2::SessionInfo {
    v2::SessionInfo::new(entry.session.as_str(), entry.cwd.as_str())
        .title(entry.title.clone())
        .updated_at(entry.updated_at.and_then(time::iso8601))
        .archived(entry.is_archived)
}

fn value(result: impl Serialize) -> Option<Value> {
    Some(serde_json::to_value(result).expect("results are plain data"))
}
