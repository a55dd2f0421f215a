//! Which input goes where.
//!
//! Decides nothing about sessions: finds the session and hands the input on.

use super::codex::FromCodex;
use super::effect::{Anomaly, Effects};
use super::ids::{SessionId, StopId, ThreadId, Tick};
use super::input::{Input, Pressure};
use super::leaving::Loss;
use super::link::TOO_OFTEN;
use super::session::Session;
use super::timer::Timer;
use super::{Core, Cx};
use crate::stop::plan::Event;

impl Core {
    pub(super) fn dispatch(&mut self, now: Tick, input: Input, out: &mut Effects) {
        match input {
            Input::Client(event) => self.client_event(now, event, out),
            Input::Codex(event) => self.codex_event(now, event, out),
            Input::CodexHeard => self.codex_heard(now),
            Input::Deadline => self.deadline(now, out),
            Input::ClientQueue(pressure) => self.pressure(now, pressure, out),
            Input::Swept { generation, report } => self.swept(now, generation, report, out),
            Input::Stop { stop, report } => self.climb(now, stop, Event::Reached(report), out),
            Input::Surveyed { session, found } => {
                self.find_subagent_jobs(&session);
                self.with(now, &session, out, |session, cx| session.surveyed(cx, &found));
            }
            Input::Watched { watch, report } => self.watched(now, watch, report, out),
            Input::PageNotOpened { why } => self.page_not_opened(&why, out),
            Input::Signal(number) => self.leave(now, 128 + number, out),
        }
    }

    fn codex_event(&mut self, now: Tick, event: FromCodex, out: &mut Effects) {
        match event {
            FromCodex::NotStarted { generation, message } => {
                self.lost(now, generation, Loss { message, stderr: None, was_running: false }, out);
            }
            FromCodex::Died { generation, how, stderr } => {
                if let Some(address) = self.link.address() {
                    let message = self.link.lost_in_words(now, address, &how);
                    return self.lost(now, generation, Loss { message, stderr, was_running: true }, out);
                }
                let what = match self.link.watch.observed() {
                    Some(observed) => format!("{observed}; it was ended ({how})"),
                    None => format!("the codex app-server ended ({how})"),
                };
                let message = match self.link.is_ready() {
                    _ if self.link.is_retired() => "the agent is shutting down".to_owned(),
                    true if self.link.is_last_death(now) => format!("{what}{TOO_OFTEN}"),
                    true => format!("{what}; the next prompt starts it again"),
                    false => format!(
                        "{what} before it was ready; \
                         run `appserver-acp doctor` or `codex app-server` by hand to see why, then try again"
                    ),
                };
                self.lost(now, generation, Loss { message, stderr, was_running: true }, out);
            }
            // It is told as lost already, and may say something yet.
            FromCodex::Answered { .. } | FromCodex::Event(_) | FromCodex::Asked { .. }
                if self.link.is_down() =>
            {
                out.anomaly(Anomaly::StaleGeneration { generation: self.link.generation() });
            }
            FromCodex::Answered { call, result } => self.codex_answered(now, call, result, out),
            FromCodex::Event(event) => self.event(now, event, out),
            FromCodex::Asked { request, ask } => self.codex_asked(now, request, ask, out),
        }
    }

