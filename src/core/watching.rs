//! Watching what is listed: how its processes do, and that it ended where nobody said so (D11).
//!
//! The death of a process ends nothing by itself: it only makes us ask Codex for its list.

use super::Core;
use super::cx::Cx;
use super::effect::{Effect, Effects};
use super::ids::{ItemId, SessionId, Tick, WatchId};
use super::input::Pressure;
use super::session::{Session, Tie};
use super::timer::Timer;
use super::update::Update;
use super::vitals::{WatchAct, WatchReport};
use crate::background::ledger::{Call, Command, Watch};
use std::collections::{BTreeMap, BTreeSet};

/// Milliseconds between two looks at Codex's list while something listed cannot be watched.
const LOOK: u64 = 1_000;

/// All watches that run, and the sessions that have something they cannot watch.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    last: u32,
    running: BTreeMap<WatchId, (SessionId, ItemId)>,
    /// Whose next look at the list is armed.
    looking: BTreeSet<SessionId>,
}

impl Watches {
    fn begin(&mut self, session: &SessionId, item: &ItemId) -> WatchId {
        self.last += 1;
        let watch = WatchId(self.last);
        self.running.insert(watch, (session.clone(), item.clone()));
        watch
    }

    /// Nobody wants to know any more.
    pub(crate) fn end(&mut self, watch: Watch, out: &mut Effects) {
        if let Watch::On(watch) = watch
            && self.running.remove(&watch).is_some()
        {
            out.push(Effect::Watch { watch, act: WatchAct::End });
        }
    }
}

impl Core {
    /// What watching a command told; nothing if the command ended meanwhile.
    pub(super) fn watched(&mut self, now: Tick, watch: WatchId, report: WatchReport, out: &mut Effects) {
        let Some((session, item)) = self.desk.watches.running.get(&watch).cloned() else { return };
        if matches!(report, WatchReport::Ended | WatchReport::NotFound) {
            self.desk.watches.running.remove(&watch);
        }
        self.with(now, &session, out, |session, cx| session.watched(cx, &item, report));
    }

    /// It is time to look for what cannot be watched.
    pub(super) fn look_for_unwatchable(&mut self, now: Tick, session: &SessionId, out: &mut Effects) {
        self.desk.watches.looking.remove(session);
        self.with(now, session, out, Session::look_for_unwatchable);
    }
}

impl Session {
    /// Begins to watch what is listed and is not watched yet.
    pub(crate) fn watch_listed(&mut self, cx: &mut Cx<'_>) {
        if self.tie != Tie::Loaded || self.closing.is_some() {
            return;
        }
        let is_new =
            |call: &Call| call.is_background() && call.live().is_some_and(|live| live.watch == Watch::NotYet);
        for item in self.ledger.items(is_new) {
            let watch = cx.desk.watches.begin(&self.id, &item);
            if let Some(live) = self.ledger.command_mut(&item).and_then(Command::live_mut) {
                live.watch = Watch::On(watch);
            }
            let act = WatchAct::Begin { thread: self.thread.clone(), item };
            cx.out.push(Effect::Watch { watch, act });
        }
    }

    /// Ends every watch: the app-server is gone, or the session is.
    pub(crate) fn unwatch_all(&mut self, cx: &mut Cx<'_>) {
        for item in self.ledger.items(|call| call.live().is_some()) {
            let Some(live) = self.ledger.command_mut(&item).and_then(Command::live_mut) else { continue };
            cx.desk.watches.end(std::mem::replace(&mut live.watch, Watch::NotYet), cx.out);
        }
    }

    /// The client keeps up again: it is told how things are now.
    pub(crate) fn go_on_watching(&mut self, cx: &mut Cx<'_>) {
        for item in self.ledger.items(|call| call.live().is_some_and(|live| live.vitals_wait)) {
            self.tell_vitals(cx, &item);
        }
        self.look_later(cx);
    }

    fn watched(&mut self, cx: &mut Cx<'_>, item: &ItemId, report: WatchReport) {
        let Some(live) = self.ledger.command_mut(item).and_then(Command::live_mut) else { return };
        match report {
            WatchReport::Vitals(vitals) => {
                live.vitals = Some(vitals);
                self.tell_vitals(cx, item);
            }
            // Codex reports an end that it sees itself, and may still be about to.
            WatchReport::Ended | WatchReport::NotFound => {
                live.watch = Watch::Impossible;
                self.look_for_unwatchable(cx);
            }
        }
    }

    fn tell_vitals(&mut self, cx: &mut Cx<'_>, item: &ItemId) {
        let Some(live) = self.ledger.command_mut(item).and_then(Command::live_mut) else { return };
        // A slow client gets the last ones once it keeps up.
        live.vitals_wait = cx.desk.pressure == Pressure::High;
        let (false, Some(vitals)) = (live.vitals_wait, live.vitals) else { return };
        let terminal = live.terminal.terminal().clone();
        self.emit(cx, Update::TerminalVitals { terminal, vitals });
    }

    fn look_for_unwatchable(&mut self, cx: &mut Cx<'_>) {
        if self.has_unwatchable() {
            self.poll_terminals(cx);
            self.look_later(cx);
        }
    }

    /// Under a backlog nothing is asked: an answer that is owed keeps Codex from being held back.
    fn look_later(&mut self, cx: &mut Cx<'_>) {
        let is_due = cx.desk.pressure == Pressure::Low && self.has_unwatchable();
        if is_due && cx.desk.watches.looking.insert(self.id.clone()) {
            cx.timers.arm(cx.now.plus(LOOK), Timer::Unwatchable { session: self.id.clone() });
        }
    }

    /// Something is listed whose end only the list can tell.
    fn has_unwatchable(&self) -> bool {
        let is_it = |call: &Call| {
            call.is_background()
                && call.live().is_some_and(|live| live.watch == Watch::Impossible)
                && call.command().is_some_and(|command| !command.has_held_end())
        };
        self.tie == Tie::Loaded && self.closing.is_none() && self.ledger.has(is_it)
    }
}
