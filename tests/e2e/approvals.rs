//! Codex asks, the user answers, and only an offered allow option lets a command run.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::home::Config;
use testkit::model::{Exec, Script, call, exec, say};

use crate::ends::kill_app_server;
use crate::session::{Ended, Session};
use crate::stage::{Casting, forever, play, play_with};

in_both_versions!(
    accepted,
    declined,
    dismissed,
    cancelled_while_open,
    of_a_background_command,
    of_a_subagent,
    of_a_subagent_that_is_told_no,
    two_at_once,
    in_a_mode_that_outlives_the_app_server,
);

fn asking(config: Config) -> Config {
    config.approval_policy("on-request").sandbox_mode("read-only")
}

/// A command that leaves the sandbox, for which Codex has to ask.
fn escalated(cmd: &str) -> Exec {
    exec(cmd)
        .id("cmd")
        .arg("sandbox_permissions", "require_escalated")
        .arg("justification", "The test wants it.")
}

fn script(cmd: &str) -> Script {
    Script::new().step(escalated(cmd).yield_ms(30_000)).step(say("answered"))
}

/// Waits for the permission request and returns its parameters.
async fn asked(session: &Session<'_>) -> anyhow::Result<Value> {
    let is_ask = |body: &Value| {
        body["method"] == "session/request_permission" && body["params"]["sessionId"] == session.id
    };
    let client = session.client;
    client
        .wait("permission request", |it| it.wire.iter().find(|it| is_ask(&it.body)).map(|it| it.body.clone()))
        .await
}

async fn policy(session: &Session<'_>, kind: &str) -> anyhow::Result<()> {
    session.client.call("answer", json!({"permission": kind})).await.map(drop)
}

