//! Who is signed in to Codex: sessions wait until that is known.
//!
//! No session opens whose first prompt would fail for want of an account.

use super::Core;
use super::barred::Barred;
use super::codex::{Choices, CodexError, CodexReply, CodexRequest};
use super::effect::{Anomaly, Effects};
use super::failure::Failure;
use super::gateway::Gateway;
use super::ids::{RequestId, SessionId, Tick};
use super::link::Purpose;
use super::login::Login;
use super::prompts::refusal;
use super::request::{Place, Ticket, Version};
use super::sign_in::SignIn;
use super::timer::Timer;
use std::sync::Arc;

/// How long sessions wait for `account/read`, in ms. It takes long only where an account is there
/// and its workspace is asked for: then Codex may say itself what is wrong.
const ACCOUNT_BOUND: u64 = 2_000;

/// Codex looks into its store once a second: who signed in elsewhere is known by then. In ms.
const LOOK_AGAIN: u64 = 1_500;

/// What is known of the account, and who waits for it.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// Signed in, or the model provider needs no account of OpenAI's; `false` where it is unknown.
    pub(crate) is_good: bool,
    /// Codex knows nobody, and would ask the model without an account.
    pub(crate) is_missing: bool,
    /// The `account/read` under way.
    reading: Option<u32>,
    n_reads: u32,
    held: Vec<Opening>,
    /// Somebody was told to sign in, and may have done it elsewhere.
    pub(crate) has_refused: bool,
    look: Look,
    pub(crate) login: Option<Login>,
    /// `CODEX_API_KEY` was tried with this app-server.
    key_spent: bool,
    /// The client has signed out on purpose: nothing signs in again unasked.
    pub(crate) has_signed_out: bool,
    /// Models come from there, and no account is needed.
    pub(crate) gateway: Option<Arc<Gateway>>,
}

/// How sure it is that nobody is signed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Look {
    #[default]
    First,
    /// The next one comes in a while.
    Waiting,
    Last,
}

/// A request that needs an account.
#[derive(Debug)]
pub(crate) enum Opening {
    /// `session/new`.
    New { ticket: Ticket, place: Place },
    /// `session/load`, `session/resume`: the ticket is with the resume.
    Resume(SessionId),
    /// `session/fork`.
    Fork { ticket: Ticket, session: SessionId, place: Place },
    /// The client has run `codex login`: did it work?
    Confirm(Ticket),
    /// `session/prompt` of a session that was opened with an account that is not there any more.
    Prompt(Barred),
}

impl Account {
    /// Whether a request of the client waits for what Codex says of the account.
    pub(crate) fn is_awaited(&self) -> bool {
        !self.held.is_empty() || self.login.is_some()
    }

    /// What waits for the account.
    pub(super) fn held(&mut self) -> &mut Vec<Opening> {
        &mut self.held
    }
}

impl Core {
    /// Opens at once with an account, else when it is known that there is one.
    pub(super) fn admit(&mut self, now: Tick, opening: Opening, out: &mut Effects) {
        let is_enough = self.account.gateway.is_some() && !matches!(opening, Opening::Confirm(_));
        if self.account.is_good || is_enough {
            return self.enter(now, opening, out);
        }
        self.account.held.push(opening);
        if self.account.look != Look::Waiting {
            self.read_account(now, out);
        }
    }

    /// Asks who is signed in; also notices a `codex login` elsewhere, of which Codex says nothing.
    pub(super) fn read_account(&mut self, now: Tick, out: &mut Effects) {
        let read = self.account.reading.unwrap_or_else(|| {
            self.account.n_reads += 1;
            let read = self.account.n_reads;
            self.account.reading = Some(read);
            self.link.call(Purpose::Account { read }, CodexRequest::AccountRead, out);
            read
        });
        self.timers.arm(now.plus(ACCOUNT_BOUND), Timer::Account { read });
    }

