//! A session of a shared app-server that another client deletes or archives.

use anyhow::ensure;
use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::model::{Script, exec, say};

use crate::client::Client;
use crate::server::{Listen, Server};
use crate::session::{Ended, Session};
use crate::stage::{Casting, forever, play};

in_both_versions!(deleted_by_another, archived_by_another_and_brought_back, deleted_in_mid_turn);

async fn put(client: &Client, method: &str, session: &str) -> anyhow::Result<Value> {
    client.call("request", json!({"method": method, "params": {"sessionId": session}})).await
}

/// Codex killed it: it says so, with a code or with none, or is gone before it can.
async fn ended_by_codex(session: &Session<'_>) -> anyhow::Result<()> {
    let ended = session.ended("dev").await?;
    ensure!(matches!(ended, Ended::Unknown | Ended::Code(137)), "{ended:?}");
    Ok(())
}

/// Waits until the user is told in words, as a notice or, in v1, as text.
async fn until_told(session: &Session<'_>, words: &str) -> anyhow::Result<()> {
    session.update(words, 0, |it| it.to_string().contains(words).then_some(())).await
}

fn dev() -> Script {
    Script::new().step(exec(forever("dev")).id("dev").yield_ms(300)).step(say("It runs."))
}

async fn deleted_by_another(version: Version) {
    play(async |stage| {
        let server = Server::start(stage, Listen::Unix).await?;
        let owner = stage.client(server.casting(Casting::of(version))).await?;
        let other = stage.client(server.casting(Casting::of(version))).await?;
        let session = stage.open(&owner).await?;
        session.turn(&dev().prompt("serve")).await?;
        session.until_listed(&["dev"]).await?;
        put(&other, "session/delete", &session.id).await?;
        // Told without being asked, and its work has ended.
        until_told(&session, "This session was deleted by another client of the app-server").await?;
        ended_by_codex(&session).await?;
        assert_eq!(session.final_status("dev").await?, "failed");
        session.until_listed(&[]).await?;
        session.until_dead().await?;
        session.at_rest().await?;
        let error = owner.refused("prompt", json!({"sessionId": session.id, "text": "hello?"})).await?;
        assert_eq!(error["code"], -32002, "{error}");
        // The connection is none the worse for it.
        let next = stage.open(&owner).await?;
        let turn = next.turn(&Script::new().step(say("Here.")).prompt("hello")).await?;
        assert_eq!(next.text(turn.from), "Here.");
        session.close().await?;
        owner.end().await?;
        other.end().await?;
        server.end().await
    })
    .await;
}

async fn archived_by_another_and_brought_back(version: Version) {
    play(async |stage| {
        let server = Server::start(stage, Listen::Unix).await?;
        let owner = stage.client(server.casting(Casting::of(version))).await?;
        let other = stage.client(server.casting(Casting::of(version))).await?;
        let session = stage.open(&owner).await?;
        session.turn(&dev().prompt("serve")).await?;
        session.until_listed(&["dev"]).await?;
        put(&other, "session/archive", &session.id).await?;
        until_told(&session, "This session was archived by another client of the app-server").await?;
        ended_by_codex(&session).await?;
        session.until_listed(&[]).await?;
        session.until_dead().await?;
        let error = owner.refused("prompt", json!({"sessionId": session.id, "text": "hello?"})).await?;
        assert_eq!(
            (&error["code"], &error["data"]["reason"]),
            (&json!(-32603), &json!("archived")),
            "{error}"
        );
        put(&other, "session/unarchive", &session.id).await?;
        let turn = session.turn(&Script::new().step(say("Back.")).prompt("hello?")).await?;
        assert_eq!(session.text(turn.from), "Back.");
        session.at_rest().await?;
        owner.end().await?;
        other.end().await?;
        server.end().await
    })
    .await;
}

async fn deleted_in_mid_turn(version: Version) {
    play(async |stage| {
        let server = Server::start(stage, Listen::Unix).await?;
        let owner = stage.client(server.casting(Casting::of(version))).await?;
        let other = stage.client(server.casting(Casting::of(version))).await?;
        let session = stage.open(&owner).await?;
        session.turn(&Script::new().step(say("Saved.")).prompt("hello")).await?;
        let cmd = format!("touch up; {}", forever("build"));
        let script = Script::new().step(exec(cmd).id("build").yield_ms(30_000)).step(say("never said"));
        let turn = session.prompt(&script.prompt("build"));
        stage.file("up").await?;
        session.until_running("build").await?;
        put(&other, "session/delete", &session.id).await?;
        until_told(&session, "This session was deleted by another client of the app-server").await?;
        // Codex interrupts it before it deletes, as it would for a cancel of the other client.
        assert_eq!(session.finish(&turn).await?, "cancelled");
        session.until_dead().await?;
        session.at_rest().await?;
        owner.end().await?;
        other.end().await?;
        server.end().await
    })
    .await;
}
