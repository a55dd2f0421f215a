//! Sign-ins: from the client's request, over a page, to what Codex says of the end. No deadline.

use super::Core;
use super::account::Opening;
use super::ask::{Answer, Ask};
use super::codex::{CodexError, CodexReply, CodexRequest};
use super::effect::{Effect, Effects};
use super::failure::Failure;
use super::gateway::Gateway;
use super::ids::{AskId, LoginId, RequestId, Tick};
use super::link::Purpose;
use super::request::{Reply, Ticket};
use super::sign_in::{LoginEnd, LoginKind, LoginStarted, Secret, SignIn};

/// A sign-in under way. There is one at a time: Codex gives the former up for the next.
#[derive(Debug)]
pub(crate) struct Login {
    whose: Whose,
    stage: Stage,
}

#[derive(Debug)]
enum Whose {
    Client(Ticket),
    /// `CODEX_API_KEY`, for what is held.
    Held,
    /// Cancelled before Codex gave it an id.
    Nobody,
}

#[derive(Debug)]
enum Stage {
    Starting,
    /// Somebody has to do something on a page.
    Page {
        login: LoginId,
        shown: Shown,
    },
}

/// What the client has of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    /// It is asked to show it.
    Asked(AskId),
    /// It shows it.
    Open,
    /// Nothing.
    Not,
}

impl Login {
    /// Whether it answers this request.
    pub(crate) fn is_of(&self, request: &RequestId) -> bool {
        matches!(&self.whose, Whose::Client(ticket) if ticket.id() == request)
    }

    /// Whether it is for the sessions that wait.
    pub(crate) fn is_for_held(&self) -> bool {
        matches!(self.whose, Whose::Held)
    }

    /// The app-server is gone, and this sign-in with it.
    pub(crate) fn lost(self, failure: &Failure, out: &mut Effects) {
        self.stage.end(out);
        if let Whose::Client(ticket) = self.whose {
            out.refuse(ticket, failure.clone());
        }
    }
}

impl Stage {
    /// Nobody has to do anything on a page any more.
    fn end(&self, out: &mut Effects) {
        match self {
            Self::Page { shown: Shown::Asked(ask), .. } => out.push(Effect::Withdraw { ask: *ask }),
            Self::Page { login, shown: Shown::Open } => out.push(over(login)),
            Self::Page { shown: Shown::Not, .. } | Self::Starting => {}
        }
    }

    /// Codex says that it is done.
    fn done(&self, out: &mut Effects) {
        // Where it is still asked about, this says why it is withdrawn.
        if let Self::Page { login, shown: Shown::Asked(_) } = self {
            out.push(over(login));
        }
        self.end(out);
    }
}

fn over(login: &LoginId) -> Effect {
    Effect::PageOver { elicitation: login.as_str().to_owned() }
}

impl Core {
    /// `authenticate`, `auth/login`.
    pub(super) fn sign_in(
        &mut self,
        now: Tick,
        ticket: Ticket,
        (method, gateway): (SignIn, Option<Gateway>),
        out: &mut Effects,
    ) {
        if let Some(why) = self.settings.sign_in.why_not(method, &self.client) {
            return out.refuse(ticket, Failure::InvalidParams(format!("{}: {why}", method.id())));
        }
        if self.account.login.is_some() {
            let message = "a sign-in is under way; finish it, or cancel it with $/cancel_request";
            return out.refuse(ticket, Failure::InvalidRequest(message.to_owned()));
        }
        if let Err(failure) = self.link.ensure(now, out) {
            return out.refuse(ticket, failure);
        }
        if let Some(gateway) = gateway {
            return self.use_gateway(now, ticket, gateway, out);
        }
        let key = |key: &Option<_>| key.clone().map(LoginKind::ApiKey);
        let kind = match method {
            SignIn::Browser => Some(LoginKind::Browser),
            SignIn::DeviceCode => Some(LoginKind::DeviceCode),
            SignIn::CodexKey => key(&self.settings.sign_in.codex_key),
            SignIn::OpenAiKey => key(&self.settings.sign_in.openai_key),
            SignIn::Terminal | SignIn::Gateway => None,
        };
        match kind {
            Some(kind) => self.start_login(Whose::Client(ticket), kind, out),
            // The client has run it; whether it worked, Codex knows.
            None => self.admit(now, Opening::Confirm(ticket), out),
        }
    }

