//! Which input goes where.
//!
//! Decides nothing about sessions: finds the session and hands the input on.

use super::codex::{CodexAsk, CodexError, CodexReply, CodexRequest, Event, FromCodex, ThreadStatus};
use super::effect::{Anomaly, Effect, Effects};
use super::failure::Failure;
use super::ids::{CodexCallId, Generation, PromptKey, RequestId, SessionId, ThreadId, Tick};
use super::input::{FromClient, Input, Pressure, SweepReport};
use super::link::Purpose;
use super::opening::{Resuming, open_failure};
use super::request::{Place, PromptPart, Reply, Request, SessionEntry, Ticket};
use super::session::{History, Session};
use super::timer::Timer;
use super::update::{Patch, Severity, Update};
use super::{Core, Cx, Leaving, asks};

/// Sessions per page of `session/list`.
const LIST_PAGE: u32 = 50;
/// How long answers wait for the model list, in ms.
const MODELS_BOUND: u64 = 2_000;
/// How long a sweep may take, in ms.
const SWEEP_BOUND: u64 = 3_000;
/// How long the app-server may take to end before we leave without it, in ms.
const END_BOUND: u64 = 4_500;
/// Notices kept for the first session.
const EARLY_NOTICES: usize = 8;

impl Core {
    pub(super) fn dispatch(&mut self, now: Tick, input: Input, out: &mut Effects) {
        match input {
            Input::Client(event) => self.from_client(now, event, out),
            Input::Codex(event) => self.from_codex(now, event, out),
            Input::Deadline => self.deadline(now, out),
            Input::ClientQueue(pressure) => self.pressure(now, pressure, out),
            Input::Swept { generation, report } => self.swept(now, generation, report, out),
            Input::Signal(number) => self.leave(now, 128 + number, out),
        }
    }

    fn from_client(&mut self, now: Tick, event: FromClient, out: &mut Effects) {
        match event {
            FromClient::Hello(profile) => {
                self.client = profile;
                // The first request that needs it reports a refusal.
                let _ = self.link.ensure(now, out);
            }
            FromClient::Request { ticket, request } => self.request(now, ticket, request, out),
            FromClient::CancelSession { session } => {
                self.with(now, &session, out, |session, cx| session.cancel(cx));
            }
            FromClient::CancelRequest { request } => {
                let (sessions, mut cx) = self.split(now, out);
                for session in sessions.values_mut() {
                    if session.cancel_held(&mut cx, &request) {
                        return;
                    }
                }
            }
            FromClient::Answered { ask, answer } => match self.desk.settle(ask) {
                Some(session) => {
                    self.with(now, &session, out, |session, cx| session.answered(cx, ask, answer));
                }
                // A withdrawn question may be answered all the same (V2-48).
                None if self.desk.ever_asked(ask) => {}
                None => out.anomaly(Anomaly::UnknownAnswer { what: "answer to a question" }),
            },
            FromClient::Eof => self.leave(now, 0, out),
        }
    }

    fn request(&mut self, now: Tick, ticket: Ticket, request: Request, out: &mut Effects) {
        if self.leaving.is_some() {
            return out.refuse(ticket, Failure::InvalidRequest("the agent is shutting down".to_owned()));
        }
        match request {
            Request::NewSession(place) => self.new_session(now, ticket, place, out),
            Request::ResumeSession { session, place, replay } => {
                self.resume_session(now, &session, Resuming::new(ticket, place, replay), out);
            }
            Request::ListSessions { cwd, cursor } => {
                if let Err(failure) = self.link.ensure(now, out) {
                    return out.refuse(ticket, failure);
                }
                let request = CodexRequest::ThreadList { cwd, cursor, limit: LIST_PAGE };
                self.link.call(Purpose::ListThreads { ticket }, request, out);
            }
            Request::CloseSession { session } => match self.sessions.contains_key(&session) {
                true => self.with(now, &session, out, |session, cx| session.close(cx, Some(ticket))),
                // Nothing to stop (V2-23).
                false => out.respond(ticket, Reply::SessionClosed),
            },
            Request::Prompt { session, parts, key } => self.prompt(now, ticket, session, parts, key, out),
            Request::SetOption { session, option, value } => {
                let (sessions, cx) = self.split(now, out);
                let Some(it) = sessions.get_mut(&session) else {
                    return cx.out.refuse(ticket, Failure::UnknownSession(session));
                };
                match it.chosen.set(&option, &value, cx.models) {
                    Ok(()) => cx.out.respond(ticket, Reply::OptionSet(it.chosen.list(cx.models))),
                    Err(failure) => cx.out.refuse(ticket, failure),
                }
            }
            Request::CancelTerminal { session, terminal } => {
                let (sessions, mut cx) = self.split(now, out);
                match sessions.get_mut(&session) {
                    Some(it) => it.cancel_terminal(&mut cx, ticket, &terminal),
                    None => cx.out.refuse(ticket, Failure::UnknownSession(session)),
                }
            }
            Request::CancelToolCall { session, call: _ } => {
                let failure = match self.sessions.contains_key(&session) {
                    true => Failure::InvalidParams(
                        "this tool call is unknown, has ended or cannot be cancelled by itself; \
                         use terminal/cancel for a terminal and session/cancel for the turn"
                            .to_owned(),
                    ),
                    false => Failure::UnknownSession(session),
                };
                out.refuse(ticket, failure);
            }
        }
    }

