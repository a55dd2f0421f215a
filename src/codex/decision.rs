//! Decisions that Codex takes for an approval, with names for people.

use super::misfit::decode_json;
use super::place::one_line;
use crate::core::asked::{Decision, DecisionKind};
use crate::core::ids::Json;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The decisions offered, in Codex's order; all plain ones where it does not say.
///
/// A decision of a new kind is left out: what it means cannot be told to the user.
pub(crate) fn decode_decisions(available: Option<&[&RawValue]>) -> Vec<Decision> {
    match available {
        Some(available) => available.iter().filter_map(|it| decode_one(it)).collect(),
        None => plain_decisions(),
    }
}

/// The decisions of a request that never says which it takes.
pub(crate) fn plain_decisions() -> Vec<Decision> {
    ["accept", "acceptForSession", "decline", "cancel"].into_iter().filter_map(plain).collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireAmendment {
    accept_with_execpolicy_amendment: Option<WireExecPolicy>,
    apply_network_policy_amendment: Option<WireNetworkPolicy>,
}

#[derive(Deserialize)]
struct WireExecPolicy {
    execpolicy_amendment: Vec<String>,
}

#[derive(Deserialize)]
struct WireNetworkPolicy {
    network_policy_amendment: WireNetworkRule,
}

#[derive(Deserialize)]
struct WireNetworkRule {
    host: String,
    action: String,
}

fn decode_one(raw: &RawValue) -> Option<Decision> {
    if let Ok(name) = serde_json::from_str::<String>(raw.get()) {
        return plain(&name);
    }
    // Not an object of ours: a decision that is newer than we are.
    let wire: WireAmendment = decode_json(raw).ok()?;
    let (kind, name) = match (wire.accept_with_execpolicy_amendment, wire.apply_network_policy_amendment) {
        (Some(policy), _) => {
            let prefix = one_line(&policy.execpolicy_amendment.join(" "));
            (DecisionKind::AcceptAlways, format!("Always allow commands that start with `{prefix}`"))
        }
        (None, Some(policy)) => match policy.network_policy_amendment {
            WireNetworkRule { host, action } if action == "allow" => {
                (DecisionKind::AcceptAlways, format!("Always allow access to {host}"))
            }
            WireNetworkRule { host, action } if action == "deny" => {
                (DecisionKind::DeclineAlways, format!("Always deny access to {host}"))
            }
            WireNetworkRule { .. } => return None,
        },
        (None, None) => return None,
    };
    Some(Decision { kind, value: Json::trusted(raw.get()), name })
}

fn plain(value: &str) -> Option<Decision> {
    let (kind, name) = match value {
        "accept" => (DecisionKind::Accept, "Allow once"),
        "acceptForSession" => (DecisionKind::AcceptAlways, "Allow for this session"),
        "decline" => (DecisionKind::Decline, "Decline"),
        "cancel" => (DecisionKind::Cancel, "Decline and stop the turn"),
        _ => return None,
    };
    Some(Decision { kind, value: Json::trusted(format!("\"{value}\"")), name: name.to_owned() })
}
