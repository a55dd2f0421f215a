//! Requests of the client into the core's words.
//!
//! Own flat structs and not the schema crate's types: those drop what they cannot read and choose a
//! content block or tool server by its shape; here each misfit is named and each tag is matched.

use super::gateway;
use super::method;
use super::params::read;
use super::place::PlaceParams;
use super::prompt::PromptParams;
use crate::core::failure::Failure;
use crate::core::ids::{SessionId, TerminalId, ToolCallId};
use crate::core::request::{OptionInput, Request, Version};
use crate::core::sign_in::SignIn;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::path::Path;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionParams {
    pub(crate) session_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SignInParams {
    method_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReplayParams {
    replay_from: Option<CursorParams>,
}

#[derive(Deserialize)]
struct CursorParams {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Default, Deserialize)]
struct ListParams {
    cwd: Option<String>,
    cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OptionParams {
    session_id: String,
    config_id: String,
    #[serde(rename = "type")]
    kind: Option<String>,
    value: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ModeParams {
    session_id: String,
    mode_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TerminalParams {
    session_id: String,
    terminal_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolCallParams {
    session_id: String,
    tool_call_id: String,
}

/// Reads the params of `method`, one of the names in `method`.
///
/// # Errors
/// `InvalidParams`, or `UnknownMethod` for a name that this version does not have.
pub(crate) fn request(
    version: Version,
    method: &'static str,
    params: Option<&RawValue>,
) -> Result<Request, Failure> {
    Ok(match method {
        method::AUTHENTICATE | method::AUTH_LOGIN => {
            let id = read::<SignInParams>(params)?.method_id;
            let unknown =
                || Failure::InvalidParams("methodId names none of the authMethods of initialize".into());
            let method = SignIn::named(&id).ok_or_else(unknown)?;
            let gateway = (method == SignIn::Gateway).then(|| gateway::decode(params)).transpose()?;
            Request::SignIn { method, gateway }
        }
        method::LOGOUT | method::AUTH_LOGOUT => Request::SignOut,
        method::SESSION_NEW => Request::NewSession(read::<PlaceParams>(params)?.check(version)?),
        method::SESSION_LOAD => resume(version, params, true)?,
        method::SESSION_RESUME => {
            let replay = match version {
                Version::V1 => false,
                Version::V2 => replays(read::<ReplayParams>(params)?)?,
            };
            resume(version, params, replay)?
        }
        method::SESSION_LIST => {
            let list = match params {
                None => ListParams::default(),
                Some(_) => read::<ListParams>(params)?,
            };
            if list.cwd.as_deref().is_some_and(|it| !Path::new(it).is_absolute()) {
                return Err(Failure::InvalidParams("cwd must be an absolute path".into()));
            }
            Request::ListSessions { cwd: list.cwd, cursor: list.cursor }
        }
        method::SESSION_CLOSE => {
            Request::CloseSession { session: SessionId::new(read::<SessionParams>(params)?.session_id) }
        }
        method::SESSION_PROMPT => read::<PromptParams>(params)?.check()?,
        method::SET_CONFIG_OPTION => {
            let params: OptionParams = read(params)?;
            let value = option_value(version, params.kind.as_deref(), params.value)?;
            Request::SetOption { session: SessionId::new(params.session_id), option: params.config_id, value }
        }
        method::SET_MODE => {
            let params: ModeParams = read(params)?;
            Request::SetOption {
                session: SessionId::new(params.session_id),
                option: "mode".to_owned(),
                value: OptionInput::Id(params.mode_id),
            }
        }
        method::TERMINAL_CANCEL => {
            let params: TerminalParams = read(params)?;
            Request::CancelTerminal {
                session: SessionId::new(params.session_id),
                terminal: TerminalId::new(params.terminal_id),
            }
        }
        method::TOOL_CALL_CANCEL => {
            let params: ToolCallParams = read(params)?;
            Request::CancelToolCall {
                session: SessionId::new(params.session_id),
                call: ToolCallId::new(params.tool_call_id),
            }
        }
        other => return Err(Failure::UnknownMethod(other.to_owned())),
    })
}

fn resume(version: Version, params: Option<&RawValue>, replay: bool) -> Result<Request, Failure> {
    let session = SessionId::new(read::<SessionParams>(params)?.session_id);
    let place = read::<PlaceParams>(params)?.check(version)?;
    Ok(Request::ResumeSession { session, place, replay })
}

fn replays(params: ReplayParams) -> Result<bool, Failure> {
    match params.replay_from {
        None => Ok(false),
        Some(cursor) if cursor.kind == "start" => Ok(true),
        Some(_) => Err(Failure::InvalidParams("replayFrom.type must be start".into())),
    }
}

fn option_value(version: Version, kind: Option<&str>, value: Value) -> Result<OptionInput, Failure> {
    match (version, kind, value) {
        (_, Some("boolean"), Value::Bool(flag)) => Ok(OptionInput::Flag(flag)),
        (Version::V2, Some("id"), Value::String(id)) => Ok(OptionInput::Id(id)),
        (Version::V2, None, _) => Err(Failure::InvalidParams("field `type` is missing".into())),
        // v1 has no tag for an id.
        (Version::V1, kind, Value::String(id)) if kind != Some("boolean") => Ok(OptionInput::Id(id)),
        _ => Err(Failure::InvalidParams("value does not fit type".into())),
    }
}
