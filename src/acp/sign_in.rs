//! Signing in, on the client's side: the methods of `initialize`, and the page to open.
//!
//! Only what this client can handle is named (V2-15): which that is, `core::sign_in` says.

use super::{gateway, line, method};
use crate::core::ids::{AskId, RequestId};
use crate::core::request::{ClientProfile, Version};
use crate::core::sign_in::{Means, SignIn, TerminalSignIn};
use agent_client_protocol_schema::{v1, v2};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What some v1 clients declare, and read from the `_meta` of a method, instead of `auth.terminal`.
pub(crate) const TERMINAL_META: &str = "terminal-auth";

/// Our subcommand that runs `codex login`.
const LOGIN: &str = "login";

/// A page that the client is to open for one of its requests.
pub(crate) struct Page<'a> {
    pub(crate) request: &'a RequestId,
    pub(crate) message: &'a str,
    pub(crate) elicitation: &'a str,
    pub(crate) url: &'a str,
}

/// `authMethods` of v1.
pub(crate) fn methods_v1(client: &ClientProfile, means: &Means) -> Vec<v1::AuthMethod> {
    let method = |it: SignIn| match (it, client.terminal_sign_in) {
        (SignIn::Terminal, TerminalSignIn::Declared) => v1::AuthMethod::Terminal(
            v1::AuthMethodTerminal::new(it.id(), it.name())
                .description(it.description().to_owned())
                .args(vec![LOGIN.to_owned()]),
        ),
        (_, TerminalSignIn::Declared | TerminalSignIn::Meta | TerminalSignIn::No) => {
            let meta = match it {
                SignIn::Terminal => command_line(means),
                SignIn::Gateway => Some(of_gateway()),
                SignIn::Browser | SignIn::DeviceCode | SignIn::CodexKey | SignIn::OpenAiKey => None,
            };
            v1::AuthMethod::Agent(
                v1::AuthMethodAgent::new(it.id(), it.name())
                    .description(it.description().to_owned())
                    .meta(meta),
            )
        }
    };
    means.methods(client).into_iter().map(method).collect()
}

/// `authMethods` of v2.
pub(crate) fn methods_v2(client: &ClientProfile, means: &Means) -> Vec<v2::AuthMethod> {
    let method = |it: SignIn| {
        let description = it.description().to_owned();
        match it {
            SignIn::Terminal => v2::AuthMethod::Terminal(
                v2::AuthMethodTerminal::new(it.id(), it.name())
                    .description(description)
                    .args(vec![LOGIN.to_owned()]),
            ),
            SignIn::Gateway => v2::AuthMethod::Agent(
                v2::AuthMethodAgent::new(it.id(), it.name()).description(description).meta(of_gateway()),
            ),
            SignIn::Browser | SignIn::DeviceCode | SignIn::CodexKey | SignIn::OpenAiKey => {
                v2::AuthMethod::Agent(v2::AuthMethodAgent::new(it.id(), it.name()).description(description))
            }
        }
    };
    means.methods(client).into_iter().map(method).collect()
}

/// The request line that asks the client to open a page.
pub(crate) fn ask(version: Version, ask: AskId, page: &Page<'_>) -> String {
    let Page { request, message, elicitation, url } = *page;
    match version {
        Version::V1 => {
            let scope = v1::ElicitationRequestScope::new(match request {
                RequestId::Number(number) => v1::RequestId::Number(*number),
                RequestId::Text(text) => v1::RequestId::Str(text.to_string()),
            });
            let mode = v1::ElicitationUrlMode::new(scope, Arc::<str>::from(elicitation), url);
            line::call(ask.0, method::ELICITATION_CREATE, v1::CreateElicitationRequest::new(mode, message))
        }
        Version::V2 => {
            let scope = v2::ElicitationRequestScope::new(match request {
                RequestId::Number(number) => v2::RequestId::Number(*number),
                RequestId::Text(text) => v2::RequestId::Str(text.to_string()),
            });
            let mode = v2::ElicitationUrlMode::new(scope, elicitation, url);
            line::call(ask.0, method::ELICITATION_CREATE, v2::CreateElicitationRequest::new(mode, message))
        }
    }
}

/// What a gateway has to speak. It is told of with the next thread: nothing is started again.
fn of_gateway() -> Map<String, Value> {
    Map::from_iter([(gateway::META.to_owned(), json!({ "protocol": "openai", "restartRequired": "false" }))])
}

fn command_line(means: &Means) -> Option<Map<String, Value>> {
    let program = means.program.as_ref()?;
    let env: Map<String, Value> =
        program.env.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
    let told = json!({
        "label": SignIn::Terminal.name(), "command": program.path, "args": [LOGIN], "env": env,
    });
    Some(Map::from_iter([(TERMINAL_META.to_owned(), told)]))
}
