//! What a v1 client was told of one session.

use super::text::Tail;
use crate::core::ids::{MessageId, SessionId, ToolCallId};
use crate::core::update::{CallContent, CallOpened, ConfigOption, OptionCategory, State};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(crate) struct SessionView {
    /// The mode that the client believes in.
    pub(crate) mode: Option<String>,
    /// A call that waits for its terminal, to go out together with it.
    pub(crate) held: Option<CallOpened>,
    /// Text streamed so far, per agent message, until the session is idle.
    pub(crate) messages: BTreeMap<MessageId, String>,
    /// Calls that have not ended.
    pub(crate) calls: BTreeMap<ToolCallId, CallView>,
    /// The states of subagents that were told last.
    pub(crate) children: BTreeMap<SessionId, Option<State>>,
}

#[derive(Debug)]
pub(crate) struct CallView {
    pub(crate) title: String,
    /// As the core gave it last.
    pub(crate) content: Vec<CallContent>,
    pub(crate) display: Display,
}

/// How the output of a call's command is shown, decided once, when the terminal appears.
#[derive(Debug)]
pub(crate) enum Display {
    /// A terminal of the client, fed by `_meta`; it was announced with the `tool_call`.
    Live { sent: bool, exited: bool },
    /// Text in the call: the client has no terminals, or this one came after its `tool_call`, as
    /// after an approval, where clients do not look for one any more.
    Text(Tail),
}

impl CallView {
    /// A call without a terminal of the client.
    pub(crate) fn plain(opened: &CallOpened) -> Self {
        Self {
            title: opened.title.clone(),
            content: opened.content.clone(),
            display: Display::Text(Tail::default()),
        }
    }

    /// Whether the last content has this text.
    pub(crate) fn says(&self, text: &str) -> bool {
        self.content.iter().any(|it| matches!(it, CallContent::Text(said) if said == text))
    }

    /// Whether the last content names the call's terminal.
    pub(crate) fn has_terminal(&self) -> bool {
        self.content.iter().any(is_terminal)
    }
}

impl SessionView {
    /// Notes the mode of a complete list; says whether it is news.
    pub(crate) fn note_mode(&mut self, options: &[ConfigOption]) -> bool {
        let mode = mode_option(options).map(|it| &it.current);
        let is_news = mode.is_some() && mode != self.mode.as_ref();
        if is_news {
            self.mode = mode.cloned();
        }
        is_news
    }
}

pub(crate) fn is_terminal(content: &CallContent) -> bool {
    matches!(content, CallContent::Terminal(_))
}

/// The option that v1 calls modes.
pub(crate) fn mode_option(options: &[ConfigOption]) -> Option<&ConfigOption> {
    options.iter().find(|it| it.category == Some(OptionCategory::Mode) && !it.values.is_empty())
}
