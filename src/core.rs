//! The state machine between the two wires: inputs in, effects out.
//!
//! No I/O, no clock, no async, no JSON: time is a value, what must happen is an `Effect`.

mod account;
mod answers;
mod asides;
pub mod ask;
mod ask_call;
pub mod asked;
mod asking;
mod asks;
pub(crate) mod away;
mod barred;
mod beginning;
mod catching_up;
mod choices;
mod choosing;
pub mod codex;
mod commands;
mod cx;
mod dispatch;
mod early;
pub mod effect;
mod ends;
mod events;
pub mod failure;
pub mod fault;
mod forks;
pub mod gateway;
pub mod goals;
mod grants;
pub(crate) mod heading;
mod history;
pub mod ids;
pub mod input;
pub mod inquiry;
mod items;
mod jobs;
pub mod kept;
mod leaving;
mod leftovers;
pub mod limits;
mod link;
mod listing;
mod local;
mod locals;
mod login;
mod lost;
pub(crate) mod made_for;
mod mcp;
mod method;
pub mod models;
mod opening;
mod options;
mod outage;
mod pages;
mod pieces;
mod place;
mod plan;
mod probe;
mod profiles;
mod prompt_cancel;
mod prompts;
mod ps;
mod questions;
pub mod queued;
mod renewal;
mod replay;
mod report;
pub mod request;
mod requests;
pub mod rules;
mod session;
pub mod settings;
mod shelf;
mod shown;
pub mod sign_in;
mod skills;
mod slash;
mod standing;
mod status;
mod stopping;
pub mod subagents;
mod sweeper;
mod texts;
mod timer;
mod titles;
mod told;
mod tree_diff;
mod turn;
pub mod update;
pub mod vitals;
mod waking;
mod warnings;
mod watching;
mod withdrawal;

use self::account::Account;
use self::cx::{Cx, Desk};
use self::effect::Effects;
use self::ids::{Generation, SessionId, Tick};
use self::input::Input;
use self::leaving::Leaving;
use self::limits::Limits;
use self::link::Link;
use self::models::Catalogue;
use self::opening::Resuming;
use self::profiles::Profiles;
use self::renewal::Renewals;
use self::request::{ClientProfile, Shelf, TerminalDisplay, Ticket, Version};
use self::session::Session;
use self::settings::Settings;
use self::sign_in::TerminalSignIn;
use self::subagents::threads::Subagents;
use self::sweeper::Sweeper;
use self::timer::Timers;
use self::update::Severity;
use std::collections::BTreeMap;

/// The adapter's whole state.
#[derive(Debug)]
pub struct Core {
    settings: Settings,
    client: ClientProfile,
    link: Link,
    timers: Timers,
    desk: Desk,
    models: Catalogue,
    profiles: Profiles,
    account: Account,
    limits: Limits,
    sessions: BTreeMap<SessionId, Session>,
    renewals: Renewals,
    subagents: Subagents,
    /// Resumes whose thread is not loaded yet.
    arriving: BTreeMap<SessionId, Resuming>,
    /// Sessions that were open and whose resume came to nothing.
    staying: Vec<SessionId>,
    /// Resumes that wait for the sweep of a lost app-server.
    late_resumes: Vec<(SessionId, Resuming)>,
    /// What is put away once it is closed.
    shelving: BTreeMap<SessionId, Vec<(Ticket, Shelf)>>,
    /// New sessions that wait for what there is to choose from.
    unanswered: Vec<(Ticket, SessionId)>,
    /// Notices for everybody that came before any session.
    early_notices: Vec<(Severity, String, Option<String>)>,
    /// Words about threads that are being opened.
    early: early::Early,
    sweeper: Sweeper,
    /// App-servers whose sweep is not over, and why they ended.
    losses: BTreeMap<Generation, failure::Failure>,
    leaving: Option<Leaving>,
}

impl Core {
    /// A core that has seen nothing yet.
    pub fn new(settings: Settings) -> Self {
        let client = ClientProfile {
            version: Version::V1,
            terminals: TerminalDisplay::Text,
            elicitation_form: false,
            elicitation_url: false,
            notices: false,
            terminal_sign_in: TerminalSignIn::No,
            gateway: false,
            compaction: false,
            subagents: false,
            name: None,
        };
        Self {
            link: Link::to(settings.connect.clone()),
            settings,
            client,
            timers: Timers::default(),
            desk: Desk::default(),
            models: Catalogue::default(),
            profiles: Profiles::default(),
            account: Account::default(),
            limits: Limits::default(),
            sessions: BTreeMap::new(),
            renewals: Renewals::default(),
            subagents: Subagents::default(),
            arriving: BTreeMap::new(),
            staying: Vec::new(),
            late_resumes: Vec::new(),
            shelving: BTreeMap::new(),
            unanswered: Vec::new(),
            early_notices: Vec::new(),
            early: early::Early::default(),
            sweeper: Sweeper::default(),
            losses: BTreeMap::new(),
            leaving: None,
        }
    }

    /// Takes one input; what has to be done is added to `out`, in order.
    pub fn step(&mut self, now: Tick, input: Input, out: &mut Effects) {
        self.dispatch(now, input, out);
        self.let_stay(now, out);
        if self.is_leaving() && self.link.address().is_some() {
            self.part(now, out);
        }
        self.settle(now, out);
        if self.is_leaving() && self.sessions.is_empty() && !self.link.has_unwanted_copies() {
            self.end_codex(now, out);
        }
        self.watch_codex(now);
    }

    /// Whether Codex has to be heard at once: it owes an answer, or a stop, a close or our own end is
    /// under way. Its silence would be taken for a hang, and their bounds for the truth.
    pub fn needs_codex(&self) -> bool {
        self.leaving.is_some()
            || self.link.awaited().is_some()
            || self.account.is_awaited()
            || self.desk.has_stops()
            || self.sessions.values().any(|session| session.closing.is_some())
    }

    /// When `Input::Deadline` is due next, and why.
    pub fn next_deadline(&self) -> Option<(Tick, &'static str)> {
        self.timers.next()
    }

    fn split<'a>(
        &'a mut self,
        now: Tick,
        out: &'a mut Effects,
    ) -> (&'a mut BTreeMap<SessionId, Session>, Cx<'a>) {
        let cx = Cx {
            now,
            out,
            link: &mut self.link,
            timers: &mut self.timers,
            desk: &mut self.desk,
            sweeper: &mut self.sweeper,
            subagents: &self.subagents,
            models: &self.models,
            profiles: &self.profiles,
            client: &self.client,
            settings: &self.settings,
        };
        (&mut self.sessions, cx)
    }
}
