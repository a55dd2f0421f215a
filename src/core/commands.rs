//! Commands: the call and its terminal, output, the end.
//!
//! Owns the order call opened, terminal opened, output, exit, call closed. Who is listed is
//! decided in `turn.rs` and `listing.rs`.

use super::codex::{CommandItem, CommandSource, ItemStatus, LiveTerminal};
use super::cx::Cx;
use super::effect::{Anomaly, Effect, StopAct};
use super::ids::{ItemId, ProcessId, TerminalId, Tick, ToolCallId, TurnId};
use super::input::Pressure;
use super::items::final_status;
use super::request::TerminalDisplay;
use super::session::Session;
use super::timer::Timer;
use super::turn::Front;
use super::update::{
    CallChange, CallContent, CallOpened, CallOutput, EndedBy, Exit, FinalStatus, OpenStatus, TerminalOpened,
    Update,
};
use crate::background::early;
use crate::background::exit;
use crate::background::ledger::{Announced, Call, Command, Life, Live, Work};
use crate::background::output::{News, Output, last_bytes};
use crate::stop::plan::Event;

/// Milliseconds between two chunks of one terminal.
const STREAM_WINDOW: u64 = 30;
/// Bytes that go out without waiting for the window.
const STREAM_BYTES: u64 = 64 * 1024;
/// Milliseconds between two views of one command shown as text.
const TEXT_WINDOW: u64 = 500;
/// Bytes of such a view while the command runs, and at its end.
const TEXT_VIEW: usize = 16 * 1024;
const TEXT_END: usize = 64 * 1024;

impl Session {
    /// `item/started` of a command.
    pub(crate) fn command_started(&mut self, cx: &mut Cx<'_>, turn: &TurnId, item: &ItemId, it: CommandItem) {
        let own_shell = it.source == CommandSource::User;
        cx.link.mark(&self.thread);
        let waits = it.process.is_none() && !own_shell;
        let call = self.ledger.open(item, turn, Work::Command(Box::new(command(&it, own_shell))));
        let terminal = TerminalId::of(&call);
        self.emit(
            cx,
            Update::CallOpened(CallOpened {
                call,
                name: Some("exec_command".to_owned()),
                title: it.title.clone(),
                kind: it.kind,
                status: if waits { OpenStatus::Pending } else { OpenStatus::InProgress },
                locations: it.locations.clone(),
                content: if waits { Vec::new() } else { vec![CallContent::Terminal(terminal)] },
                input: None,
                can_cancel: false,
            }),
        );
        if !waits {
            self.open_terminal(cx, item, it.process);
            self.offer(cx, item);
        }
    }

    /// The process of a command is known: the client learns of its terminal.
    fn open_terminal(&mut self, cx: &mut Cx<'_>, item: &ItemId, process: Option<ProcessId>) {
        let earlier = self.polls.take_orphan(item);
        let is_foreground = matches!(self.front, Front::Active(_));
        let Some(Call { call, work: Work::Command(command), .. }) = self.ledger.get_mut(item) else { return };
        let terminal = TerminalId::of(call);
        let mut output = Output::default();
        output.push(&earlier);
        let opened = TerminalOpened {
            terminal: terminal.clone(),
            command: command.command.clone(),
            cwd: command.cwd.clone(),
            size: None,
            can_cancel: process.is_some(),
        };
        let live = Live::new(Announced::by_update(terminal), process, output);
        let is_foreground = command.own_shell || (is_foreground && !command.handed_back);
        command.life = if is_foreground { Life::Running(live) } else { Life::Background(live) };
        self.emit(cx, Update::TerminalOpened(opened));
        self.watch_listed(cx);
        // Its stop was wished for before it had a process, or the session closes around it.
        let stop =
            self.ledger.command_mut(item).and_then(|command| command.stop.as_ref()).map(|stop| stop.by);
        let by = stop.or(self.closing.is_some().then_some(EndedBy::Close));
        if let Some(by) = by {
            self.stop_command(cx, item, by);
        }
    }

