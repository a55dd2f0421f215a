//! The account on Codex's wire: who is signed in, and sign-ins.

use super::misfit::{Misfit, decode_json};
use super::place::one_line;
use super::said::said;
use crate::core::codex::{CodexReply, Event};
use crate::core::ids::LoginId;
use crate::core::sign_in::{LoginEnd, LoginKind, LoginStarted};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireAccountRead {
    account: Option<WireAccount>,
    requires_openai_auth: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireAccount {
    #[serde(rename = "type")]
    kind: String,
    email: Option<String>,
    plan_type: Option<String>,
    workspace_name: Option<String>,
}

/// The answer to `account/read`.
///
/// # Errors
/// The first field that does not fit.
pub(crate) fn decode_account(result: &RawValue) -> Result<CodexReply, Misfit> {
    let wire: WireAccountRead = decode_json(result)?;
    let who = wire.account.map(|it| {
        let kind = match it.kind.as_str() {
            "apiKey" => "an API key",
            "chatgpt" => "ChatGPT",
            "amazonBedrock" => "Amazon Bedrock",
            "gcp" => "Google Cloud",
            other => other,
        };
        let email = it.email.map(|email| format!(" as {email}")).unwrap_or_default();
        let more = [it.plan_type.map(|plan| format!("plan {plan}")), it.workspace_name];
        let more: Vec<String> = more.into_iter().flatten().collect();
        let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join(", ")) };
        one_line(&format!("{kind}{email}{more}"))
    });
    Ok(CodexReply::Account { who, required: wire.requires_openai_auth })
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
        false => LoginEnd::Failed(error.map_or_else(|| "codex does not say why".to_owned(), |it| said(&it))),
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