    fn new_session(&mut self, now: Tick, ticket: Ticket, place: Place, out: &mut Effects) {
        if let Err(failure) = self.link.ensure(now, out) {
            return out.refuse(ticket, failure);
        }
        let choices = super::codex::Choices { preset: self.settings.preset, ..Default::default() };
        let request = CodexRequest::ThreadStart {
            cwd: place.cwd.clone(),
            roots: place.additional_directories.clone(),
            mcp_servers: place.mcp_servers.clone(),
            choices,
        };
        self.link.call(Purpose::Open { ticket }, request, out);
    }

    fn resume_session(&mut self, now: Tick, session: &SessionId, resuming: Resuming, out: &mut Effects) {
        let is_busy = self.arriving.contains_key(session)
            || self.sessions.get(session).is_some_and(|it| it.resuming.is_some() || it.closing.is_some());
        if is_busy {
            let message = "this session is being resumed or closed already; wait for that answer";
            return out.refuse(resuming.ticket, Failure::InvalidRequest(message.to_owned()));
        }
        if let Err(failure) = self.link.ensure(now, out) {
            return out.refuse(resuming.ticket, failure);
        }
        let request = resuming.request(session);
        self.arriving.insert(session.clone(), resuming);
        self.link.call(Purpose::Resume { session: session.clone() }, request, out);
    }

    fn prompt(
        &mut self,
        now: Tick,
        ticket: Ticket,
        session: SessionId,
        parts: Vec<PromptPart>,
        key: Option<PromptKey>,
        out: &mut Effects,
    ) {
        let fresh = || PromptKey::new(format!("{}-{}", self.settings.nonce, self.desk.next_key()));
        let (key, is_fresh) = match key {
            Some(key) => (key, false),
            None => (fresh(), true),
        };
        let (sessions, mut cx) = self.split(now, out);
        match sessions.get_mut(&session) {
            Some(it) if it.closing.is_none() => it.prompt(&mut cx, ticket, parts, key, is_fresh),
            Some(_) | None => cx.out.refuse(ticket, Failure::UnknownSession(session)),
        }
    }

    fn from_codex(&mut self, now: Tick, event: FromCodex, out: &mut Effects) {
        match event {
            FromCodex::NotStarted { generation, message } => {
                self.lost(now, generation, Failure::AppServer { message, stderr: None }, out);
            }
            FromCodex::Died { generation, how, stderr } => {
                let message = format!("the codex app-server ended ({how}); the next prompt starts it again");
                self.lost(now, generation, Failure::AppServer { message, stderr }, out);
            }
            FromCodex::Answered { call, result } => self.codex_answered(now, call, result, out),
            FromCodex::Event(event) => self.event(now, event, out),
            FromCodex::Asked { request, ask } => self.codex_asked(now, request, ask, out),
        }
    }

