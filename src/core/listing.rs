//! Reads `backgroundTerminals/list` and squares it with the ledger.
//!
//! The list confirms life and finds processes; it never decides who is listed (D3).

use super::codex::{CodexRequest, LiveTerminal};
use super::cx::Cx;
use super::effect::Anomaly;
use super::ids::{ItemId, Tick};
use super::link::Purpose;
use super::opening::Resuming;
use super::session::{Session, Tie};
use super::stopping::Closing;
use super::timer::Timer;
use super::turn::Front;
use super::update::EndedBy;
use crate::background::ledger::Call;
use std::collections::{BTreeMap, BTreeSet};

/// How long a command may be missing before its end counts as unseen, in ms (D11); so long must Codex have told of no
/// other end either: a busy one takes commands off its list seconds before it says how they ended.
const MISSING: u64 = 1_000;
/// How many times longer than its answer took a busy Codex is waited for. One that has nothing to do answers in 1 to 5 ms.
const BUSY: u64 = 20;
/// How long at most.
const MISSING_MAX: u64 = 15_000;
/// How soon what is missing is looked for again, in ms, at least.
const LOOK_AGAIN: u64 = 50;
/// How soon a command that was just allowed is looked for again, in ms.
const STARTING: u64 = 200;
/// Bytes of output kept for commands that are not known yet.
const ORPHAN_BYTES: usize = 256 * 1024;

/// Stands where output is left out until the end of the command brings it.
const CUT: &str = "\n... output left out until the end ...\n";

/// One reading of the list, page by page.
#[derive(Debug)]
pub(crate) struct Listing {
    pages: Vec<LiveTerminal>,
    /// Ledger order at the time of asking: what came later cannot be in it.
    asked_at: u64,
    /// When it was asked for.
    asked: Tick,
    /// Its number: one that was asked for by a session of this name that is closed by now is nobody's.
    number: u64,
}

/// What a session knows of its readings.
#[derive(Debug, Default)]
pub(crate) struct Polls {
    /// The number of the reading under way.
    running: Option<u64>,
    again: bool,
    /// A resume waits for it.
    for_resume: bool,
    /// When Codex last told the end of a command.
    ended: Option<Tick>,
    orphans: BTreeMap<ItemId, String>,
    orphan_bytes: usize,
    /// Commands of which a piece was left out.
    cut: BTreeSet<ItemId>,
}

impl Polls {
    /// Keeps output of a command that is not known yet.
    pub(crate) fn keep_orphan(&mut self, item: &ItemId, text: &str) {
        // A piece that is left out would be a silent hole: nothing is kept after it.
        if self.cut.contains(item) {
            return;
        }
        if self.orphan_bytes + text.len() > ORPHAN_BYTES {
            self.cut.insert(item.clone());
            if let Some(kept) = self.orphans.get_mut(item) {
                self.orphan_bytes += CUT.len();
                kept.push_str(CUT);
            }
            return;
        }
        self.orphan_bytes += text.len();
        self.orphans.entry(item.clone()).or_default().push_str(text);
    }

    pub(crate) fn take_orphan(&mut self, item: &ItemId) -> String {
        self.cut.remove(item);
        let text = self.orphans.remove(item).unwrap_or_default();
        self.orphan_bytes -= text.len();
        text
    }

    /// Codex told the end of a command: those of others may wait behind it.
    pub(crate) fn end_told(&mut self, now: Tick) {
        self.ended = Some(now);
    }

    /// Whatever is being read was not asked for by the resume that is under way now.
    pub(crate) fn forget_resume(&mut self) {
        self.for_resume = false;
    }

    /// No answer will come any more.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }
}

impl Session {
    /// Asks for the list; a question that is already on its way is asked again afterwards.
    pub(crate) fn poll_terminals(&mut self, cx: &mut Cx<'_>) {
        let is_awaited = self.resuming.as_ref().is_some_and(Resuming::awaits_list);
        if self.tie != Tie::Loaded && is_awaited {
            // Somebody else had it unloaded while it came back: nothing of it runs.
            return self.resume_listed(cx);
        }
        if self.tie != Tie::Loaded || self.closing.as_ref().is_some_and(Closing::is_done) {
            return;
        }
        if self.polls.running.is_some() {
            self.polls.again = true;
            return;
        }
        let number = cx.desk.next_reading();
        self.polls.running = Some(number);
        self.polls.for_resume = is_awaited;
        let asked_at = self.ledger.seq();
        let listing = Listing { pages: Vec::new(), asked_at, asked: cx.now, number };
        self.ask_page(cx, listing, None);
    }