    fn deadline(&mut self, now: Tick, out: &mut Effects) {
        while let Some(timer) = self.timers.due(now) {
            match timer {
                Timer::Flush { session, item } => {
                    self.with(now, &session, out, |session, cx| session.flush_due(cx, &item));
                }
                Timer::Recheck { session } => {
                    self.with(now, &session, out, |session, cx| session.poll_terminals(cx));
                }
                Timer::Unwatchable { session } => self.look_for_unwatchable(now, &session, out),
                Timer::TurnBound { session, turn } => {
                    self.with(now, &session, out, |session, cx| session.turn_bound(cx, &turn));
                }
                Timer::Grace { stop } => self.climb(now, stop, Event::Hurry, out),
                Timer::StopBound { stop } => self.climb(now, stop, Event::Bound, out),
                Timer::Interrupt { session } => {
                    self.with(now, &session, out, |session, cx| session.turn_runs(cx));
                }
                Timer::QuietTurn { session, turn } => {
                    self.with(now, &session, out, |session, cx| session.quiet_turn(cx, &turn));
                }
                Timer::Survey { session } => {
                    self.find_subagent_jobs(&session);
                    self.with(now, &session, out, |session, cx| session.survey_bound(cx));
                }
                Timer::Local { session, key } => {
                    self.with(now, &session, out, |session, cx| session.told_bound(cx, &key));
                }
                Timer::Standing { session } => {
                    self.with(now, &session, out, |session, cx| session.look_at_standing(cx));
                }
                Timer::Wake { session } => self.with(now, &session, out, |session, cx| session.wake(cx)),
                Timer::CloseBound { session } => {
                    self.with(now, &session, out, |session, cx| session.close_bound(cx));
                }
                Timer::ReadAgain { thread } => self.read_again(&thread, out),
                Timer::Announcement { thread } => self.announcement_bound(now, &thread, out),
                Timer::Profiles { cwd } => self.profiles_bound(now, &cwd, out),
                Timer::Models => {
                    if !self.models.is_known() {
                        out.anomaly(Anomaly::UnknownAnswer { what: "no answer to model/list" });
                        self.models.give_up();
                        self.models_known(now, out);
                    }
                }
                Timer::Account { read } => self.account_bound(now, read, out),
                Timer::Again { call } => self.link.call_again(call, out),
                Timer::LookAgain => self.look_again(now, out),
                Timer::SweepBound { generation } => self.sweep_bound(now, generation, out),
                Timer::LeaveBound => self.end_codex(now, out),
                Timer::EndBound => self.exit(out),
                Timer::Silence => self.silence(now, out),
                Timer::Reconnect => self.reconnect(now, out),
            }
        }
    }

    fn pressure(&mut self, now: Tick, pressure: Pressure, out: &mut Effects) {
        self.desk.pressure = pressure;
        if pressure == Pressure::Low {
            for (session, item) in std::mem::take(&mut self.desk.starved) {
                self.with(now, &session, out, |session, cx| session.flush_due(cx, &item));
            }
            let (sessions, mut cx) = self.split(now, out);
            for session in sessions.values_mut() {
                session.go_on_replaying(&mut cx);
                session.go_on_watching(&mut cx);
            }
        }
    }

    /// An event of a command's stop; nothing if the stop is over.
    fn climb(&mut self, now: Tick, stop: StopId, event: Event, out: &mut Effects) {
        if let Some((session, item)) = self.desk.stop_of(stop) {
            self.with(now, &session, out, |session, cx| session.climb(cx, &item, event));
        }
    }

    /// Does something with an open session; nothing if it is not open.
    pub(super) fn with(
        &mut self,
        now: Tick,
        session: &SessionId,
        out: &mut Effects,
        act: impl FnOnce(&mut Session, &mut Cx<'_>),
    ) {
        let (sessions, mut cx) = self.split(now, out);
        if let Some(session) = sessions.get_mut(session) {
            act(session, &mut cx);
        }
    }

    /// Does something with the session of a thread that Codex speaks of.
    pub(super) fn on(
        &mut self,
        now: Tick,
        thread: &ThreadId,
        out: &mut Effects,
        what: &'static str,
        act: impl FnOnce(&mut Session, &mut Cx<'_>),
    ) {
        let session = self.renewals.session(thread);
        let (sessions, mut cx) = self.split(now, out);
        match sessions.get_mut(&session) {
            Some(session) => act(session, &mut cx),
            None => {
                // A subagent's: its commands are below our app-server too.
                cx.link.mark(thread);
                cx.out.anomaly(Anomaly::UnknownThread { thread: thread.clone(), what });
            }
        }
    }
}