    fn codex_answered(
        &mut self,
        now: Tick,
        call: CodexCallId,
        result: Result<CodexReply, CodexError>,
        out: &mut Effects,
    ) {
        let Some(purpose) = self.link.answered(call) else {
            return out.anomaly(Anomaly::UnknownAnswer { what: "answer of codex" });
        };
        match purpose {
            Purpose::Initialize => self.initialized(now, result, out),
            Purpose::Models => self.models_page(now, result, out),
            Purpose::Open { ticket } => self.opened(now, ticket, result, out),
            Purpose::ListThreads { ticket } => listed(ticket, result, out),
            Purpose::Resume { session } => self.resumed(now, &session, result, out),
            Purpose::Revive { session } => self.with(now, &session, out, |session, cx| {
                let result = result.and_then(|reply| match reply {
                    CodexReply::ThreadOpened(opened) => Ok(opened),
                    _ => Err(unexpected()),
                });
                session.revived(cx, result);
            }),
            Purpose::Replay { session } => self.with(now, &session, out, |session, cx| match result {
                Ok(CodexReply::Items { items, next }) => session.replay_page(cx, items, next),
                Ok(_) => session.history_refused(cx, &unexpected()),
                Err(error) => session.history_refused(cx, &error),
            }),
            Purpose::KeyScan { session } => self.with(now, &session, out, |session, cx| match result {
                Ok(CodexReply::Items { items, next }) => session.keys_page(cx, items, next),
                Ok(_) => session.history_refused(cx, &unexpected()),
                Err(error) => session.history_refused(cx, &error),
            }),
            Purpose::TurnStart { session, key } => {
                self.with(now, &session, out, |session, cx| session.turn_start_answered(cx, &key, result));
            }
            Purpose::TurnSteer { session, key } => {
                self.with(now, &session, out, |session, cx| session.turn_steer_answered(cx, &key, result));
            }
            Purpose::Interrupt { session } => {
                if let Err(error) = result {
                    self.with(now, &session, out, |session, cx| session.interrupt_refused(cx, error.message));
                }
            }
            Purpose::Terminals { session, listing } => self.with(now, &session, out, |session, cx| match result {
                Ok(CodexReply::Terminals { terminals, next }) => session.terminals_page(cx, listing, terminals, next),
                Ok(_) => session.terminals_refused(cx, unexpected().message),
                Err(error) => session.terminals_refused(cx, error.message),
            }),
            Purpose::Terminate { session } => {
                self.with(now, &session, out, |session, cx| session.terminate_answered(cx, result));
            }
            Purpose::Parting => {
                if let Err(error) = result {
                    out.anomaly(Anomaly::CodexRefused { method: "clean or unsubscribe", message: error.message });
                }
            }
        }
    }

    fn initialized(&mut self, now: Tick, result: Result<CodexReply, CodexError>, out: &mut Effects) {
        match result {
            Ok(_) => {
                self.link.ready(out);
                if !self.models.is_known() {
                    self.link.call(Purpose::Models, CodexRequest::ModelList { cursor: None }, out);
                    self.timers.arm(now.plus(MODELS_BOUND), Timer::Models);
                }
            }
            Err(error) => {
                let generation = self.link.generation();
                out.push(Effect::EndCodex { generation });
                let message = format!("the codex app-server refused to start: {}", error.message);
                self.lost(now, generation, Failure::AppServer { message, stderr: None }, out);
            }
        }
    }

    fn models_page(&mut self, now: Tick, result: Result<CodexReply, CodexError>, out: &mut Effects) {
        match result {
            Ok(CodexReply::Models { models, next }) => {
                self.models.page(models, next.is_none());
                if next.is_some() {
                    return self.link.call(Purpose::Models, CodexRequest::ModelList { cursor: next }, out);
                }
            }
            Ok(_) => self.models.give_up(),
            Err(error) => {
                out.anomaly(Anomaly::CodexRefused { method: "model/list", message: error.message });
                self.models.give_up();
            }
        }
        self.models_known(now, out);
    }

    /// Answers that waited for the models.
    fn models_known(&mut self, now: Tick, out: &mut Effects) {
        for (ticket, session) in std::mem::take(&mut self.unanswered) {
            self.with(now, &session, out, |session, cx| session.answer_open(cx, ticket));
        }
        let (sessions, mut cx) = self.split(now, out);
        for session in sessions.values_mut() {
            session.answer_resume(&mut cx);
        }
    }

    fn opened(
        &mut self,
        now: Tick,
        ticket: Ticket,
        result: Result<CodexReply, CodexError>,
        out: &mut Effects,
    ) {
        let opened = match result {
            Ok(CodexReply::ThreadOpened(opened)) => opened,
            Ok(_) => return out.refuse(ticket, open_failure("thread/start", None, &unexpected())),
            Err(error) => return out.refuse(ticket, open_failure("thread/start", None, &error)),
        };
        let mut session = Session::new(&opened, History::Known);
        let notices = std::mem::take(&mut self.early_notices);
        let id = session.id.clone();
        let is_known = self.models.is_known();
        let (sessions, mut cx) = self.split(now, out);
        for (severity, title, description) in notices {
            session.notice(&mut cx, severity, title, description);
        }
        match is_known {
            true => session.answer_open(&mut cx, ticket),
            false => self.unanswered.push((ticket, id.clone())),
        }
        self.sessions.insert(id, session);
    }

