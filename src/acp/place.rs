//! Where a session works: directories and tool servers, checked as both versions ask.

use super::header;
use super::params::Misfit;
use crate::core::failure::Failure;
use crate::core::request::{Instructions, McpServer, McpTransport, Place, Version};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;

/// `cwd`, `additionalDirectories`, `mcpServers` and `systemPrompt` of the requests that open a session.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PlaceParams {
    cwd: String,
    additional_directories: Option<Vec<String>>,
    mcp_servers: Option<Vec<McpParams>>,
    system_prompt: Option<InstructionParams>,
}

#[derive(Deserialize)]
struct InstructionParams {
    mode: String,
    content: Vec<BlockParams>,
}

#[derive(Deserialize)]
struct BlockParams {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
}

/// Every field that any transport has.
#[derive(Deserialize)]
struct McpParams {
    #[serde(rename = "type")]
    kind: Option<String>,
    name: String,
    command: Option<String>,
    args: Option<Vec<String>>,
    env: Option<Vec<PairParams>>,
    url: Option<String>,
    headers: Option<Vec<PairParams>>,
}

#[derive(Deserialize)]
struct PairParams {
    name: String,
    value: String,
}

impl PlaceParams {
    /// Checks what the wire types do not.
    ///
    /// # Errors
    /// `InvalidParams` that names the field.
    pub(crate) fn check(self, version: Version) -> Result<Place, Failure> {
        let instructions = self.system_prompt.map(InstructionParams::check).transpose()?;
        if !Path::new(&self.cwd).is_absolute() {
            return Err(invalid("cwd must be an absolute path"));
        }
        let additional_directories = self.additional_directories.unwrap_or_default();
        if let Some(idx) = additional_directories.iter().position(|it| !Path::new(it).is_absolute()) {
            return Err(invalid(format!("additionalDirectories[{idx}] must be an absolute path")));
        }
        let mut names = BTreeSet::new();
        let mut mcp_servers = Vec::new();
        for (idx, server) in self.mcp_servers.unwrap_or_default().into_iter().enumerate() {
            // Codex knows a server by its name, and the user has to find it again.
            if !server.name.contains(char::is_alphanumeric) {
                return Err(invalid(format!("mcpServers[{idx}].name must hold a letter or a digit")));
            }
            if !names.insert(server.name.clone()) {
                return Err(invalid(format!("mcpServers[{idx}].name is used twice")));
            }
            mcp_servers.push(server.check(idx, version)?);
        }
        Ok(Place { cwd: self.cwd, additional_directories, mcp_servers, instructions, gateway: None })
    }
}

impl InstructionParams {
    fn check(self) -> Result<Instructions, Failure> {
        let mut texts = Vec::new();
        for (idx, block) in self.content.into_iter().enumerate() {
            match (block.kind.as_str(), block.text) {
                ("text", Some(text)) => texts.push(text),
                ("text", None) => {
                    return Err(invalid(format!("systemPrompt.content[{idx}].text is missing")));
                }
                _ => {
                    return Err(invalid(format!(
                        "systemPrompt.content[{idx}] is no text, only text is taken"
                    )));
                }
            }
        }
        if texts.is_empty() {
            return Err(invalid("systemPrompt.content must hold at least one content block"));
        }
        let text = texts.join("\n\n");
        match self.mode.as_str() {
            "append" => Ok(Instructions::Append(text)),
            "override" => Ok(Instructions::Override(text)),
            _ => Err(invalid("systemPrompt.mode must be append or override")),
        }
    }
}

impl McpParams {
    fn check(self, idx: usize, version: Version) -> Result<McpServer, Failure> {
        // A v1 stdio server has no `type`.
        let transport = match (version, self.kind.as_deref()) {
            (_, Some("stdio")) | (Version::V1, None) => {
                let command =
                    self.command.ok_or_else(|| invalid(format!("mcpServers[{idx}].command is missing")))?;
                // v1 clients send bare program names such as `npx`, and v1 does not forbid them.
                if version == Version::V2 && !Path::new(&command).is_absolute() {
                    return Err(invalid(format!("mcpServers[{idx}].command must be an absolute path")));
                }
                let env = pairs(self.env);
                if let Some(n) = env.iter().position(|it| !is_variable(it)) {
                    return Err(invalid(format!(
                        "mcpServers[{idx}].env[{n}] is none: a name is not empty and has no `=`, and neither \
                         it nor the value has a NUL"
                    )));
                }
                McpTransport::Stdio { command, args: self.args.unwrap_or_default(), env }
            }
            (_, Some("http")) => {
                let url = self.url.ok_or_else(|| invalid(format!("mcpServers[{idx}].url is missing")))?;
                let headers = pairs(self.headers);
                let named = headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
                header::check(named)
                    .map_err(|(n, why)| invalid(format!("mcpServers[{idx}].headers[{n}] {why}")))?;
                McpTransport::Http { url, headers }
            }
            (Version::V2, None) => return Err(invalid(format!("mcpServers[{idx}].type is missing"))),
            (_, Some(_)) => {
                return Err(invalid(format!(
                    "mcpServers[{idx}].type is a transport that was not advertised, use stdio or http"
                )));
            }
        };
        Ok(McpServer { name: self.name, transport })
    }
}

impl From<Misfit> for Failure {
    fn from(misfit: Misfit) -> Self {
        Self::InvalidParams(misfit.to_string())
    }
}

/// What a process can be given.
fn is_variable((name, value): &(String, String)) -> bool {
    !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0')
}

fn pairs(params: Option<Vec<PairParams>>) -> Vec<(String, String)> {
    params.unwrap_or_default().into_iter().map(|it| (it.name, it.value)).collect()
}

fn invalid(why: impl Into<String>) -> Failure {
    Failure::InvalidParams(why.into())
}
