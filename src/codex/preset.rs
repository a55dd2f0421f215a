//! Approval policy and sandbox of Codex as one choice of ours.
//!
//! Owns both spellings of the sandbox: the mode of `thread/start` and the policy of a turn.

use crate::core::codex::Preset;
use crate::core::rules::{CollaborationMode, Rules};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct WireSandbox<'a> {
    #[serde(borrow, rename = "type")]
    kind: &'a str,
}

#[derive(Deserialize)]
struct WireCollaboration<'a> {
    #[serde(borrow)]
    mode: &'a str,
}

/// The profile that made the permissions.
#[derive(Deserialize)]
pub(crate) struct WireProfile {
    id: String,
}

impl WireProfile {
    /// Its id, if it is from the configuration: Codex's own are presets.
    pub(crate) fn configured(self) -> Option<String> {
        Some(self.id).filter(|id| !id.starts_with(':'))
    }
}

/// The preset that approval policy and sandbox policy make; `None` where they fit none.
pub(crate) fn decode_preset(approval: Option<&RawValue>, sandbox: Option<&RawValue>) -> Option<Preset> {
    let sandbox: WireSandbox<'_> = serde_json::from_str(sandbox?.get()).ok()?;
    // A granular policy is an object: it fits no preset.
    match (approval?.get(), sandbox.kind) {
        ("\"on-request\"", "readOnly") => Some(Preset::ReadOnly),
        ("\"on-request\"", "workspaceWrite") => Some(Preset::Auto),
        ("\"never\"", "dangerFullAccess") => Some(Preset::FullAccess),
        _ => None,
    }
}

/// The same two in Codex's words. A granular policy is an object, with no word.
pub(crate) fn decode_rules(approval: Option<&RawValue>, sandbox: Option<&RawValue>) -> Option<Rules> {
    let sandbox: WireSandbox<'_> = serde_json::from_str(sandbox?.get()).ok()?;
    let approval = serde_json::from_str(approval?.get()).unwrap_or_else(|_| "granular".to_owned());
    Some(Rules { approval, sandbox: sandbox.kind.to_owned() })
}

/// The mode of a `collaborationMode`; `None` for one that is new.
pub(crate) fn decode_collaboration(raw: Option<&RawValue>) -> Option<CollaborationMode> {
    let wire: WireCollaboration<'_> = serde_json::from_str(raw?.get()).ok()?;
    match wire.mode {
        "default" => Some(CollaborationMode::Default),
        "plan" => Some(CollaborationMode::Plan),
        _ => None,
    }
}

/// `approvalPolicy`.
pub(crate) fn encode_approval(preset: Preset) -> &'static str {
    match preset {
        Preset::ReadOnly | Preset::Auto => "on-request",
        Preset::FullAccess => "never",
    }
}

/// `sandbox` of `thread/start`.
pub(crate) fn encode_mode(preset: Preset) -> &'static str {
    match preset {
        Preset::ReadOnly => "read-only",
        Preset::Auto => "workspace-write",
        Preset::FullAccess => "danger-full-access",
    }
}

/// `sandboxPolicy` of `turn/start`. The thread's workspace roots stay writable in `Auto`.
pub(crate) fn encode_policy(preset: Preset) -> Value {
    match preset {
        Preset::ReadOnly => json!({"type": "readOnly", "networkAccess": false}),
        Preset::Auto => json!({
            "type": "workspaceWrite",
            "writableRoots": [],
            "networkAccess": false,
            "excludeTmpdirEnvVar": false,
            "excludeSlashTmp": false,
        }),
        Preset::FullAccess => json!({"type": "dangerFullAccess"}),
    }
}
