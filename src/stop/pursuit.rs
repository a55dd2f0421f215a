//! One command that is being ended: asked gently, watched, then ended for good.
//!
//! Decides from look to look what is sent and what is reported. Owns no thread and no clock.

use super::place;
use super::signal::{self, Sent, Signal};
use super::tree::{ProcessKey, Processes, Role, Scope};
use crate::core::input::{Gentle, StopReport};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::time::Duration;
use tokio::time::Instant;

/// Between two looks at processes that were asked to end.
const WATCH: Duration = Duration::from_millis(50);
/// Between two looks while it is ended for good, and before a look that found nothing is believed.
const POLL: Duration = Duration::from_millis(20);
/// The longest between two looks at forks that may become programs of their own; the first comes after `WATCH`.
const SETTLE_MAX: Duration = Duration::from_secs(1);
/// The longest that is waited for processes in the middle of their exec before nothing is believed to be there.
const UNREAD_MAX: Duration = Duration::from_millis(500);
/// A process may fork between the look and the signal.
const KILL_ROUNDS: u32 = 3;

/// How long is waited while a command is ended for good.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// For handlers of the last SIGTERM.
    pub(super) term: Duration,
    /// For each SIGKILL to take effect.
    pub(super) kill: Duration,
}

pub(super) const BOUNDS: Bounds =
    Bounds { term: Duration::from_millis(500), kill: Duration::from_millis(500) };

/// The processes of one command.
#[derive(Debug)]
pub(super) struct Pursuit {
    scope: Scope,
    bounds: Bounds,
    stage: Stage,
    /// When to come back; `None` while nothing is to be done.
    due: Option<Instant>,
    /// The last look found nothing.
    doubt: Option<Doubt>,
    leader: Option<Leader>,
    /// Everything that was ever seen of it, with the command line of then.
    seen: BTreeMap<ProcessKey, Vec<OsString>>,
    /// Whose end calls for the next full look.
    watched: BTreeSet<ProcessKey>,
    asked: BTreeSet<ProcessKey>,
    /// What may have been a fork before its exec when it was asked: a handler inherited from the
    /// parent swallows the request, and is forgotten by the exec.
    forks: BTreeSet<ProcessKey>,
    escaped: BTreeSet<ProcessKey>,
    killed: BTreeSet<ProcessKey>,
}

/// A process in the middle of its exec shows no environment: the next look decides, or the first in which none of these
/// is in that state any more.
#[derive(Debug)]
struct Doubt {
    unread: BTreeSet<ProcessKey>,
    until: Instant,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// Nothing is found yet.
    Seeking,
    /// All that was found is asked to end. When forks are looked at again, and how long that took.
    Asked {
        settle: Option<(Instant, Duration)>,
    },
    /// Nothing was found, and nothing is done until told so.
    Idle,
    /// To be ended for good.
    Finishing,
    Terminated {
        until: Instant,
    },
    Killed {
        rounds: u32,
        until: Instant,
    },
}

/// The process that Codex started.
#[derive(Clone, Copy, Debug)]
struct Leader {
    key: ProcessKey,
    leads_session: bool,
    with: Gentle,
    /// Process group of the command itself, which a sandbox moves to another one.
    home: Option<u32>,
}

/// What to do with a pursuit after a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Come back when it is due.
    Nothing,
    Report(StopReport),
    /// The last report.
    End(StopReport),
}

impl Pursuit {
    /// A pursuit whose first look is due at once.
    pub(super) fn new(scope: Scope, bounds: Bounds, now: Instant) -> Self {
        Self {
            scope,
            bounds,
            stage: Stage::Seeking,
            due: Some(now),
            doubt: None,
            leader: None,
            seen: BTreeMap::new(),
            watched: BTreeSet::new(),
            asked: BTreeSet::new(),
            forks: BTreeSet::new(),
            escaped: BTreeSet::new(),
            killed: BTreeSet::new(),
        }
    }

    /// When to come back.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// What is left is ended for good; due at once.
    pub(super) fn finish(&mut self, now: Instant) {
        match self.stage {
            Stage::Seeking | Stage::Asked { .. } | Stage::Idle => {
                self.stage = Stage::Finishing;
                self.doubt = None;
                self.due = Some(now);
            }
            Stage::Finishing | Stage::Terminated { .. } | Stage::Killed { .. } => {}
        }
    }

    /// Whether a full look is needed; else looks at the known processes only, and is due later.
    pub(super) fn needs_look(&mut self, processes: &mut Processes, now: Instant) -> bool {
        let (poll, until) = match self.stage {
            Stage::Idle => return false,
            Stage::Seeking | Stage::Finishing => return true,
            Stage::Asked { settle } => (WATCH, settle.map(|(at, _)| at)),
            Stage::Terminated { until } | Stage::Killed { until, .. } => (POLL, Some(until)),
        };
        if self.doubt.is_some() || until.is_some_and(|until| until <= now) {
            return true;
        }
        self.due = Some(now + poll);
        processes.alive(self.watched.iter().copied()).is_empty()
    }

