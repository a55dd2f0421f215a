//! Codex's answers, handed to whoever asked, and its requests, handed to the session.

use super::asked::CodexAsk;
use super::asking::Question;
use super::codex::{CodexError, CodexReply, CodexRequest, ThreadOpened};
use super::effect::{Anomaly, Effect, Effects};
use super::failure::Failure;
use super::ids::{CodexCallId, RequestId, SessionId, ThreadId, Tick};
use super::leaving::Loss;
use super::link::Purpose;
use super::opening::{of_subagent, open_failure};
use super::request::{Place, Ticket};
use super::session::{History, Session};
use super::shelf::found_out;
use super::timer::Timer;
use super::update::Severity;
use super::{Core, asks, made_for};

/// Codex's code for a request that it has no time for now.
const OVERLOADED: i64 = -32001;

/// How long answers wait for the model list, in ms.
const MODELS_BOUND: u64 = 2_000;

impl Core {
    pub(super) fn codex_answered(
        &mut self,
        now: Tick,
        call: CodexCallId,
        result: Result<CodexReply, CodexError>,
        out: &mut Effects,
    ) {
        if let Err(error) = &result
            && error.code == OVERLOADED
            && let Some(pause) = self.link.put_off(call)
        {
            return self.timers.arm(now.plus(pause), Timer::Again { call });
        }
        let Some(purpose) = self.link.answered(call) else {
            return out.anomaly(Anomaly::UnknownAnswer { what: "answer of codex" });
        };
        let opens = purpose.opens();
        self.answered_for(now, purpose, result, out);
        if opens {
            self.tell_early(now, out);
        }
    }

    fn answered_for(
        &mut self,
        now: Tick,
        purpose: Purpose,
        result: Result<CodexReply, CodexError>,
        out: &mut Effects,
    ) {
        match purpose {
            Purpose::Initialize => self.initialized(now, result, out),
            Purpose::Models => self.models_page(now, result, out),
            Purpose::Account { read } => self.account_read(now, read, result, out),
            Purpose::Login => self.login_started(now, result, out),
            // It may be over by now.
            Purpose::LoginCancel => {}
            Purpose::Logout { ticket } => self.signed_out_answered(ticket, result, out),
            Purpose::Open { ticket, place } => self.opened(now, ticket, place, result, out),
            Purpose::Look { opening } => self.looked_at(now, &opening, result, out),
            Purpose::LookFirst { ticket, session, place } => {
                self.looked_first(ticket, session, place, result, out);
            }
            Purpose::Unwanted(unwanted) => self.unwanted(unwanted, result, out),
            Purpose::ListThreads { ticket, archived, of_archived } => {
                self.sessions_listed(ticket, archived, of_archived, result, out);
            }
            Purpose::Fork { ticket, session, place } => {
                self.forked(now, ticket, &session, place, result, out);
            }
            Purpose::Shelve { ticket, session, shelf } => self.shelved(ticket, session, shelf, result, out),
            Purpose::Find { ticket, found, missing } => found_out(ticket, *found, missing, result, out),
            Purpose::Title { ticket, session, title } => self.titled(ticket, session, title, result, out),
            Purpose::Resume { session } => self.resumed(now, &session, result, out),
            Purpose::Revive { session } if !self.sessions.contains_key(&session) => {
                self.forget_thread(&self.renewals.thread(&session), &result, out);
            }
            Purpose::Revive { session } => match thread_opened(result) {
                result if self.is_unsaved(&session, &result) => self.renew(now, &session, out),
                result => self.with(now, &session, out, |session, cx| session.revived(cx, result)),
            },
            Purpose::Renew { session } => self.renewed(now, &session, thread_opened(result), out),
            Purpose::Descent { thread } => self.descent_told(now, &thread, result, out),
            Purpose::Descendants { session, by, known } => {
                self.descendants_told(now, &session, (by, known), result, out);
            }
            Purpose::Restore { session } if !self.sessions.contains_key(&session) => {
                self.forget_thread(&session.thread(), &result, out);
            }
            Purpose::Restore { session } => self.rejoined(now, &session, thread_opened(result), out),
            Purpose::IsLoaded { then } => {
                let (purpose, request) = *then;
                let request = match (result, request) {
                    (Ok(_), CodexRequest::ThreadResume { thread, .. }) => {
                        CodexRequest::ThreadRejoin { thread }
                    }
                    (_, request) => request,
                };
                self.link.call(purpose, request, out);
            }
            Purpose::CatchUp { session } => {
                self.with(now, &session, out, |session, cx| session.newest_page(cx, result));
            }
            Purpose::Replay { session, reading, ask } => {
                self.with(now, &session, out, |session, cx| {
                    session.replay_page(cx, (reading, &ask), result);
                });
            }
            Purpose::KeyScan { session } => {
                self.with(now, &session, out, |session, cx| session.keys_page(cx, result));
            }
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
            Purpose::Inform { session, root, line } => self.informed((session, root, line), result, out),
            Purpose::Profiles { cwd } => self.profiles_told(now, &cwd, result, out),
            Purpose::Terminals { session, listing } => {
                self.with(now, &session, out, |session, cx| match result {
                    Ok(CodexReply::Terminals { terminals, next }) => {
                        session.terminals_page(cx, listing, terminals, next)
                    }
                    Ok(_) => session.terminals_refused(cx, &listing, CodexError::unexpected().message),
                    Err(error) => session.terminals_refused(cx, &listing, error.message),
                })
            }
            Purpose::Terminate { session, item } => {
                self.with(now, &session, out, |session, cx| session.terminate_answered(cx, &item, result));
            }
            // Any answer will do: that it came is what counts.
            Purpose::Probe => {}
            Purpose::Config => self.config_read(result, out),
            Purpose::Goal { session } => {
                self.with(now, &session, out, |session, cx| session.goal_read(cx, result));
            }
            Purpose::GoalStop { session } => {
                self.with(now, &session, out, |session, cx| session.goal_stop_answered(cx, result));
            }
            Purpose::Queue { session, pages, cursor } => {
                self.with(now, &session, out, |session, cx| session.queue_page(cx, pages, cursor, result));
            }
            Purpose::Unqueue { session, item } => {
                self.with(now, &session, out, |session, cx| session.unqueue_answered(cx, &item, result));
            }
            Purpose::Skills { session, asked } => {
                self.with(now, &session, out, |session, cx| session.skills_read(cx, asked, result));
            }
            Purpose::Local { session, key, question } => {
                if question == Question::Logout && result.is_ok() {
                    self.has_signed_out();
                }
                self.with(now, &session, out, |session, cx| session.local_told(cx, &key, question, result));
            }
            Purpose::Settings { session, choices } => {
                self.with(now, &session, out, |session, cx| session.choices_told(cx, choices, result));
            }
            Purpose::Begin { session, key } => {
                self.with(now, &session, out, |session, cx| session.begin_answered(cx, &key, result));
            }
            Purpose::Parting => {
                if let Err(error) = result {
                    out.anomaly(Anomaly::CodexRefused {
                        method: "clean, unsubscribe, delete or goal/set",
                        message: error.message,
                    });
                }
            }
        }
    }

