//! Tools of MCP servers that the client brings along: asked about, answered, and never in the way of a session.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::Context;
use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::home::Config;
use testkit::model::{Script, call, say};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::client::Client;
use crate::session::Session;
use crate::stage::{Casting, Stage, play, play_with};

in_both_versions!(
    allowed_once,
    allowed_for_the_session,
    declined,
    a_server_that_says_nothing_holds_up_nothing,
    a_server_that_is_not_there_is_told,
    a_server_on_http,
);

pub(crate) fn asking(config: Config) -> Config {
    config.approval_policy("on-request").sandbox_mode("read-only")
}

/// A call of the tool `wipe`, for which Codex has to ask, or of `hang`, which never ends.
pub(crate) fn tool(name: &str, id: &str) -> testkit::model::Call {
    call(name, json!({"path": "/x"})).namespace("mcp__tools").id(id)
}

/// A session with the server of `tests/clients/tools.mjs`; `mode` is its argument.
pub(crate) async fn open_with_tools<'a>(
    stage: &Stage,
    client: &'a Client,
    mode: &[&str],
) -> anyhow::Result<Session<'a>> {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients/tools.mjs");
    let mut args = vec![json!("node"), json!(script)];
    args.extend(mode.iter().map(|it| json!(it)));
    open_with(stage, client, "/usr/bin/env", args).await
}

async fn open_with<'a>(
    stage: &Stage,
    client: &'a Client,
    command: &str,
    args: Vec<Value>,
) -> anyhow::Result<Session<'a>> {
    let mut server = json!({"name": "tools", "command": command, "args": args, "env": []});
    if client.version == Version::V2 {
        server["type"] = json!("stdio");
    }
    open_with_server(stage, client, server).await
}

async fn open_with_server<'a>(
    stage: &Stage,
    client: &'a Client,
    server: Value,
) -> anyhow::Result<Session<'a>> {
    let params = json!({"cwd": stage.home.workspace(), "mcpServers": [server]});
    let answer = client.call("new", params).await?;
    let id = answer["sessionId"].as_str().context("a session has an id")?.to_owned();
    Ok(Session { client, id })
}

async fn policy(session: &Session<'_>, kind: &str) -> anyhow::Result<()> {
    session.client.call("answer", json!({"permission": kind})).await.map(drop)
}

fn asks(client: &Client) -> Vec<Value> {
    client.look(|it| {
        let is_ask = |body: &Value| body["method"] == "session/request_permission";
        it.wire.iter().filter(|it| is_ask(&it.body)).map(|it| it.body["params"].clone()).collect()
    })
}

async fn allowed_once(version: Version) {
    play_with(asking, async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = open_with_tools(stage, &client, &[]).await?;
        policy(&session, "allow_once").await?;
        let script =
            Script::new().step(tool("wipe", "one")).step(tool("wipe", "two")).step(say("Both are done."));
        let turn = session.turn(&script.prompt("wipe")).await?;
        assert!(session.text(turn.from).ends_with("Both are done."));
        for id in ["one", "two"] {
            assert_eq!(session.final_status(id).await?, "completed", "{id}");
        }
        let asks = asks(&client);
        assert_eq!(asks.len(), 2, "{asks:?}");
        // The user sees what would be called, and with what.
        let said = asks[0].to_string();
        assert!(said.contains("wipe") && said.contains("/x"), "{said}");
        let call = match version {
            Version::V1 => &asks[0]["toolCall"]["toolCallId"],
            Version::V2 => &asks[0]["subject"]["toolCall"]["toolCallId"],
        };
        assert_eq!(call, "one", "{said}");
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn allowed_for_the_session(version: Version) {
    play_with(asking, async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = open_with_tools(stage, &client, &[]).await?;
        policy(&session, "allow_always").await?;
        for id in ["one", "two"] {
            session.turn(&Script::new().step(tool("wipe", id)).step(say("Done.")).prompt("wipe")).await?;
            assert_eq!(session.final_status(id).await?, "completed", "{id}");
        }
        assert_eq!(asks(&client).len(), 1, "asked again");
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn declined(version: Version) {
    play_with(asking, async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = open_with_tools(stage, &client, &[]).await?;
        policy(&session, "reject_once").await?;
        let turn =
            session.turn(&Script::new().step(tool("wipe", "one")).step(say("No?")).prompt("wipe")).await?;
        assert_eq!(session.final_status("one").await?, "failed");
        assert!(session.text(turn.from).ends_with("No?"), "the turn goes on");
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Codex gives a server 30 s to start: neither the session nor its first turn waits for that.
async fn a_server_that_says_nothing_holds_up_nothing(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        // On a slow machine all the rest may take as long.
        for tries_left in (0..5).rev() {
            let began = tokio::time::Instant::now();
            let session = open_with_tools(stage, &client, &["mute"]).await?;
            let turn = session.turn(&Script::new().step(say("Hi.")).prompt("hello")).await?;
            assert!(session.text(turn.from).ends_with("Hi."));
            if began.elapsed().as_secs() < 30 {
                break;
            }
            assert!(tries_left > 0, "the server is waited for");
        }
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn a_server_that_is_not_there_is_told(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = open_with(stage, &client, "/nonexistent/server", Vec::new()).await?;
        let is_told = |it: &Value| {
            let text = it.to_string();
            (text.contains("tools") && text.contains("No such file")).then_some(())
        };
        session.update("word of the server", 0, is_told).await?;
        let turn = session.turn(&Script::new().step(say("Hi.")).prompt("hello")).await?;
        assert!(session.text(turn.from).ends_with("Hi."));
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Codex reaches it with the headers that the client gave for it, and without them is told to be kept out.
async fn a_server_on_http(version: Version) {
    play_with(asking, async |stage| {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients/tools.mjs");
        let mut child = Command::new("node")
            .arg(script)
            .arg("http")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut lines = BufReader::new(child.stdout.take().context("stdout is a pipe")?).lines();
        let port = tokio::time::timeout(testkit::PATIENCE, lines.next_line()).await??.context("a port")?;
        let server = |pass: &str| {
            let url = format!("http://127.0.0.1:{port}/mcp");
            let headers = json!([{"name": "X-Pass", "value": pass}]);
            json!({"type": "http", "name": "tools", "url": url, "headers": headers})
        };
        let client = stage.client(Casting::of(version)).await?;
        let session = open_with_server(stage, &client, server("open")).await?;
        policy(&session, "allow_once").await?;
        let turn =
            session.turn(&Script::new().step(tool("wipe", "one")).step(say("Done.")).prompt("wipe")).await?;
        assert!(session.text(turn.from).ends_with("Done."));
        assert_eq!(session.final_status("one").await?, "completed");
        let wiped = |it: &Value| it.to_string().contains("wiped /x").then_some(());
        session.update("what the tool said", turn.from, wiped).await?;

        let session = open_with_server(stage, &client, server("shut")).await?;
        let is_told = |it: &Value| it.to_string().contains("MCP server tools did not start").then_some(());
        session.update("word of the server", 0, is_told).await?;
        client.end().await?;
        drop(child.stdin.take());
        tokio::time::timeout(testkit::PATIENCE, child.wait()).await??;
        Ok(())
    })
    .await;
}
