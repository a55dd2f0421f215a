//! The client's tool servers as Codex configuration (`config.mcp_servers`).
//!
//! Codex merges this with the servers of its own config file.

use crate::core::request::{McpServer, McpTransport};
use serde_json::{Map, Value, json};

/// One entry per server. A name, which is never empty, keeps only the characters Codex takes; names that
/// are equal by that get a number.
pub(crate) fn encode_mcp_servers(servers: &[McpServer]) -> Value {
    let mut out = Map::new();
    for server in servers {
        out.insert(free_name(&server.name, &out), encode_transport(&server.transport));
    }
    Value::Object(out)
}

fn free_name(name: &str, taken: &Map<String, Value>) -> String {
    let base: String = name
        .chars()
        .map(|it| if it.is_ascii_alphanumeric() || matches!(it, '_' | '-') { it } else { '_' })
        .collect();
    let mut n_same = 1;
    let mut free = base.clone();
    while taken.contains_key(&free) {
        n_same += 1;
        free = format!("{base}_{n_same}");
    }
    free
}

fn encode_transport(transport: &McpTransport) -> Value {
    match transport {
        McpTransport::Stdio { command, args, env } => {
            json!({"command": command, "args": args, "env": table(env)})
        }
        McpTransport::Http { url, headers } => json!({"url": url, "http_headers": table(headers)}),
    }
}

fn table(pairs: &[(String, String)]) -> Value {
    pairs.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect()
}
