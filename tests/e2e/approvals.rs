//! Codex asks, the user answers, and only an offered allow option lets a command run.

use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::home::Config;
use testkit::model::{Exec, Script, exec, say};

use crate::session::{Ended, Session};
use crate::stage::{Casting, forever, play_with};

in_both_versions!(accepted, declined, dismissed, cancelled_while_open, of_a_background_command);

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
