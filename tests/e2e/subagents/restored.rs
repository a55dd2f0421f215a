//! Subagents of a session that comes back: on the same connection, by another process, beside an app-server that
//! went on, after a death, and where one of them is damaged.

use std::fs;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::model::{Script, call, exec, say};
use testkit::processes::Signal;

use super::{older, spawn, subagent, until_subagents};
use crate::client::Client;
use crate::returns::shown;
use crate::seen::Seen;
use crate::server::{Listen, Server};
use crate::session::{Session, is_end};
use crate::stage::{Casting, Stage, forever, play_with};
use crate::states::rollout;

in_both_tool_sets!(by_another_process, killed_while_it_works, of_an_app_server_that_went_on);

async fn come_back<'a>(stage: &Stage, client: &'a Client, id: &str) -> anyhow::Result<Session<'a>> {
    let args = json!({"sessionId": id, "cwd": stage.home.workspace(), "replay": true});
    client.call("resume", args).await?;
    Ok(Session { client, id: id.to_owned() })
}

/// The last state of a subagent that its parent told.
fn mirrored(session: &Session<'_>, child: &str) -> Option<Value> {
    session.client.look(|it| {
        let of_child =
            |update: &Value| update["sessionUpdate"] == "subagent_update" && update["sessionId"] == child;
        let states =
            it.updates(&session.id, 0).filter(|(_, it)| of_child(it)).map(|(_, it)| it["state"].clone());
        states.filter(|it| it.is_object()).last()
    })
}

/// Whether some call of the session refers to that of a subagent.
fn refers(session: &Session<'_>, child: &str) -> bool {
    session.client.look(|it| {
        it.updates(&session.id, 0).any(|(_, update)| {
            let content = update["content"].as_array().into_iter().flatten();
            content.clone().any(|it| it["type"] == "session" && it["sessionId"] == child)
        })
    })
}

fn keys(view: &[(String, Value)]) -> Vec<&str> {
    view.iter().map(|it| it.0.as_str()).collect()
}

/// A subagent that left a command, as another process tells it: what it said and did, ended, and of use again.
async fn by_another_process(stage: &Stage, tools: &str) -> anyhow::Result<()> {
    let client = stage.client(Casting::v2()).await?;
    let session = stage.open(&client).await?;
    let child = Script::new()
        .step(exec(forever("dev")).id("dev").yield_ms(300))
        .step(exec("echo quick; exit 3").id("quick").yield_ms(30_000))
        .step(say("child left it"));
    let script = Script::new().step(spawn(tools, &child)).step(say("root leaves"));
    session.turn(&script.prompt("spawn")).await?;
    let child = subagent(&client, &session).await?;
    child.update("end of the subagent's turn", 0, |it| is_end(it).then_some(())).await?;
    child.until_listed(&["dev"]).await?;
    let (live, of_root) = (shown(&child), shown(&session));
    let (id, child_id) = (session.id.clone(), child.id.clone());
    client.end().await?;

    let client = stage.client(Casting::v2()).await?;
    let params = json!({"sessionId": child_id, "cwd": stage.home.workspace(), "mcpServers": []});
    let alone = client.call("request", json!({"method": "session/resume", "params": params})).await;
    let refusal = alone.expect_err("a subagent is not opened by itself").to_string();
    ensure!(
        refusal.contains("-32602") && refusal.contains("comes back with that of its parent"),
        "{refusal}"
    );
    let session = come_back(stage, &client, &id).await?;
    let child = Session { client: &client, id: child_id };
    assert_eq!(keys(&shown(&session)), keys(&of_root));
    assert_eq!(keys(&shown(&child)), keys(&live));
    ensure!(refers(&session, &child.id), "no call refers to it");
    assert_eq!(mirrored(&session, &child.id), Some(json!({"state": "idle", "background": []})));
    ensure!(
        client.look(|it| it.belief.is_running(&child.id, "dev")) != Some(true),
        "its command is believed to run"
    );
    until_subagents(&session, &[]).await?;
    session.at_rest().await?;
    child.at_rest().await?;
    if tools == "collaboration" {
        let task = Script::new().step(say("Again.")).prompt("child task");
        let again = call("followup_task", json!({"target": "worker", "message": task})).namespace(tools);
        let from = client.look(|it| it.wire.len());
        session.turn(&Script::new().step(again).step(say("told")).prompt("more")).await?;
        child.update("end of its new turn", from, |it| is_end(it).then_some(())).await?;
        assert_eq!(child.text(from), "Again.");
        session.at_rest().await?;
        child.at_rest().await?;
    }
    client.end().await?;
    Ok(())
}

