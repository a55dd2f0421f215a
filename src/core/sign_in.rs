//! The ways to sign in to Codex, and which of them can be offered to whom.
//!
//! Values only: what becomes of a sign-in is decided in `account.rs`.

use super::ids::LoginId;
use super::request::ClientProfile;
use std::fmt;

/// A key or the like. Never shown: `Debug` does not, and it has no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes it over as it is.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret itself, for the one wire it is meant for.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// One way to sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignIn {
    /// ChatGPT by a page that the client opens.
    Browser,
    /// ChatGPT by a page on any device and a code.
    DeviceCode,
    /// `codex login` in a terminal of the client.
    Terminal,
    /// The key in `CODEX_API_KEY`.
    CodexKey,
    /// The key in `OPENAI_API_KEY`.
    OpenAiKey,
    /// A model provider that the client names.
    Gateway,
}

impl SignIn {
    const ALL: [Self; 6] =
        [Self::Browser, Self::DeviceCode, Self::Terminal, Self::CodexKey, Self::OpenAiKey, Self::Gateway];

    /// The id of the method on the wire.
    pub fn id(self) -> &'static str {
        match self {
            Self::Browser => "chatgpt",
            Self::DeviceCode => "chatgpt-device-code",
            Self::Terminal => "codex-login",
            Self::CodexKey => "codex-api-key",
            Self::OpenAiKey => "openai-api-key",
            Self::Gateway => "gateway",
        }
    }

    /// The method of an id.
    pub fn named(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.id() == id)
    }

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Browser => "Sign in with ChatGPT",
            Self::DeviceCode => "Sign in with ChatGPT on another device",
            Self::Terminal => "Sign in with codex login",
            Self::CodexKey => "Use CODEX_API_KEY",
            Self::OpenAiKey => "Use OPENAI_API_KEY",
            Self::Gateway => "Use a model gateway",
        }
    }

    /// One line more, for people.
    pub fn description(self) -> &'static str {
        match self {
            Self::Browser => "Opens a page of OpenAI in the browser of this machine",
            Self::DeviceCode => "Shows an address and a code to enter there",
            Self::Terminal => "Runs codex login in a terminal",
            Self::Gateway => "Gets the models from the gateway that the client names, without an account",
            Self::CodexKey | Self::OpenAiKey => {
                "Gives the key of the environment to Codex, which keeps it in its own store"
            }
        }
    }
}

/// How somebody signs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginKind {
    ApiKey(Secret),
    /// ChatGPT, by a page on this machine.
    Browser,
    /// ChatGPT, by a page anywhere and a code.
    DeviceCode,
}

/// What Codex says to a sign-in that begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginStarted {
    /// It is over already.
    Done,
    /// This page signs in.
    Page { login: LoginId, url: String },
    /// This page does, with this code.
    Code { login: LoginId, url: String, code: String },
}

/// How a sign-in ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginEnd {
    SignedIn,
    /// In Codex's words.
    Failed(String),
}

/// What the environment gives us to sign in with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Means {
    /// `NO_BROWSER`: this machine has none.
    pub no_browser: bool,
    /// A page can be opened in a browser of this machine by us.
    pub opens_pages: bool,
    /// `CODEX_API_KEY`.
    pub codex_key: Option<Secret>,
    /// `OPENAI_API_KEY`.
    pub openai_key: Option<Secret>,
    /// For a client that has to be told what to run in a terminal.
    pub program: Option<Program>,
}

/// Our own program, and what it needs to find the same Codex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub path: String,
    /// Names and values; no secrets.
    pub env: Vec<(String, String)>,
}

/// How a client can run something in a terminal to sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalSignIn {
    No,
    /// `auth.terminal`: it starts us again with the arguments of the method.
    Declared,
    /// v1 `_meta.terminal-auth`: it takes a whole command line from the `_meta` of the method.
    Meta,
}

impl Means {
    /// The methods that work for this client here, in the order to show.
    pub fn methods(&self, client: &ClientProfile) -> Vec<SignIn> {
        SignIn::ALL.into_iter().filter(|it| self.why_not(*it, client).is_none()).collect()
    }

    /// Why a method does not work for this client; `None` if it does.
    pub fn why_not(&self, method: SignIn, client: &ClientProfile) -> Option<&'static str> {
        match method {
            SignIn::Browser if self.opens_pages && !self.no_browser => None,
            SignIn::Browser | SignIn::DeviceCode if !client.elicitation_url => Some(
                "the client cannot show a page (elicitation.url); run `codex login` in a terminal instead",
            ),
            SignIn::Browser if self.no_browser => Some("NO_BROWSER is set; use chatgpt-device-code instead"),
            SignIn::Browser | SignIn::DeviceCode => None,
            SignIn::Terminal => match (client.terminal_sign_in, &self.program) {
                (TerminalSignIn::Declared, _) | (TerminalSignIn::Meta, Some(_)) => None,
                (TerminalSignIn::Meta, None) | (TerminalSignIn::No, _) => {
                    Some("the client declares no terminal to sign in with; run `codex login` by hand")
                }
            },
            SignIn::Gateway if !client.gateway => Some("the client declares no gateway (auth._meta.gateway)"),
            SignIn::CodexKey if self.codex_key.is_none() => {
                Some("CODEX_API_KEY is not set in the environment of appserver-acp")
            }
            SignIn::OpenAiKey if self.openai_key.is_none() => {
                Some("OPENAI_API_KEY is not set in the environment of appserver-acp")
            }
            SignIn::CodexKey | SignIn::OpenAiKey | SignIn::Gateway => None,
        }
    }
}
