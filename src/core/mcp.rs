//! What `/mcp` says, in Markdown.

use super::inquiry::McpServerState;

/// Tools that are named, of each server.
const TOOLS: usize = 40;

/// The tool servers of a session.
pub(crate) fn table(servers: &[McpServerState]) -> String {
    match servers {
        [] => "There are no tool servers.".to_owned(),
        servers => {
            let rows: Vec<String> = servers.iter().map(row).collect();
            format!("**Tool servers:**\n\n{}", rows.join("\n"))
        }
    }
}

fn row(server: &McpServerState) -> String {
    let state = match server.state.as_deref() {
        None => "its state is not known",
        Some("notStarted") => "not started",
        Some("authenticationRequired") => "needs a sign-in",
        Some(other) => other,
    };
    let auth = match server.auth.as_str() {
        "notLoggedIn" => ", not signed in",
        "bearerToken" => ", signed in with a token",
        "oAuth" => ", signed in with OAuth",
        // Nothing to say: without a way to sign in, or nobody knows.
        _ => "",
    };
    let error = server.error.as_ref().map(|error| format!("\n  error: {error}")).unwrap_or_default();
    let shown: Vec<String> = server.tools.iter().take(TOOLS).map(|tool| format!("`{tool}`")).collect();
    let more = match server.tools.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let tools = match shown.as_slice() {
        [] => "no tools".to_owned(),
        shown => format!("tools {}{more}", shown.join(", ")),
    };
    format!("- **{}**: {state}{auth}, {tools}{error}", server.name)
}

#[cfg(test)]
mod tests {
    use super::table;
    use crate::core::inquiry::McpServerState;

    #[test]
    fn each_server_has_state_tools_sign_in_and_error() {
        let server =
            |name: &str, state: &str, auth: &str, tools: &[&str], error: Option<&str>| McpServerState {
                name: name.to_owned(),
                state: Some(state.to_owned()),
                auth: auth.to_owned(),
                tools: tools.iter().map(|it| (*it).to_owned()).collect(),
                error: error.map(str::to_owned),
            };
        let servers = [
            server("web", "connected", "oAuth", &["fetch", "find"], None),
            server("db", "authenticationRequired", "notLoggedIn", &[], None),
            server("x", "failed", "unsupported", &[], Some("no such file")),
        ];
        assert_eq!(
            table(&servers),
            "**Tool servers:**\n\n- **web**: connected, signed in with OAuth, tools `fetch`, `find`\n\
             - **db**: needs a sign-in, not signed in, no tools\n- **x**: failed, no tools\n  error: no such file"
        );
        assert_eq!(table(&[]), "There are no tool servers.");
    }
}
