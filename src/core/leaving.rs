//! Losing the app-server, and leaving: who is told what, in which order.

use super::Core;
use super::effect::{Anomaly, Effect, Effects};
use super::failure::Failure;
use super::ids::{Generation, Tick};
use super::input::SweepReport;
use super::link::Purpose;
use super::profiles::Profiles;
use super::sweeper::Cause;
use super::timer::Timer;
use super::update::Severity;

/// How long a sweep may take, in ms.
const SWEEP_BOUND: u64 = 3_000;
/// How long the sessions may take to close before the app-server ends under them, in ms.
const LEAVE_BOUND: u64 = 3_300;
/// How long the app-server may take to end before we leave without it, in ms.
const END_BOUND: u64 = 3_000;

/// Why an app-server is gone.
#[derive(Debug)]
pub(crate) struct Loss {
    pub(crate) message: String,
    /// Its last lines.
    pub(crate) stderr: Option<String>,
    /// `false` where it could not even be started.
    pub(crate) was_running: bool,
}

impl Loss {
    fn failure(&self) -> Failure {
        Failure::AppServer { message: self.message.clone(), stderr: self.stderr.clone() }
    }
}

/// We are on our way out.
#[derive(Debug)]
pub(crate) struct Leaving {
    code: i32,
    /// The app-server was told to end.
    ending: bool,
    said: bool,
}

impl Core {
    pub(super) fn lost(&mut self, now: Tick, generation: Generation, loss: Loss, out: &mut Effects) {
        if generation != self.link.generation() || self.link.is_down() {
            return out.anomaly(Anomaly::StaleGeneration { generation });
        }
        let failure = loss.failure();
        let was_running = loss.was_running;
        for purpose in self.link.lost(now, loss) {
            let purpose = if let Purpose::IsLoaded { then } = purpose { then.0 } else { purpose };
            match purpose {
                Purpose::Open { ticket, .. }
                | Purpose::ListThreads { ticket, .. }
                | Purpose::LookFirst { ticket, .. }
                | Purpose::Fork { ticket, .. }
                | Purpose::Shelve { ticket, .. }
                | Purpose::Find { ticket, .. }
                | Purpose::Title { ticket, .. }
                | Purpose::Logout { ticket } => out.refuse(ticket, failure.clone()),
                Purpose::Resume { session } => {
                    self.refuse_arriving(&session, &failure, out);
                }
                Purpose::Settings { session, choices } => {
                    if let Some(session) = self.sessions.get_mut(&session) {
                        session.chosen.give_back(choices);
                    }
                }
                Purpose::Inform { root, line, .. } => self.tell_with_next_prompt(&root, line),
                // Their sessions, and who waits for the account, are told as a whole.
                Purpose::Initialize
                | Purpose::Account { .. }
                | Purpose::Login
                | Purpose::LoginCancel
                | Purpose::Models
                | Purpose::Revive { .. }
                | Purpose::Renew { .. }
                | Purpose::Descent { .. }
                | Purpose::Descendants { .. }
                | Purpose::Restore { .. }
                | Purpose::Replay { .. }
                | Purpose::CatchUp { .. }
                | Purpose::IsLoaded { .. }
                | Purpose::KeyScan { .. }
                | Purpose::TurnStart { .. }
                | Purpose::TurnSteer { .. }
                | Purpose::Interrupt { .. }
                | Purpose::Profiles { .. }
                | Purpose::Terminals { .. }
                | Purpose::Terminate { .. }
                | Purpose::Goal { .. }
                | Purpose::GoalStop { .. }
                | Purpose::Queue { .. }
                | Purpose::Unqueue { .. }
                | Purpose::Skills { .. }
                | Purpose::Local { .. }
                | Purpose::Begin { .. }
                | Purpose::Look { .. }
                | Purpose::Unwanted(_)
                | Purpose::Parting
                | Purpose::Config
                | Purpose::Probe => {}
            }
        }
        self.account_lost(&failure, out);
        for (ticket, session) in std::mem::take(&mut self.unanswered) {
            self.sessions.remove(&session);
            out.refuse(ticket, failure.clone());
        }
        self.subagents.lost();
        self.forget_early();
        // The next one may have another configuration.
        self.profiles = Profiles::default();
        if self.link.address().is_some() {
            return self.connection_lost(now, &failure, was_running, out);
        }
        self.each(now, out, |session, cx| {
            session.unwatch_all(cx);
            session.app_server_lost(cx, &failure, was_running, generation);
        });
        self.losses.insert(generation, failure);
        let Some(threads) = self.link.take_marked() else {
            return self.loss_swept(now, generation, SweepReport::default(), out);
        };
        self.sweeper.sweep(generation, Cause::Loss, threads, out);
        self.timers.arm(now.plus(SWEEP_BOUND), Timer::SweepBound { generation });
    }