    fn ask_page(&mut self, cx: &mut Cx<'_>, listing: Listing, cursor: Option<String>) {
        let request = CodexRequest::TerminalsList { thread: self.thread.clone(), cursor };
        cx.link.call(Purpose::Terminals { session: self.id.clone(), listing }, request, cx.out);
    }

    /// One page is here.
    pub(crate) fn terminals_page(
        &mut self,
        cx: &mut Cx<'_>,
        mut listing: Listing,
        terminals: Vec<LiveTerminal>,
        next: Option<String>,
    ) {
        if self.polls.running != Some(listing.number) {
            return;
        }
        listing.pages.extend(terminals);
        match next {
            Some(_) => self.ask_page(cx, listing, next),
            None => self.terminals_known(cx, &listing),
        }
    }

    /// Codex could not say; the next occasion asks again.
    pub(crate) fn terminals_refused(&mut self, cx: &mut Cx<'_>, listing: &Listing, message: String) {
        cx.out.anomaly(Anomaly::CodexRefused { method: "thread/backgroundTerminals/list", message });
        if self.polls.running != Some(listing.number) {
            return;
        }
        self.polls.running = None;
        self.is_sure(cx);
        if std::mem::take(&mut self.polls.for_resume) {
            self.resume_listed(cx);
        } else if std::mem::take(&mut self.polls.again) {
            self.poll_terminals(cx);
        }
    }

    fn terminals_known(&mut self, cx: &mut Cx<'_>, listing: &Listing) {
        self.polls.running = None;
        let for_resume = std::mem::take(&mut self.polls.for_resume);
        for it in &listing.pages {
            // A list may be older than an end that was reported meanwhile.
            if !self.ledger.has_closed(&it.item) {
                self.process_found(cx, it);
            }
        }
        let named: BTreeSet<_> = listing.pages.iter().map(|it| &it.item).collect();
        let is_expected = |call: &Call| {
            call.seq <= listing.asked_at
                && call.command().is_some_and(|command| {
                    !command.own_shell
                        && !command.has_held_end()
                        && (command.approved || command.live().is_some())
                })
        };
        let mut recheck = None;
        let patience = MISSING + BUSY * (cx.now.0 - listing.asked.0);
        for item in self.ledger.items(is_expected) {
            if named.contains(&item) {
                continue;
            }
            let now = cx.now;
            let Some(missing) = self.missing_since(&item) else { continue };
            let since = *missing.get_or_insert(now);
            let told = self.polls.ended.unwrap_or(since).max(since);
            let quiet = now.0 - told.0;
            let is_given_up = quiet >= patience || now.0 - since.0 >= MISSING_MAX;
            // The end of an allowed command is held back while another question is open.
            let may_be_held = matches!(self.front, Front::Active(_))
                && self.ledger.get(&item).is_some_and(|call| call.live().is_none());
            if is_given_up && !may_be_held {
                cx.out.anomaly(Anomaly::SilentEnd { thread: self.thread.clone(), item: item.clone() });
                self.end_unseen(cx, &item, EndedBy::Codex, "codex no longer lists it and reported no end");
            } else {
                // A command that has just been allowed is still being started.
                let is_starting = self.ledger.get(&item).is_some_and(|call| call.live().is_none());
                let left = patience.saturating_sub(quiet).clamp(LOOK_AGAIN, MISSING);
                let wait = if is_starting { STARTING } else { left };
                recheck = Some(recheck.map_or(wait, |other: u64| other.min(wait)));
            }
        }
        if let Some(wait) = recheck {
            cx.timers.arm(cx.now.plus(wait), Timer::Recheck { session: self.id.clone() });
        }
        if std::mem::take(&mut self.polls.again) {
            self.poll_terminals(cx);
        }
        self.is_sure(cx);
        if for_resume {
            self.resume_listed(cx);
        }
        self.report(cx);
        self.turn_may_finish(cx);
        self.close_if_done(cx);
    }
}
