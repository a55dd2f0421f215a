//! Shell commands as the model asks for them: directly, or from the JavaScript of code mode.

use serde_json::{Map, Value, json};

use super::script::{Action, Custom, call, custom};

/// A shell command for `exec_command`.
#[derive(Clone, Debug)]
pub struct Exec {
    args: Map<String, Value>,
    call_id: Option<String>,
}

/// Runs `cmd` by the function `exec_command`, as a direct-mode model (`gpt-5.5`) does.
///
/// The id of the Codex item is the `call_id`.
pub fn exec(cmd: impl Into<String>) -> Exec {
    Exec {
        args: Map::new(),
        call_id: None,
    }
    .arg("cmd", cmd.into())
}

impl Exec {
    /// How long the call waits before it hands a running command back, in milliseconds.
    #[must_use]
    pub fn yield_ms(self, ms: u64) -> Self {
        self.arg("yield_time_ms", ms)
    }

    /// Whether the command gets a terminal; otherwise its output is a pipe.
    #[must_use]
    pub fn tty(self, tty: bool) -> Self {
        self.arg("tty", tty)
    }

    /// The directory of the command; otherwise that of the thread.
    #[must_use]
    pub fn workdir(self, dir: impl Into<String>) -> Self {
        self.arg("workdir", dir.into())
    }

    /// Any other argument, e.g. `sandbox_permissions` and `justification` of an escalation.
    #[must_use]
    pub fn arg(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.args.insert(name.to_owned(), value.into());
        self
    }

    /// The `call_id`, which in direct mode becomes the id of the Codex item; else a fresh one.
    #[must_use]
    pub fn id(mut self, call_id: impl Into<String>) -> Self {
        self.call_id = Some(call_id.into());
        self
    }

    /// The same command run by a code-mode model, see [`exec_code`].
    ///
    /// The script prints the whole result, so that `found(r#""session_id":(\d+)"#)` works afterwards.
    #[must_use]
    pub fn in_code(self) -> Custom {
        let args = Value::Object(self.args);
        let cell = exec_code(&format!(
            "const r = await tools.exec_command({args}); text(r);"
        ));
        match self.call_id {
            Some(id) => cell.id(id),
            None => cell,
        }
    }
}

impl From<Exec> for Action {
    fn from(exec: Exec) -> Self {
        let call = call("exec_command", json!(exec.args));
        match exec.call_id {
            Some(id) => call.id(id).into(),
            None => call.into(),
        }
    }
}

/// Runs JavaScript as a code-mode model (`gpt-6.2-sol`) does: the custom tool `exec`.
#[must_use]
pub fn exec_code(js: &str) -> Custom {
    custom("exec", js)
}
