//! Hooks of the user, which the real Codex runs beside the model's work.

use std::process::Stdio;

use anyhow::Context;
use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::home::Config;
use testkit::model::{Script, say};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

use crate::shown::titled;
use crate::stage::{Casting, Stage, play_with, wait_for};

in_both_versions!(what_a_hook_says, a_prompt_that_a_hook_blocks, a_cancel_while_a_hook_runs);

/// A hook on every prompt.
fn on_prompt(config: Config, command: &str) -> Config {
    let hook = format!(
        "[[hooks.UserPromptSubmit]]\n[[hooks.UserPromptSubmit.hooks]]\ntype = \"command\"\ncommand = {command:?}\n\
         statusMessage = \"Checking the prompt\"\n"
    );
    config.feature("hooks = true").tables(&hook)
}

/// Trusts every hook there is, as somebody does who has looked at them.
async fn trust(stage: &Stage) -> anyhow::Result<()> {
    let list = ask_codex(stage, "hooks/list", json!({"cwds": [stage.home.workspace()]})).await?;
    let hooks = list["data"][0]["hooks"].as_array().with_context(|| format!("no hooks: {list}"))?;
    anyhow::ensure!(!hooks.is_empty(), "Codex knows of no hook: {list}");
    let path = stage.home.codex_home().join("config.toml");
    let mut config = std::fs::read_to_string(&path)?;
    for hook in hooks {
        config += &format!("\n[hooks.state.{}]\ntrusted_hash = {}\n", hook["key"], hook["currentHash"]);
    }
    Ok(std::fs::write(&path, config)?)
}

/// The answer of an app-server that lives for this one request.
async fn ask_codex(stage: &Stage, method: &str, params: Value) -> anyhow::Result<Value> {
    let mut child = Command::new(stage.codex_binary())
        .arg("app-server")
        .env_clear()
        .envs(stage.home.env())
        .current_dir(stage.home.workspace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let mut stdin = child.stdin.take().context("stdin is a pipe")?;
    let mut lines = BufReader::new(child.stdout.take().context("stdout is a pipe")?).lines();
    let info = json!({"name": "test", "title": "test", "version": "0"});
    let hello = json!({"clientInfo": info, "capabilities": {"experimentalApi": true}});
    for line in [
        json!({"id": 1, "method": "initialize", "params": hello}),
        json!({"method": "initialized"}),
        json!({"id": 2, "method": method, "params": params}),
    ] {
        stdin.write_all(format!("{line}\n").as_bytes()).await?;
    }
    let answer = timeout(testkit::PATIENCE, async {
        while let Some(line) = lines.next_line().await? {
            let line: Value = serde_json::from_str(&line)?;
            if line["id"] == 2 {
                return Ok(line);
            }
        }
        anyhow::bail!("it ended without an answer")
    });
    let answer = answer.await??;
    drop(stdin);
    timeout(testkit::PATIENCE, child.wait()).await??;
    answer.get("result").cloned().with_context(|| format!("{method}: {answer}"))
}

async fn what_a_hook_says(version: Version) {
    let hooked = |config| on_prompt(config, r#"echo '{"systemMessage": "mind the gap"}'"#);
    play_with(hooked, async |stage| {
        trust(stage).await?;
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let turn = session.turn(&Script::new().step(say("Hi.")).prompt("hello")).await?;
        let hook = titled(&session, turn.from, "Hook on a prompt: Checking the prompt");
        assert_eq!(hook["status"], "completed", "{hook}");
        assert!(hook["content"].to_string().contains("mind the gap"), "{hook}");
        client.end().await?;
        Ok(())
    })
    .await;
}

/// The model is not asked, and the client sees why.
async fn a_prompt_that_a_hook_blocks(version: Version) {
    let hooked = |config| on_prompt(config, r#"echo '{"decision": "block", "reason": "not on a Sunday"}'"#);
    play_with(hooked, async |stage| {
        trust(stage).await?;
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let turn = session.prompt(&Script::new().step(say("never said")).prompt("hello"));
        let error = client.outcome(turn.answer).await?.expect_err("it is not taken");
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.starts_with("the message was not taken: Hook on a prompt blocked it"), "{error}");
        assert!(message.contains("not on a Sunday"), "{error}");
        let hook = "Hook on a prompt blocked it: Checking the prompt";
        session.update("the hook", turn.from, |it| (it["title"] == hook).then_some(())).await?;
        let hook = titled(&session, turn.from, hook);
        assert_eq!(hook["status"], "failed", "{hook}");
        assert!(hook["content"].to_string().contains("not on a Sunday"), "{hook}");
        session.at_rest().await?;
        assert_eq!(stage.model.request_count(), 0, "the model was asked");
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn a_cancel_while_a_hook_runs(version: Version) {
    let command = format!("touch hook-runs; {}", wait_for("hook-may-end"));
    play_with(
        |config| on_prompt(config, &command),
        async |stage| {
            trust(stage).await?;
            let client = stage.client(Casting::of(version)).await?;
            let session = stage.open(&client).await?;
            let turn = session.prompt(&Script::new().step(say("never said")).prompt("hello"));
            stage.file("hook-runs").await?;
            session.cancel().await?;
            match client.outcome(turn.answer).await? {
                Ok(answer) if version == Version::V1 => {
                    assert_eq!(answer["stopReason"], "cancelled", "{answer}")
                }
                Ok(answer) => assert!(answer["messageId"].is_string(), "{answer}"),
                Err(error) => assert_eq!(error["code"], -32800, "{error}"),
            }
            session.at_rest().await?;
            // From now on hooks end at once.
            stage.signal_file("hook-may-end")?;
            let after = session.turn(&Script::new().step(say("Here.")).prompt("still there?")).await?;
            assert_eq!(session.text(after.from), "Here.");
            session.at_rest().await?;
            client.end().await?;
            Ok(())
        },
    )
    .await;
}
