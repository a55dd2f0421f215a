//! An isolated home for a Codex under test: its own configuration, user home and workspace.

use std::env;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::TempDir;

/// Variables that a child inherits from the tests; everything else of the environment stays away from it.
const INHERITED: [&str; 9] =
    ["PATH", "USER", "LOGNAME", "LANG", "LC_ALL", "TERM", "SystemRoot", "ComSpec", "PATHEXT"];

/// A temporary directory with `codex/` (`CODEX_HOME`), `user/` (an empty `HOME`), `temp/` and `workspace/`.
#[derive(Debug)]
pub struct Home {
    codex_home: PathBuf,
    user_home: PathBuf,
    temp: PathBuf,
    workspace: PathBuf,
    _root: TempDir,
}

/// What the `config.toml` of a [`Home`] says.
#[derive(Clone, Debug)]
pub struct Config {
    base_url: String,
    model: String,
    approval_policy: String,
    sandbox_mode: String,
    stream_retries: u32,
    top: String,
    tables: String,
    features: String,
    needs_account: bool,
}

impl Config {
    /// A configuration whose model provider is at `base_url`: `gpt-5.5`, no approvals, no sandbox.
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            model: "gpt-5.5".to_owned(),
            approval_policy: "never".to_owned(),
            sandbox_mode: "danger-full-access".to_owned(),
            stream_retries: 0,
            top: String::new(),
            tables: String::new(),
            features: String::new(),
            needs_account: false,
        }
    }

    /// `gpt-5.5` calls tools directly, `gpt-6.2-sol` from code mode.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = model.into();
        self
    }

    /// `untrusted`, `on-request` or `never`.
    #[must_use]
    pub fn approval_policy(mut self, policy: impl Into<String>) -> Self {
        self.approval_policy = policy.into();
        self
    }

    /// `read-only`, `workspace-write` or `danger-full-access`.
    #[must_use]
    pub fn sandbox_mode(mut self, mode: impl Into<String>) -> Self {
        self.sandbox_mode = mode.into();
        self
    }

    /// The model provider needs an account of `OpenAI`.
    #[must_use]
    pub fn needs_account(mut self) -> Self {
        self.needs_account = true;
        self
    }

    /// How often Codex asks again when the stream of a response breaks; each time after a longer pause.
    #[must_use]
    pub fn stream_retries(mut self, n: u32) -> Self {
        self.stream_retries = n;
        self
    }

    /// Adds a line before the first table: `thread_unload_delay_secs = 2`.
    #[must_use]
    pub fn top(mut self, line: &str) -> Self {
        self.top.push_str(line);
        self.top.push('\n');
        self
    }

    /// Adds whole tables: `[mcp_servers.x]` and what is in it.
    #[must_use]
    pub fn tables(mut self, toml: &str) -> Self {
        self.tables.push_str(toml);
        self.tables.push('\n');
        self
    }

    /// Adds a line to `[features]`: `goals = true`.
    #[must_use]
    pub fn feature(mut self, line: &str) -> Self {
        self.features.push_str(line);
        self.features.push('\n');
        self
    }

    /// Makes the directories and writes the configuration.
    ///
    /// # Errors
    /// When the temporary directory cannot be written.
    pub fn build(&self) -> anyhow::Result<Home> {
        let root = TempDir::with_prefix("testkit-").context("create a home for codex")?;
        // Codex reports resolved paths, and the temporary directory of macOS is a link.
        let path = fs::canonicalize(root.path())?;
        let home = Home {
            codex_home: path.join("codex"),
            user_home: path.join("user"),
            temp: path.join("temp"),
            workspace: path.join("workspace"),
            _root: root,
        };
        for dir in [&home.codex_home, &home.user_home, &home.temp, &home.workspace] {
            fs::create_dir(dir).with_context(|| format!("create {}", dir.display()))?;
        }
        fs::write(home.codex_home.join("config.toml"), self.toml()).context("write config.toml")?;
        Ok(home)
    }

    fn toml(&self) -> String {
        let mut toml = String::new();
        for (name, value) in [
            ("model", &self.model),
            ("approval_policy", &self.approval_policy),
            ("sandbox_mode", &self.sandbox_mode),
        ] {
            writeln!(toml, "{name} = \"{value}\"").expect("writing to a string never fails");
        }
        let Self { base_url, stream_retries, top, tables, features, needs_account, .. } = self;
        // Retries would hide a scripted failure, and websockets are not what the model server speaks.
        toml + &format!(
            r#"model_provider = "scripted"
check_for_update_on_startup = false
{top}
[analytics]
enabled = false

[model_providers.scripted]
name = "scripted"
base_url = "{base_url}"
wire_api = "responses"
requires_openai_auth = {needs_account}
request_max_retries = 0
stream_max_retries = {stream_retries}
supports_websockets = false

{tables}
[features]
plugins = false
apps = false
remote_plugin = false
skill_search = false
{features}"#
        )
    }
}

impl Home {
    /// The directory of `config.toml` and of the recorded threads.
    #[must_use]
    pub fn codex_home(&self) -> &Path {
        &self.codex_home
    }

    /// An empty directory for `HOME`, so that a login shell starts fast and the same everywhere.
    #[must_use]
    pub fn user_home(&self) -> &Path {
        &self.user_home
    }

    /// An empty directory to work in.
    #[must_use]
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The whole environment of a child: use it after `env_clear`, for Codex as well as for an adapter.
    #[must_use]
    pub fn env(&self) -> Vec<(OsString, OsString)> {
        let inherited = INHERITED.iter().filter_map(|name| Some((OsString::from(name), env::var_os(name)?)));
        let user_home = self.user_home.as_os_str();
        // Codex sets up no programs of its own (sandbox, apply_patch) for a home inside the temporary directory.
        let temp = self.temp.as_os_str();
        let own = [
            ("TMPDIR", temp),
            ("TEMP", temp),
            ("TMP", temp),
            ("CODEX_HOME", self.codex_home.as_os_str()),
            ("HOME", user_home),
            ("USERPROFILE", user_home),
            ("NO_PROXY", "127.0.0.1,localhost".as_ref()),
            ("no_proxy", "127.0.0.1,localhost".as_ref()),
        ];
        let own = own.map(|(name, value)| (OsString::from(name), value.to_owned()));
        inherited.chain(own).collect()
    }
}
