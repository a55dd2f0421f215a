//! Protocol version 1: what leaves us.
//!
//! v1 cannot replace text nor attach a terminal later, so the encoder remembers what it has sent.

mod ask;
mod convert;
mod result;
mod subagent;
mod text;
mod update;
mod view;

pub(crate) use self::ask::fits;
use self::view::SessionView;
use crate::core::ids::SessionId;
use crate::core::request::{ClientProfile, TerminalDisplay};
use std::collections::BTreeMap;

/// What the client of this connection was sent.
#[derive(Debug)]
pub(crate) struct Encoder {
    terminals: TerminalDisplay,
    notices: bool,
    compaction: bool,
    sessions: BTreeMap<SessionId, SessionView>,
}

impl Encoder {
    /// Nothing was sent yet.
    pub(crate) fn new(profile: &ClientProfile) -> Self {
        Self {
            terminals: profile.terminals,
            notices: profile.notices,
            compaction: profile.compaction,
            sessions: BTreeMap::new(),
        }
    }

    fn session(&mut self, session: &SessionId) -> &mut SessionView {
        self.sessions.entry(session.clone()).or_default()
    }
}
