//! The requests of slash commands on Codex's wire, and the answers to them.

use super::bound::long;
use super::causes::causes;
use super::misfit::{Misfit, decode_json};
use super::place::one_line;
use super::rate_limit::WireLimit;
use super::said::said;
use crate::core::codex::{CodexReply, Preset};
use crate::core::ids::TurnId;
use crate::core::inquiry::{
    ExecEnd, Inquiry, McpServerState, RateLimit, ReviewTarget, Skill, SkillList, Told,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Most bytes of each stream of a command of ours.
const OUTPUT_MAX: usize = 256 * 1024;
/// How long such a command may run, in ms.
const EXEC_MAX: u64 = 10_000;

/// The `params` of an inquiry.
pub(crate) fn encode_inquiry(inquiry: &Inquiry) -> Value {
    match inquiry {
        Inquiry::RateLimits => json!({}),
        Inquiry::McpServers { thread, cursor } => {
            json!({"threadId": thread.as_str(), "cursor": cursor, "detail": "toolsAndAuthOnly"})
        }
        Inquiry::Skills { cwd, afresh } => json!({"cwds": [cwd], "forceReload": afresh}),
        Inquiry::Exec { command, cwd, preset } => json!({
            "command": command,
            "cwd": cwd,
            "sandboxPolicy": match preset {
                Some(Preset::FullAccess) => json!({"type": "dangerFullAccess"}),
                Some(Preset::ReadOnly | Preset::Auto) => json!({"type": "readOnly", "networkAccess": false}),
                // As Codex is configured.
                None => Value::Null,
            },
            "outputBytesCap": OUTPUT_MAX,
            "timeoutMs": EXEC_MAX,
        }),
        Inquiry::Rename { thread, name } => json!({"threadId": thread.as_str(), "name": name}),
        Inquiry::Goal { thread, objective } => {
            let mut params = json!({"threadId": thread.as_str(), "status": "active", "origin": "user"});
            if let Some(objective) = objective {
                params["objective"] = Value::from(objective.as_str());
            }
            params
        }
        Inquiry::Compact { thread } => json!({"threadId": thread.as_str()}),
        Inquiry::Review { thread, target } => {
            let target = match target {
                ReviewTarget::Uncommitted => json!({"type": "uncommittedChanges"}),
                ReviewTarget::Branch(branch) => json!({"type": "baseBranch", "branch": branch}),
                ReviewTarget::Commit(sha) => json!({"type": "commit", "sha": sha, "title": null}),
            };
            json!({"threadId": thread.as_str(), "target": target, "delivery": "inline"})
        }
    }
}

/// The answer to `method`, if it is one of an inquiry and says something.
///
/// # Errors
/// The first field that does not fit.
pub(crate) fn decode_told(method: &str, result: &RawValue) -> Result<Option<CodexReply>, Misfit> {
    Ok(Some(CodexReply::Told(match method {
        "account/rateLimits/read" => Told::RateLimits(rate_limits(decode_json(result)?)),
        "mcpServerStatus/list" => {
            let WireServers { data, next_cursor } = decode_json(result)?;
            Told::McpServers { servers: data.into_iter().map(server).collect(), next: next_cursor }
        }
        "skills/list" => Told::Skills(skills(decode_json(result)?)),
        "command/exec" => {
            let WireExec { exit_code, stdout, stderr } = decode_json(result)?;
            Told::Exec(ExecEnd { code: exit_code, stdout: long(stdout), stderr: long(stderr) })
        }
        "review/start" => {
            let WireReview { turn } = decode_json(result)?;
            Told::Review(TurnId::new(turn.id))
        }
        _ => return Ok(None),
    })))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireLimits {
    rate_limits: WireLimit,
    rate_limits_by_limit_id: Option<BTreeMap<String, Option<WireLimit>>>,
}

// The view of one limit repeats one of the view of all.
fn rate_limits(wire: WireLimits) -> Vec<RateLimit> {
    let all: Vec<WireLimit> =
        wire.rate_limits_by_limit_id.unwrap_or_default().into_values().flatten().collect();
    let is_only = all.len() < 2;
    let all = if all.is_empty() { vec![wire.rate_limits] } else { all };
    let windows = all.into_iter().flat_map(|limit| {
        let name = limit.limit_name.or(limit.limit_id).filter(|_| !is_only);
        [limit.primary, limit.secondary].into_iter().flatten().map(move |window| RateLimit {
            name: name.clone(),
            minutes: window.window_duration_mins,
            used_percent: window.used_percent,
            resets_at: window.resets_at,
        })
    });
    windows.collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireServers {
    data: Vec<WireServer>,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireServer {
    name: String,
    runtime_status: Option<String>,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    tools: BTreeMap<String, IgnoredAny>,
    tools_error: Option<String>,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    auth_status: String,
}

fn server(wire: WireServer) -> McpServerState {
    McpServerState {
        name: wire.name,
        state: wire.runtime_status,
        auth: wire.auth_status,
        tools: wire.tools.into_keys().collect(),
        error: wire.tools_error.map(|it| causes(&it)),
    }
}

#[derive(Deserialize)]
struct WireSkills {
    data: Vec<WireFolder>,
}

#[derive(Deserialize)]
struct WireFolder {
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    skills: Vec<WireSkill>,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    errors: Vec<WireSkillError>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSkill {
    name: String,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    description: String,
    short_description: Option<String>,
    interface: Option<WireInterface>,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    scope: String,
    #[serde(default = "yes")]
    enabled: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireInterface {
    short_description: Option<String>,
}

#[derive(Deserialize)]
struct WireSkillError {
    path: String,
    message: String,
}

fn yes() -> bool {
    true
}

fn skills(wire: WireSkills) -> SkillList {
    let mut list = SkillList::default();
    for folder in wire.data {
        list.skills.extend(folder.skills.into_iter().filter(|it| it.enabled).map(|it| {
            let short = it.interface.and_then(|it| it.short_description).or(it.short_description);
            let description = one_line(&short.unwrap_or(it.description));
            Skill { name: it.name, description, scope: it.scope }
        }));
        list.errors.extend(folder.errors.into_iter().map(|it| (it.path, one_line(&said(&it.message)))));
    }
    list
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireExec {
    exit_code: i64,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    stdout: String,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    stderr: String,
}

#[derive(Deserialize)]
struct WireReview {
    turn: WireTurn,
}

#[derive(Deserialize)]
struct WireTurn {
    id: String,
}
