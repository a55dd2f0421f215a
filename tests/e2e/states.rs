//! Every request about a session, of a session in every state: a table, with the real Codex.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::home::Config;
use testkit::model::{Script, call, say};

use crate::client::Client;
use crate::stage::{Casting, Stage, play_with};

in_both_versions!(each_request_of_each_state);

/// What a session may be that is not open here.
const STATES: [&str; 7] = ["never", "deleted", "archived", "closed", "held", "damaged", "child"];

/// What each request is answered in each of [`STATES`]: `ok`, or the code and what `data` says of it. In v1, `resume`
/// is `session/load`. What is done already succeeds; a copy and a title need no writer.
const TABLE: [(&str, [&str; 7]); 9] = [
    ("prompt", ["-32002", "-32002", "-32002", "-32002", "-32002", "-32002", "-32602"]),
    ("resume", ["-32002", "-32002", "-32603 archived", "ok", "-32603 held", "-32603 damaged", "-32602"]),
    ("fork", ["-32002", "-32002", "-32603 archived", "ok", "ok", "-32603 damaged", "-32602"]),
    ("set_title", ["-32002", "-32002", "-32603 archived", "ok", "ok", "-32603 damaged", "-32602"]),
    ("archive", ["-32002", "-32002", "ok", "ok", "-32603 held", "-32603 damaged", "-32602"]),
    ("unarchive", ["-32002", "-32002", "ok", "ok", "ok", "ok", "-32602"]),
    ("delete", ["ok", "ok", "ok", "ok", "-32603 held", "-32603 damaged", "-32602"]),
    ("close", ["ok", "ok", "ok", "ok", "ok", "ok", "-32602"]),
    ("set_config_option", ["-32002", "-32002", "-32002", "-32002", "-32002", "-32002", "-32602"]),
];

fn request(version: Version, name: &str, session: &str, cwd: &Path) -> (String, Value) {
    let method = match (version, name) {
        (Version::V1, "resume") => "session/load".to_owned(),
        (_, name) => format!("session/{name}"),
    };
    let mut params = json!({"sessionId": session});
    let more = match name {
        "prompt" => json!({"prompt": [{"type": "text", "text": "hello"}]}),
        "resume" => json!({"cwd": cwd, "mcpServers": []}),
        "fork" => json!({"cwd": cwd, "mcpServers": []}),
        "set_title" => json!({"title": "A title"}),
        "set_config_option" => json!({"configId": "mode", "type": "id", "value": "auto"}),
        _ => json!({}),
    };
    if let (Some(params), Value::Object(more)) = (params.as_object_mut(), more) {
        params.extend(more);
    }
    (method, params)
}

async fn outcome(client: &Client, method: &str, params: &Value) -> anyhow::Result<String> {
    let pending = client.start("request", json!({"method": method, "params": params}));
    Ok(match client.outcome(pending).await? {
        Ok(_) => "ok".to_owned(),
        Err(error) => {
            let data = &error["data"];
            let what = data["reason"].as_str().or(data["heldBy"].as_str().map(|_| "held"));
            [error["code"].to_string()]
                .into_iter()
                .chain(what.map(str::to_owned))
                .collect::<Vec<_>>()
                .join(" ")
        }
    })
}

async fn said_something(stage: &Stage, client: &Client) -> anyhow::Result<String> {
    let session = stage.open(client).await?;
    session.turn(&Script::new().step(say("Here.")).prompt("hello")).await?;
    Ok(session.id)
}

async fn each_request_of_each_state(version: Version) {
    // The older tools for subagents.
    let config = |config: Config| config.model("unknown-x");
    play_with(config, async |stage| {
        let mut ids: BTreeMap<(&str, &str), String> = BTreeMap::new();
        let mut first = stage.client(Casting::of(version)).await?;
        // The SDK listens once for each of so many prompts.
        first.expect_fault("MaxListenersExceededWarning");
        for (name, _) in TABLE {
            for state in ["deleted", "archived", "closed", "damaged"] {
                let id = said_something(stage, &first).await?;
                let put = match state {
                    "deleted" => Some("session/delete"),
                    "archived" => Some("session/archive"),
                    _ => None,
                };
                if let Some(method) = put {
                    first.call("request", json!({"method": method, "params": {"sessionId": id}})).await?;
                }
                ids.insert((name, state), id);
            }
        }
        first.end().await?;
        for ((_, state), id) in &ids {
            if *state == "damaged" {
                let file = rollout(stage.home.codex_home().join("sessions"), id).context("Codex saved it")?;
                std::fs::write(file, "this is no rollout\n")?;
            }
        }
        let holder = stage.client(Casting::of(version)).await?;
        let held = said_something(stage, &holder).await?;
        let client = stage.client(Casting::of(version)).await?;
        let parent = stage.open(&client).await?;
        let child = Script::new().step(say("Done."));
        let spawn =
            call("spawn_agent", json!({"message": child.prompt("child task")})).namespace("multi_agent_v1");
        parent.turn(&Script::new().step(spawn).step(say("It works.")).prompt("spawn")).await?;
        let subagent = parent
            .update("announcement of a subagent", 0, |it| match version {
                Version::V1 => it["toolCallId"].as_str()?.strip_prefix("subagent-").map(str::to_owned),
                Version::V2 => {
                    let is_it = it["sessionUpdate"] == "subagent_update";
                    is_it.then(|| it["sessionId"].as_str().map(str::to_owned))?
                }
            })
            .await?;

        let mut wrong = Vec::new();
        for (name, row) in TABLE {
            for (state, expected) in STATES.into_iter().zip(row) {
                let id = match state {
                    "never" => "01a00000-0000-7000-8000-000000000000",
                    "held" => held.as_str(),
                    "child" => subagent.as_str(),
                    _ => ids[&(name, state)].as_str(),
                };
                let (method, params) = request(version, name, id, stage.home.workspace());
                let got = outcome(&client, &method, &params).await?;
                if got != expected {
                    wrong.push(format!("{name} of {state}: {got}, not {expected}"));
                }
            }
        }
        ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
        holder.end().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

pub(crate) fn rollout(dir: PathBuf, thread: &str) -> Option<PathBuf> {
    for entry in std::fs::read_dir(dir).ok()?.filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            if let Some(found) = rollout(path, thread) {
                return Some(found);
            }
        } else if path.to_string_lossy().contains(thread) {
            return Some(path);
        }
    }
    None
}
