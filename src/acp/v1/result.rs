//! Results of the client's requests.

use super::{Encoder, convert};
use crate::acp::{meta, method, time};
use crate::core::ids::SessionId;
use crate::core::request::{Reply, SessionEntry};
use crate::core::update::StopReason;
use agent_client_protocol_schema::v1;
use serde::Serialize;
use serde_json::{Value, json};

impl Encoder {
    /// The `result` of `reply`; `None` if it does not answer `name`.
    pub(crate) fn result(&mut self, name: &str, session: Option<&SessionId>, reply: &Reply) -> Option<Value> {
        match (name, reply) {
            (method::SESSION_NEW, Reply::SessionOpened(opened)) => {
                self.session(&opened.session).note_mode(&opened.options);
                value(
                    v1::NewSessionResponse::new(convert::id(opened.session.as_str()))
                        .modes(convert::modes(&opened.options))
                        .config_options(convert::options(&opened.options)),
                )
            }
            (method::SESSION_LOAD, Reply::SessionOpened(opened)) => {
                self.session(&opened.session).note_mode(&opened.options);
                value(
                    v1::LoadSessionResponse::new()
                        .modes(convert::modes(&opened.options))
                        .config_options(convert::options(&opened.options)),
                )
            }
            (method::SESSION_RESUME, Reply::SessionOpened(opened)) => {
                self.session(&opened.session).note_mode(&opened.options);
                value(
                    v1::ResumeSessionResponse::new()
                        .modes(convert::modes(&opened.options))
                        .config_options(convert::options(&opened.options)),
                )
            }
            (method::SESSION_FORK, Reply::SessionOpened(opened)) => {
                self.session(&opened.session).note_mode(&opened.options);
                value(
                    v1::ForkSessionResponse::new(convert::id(opened.session.as_str()))
                        .modes(convert::modes(&opened.options))
                        .config_options(convert::options(&opened.options)),
                )
            }
            (method::SESSION_DELETE | method::SESSION_ARCHIVE, Reply::Shelved) => {
                if let Some(session) = session {
                    self.sessions.remove(session);
                }
                Some(json!({}))
            }
            (method::SESSION_UNARCHIVE, Reply::Shelved) => Some(json!({})),
            (method::SET_TITLE, Reply::Titled(title)) => {
                value(v1::SetSessionTitleResponse::new(title.as_str()))
            }
            (method::SESSION_LIST, Reply::Sessions { sessions, next }) => value(
                v1::ListSessionsResponse::new(sessions.iter().map(info).collect()).next_cursor(next.clone()),
            ),
            (method::SESSION_CLOSE, Reply::SessionClosed) => {
                if let Some(session) = session {
                    self.sessions.remove(session);
                }
                Some(json!({}))
            }
            (method::SESSION_PROMPT, Reply::TurnEnded { stop, background }) => {
                value(v1::PromptResponse::new(stop_reason(stop)?).meta(meta::background(background)))
            }
            // The mode is not noted: the answer has no `modes`, so that a later list still brings
            // `current_mode_update`.
            (method::SET_CONFIG_OPTION, Reply::OptionSet(options)) => {
                value(v1::SetSessionConfigOptionResponse::new(convert::options(options)))
            }
            (method::AUTHENTICATE, Reply::SignedIn) | (method::LOGOUT, Reply::SignedOut) => Some(json!({})),
            (method::SET_MODE, Reply::OptionSet(options)) => {
                if let Some(session) = session {
                    self.session(session).note_mode(options);
                }
                Some(json!({}))
            }
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
}

fn stop_reason(reason: &StopReason) -> Option<v1::StopReason> {
    match reason {
        StopReason::EndTurn => Some(v1::StopReason::EndTurn),
        StopReason::MaxTokens => Some(v1::StopReason::MaxTokens),
        StopReason::Refusal => Some(v1::StopReason::Refusal),
        StopReason::Cancelled => Some(v1::StopReason::Cancelled),
        StopReason::Error { .. } => None,
    }
}

fn info(entry: &SessionEntry) -> v1::SessionInfo {
    v1::SessionInfo::new(convert::id(entry.session.as_str()), entry.cwd.as_str())
        .title(entry.title.clone())
        .updated_at(entry.updated_at.and_then(time::iso8601))
        .archived(entry.is_archived)
}

fn value(result: impl Serialize) -> Option<Value> {
    Some(serde_json::to_value(result).expect("results are plain data"))
}
