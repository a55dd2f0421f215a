//! What the adapter says, in words of neither protocol version.

/// One thing that an editor would act on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    /// More of a message of the agent.
    Said {
        message: String,
        text: String,
    },
    /// A whole message of the agent, in place of what was said of it.
    SaidWhole {
        message: String,
        text: String,
    },
    /// A command runs, in a terminal of this id.
    Started {
        terminal: String,
        command: String,
    },
    Output {
        terminal: String,
        bytes: Vec<u8>,
    },
    /// The whole output, in place of what was sent of it.
    WholeOutput {
        terminal: String,
        bytes: Vec<u8>,
    },
    Ended {
        terminal: String,
        end: End,
    },
    /// The turn runs, or waits for the user.
    Busy {
        background: Option<Vec<String>>,
    },
    /// No turn runs. `reason` only where a turn just ended.
    Idle {
        reason: Option<String>,
        background: Option<Vec<String>>,
    },
    /// Nobody knows what runs: the adapter lost Codex.
    Lost,
    /// The slash commands on offer.
    Commands(Vec<String>),
    Notice(String),
}

/// How a command ended: ACP's exit status, and the adapter's account of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct End {
    pub(crate) code: Option<i64>,
    pub(crate) signal: Option<String>,
    /// Who ended it: `itself`, `client`, `close`, ...
    pub(crate) by: Option<String>,
    pub(crate) reason: Option<String>,
}

impl End {
    /// In plain words: `SIGTERM, stopped by you`.
    pub(crate) fn in_words(&self) -> String {
        let how = match (&self.signal, self.code) {
            (Some(signal), _) => signal.clone(),
            (None, Some(code)) => format!("exit code {code}"),
            (None, None) => "nobody saw how".to_owned(),
        };
        let by = match self.by.as_deref() {
            Some("client") => "stopped by you",
            Some("close") => "stopped by the close of the session",
            Some("cancel") => "stopped with its turn",
            Some("codex") => "ended by Codex",
            Some("appServerLost") => "lost with Codex",
            Some(_) | None => "by itself",
        };
        format!("{how}, {by}")
    }
}