    /// After a full look: sends what is to be sent.
    pub(super) fn looked(&mut self, processes: &mut Processes, now: Instant) -> Found {
        let members = self.members(processes);
        for key in members.keys() {
            let line = || processes.command(*key).unwrap_or_default().to_vec();
            self.seen.entry(*key).or_insert_with(line);
        }
        if members.is_empty() && self.is_doubtful(processes, now) {
            self.due = Some(now + POLL);
            return Found::Nothing;
        }
        self.doubt = None;
        let found = self.act(processes, &members, now);
        let is_asked = matches!(self.stage, Stage::Asked { .. });
        self.watched = members.into_keys().filter(|key| !is_asked || self.asked.contains(key)).collect();
        found
    }

    fn is_doubtful(&mut self, processes: &Processes, now: Instant) -> bool {
        let unread = processes.unread();
        match &mut self.doubt {
            None => {
                self.doubt = Some(Doubt { unread, until: now + UNREAD_MAX });
                true
            }
            Some(doubt) => {
                doubt.unread.retain(|key| unread.contains(key));
                !doubt.unread.is_empty() && now < doubt.until
            }
        }
    }

    fn act(
        &mut self,
        processes: &mut Processes,
        members: &BTreeMap<ProcessKey, Role>,
        now: Instant,
    ) -> Found {
        let is_nothing = members.is_empty();
        match self.stage {
            Stage::Idle => Found::Nothing,
            Stage::Seeking => {
                let n_asked = self.ask(processes, members);
                match self.leader.filter(|_| members.values().any(|role| *role != Role::Wrapper)) {
                    // A sandbox alone cannot be asked.
                    None => {
                        (self.stage, self.due) = (Stage::Idle, None);
                        Found::Report(StopReport::NotFound)
                    }
                    Some(leader) => {
                        let settle = (!self.forks.is_empty()).then(|| (now + WATCH, WATCH));
                        (self.stage, self.due) = (Stage::Asked { settle }, Some(now + POLL));
                        Found::Report(StopReport::Signalled { with: leader.with, members: n_asked })
                    }
                }
            }
            _ if is_nothing => {
                Found::End(StopReport::Gone { escaped: count(&self.escaped), killed: count(&self.killed) })
            }
            Stage::Asked { settle } if self.asked.iter().any(|key| members.contains_key(key)) => {
                // What is new may be at work for a handler: it is asked after those before it ended.
                self.ask_execed(processes, members);
                let wait = settle.map(|(_, waited)| SETTLE_MAX.min(waited * 4));
                let wait = wait.filter(|_| !self.forks.is_empty());
                let settle = wait.map(|wait| (now + wait, wait));
                (self.stage, self.due) = (Stage::Asked { settle }, Some(now + WATCH));
                Found::Nothing
            }
            Stage::Asked { .. } => {
                self.ask(processes, members);
                let settle = (!self.forks.is_empty()).then(|| (now + WATCH, WATCH));
                (self.stage, self.due) = (Stage::Asked { settle }, Some(now + WATCH));
                Found::Nothing
            }
            Stage::Finishing => {
                for key in asked_gently(members) {
                    request(processes, key, members[&key], Signal::Term);
                }
                (self.stage, self.due) =
                    (Stage::Terminated { until: now + self.bounds.term }, Some(now + POLL));
                Found::Nothing
            }
            Stage::Terminated { .. } => {
                self.kill(processes, members, 1, now);
                Found::Nothing
            }
            Stage::Killed { rounds, .. } if rounds < KILL_ROUNDS => {
                self.kill(processes, members, rounds + 1, now);
                Found::Nothing
            }
            Stage::Killed { .. } => Found::End(StopReport::Left {
                left: u32::try_from(members.len()).unwrap_or(u32::MAX),
                escaped: count(&self.escaped),
                killed: count(&self.killed),
            }),
        }
    }

    /// Asks those that were not asked yet, the leader first: a shell whose child ends before it
    /// heard of the end goes on with its script. How many took it.
    fn ask(&mut self, processes: &mut Processes, members: &BTreeMap<ProcessKey, Role>) -> u32 {
        let Some(leader) = self.leader else { return 0 };
        let mut order: Vec<ProcessKey> =
            asked_gently(members).filter(|key| !self.asked.contains(key)).collect();
        order.sort_by_key(|key| (*key != leader.key, key.started, key.pid));
        // A shell that was interrupted while it waits ends if what it waits for was interrupted as well: between
        // two signals, a loop would have put another process there.
        let interrupted = match leader.with {
            Gentle::Int if order.first() == Some(&leader.key) => {
                signal::send_to_group(processes, leader.key, Signal::Int) == Sent::Delivered
            }
            Gentle::Int | Gentle::Term => false,
        };
        let mut n_asked = 0;
        for key in order {
            self.asked.insert(key);
            if interrupted && place::group(key.pid).is_none_or(|group| group == leader.key.pid) {
                n_asked += 1;
                continue;
            }
            if self.may_be_fork(key) {
                self.forks.insert(key);
            }
            // Some end of the end of those before them.
            n_asked += u32::from(request(processes, key, members[&key], leader.signal()) != Sent::Refused);
        }
        n_asked
    }

