//! What the client wants, handed to the session it is about.

use super::Core;
use super::account::Opening;
use super::barred::Barred;
use super::effect::{Anomaly, Effects};
use super::failure::Failure;
use super::ids::{PromptKey, SessionId, Tick};
use super::input::FromClient;
use super::opening::Resuming;
use super::request::{Place, PromptPart, Reply, Request, Ticket, Version};
use super::update::Update;

impl Core {
    pub(super) fn client_event(&mut self, now: Tick, event: FromClient, out: &mut Effects) {
        match event {
            FromClient::Hello(profile) => {
                self.client = profile;
                // The first request that needs it reports a refusal.
                let _ = self.link.ensure(now, out);
            }
            FromClient::Request { ticket, request } => self.request(now, ticket, request, out),
            FromClient::CancelSession { session } => {
                self.cancel_all_barred(now, &session, out);
                self.cancel_session(now, &session, out);
            }
            FromClient::CancelRequest { request } => self.cancel_request(now, &request, out),
            FromClient::Answered { ask, answer } if self.page_answered(ask, &answer, out) => {}
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

    pub(super) fn request(&mut self, now: Tick, ticket: Ticket, request: Request, out: &mut Effects) {
        if self.leaving.is_some() {
            return out.refuse(ticket, Failure::InvalidRequest("the agent is shutting down".to_owned()));
        }
        if let Some((session, what)) = forbidden(&request).filter(|(session, _)| self.is_child(session)) {
            let message = format!("{session} is the session of a subagent, which {what}");
            return out.refuse(ticket, Failure::InvalidParams(message));
        }
        match request {
            Request::NewSession(place) => self.new_session(now, ticket, place, out),
            Request::ResumeSession { session, place, replay } => {
                self.resume_session(now, &session, Resuming::new(ticket, place, replay), out);
            }
            Request::SignIn { method, gateway } => self.sign_in(now, ticket, (method, gateway), out),
            Request::SignOut => self.sign_out(now, ticket, out),
            Request::ListSessions { cwd, cursor, archived } => {
                self.list_sessions(now, ticket, cwd, cursor, archived, out);
            }
            Request::ForkSession { session, place } => self.fork_session(now, ticket, session, place, out),
            Request::ShelveSession { session, shelf } => self.shelve(now, ticket, session, shelf, out),
            Request::SetTitle { session, title } => self.set_title(now, ticket, session, title, out),
            Request::CloseSession { session } => {
                self.give_up_resume(now, &session, out);
                self.close_session(now, ticket, session, out);
            }
            Request::Prompt { session, parts, key } => self.prompt(now, ticket, session, parts, key, out),
            Request::SetOption { session, option, value } => {
                let (sessions, mut cx) = self.split(now, out);
                let Some(it) = sessions.get_mut(&session).filter(|it| it.is_open) else {
                    return cx.out.refuse(ticket, Failure::UnknownSession(session));
                };
                match it.chosen.set(&option, &value, cx.models) {
                    Ok(()) => {
                        let options = it.chosen.list(cx.models);
                        cx.out.respond(ticket, Reply::OptionSet(options.clone()));
                        // A v1 client has the mode in two places; the answer is one of them.
                        if cx.version() == Version::V1 {
                            it.emit(&mut cx, Update::Options(options));
                        }
                        it.choice_made(&mut cx);
                    }
                    Err(failure) => cx.out.refuse(ticket, failure),
                }
            }
            Request::CancelTerminal { session, terminal } => {
                let (sessions, mut cx) = self.split(now, out);
                match sessions.get_mut(&session).filter(|it| it.is_open) {
                    Some(it) => it.cancel_terminal(&mut cx, ticket, &terminal),
                    None => cx.out.refuse(ticket, Failure::UnknownSession(session)),
                }
            }
            Request::CancelToolCall { session, call } => {
                let (sessions, mut cx) = self.split(now, out);
                match sessions.get_mut(&session).filter(|it| it.is_open) {
                    Some(it) => it.cancel_call(&mut cx, ticket, &call),
                    None => cx.out.refuse(ticket, Failure::UnknownSession(session)),
                }
            }
        }
    }

    pub(super) fn new_session(&mut self, now: Tick, ticket: Ticket, place: Place, out: &mut Effects) {
        if let Err(failure) = self.link.ensure(now, out) {
            return out.refuse(ticket, failure);
        }
        self.admit(now, Opening::New { ticket, place }, out);
    }

    pub(super) fn resume_session(
        &mut self,
        now: Tick,
        session: &SessionId,
        resuming: Resuming,
        out: &mut Effects,
    ) {
        let is_busy = self.arriving.contains_key(session)
            || self.late_resumes.iter().any(|(waiting, _)| waiting == session)
            || self.sessions.get(session).is_some_and(|it| it.resuming.is_some() || it.closing.is_some());
        if is_busy {
            let message = "this session is being resumed or closed already; wait for that answer";
            return resuming.refuse(Failure::InvalidRequest(message.to_owned()), out);
        }
        // What the lost app-server left is not swept yet: its ends have to be told first.
        if !self.losses.is_empty() {
            self.late_resumes.push((session.clone(), resuming));
            return;
        }
        if let Err(failure) = self.link.ensure(now, out) {
            return resuming.refuse(failure, out);
        }
        self.arriving.insert(session.clone(), resuming);
        self.with(now, session, out, |session, cx| session.returns(cx));
        self.admit(now, Opening::Resume(session.clone()), out);
    }

    /// A resume that is under way is for nothing: the session closes.
    pub(super) fn give_up_resume(&mut self, now: Tick, session: &SessionId, out: &mut Effects) {
        self.refuse_arriving(session, &Failure::Cancelled, out);
        self.let_stay(now, out);
        let late = std::mem::take(&mut self.late_resumes);
        let (given_up, late) = late.into_iter().partition(|(waiting, _)| waiting == session);
        self.late_resumes = late;
        let given_up: Vec<(SessionId, Resuming)> = given_up;
        for (_, resuming) in given_up {
            resuming.refuse(Failure::Cancelled, out);
        }
        self.with(now, session, out, |session, cx| session.give_up_resume(cx, Failure::Cancelled));
    }

    /// A resume whose thread is not loaded comes to nothing; a session that was open stays so.
    pub(super) fn refuse_arriving(&mut self, session: &SessionId, failure: &Failure, out: &mut Effects) {
        if let Some(resuming) = self.arriving.remove(session) {
            resuming.refuse(failure.clone(), out);
            self.staying.push(session.clone());
        }
    }

    /// What was held back in sessions whose resume came to nothing is told.
    pub(super) fn let_stay(&mut self, now: Tick, out: &mut Effects) {
        for session in std::mem::take(&mut self.staying) {
            self.with(now, &session, out, |session, cx| session.stays(cx));
        }
    }

    fn close_session(&mut self, now: Tick, ticket: Ticket, session: SessionId, out: &mut Effects) {
        self.cancel_all_barred(now, &session, out);
        match self.sessions.contains_key(&session) {
            true => self.close_tree(now, &session, Some(ticket), out),
            // Nothing to stop (V2-23).
            false => out.respond(ticket, Reply::SessionClosed),
        }
    }

    /// A session closes with all its subagents, the deepest first, also with one that waits to be announced.
    pub(super) fn close_tree(
        &mut self,
        now: Tick,
        session: &SessionId,
        mut ticket: Option<Ticket>,
        out: &mut Effects,
    ) {
        self.announce_waiting(now, session, out);
        for id in self.tree(session) {
            let ticket = if id == *session { ticket.take() } else { None };
            self.with(now, &id, out, |session, cx| session.close(cx, ticket));
        }
    }

    pub(super) fn prompt(
        &mut self,
        now: Tick,
        ticket: Ticket,
        session: SessionId,
        parts: Vec<PromptPart>,
        key: Option<PromptKey>,
        out: &mut Effects,
    ) {
        let (key, is_fresh) = match key {
            Some(key) => (key, false),
            None => (PromptKey::new(format!("{}-{}", self.settings.nonce, self.desk.next_key())), true),
        };
        self.admit_prompt(now, Barred { ticket, session, parts, key, is_fresh }, out);
    }
}

/// What a client may not do with the session of a subagent (V2-83).
fn forbidden(request: &Request) -> Option<(&SessionId, &'static str)> {
    match request {
        Request::Prompt { session, .. } => Some((session, "takes its tasks from its parent only")),
        Request::SetOption { session, .. } => Some((session, "has no options of its own")),
        Request::CloseSession { session } => Some((session, "is closed together with its parent")),
        Request::ResumeSession { session, .. } => Some((session, "is told of without being resumed")),
        Request::ForkSession { session, .. } => Some((session, "cannot be forked")),
        Request::ShelveSession { session, .. } => Some((session, "stays as long as its parent")),
        Request::SetTitle { session, .. } => Some((session, "is named by its parent")),
        Request::NewSession(_)
        | Request::ListSessions { .. }
        | Request::CancelTerminal { .. }
        | Request::CancelToolCall { .. }
        | Request::SignIn { .. }
        | Request::SignOut => None,
    }
}