    pub(super) fn initialized(
        &mut self,
        now: Tick,
        result: Result<CodexReply, CodexError>,
        out: &mut Effects,
    ) {
        match result {
            Ok(reply) => {
                if let CodexReply::Initialized { user_agent } = reply {
                    self.version_known(now, made_for::version(&user_agent), out);
                }
                self.link.ready(out);
                if !self.models.is_known() {
                    self.link.call(Purpose::Models, CodexRequest::ModelList { cursor: None }, out);
                    self.timers.arm(now.plus(MODELS_BOUND), Timer::Models);
                }
                self.read_account(now, out);
                self.connected_again(now, out);
            }
            Err(error) => {
                let generation = self.link.generation();
                out.push(Effect::EndCodex { generation });
                let message = format!("the codex app-server refused to start: {}", error.message);
                self.lost(now, generation, Loss { message, stderr: None, was_running: true }, out);
            }
        }
    }

    /// The app-server said which Codex it is; a warning is said once for each.
    fn version_known(&mut self, now: Tick, version: Option<String>, out: &mut Effects) {
        let is_news = self.link.codex != version;
        self.link.codex = version;
        let warning = made_for::warning(self.link.codex.as_deref(), self.link.address());
        if let Some((title, description)) = warning.filter(|_| is_news) {
            self.tell_all(now, Severity::Warning, title, Some(description), out);
        }
    }

