//! Parameters of our requests to Codex.

use super::ClientInfo;
use super::account::encode_login;
use super::inquiry::encode_inquiry;
use super::inventory::OPTED_OUT;
use super::mcp::encode_mcp_servers;
use super::preset::{encode_approval, encode_mode, encode_policy};
use super::user::encode_input;
use crate::core::codex::{Choices, CodexRequest, Preset};
use crate::core::gateway::Gateway;
use crate::core::ids::{ThreadId, TurnId};
use crate::core::kept::Keeping;
use crate::core::request::{Instructions, McpServer};
use crate::core::rules::{Collaboration, CollaborationMode};
use serde_json::{Map, Value, json};

/// Where sessions of people come from; subagents and `codex exec` runs are left out.
const SOURCES: [&str; 3] = ["cli", "vscode", "appServer"];
/// Who tells the model something beside the user.
const US: &str = "appserver-acp";
/// Subagents per page.
const DESCENDANTS: u32 = 100;

/// Codex's name for the gateway of the client; a thread keeps it, and is loaded again only with one of that name.
const GATEWAY: &str = "custom-gateway";

/// The `params` of `request`. A field that keeps Codex's own setting is not there. `kept`: seconds that a
/// thread outlives its subscribers.
pub(crate) fn encode_params(request: &CodexRequest, client: &ClientInfo, kept: Option<u64>) -> Value {
    match request {
        CodexRequest::Initialize => json!({
            "clientInfo": {"name": client.name, "title": client.title, "version": client.version},
            "capabilities": {"experimentalApi": true, "optOutNotificationMethods": OPTED_OUT},
        }),
        CodexRequest::ThreadStart { cwd, roots, mcp_servers, instructions, gateway, choices } => {
            let config = config(mcp_servers, gateway.as_deref(), kept);
            let mut params = thread_start(cwd, roots, config, choices);
            params.instruct(instructions.as_ref());
            params.done()
        }
        CodexRequest::ThreadRejoin { thread } => thread_resume(thread),
        CodexRequest::ThreadResume { thread, cwd, roots, mcp_servers, instructions, gateway } => {
            let mut params = Params::of(thread_resume(thread));
            params.add("cwd", cwd.as_deref());
            params.add("runtimeWorkspaceRoots", Some(roots.as_slice()).filter(|it| !it.is_empty()));
            params.instruct(instructions.as_ref());
            let config = config(mcp_servers, gateway.as_deref(), kept);
            params.add("config", Some(config).filter(|it| !it.is_empty()));
            params.done()
        }
        CodexRequest::ThreadFork { thread, cwd, roots, mcp_servers, instructions, gateway } => {
            let mut params =
                Params::of(json!({"threadId": thread.as_str(), "excludeTurns": true, "cwd": cwd}));
            params.add("runtimeWorkspaceRoots", Some(roots.as_slice()).filter(|it| !it.is_empty()));
            params.instruct(instructions.as_ref());
            let config = config(mcp_servers, gateway.as_deref(), kept);
            params.add("config", Some(config).filter(|it| !it.is_empty()));
            params.done()
        }
        CodexRequest::ThreadList { cwd, cursor, limit, archived } => {
            let mut params = Params::of(json!({
                // Empty means every provider; without it only the configured one.
                "modelProviders": [],
                "sourceKinds": SOURCES,
                "sortKey": "updated_at",
                "sortDirection": "desc",
                "limit": limit,
            }));
            params.add("cwd", cwd.as_deref());
            params.add("cursor", cursor.as_deref());
            params.add("archived", archived.then_some(true));
            params.done()
        }
        CodexRequest::ThreadDescendants { thread, cursor } => {
            let mut params = Params::of(json!({
                "ancestorThreadId": thread.as_str(),
                "modelProviders": [],
                "sourceKinds": ["subAgentThreadSpawn"],
                "sortKey": "created_at",
                "sortDirection": "asc",
                "limit": DESCENDANTS,
            }));
            params.add("cursor", cursor.as_deref());
            params.done()
        }
        CodexRequest::ThreadFind { thread, archived } => {
            json!({"modelProviders": [], "sourceKinds": SOURCES, "includedThreadIds": [thread.as_str()], "archived": archived})
        }
        CodexRequest::TurnsList { thread, cursor, limit, keeping } => {
            let view = match keeping {
                Keeping::ByItem => "notLoaded",
                Keeping::ByTurn => "full",
            };
            let mut params = Params::of(json!({
                "threadId": thread.as_str(), "sortDirection": "asc", "limit": limit, "itemsView": view,
            }));
            params.add("cursor", cursor.as_deref());
            params.done()
        }
        CodexRequest::ItemsList { thread, turn, cursor, limit } => {
            let mut params =
                Params::of(json!({"threadId": thread.as_str(), "sortDirection": "asc", "limit": limit}));
            params.add("turnId", turn.as_ref().map(TurnId::as_str));
            params.add("cursor", cursor.as_deref());
            params.done()
        }
        CodexRequest::NewestItems { thread, cursor, limit } => {
            let mut params =
                Params::of(json!({"threadId": thread.as_str(), "sortDirection": "desc", "limit": limit}));
            params.add("cursor", cursor.as_deref());
            params.done()
        }
        CodexRequest::TurnStart { thread, key, input, context, choices } => {
            let mut params = Params::of(json!({
                "threadId": thread.as_str(),
                "clientUserMessageId": key.as_str(),
                "input": encode_input(input),
            }));
            params.add("additionalContext", context.as_deref().map(encode_context));
            params.choose(choices);
            params.done()
        }
        CodexRequest::SettingsUpdate { thread, choices } => {
            let mut params = Params::of(json!({"threadId": thread.as_str()}));
            params.choose(choices);
            params.done()
        }
        CodexRequest::TurnSteer { thread, turn, key, input, context } => {
            let mut params = Params::of(json!({
                "threadId": thread.as_str(),
                "expectedTurnId": turn.as_str(),
                "clientUserMessageId": key.as_str(),
                "input": encode_input(input),
            }));
            params.add("additionalContext", context.as_deref().map(encode_context));
            params.done()
        }
        CodexRequest::Inform { thread, text } => {
            // As Codex words its `additionalContext`.
            let text = format!("<{US}>{text}</{US}>");
            let content = json!([{"type": "input_text", "text": text}]);
            let message = json!({"type": "message", "role": "developer", "content": content});
            json!({"threadId": thread.as_str(), "items": [message]})
        }
        CodexRequest::TurnInterrupt { thread, turn } => {
            json!({"threadId": thread.as_str(), "turnId": turn.as_str()})
        }
        CodexRequest::TerminalsList { thread, cursor } => {
            let mut params = Params::of(json!({"threadId": thread.as_str()}));
            params.add("cursor", cursor.as_deref());
            params.done()
        }
        CodexRequest::Terminate { thread, process } => {
            json!({"threadId": thread.as_str(), "processId": process.as_str()})
        }
        CodexRequest::ThreadPut { thread, shelf: _ }
        | CodexRequest::Unsubscribe { thread }
        | CodexRequest::ThreadRead { thread }
        | CodexRequest::Clean { thread }
        | CodexRequest::GoalGet { thread } => json!({"threadId": thread.as_str()}),
        // Only what a person asked for is stopped.
        CodexRequest::GoalPause { thread } => {
            json!({"threadId": thread.as_str(), "status": "paused", "origin": "user"})
        }
        CodexRequest::GoalClear { thread } => json!({"threadId": thread.as_str(), "origin": "user"}),
        CodexRequest::QueueList { thread, cursor } => {
            let mut params = Params::of(json!({"threadId": thread.as_str()}));
            params.add("cursor", cursor.as_deref());
            params.done()
        }
        CodexRequest::QueueDelete { thread, message } => {
            json!({"threadId": thread.as_str(), "queuedSubmissionId": message})
        }
        CodexRequest::ModelList { cursor } => {
            // Hidden models too: the thread may use one, and it needs a name.
            let mut params = Params::of(json!({"includeHidden": true}));
            params.add("cursor", cursor.as_deref());
            params.done()
        }
        CodexRequest::Inquiry(inquiry) => encode_inquiry(inquiry),
        CodexRequest::AccountRead | CodexRequest::Logout => json!({}),
        CodexRequest::ConfigRead => json!({"includeLayers": false}),
        CodexRequest::LoginStart(kind) => encode_login(kind),
        CodexRequest::LoginCancel { login } => json!({"loginId": login.as_str()}),
        CodexRequest::ProfileList { cwd } => json!({ "cwd": cwd }),
        CodexRequest::LoadedList => json!({"limit": 1}),
        CodexRequest::LookAt { path } => json!({"path": path}),
    }
}

