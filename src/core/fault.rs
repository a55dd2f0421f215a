//! Why a turn failed or is tried again, by Codex's own kinds.
//!
//! Owns the words and the names of the kinds; Codex's message always stands behind the words.

/// A failure of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// `None` where Codex names no kind, or one that is new, and for failures of our own.
    pub kind: Option<FaultKind>,
    /// Status of the HTTP answer behind it.
    pub http_status: Option<u16>,
    /// Codex's message, details included.
    pub message: String,
}

/// `CodexErrorInfo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    ActiveTurnNotSteerable,
    BadRequest,
    BioPolicy,
    ContextWindowExceeded,
    CyberPolicy,
    FlexUnavailable,
    HttpConnectionFailed,
    InferenceHookDenied,
    InternalServerError,
    MisalignmentPolicyViolation,
    ModelNotFound,
    Other,
    PolicyCapacityUnavailable,
    RateLimitExceeded,
    ResponseStreamConnectionFailed,
    ResponseStreamDisconnected,
    ResponseTooManyFailedAttempts,
    SandboxError,
    ServerOverloaded,
    SessionBudgetExceeded,
    ThreadRollbackFailed,
    TooManyDenials,
    Unauthorized,
    UsageLimitExceeded,
}

impl Fault {
    /// A failure of which there is nothing but a message.
    pub fn plain(message: impl Into<String>) -> Self {
        Self { kind: None, http_status: None, message: message.into() }
    }

    /// Its kind in words, if that adds anything to the message.
    pub fn words(&self) -> Option<&'static str> {
        let kind = self.kind?;
        let is_transport = matches!(
            kind,
            FaultKind::HttpConnectionFailed
                | FaultKind::ResponseStreamConnectionFailed
                | FaultKind::ResponseStreamDisconnected
                | FaultKind::ResponseTooManyFailedAttempts
        );
        // There the status says more than the kind.
        match self.http_status {
            Some(401) if is_transport => FaultKind::Unauthorized.words(),
            Some(429) if is_transport => FaultKind::RateLimitExceeded.words(),
            Some(400..=499) if is_transport => Some("The model provider refused the request"),
            Some(500..) if is_transport => FaultKind::InternalServerError.words(),
            Some(_) | None => kind.words(),
        }
    }

    /// Whether signing in is what helps.
    pub fn wants_sign_in(&self) -> bool {
        self.kind == Some(FaultKind::Unauthorized) || (self.kind.is_some() && self.http_status == Some(401))
    }
}

/// The words, then the message.
impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.words(), self.message.as_str()) {
            (Some(words), "") => f.write_str(words),
            (None, "") => f.write_str("The turn failed"),
            (Some(words), message) => write!(f, "{words}: {message}"),
            (None, message) => f.write_str(message),
        }
    }
}

impl FaultKind {
    /// Every kind.
    pub const ALL: [Self; 24] = [
        Self::ActiveTurnNotSteerable,
        Self::BadRequest,
        Self::BioPolicy,
        Self::ContextWindowExceeded,
        Self::CyberPolicy,
        Self::FlexUnavailable,
        Self::HttpConnectionFailed,
        Self::InferenceHookDenied,
        Self::InternalServerError,
        Self::MisalignmentPolicyViolation,
        Self::ModelNotFound,
        Self::Other,
        Self::PolicyCapacityUnavailable,
        Self::RateLimitExceeded,
        Self::ResponseStreamConnectionFailed,
        Self::ResponseStreamDisconnected,
        Self::ResponseTooManyFailedAttempts,
        Self::SandboxError,
        Self::ServerOverloaded,
        Self::SessionBudgetExceeded,
        Self::ThreadRollbackFailed,
        Self::TooManyDenials,
        Self::Unauthorized,
        Self::UsageLimitExceeded,
    ];

