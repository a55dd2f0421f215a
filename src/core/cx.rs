//! What a session may touch besides itself, during one step.

use super::effect::Effects;
use super::ends::Ends;
use super::failure::Failure;
use super::ids::{AskId, ItemId, MessageId, SessionId, StopId, ThreadId, Tick};
use super::input::Pressure;
use super::link::Link;
use super::models::Catalogue;
use super::profiles::Profiles;
use super::request::{ClientProfile, TerminalDisplay, Version};
use super::settings::Settings;
use super::subagents::threads::Subagents;
use super::sweeper::Sweeper;
use super::timer::Timers;
use super::update::{Snapshot, Update};
use super::watching::Watches;
use std::collections::{BTreeMap, VecDeque};

/// The rest of the core, borrowed for one step.
pub(crate) struct Cx<'a> {
    pub(crate) now: Tick,
    pub(crate) out: &'a mut Effects,
    pub(crate) link: &'a mut Link,
    pub(crate) timers: &'a mut Timers,
    pub(crate) desk: &'a mut Desk,
    pub(crate) sweeper: &'a mut Sweeper,
    pub(crate) subagents: &'a Subagents,
    pub(crate) models: &'a Catalogue,
    pub(crate) profiles: &'a Profiles,
    pub(crate) client: &'a ClientProfile,
    pub(crate) settings: &'a Settings,
}

impl Cx<'_> {
    pub(crate) fn version(&self) -> Version {
        self.client.version
    }

    pub(crate) fn display(&self) -> TerminalDisplay {
        self.client.terminals
    }
}

/// Shared small accounts: whose question is whose, and who waits for a slow client.
#[derive(Debug)]
pub(crate) struct Desk {
    next_ask: i64,
    asks: BTreeMap<AskId, SessionId>,
    pub(crate) pressure: Pressure,
    /// Output held back while the client does not keep up.
    pub(crate) starved: Vec<(SessionId, ItemId)>,
    /// Sessions whose close is answered.
    pub(crate) closed: Vec<SessionId>,
    next_key: u64,
    next_reading: u64,
    next_stop: u32,
    stops: BTreeMap<StopId, (SessionId, ItemId)>,
    pub(crate) watches: Watches,
    pub(crate) ends: Ends,
    /// What happened in a session that concerns its parent, or its subagents, in order.
    pub(crate) news: VecDeque<News>,
}

/// Told to another session at the end of the step.
#[derive(Debug)]
pub(crate) enum News {
    /// A subagent's client was told this state.
    State {
        parent: SessionId,
        child: SessionId,
        snapshot: Snapshot,
    },
    /// The thread of a session that comes back is loaded: its subagents are named.
    Associate {
        root: SessionId,
    },
    /// The history of a session that comes back is told: its subagents are brought back.
    Restore {
        root: SessionId,
    },
    /// Its resume came to nothing, and something of it works for nobody.
    Close {
        root: SessionId,
    },
    /// Nothing is missing for the answer of its resume.
    Whole {
        root: SessionId,
    },
    /// Everything of a subagent that comes back is known, or cannot be, for this reason.
    Known {
        child: SessionId,
        failure: Option<Failure>,
    },
    /// A subagent has got a message.
    Instructed {
        parent: SessionId,
        child: SessionId,
        message: MessageId,
        text: String,
    },
    /// Both ends of a message are known.
    Matched {
        child: SessionId,
        received: MessageId,
        sent: MessageId,
    },
    /// What was held back of a session is out: its subagents follow.
    Released {
        parent: SessionId,
    },
    /// The user allowed a command of a subagent that is shown in its root.
    Approved {
        thread: ThreadId,
        item: ItemId,
    },
    /// The user went to a page for a thread that is shown in its root.
    Visits {
        root: SessionId,
        thread: ThreadId,
        server: String,
        elicitation: String,
    },
    /// `/stop` of a subagent at work, and of a command in the background of one.
    Cancel {
        child: SessionId,
    },
    Stop {
        child: SessionId,
        item: ItemId,
    },
    /// An update of such a subagent.
    ShowInCall {
        root: SessionId,
        child: SessionId,
        update: Update,
    },
}

impl Default for Desk {
    fn default() -> Self {
        Self {
            next_ask: 0,
            asks: BTreeMap::new(),
            pressure: Pressure::Low,
            starved: Vec::new(),
            closed: Vec::new(),
            next_key: 0,
            next_reading: 0,
            next_stop: 0,
            stops: BTreeMap::new(),
            watches: Watches::default(),
            ends: Ends::default(),
            news: VecDeque::new(),
        }
    }
}

impl Desk {
    /// A new question of `session`.
    pub(crate) fn ask(&mut self, session: &SessionId) -> AskId {
        self.next_ask += 1;
        let ask = AskId(self.next_ask);
        self.asks.insert(ask, session.clone());
        ask
    }

    /// A new question of no session.
    pub(crate) fn ask_beside(&mut self) -> AskId {
        self.next_ask += 1;
        AskId(self.next_ask)
    }

    /// The question is settled: whose it was.
    pub(crate) fn settle(&mut self, ask: AskId) -> Option<SessionId> {
        self.asks.remove(&ask)
    }

    /// Whether this was ever a question of ours.
    pub(crate) fn ever_asked(&self, ask: AskId) -> bool {
        ask.0 >= 1 && ask.0 <= self.next_ask
    }

    /// A new stop of a command.
    pub(crate) fn stop(&mut self, session: &SessionId, item: &ItemId) -> StopId {
        self.next_stop += 1;
        let stop = StopId(self.next_stop);
        self.stops.insert(stop, (session.clone(), item.clone()));
        stop
    }

    /// What a stop is about, while it is not over.
    pub(crate) fn stop_of(&self, stop: StopId) -> Option<(SessionId, ItemId)> {
        self.stops.get(&stop).cloned()
    }

    /// Whether any stop is under way.
    pub(crate) fn has_stops(&self) -> bool {
        !self.stops.is_empty()
    }

    /// The stop is over.
    pub(crate) fn stop_over(&mut self, stop: StopId) {
        self.stops.remove(&stop);
    }

    /// A number for a new reading of a history.
    pub(crate) fn next_reading(&mut self) -> u64 {
        self.next_reading += 1;
        self.next_reading
    }

    /// A number for a new prompt key.
    pub(crate) fn next_key(&mut self) -> u64 {
        self.next_key += 1;
        self.next_key
    }
}
