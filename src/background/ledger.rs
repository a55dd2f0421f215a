//! Ledger of the calls of one session: which are open, which have ended.
//!
//! Owns the order open .. output* .. close per call. Does not know who reads it.

use super::exit::Stop;
use super::output::Output;
use super::standing::Standing;
use super::typed::Typed;
use crate::core::ids::{ItemId, ProcessId, TerminalId, Tick, ToolCallId, TurnId, WatchId};
use crate::core::vitals::Vitals;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Ended items whose late messages are still recognised.
const ENDED_KEPT: usize = 8_192;

/// All calls of a session.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    open: BTreeMap<ItemId, Call>,
    closed: BTreeMap<ItemId, TurnId>,
    calls: BTreeSet<ToolCallId>,
    /// The ended ones, oldest first: their names are kept for a while.
    ended: VecDeque<(ItemId, Option<ToolCallId>)>,
    /// How many have ended in all.
    n_ended: u64,
    seq: u64,
}

/// A moment in the order of the ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndedMark(u64);

/// One open call.
#[derive(Debug)]
pub(crate) struct Call {
    /// Its name at the client.
    pub(crate) call: ToolCallId,
    /// The turn that started it.
    pub(crate) turn: TurnId,
    /// Order of opening.
    pub(crate) seq: u64,
    pub(crate) work: Work,
}

/// What a call is.
#[derive(Debug)]
pub(crate) enum Work {
    /// A tool without a process.
    Tool,
    Command(Box<Command>),
    /// The context is being compacted.
    Compaction,
    /// Outlives its turn without a process: listed as long as it is open.
    Standing(Box<Standing>),
}

/// A command.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) command: String,
    pub(crate) cwd: String,
    /// The user's own shell: never listed (D2).
    pub(crate) own_shell: bool,
    pub(crate) life: Life,
    /// The user allowed it: it lives, though no list has named its process yet.
    pub(crate) approved: bool,
    /// A step of its turn ended since: it is in the background once its process is known (D3).
    pub(crate) handed_back: bool,
    /// Why we end it; written down before anything is sent.
    pub(crate) stop: Option<Stop>,
    /// The last turn in which the model wrote to it or asked for its output.
    pub(crate) looked_at: Option<TurnId>,
    /// When it started, in milliseconds since the epoch, where Codex said.
    pub(crate) started: Option<i64>,
    /// When a complete list first did not name it.
    pub(crate) missing: Option<Tick>,
}

/// Where a command stands. There is no way back up.
#[derive(Debug)]
pub(crate) enum Life {
    /// Waits for an approval: no process, no terminal.
    Waiting,
    /// Runs, and the foreground waits on it.
    Running(Live),
    /// Runs on its own: listed.
    Background(Live),
}

/// A running command.
#[derive(Debug)]
pub(crate) struct Live {
    /// Proof that the client knows the terminal.
    pub(crate) terminal: Announced,
    /// `None` until a list names it (after an approval).
    pub(crate) process: Option<ProcessId>,
    pub(crate) output: Output,
    /// When output was last sent.
    pub(crate) flushed: Option<Tick>,
    /// A timer is armed for the rest.
    pub(crate) armed: bool,
    pub(crate) watch: Watch,
    /// How its processes did at last.
    pub(crate) vitals: Option<Vitals>,
    /// The client was not told of them, because it does not keep up.
    pub(crate) vitals_wait: bool,
    pub(crate) typed: Typed,
}

/// Whether the processes of a command are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    NotYet,
    On(WatchId),
    /// They were not found, or the leader is gone.
    Impossible,
}

/// A terminal that the client has been told of. Only the announcing function makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Announced(TerminalId);

impl Announced {
    /// To be called with the update that announces it, nowhere else.
    pub(crate) fn by_update(terminal: TerminalId) -> Self {
        Self(terminal)
    }

    pub(crate) fn terminal(&self) -> &TerminalId {
        &self.0
    }
}

/// One entry of the background list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Listed<'a> {
    Terminal(&'a Announced),
    /// Standing work is announced where it is opened.
    Standing(&'a ToolCallId),
}

impl Listed<'_> {
    /// The tool call that shows it.
    pub(crate) fn call(&self) -> ToolCallId {
        match self {
            Self::Terminal(it) => ToolCallId::new(it.terminal().as_str()),
            Self::Standing(call) => (*call).clone(),
        }
    }
}

/// What an item id means to the ledger.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    New,
    Open,
    /// Ended in this turn or before.
    Closed,
}