    fn resumed(&mut self, now: Tick, id: &SessionId, result: Result<CodexReply, CodexError>, out: &mut Effects) {
        let Some(resuming) = self.arriving.remove(id) else { return };
        let error = match result {
            Ok(CodexReply::ThreadOpened(opened)) => {
                let (sessions, mut cx) = self.split(now, out);
                let session =
                    sessions.entry(id.clone()).or_insert_with(|| Session::new(&opened, History::Unread));
                return session.resumed(&mut cx, &opened, resuming);
            }
            Ok(_) => unexpected(),
            Err(error) => error,
        };
        out.refuse(resuming.ticket, open_failure("thread/resume", Some(id), &error));
    }

    fn codex_asked(&mut self, now: Tick, request: RequestId, ask: CodexAsk, out: &mut Effects) {
        let session = match &ask {
            CodexAsk::Command { thread, .. }
            | CodexAsk::FileChange { thread, .. }
            | CodexAsk::Permissions { thread, .. }
            | CodexAsk::Questions { thread, .. }
            | CodexAsk::McpForm { thread, .. }
            | CodexAsk::McpUrl { thread, .. } => SessionId::of(thread),
            CodexAsk::Unsupported { method } => {
                let (_, mut cx) = self.split(now, out);
                return asks::refuse(&mut cx, request, method);
            }
        };
        let (sessions, mut cx) = self.split(now, out);
        match sessions.get_mut(&session) {
            Some(it) if it.closing.is_none() => it.asked(&mut cx, request, ask),
            Some(_) | None => asks::refuse(&mut cx, request, "requests of threads that are no open session"),
        }
    }

    fn event(&mut self, now: Tick, event: Event, out: &mut Effects) {
        match event {
            Event::ThreadStatus { thread, status } => match status {
                ThreadStatus::NotLoaded => self.on(now, &thread, out, "status", |session, cx| {
                    session.thread_is_gone(cx, "unloaded the thread");
                }),
                ThreadStatus::Idle => self.on(now, &thread, out, "status", |session, cx| session.thread_is_idle(cx)),
                ThreadStatus::Active | ThreadStatus::SystemError => {}
            },
            Event::ThreadClosed { thread } => {
                self.on(now, &thread, out, "end", |session, cx| session.thread_is_gone(cx, "closed the thread"));
            }
            Event::ThreadRemoved { thread } => self.on(now, &thread, out, "removal", |session, cx| {
                session.thread_is_gone(cx, "archived or deleted the thread");
            }),
            Event::ThreadRenamed { thread, name } => self.on(now, &thread, out, "name", |session, cx| {
                session.emit(cx, Update::SessionInfo { title: Patch::from_option(name), updated_at: None });
            }),
            Event::Settings { thread, model, effort, preset } => {
                self.on(now, &thread, out, "settings", |session, cx| {
                    if session.chosen.learn(model, effort, preset) {
                        let options = session.chosen.list(cx.models);
                        session.emit(cx, Update::Options(options));
                    }
                });
            }
            Event::TurnStarted { thread, turn } => {
                self.on(now, &thread, out, "turn", |session, cx| session.turn_is(cx, turn));
            }
            Event::TurnCompleted { thread, turn, end } => {
                self.on(now, &thread, out, "end of a turn", |session, cx| session.turn_completed(cx, &turn, end));
            }
            Event::ItemStarted { thread, turn, item } => {
                self.on(now, &thread, out, "item", |session, cx| session.item_started(cx, &turn, item));
            }
            Event::ItemCompleted { thread, turn, item } => {
                self.on(now, &thread, out, "end of an item", |session, cx| session.item_completed(cx, &turn, item));
            }
            Event::AgentDelta { thread, item, text } | Event::PlanDelta { thread, item, text } => {
                self.on(now, &thread, out, "text", |session, cx| session.agent_delta(cx, &item, &text));
            }
            Event::ThoughtDelta { thread, item, part, text } => {
                self.on(now, &thread, out, "text", |session, cx| session.thought_delta(cx, &item, part, &text));
            }
            Event::OutputDelta { thread, item, text } => {
                self.on(now, &thread, out, "output", |session, cx| session.output(cx, &item, &text));
            }
            // Never part of the output: a tty echoes it already (D2).
            Event::TerminalInput { .. } => {}
            Event::RawOutput { thread, turn: _, item, text } => {
                self.on(now, &thread, out, "raw output", |session, cx| session.raw_output(cx, &item, &text));
            }
            Event::Patch { thread, item, changes } => {
                self.on(now, &thread, out, "patch", |session, cx| session.patch(cx, &item, &changes));
            }
            Event::Progress { thread, item, message } => {
                self.on(now, &thread, out, "progress", |session, cx| session.progress(cx, &item, message));
            }
            Event::Plan { thread, entries } => {
                self.on(now, &thread, out, "plan", |session, cx| session.emit(cx, Update::Plan(entries)));
            }
            Event::TokenUsage { thread, turn, used, window } => {
                self.on(now, &thread, out, "usage", |session, cx| {
                    if let Some(size) = window {
                        session.emit(cx, Update::Usage { used, size });
                    }
                    session.step_is_over(cx, &turn);
                });
            }
            Event::RequestResolved { thread, request } => {
                self.on(now, &thread, out, "answer", |session, cx| session.resolved(cx, &request));
            }
            Event::Error { thread: Some(thread), message, will_retry } => {
                self.on(now, &thread, out, "error", |session, cx| session.turn_error(cx, message, will_retry));
            }
            Event::Error { thread: None, message, .. } => {
                self.tell_all(now, Severity::Error, "Codex reports an error".to_owned(), Some(message), out);
            }
            Event::Notice { thread: Some(thread), severity, title, description } => {
                self.on(now, &thread, out, "notice", |session, cx| session.notice(cx, severity, title, description));
            }
            Event::Notice { thread: None, severity, title, description } => {
                self.tell_all(now, severity, title, description, out);
            }
            Event::Ignored { .. } => {}
            Event::Unmapped { method } => out.anomaly(Anomaly::Unmapped { method }),
        }
    }

