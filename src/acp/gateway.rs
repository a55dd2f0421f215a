//! The gateway of a client's sign-in: `_meta.gateway` of `authenticate` and `auth/login`.
//!
//! Errors name the place and no value: headers are secrets.

use super::header;
use super::params::read;
use crate::core::failure::Failure;
use crate::core::gateway::Gateway;
use crate::core::sign_in::Secret;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The member of `_meta`, of the client's `auth` capability as well.
pub(crate) const META: &str = "gateway";

#[derive(Deserialize)]
struct Params {
    #[serde(rename = "_meta")]
    meta: Meta,
}

#[derive(Deserialize)]
struct Meta {
    gateway: GatewayParams,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GatewayParams {
    base_url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    provider_name: Option<String>,
}

/// Reads the gateway.
///
/// # Errors
/// `InvalidParams` for one that is missing, whose address is none of the web, or with a header that is none.
pub(crate) fn decode(params: Option<&RawValue>) -> Result<Gateway, Failure> {
    let GatewayParams { base_url, headers, provider_name } = read::<Params>(params)?.meta.gateway;
    let base_url = base_url.trim();
    let is_web =
        ["http://", "https://"].iter().any(|it| base_url.len() > it.len() && base_url.starts_with(it));
    if !is_web {
        let why = "_meta.gateway.baseUrl must be an http or https address";
        return Err(Failure::InvalidParams(why.to_owned()));
    }
    let named = headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    // One without a value opens no door: it was forgotten.
    let empty = headers.values().position(|value| value.trim().is_empty());
    let empty = empty.map(|n| (n, "must have a value"));
    if let Some((n, why)) = header::check(named).err().or(empty) {
        // They have no order but that of their names.
        let why = format!("_meta.gateway.headers: number {} of them by name {why}", n + 1);
        return Err(Failure::InvalidParams(why));
    }
    Ok(Gateway {
        base_url: base_url.to_owned(),
        name: provider_name.map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()),
        headers: headers.into_iter().map(|(name, value)| (name, Secret::new(value))).collect(),
    })
}
