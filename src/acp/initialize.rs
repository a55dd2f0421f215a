//! `initialize`: the version both sides speak, what the client can do, what we say about ourselves.

use super::AgentInfo;
use super::error::{RpcError, rpc_error};
use super::gateway;
use super::params::{Misfit, read};
use super::sign_in;
use crate::core::failure::Failure;
use crate::core::request::{ClientProfile, TerminalDisplay, Version};
use crate::core::sign_in::TerminalSignIn;
use agent_client_protocol_schema::{ProtocolVersion, v1, v2};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Both shapes in one; only `protocolVersion` and v2's `info` may fail the request.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeParams {
    protocol_version: Value,
    info: Option<Value>,
    capabilities: Option<Value>,
    client_info: Option<Value>,
    client_capabilities: Option<Value>,
}

/// The version to speak and what the client said, or the error to answer with.
pub(crate) fn decode(params: Option<&RawValue>) -> Result<ClientProfile, RpcError> {
    let params: InitializeParams =
        read(params).map_err(|misfit: Misfit| rpc_error(&Failure::from(misfit)))?;
    match choose(&params)? {
        Version::V1 => Ok(profile_v1(&params)),
        Version::V2 => Ok(profile_v2(&params)),
    }
}

/// The result of `initialize`.
pub(crate) fn result(profile: &ClientProfile, agent: &AgentInfo) -> Value {
    let value = match profile.version {
        Version::V1 => serde_json::to_value(result_v1(profile, agent)),
        Version::V2 => serde_json::to_value(result_v2(profile, agent)),
    };
    value.expect("capabilities are plain data")
}

// The two documents rule differently on a version below all of ours, which is only 0 (or less):
// v1 answers with the agent's own latest version and never with -32022, v2 has no version that is
// not above the requested one and so fails with -32022. Who asks decides: members of v2's request
// (`info`, `capabilities`) make it a v2 question. The v1 answer is 1 and not 2, because 2 is
// announced in a result that a v1 client cannot read. -32022 has to quote the requested version in a
// field that holds 0 to 65535, so that a v2 question below 0 is -32602.
fn choose(params: &InitializeParams) -> Result<Version, RpcError> {
    let invalid = |why: &str| RpcError::new(-32602, format!("protocolVersion must be {why}"));
    let Value::Number(number) = &params.protocol_version else {
        return Err(invalid("a number"));
    };
    let is_v2_shaped = params.info.is_some() || params.capabilities.is_some();
    match (number.as_i64(), number.as_u64()) {
        (Some(1), _) => Ok(Version::V1),
        (Some(2), _) if !is_implementation(params.info.as_ref()) => {
            Err(RpcError::new(-32602, "info with name and version is required in protocol version 2"))
        }
        // Asking for more than 2 may come in a shape of its own: `info` is then optional.
        (Some(2..), _) | (None, Some(_)) => Ok(Version::V2),
        (Some(_), _) if !is_v2_shaped => Ok(Version::V1),
        (Some(0), _) => Err(RpcError::unsupported_version(0)),
        (Some(_), _) => Err(invalid("0 or more")),
        (None, None) => Err(invalid("a whole number")),
    }
}

fn is_implementation(info: Option<&Value>) -> bool {
    info.is_some_and(|info| info["name"].is_string() && info["version"].is_string())
}

fn profile_v1(params: &InitializeParams) -> ClientProfile {
    let capabilities = params.client_capabilities.as_ref().unwrap_or(&Value::Null);
    let streams = capabilities["_meta"]["terminal_output"] == Value::Bool(true);
    ClientProfile {
        version: Version::V1,
        terminals: if streams { TerminalDisplay::Stream } else { TerminalDisplay::Text },
        elicitation_form: capabilities["elicitation"]["form"].is_object(),
        elicitation_url: capabilities["elicitation"]["url"].is_object(),
        notices: capabilities["session"]["notices"].is_object(),
        terminal_sign_in: match capabilities["auth"]["terminal"] == Value::Bool(true) {
            true => TerminalSignIn::Declared,
            false if capabilities["_meta"][sign_in::TERMINAL_META] == Value::Bool(true) => {
                TerminalSignIn::Meta
            }
            false => TerminalSignIn::No,
        },
        gateway: capabilities["auth"]["_meta"][gateway::META] == Value::Bool(true),
        compaction: capabilities["session"]["compaction"].is_object(),
        subagents: capabilities["subagents"].is_object(),
        name: name(params.client_info.as_ref().or(params.info.as_ref())),
    }
}