    pub(super) fn account_read(
        &mut self,
        now: Tick,
        read: u32,
        result: Result<CodexReply, CodexError>,
        out: &mut Effects,
    ) {
        if self.account.reading == Some(read) {
            self.account.reading = None;
        }
        match result {
            Ok(CodexReply::Account { who: None, required: true }) => {
                (self.account.is_good, self.account.is_missing) = (false, true);
                self.signed_out(now, out);
            }
            Ok(CodexReply::Account { .. }) => {
                (self.account.is_good, self.account.is_missing) = (true, false);
                self.enter_all(now, out);
            }
            // Somebody is signed in, and more cannot be said: Codex will tell what it misses.
            Ok(_) => self.enter_all(now, out),
            Err(error) => {
                out.anomaly(Anomaly::CodexRefused { method: "account/read", message: error.message });
                self.enter_all(now, out);
            }
        }
    }

    /// Codex said whether it can read its configuration; nobody is signed in.
    pub(super) fn config_read(&mut self, result: Result<CodexReply, CodexError>, out: &mut Effects) {
        let failure = match result {
            Ok(_) => {
                self.account.has_refused = true;
                self.auth_required()
            }
            Err(error) => refusal("config/read", &error),
        };
        self.refuse_held(&failure, out);
    }

    /// Time for the second look.
    pub(super) fn look_again(&mut self, now: Tick, out: &mut Effects) {
        if self.account.look == Look::Waiting {
            self.account.look = Look::Last;
            self.read_account(now, out);
        }
    }

    /// What is held has waited long enough.
    pub(super) fn account_bound(&mut self, now: Tick, read: u32, out: &mut Effects) {
        if self.account.reading == Some(read) {
            self.enter_all(now, out);
        }
    }

    /// Codex says that the account is another one, or none.
    pub(super) fn account_updated(&mut self, now: Tick, out: &mut Effects) {
        self.account.is_good = false;
        self.read_account(now, out);
    }

    /// `$/cancel_request`; `false` if that request does not wait here.
    pub(super) fn cancel_waiting(&mut self, now: Tick, request: &RequestId, out: &mut Effects) -> bool {
        if self.account.login.as_ref().is_some_and(|it| it.is_of(request)) {
            self.give_up_login(Failure::Cancelled, out);
            return true;
        }
        let is_it = |opening: &Opening| match opening {
            Opening::New { ticket, .. } | Opening::Fork { ticket, .. } | Opening::Confirm(ticket) => {
                ticket.id() == request
            }
            Opening::Resume(_) => false,
            Opening::Prompt(barred) => barred.ticket.id() == request,
        };
        match self.account.held.iter().position(is_it) {
            Some(at) => {
                match self.account.held.remove(at) {
                    Opening::Prompt(barred) => self.cancel_barred(now, barred, out),
                    opening @ (Opening::New { .. }
                    | Opening::Fork { .. }
                    | Opening::Resume(_)
                    | Opening::Confirm(_)) => {
                        self.refuse_opening(opening, &Failure::Cancelled, out);
                    }
                }
                true
            }
            None => false,
        }
    }

    /// The app-server is gone: what waited here waits for nothing.
    pub(super) fn account_lost(&mut self, failure: &Failure, out: &mut Effects) {
        let lost = std::mem::take(&mut self.account);
        self.account.n_reads = lost.n_reads;
        self.account.has_signed_out = lost.has_signed_out;
        self.account.gateway = lost.gateway;
        for opening in lost.held {
            self.refuse_opening(opening, failure, out);
        }
        if let Some(login) = lost.login {
            login.lost(failure, out);
        }
    }

    // What `codex exec` does with `CODEX_API_KEY`, the app-server does not: it is given the key where
    // nobody is signed in. `OPENAI_API_KEY` may be there for something else, and has to be chosen.
    fn signed_out(&mut self, now: Tick, out: &mut Effects) {
        if self.account.held.is_empty() {
            return;
        }
        let is_confirm = |it: &Opening| matches!(it, Opening::Confirm(_));
        let may_be_late = self.account.has_refused || self.account.held.iter().any(is_confirm);
        if may_be_late && self.account.look == Look::First {
            self.account.look = Look::Waiting;
            return self.timers.arm(now.plus(LOOK_AGAIN), Timer::LookAgain);
        }
        self.account.look = Look::First;
        let key = self.settings.sign_in.codex_key.clone();
        match (&self.account.login, key) {
            (None, Some(key)) if !self.account.key_spent && !self.account.has_signed_out => {
                self.account.key_spent = true;
                self.start_held_login(key, out);
            }
            // They are answered when it is over.
            (Some(login), _) if login.is_for_held() => {}
            (Some(_) | None, _) => {
                // With a configuration that it cannot read, Codex knows no account either.
                self.link.call(Purpose::Config, CodexRequest::ConfigRead, out);
            }
        }
    }