    /// A list names the process of a command that had its approval, or of one we never saw start.
    pub(crate) fn process_found(&mut self, cx: &mut Cx<'_>, it: &LiveTerminal) {
        cx.link.mark(&self.thread);
        match self.ledger.command_mut(&it.item) {
            Some(command) => match &mut command.life {
                Life::Waiting => {
                    let Some(call) = self.ledger.get(&it.item).map(|call| call.call.clone()) else { return };
                    let change = CallChange {
                        status: Some(OpenStatus::InProgress),
                        content: Some(vec![CallContent::Terminal(TerminalId::of(&call))]),
                        ..CallChange::default()
                    };
                    self.emit(cx, Update::CallChanged { call, change });
                    self.open_terminal(cx, &it.item, Some(it.process.clone()));
                    self.offer(cx, &it.item);
                }
                Life::Running(live) | Life::Background(live) => {
                    live.process.get_or_insert_with(|| it.process.clone());
                    command.missing = None;
                }
            },
            None => {
                let work = Command {
                    command: it.command.clone(),
                    cwd: it.cwd.clone(),
                    own_shell: false,
                    life: Life::Waiting,
                    approved: true,
                    // Not seen to start: work of an earlier turn, unless the history shows otherwise.
                    handed_back: !self.at_work.contains(&it.item),
                    stop: None,
                    looked_at: None,
                    started: None,
                    missing: None,
                };
                let turn = self.current_turn();
                let call = self.ledger.open(&it.item, &turn, Work::Command(Box::new(work)));
                self.emit(cx, Update::CallOpened(reopened(call, &it.command)));
                self.open_terminal(cx, &it.item, Some(it.process.clone()));
                self.offer(cx, &it.item);
            }
        }
    }

    /// `item/commandExecution/outputDelta`.
    pub(crate) fn output(&mut self, cx: &mut Cx<'_>, item: &ItemId, text: &str) {
        if let Some(live) = self.ledger.command_mut(item).and_then(Command::live_mut) {
            live.output.push(text);
            return self.offer(cx, item);
        }
        let thread = self.thread.clone();
        if self.ledger.has_closed(item) {
            return cx.out.anomaly(Anomaly::OutputAfterClose { thread, item: item.clone() });
        }
        // A command that waited for its approval runs without a second start; any other was never
        // seen to start. Either way the list has its process.
        if self.ledger.get(item).is_none() {
            cx.out.anomaly(Anomaly::UnknownItem { thread, item: item.clone(), what: "output" });
        }
        self.polls.keep_orphan(item, text);
        self.poll_terminals(cx);
    }

    /// The model wrote to a command or asked what it does: it sees for itself how it goes on.
    pub(crate) fn looked_at(&mut self, process: &ProcessId) {
        let turn = self.current_turn();
        let is_it = |call: &Call| call.live().is_some_and(|live| live.process.as_ref() == Some(process));
        for item in self.ledger.items(is_it) {
            if let Some(command) = self.ledger.command_mut(&item) {
                command.looked_at = Some(turn.clone());
            }
        }
    }

    /// The model typed into a command: shown beside its terminal, where a tty has echoed it already (D2).
    /// An empty text is a poll.
    pub(crate) fn typed(&mut self, cx: &mut Cx<'_>, item: &ItemId, text: &str) {
        if text.is_empty() {
            return;
        }
        let Some(Call { call, work: Work::Command(command), .. }) = self.ledger.get_mut(item) else {
            // Too late to be shown, or of a command that the next list names.
            return self.poll_terminals(cx);
        };
        let call = call.clone();
        let Some(live) = command.live_mut() else { return self.poll_terminals(cx) };
        live.typed.push(text);
        let terminal = CallContent::Terminal(live.terminal.terminal().clone());
        let content = std::iter::once(terminal).chain(live.typed.markdown().map(CallContent::Text));
        let change = CallChange { content: Some(content.collect()), ..CallChange::default() };
        self.emit(cx, Update::CallChanged { call, change });
        self.turn_shows();
    }