/// Without instructions of ours: Codex has its own for each mode. It sets model and effort too.
fn encode_collaboration(it: &Collaboration) -> Value {
    let mode = match it.mode {
        CollaborationMode::Default => "default",
        CollaborationMode::Plan => "plan",
    };
    json!({"mode": mode, "settings": {
        "model": it.model, "reasoning_effort": it.effort, "developer_instructions": null,
    }})
}

// A profile says what may be done without asking; whether to ask for more is not in it.
fn approval(choices: &Choices) -> Option<&'static str> {
    let asks = choices.profile.as_ref().map(|_| encode_approval(Preset::Auto));
    choices.preset.map(encode_approval).or(asks)
}

/// What we say to the model beside the user's input: reaches it, and is in no item of the thread.
fn encode_context(text: &str) -> Value {
    json!({ US: { "kind": "application", "value": text } })
}

fn thread_resume(thread: &ThreadId) -> Value {
    json!({
        "threadId": thread.as_str(),
        "excludeTurns": true,
        "initialTurnsPage": {"limit": 1, "sortDirection": "desc", "itemsView": "notLoaded"},
    })
}

/// Settings of the configuration that hold for one thread.
fn config(mcp_servers: &[McpServer], gateway: Option<&Gateway>, kept: Option<u64>) -> Map<String, Value> {
    let mut config = Map::new();
    if !mcp_servers.is_empty() {
        config.insert("mcp_servers".to_owned(), encode_mcp_servers(mcp_servers));
    }
    if let Some(Gateway { base_url, name, headers }) = gateway {
        let headers: Map<String, Value> =
            headers.iter().map(|(name, value)| (name.clone(), Value::from(value.expose()))).collect();
        let provider = json!({
            "name": name.as_deref().unwrap_or("gateway of the client"), "base_url": base_url,
            "http_headers": headers, "wire_api": "responses",
        });
        config.insert("model_provider".to_owned(), Value::from(GATEWAY));
        config.insert("model_providers".to_owned(), json!({ GATEWAY: provider }));
    }
    if let Some(seconds) = kept {
        config.insert("thread_unload_delay_secs".to_owned(), Value::from(seconds));
    }
    config
}