    /// `logout`, `auth/logout`.
    pub(super) fn sign_out(&mut self, now: Tick, ticket: Ticket, out: &mut Effects) {
        if let Err(failure) = self.link.ensure(now, out) {
            return out.refuse(ticket, failure);
        }
        self.link.call(Purpose::Logout { ticket }, CodexRequest::Logout, out);
    }

    /// The client signed out, by a request or by `/logout`.
    pub(super) fn has_signed_out(&mut self) {
        // Where the model provider needs nobody, the next look says so.
        (self.account.is_good, self.account.is_missing) = (false, true);
        self.account.has_refused = false;
        self.account.gateway = None;
        self.account.has_signed_out = true;
    }

    pub(super) fn signed_out_answered(
        &mut self,
        ticket: Ticket,
        result: Result<CodexReply, CodexError>,
        out: &mut Effects,
    ) {
        match result {
            Ok(_) => {
                self.has_signed_out();
                out.respond(ticket, Reply::SignedOut);
            }
            Err(CodexError { code, message }) => {
                out.refuse(ticket, Failure::Codex { method: "account/logout", message, code });
            }
        }
    }

    /// The answer to `account/login/start`.
    pub(super) fn login_started(
        &mut self,
        now: Tick,
        result: Result<CodexReply, CodexError>,
        out: &mut Effects,
    ) {
        let Some(Login { whose, .. }) = self.account.login.take() else { return };
        let started = match result {
            Ok(CodexReply::LoginStarted(started)) => started,
            Ok(_) => return self.login_failed(whose, "codex answered in another shape", out),
            Err(error) => return self.login_failed(whose, &error.message, out),
        };
        let (login, message, url) = match started {
            LoginStarted::Done => return self.login_succeeded(now, whose, out),
            LoginStarted::Page { login, url } => {
                (login, "Sign in to Codex with ChatGPT on this page.".to_owned(), url)
            }
            LoginStarted::Code { login, url, code } => (
                login,
                format!("Sign in to Codex with ChatGPT: open this page and enter the code {code}"),
                url,
            ),
        };
        let Whose::Client(ticket) = whose else {
            return self.cancel_login(login, out);
        };
        if !self.client.elicitation_url {
            out.push(Effect::OpenPage { url });
            let stage = Stage::Page { login, shown: Shown::Not };
            self.account.login = Some(Login { whose: Whose::Client(ticket), stage });
            return;
        }
        let ask = self.desk.ask_beside();
        let question = Ask::Url { message, elicitation: login.as_str().to_owned(), url };
        out.push(Effect::AskBeside { ask, request: ticket.id().clone(), question });
        let stage = Stage::Page { login, shown: Shown::Asked(ask) };
        self.account.login = Some(Login { whose: Whose::Client(ticket), stage });
    }

    /// `account/login/completed`.
    pub(super) fn login_completed(
        &mut self,
        now: Tick,
        id: Option<&LoginId>,
        end: &LoginEnd,
        out: &mut Effects,
    ) {
        let is_ours = |login: &mut Login| match &login.stage {
            Stage::Page { login, .. } => Some(login) == id,
            Stage::Starting => false,
        };
        let Some(login) = self.account.login.take_if(is_ours) else { return };
        match end {
            LoginEnd::SignedIn => {
                login.stage.done(out);
                self.login_succeeded(now, login.whose, out);
            }
            LoginEnd::Failed(why) => {
                login.stage.end(out);
                self.login_failed(login.whose, why, out);
            }
        }
    }