    pub(super) fn swept(
        &mut self,
        now: Tick,
        generation: Generation,
        report: SweepReport,
        out: &mut Effects,
    ) {
        match self.sweeper.swept(generation, out) {
            Some(cause) => self.cause_swept(now, generation, cause, report, out),
            // The bound came first and everything was said.
            None => out.anomaly(Anomaly::StaleGeneration { generation }),
        }
    }

    /// A sweep gives no report: whoever waits goes on without.
    pub(super) fn sweep_bound(&mut self, now: Tick, generation: Generation, out: &mut Effects) {
        for cause in self.sweeper.give_up(generation) {
            self.cause_swept(now, generation, cause, SweepReport::default(), out);
        }
    }

    fn cause_swept(
        &mut self,
        now: Tick,
        generation: Generation,
        cause: Cause,
        report: SweepReport,
        out: &mut Effects,
    ) {
        match cause {
            Cause::Loss => self.loss_swept(now, generation, report, out),
            Cause::Close(sessions) => {
                for session in sessions {
                    self.with(now, &session, out, |session, cx| session.close_swept(cx, report));
                }
            }
        }
    }

    fn loss_swept(&mut self, now: Tick, generation: Generation, report: SweepReport, out: &mut Effects) {
        // The bound came first and everything was said.
        let Some(failure) = self.losses.remove(&generation) else { return };
        if report.left > 0 {
            let title = format!("{} processes of the lost app-server could not be ended", report.left);
            self.tell_all(now, Severity::Warning, title, None, out);
        }
        self.each(now, out, |session, cx| session.swept(cx, generation, &failure));
        if !self.losses.is_empty() {
            return;
        }
        for (session, resuming) in std::mem::take(&mut self.late_resumes) {
            match self.leaving {
                Some(_) => resuming.refuse(failure.clone(), out),
                None => self.resume_session(now, &session, resuming, out),
            }
        }
        self.exit_if_alone(out);
    }

    /// D9: every session closes, then the app-server ends, then we do. One that runs without us is
    /// left as it is.
    pub(super) fn leave(&mut self, now: Tick, code: i32, out: &mut Effects) {
        if let Some(leaving) = &mut self.leaving {
            // A signal joins what the end of the client's input began, and names the exit code.
            if leaving.code == 0 {
                leaving.code = code;
            }
            return;
        }
        self.leaving = Some(Leaving { code, ending: false, said: false });
        self.link.retire();
        let failure = Failure::InvalidRequest("the agent is shutting down".to_owned());
        self.refuse_shelving(&failure, out);
        let arriving: Vec<_> = self.arriving.keys().cloned().collect();
        for session in arriving {
            self.refuse_arriving(&session, &failure, out);
        }
        self.let_stay(now, out);
        let (sessions, mut cx) = self.split(now, out);
        for session in sessions.values_mut() {
            session.give_up_resume(&mut cx, failure.clone());
        }
        if self.link.address().is_none() {
            for session in self.sessions.keys().cloned().collect::<Vec<_>>() {
                self.announce_waiting(now, &session, out);
            }
            self.each(now, out, |session, cx| session.close(cx, None));
        }
        self.timers.arm(now.plus(LEAVE_BOUND), Timer::LeaveBound);
        self.exit_if_alone(out);
    }

    /// All sessions are closed, or the bound is reached.
    pub(super) fn end_codex(&mut self, now: Tick, out: &mut Effects) {
        match &mut self.leaving {
            Some(leaving) if !leaving.ending => leaving.ending = true,
            Some(_) | None => return,
        }
        if !self.link.is_down() {
            out.push(Effect::EndCodex { generation: self.link.generation() });
            self.timers.arm(now.plus(END_BOUND), Timer::EndBound);
        }
        self.exit_if_alone(out);
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.leaving.is_some()
    }

    pub(super) fn exit_if_alone(&mut self, out: &mut Effects) {
        let is_alone = self.link.is_down() && self.losses.is_empty();
        if is_alone {
            self.exit(out);
        }
    }

    pub(super) fn exit(&mut self, out: &mut Effects) {
        match &mut self.leaving {
            Some(leaving) if !leaving.said => {
                leaving.said = true;
                out.push(Effect::Exit { code: leaving.code });
            }
            Some(_) | None => {}
        }
    }
}
