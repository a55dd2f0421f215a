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
    Exec { args: Map::new(), call_id: None }.arg("cmd", cmd.into())
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
    /// The script prints the whole result, see [`exec_code`], so that a later step can name the command by
    /// `found(r#""session_id":(\d+)"#)`. The id of the Codex item is `exec-<uuid>`, never the `call_id`.
    #[must_use]
    pub fn in_code(self) -> Custom {
        let args = Value::Object(self.args);
        let cell = exec_code(&format!("const r = await tools.exec_command({args}); text(r);"));
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

/// Runs JavaScript as a code-mode model (`gpt-6.2-sol`) does: a cell of the custom tool `exec`.
///
/// Measured with Codex 0.171.0:
/// * The call is a `custom_tool_call` named `exec`; a namespace `functions` makes no difference. For a
///   direct-mode model it gives `unsupported custom tool call: exec`. The other way round, a plain
///   `exec_command` works for a code-mode model too, although it is not offered one.
/// * The input is the body of an async module. `tools` holds `exec_command`, `write_stdin`, `apply_patch`,
///   `view_image` and others; `text(value)` adds to the output, as JSON unless it is a string.
/// * `tools.exec_command({cmd, tty, yield_time_ms, workdir})` resolves at the end of the command or at its yield, to
///   `{chunk_id, wall_time_seconds, original_token_count, output}` and `exit_code`, or `session_id` when it runs on.
///   It must be awaited: what is not awaited at the end of the cell is dropped, a command not even begun.
/// * `tools.write_stdin({session_id, chars})` and `tools.apply_patch("*** Begin Patch...")` work alike.
/// * The output is `Script completed`, `Script failed` with the error, or, when the cell itself yields (after 30 s,
///   or what a first line `// @exec: {"yield_time_ms": 500}` says), `Script running with cell ID 1`. The function
///   `wait` (namespace `functions`, `{cell_id, yield_time_ms}`, the id a string: `found_text`) then waits on.
/// * A cell is no item on the wire; each nested command and patch is one, with the id `exec-<uuid>`.
#[must_use]
pub fn exec_code(js: &str) -> Custom {
    custom("exec", js)
}