fn thread_start(cwd: &str, roots: &[String], mut config: Map<String, Value>, choices: &Choices) -> Params {
    // `thread/start` has no field for it.
    if let Some(effort) = &choices.effort {
        config.insert("model_reasoning_effort".to_owned(), Value::from(effort.as_str()));
    }
    let mut params = Params::of(json!({"cwd": cwd, "experimentalRawEvents": true}));
    params.add("runtimeWorkspaceRoots", Some(roots).filter(|it| !it.is_empty()));
    params.add("model", choices.model.as_deref());
    params.add("approvalPolicy", choices.preset.map(encode_approval));
    params.add("sandbox", choices.preset.map(encode_mode));
    params.add("config", Some(config).filter(|it| !it.is_empty()));
    params
}

/// An object under construction: what is `None` is left out.
struct Params(Map<String, Value>);

impl Params {
    fn of(fixed: Value) -> Self {
        match fixed {
            Value::Object(fields) => Self(fields),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Self(Map::new())
            }
        }
    }

    fn add(&mut self, name: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), value.into());
        }
    }

    fn choose(&mut self, choices: &Choices) {
        self.add("model", choices.model.as_deref());
        self.add("effort", choices.effort.as_deref());
        self.add("collaborationMode", choices.collaboration.as_ref().map(encode_collaboration));
        self.add("serviceTier", choices.tier.as_deref());
        self.add("permissions", choices.profile.as_deref());
        self.add("approvalPolicy", approval(choices));
        self.add("sandboxPolicy", choices.preset.map(encode_policy));
    }

    // Codex's base instructions are its own ones; the developer's come beside them.
    fn instruct(&mut self, instructions: Option<&Instructions>) {
        match instructions {
            Some(Instructions::Append(text)) => self.add("developerInstructions", Some(text.as_str())),
            Some(Instructions::Override(text)) => self.add("baseInstructions", Some(text.as_str())),
            None => {}
        }
    }

    fn done(self) -> Value {
        Value::Object(self.0)
    }
}