    /// Asks those once more that became another program since they were asked.
    fn ask_execed(&mut self, processes: &mut Processes, members: &BTreeMap<ProcessKey, Role>) {
        let Some(leader) = self.leader else { return };
        self.forks.retain(|key| {
            let Some(role) = members.get(key) else { return false };
            let is_same = processes.command(*key) == self.seen.get(key).map(Vec::as_slice);
            if !is_same {
                request(processes, *key, *role, leader.signal());
            }
            is_same
        });
    }

    /// Whether it has the command line of another one: a subshell has too, and keeps it.
    fn may_be_fork(&self, key: ProcessKey) -> bool {
        let Some(line) = self.seen.get(&key) else { return false };
        line.is_empty() || self.seen.iter().any(|(other, it)| *other != key && it == line)
    }

    fn kill(
        &mut self,
        processes: &mut Processes,
        members: &BTreeMap<ProcessKey, Role>,
        round: u32,
        now: Instant,
    ) {
        for key in members.keys() {
            if signal::send(processes, *key, Signal::Kill) == Sent::Delivered {
                self.killed.insert(*key);
            }
        }
        self.stage = Stage::Killed { rounds: round, until: now + self.bounds.kill };
        self.due = Some(now + POLL);
    }

    /// Everything alive that carries the marker, is in the leader's session or descends from the leader,
    /// and what once did.
    fn members(&mut self, processes: &Processes) -> BTreeMap<ProcessKey, Role> {
        let mut members = processes.members(&self.scope);
        self.leader = self.leader.or_else(|| Leader::among(&members, processes, self.scope.app_server));
        let Some(leader) = self.leader else {
            return members;
        };
        // A session id is nobody else's for as long as a process that we know is in that session.
        let mut known = self.seen.keys().chain(members.keys());
        let is_in_use = known.any(|key| processes.session(*key) == Some(leader.key.pid));
        if leader.leads_session && is_in_use {
            members.extend(processes.in_session(leader.key.pid, &self.scope));
        }
        members.extend(processes.below(leader.key, &self.scope));
        members.extend(processes.living(self.seen.keys()));
        members.retain(|key, _| key.started >= leader.key.started);
        self.escaped.extend(asked_gently(&members).filter(|key| leader.was_left_by(*key)));
        members
    }
}

impl Leader {
    fn among(
        members: &BTreeMap<ProcessKey, Role>,
        processes: &Processes,
        app_server: Option<u32>,
    ) -> Option<Self> {
        let leads_session = |key: &ProcessKey| processes.session(*key) == Some(key.pid);
        let age = |key: &ProcessKey| (key.started, key.pid);
        let parent = |key: &ProcessKey| processes.parent(*key);
        let leader = processes.leader(members, app_server)?;
        let is_wrapper =
            |pid: u32| members.iter().any(|(key, role)| key.pid == pid && *role == Role::Wrapper);
        let is_inside = |key: &ProcessKey| parent(key).is_some_and(is_wrapper);
        let home = match is_wrapper(leader.pid) {
            true => asked_gently(members).filter(is_inside).min_by_key(age),
            false => Some(leader),
        };
        Some(Self {
            key: leader,
            leads_session: leads_session(&leader),
            with: if place::has_tty(leader.pid) { Gentle::Int } else { Gentle::Term },
            home: home.and_then(|key| place::group(key.pid)),
        })
    }

    fn signal(&self) -> Signal {
        match self.with {
            Gentle::Int => Signal::Int,
            Gentle::Term => Signal::Term,
        }
    }

    fn was_left_by(&self, key: ProcessKey) -> bool {
        self.home.zip(place::group(key.pid)).is_some_and(|(home, group)| home != group)
    }
}

/// A sandbox passes no signal on: only what runs in it can be asked.
fn asked_gently(members: &BTreeMap<ProcessKey, Role>) -> impl Iterator<Item = ProcessKey> {
    members.iter().filter(|(_, role)| **role != Role::Wrapper).map(|(key, _)| *key)
}

fn request(processes: &mut Processes, key: ProcessKey, role: Role, signal: Signal) -> Sent {
    let sent = signal::send(processes, key, signal);
    if role == Role::Stopped && sent == Sent::Delivered {
        signal::send(processes, key, Signal::Continue);
    }
    sent
}

fn count(keys: &BTreeSet<ProcessKey>) -> u32 {
    u32::try_from(keys.len()).unwrap_or(u32::MAX)
}