/// Two levels, live, on the connection that they are open on: all of it is told again, and can be stopped.
async fn while_it_is_open(stage: &Stage) -> anyhow::Result<()> {
    let client = stage.client(Casting::v2()).await?;
    let session = stage.open(&client).await?;
    let leaf = Script::new().step(exec(forever("leaf")).yield_ms(300).in_code()).step(say("leaf left it"));
    let middle = Script::new().step(spawn("collaboration", &leaf)).step(say("middle leaves"));
    let script = Script::new().step(spawn("collaboration", &middle)).step(say("root leaves"));
    session.turn(&script.prompt("spawn")).await?;
    let middle = subagent(&client, &session).await?;
    let leaf = subagent(&client, &middle).await?;
    let terminal = leaf.until_announced(0, 1).await?.remove(0);
    leaf.until_listed(&[&terminal]).await?;
    leaf.update("end of its turn", 0, |it| is_end(it).then_some(())).await?;
    until_subagents(&session, &[&middle]).await?;

    for replay in [true, false] {
        let from = client.look(|it| it.wire.len());
        client
            .call("resume", json!({"sessionId": session.id, "cwd": stage.home.workspace(), "replay": replay}))
            .await?;
        let announced = leaf.until_announced(from, 1).await?;
        assert_eq!(announced, [terminal.as_str()]);
        let n_complete = |it: &Seen, session: &Session<'_>| {
            it.updates(&session.id, from).filter(|(_, it)| it["sessionUpdate"] == "replay_complete").count()
        };
        let markers = client.look(|it| [&session, &middle, &leaf].map(|session| n_complete(it, session)));
        assert_eq!(markers, [usize::from(replay); 3]);
        assert_eq!(client.look(|it| it.belief.listed(&leaf.id)), [format!("terminal:{terminal}")]);
        assert_eq!(client.look(|it| it.belief.listed(&middle.id)), [format!("subagent:{}", leaf.id)]);
        assert_eq!(client.look(|it| it.belief.listed(&session.id)), [format!("subagent:{}", middle.id)]);
        for session in [&session, &middle, &leaf] {
            session.at_rest().await?;
        }
    }
    leaf.stop(&terminal).await?;
    until_subagents(&session, &[]).await?;
    session.close().await?;

    // Closed and opened again on the same connection.
    let session = come_back(stage, &client, &session.id).await?;
    assert_eq!(mirrored(&middle, &leaf.id), Some(json!({"state": "idle", "background": []})));
    for session in [&session, &middle, &leaf] {
        session.at_rest().await?;
    }
    client.end().await?;
    Ok(())
}

#[tokio::test]
async fn while_it_is_open_and_after_a_close() {
    play_with(|it| it.model("gpt-6.2-sol"), async |stage| while_it_is_open(stage).await).await;
}

/// A subagent that works when everything is killed: Codex says that its turn was cut off.
async fn killed_while_it_works(stage: &Stage, tools: &str) -> anyhow::Result<()> {
    let client = stage.client(Casting::v2()).await?;
    let session = stage.open(&client).await?;
    let child = Script::new()
        .step((say("It begins."), exec(forever("waited")).id("waited").yield_ms(600_000)))
        .step(say("never said"));
    let script = Script::new().step(spawn(tools, &child)).step(say("root leaves"));
    session.turn(&script.prompt("spawn")).await?;
    let child = subagent(&client, &session).await?;
    child.until_running("waited").await?;
    let (id, child_id) = (session.id.clone(), child.id.clone());
    client.signal_adapter(Signal::KILL)?;
    client.end().await?;

    let client = stage.client(Casting::v2()).await?;
    let session = come_back(stage, &client, &id).await?;
    let child = Session { client: &client, id: child_id };
    child.until_dead().await?;
    assert_eq!(mirrored(&session, &child.id), Some(json!({"state": "idle", "background": []})));
    ensure!(child.text(0).contains("It begins."), "what it said is lost");
    ensure!(
        client.look(|it| it.belief.is_running(&child.id, "waited")) != Some(true),
        "its command is believed to run"
    );
    until_subagents(&session, &[]).await?;
    session.at_rest().await?;
    child.at_rest().await?;
    client.end().await?;
    Ok(())
}