    /// What the model was told of a call: early output, and maybe that it was handed back (D3).
    pub(crate) fn raw_output(&mut self, cx: &mut Cx<'_>, item: &ItemId, text: &str) {
        let Some(yielded) = early::yielded(text) else { return };
        if self.is_cancelled() {
            return;
        }
        // A command that waited for its approval has no second start: this names its process.
        self.open_if_waiting(cx, item, Some(yielded.process.clone()));
        let Some(live) = self.ledger.command_mut(item).and_then(Command::live_mut) else { return };
        live.process.get_or_insert(yielded.process);
        if live.output.learn_early(yielded.output) {
            let News::Snapshot(text) = live.output.take_all() else { return };
            live.flushed = Some(cx.now);
            let terminal = live.terminal.terminal().clone();
            let text = self.shown(cx, text);
            self.emit(cx, Update::TerminalSnapshot { terminal, text });
        }
        // What is being stopped is waited for: its exit will be told to the model.
        if self.ledger.get(item).is_some_and(Call::is_unstopped) {
            self.detach(cx, item);
        }
        self.report(cx);
    }

    /// Sends output now or arms a timer: the first after a silence at once, then by time or size.
    fn offer(&mut self, cx: &mut Cx<'_>, item: &ItemId) {
        let display = cx.display();
        let Some(live) = self.ledger.command_mut(item).and_then(Command::live_mut) else { return };
        let pending = live.output.pending();
        if pending == 0 {
            return;
        }
        if cx.desk.pressure == Pressure::High {
            if !live.armed {
                live.armed = true;
                cx.desk.starved.push((self.id.clone(), item.clone()));
            }
            return;
        }
        let window = match display {
            TerminalDisplay::Stream => STREAM_WINDOW,
            TerminalDisplay::Text => TEXT_WINDOW,
        };
        let due = live.flushed.map_or(cx.now, |at| at.plus(window));
        let is_large = display == TerminalDisplay::Stream && pending >= STREAM_BYTES;
        if due <= cx.now || is_large {
            self.flush(cx, item);
        } else if !live.armed {
            live.armed = true;
            cx.timers.arm(due, Timer::Flush { session: self.id.clone(), item: item.clone() });
        }
    }

    /// The timer of waiting output is due, or the client keeps up again.
    pub(crate) fn flush_due(&mut self, cx: &mut Cx<'_>, item: &ItemId) {
        if let Some(live) = self.ledger.command_mut(item).and_then(Command::live_mut) {
            live.armed = false;
            self.offer(cx, item);
        }
    }

    /// Sends what the client does not have yet.
    pub(crate) fn flush(&mut self, cx: &mut Cx<'_>, item: &ItemId) {
        let display = cx.display();
        let Some(live) = self.ledger.command_mut(item).and_then(Command::live_mut) else { return };
        let Some(news) = live.output.take() else { return };
        live.flushed = Some(cx.now);
        let terminal = live.terminal.terminal().clone();
        let update = match (news, display) {
            (News::Chunk(text), TerminalDisplay::Stream) => Update::TerminalOutput { terminal, text },
            (News::Snapshot(text), TerminalDisplay::Stream) => Update::TerminalSnapshot { terminal, text },
            (News::Chunk(_) | News::Snapshot(_), TerminalDisplay::Text) => {
                Update::TerminalSnapshot { terminal, text: live.output.view(TEXT_VIEW) }
            }
        };
        self.emit(cx, update);
    }

    /// Sends everything that waits, before a list.
    pub(crate) fn flush_all(&mut self, cx: &mut Cx<'_>) {
        if cx.desk.pressure == Pressure::High {
            return;
        }
        for item in self.ledger.items(|call| call.live().is_some_and(|live| live.output.pending() > 0)) {
            self.flush(cx, &item);
        }
    }

    fn shown(&self, cx: &Cx<'_>, text: String) -> String {
        match cx.display() {
            TerminalDisplay::Stream => text,
            TerminalDisplay::Text => last_bytes(&text, TEXT_VIEW),
        }
    }

