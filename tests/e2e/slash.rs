//! Slash commands, with the real Codex: what it says, and the turns that it runs for them.

use std::fs;
use std::process::Stdio;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::model::{Action, Script, say};
use tokio::process::Command;

use crate::session::{Session, is_end};
use crate::stage::{Casting, Stage, play, play_with};

in_both_versions!(
    status_and_choices,
    compacted,
    reviewed,
    a_review_cannot_begin,
    a_review_is_cut_off,
    differences,
    tool_servers,
    skills_are_commands,
    planned,
    renamed_and_unknown,
    an_agents_file,
    goals,
    signed_out
);

/// What was said by the agent from message `from` on, whole messages and pieces alike.
fn said(session: &Session<'_>, from: usize) -> String {
    let mut all = String::new();
    session.client.look(|it| {
        for (_, update) in it.updates(&session.id, from) {
            let text = match update["sessionUpdate"].as_str() {
                Some("agent_message") => &update["content"][0]["text"],
                Some("agent_message_chunk") => &update["content"]["text"],
                _ => continue,
            };
            all += text.as_str().unwrap_or_default();
        }
    });
    all
}

/// A whole prompt that is answered without the model.
async fn local(stage: &Stage, session: &Session<'_>, prompt: &str) -> anyhow::Result<String> {
    let before = stage.model.request_count();
    let turn = session.turn(prompt).await?;
    ensure!(stage.model.request_count() == before, "{prompt} went to the model");
    Ok(said(session, turn.from))
}

#[track_caller]
fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

/// Whether an update is of the kind `kind`, which both versions call alike.
fn is_kind(update: &Value, kind: &str) -> bool {
    update["sessionUpdate"] == kind
}

async fn git(stage: &Stage, args: &[&str]) -> anyhow::Result<()> {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=n", "-c", "user.email=n@example.com"]).args(args);
    let status = command.current_dir(stage.home.workspace()).stdout(Stdio::null()).status().await?;
    ensure!(status.success(), "git {args:?}");
    Ok(())
}

/// A repository with a commit, a changed file and a new one.
async fn repository(stage: &Stage) -> anyhow::Result<()> {
    let file = |name: &str, text: &str| fs::write(stage.home.workspace().join(name), text);
    git(stage, &["init", "-q"]).await?;
    file("old.txt", "one\n")?;
    git(stage, &["add", "."]).await?;
    git(stage, &["commit", "-qm", "first"]).await?;
    file("old.txt", "one\ntwo\n")?;
    fs::create_dir(stage.home.workspace().join("a dir"))?;
    file("a dir/new.txt", "brand new\n")?;
    Ok(())
}

fn skill(stage: &Stage, name: &str, text: &str) -> anyhow::Result<()> {
    let folder = stage.home.workspace().join(".agents/skills").join(name);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("SKILL.md"), text).context("write a skill")
}

/// Waits until the client was offered this command.
async fn until_offered(session: &Session<'_>, name: &str) -> anyhow::Result<()> {
    let offers = |update: &Value| {
        let commands = update["availableCommands"].as_array()?;
        commands.iter().any(|command| command["name"] == name).then_some(())
    };
    session.update(&format!("/{name} on offer"), 0, offers).await
}