impl Ledger {
    /// Whether `item` of `turn` is known. An id that comes again in another turn is new.
    pub(crate) fn seen(&self, item: &ItemId, turn: &TurnId) -> Seen {
        if self.open.contains_key(item) {
            return Seen::Open;
        }
        match self.closed.get(item) {
            Some(closed_in) if closed_in == turn => Seen::Closed,
            Some(_) | None => Seen::New,
        }
    }

    /// Whether `item` ended, in whatever turn.
    pub(crate) fn has_closed(&self, item: &ItemId) -> bool {
        self.closed.contains_key(item) && !self.open.contains_key(item)
    }

    /// Opens a call and returns its name at the client: the item id, with a suffix if that name
    /// is taken (D2).
    pub(crate) fn open(&mut self, item: &ItemId, turn: &TurnId, work: Work) -> ToolCallId {
        let call = self.fresh_name(item);
        self.seq += 1;
        let entry = Call { call: call.clone(), turn: turn.clone(), seq: self.seq, work };
        self.open.insert(item.clone(), entry);
        call
    }

    /// A name for `item` that no call of this session has yet; it is taken from now on.
    pub(crate) fn fresh_name(&mut self, item: &ItemId) -> ToolCallId {
        let mut call = ToolCallId::new(item.as_str());
        let mut n = 2;
        while !self.calls.insert(call.clone()) {
            call = ToolCallId::new(format!("{item}#{n}"));
            n += 1;
        }
        call
    }

    /// This moment.
    pub(crate) fn ended_mark(&self) -> EndedMark {
        EndedMark(self.n_ended)
    }

    /// A replay tells the calls again that had ended by then, under their names.
    pub(crate) fn forget_closed(&mut self, by: EndedMark) {
        let n_later = usize::try_from(self.n_ended - by.0).unwrap_or(usize::MAX).min(self.ended.len());
        let later = self.ended.split_off(self.ended.len() - n_later);
        self.ended = later;
        let kept: BTreeSet<&ItemId> = self.ended.iter().map(|(item, _)| item).collect();
        self.closed.retain(|item, _| kept.contains(item));
        let ended = self.ended.iter().filter_map(|(_, call)| call.clone());
        self.calls = self.open.values().map(|call| call.call.clone()).chain(ended).collect();
    }

    /// Takes a call out; nothing of it can be said after its closing update.
    pub(crate) fn close(&mut self, item: &ItemId) -> Option<Call> {
        let call = self.open.remove(item)?;
        self.keep_ended(item, &call.turn, Some(call.call.clone()));
        Some(call)
    }

    fn keep_ended(&mut self, item: &ItemId, turn: &TurnId, call: Option<ToolCallId>) {
        self.closed.insert(item.clone(), turn.clone());
        self.n_ended += 1;
        self.ended.push_back((item.clone(), call));
        if self.ended.len() > ENDED_KEPT
            && let Some((item, call)) = self.ended.pop_front()
        {
            self.closed.remove(&item);
            if let Some(call) = call {
                self.calls.remove(&call);
            }
        }
    }

    /// Remembers an item that came and went in one message.
    pub(crate) fn remember(&mut self, item: &ItemId, turn: &TurnId) {
        self.keep_ended(item, turn, None);
    }

    pub(crate) fn get(&self, item: &ItemId) -> Option<&Call> {
        self.open.get(item)
    }

    pub(crate) fn get_mut(&mut self, item: &ItemId) -> Option<&mut Call> {
        self.open.get_mut(item)
    }

    pub(crate) fn command_mut(&mut self, item: &ItemId) -> Option<&mut Command> {
        match &mut self.open.get_mut(item)?.work {
            Work::Command(command) => Some(command),
            Work::Tool | Work::Compaction | Work::Standing(_) => None,
        }
    }

    pub(crate) fn standing_mut(&mut self, item: &ItemId) -> Option<&mut Standing> {
        match &mut self.open.get_mut(item)?.work {
            Work::Standing(standing) => Some(standing),
            Work::Tool | Work::Compaction | Work::Command(_) => None,
        }
    }

    /// All standing work, in order of its items.
    pub(crate) fn standing_iter(&mut self) -> impl Iterator<Item = &mut Standing> {
        self.open.values_mut().filter_map(|call| match &mut call.work {
            Work::Standing(standing) => Some(&mut **standing),
            Work::Tool | Work::Compaction | Work::Command(_) => None,
        })
    }