    /// `item/completed` of a command.
    pub(crate) fn command_completed(
        &mut self,
        cx: &mut Cx<'_>,
        turn: &TurnId,
        item: &ItemId,
        it: CommandItem,
    ) {
        self.polls.end_told(cx.now);
        if self.ledger.get(item).is_none() {
            self.command_started(cx, turn, item, it.clone());
        }
        let ran = it.process.is_some() || it.exit_code.is_some() || it.output.is_some();
        if ran && it.status != ItemStatus::Declined {
            self.open_if_waiting(cx, item, it.process.clone());
        }
        let Some(command) = self.ledger.command_mut(item) else { return };
        if let Some(ladder) = command.stop.as_mut().and_then(|stop| stop.ladder.as_mut())
            && !ladder.plan.is_reported()
        {
            // The end is told when its processes are gone (D5).
            ladder.held = Some(Box::new(it));
            return self.climb(cx, item, Event::Ended);
        }
        self.command_ended(cx, item, &it);
    }

    /// The end of a command that Codex reported is told.
    pub(crate) fn command_ended(&mut self, cx: &mut Cx<'_>, item: &ItemId, it: &CommandItem) {
        let Some(Call { turn, work: Work::Command(command), .. }) = self.ledger.get(item) else { return };
        let output =
            CallOutput::Command { text: it.output.clone().unwrap_or_default(), exit_code: it.exit_code };
        let known = cx.desk.ends.of(&self.id, turn, item).filter(|_| self.replaying);
        if let Some((exit, status)) = known {
            return self.end_command(cx, item, it.output.as_deref(), exit, status, Some(output));
        }
        let stop = command.stop.as_ref();
        let exit = exit::reported(it.exit_code, it.duration_ms, stop);
        let status = match stop.map(|stop| stop.by) {
            Some(EndedBy::Cancel | EndedBy::Close) => FinalStatus::Cancelled,
            Some(EndedBy::Client | EndedBy::Itself | EndedBy::Codex | EndedBy::AppServerLost) | None => {
                final_status(it.status)
            }
        };
        self.end_command(cx, item, it.output.as_deref(), exit, status, Some(output));
    }

    /// A command that waited ran after all: its terminal has to be there before its exit.
    fn open_if_waiting(&mut self, cx: &mut Cx<'_>, item: &ItemId, process: Option<ProcessId>) {
        let Some(Call { call, work: Work::Command(command), .. }) = self.ledger.get(item) else { return };
        if !matches!(command.life, Life::Waiting) {
            return;
        }
        let content = Some(vec![CallContent::Terminal(TerminalId::of(call))]);
        let change = CallChange { status: Some(OpenStatus::InProgress), content, ..CallChange::default() };
        let call = call.clone();
        self.emit(cx, Update::CallChanged { call, change });
        self.open_terminal(cx, item, process);
    }

