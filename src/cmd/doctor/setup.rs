//! What to put into a client's settings.
//!
//! Carries over what the examination itself was told, since a client starts us without it.

use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Told by flags or variables, and so to be told by the client.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// `key=value` of `-c`.
    pub config: Vec<String>,
    /// Variables with their values.
    pub env: Vec<(&'static str, String)>,
    /// Whether `CODEX_CONFIG` is set. Its value may hold secrets and is not printed.
    pub has_codex_config: bool,
    /// Whether `CODEX_API_KEY` is set. A client has to set it too.
    pub has_codex_key: bool,
    /// The address of the app-server that runs already.
    pub connect: Option<String>,
    /// Whether there is a token for it.
    pub has_connect_token: bool,
}

impl Setup {
    /// Prints one snippet per client. `codex` is the program, if it was named outright.
    pub(crate) fn print(&self, codex: Option<&Path>, out: &mut dyn Write) -> io::Result<()> {
        let us = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("appserver-acp"));
        let us = us.display().to_string();
        let codex = codex.into_iter().flat_map(|it| ["--codex".to_owned(), absolute(it)]);
        let config = self.config.iter().flat_map(|it| ["-c".to_owned(), it.clone()]);
        let connect = self.connect.iter().flat_map(|it| ["--connect".to_owned(), it.clone()]);
        let args: Vec<String> = codex.chain(config).chain(connect).collect();
        let env: Map<String, Value> =
            self.env.iter().map(|(name, value)| ((*name).to_owned(), value.as_str().into())).collect();
        let zed = json!({"type": "custom", "command": us, "args": args, "env": env});
        writeln!(out, "\nZed, in settings.json:\n{:#}", json!({"agent_servers": {"Codex": zed}}))?;

        let command: Vec<String> = std::iter::once(&us).chain(&args).map(|word| quoted(word)).collect();
        let env: String = self.env.iter().map(|(name, value)| format!("{name}={} ", quoted(value))).collect();
        let acpx = format!("{env}acpx --agent {}", in_quotes(&command.join(" ")));
        writeln!(out, "\nacpx, in a session that stays:")?;
        writeln!(out, "{acpx} sessions new")?;
        writeln!(out, "{acpx} prompt 'start the dev server and leave it running'")?;
        let rest = if self.connect.is_some() { "goes on" } else { "is ended" };
        writeln!(out, "\nacpx, for one answer; exec hangs up after it, and what still runs {rest}:")?;
        writeln!(out, "{acpx} exec 'what does this project do?'")?;
        if self.has_codex_key {
            writeln!(out, "\nCODEX_API_KEY is set here: a client has to set it too.")?;
        }
        if self.has_connect_token {
            writeln!(out, "\nAPPSERVER_ACP_CONNECT_TOKEN is set here: a client has to set it too.")?;
        }
        if self.has_codex_config {
            writeln!(out, "\nCODEX_CONFIG is set here: a client has to set it too.")?;
        }
        Ok(())
    }
}

/// The path as a client needs it, which works in another directory.
pub(crate) fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// As one word of a shell.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-=+:,@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) { word.to_owned() } else { in_quotes(word) }
}

fn in_quotes(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
