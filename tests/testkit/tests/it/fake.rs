//! The fake app-server plays its script.

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::codex;
use testkit::fake::{self, Event, FakeScript, Reaction};
use tokio::process::Command;

use crate::app_server::AppServer;

fn start(script: &FakeScript, dir: &TempDir) -> anyhow::Result<AppServer> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fake-app-server"));
    command.envs([script.save(&dir.path().join("script.json"))?]);
    AppServer::spawn(command)
}

#[tokio::test]
async fn without_rules_it_answers_like_the_recording() -> anyhow::Result<()> {
    let dir = TempDir::new()?;
    let mut server = start(&FakeScript::new(), &dir)?;
    let hello = server.request("initialize", json!({})).await?;
    let version = format!("fake/{}", codex::pinned_version());
    assert!(hello["userAgent"].as_str().is_some_and(|it| it.starts_with(&version)), "{hello}");
    server.send(&json!({"method": "initialized"})).await?;
    let thread = server.request("thread/start", json!({})).await?["thread"]["id"].take();
    server.request("turn/start", json!({"threadId": thread})).await?;
    let done = server.notification("turn/completed", |it| it["threadId"] == thread).await?;
    assert_eq!(done["turn"]["status"], "completed");
    let unknown = server.request("no/such", json!({})).await.unwrap_err();
    assert!(unknown.to_string().contains("-32600"), "{unknown}");
    assert!(server.stop().await?.success());
    Ok(())
}

#[tokio::test]
async fn faults_come_in_the_order_of_the_script() -> anyhow::Result<()> {
    let dir = TempDir::new()?;
    let received = dir.path().join("received");
    let once = Reaction::Error { code: -32000, message: "not yet".to_owned() };
    let script = FakeScript::new()
        .on(Event::Start, [Reaction::Line("garbage".to_owned())])
        .once("initialize", [once])
        .on_method("silent", [])
        .on_method(
            "turn/start",
            [
                Reaction::Oversized(100_000),
                Reaction::NextMessage,
                Reaction::recorded("turn/started"),
                Reaction::Repeat { times: 2, then: vec![Reaction::notify("tick", json!({}))] },
                Reaction::Unfinished("{\"half".to_owned()),
                Reaction::CloseStdout,
            ],
        )
        .on(Event::Eof, [Reaction::Stderr("bye".to_owned()), Reaction::Exit(7)])
        .keep_received(&received);
    let mut server = start(&script, &dir)?;
    assert_eq!(server.line().await?.as_deref(), Some("garbage"));
    assert!(server.request("initialize", json!({})).await.is_err());
    server.request("initialize", json!({})).await?;
    server.send(&json!({"id": 8, "method": "silent"})).await?;
    server.send(&json!({"id": 9, "method": "turn/start"})).await?;
    let oversized = server.line().await?.unwrap_or_default();
    assert_eq!(oversized.len(), 100_000);
    assert_eq!(serde_json::from_str::<Value>(&oversized)?["method"], "oversized");
    server.send(&json!({"method": "go"})).await?;
    server.notification("turn/started", |_| true).await?;
    server.notification("tick", |_| true).await?;
    server.notification("tick", |_| true).await?;
    assert_eq!(server.line().await?.as_deref(), Some("{\"half"));
    assert_eq!(server.line().await?, None);
    assert_eq!(server.stop().await?.code(), Some(7));
    assert_eq!(std::fs::read_to_string(received)?.lines().count(), 5);
    Ok(())
}

#[tokio::test]
async fn bytes_that_are_not_utf8() -> anyhow::Result<()> {
    let dir = TempDir::new()?;
    let mut server = start(&FakeScript::new().on(Event::Start, [Reaction::InvalidUtf8]), &dir)?;
    let error = server.line().await.unwrap_err();
    let error = format!("{error:#}").to_lowercase();
    assert!(error.contains("utf-8"), "{error}");
    assert!(server.stop().await?.success());
    Ok(())
}

#[cfg(unix)]
#[tokio::test]
async fn a_signal_on_itself() -> anyhow::Result<()> {
    use std::os::unix::process::ExitStatusExt;

    let dir = TempDir::new()?;
    let mut server = start(&FakeScript::new().on_method("die", [Reaction::Raise(9)]), &dir)?;
    server.send(&json!({"id": 1, "method": "die"})).await?;
    assert_eq!(server.line().await?, None);
    assert_eq!(server.stop().await?.signal(), Some(9));
    Ok(())
}

#[test]
fn the_binary_is_found_from_elsewhere() -> anyhow::Result<()> {
    let output = std::process::Command::new(fake::binary()?).arg("--version").output()?;
    let said = String::from_utf8(output.stdout)?;
    assert_eq!(said.trim(), format!("codex-cli {}", codex::pinned_version()));
    Ok(())
}