/// A shared app-server goes on: its subagents come back as they are, and their work is heard again.
async fn of_an_app_server_that_went_on(stage: &Stage, tools: &str) -> anyhow::Result<()> {
    let server = Server::start(stage, Listen::Unix).await?;
    let client = stage.client(server.casting(Casting::v2())).await?;
    let session = stage.open(&client).await?;
    let child = Script::new()
        .step(exec(forever("dev")).id("dev").yield_ms(300))
        .step(exec(forever("waited")).id("waited").yield_ms(600_000))
        .step(say("child is done"));
    let script = Script::new().step(spawn(tools, &child)).step(say("root leaves"));
    session.turn(&script.prompt("spawn")).await?;
    let child = subagent(&client, &session).await?;
    child.until_running("waited").await?;
    let (id, child_id) = (session.id.clone(), child.id.clone());
    client.end().await?;

    let client = stage.client(server.casting(Casting::v2())).await?;
    let session = come_back(stage, &client, &id).await?;
    let child = Session { client: &client, id: child_id };
    until_subagents(&session, &[&child]).await?;
    assert_eq!(mirrored(&session, &child.id).context("no state")?["state"], "running");
    child.until_running("dev").await?;
    child.until_running("waited").await?;
    stage.signal_file("end-waited")?;
    child.update("end of its turn", 0, |it| is_end(it).then_some(())).await?;
    ensure!(child.text(0).ends_with("child is done"), "what it says is not heard");
    child.until_listed(&["dev"]).await?;
    child.stop("dev").await?;
    until_subagents(&session, &[]).await?;
    session.at_rest().await?;
    child.at_rest().await?;
    session.close().await?;
    client.end().await?;
    server.end().await
}

/// Of three subagents one is damaged and one is gone: that is said, and nothing else is lost.
#[tokio::test]
async fn one_damaged_and_one_gone() {
    play_with(older, async |stage| {
        let client = stage.client(Casting::v2()).await?;
        let session = stage.open(&client).await?;
        let mut script = Script::new();
        for text in ["one", "two", "three"] {
            script = script.step(spawn("multi_agent_v1", &Script::new().step(say(text))));
        }
        session.turn(&script.step(say("root leaves")).prompt("spawn")).await?;
        let all = |it: &Seen| Some(it.belief.subagents()).filter(|its| its.len() == 3);
        let ids = client.wait("three subagents", all).await?;
        for id in &ids {
            let child = Session { client: &client, id: id.clone() };
            child.update("end of its turn", 0, |it| is_end(it).then_some(())).await?;
        }
        let id = session.id.clone();
        client.end().await?;
        let sessions = stage.home.codex_home().join("sessions");
        fs::write(rollout(sessions.clone(), &ids[0]).context("Codex saved it")?, "this is no rollout\n")?;
        fs::remove_file(rollout(sessions, &ids[1]).context("Codex saved it")?)?;

        let client = stage.client(Casting::v2()).await?;
        let session = come_back(stage, &client, &id).await?;
        let notices = session.client.look(|it| {
            let is_notice = |it: &Value| it["sessionUpdate"] == "notice";
            it.updates(&session.id, 0)
                .filter(|(_, it)| is_notice(it))
                .map(|(_, it)| it["title"].to_string())
                .collect::<Vec<_>>()
        });
        assert_eq!(notices.len(), 2, "{notices:?}");
        let whole = Session { client: &client, id: ids[2].clone() };
        ensure!(refers(&session, &whole.id), "no call refers to the third");
        assert_eq!(mirrored(&session, &whole.id), Some(json!({"state": "idle", "background": []})));
        session.at_rest().await?;
        let turn = session.turn(&Script::new().step(say("Here.")).prompt("hello")).await?;
        assert_eq!(session.text(turn.from), "Here.");
        client.end().await?;
        Ok(())
    })
    .await;
}
