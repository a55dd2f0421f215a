//! Why a request of the client could not be done.
//!
//! One place per protocol turns these into JSON-RPC errors; the message is for people.

use super::fault::Fault;
use super::ids::SessionId;

/// A typed refusal. Messages: what was tried, what to do next; no payload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// -32002 with `data.sessionId`.
    #[error(
        "session {0} does not exist or is not open on this connection; see session/list, bring one back with session/resume (v1: session/load) or open a new one with session/new"
    )]
    UnknownSession(SessionId),
    /// -32602.
    #[error("{0}")]
    InvalidParams(String),
    /// -32600: asked before `initialize`, or after the end.
    #[error("{0}")]
    InvalidRequest(String),
    /// -32601.
    #[error("method {0} is not supported")]
    UnknownMethod(String),
    /// -32800.
    #[error("the request was cancelled")]
    Cancelled,
    /// -32000.
    #[error("{0}")]
    AuthRequired(String),
    /// -32603: Codex could not be started or was lost. `stderr` is its last lines.
    #[error("{message}")]
    AppServer { message: String, stderr: Option<String> },
    /// -32603 with `data.sessionId`: a thread has one writer.
    #[error(
        "session {0} is open in another Codex process, which writes its thread: another editor, or codex in a terminal; close it there, then try again"
    )]
    HeldElsewhere(SessionId),
    /// -32603 with `data.sessionId`: Codex keeps what a fork was made of.
    #[error("session {0} cannot be deleted while a fork of it exists; delete its forks first, or archive it")]
    HasForks(SessionId),
    /// -32603 with `data.sessionId`.
    #[error("session {0} is archived; bring it back with session/unarchive, then open it")]
    Archived(SessionId),
    /// -32603 with `data.sessionId`: what Codex saved of it cannot be read. `cause` is Codex's word.
    #[error("what codex saved of session {session} is damaged; other sessions are not concerned: {cause}")]
    Damaged { session: SessionId, cause: String },
    /// -32603: Codex answered with an error.
    #[error("codex refused {method}: {message}")]
    Codex { method: &'static str, message: String, code: i64 },
    /// v1 `session/prompt`: the turn failed. -32603, or -32000 where signing in helps.
    #[error("{0}")]
    TurnFailed(Fault),
}