    fn auth_required(&self) -> Failure {
        let methods = self.settings.sign_in.methods(&self.client);
        // That one is not called: it is what the sentence ends with.
        let called = methods.into_iter().filter(|it| *it != SignIn::Terminal);
        let ids: Vec<&str> = called.map(SignIn::id).collect();
        let call = match self.client.version {
            Version::V1 => "authenticate",
            Version::V2 => "auth/login",
        };
        let by_client = match ids.is_empty() {
            true => String::new(),
            false => format!("sign in with {call} ({}), or ", ids.join(", ")),
        };
        Failure::AuthRequired(format!(
            "nobody is signed in to Codex: {by_client}run `codex login` in a terminal and try again"
        ))
    }

    pub(super) fn enter_all(&mut self, now: Tick, out: &mut Effects) {
        self.account.look = Look::First;
        for opening in std::mem::take(&mut self.account.held) {
            self.enter(now, opening, out);
        }
    }

    fn enter(&mut self, now: Tick, opening: Opening, out: &mut Effects) {
        match opening {
            Opening::New { ticket, mut place } => {
                place.gateway.clone_from(&self.account.gateway);
                self.look_at_place(&ticket, &place, out);
                self.ask_profiles(now, &place.cwd, out);
                let request = CodexRequest::ThreadStart {
                    cwd: place.cwd.clone(),
                    roots: place.additional_directories.clone(),
                    mcp_servers: place.mcp_servers.clone(),
                    instructions: place.instructions.clone(),
                    gateway: place.gateway.clone(),
                    choices: Choices { preset: self.settings.preset, ..Default::default() },
                };
                self.link.call(Purpose::Open { ticket, place }, request, out);
            }
            Opening::Resume(session) => {
                // Closed meanwhile, it has no resume any more.
                if let Some(resuming) = self.arriving.get_mut(&session) {
                    resuming.place.gateway.clone_from(&self.account.gateway);
                    let cwd = resuming.place.cwd.clone();
                    let request = resuming.request(self.renewals.thread(&session));
                    let (by, path) = (resuming.request_id().cloned(), cwd.clone());
                    if let Some(opening) = by.clone() {
                        self.link.call(Purpose::Look { opening }, CodexRequest::LookAt { path }, out);
                    }
                    self.ask_profiles(now, &cwd, out);
                    self.link.load(Purpose::Resume { session: session.clone() }, request, out);
                    if let Some(by) = by {
                        self.ask_descendants(&session, (by, Vec::new()), None, out);
                    }
                }
            }
            Opening::Fork { ticket, session, place } => {
                self.ask_profiles(now, &place.cwd, out);
                self.look_first(ticket, session, place, out);
            }
            Opening::Confirm(ticket) => self.signed_in(ticket, out),
            Opening::Prompt(barred) => self.let_in(now, barred, out),
        }
    }

    pub(super) fn refuse_held(&mut self, failure: &Failure, out: &mut Effects) {
        for opening in std::mem::take(&mut self.account.held) {
            self.refuse_opening(opening, failure, out);
        }
    }

    fn refuse_opening(&mut self, opening: Opening, failure: &Failure, out: &mut Effects) {
        match opening {
            Opening::New { ticket, .. }
            | Opening::Fork { ticket, .. }
            | Opening::Confirm(ticket)
            | Opening::Prompt(Barred { ticket, .. }) => out.refuse(ticket, failure.clone()),
            Opening::Resume(session) => {
                self.refuse_arriving(&session, failure, out);
            }
        }
    }
}