    fn tell_all(
        &mut self,
        now: Tick,
        severity: Severity,
        title: String,
        description: Option<String>,
        out: &mut Effects,
    ) {
        if self.sessions.is_empty() {
            if self.early_notices.len() < EARLY_NOTICES {
                self.early_notices.push((severity, title, description));
            }
            return;
        }
        let (sessions, mut cx) = self.split(now, out);
        for session in sessions.values_mut() {
            session.notice(&mut cx, severity, title.clone(), description.clone());
        }
    }

    fn lost(&mut self, now: Tick, generation: Generation, failure: Failure, out: &mut Effects) {
        if generation != self.link.generation() || self.link.is_down() {
            return out.anomaly(Anomaly::StaleGeneration { generation });
        }
        let stderr = match &failure {
            Failure::AppServer { stderr, .. } => stderr.clone(),
            _ => None,
        };
        for purpose in self.link.lost(now, stderr) {
            match purpose {
                Purpose::Open { ticket } | Purpose::ListThreads { ticket } => out.refuse(ticket, failure.clone()),
                Purpose::Resume { session } => {
                    if let Some(resuming) = self.arriving.remove(&session) {
                        out.refuse(resuming.ticket, failure.clone());
                    }
                }
                // Their sessions are told as a whole.
                Purpose::Initialize
                | Purpose::Models
                | Purpose::Revive { .. }
                | Purpose::Replay { .. }
                | Purpose::KeyScan { .. }
                | Purpose::TurnStart { .. }
                | Purpose::TurnSteer { .. }
                | Purpose::Interrupt { .. }
                | Purpose::Terminals { .. }
                | Purpose::Terminate { .. }
                | Purpose::Parting => {}
            }
        }
        for (ticket, session) in std::mem::take(&mut self.unanswered) {
            self.sessions.remove(&session);
            out.refuse(ticket, failure.clone());
        }
        let (sessions, mut cx) = self.split(now, out);
        for session in sessions.values_mut() {
            session.app_server_lost(&mut cx, &failure);
        }
        self.loss = Some(failure);
        let threads = self.link.take_marked();
        if threads.is_empty() {
            return self.swept(now, generation, SweepReport::default(), out);
        }
        out.push(Effect::Sweep { generation, threads });
        self.timers.arm(now.plus(SWEEP_BOUND), Timer::SweepBound { generation });
    }

    fn swept(&mut self, now: Tick, generation: Generation, report: SweepReport, out: &mut Effects) {
        if generation != self.link.generation() {
            return out.anomaly(Anomaly::StaleGeneration { generation });
        }
        // The bound came first and everything was said.
        let Some(failure) = self.loss.take() else { return };
        if report.left > 0 {
            let title = format!("{} processes of the lost app-server could not be ended", report.left);
            self.tell_all(now, Severity::Warning, title, None, out);
        }
        let (sessions, mut cx) = self.split(now, out);
        for session in sessions.values_mut() {
            session.swept(&mut cx, &failure);
        }
        self.exit_if_alone(out);
    }