    /// The client's answer to the page; `false` if it was no question of a sign-in.
    pub(super) fn page_answered(&mut self, ask: AskId, answer: &Answer, out: &mut Effects) -> bool {
        let Some(Login { stage: Stage::Page { shown, .. }, .. }) = &mut self.account.login else {
            return false;
        };
        if *shown != Shown::Asked(ask) {
            return false;
        }
        *shown = Shown::Not;
        let why = match answer {
            Answer::Accepted(_) | Answer::Selected(_) => {
                // Its end comes from Codex.
                *shown = Shown::Open;
                return true;
            }
            Answer::Declined | Answer::Cancelled => Failure::Cancelled,
            Answer::Failed { message } => {
                Failure::AuthRequired(format!("the client could not show the page to sign in: {message}"))
            }
        };
        self.give_up_login(why, out);
        true
    }

    /// There is no browser here.
    pub(super) fn page_not_opened(&mut self, why: &str, out: &mut Effects) {
        let is_ours = |login: &Login| matches!(login.stage, Stage::Page { shown: Shown::Not, .. });
        if self.account.login.as_ref().is_some_and(is_ours) {
            let why = format!(
                "no browser could be opened on this machine ({why}); name one in BROWSER, or run `codex login` in a terminal"
            );
            self.give_up_login(Failure::AuthRequired(why), out);
        }
    }

    /// With `CODEX_API_KEY`, for the sessions that wait.
    pub(super) fn start_held_login(&mut self, key: Secret, out: &mut Effects) {
        self.start_login(Whose::Held, LoginKind::ApiKey(key), out);
    }

    fn start_login(&mut self, whose: Whose, kind: LoginKind, out: &mut Effects) {
        self.account.login = Some(Login { whose, stage: Stage::Starting });
        self.link.call(Purpose::Login, CodexRequest::LoginStart(kind), out);
    }

    pub(super) fn give_up_login(&mut self, why: Failure, out: &mut Effects) {
        let Some(Login { whose, stage }) = self.account.login.take() else { return };
        if let Whose::Client(ticket) = whose {
            out.refuse(ticket, why);
        }
        stage.end(out);
        match stage {
            Stage::Page { login, .. } => self.cancel_login(login, out),
            // Codex has not told its id: it is cancelled with that answer.
            Stage::Starting => self.account.login = Some(Login { whose: Whose::Nobody, stage }),
        }
    }

    fn cancel_login(&mut self, login: LoginId, out: &mut Effects) {
        self.link.call(Purpose::LoginCancel, CodexRequest::LoginCancel { login }, out);
    }

    fn login_succeeded(&mut self, now: Tick, whose: Whose, out: &mut Effects) {
        (self.account.is_good, self.account.is_missing) = (true, false);
        self.account.has_signed_out = false;
        if let Whose::Client(ticket) = whose {
            self.signed_in(ticket, out);
        }
        self.enter_all(now, out);
    }

    /// The client has signed in with an account, and no gateway that it gave before is used any more.
    pub(super) fn signed_in(&mut self, ticket: Ticket, out: &mut Effects) {
        // It may be unknown whether it has: then nothing is given up.
        if self.account.is_good {
            self.account.gateway = None;
        }
        out.respond(ticket, Reply::SignedIn);
    }

    fn login_failed(&mut self, whose: Whose, why: &str, out: &mut Effects) {
        match whose {
            Whose::Client(ticket) => {
                out.refuse(ticket, Failure::AuthRequired(format!("the sign-in failed: {why}")));
            }
            Whose::Held => {
                let failure =
                    Failure::AuthRequired(format!("codex does not take the key in CODEX_API_KEY: {why}"));
                self.refuse_held(&failure, out);
            }
            Whose::Nobody => {}
        }
    }
}