    /// As Codex spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ActiveTurnNotSteerable => "activeTurnNotSteerable",
            Self::BadRequest => "badRequest",
            Self::BioPolicy => "bioPolicy",
            Self::ContextWindowExceeded => "contextWindowExceeded",
            Self::CyberPolicy => "cyberPolicy",
            Self::FlexUnavailable => "flexUnavailable",
            Self::HttpConnectionFailed => "httpConnectionFailed",
            Self::InferenceHookDenied => "inferenceHookDenied",
            Self::InternalServerError => "internalServerError",
            Self::MisalignmentPolicyViolation => "misalignmentPolicyViolation",
            Self::ModelNotFound => "modelNotFound",
            Self::Other => "other",
            Self::PolicyCapacityUnavailable => "policyCapacityUnavailable",
            Self::RateLimitExceeded => "rateLimitExceeded",
            Self::ResponseStreamConnectionFailed => "responseStreamConnectionFailed",
            Self::ResponseStreamDisconnected => "responseStreamDisconnected",
            Self::ResponseTooManyFailedAttempts => "responseTooManyFailedAttempts",
            Self::SandboxError => "sandboxError",
            Self::ServerOverloaded => "serverOverloaded",
            Self::SessionBudgetExceeded => "sessionBudgetExceeded",
            Self::ThreadRollbackFailed => "threadRollbackFailed",
            Self::TooManyDenials => "tooManyDenials",
            Self::Unauthorized => "unauthorized",
            Self::UsageLimitExceeded => "usageLimitExceeded",
        }
    }

    /// The kind of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    fn words(self) -> Option<&'static str> {
        Some(match self {
            Self::ActiveTurnNotSteerable => "The running turn takes no more messages",
            Self::BadRequest => "The model refused the request as malformed",
            Self::BioPolicy => "Stopped by the policy on biology",
            Self::ContextWindowExceeded => "The context window is full",
            Self::CyberPolicy => "Stopped by the policy on cybersecurity",
            Self::FlexUnavailable => "Flex processing is not available",
            Self::HttpConnectionFailed => "The model cannot be reached",
            Self::InferenceHookDenied => "A hook denied the request to the model",
            Self::InternalServerError => "The model's server failed",
            Self::MisalignmentPolicyViolation => "Stopped by the policy on misalignment",
            Self::ModelNotFound => "The model does not exist, or not for this account",
            // Codex's message is all there is.
            Self::Other => return None,
            Self::PolicyCapacityUnavailable => "The policy check has no capacity",
            Self::RateLimitExceeded => "Too many requests for now",
            Self::ResponseStreamConnectionFailed => "The connection to the model failed",
            Self::ResponseStreamDisconnected => "The connection to the model was lost",
            Self::ResponseTooManyFailedAttempts => "The model did not answer, after several attempts",
            Self::SandboxError => "The sandbox failed",
            Self::ServerOverloaded => "The model is overloaded",
            Self::SessionBudgetExceeded => "The budget of this session is used up",
            Self::ThreadRollbackFailed => "The thread could not be rolled back",
            Self::TooManyDenials => "Too many approvals were denied",
            Self::Unauthorized => {
                "The model provider refused the sign-in; sign in again (codex login) or mend its key"
            }
            Self::UsageLimitExceeded => "The usage limit is reached",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, FaultKind};

    #[test]
    fn the_words_stand_before_the_message_and_never_in_its_place() {
        let fault = |kind, http_status, message: &str| {
            Fault { kind, http_status, message: message.to_owned() }.to_string()
        };
        let (http, other) = (Some(FaultKind::HttpConnectionFailed), Some(FaultKind::Other));
        assert_eq!(
            fault(http, Some(401), "status 401"),
            "The model provider refused the sign-in; sign in again (codex login) or mend its key: status 401"
        );
        assert_eq!(fault(http, Some(429), "slow"), "Too many requests for now: slow");
        assert_eq!(fault(http, Some(403), "no"), "The model provider refused the request: no");
        assert_eq!(fault(http, Some(302), "moved"), "The model cannot be reached: moved");
        assert_eq!(fault(http, Some(503), "down"), "The model's server failed: down");
        assert_eq!(fault(http, None, "no route"), "The model cannot be reached: no route");
        assert_eq!(fault(other, Some(500), "policy"), "policy");
        assert_eq!(fault(None, None, "policy"), "policy");
        assert_eq!(fault(Some(FaultKind::UsageLimitExceeded), None, ""), "The usage limit is reached");
        assert_eq!(fault(other, None, ""), "The turn failed");
    }

    #[test]
    fn a_kind_is_found_by_its_name() {
        for kind in FaultKind::ALL {
            assert_eq!(FaultKind::named(kind.name()), Some(kind));
        }
        assert_eq!(FaultKind::named("newer"), None);
    }
}
