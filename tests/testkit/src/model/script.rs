//! What the model does: scripts of steps of actions, typed, and their form inside a prompt.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::exec::Exec;

/// Opens a script inside a text.
pub(super) const OPEN: &str = "@@SCRIPT";
const CLOSE: &str = "@@END";

/// The answers to the requests that follow one message, one [`Step`] per request.
///
/// When it is used up the queue answers, and then the word `DONE`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Script(pub(super) Vec<Step>);

impl Script {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the answer of the next request.
    #[must_use]
    pub fn step(mut self, step: impl Into<Step>) -> Self {
        self.0.push(step.into());
        self
    }

    /// `text [nonce] @@SCRIPT <json> @@END`: the nonce makes two prompts of one thread different.
    #[must_use]
    pub fn prompt(&self, text: &str) -> String {
        let json = serde_json::to_string(self).expect("a script has string keys only");
        let nonce = fastrand::u32(..);
        format!("{text} [{nonce:08x}] {OPEN} {json} {CLOSE}")
    }
}

/// One response: actions streamed in order.
///
/// Made from an action, an array of one kind of action, or a tuple of several kinds:
/// `(say("building"), exec("make"))`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Step(pub(super) Vec<Action>);

/// One thing that the model does within a response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// An assistant message.
    Say(Say),
    /// A reasoning item with a summary of this text.
    Reason(String),
    /// A function call.
    Call(Call),
    /// A call of a custom tool, whose input is free text.
    Custom(Custom),
    /// A pause of the stream in milliseconds.
    WaitMs(u64),
    /// Holds the response until [`super::Model::open`] of that name.
    Gate(String),
    /// An HTTP error in place of the response; only waits and gates may stand before it.
    Http(Failure),
    /// Sets `end_turn` of the finished response.
    EndTurn(bool),
    /// Breaks the connection in the middle of the response.
    Cut,
    /// Ends the response as failed, with this `code` and `message`.
    Fail(Fail),
    /// A header of the response, wherever it stands in the step.
    Header(String, String),
    /// An output item as it is, such as a search that the API did by itself.
    Item(Value),
}

impl Action {
    /// An assistant message in one piece; see [`say`] for more.
    pub fn say(text: impl Into<String>) -> Self {
        say(text).into()
    }

    pub fn reason(text: impl Into<String>) -> Self {
        Self::Reason(text.into())
    }

    /// A function call; see [`call`] for more.
    pub fn call(name: impl Into<String>, args: Value) -> Self {
        call(name, args).into()
    }

    /// A call of a custom tool; see [`custom`] for more.
    pub fn custom(name: impl Into<String>, input: impl Into<String>) -> Self {
        custom(name, input).into()
    }

    #[must_use]
    pub fn wait_ms(ms: u64) -> Self {
        Self::WaitMs(ms)
    }

    pub fn gate(name: impl Into<String>) -> Self {
        Self::Gate(name.into())
    }

    /// An HTTP error with a body like the API's own.
    #[must_use]
    pub fn http(status: u16) -> Self {
        Self::Http(Failure { status, body: None })
    }

    /// An HTTP error with this JSON body.
    #[must_use]
    pub fn http_body(status: u16, body: Value) -> Self {
        let body = Some(body);
        Self::Http(Failure { status, body })
    }

    /// A response that fails after it began.
    pub fn fail(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Fail(Fail { code: code.into(), message: message.into() })
    }

    pub fn header(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self::Header(name.into(), value.into())
    }

    #[must_use]
    pub fn item(item: Value) -> Self {
        Self::Item(item)
    }

    #[must_use]
    pub fn end_turn(end: bool) -> Self {
        Self::EndTurn(end)
    }
}

/// An assistant message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Say {
    pub(super) text: String,
    #[serde(default = "one")]
    pub(super) chunks: usize,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) delay_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) phase: Option<String>,
}

/// An assistant message, to be refined by the methods of [`Say`].
pub fn say(text: impl Into<String>) -> Say {
    Say { text: text.into(), chunks: 1, delay_ms: 0, phase: None }
}

impl Say {
    /// Streams the text in `n` deltas with a pause after each.
    #[must_use]
    pub fn chunks(mut self, n: usize, delay: Duration) -> Self {
        self.chunks = n;
        self.delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// Marks the message: `commentary` or `final_answer`.
    #[must_use]
    pub fn phase(mut self, phase: impl Into<String>) -> Self {
        self.phase = Some(phase.into());
        self
    }
}

/// A function call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    pub(super) name: String,
    pub(super) args: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) namespace: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) call_id: Option<String>,
}

/// A function call, to be refined by the methods of [`Call`].
///
/// The strings in `args` may hold placeholders, see [`super::found`].
pub fn call(name: impl Into<String>, args: Value) -> Call {
    Call { name: name.into(), args, namespace: None, call_id: None }
}

impl Call {
    /// The namespace of the tool, e.g. `collaboration` for `spawn_agent`, `functions` for `wait`.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// The `call_id`, which for a direct call becomes the id of the Codex item; else a fresh one.
    #[must_use]
    pub fn id(mut self, call_id: impl Into<String>) -> Self {
        self.call_id = Some(call_id.into());
        self
    }
}

/// A call of a custom tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Custom {
    pub(super) name: String,
    pub(super) input: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) call_id: Option<String>,
}

/// A call of a custom tool (`apply_patch`, `exec`), to be refined by the methods of [`Custom`].
///
/// The input may hold placeholders, see [`super::found`].
pub fn custom(name: impl Into<String>, input: impl Into<String>) -> Custom {
    Custom { name: name.into(), input: input.into(), call_id: None }
}

impl Custom {
    /// The `call_id`; else a fresh one.
    #[must_use]
    pub fn id(mut self, call_id: impl Into<String>) -> Self {
        self.call_id = Some(call_id.into());
        self
    }
}

/// An HTTP error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    pub(super) status: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) body: Option<Value>,
}

/// Why a response failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fail {
    pub(super) code: String,
    pub(super) message: String,
}

impl From<Say> for Action {
    fn from(say: Say) -> Self {
        Self::Say(say)
    }
}

impl From<Call> for Action {
    fn from(call: Call) -> Self {
        Self::Call(call)
    }
}

impl From<Custom> for Action {
    fn from(custom: Custom) -> Self {
        Self::Custom(custom)
    }
}

macro_rules! step_from_one {
    ($($kind:ty),*) => {$(
        impl From<$kind> for Step {
            fn from(it: $kind) -> Self {
                Self(vec![it.into()])
            }
        }
    )*};
}
step_from_one!(Action, Say, Call, Custom, Exec);

macro_rules! step_from_tuple {
    ($(($($kind:ident)*))*) => {$(
        impl<$($kind: Into<Action>),*> From<($($kind,)*)> for Step {
            #[expect(non_snake_case, reason = "a macro cannot make lower case names")]
            fn from(($($kind,)*): ($($kind,)*)) -> Self {
                Self(vec![$($kind.into()),*])
            }
        }
    )*};
}
step_from_tuple!((A B)(A B C)(A B C D)(A B C D E)(A B C D E F));

impl<A: Into<Action>, const N: usize> From<[A; N]> for Step {
    fn from(actions: [A; N]) -> Self {
        Self(actions.into_iter().map(Into::into).collect())
    }
}

impl From<Vec<Action>> for Step {
    fn from(actions: Vec<Action>) -> Self {
        Self(actions)
    }
}

fn one() -> usize {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}
