//! Plays a script on stdio: the main loop of the fake app-server.

use std::collections::VecDeque;
use std::env;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, StdinLock, StdoutLock, Write};
use std::path::Path;
use std::process;
use std::thread;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::recorded;
use super::script::{Event, FakeScript, Reaction, SCRIPT_VARIABLE};
use crate::codex::pinned_version;

/// Plays the script named by [`SCRIPT_VARIABLE`] (none: like the recording) until the end of stdin.
///
/// With the argument `--version` it only says the pinned version, like Codex.
///
/// # Errors
/// A bad script, a client that writes no JSON, or a closed stdout.
pub fn play() -> anyhow::Result<()> {
    if env::args().any(|it| it == "--version") {
        return Ok(writeln!(io::stdout(), "codex-cli {}", pinned_version())?);
    }
    let script = match env::var_os(SCRIPT_VARIABLE) {
        Some(path) => FakeScript::load(Path::new(&path))?,
        None => FakeScript::new(),
    };
    Player::new(script)?.run()
}

struct Player {
    script: FakeScript,
    received: Option<File>,
    stdin: StdinLock<'static>,
    stdout: StdoutLock<'static>,
    /// Read already while a rule waited for it.
    early: VecDeque<Value>,
}

impl Player {
    fn new(script: FakeScript) -> anyhow::Result<Self> {
        let open = |path| OpenOptions::new().create(true).append(true).open(path);
        Ok(Self {
            received: script.received.as_ref().map(open).transpose()?,
            script,
            stdin: io::stdin().lock(),
            stdout: io::stdout().lock(),
            early: VecDeque::new(),
        })
    }

    fn run(mut self) -> anyhow::Result<()> {
        self.handle(&Event::Start, &Value::Null)?;
        while let Some(message) = self.next()? {
            let event = match message["method"].as_str() {
                Some(method) => Event::Method(method.to_owned()),
                None => Event::Response,
            };
            self.handle(&event, &message["id"])?;
        }
        self.handle(&Event::Eof, &Value::Null)
    }

    fn next(&mut self) -> anyhow::Result<Option<Value>> {
        match self.early.pop_front() {
            Some(message) => Ok(Some(message)),
            None => self.read(),
        }
    }

    fn read(&mut self) -> anyhow::Result<Option<Value>> {
        let mut line = String::new();
        if self.stdin.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if let Some(file) = &mut self.received {
            file.write_all(line.as_bytes())?;
        }
        Ok(Some(serde_json::from_str(&line).context("parse a line of the client")?))
    }

    fn handle(&mut self, event: &Event, id: &Value) -> anyhow::Result<()> {
        let rules = &mut self.script.rules;
        let rule = rules.iter_mut().find(|it| it.on == *event && it.uses != Some(0));
        let reactions = match rule {
            Some(rule) => {
                rule.uses = rule.uses.map(|it| it - 1);
                rule.then.clone()
            }
            None => default_reactions(event, id),
        };
        self.perform(&reactions, id)
    }

    fn perform(&mut self, reactions: &[Reaction], id: &Value) -> anyhow::Result<()> {
        reactions.iter().try_for_each(|it| self.perform_one(it, id))
    }

    fn perform_one(&mut self, reaction: &Reaction, id: &Value) -> anyhow::Result<()> {
        match reaction {
            Reaction::Result(result) => self.line(&json!({"id": id, "result": result}).to_string()),
            Reaction::Error { code, message } => {
                let error = json!({"code": code, "message": message});
                self.line(&json!({"id": id, "error": error}).to_string())
            }
            Reaction::Notify { method, params } => {
                self.line(&json!({"method": method, "params": params}).to_string())
            }
            Reaction::Request { id, method, params } => {
                self.line(&json!({"id": id, "method": method, "params": params}).to_string())
            }
            Reaction::Line(text) => self.line(text),
            Reaction::Unfinished(text) => self.bytes(text.as_bytes()),
            Reaction::InvalidUtf8 => self.bytes(b"{\"method\":\"\xff\xfe\"}\n"),
            Reaction::Oversized(size) => {
                const FRAME: [&str; 2] = [r#"{"method":"oversized","params":""#, r#""}"#];
                let frame = FRAME[0].len() + FRAME[1].len();
                ensure!(*size >= frame, "an oversized line has at least {frame} bytes");
                self.line(&FRAME.join(&"x".repeat(size - frame)))
            }
            Reaction::Stderr(text) => Ok(writeln!(io::stderr(), "{text}")?),
            Reaction::Repeat { times, then } => (0..*times).try_for_each(|_| self.perform(then, id)),
            Reaction::NextMessage => {
                let message = self.read()?;
                self.early.extend(message);
                Ok(())
            }
            Reaction::CloseStdout => close_stdout(),
            Reaction::Exit(code) => process::exit(*code),
            Reaction::Raise(signal) => raise(*signal),
            Reaction::Hang => loop {
                thread::park();
            },
        }
    }

    fn line(&mut self, text: &str) -> anyhow::Result<()> {
        self.bytes(format!("{text}\n").as_bytes())
    }

    fn bytes(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.stdout.write_all(bytes)?;
        Ok(self.stdout.flush()?)
    }
}

fn default_reactions(event: &Event, id: &Value) -> Vec<Reaction> {
    let Event::Method(method) = event else {
        return Vec::new();
    };
    if id.is_null() {
        return Vec::new();
    }
    match recorded::result(method) {
        Some(result) => {
            let after = recorded::aftermath(method).iter().map(|it| Reaction::recorded(it));
            [Reaction::Result(result)].into_iter().chain(after).collect()
        }
        None => vec![Reaction::Error {
            code: -32600,
            message: format!("Invalid request: unknown variant `{method}`"),
        }],
    }
}

#[cfg(unix)]
fn close_stdout() -> anyhow::Result<()> {
    // The standard library never closes descriptor 1; putting another file in its place closes the pipe.
    let nowhere = OpenOptions::new().write(true).open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdout(nowhere)?)
}

#[cfg(not(unix))]
fn close_stdout() -> anyhow::Result<()> {
    anyhow::bail!("closing stdout is known on unix only")
}

#[cfg(unix)]
fn raise(signal: i32) -> anyhow::Result<()> {
    use rustix::process::{Signal, getpid, kill_process};
    let signal = Signal::from_named_raw(signal).context("a signal of that number")?;
    kill_process(getpid(), signal)?;
    // The signal may reach another thread of ours a moment later than the call returns.
    thread::park();
    Ok(())
}

#[cfg(not(unix))]
fn raise(_signal: i32) -> anyhow::Result<()> {
    anyhow::bail!("signals are known on unix only")
}