async fn status_and_choices(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let shown = local(stage, &session, "/status").await?;
        let cwd = stage.home.workspace().display().to_string();
        let version = if version == Version::V1 { "ACP version 1" } else { "ACP version 2" };
        has(
            &shown,
            &[
                &session.id,
                &cwd,
                "**model**: gpt-5.5",
                "**mode**: Full access",
                "**sandbox**: dangerFullAccess; approvals: never",
                "**account**: not signed in; the model provider needs no account",
                "**rate limits**: not known: codex account authentication required",
                "**tokens**: not known before the next turn",
                "**running**: nothing",
                "**Codex**: 0.171.0",
                version,
            ],
        );
        has(
            &local(stage, &session, "/mode").await?,
            &["- `full-access` **(now)**", "- `read-only` Read only"],
        );
        has(&local(stage, &session, "/mode read-only").await?, &["Mode: Read only from the next turn on."]);
        has(&local(stage, &session, "/mode nonsense").await?, &["Nothing is changed: ", "read-only"]);
        has(&local(stage, &session, "/model").await?, &["- `gpt-5.5` **(now)**"]);
        has(&local(stage, &session, "/model nonsense").await?, &["Nothing is changed: "]);
        session.turn(&Script::new().step(say("done")).prompt("go")).await?;
        let shown = local(stage, &session, "/status").await?;
        has(
            &shown,
            &["**mode**: Read only", "**sandbox**: readOnly; approvals: on-request", " in the context ("],
        );
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn compacted(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        session.turn(&Script::new().step(say("remember 42")).prompt("go")).await?;
        stage.model.push(say("a summary"));
        let before = stage.model.request_count();
        // What was chosen holds for it already.
        local(stage, &session, "/model gpt-6.2-sol").await?;
        let turn = session.turn("/compact").await?;
        ensure!(stage.model.request_count() == before + 1, "no request for a summary");
        let summary = stage.model.requests().pop().context("the request for it")?;
        ensure!(summary.body["model"] == "gpt-6.2-sol", "made by {}", summary.body["model"]);
        has(
            &said(&session, turn.from),
            &["The conversation is compacted: about ", " tokens are in the context"],
        );
        // A turn that runs goes on: Codex would cut it off.
        let script = Script::new().step((Action::gate("hold"), say("went on")));
        let running = session.prompt(&script.prompt("wait"));
        stage.model.wait_gate("hold").await?;
        let from = client.look(|it| it.wire.len());
        for command in ["/compact", "/review"] {
            let refused = session.prompt(command);
            client.outcome(refused.answer).await?.map_err(|error| anyhow::anyhow!("{error}"))?;
        }
        has(&said(&session, from), &["A turn is running, and Codex would cut it off for this."]);
        stage.model.open("hold");
        ensure!(session.finish(&running).await? == "end_turn", "the turn was cut off");
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn reviewed(version: Version) {
    play(async |stage| {
        repository(stage).await?;
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let found = json!({
            "findings": [], "overall_correctness": "patch is correct",
            "overall_explanation": "All of it is fine.", "overall_confidence_score": 0.9,
        });
        for (prompt, told) in [
            ("/review", "current changes"),
            ("/review branch main", "changes against 'main'"),
            ("/review commit HEAD", "commit HEAD"),
        ] {
            stage.model.push(say(found.to_string()));
            let turn = session.turn(prompt).await?;
            let text = said(&session, turn.from);
            ensure!(text.matches("All of it is fine.").count() == 1, "{prompt}: {text}");
            ensure!(!text.contains("overall_correctness"), "what the reviewer writes is shown: {text}");
            let updates = client.look(|it| {
                it.updates(&session.id, turn.from).map(|(_, update)| update.clone()).collect::<Vec<_>>()
            });
            ensure!(updates.iter().any(|it| it.to_string().contains(told)), "{prompt}: no {told}");
            let users =
                updates.iter().filter(|it| is_kind(it, "user_message") || is_kind(it, "user_message_chunk"));
            let users: Vec<String> = users.map(Value::to_string).collect();
            ensure!(users.iter().all(|it| it.contains(prompt)), "somebody else's message: {users:?}");
        }
        has(&local(stage, &session, "/review main").await?, &["`/review` takes nothing, `branch NAME`"]);
        // The session goes on as ever.
        let turn = session.turn(&Script::new().step(say("and on")).prompt("go")).await?;
        has(&said(&session, turn.from), &["and on"]);
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Codex says so, and tells no end of the turn that it promised.
async fn a_review_cannot_begin(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let turn = session.prompt("/review branch main");
        let message = match version {
            Version::V1 => client.outcome(turn.answer).await?.expect_err("it fails")["message"].clone(),
            Version::V2 => {
                ensure!(session.finish(&turn).await? == "error", "the review did not fail");
                let of_end =
                    |it: &Value| (it["stopReason"] == "error").then(|| it["error"]["message"].clone());
                session.update("error of the review", turn.from, of_end).await?
            }
        };
        has(message.as_str().unwrap_or_default(), &["is not a git repository"]);
        session.at_rest().await?;
        let turn = session.turn(&Script::new().step(say("and on")).prompt("go")).await?;
        has(&said(&session, turn.from), &["and on"]);
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn a_review_is_cut_off(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        stage.model.push((Action::gate("never"), say("never said")));
        let turn = session.prompt("/review");
        stage.model.wait_gate("never").await?;
        session.cancel().await?;
        ensure!(session.finish(&turn).await? == "cancelled", "the review was not cancelled");
        stage.model.wait_abandoned(1).await?;
        let turn = session.turn(&Script::new().step(say("and on")).prompt("go")).await?;
        has(&said(&session, turn.from), &["and on"]);
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn differences(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let shown = local(stage, &session, "/diff").await?;
        has(&shown, &["The folder of this session is in no git repository."]);
        git(stage, &["init", "-q"]).await?;
        has(&local(stage, &session, "/diff").await?, &["There is no commit yet to compare with."]);
        repository(stage).await?;
        let shown = local(stage, &session, "/diff").await?;
        has(&shown, &["```diff\n", "+++ b/old.txt", "\n+two\n", "+++ b/a dir/new.txt", "\n+brand new\n"]);
        git(stage, &["add", "."]).await?;
        git(stage, &["commit", "-qm", "second"]).await?;
        has(&local(stage, &session, "/diff").await?, &["Nothing is changed."]);
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn tool_servers(version: Version) {
    let broken = "[mcp_servers.broken]\ncommand = \"/nonexistent/server\"\n";
    play_with(
        |config| config.tables(broken),
        async |stage| {
            let client = stage.client(Casting::of(version)).await?;
            let session = stage.open(&client).await?;
            let shown = local(stage, &session, "/mcp").await?;
            has(&shown, &["- **broken**: failed, no tools\n  error: MCP startup failed: "]);
            client.end().await?;
            Ok(())
        },
    )
    .await;
}

async fn skills_are_commands(version: Version) {
    play(async |stage| {
        let kind = "---\nname: greet\ndescription: Greets people kindly\n---\nSay MAGIC to them.\n";
        skill(stage, "greet", kind)?;
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        until_offered(&session, "greet").await?;
        has(&local(stage, &session, "/skills").await?, &["- `/greet` (repo): Greets people kindly"]);
        stage.model.push(say("Hello, Bob."));
        let turn = session.turn("/greet Bob").await?;
        has(&said(&session, turn.from), &["Hello, Bob."]);
        let request = stage.model.requests().pop().context("a request")?;
        has(&request.body["input"].to_string(), &["$greet Bob", "Say MAGIC to them."]);
        // One that comes while we look is offered too.
        skill(stage, "second", "---\nname: second\ndescription: Comes later\n---\nx\n")?;
        until_offered(&session, "second").await?;
        has(&local(stage, &session, "/secnd").await?, &["Did you mean `/second`?"]);
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn planned(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let is_plan = || {
            let request = stage.model.requests().pop().expect("a request");
            // The newest of them counts.
            let body = request.body["input"].to_string();
            body.rfind("# Plan Mode").map_or(0, |at| at + 1)
                > body.rfind("# Collaboration Mode: Default").map_or(0, |at| at + 1)
        };
        let script = Script::new().step(say("<proposed_plan>\n- first\n</proposed_plan>"));
        let turn = session.turn(&format!("/plan {}", script.prompt("the move"))).await?;
        has(&said(&session, turn.from), &["- first"]);
        ensure!(is_plan(), "no plan mode");
        has(&local(stage, &session, "/status").await?, &["**collaboration**: plan"]);
        has(&local(stage, &session, "/plan").await?, &["Plan mode is off"]);
        session.turn(&Script::new().step(say("done")).prompt("go")).await?;
        ensure!(!is_plan(), "still plan mode");
        let option = json!({"sessionId": session.id, "configId": "collaboration", "value": "plan"});
        client.call("setOption", option).await?;
        session.turn(&Script::new().step(say("planned")).prompt("go")).await?;
        ensure!(is_plan(), "no plan mode by the option");
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn renamed_and_unknown(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let from = client.look(|it| it.wire.len());
        has(
            &local(stage, &session, "/rename The big move").await?,
            &["This session is called “The big move” now."],
        );
        let titled = |update: &Value| {
            (is_kind(update, "session_info_update") && update["title"] == "The big move").then_some(())
        };
        session.update("the title", from, titled).await?;
        has(&local(stage, &session, "/statsu").await?, &["There is no command `/statsu`.", "`/status`"]);
        // A path is a text like any other.
        stage.model.push(say("I see"));
        let turn = session.turn("/home/somebody is full").await?;
        has(&said(&session, turn.from), &["I see"]);
        // So is one of one part, once a blank stands before it, as it is said.
        has(&local(stage, &session, "/etc").await?, &["There is no command `/etc`", "put a space"]);
        stage.model.push(say("I see that, too"));
        let turn = session.turn(" /etc").await?;
        has(&said(&session, turn.from), &["I see that, too"]);
        let sent = stage.model.requests().pop().context("a request")?.body["input"].to_string();
        has(&sent, &["\" /etc\""]);
        has(&local(stage, &session, "/PS").await?, &["No command is running."]);
        has(
            &local(stage, &session, "/Stop\nand go on").await?,
            &["`/stop` takes one line", "nothing was done"],
        );
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn an_agents_file(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        stage.model.push(say("written"));
        let turn = session.turn("/init").await?;
        has(&said(&session, turn.from), &["written"]);
        let request = stage.model.requests().pop().context("a request")?;
        has(&request.body["input"].to_string(), &["Write a file AGENTS.md at the root of this project"]);
        let typed = |update: &Value| {
            let text = match version {
                Version::V1 => &update["content"]["text"],
                Version::V2 => &update["content"][0]["text"],
            };
            let is_users = update["sessionUpdate"].as_str()?.starts_with("user_message");
            is_users.then(|| text.as_str().unwrap_or_default().to_owned())
        };
        if version == Version::V2 {
            assert_eq!(session.update("what was typed", turn.from, typed).await?, "/init");
        }
        // In the list and in the history it is what was typed, too.
        let list = client.call("list", json!({})).await?;
        assert_eq!(list["sessions"][0]["title"], "/init", "{list}");
        session.close().await?;
        let from = client.look(|it| it.wire.len());
        let back = json!({"sessionId": session.id, "cwd": stage.home.workspace(), "replay": true});
        client.call("resume", back).await?;
        assert_eq!(session.update("what was typed, again", from, typed).await?, "/init");
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn goals(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        has(&local(stage, &session, "/goal").await?, &["There is no goal."]);
        has(&local(stage, &session, "/goal resume").await?, &["There is no goal."]);
        stage.model.push((Action::gate("work"), say("never said")));
        let set = session.prompt("/goal All green");
        client.outcome(set.answer).await?.map_err(|error| anyhow::anyhow!("{error}"))?;
        stage.model.wait_gate("work").await?;
        has(&said(&session, set.from), &["The goal is set, and Codex goes on with it by itself: All green"]);
        let clear = session.prompt("/goal clear");
        client.outcome(clear.answer).await?.map_err(|error| anyhow::anyhow!("{error}"))?;
        stage.model.wait_abandoned(1).await?;
        let is_cleared = |update: &Value| update.to_string().contains("The goal is cleared").then_some(());
        session.update("word that the goal is cleared", clear.from, is_cleared).await?;
        if version == Version::V2 {
            // The goal's turn ends as cut off; the next prompt must not take that for its own end.
            let is_cut_off = |it: &Value| (is_end(it) && it["stopReason"] == "cancelled").then_some(());
            session.update("end of the goal's turn", set.from, is_cut_off).await?;
        }
        session.at_rest().await?;
        has(&local(stage, &session, "/goal").await?, &["There is no goal."]);
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn signed_out(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        has(&local(stage, &session, "/logout").await?, &["You are signed out of Codex"]);
        client.end().await?;
        Ok(())
    })
    .await;
}
