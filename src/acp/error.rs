//! JSON-RPC errors to the client, all made here from typed refusals.

use crate::core::failure::Failure;
use crate::core::fault::Fault;
use serde::Serialize;
use serde_json::{Value, json};

/// The `error` member of an answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RpcError {
    /// JSON-RPC or ACP code.
    pub code: i64,
    /// For people.
    pub message: String,
    /// For programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    /// An error without data.
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// -32022: no version that both sides speak.
    pub(crate) fn unsupported_version(requested: u16) -> Self {
        let mut error = Self::new(-32022, "unsupported protocol version, this agent speaks 1 and 2");
        error.data = Some(json!({ "requested": requested, "supported": [1, 2] }));
        error
    }
}

/// The one place where a refusal becomes a wire error; the same in both versions.
pub fn rpc_error(failure: &Failure) -> RpcError {
    let (code, data) = match failure {
        Failure::UnknownSession(session) => (-32002, Some(json!({ "sessionId": session.as_str() }))),
        Failure::HeldElsewhere(session) => {
            let data = json!({ "sessionId": session.as_str(), "heldBy": "another Codex process" });
            (-32603, Some(data))
        }
        Failure::HasForks(session) => {
            (-32603, Some(json!({ "sessionId": session.as_str(), "reason": "hasForks" })))
        }
        Failure::Archived(session) => {
            (-32603, Some(json!({ "sessionId": session.as_str(), "reason": "archived" })))
        }
        Failure::Damaged { session, .. } => {
            (-32603, Some(json!({ "sessionId": session.as_str(), "reason": "damaged" })))
        }
        Failure::InvalidParams(_) => (-32602, None),
        Failure::InvalidRequest(_) => (-32600, None),
        Failure::UnknownMethod(_) => (-32601, None),
        Failure::Cancelled => (-32800, None),
        Failure::AuthRequired(_) => (-32000, None),
        Failure::AppServer { stderr, .. } => (-32603, stderr.as_ref().map(|tail| json!({ "stderr": tail }))),
        Failure::Codex { .. } => (-32603, None),
        Failure::TurnFailed(fault) => (fault_code(fault).into(), fault_data(fault)),
    };
    RpcError { code, message: failure.to_string(), data }
}

/// The code of a turn that failed: -32000 is what makes a client offer its sign-in.
pub(crate) fn fault_code(fault: &Fault) -> i32 {
    if fault.wants_sign_in() { -32000 } else { -32603 }
}

/// Codex's name of the kind of a failure, for programs.
pub(crate) fn fault_data(fault: &Fault) -> Option<Value> {
    let mut data = json!({ "codexErrorInfo": fault.kind?.name() });
    if let Some(status) = fault.http_status {
        data["httpStatusCode"] = status.into();
    }
    Some(data)
}