    /// D9: everything ends, then we do.
    fn leave(&mut self, now: Tick, code: i32, out: &mut Effects) {
        if self.leaving.is_some() {
            return;
        }
        self.leaving = Some(Leaving { code, said: false });
        let (sessions, mut cx) = self.split(now, out);
        for session in sessions.values_mut() {
            session.leave(&mut cx);
        }
        if !self.link.is_down() {
            out.push(Effect::EndCodex { generation: self.link.generation() });
            self.timers.arm(now.plus(END_BOUND), Timer::EndBound);
        }
        self.exit_if_alone(out);
    }

    fn exit_if_alone(&mut self, out: &mut Effects) {
        let is_alone = self.link.is_down() && self.loss.is_none();
        if is_alone {
            self.exit(out);
        }
    }

    fn exit(&mut self, out: &mut Effects) {
        match &mut self.leaving {
            Some(leaving) if !leaving.said => {
                leaving.said = true;
                out.push(Effect::Exit { code: leaving.code });
            }
            Some(_) | None => {}
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
                Timer::TurnBound { session, turn } => {
                    self.with(now, &session, out, |session, cx| session.turn_bound(cx, &turn));
                }
                Timer::QuietTurn { session, turn } => {
                    self.with(now, &session, out, |session, cx| session.quiet_turn(cx, &turn));
                }
                Timer::CloseBound { session } => {
                    self.with(now, &session, out, |session, cx| session.close_bound(cx));
                }
                Timer::Models => {
                    if !self.models.is_known() {
                        out.anomaly(Anomaly::UnknownAnswer { what: "no answer to model/list" });
                        self.models.give_up();
                        self.models_known(now, out);
                    }
                }
                Timer::SweepBound { generation } => {
                    if self.loss.is_some() && generation == self.link.generation() {
                        self.swept(now, generation, SweepReport::default(), out);
                    }
                }
                Timer::EndBound => self.exit(out),
            }
        }
    }

    fn pressure(&mut self, now: Tick, pressure: Pressure, out: &mut Effects) {
        self.desk.pressure = pressure;
        if pressure == Pressure::Low {
            for (session, item) in std::mem::take(&mut self.desk.starved) {
                self.with(now, &session, out, |session, cx| session.flush_due(cx, &item));
            }
        }
    }

    /// Does something with an open session; nothing if it is not open.
    fn with(&mut self, now: Tick, session: &SessionId, out: &mut Effects, act: impl FnOnce(&mut Session, &mut Cx<'_>)) {
        let (sessions, mut cx) = self.split(now, out);
        if let Some(session) = sessions.get_mut(session) {
            act(session, &mut cx);
        }
    }

    /// Does something with the session of a thread that Codex speaks of.
    fn on(
        &mut self,
        now: Tick,
        thread: &ThreadId,
        out: &mut Effects,
        what: &'static str,
        act: impl FnOnce(&mut Session, &mut Cx<'_>),
    ) {
        let (sessions, mut cx) = self.split(now, out);
        match sessions.get_mut(&SessionId::of(thread)) {
            Some(session) => act(session, &mut cx),
            None => cx.out.anomaly(Anomaly::UnknownThread { thread: thread.clone(), what }),
        }
    }
}

fn listed(ticket: Ticket, result: Result<CodexReply, CodexError>, out: &mut Effects) {
    match result {
        Ok(CodexReply::Threads { threads, next }) => {
            let sessions = threads
                .into_iter()
                .map(|it| SessionEntry {
                    session: SessionId::of(&it.thread),
                    cwd: it.cwd,
                    title: it.title,
                    updated_at: it.updated_at,
                })
                .collect();
            out.respond(ticket, Reply::Sessions { sessions, next });
        }
        Ok(_) => out.refuse(ticket, open_failure("thread/list", None, &unexpected())),
        Err(error) if error.message.contains("cursor") => {
            out.refuse(ticket, Failure::InvalidParams("unknown cursor; start again without one".to_owned()));
        }
        Err(error) => out.refuse(ticket, open_failure("thread/list", None, &error)),
    }
}

fn unexpected() -> CodexError {
    CodexError { code: 0, message: "the answer has another shape than expected".to_owned() }
}
