//! The account on Codex's wire: who is signed in, and sign-ins.

use super::misfit::{Misfit, decode_json};
use crate::core::codex::{CodexReply, Event};
use crate::core::ids::LoginId;
use crate::core::sign_in::{LoginEnd, LoginKind, LoginStarted};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireAccount {
    account: Option<IgnoredAny>,
    requires_openai_auth: bool,
}

/// The answer to `account/read`.
pub(crate) fn decode_account(result: &RawValue) -> Result<CodexReply, Misfit> {
    let WireAccount { account, requires_openai_auth } = decode_json(result)?;
    Ok(CodexReply::Account { signed_in: account.is_some(), required: requires_openai_auth })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireLogin {
    r#type: String,
    login_id: Option<String>,
    auth_url: Option<String>,
    verification_url: Option<String>,
    user_code: Option<String>,
}

/// The answer to `account/login/start`.
pub(crate) fn decode_login(result: &RawValue) -> Result<CodexReply, Misfit> {
    let WireLogin { r#type, login_id, auth_url, verification_url, user_code } = decode_json(result)?;
    let login = || login_id.map(LoginId::new).ok_or_else(|| Misfit::at("loginId"));
    let started = match r#type.as_str() {
        "apiKey" => LoginStarted::Done,
        "chatgpt" => {
            LoginStarted::Page { login: login()?, url: auth_url.ok_or_else(|| Misfit::at("authUrl"))? }
        }
        "chatgptDeviceCode" => LoginStarted::Code {
            login: login()?,
            url: verification_url.ok_or_else(|| Misfit::at("verificationUrl"))?,
            code: user_code.ok_or_else(|| Misfit::at("userCode"))?,
        },
        _ => return Err(Misfit::at("type")),
    };
    Ok(CodexReply::LoginStarted(started))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireCompleted {
    login_id: Option<String>,
    success: bool,
    error: Option<String>,
}

/// `account/login/completed`.
pub(crate) fn completed(params: &RawValue) -> Result<Event, Misfit> {
    let WireCompleted { login_id, success, error } = decode_json(params)?;
    let end = match success {
        true => LoginEnd::SignedIn,
        false => LoginEnd::Failed(error.unwrap_or_else(|| "codex does not say why".to_owned())),
    };
    Ok(Event::LoginCompleted { login: login_id.map(LoginId::new), end })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireUpdated {
    #[expect(dead_code, reason = "who it is now, account/read tells; the field makes it this notification")]
    auth_mode: IgnoredAny,
}

/// `account/updated`.
pub(crate) fn updated(params: &RawValue) -> Result<Event, Misfit> {
    decode_json(params).map(|WireUpdated { .. }| Event::AccountUpdated)
}

/// The params of `account/login/start`.
pub(crate) fn encode_login(kind: &LoginKind) -> Value {
    match kind {
        LoginKind::ApiKey(key) => json!({"type": "apiKey", "apiKey": key.expose()}),
        LoginKind::Browser => json!({"type": "chatgpt"}),
        LoginKind::DeviceCode => json!({"type": "chatgptDeviceCode"}),
    }
}