    /// The one place where a command ends: last output, exit, final status.
    fn end_command(
        &mut self,
        cx: &mut Cx<'_>,
        item: &ItemId,
        aggregated: Option<&str>,
        exit: Exit,
        status: FinalStatus,
        output: Option<CallOutput>,
    ) {
        let Some(Call { call, turn, work: Work::Command(mut command), .. }) = self.ledger.close(item) else {
            return;
        };
        if command.live().is_some() && !self.replaying {
            cx.desk.ends.keep(&self.id, &turn, item, (&exit, status));
        }
        if let Some(ladder) = command.stop.as_ref().and_then(|stop| stop.ladder.as_ref()) {
            cx.desk.stop_over(ladder.id);
            cx.out.push(Effect::Stop { stop: ladder.id, act: StopAct::Forget });
        }
        if let (Some(live), false) = (command.live(), command.own_shell) {
            let process = live.process.as_ref().map(ProcessId::as_str);
            let is_background = matches!(command.life, Life::Background(_));
            let wakes = is_background && self.wakes(command.looked_at.as_ref());
            self.untold.ended(&command.command, process, &exit, wakes);
            if wakes && exit.account.by.is_no_wish() {
                self.wake_later(cx);
            }
        }
        if let Some(live) = command.live_mut() {
            cx.desk.watches.end(live.watch, cx.out);
            let terminal = live.terminal.terminal().clone();
            let update = match (live.output.settle(aggregated), cx.display()) {
                (None, _) => None,
                (Some(News::Chunk(text)), TerminalDisplay::Stream) => {
                    Some(Update::TerminalOutput { terminal: terminal.clone(), text })
                }
                (Some(News::Snapshot(text)), TerminalDisplay::Stream) => {
                    Some(Update::TerminalSnapshot { terminal: terminal.clone(), text })
                }
                (Some(News::Chunk(_) | News::Snapshot(_)), TerminalDisplay::Text) => {
                    let whole = aggregated.map_or_else(|| live.output.whole(), str::to_owned);
                    let text = last_bytes(&whole, TEXT_END);
                    Some(Update::TerminalSnapshot { terminal: terminal.clone(), text })
                }
            };
            if let Some(update) = update {
                self.emit(cx, update);
            }
            self.emit(cx, Update::TerminalExited { terminal, exit });
        }
        let change = CallChange { output, ..CallChange::default() };
        self.emit(cx, Update::CallClosed { call, status, change });
    }

    /// Ends every command that has a process, without a word from Codex.
    pub(crate) fn end_all_unseen(&mut self, cx: &mut Cx<'_>, by: EndedBy, reason: &'static str) {
        for item in self.ledger.items(|call| call.command().is_some()) {
            self.end_unseen(cx, &item, by, reason);
        }
    }

    /// Ends one command without a word from Codex. What we had begun to end was ended by us.
    pub(crate) fn end_unseen(&mut self, cx: &mut Cx<'_>, item: &ItemId, by: EndedBy, reason: &'static str) {
        let Some(command) = self.ledger.command_mut(item) else { return };
        if let Some(held) = command.stop.as_mut().and_then(|stop| stop.ladder.as_mut()?.held.take()) {
            // Codex did say a word, it was only held back.
            return self.command_ended(cx, item, &held);
        }
        let exit = exit::unseen(by, reason, command.stop.as_ref());
        let status = match exit.account.by {
            EndedBy::Cancel | EndedBy::Close => FinalStatus::Cancelled,
            EndedBy::Client | EndedBy::Itself | EndedBy::Codex | EndedBy::AppServerLost => {
                FinalStatus::Failed
            }
        };
        self.end_command(cx, item, None, exit, status, None);
    }

    /// When the command was first missing from a list, if it still is.
    pub(crate) fn missing_since(&mut self, item: &ItemId) -> Option<&mut Option<Tick>> {
        self.ledger.command_mut(item).map(|command| &mut command.missing)
    }

    pub(crate) fn current_turn(&self) -> TurnId {
        match &self.front {
            Front::Active(turn) => turn.id.clone().unwrap_or_else(|| TurnId::new("")),
            Front::Idle | Front::Starting { .. } => TurnId::new(""),
        }
    }
}

fn command(it: &CommandItem, own_shell: bool) -> Command {
    Command {
        command: it.command.clone(),
        cwd: it.cwd.clone(),
        own_shell,
        life: Life::Waiting,
        approved: false,
        handed_back: false,
        stop: None,
        looked_at: None,
        started: it.started,
        missing: None,
    }
}

/// The call of a command that started before we came.
fn reopened(call: ToolCallId, script: &str) -> CallOpened {
    let content = vec![CallContent::Terminal(TerminalId::of(&call))];
    let title = script.lines().next().unwrap_or_default().to_owned();
    CallOpened {
        call,
        name: Some("exec_command".to_owned()),
        title,
        kind: super::update::ToolKind::Execute,
        status: OpenStatus::InProgress,
        locations: Vec::new(),
        content,
        input: None,
        can_cancel: false,
    }
}