fn profile_v2(params: &InitializeParams) -> ClientProfile {
    let capabilities = params.capabilities.as_ref().unwrap_or(&Value::Null);
    ClientProfile {
        version: Version::V2,
        terminals: TerminalDisplay::Stream,
        elicitation_form: capabilities["elicitation"]["form"].is_object(),
        elicitation_url: capabilities["elicitation"]["url"].is_object(),
        notices: true,
        terminal_sign_in: match capabilities["auth"]["terminal"].is_object() {
            true => TerminalSignIn::Declared,
            false => TerminalSignIn::No,
        },
        gateway: capabilities["auth"]["_meta"][gateway::META] == Value::Bool(true),
        compaction: true,
        subagents: true,
        name: name(params.info.as_ref()),
    }
}

fn name(info: Option<&Value>) -> Option<String> {
    let info = info?;
    let name = info["name"].as_str()?;
    Some(match info["version"].as_str() {
        Some(version) => format!("{name} {version}"),
        None => name.to_owned(),
    })
}

fn result_v1(profile: &ClientProfile, agent: &AgentInfo) -> v1::InitializeResponse {
    let sessions = v1::SessionCapabilities::new()
        .list(v1::SessionListCapabilities::new())
        .resume(v1::SessionResumeCapabilities::new())
        .close(v1::SessionCloseCapabilities::new())
        .delete(v1::SessionDeleteCapabilities::new())
        .fork(v1::SessionForkCapabilities::new())
        .archive(v1::SessionArchiveCapabilities::new())
        .title(v1::SessionTitleCapabilities::new())
        .additional_directories(v1::SessionAdditionalDirectoriesCapabilities::new())
        .system_prompt(
            v1::SessionSystemPromptCapabilities::new().mode(
                v1::SessionSystemPromptModeCapabilities::new()
                    .override_(v1::SessionSystemPromptOverrideCapabilities::new()),
            ),
        );
    let capabilities = v1::AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(v1::PromptCapabilities::new().image(true).embedded_context(true))
        .mcp_capabilities(v1::McpCapabilities::new().http(true))
        .session_capabilities(sessions)
        .auth(v1::AgentAuthCapabilities::new().logout(v1::LogoutCapabilities::new()));
    v1::InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .auth_methods(sign_in::methods_v1(profile, &agent.sign_in))
        .agent_info(v1::Implementation::new(&agent.name, &agent.version))
}

fn result_v2(profile: &ClientProfile, agent: &AgentInfo) -> v2::InitializeResponse {
    let prompt = v2::PromptCapabilities::new()
        .image(v2::PromptImageCapabilities::new())
        .embedded_context(v2::PromptEmbeddedContextCapabilities::new());
    let mcp = v2::McpCapabilities::new()
        .stdio(v2::McpStdioCapabilities::new())
        .http(v2::McpHttpCapabilities::new());
    let sessions = v2::SessionCapabilities::new()
        .prompt(prompt)
        .mcp(mcp)
        .delete(v2::SessionDeleteCapabilities::new())
        .fork(v2::SessionForkCapabilities::new())
        .archive(v2::SessionArchiveCapabilities::new())
        .title(v2::SessionTitleCapabilities::new())
        .additional_directories(v2::SessionAdditionalDirectoriesCapabilities::new())
        .system_prompt(
            v2::SessionSystemPromptCapabilities::new().mode(
                v2::SessionSystemPromptModeCapabilities::new()
                    .override_(v2::SessionSystemPromptOverrideCapabilities::new()),
            ),
        );
    v2::InitializeResponse::new(ProtocolVersion::V2, v2::Implementation::new(&agent.name, &agent.version))
        .capabilities(v2::AgentCapabilities::new().session(sessions))
        .auth_methods(sign_in::methods_v2(profile, &agent.sign_in))
}
