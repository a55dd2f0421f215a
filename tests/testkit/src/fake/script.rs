//! What the fake app-server does, and when.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::recorded;

/// Names the file of the script in the environment of the fake app-server.
pub const SCRIPT_VARIABLE: &str = "FAKE_APP_SERVER_SCRIPT";

/// Rules of a fake app-server.
///
/// An event is answered by the first rule for it that has uses left. Without one a request gets the result
/// recorded from a real Codex, or the error of an unknown method; at the end of stdin the fake ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FakeScript {
    pub(super) rules: Vec<Rule>,
    pub(super) received: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Rule {
    pub(super) on: Event,
    /// How often the rule applies; `None` for always.
    pub(super) uses: Option<usize>,
    pub(super) then: Vec<Reaction>,
}

/// What happens to the fake app-server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// It starts; nothing was read yet.
    Start,
    /// A request or notification of this method comes.
    Method(String),
    /// A response to a [`Reaction::Request`] comes.
    Response,
    /// stdin is closed.
    Eof,
}

/// What the fake app-server does; reactions of a rule run in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reaction {
    /// Answers the request at hand.
    Result(Value),
    /// Answers the request at hand with an error.
    Error { code: i64, message: String },
    /// Sends a notification.
    Notify { method: String, params: Value },
    /// Sends a request to the client.
    Request { id: Value, method: String, params: Value },
    /// Writes this text and a newline: garbage, say.
    Line(String),
    /// Writes this text without a newline: half a message.
    Unfinished(String),
    /// Writes a line that is not UTF-8.
    InvalidUtf8,
    /// Writes a valid notification of this many bytes, newline not counted (at least 40).
    Oversized(usize),
    /// Writes a line to stderr.
    Stderr(String),
    /// Does this many times in a row what is listed.
    Repeat { times: usize, then: Vec<Reaction> },
    /// Holds the rest until the next message of the client; that message is handled afterwards.
    NextMessage,
    /// Closes stdout and goes on reading.
    CloseStdout,
    /// Ends with this code.
    Exit(i32),
    /// Sends itself the signal of this number.
    Raise(i32),
    /// Does nothing ever after, and reads nothing: only a signal ends it.
    Hang,
}

impl Reaction {
    pub fn notify(method: impl Into<String>, params: Value) -> Self {
        let method = method.into();
        Self::Notify { method, params }
    }

    /// The notification of that name in `fixtures/notifications.json`, see [`recorded::notification`].
    ///
    /// # Panics
    /// When there is none of that name.
    #[must_use]
    pub fn recorded(name: &str) -> Self {
        let (method, params) = recorded::notification(name);
        Self::Notify { method, params }
    }

    /// The recorded result of that method, see [`recorded::result`].
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn recorded_result(method: &str) -> Self {
        Self::Result(recorded::result(method).expect("fixtures/results.json has that method"))
    }
}

impl FakeScript {
    /// A script without rules: it answers like the recording.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reacts to every event of that kind; no reactions at all means silence.
    #[must_use]
    pub fn on(self, event: Event, then: impl Into<Vec<Reaction>>) -> Self {
        self.rule(event, None, then.into())
    }

    /// Reacts to every request (or notification) of that method; no reactions at all means silence.
    #[must_use]
    pub fn on_method(self, method: &str, then: impl Into<Vec<Reaction>>) -> Self {
        self.on(Event::Method(method.to_owned()), then)
    }

    /// Like [`Self::on_method`], but for the next one only; rules for the one after may follow.
    #[must_use]
    pub fn once(self, method: &str, then: impl Into<Vec<Reaction>>) -> Self {
        self.rule(Event::Method(method.to_owned()), Some(1), then.into())
    }

    /// Appends every line that comes to this file.
    #[must_use]
    pub fn keep_received(mut self, path: impl Into<PathBuf>) -> Self {
        self.received = Some(path.into());
        self
    }

    fn rule(mut self, on: Event, uses: Option<usize>, then: Vec<Reaction>) -> Self {
        self.rules.push(Rule { on, uses, then });
        self
    }

    /// Writes the script to a file and returns the variable that hands it to the fake app-server.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, path: &Path) -> anyhow::Result<(&'static str, PathBuf)> {
        let json = serde_json::to_vec_pretty(self)?;
        fs::write(path, json).with_context(|| format!("write {}", path.display()))?;
        Ok((SCRIPT_VARIABLE, path.to_owned()))
    }

    /// Reads a script.
    ///
    /// # Errors
    /// When the file cannot be read or is no script.
    pub(super) fn load(path: &Path) -> anyhow::Result<Self> {
        let json = fs::read(path).with_context(|| format!("read {}", path.display()))?;
        serde_json::from_slice(&json).with_context(|| format!("parse {}", path.display()))
    }
}
