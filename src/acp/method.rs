//! The methods of the client that we serve.

use crate::core::request::Version;

pub(crate) const INITIALIZE: &str = "initialize";
pub(crate) const AUTHENTICATE: &str = "authenticate";
pub(crate) const LOGOUT: &str = "logout";
pub(crate) const AUTH_LOGIN: &str = "auth/login";
pub(crate) const AUTH_LOGOUT: &str = "auth/logout";
pub(crate) const SESSION_NEW: &str = "session/new";
pub(crate) const SESSION_LOAD: &str = "session/load";
pub(crate) const SESSION_RESUME: &str = "session/resume";
pub(crate) const SESSION_LIST: &str = "session/list";
pub(crate) const SESSION_CLOSE: &str = "session/close";
pub(crate) const SESSION_PROMPT: &str = "session/prompt";
pub(crate) const SET_CONFIG_OPTION: &str = "session/set_config_option";
pub(crate) const SET_MODE: &str = "session/set_mode";
pub(crate) const TERMINAL_CANCEL: &str = "terminal/cancel";
pub(crate) const TOOL_CALL_CANCEL: &str = "tool_call/cancel";
pub(crate) const SESSION_CANCEL: &str = "session/cancel";
pub(crate) const CANCEL_REQUEST: &str = "$/cancel_request";
pub(crate) const SESSION_UPDATE: &str = "session/update";
pub(crate) const REQUEST_PERMISSION: &str = "session/request_permission";
pub(crate) const ELICITATION_CREATE: &str = "elicitation/create";
pub(crate) const ELICITATION_COMPLETE: &str = "elicitation/complete";

const BOTH: [&str; 6] =
    [SESSION_NEW, SESSION_RESUME, SESSION_LIST, SESSION_CLOSE, SESSION_PROMPT, SET_CONFIG_OPTION];
const ONLY_V1: [&str; 4] = [AUTHENTICATE, LOGOUT, SESSION_LOAD, SET_MODE];
const ONLY_V2: [&str; 4] = [AUTH_LOGIN, AUTH_LOGOUT, TERMINAL_CANCEL, TOOL_CALL_CANCEL];

/// Our own spelling of a request's method, if this version has it.
pub(crate) fn served(version: Version, name: &str) -> Option<&'static str> {
    let own: &[&'static str] = match version {
        Version::V1 => &ONLY_V1,
        Version::V2 => &ONLY_V2,
    };
    BOTH.iter().chain(own).copied().find(|it| *it == name)
}
