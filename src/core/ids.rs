//! Names of things on both sides, as types that do not mix.
//!
//! Does not check or make ids: it only keeps them apart.

use std::fmt;
use std::sync::Arc;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes the id as the wire spelled it.
            pub fn new(text: impl AsRef<str>) -> Self {
                Self(Arc::from(text.as_ref()))
            }

            /// The id as the wire spells it.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

id! {
    /// A Codex thread.
    ThreadId
}
id! {
    /// An ACP session. Spelled like the thread it shows.
    SessionId
}
id! {
    /// One turn of a Codex thread.
    TurnId
}
id! {
    /// One item of a Codex thread (message, command, ...).
    ItemId
}
id! {
    /// An ACP tool call.
    ToolCallId
}
id! {
    /// An ACP terminal. Spelled like the tool call that started it.
    TerminalId
}
id! {
    /// An ACP message; the id space is per message kind.
    MessageId
}
id! {
    /// Codex's handle of a running command: a decimal string, not an OS pid.
    ProcessId
}
id! {
    /// The id we give a prompt (`clientUserMessageId`); an ACP `idempotencyKey` where there is one.
    PromptKey
}

id! {
    /// A sign-in that Codex waits for.
    LoginId
}

impl SessionId {
    /// The session that shows `thread`.
    pub fn of(thread: &ThreadId) -> Self {
        Self(thread.0.clone())
    }

    /// The thread behind this session.
    pub fn thread(&self) -> ThreadId {
        ThreadId(self.0.clone())
    }
}

impl TerminalId {
    /// The terminal of a tool call: same spelling (D2).
    pub fn of(call: &ToolCallId) -> Self {
        Self(call.0.clone())
    }
}

/// Id of a request on either wire: a number or a string, echoed with its JSON type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequestId {
    /// A JSON integer.
    Number(i64),
    /// A JSON string.
    Text(Arc<str>),
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "{text:?}"),
        }
    }
}

/// A request of ours to the client (permission, elicitation).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AskId(pub i64);

/// A request of ours to Codex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodexCallId(pub i64);

/// Which app-server process a message belongs to: counts up with each start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub u32);

/// One stop of one command, from the first signal to the last look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StopId(pub u32);

/// One watch over the processes of one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchId(pub u32);

/// Monotonic time since our start, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick(pub u64);

impl Tick {
    /// This time plus `millis`.
    pub fn plus(self, millis: u64) -> Self {
        Self(self.0.saturating_add(millis))
    }
}

/// JSON text that the core hands through without reading it.
#[derive(Clone, PartialEq, Eq)]
pub struct Json(Arc<str>);

impl Json {
    /// Wraps text that is one valid JSON value; the codecs are the only makers.
    pub fn trusted(text: impl AsRef<str>) -> Self {
        Self(Arc::from(text.as_ref()))
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Json({} bytes)", self.0.len())
    }
}