    pub(super) fn models_page(
        &mut self,
        now: Tick,
        result: Result<CodexReply, CodexError>,
        out: &mut Effects,
    ) {
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
    pub(super) fn models_known(&mut self, now: Tick, out: &mut Effects) {
        self.answer_opened(now, out);
        let (sessions, mut cx) = self.split(now, out);
        for session in sessions.values_mut() {
            session.answer_resume(&mut cx);
        }
    }

    /// New sessions are told to the client once what they have to choose from is known.
    pub(super) fn answer_opened(&mut self, now: Tick, out: &mut Effects) {
        for (ticket, id) in std::mem::take(&mut self.unanswered) {
            let (sessions, mut cx) = self.split(now, out);
            match sessions.get_mut(&id) {
                Some(session) if session.knows_choices(&cx) => session.answer_open(&mut cx, ticket),
                Some(_) => self.unanswered.push((ticket, id)),
                None => cx.out.refuse(ticket, Failure::Cancelled),
            }
        }
    }

    pub(super) fn opened(
        &mut self,
        now: Tick,
        ticket: Ticket,
        place: Place,
        result: Result<CodexReply, CodexError>,
        out: &mut Effects,
    ) {
        let opened = match thread_opened(result) {
            Ok(opened) => opened,
            Err(error) => return out.refuse(ticket, open_failure("thread/start", None, &error)),
        };
        self.subagents.opened(&opened.thread);
        let mut session = Session::new(&opened, place, History::Known);
        session.is_blank = true;
        self.welcome(now, ticket, session, out);
    }

    /// A session that did not exist before is told to the client, once what it has to choose from is known.
    pub(super) fn welcome(&mut self, now: Tick, ticket: Ticket, mut session: Session, out: &mut Effects) {
        let notices = std::mem::take(&mut self.early_notices);
        let id = session.id.clone();
        let (_, mut cx) = self.split(now, out);
        for (severity, title, description) in notices {
            session.notice(&mut cx, severity, title, description);
        }
        self.unanswered.push((ticket, id.clone()));
        self.sessions.insert(id, session);
        self.answer_opened(now, out);
    }

    pub(super) fn resumed(
        &mut self,
        now: Tick,
        id: &SessionId,
        result: Result<CodexReply, CodexError>,
        out: &mut Effects,
    ) {
        let Some(resuming) = self.arriving.remove(id) else {
            // Closed meanwhile.
            return self.forget_thread(&self.renewals.thread(id), &result, out);
        };
        let error = match thread_opened(result) {
            Ok(ThreadOpened { thread, parent: Some(parent), .. }) => {
                self.link.call(Purpose::Parting, CodexRequest::Unsubscribe { thread }, out);
                if let Some(ticket) = resuming.ticket {
                    out.refuse(ticket, of_subagent(id, Some(&SessionId::of(&parent))));
                }
                return self.staying.push(id.clone());
            }
            Ok(opened) => {
                self.subagents.opened(&opened.thread);
                let (sessions, mut cx) = self.split(now, out);
                let session = sessions
                    .entry(id.clone())
                    .or_insert_with(|| Session::new(&opened, resuming.place.clone(), History::Unread));
                // The thread may be one that took the place of the session's first.
                session.id = id.clone();
                return session.resumed(&mut cx, &opened, resuming);
            }
            Err(error) => error,
        };
        if let Some(ticket) = resuming.ticket {
            self.refuse_by_codex(ticket, id, ("thread/resume", &error), out);
        }
        self.staying.push(id.clone());
    }

    /// A thread was loaded for a session that is closed by now.
    fn forget_thread(
        &mut self,
        thread: &ThreadId,
        result: &Result<CodexReply, CodexError>,
        out: &mut Effects,
    ) {
        if result.is_ok() && !self.sessions.contains_key(&self.renewals.session(thread)) {
            let request = CodexRequest::Unsubscribe { thread: thread.clone() };
            self.link.call(Purpose::Parting, request, out);
        }
    }

    pub(super) fn codex_asked(&mut self, now: Tick, request: RequestId, ask: CodexAsk, out: &mut Effects) {
        let Some(thread) = ask.thread().cloned() else {
            let method = if let CodexAsk::Unsupported { method } = &ask { method } else { "a request" };
            let (_, mut cx) = self.split(now, out);
            return asks::leave(&mut cx, request, method);
        };
        let Some((request, ask)) = self.hold_back_ask(now, &thread, (request, ask), out) else { return };
        let session = self.renewals.session(&thread);
        let (sessions, mut cx) = self.split(now, out);
        let is_here = |it: &&mut Session| it.closing.is_none() && !it.is_in_call();
        if let Some(it) = sessions.get_mut(&session).filter(is_here) {
            return it.asked(&mut cx, request, ask);
        }
        self.asked_without_session(now, &thread, (request, ask), out);
    }
}

pub(super) fn thread_opened(result: Result<CodexReply, CodexError>) -> Result<ThreadOpened, CodexError> {
    match result {
        Ok(CodexReply::ThreadOpened(opened)) => Ok(opened),
        Ok(
            CodexReply::Initialized { .. }
            | CodexReply::Threads { .. }
            | CodexReply::Descent(_)
            | CodexReply::Items { .. }
            | CodexReply::Turns { .. }
            | CodexReply::Turn(_)
            | CodexReply::Terminals { .. }
            | CodexReply::Terminated(_)
            | CodexReply::Models { .. }
            | CodexReply::Profiles(_)
            | CodexReply::Goal(_)
            | CodexReply::Queued { .. }
            | CodexReply::Deleted(_)
            | CodexReply::Told(_)
            | CodexReply::Account { .. }
            | CodexReply::LoginStarted(_)
            | CodexReply::LookedAt { .. }
            | CodexReply::Done,
        ) => Err(CodexError::unexpected()),
        Err(error) => Err(error),
    }
}