async fn accepted(version: Version) {
    play_with(asking, async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        policy(&session, "hold").await?;
        let turn = session.prompt(&script("touch ran; echo it ran").prompt("run"));
        let ask = asked(&session).await?;
        let kinds: Vec<&Value> =
            ask["params"]["options"].as_array().into_iter().flatten().map(|it| &it["kind"]).collect();
        assert!(kinds.contains(&&json!("allow_once")), "{kinds:?}");
        assert!(kinds.contains(&&json!("reject_once")), "{kinds:?}");
        // Nothing else of the turn runs: the user is what it waits for.
        if version == Version::V2 {
            let waits = |it: &Value| (it["state"] == "requires_action").then_some(());
            session.update("requires_action", turn.from, waits).await?;
        }
        assert!(!stage.home.workspace().join("ran").exists());
        client.call("release", json!({"kind": "allow_once"})).await?;
        assert_eq!(session.finish(&turn).await?, "end_turn");
        assert_eq!(session.final_status("cmd").await?, "completed");
        match version {
            // A v1 terminal can only come with the call, and this call was there before its process.
            // What it shows is text, and the newline before the end of a code block is none of the text's.
            Version::V1 => assert_eq!(session.output("cmd").lines().collect::<Vec<_>>(), ["it ran"]),
            Version::V2 => {
                assert_eq!(session.ended("cmd").await?, Ended::Code(0));
                assert_eq!(session.output("cmd"), "it ran\n");
            }
        }
        assert!(stage.home.workspace().join("ran").exists());
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn declined(version: Version) {
    play_with(asking, async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        policy(&session, "reject_once").await?;
        let turn = session.prompt(&script("touch ran").prompt("run"));
        // Codex offers no other refusal here than the one that ends the turn.
        assert_eq!(session.finish(&turn).await?, "cancelled");
        let status = session.final_status("cmd").await?;
        assert_eq!(status, if version == Version::V1 { "failed" } else { "cancelled" });
        assert!(!stage.home.workspace().join("ran").exists());
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// An outcome that is no option is not an approval.
async fn dismissed(version: Version) {
    play_with(asking, async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        policy(&session, "cancelled").await?;
        let turn = session.prompt(&script("touch ran").prompt("run"));
        session.finish(&turn).await?;
        let status = session.final_status("cmd").await?;
        assert_eq!(status, if version == Version::V1 { "failed" } else { "cancelled" });
        assert!(!stage.home.workspace().join("ran").exists());
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn cancelled_while_open(version: Version) {
    play_with(asking, async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        policy(&session, "hold").await?;
        let turn = session.prompt(&script("touch ran").prompt("run"));
        let ask = asked(&session).await?;
        session.cancel().await?;
        assert_eq!(session.finish(&turn).await?, "cancelled");
        let withdrawn =
            |body: &Value| body["method"] == "$/cancel_request" && body["params"]["requestId"] == ask["id"];
        client.wait("withdrawal", |it| it.wire.iter().find(|it| withdrawn(&it.body)).map(drop)).await?;
        let status = session.final_status("cmd").await?;
        assert_eq!(status, if version == Version::V1 { "failed" } else { "cancelled" });
        assert!(!stage.home.workspace().join("ran").exists());
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// After an approval Codex says nothing about the process: it is found all the same, listed and stopped.
async fn of_a_background_command(version: Version) {
    play_with(asking, async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let dev = escalated(&format!("echo up; {}", forever("cmd"))).yield_ms(400);
        session.turn(&Script::new().step(dev).step(say("It runs.")).prompt("serve")).await?;
        session.until_listed(&["cmd"]).await?;
        session.at_rest().await?;
        match version {
            Version::V1 => {
                stage.signal_file("end-cmd")?;
                assert_eq!(session.final_status("cmd").await?, "completed");
            }
            Version::V2 => session.put_down(stage, "cmd").await?,
        }
        // Its early output is not shown before its end: nobody knew yet that the process exists.
        match version {
            Version::V1 => assert_eq!(session.output("cmd").lines().collect::<Vec<_>>(), ["up"]),
            Version::V2 => assert_eq!(session.output("cmd"), "up\n"),
        }
        session.until_listed(&[]).await?;
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// It is put in the name of the subagent where the client knows it, also when its parent's turn is over.
async fn of_a_subagent(version: Version) {
    by_a_subagent(version, "allow_once").await;
}

async fn of_a_subagent_that_is_told_no(version: Version) {
    by_a_subagent(version, "reject_once").await;
}

async fn by_a_subagent(version: Version, kind: &str) {
    let config = |config: Config| asking(config).model("unknown-x");
    play_with(config, async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        policy(&session, "hold").await?;
        let child = Script::new().step(escalated("touch ran").yield_ms(30_000)).step(say("child done"));
        let spawn = call("spawn_agent", json!({"message": child.prompt("work")})).namespace("multi_agent_v1");
        session.turn(&Script::new().step(spawn).step(say("spawned")).prompt("spawn")).await?;
        let asking = match version {
            Version::V1 => session.clone(),
            // It asks in its own name.
            Version::V2 => {
                let named = |it: &Value| {
                    let is_it = it["sessionUpdate"] == "subagent_update";
                    is_it.then(|| it["sessionId"].as_str().map(str::to_owned))?
                };
                Session { client: &client, id: session.update("the subagent", 0, named).await? }
            }
        };
        let ask = asked(&asking).await?;
        assert_eq!(ask.to_string().contains("A subagent asks"), version == Version::V1, "{ask}");
        assert!(!stage.home.workspace().join("ran").exists());
        client.call("release", json!({"kind": kind})).await?;
        if kind == "allow_once" {
            stage.file("ran").await?;
        }
        let turn = session.turn(&Script::new().step(say("Here.")).prompt("still there?")).await?;
        assert!(session.text(turn.from).contains("Here."));
        assert_eq!(stage.home.workspace().join("ran").exists(), kind == "allow_once");
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Codex holds back the end of the one command while it asks about the other.
async fn two_at_once(version: Version) {
    play_with(asking, async |stage| {
        let trace = stage.home.codex_home().join("trace.jsonl");
        let client = stage.client(Casting::of(version).env("APPSERVER_ACP_TRACE", &trace)).await?;
        let session = stage.open(&client).await?;
        policy(&session, "hold").await?;
        let calls = ["one", "two"].map(|id| escalated(&format!("touch {id}")).id(id).yield_ms(30_000));
        let script = Script::new().step(calls).step(say("done"));
        let turn = session.prompt(&script.prompt("run"));
        let first = client
            .wait("two permission requests", |it| {
                let asks: Vec<&Value> = it
                    .wire
                    .iter()
                    .filter(|it| it.body["method"] == "session/request_permission")
                    .map(|it| &it.body["params"]["toolCall"]["toolCallId"])
                    .collect();
                (asks.len() == 2).then(|| asks[0].as_str().unwrap_or_default().to_owned())
            })
            .await?;
        client.call("release", json!({"kind": "allow_once", "n": 1})).await?;
        stage.file(&first).await?;
        // It has run, and Codex does not list it: the adapter looks again and again, and does not guess.
        let looks = "\"method\":\"thread/backgroundTerminals/list\"";
        let n = traced(&trace, looks)?;
        until_traced(&trace, looks, n + 10).await?;
        client.call("release", json!({"kind": "allow_once"})).await?;
        assert_eq!(session.finish(&turn).await?, "end_turn");
        for id in ["one", "two"] {
            assert_eq!(session.final_status(id).await?, "completed", "{id}");
            assert!(stage.home.workspace().join(id).exists(), "{id} ran");
        }
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// The next app-server knows the thread, and not what the client chose for it: here nobody would be asked.
async fn in_a_mode_that_outlives_the_app_server(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        policy(&session, "reject_once").await?;
        let choice = json!({"sessionId": session.id, "configId": "mode", "value": "read-only"});
        client.call("setOption", choice).await?;
        let turn = session.turn(&Script::new().step(say("Hi.")).prompt("hello")).await?;
        kill_app_server(stage)?;
        let is_loss = |it: &Value| it.to_string().contains("app-server ended").then_some(());
        session.update("word of the loss", turn.from, is_loss).await?;
        let turn = session.prompt(&script("touch ran").prompt("run"));
        asked(&session).await?;
        assert_eq!(session.finish(&turn).await?, "cancelled");
        assert!(!stage.home.workspace().join("ran").exists());
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// How often a text stands in the adapter's trace.
pub(crate) fn traced(trace: &Path, text: &str) -> anyhow::Result<usize> {
    Ok(std::fs::read_to_string(trace)?.matches(text).count())
}

pub(crate) async fn until_traced(trace: &Path, text: &str, n: usize) -> anyhow::Result<()> {
    let deadline = tokio::time::Instant::now() + testkit::PATIENCE;
    while traced(trace, text)? < n {
        anyhow::ensure!(tokio::time::Instant::now() < deadline, "less than {n} times {text} in the trace");
        // A growing file has no event on every system.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}