    /// Open calls in order of opening.
    pub(crate) fn in_order(&self) -> Vec<(&ItemId, &Call)> {
        let mut calls: Vec<_> = self.open.iter().collect();
        calls.sort_by_key(|(_, call)| call.seq);
        calls
    }

    /// Items of the open calls that `keep` wants, in order of opening.
    pub(crate) fn items(&self, keep: impl Fn(&Call) -> bool) -> Vec<ItemId> {
        self.in_order().into_iter().filter(|(_, call)| keep(call)).map(|(item, _)| item.clone()).collect()
    }

    /// The item whose terminal has this id and still runs.
    pub(crate) fn by_terminal(&self, terminal: &TerminalId) -> Option<ItemId> {
        let mut open = self.open.iter();
        open.find(|(_, call)| call.live().is_some_and(|live| live.terminal.terminal() == terminal))
            .map(|(item, _)| item.clone())
    }

    /// What goes on without the foreground waiting on it, in order of opening.
    pub(crate) fn background(&self) -> Vec<Listed<'_>> {
        let calls = self.in_order();
        calls
            .into_iter()
            .filter_map(|(_, call)| match &call.work {
                Work::Standing(_) => Some(Listed::Standing(&call.call)),
                Work::Tool | Work::Compaction => None,
                Work::Command(_) if !call.is_background() => None,
                Work::Command(command) => Some(Listed::Terminal(&command.live()?.terminal)),
            })
            .collect()
    }

    /// Whether there is an open call like this.
    pub(crate) fn has(&self, is_it: impl Fn(&Call) -> bool) -> bool {
        self.open.values().any(is_it)
    }

    /// Order of the call that was opened last.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

impl Call {
    pub(crate) fn standing(&self) -> Option<&Standing> {
        match &self.work {
            Work::Standing(standing) => Some(standing),
            Work::Tool | Work::Compaction | Work::Command(_) => None,
        }
    }

    pub(crate) fn command(&self) -> Option<&Command> {
        match &self.work {
            Work::Command(command) => Some(command),
            Work::Tool | Work::Compaction | Work::Standing(_) => None,
        }
    }

    /// The process side of a command that has one.
    pub(crate) fn live(&self) -> Option<&Live> {
        self.command()?.live()
    }

    pub(crate) fn is_background(&self) -> bool {
        matches!(self.command().map(|command| &command.life), Some(Life::Background(_)))
    }

    /// A command that the foreground waits on.
    pub(crate) fn is_foreground_process(&self) -> bool {
        matches!(self.command().map(|command| &command.life), Some(Life::Running(_)))
    }

    /// A command that nobody has begun to stop.
    pub(crate) fn is_unstopped(&self) -> bool {
        self.command().is_some_and(|command| command.stop.is_none())
    }

    /// At work in the foreground: a tool, or a command that has its approval.
    pub(crate) fn is_foreground_work(&self) -> bool {
        match &self.work {
            Work::Tool | Work::Compaction => true,
            Work::Command(command) => matches!(command.life, Life::Running(_)),
            Work::Standing(_) => false,
        }
    }
}

impl Live {
    /// A command that runs from now on, as far as we know, and of which nothing was told.
    pub(crate) fn new(terminal: Announced, process: Option<ProcessId>, output: Output) -> Self {
        Self {
            terminal,
            process,
            output,
            flushed: None,
            armed: false,
            watch: Watch::NotYet,
            vitals: None,
            vitals_wait: false,
            typed: Typed::default(),
        }
    }
}

impl Command {
    pub(crate) fn live(&self) -> Option<&Live> {
        match &self.life {
            Life::Waiting => None,
            Life::Running(live) | Life::Background(live) => Some(live),
        }
    }

    pub(crate) fn live_mut(&mut self) -> Option<&mut Live> {
        match &mut self.life {
            Life::Waiting => None,
            Life::Running(live) | Life::Background(live) => Some(live),
        }
    }

    /// Codex reported its end, and the end is held back.
    pub(crate) fn has_held_end(&self) -> bool {
        let ladder = self.stop.as_ref().and_then(|stop| stop.ladder.as_ref());
        ladder.is_some_and(|ladder| ladder.held.is_some())
    }

    /// D3: handed back, once and for all. Returns whether that is news.
    pub(crate) fn detach(&mut self) -> bool {
        if self.own_shell || !matches!(self.life, Life::Running(_)) {
            return false;
        }
        match std::mem::replace(&mut self.life, Life::Waiting) {
            Life::Running(live) => self.life = Life::Background(live),
            other @ (Life::Waiting | Life::Background(_)) => self.life = other,
        }
        true
    }
}
