//! What ends a subagent and what does not, with both sets of tools: its parent's cancel, its own, a place that another
//! takes, the death of the app-server. And what Codex does by itself, which is none.

use std::collections::BTreeSet;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::model::{Call, Request, Script, call, exec, found_text, say};

use super::{newer, older, spawn, subagent, until_subagents};
use crate::ends::kill_app_server;
use crate::live;
use crate::seen::Seen;
use crate::session::{Ended, Session, is_end};
use crate::stage::{Casting, Stage, forever, play, play_with};

in_both_tool_sets!(
    outlives_a_cancel_of_its_parent,
    deleted_with_their_session,
    killed_with_its_app_server,
    in_version_1
);

/// A child that waits on a command, and its parent, which does so too.
async fn outlives_a_cancel_of_its_parent(stage: &Stage, tools: &str) -> anyhow::Result<()> {
    let client = stage.client(Casting::v2()).await?;
    let session = stage.open(&client).await?;
    let child =
        Script::new().step(exec(forever("waited")).id("waited").yield_ms(600_000)).step(say("child went on"));
    let script = Script::new()
        .step(spawn(tools, &child))
        .step(exec(forever("front")).id("front").yield_ms(600_000))
        .step(say("never said"));
    let turn = session.prompt(&script.prompt("spawn"));
    let child = subagent(&client, &session).await?;
    child.until_running("waited").await?;
    session.until_running("front").await?;
    session.cancel().await?;
    assert_eq!(session.finish(&turn).await?, "cancelled");
    until_subagents(&session, &[&child]).await?;
    ensure!(live::commands(&child.id).contains("waited"), "its command was ended with its parent's turn");
    ensure!(live::commands(&session.id).is_empty(), "the command of the parent goes on");
    stage.signal_file("end-waited")?;
    child.update("end of its turn", 0, |it| is_end(it).then_some(())).await?;
    ensure!(child.text(0).ends_with("child went on"), "it was cut off");
    until_subagents(&session, &[]).await?;
    session.at_rest().await?;
    child.at_rest().await?;
    client.end().await?;
    Ok(())
}

/// The model of `thread` was told, in the turn that waited, that its subagent was cut off.
fn ensure_told(stage: &Stage, thread: &str) -> anyhow::Result<()> {
    let requests = stage.model.requests();
    let its = |it: &&Request| it.thread.as_deref() == Some(thread);
    let last = requests.iter().rev().find(its).context("a request")?;
    let told = "was interrupted by the user and has not finished its task.";
    let input = last.body["input"].to_string();
    ensure!(input.matches(told).count() == 1, "the model was not told once: {input}");
    Ok(())
}

/// Waits until the parent does nothing but wait for its subagents.
async fn until_waiting(session: &Session<'_>) -> anyhow::Result<()> {
    let is_wait = |it: &Value| (it["name"] == "wait" && it["status"] == "in_progress").then_some(());
    session.update("the wait", 0, is_wait).await
}

/// The older tools let a parent wait out its time for a subagent that is cut off; then its model is told.
#[tokio::test]
async fn cancelled_under_a_parent_that_waits_with_the_older_tools() {
    play_with(older, async |stage| {
        let client = stage.client(Casting::v2()).await?;
        let session = stage.open(&client).await?;
        let child = Script::new()
            .step(exec(forever("waited")).id("waited").yield_ms(600_000))
            .step(say("never said"));
        let id = found_text(r#"agent_id\W+([0-9a-f-]{36})"#);
        let wait = call("wait_agent", json!({"targets": [id], "timeout_ms": 10_000}));
        let script = Script::new()
            .step(spawn("multi_agent_v1", &child))
            .step(wait.namespace("multi_agent_v1"))
            .step(say("waited"));
        let turn = session.prompt(&script.prompt("spawn"));
        let child = subagent(&client, &session).await?;
        child.until_running("waited").await?;
        until_waiting(&session).await?;
        child.cancel().await?;
        assert_eq!(session.finish(&turn).await?, "end_turn");
        ensure_told(stage, &session.id)?;
        child.until_dead().await?;
        session.at_rest().await?;
        child.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// With the newer tools the wait ends at once, however long it was meant to be.
#[tokio::test]
async fn cancelled_under_a_parent_that_waits_with_the_newer_tools() {
    play_with(newer, async |stage| {
        let client = stage.client(Casting::v2()).await?;
        let session = stage.open(&client).await?;
        let child = Script::new()
            .step(exec(forever("waited")).id("waited").yield_ms(600_000))
            .step(say("never said"));
        let wait = call("wait_agent", json!({"timeout_ms": 600_000})).namespace("collaboration");
        let script = Script::new().step(spawn("collaboration", &child)).step(wait).step(say("waited"));
        let turn = session.prompt(&script.prompt("spawn"));
        let child = subagent(&client, &session).await?;
        child.until_running("waited").await?;
        until_waiting(&session).await?;
        child.cancel().await?;
        assert_eq!(session.finish(&turn).await?, "end_turn");
        ensure_told(stage, &session.id)?;
        child.until_dead().await?;
        // It is nothing that anybody said, live or in the history.
        session.turn(&Script::new().step(say("I see.")).prompt("and?")).await?;
        ensure_told(stage, &session.id)?;
        client
            .call("resume", json!({"sessionId": session.id, "cwd": stage.home.workspace(), "replay": true}))
            .await?;
        let said = |it: &Seen| {
            let updates = it.updates(&session.id, 0).map(|(_, it)| it);
            updates.filter(|it| it.to_string().contains("was interrupted by the user")).count()
        };
        assert_eq!(client.look(said), 0, "it is shown");
        session.at_rest().await?;
        child.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Deleting a session ends its subagents first, and verified, and they are gone with it.
async fn deleted_with_their_session(stage: &Stage, tools: &str) -> anyhow::Result<()> {
    let client = stage.client(Casting::v2()).await?;
    let session = stage.open(&client).await?;
    let child = Script::new()
        .step(exec(format!("trap '' TERM INT HUP; {}", forever("left"))).id("left").yield_ms(300))
        .step(exec(forever("waited")).id("waited").yield_ms(600_000))
        .step(say("never said"));
    session.turn(&Script::new().step(spawn(tools, &child)).step(say("root leaves")).prompt("spawn")).await?;
    let child = subagent(&client, &session).await?;
    child.until_running("waited").await?;
    for (method, archived, n) in [
        ("session/archive", "only", 1),
        ("session/unarchive", "exclude", 1),
        ("session/delete", "exclude", 0),
    ] {
        client.call("request", json!({"method": method, "params": {"sessionId": session.id}})).await?;
        ensure!(live::commands(&child.id).is_empty(), "after {method} its commands live");
        let params = json!({"method": "session/list", "params": {"archived": archived}});
        let list = client.call("request", params).await?;
        assert_eq!(list["sessions"].as_array().map(Vec::len), Some(n), "after {method}: {list}");
    }
    client.end().await?;
    Ok(())
}

fn spawn_named(name: &str, child: &Script) -> Call {
    let args = json!({"task_name": name, "fork_turns": "none", "message": child.prompt("child task")});
    call("spawn_agent", args).namespace("collaboration")
}

/// A fourth subagent takes the place of the one that rests longest: its command ends without a word of Codex's.
#[tokio::test]
async fn unloaded_because_there_are_too_many() {
    play_with(newer, async |stage| {
        let client = stage.client(Casting::v2()).await?;
        let session = stage.open(&client).await?;
        let child = Script::new().step(exec(forever("dev")).id("dev").yield_ms(300)).step(say("left it"));
        session.turn(&Script::new().step(spawn_named("first", &child)).step(say("ok")).prompt("go")).await?;
        let first = subagent(&client, &session).await?;
        first.update("end of its turn", 0, |it| is_end(it).then_some(())).await?;
        first.until_listed(&["dev"]).await?;
        for (name, n) in [("second", 2), ("third", 3), ("fourth", 4)] {
            let child = Script::new().step(say(name));
            session.turn(&Script::new().step(spawn_named(name, &child)).step(say("ok")).prompt("go")).await?;
            let all = |it: &Seen| (it.belief.subagents().len() == n).then(|| it.belief.subagents());
            for id in client.wait("another subagent", all).await? {
                let child = Session { client: &client, id };
                child.update("end of its turn", 0, |it| is_end(it).then_some(())).await?;
            }
        }
        first.ended("dev").await?;
        first.until_dead().await?;
        first.until_listed(&[]).await?;
        until_subagents(&session, &[]).await?;
        session.at_rest().await?;
        first.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// With the older tools one too many is refused, and nothing is lost for it.
#[tokio::test]
async fn one_too_many_of_the_older_tools_is_refused() {
    play_with(older, async |stage| {
        let client = stage.client(Casting::v2()).await?;
        let session = stage.open(&client).await?;
        for n in 1..=7 {
            let child = Script::new().step(exec(forever("dev")).id("dev").yield_ms(300)).step(say("left it"));
            let spawn = spawn("multi_agent_v1", &child).id(&format!("spawn-{n}"));
            session.turn(&Script::new().step(spawn).step(say("ok")).prompt("go")).await?;
        }
        for n in 1..=6 {
            assert_eq!(session.final_status(&format!("spawn-{n}")).await?, "completed");
        }
        assert_eq!(session.final_status("spawn-7").await?, "failed");
        let children = client.look(|it| it.belief.subagents());
        assert_eq!(children.len(), 6);
        let children: Vec<_> = children.into_iter().map(|id| Session { client: &client, id }).collect();
        for child in &children {
            child.update("end of its turn", 0, |it| is_end(it).then_some(())).await?;
            child.until_listed(&["dev"]).await?;
        }
        let listed: BTreeSet<String> = client.look(|it| it.belief.listed(&session.id)).into_iter().collect();
        assert_eq!(listed, children.iter().map(|it| format!("subagent:{}", it.id)).collect());
        session.close().await?;
        for child in &children {
            child.until_dead().await?;
        }
        client.end().await?;
        Ok(())
    })
    .await;
}

/// First what ended in the subagent, then its state, then the list of its parent.
async fn killed_with_its_app_server(stage: &Stage, tools: &str) -> anyhow::Result<()> {
    let client = stage.client(Casting::v2()).await?;
    let session = stage.open(&client).await?;
    let child = Script::new()
        .step(exec(forever("left")).id("left").yield_ms(300))
        .step(exec(forever("waited")).id("waited").yield_ms(600_000))
        .step(say("never said"));
    session.turn(&Script::new().step(spawn(tools, &child)).step(say("root leaves")).prompt("spawn")).await?;
    let child = subagent(&client, &session).await?;
    child.until_running("waited").await?;
    kill_app_server(stage)?;
    for id in ["left", "waited"] {
        let ended = child.ended(id).await?;
        ensure!(matches!(ended, Ended::Signal(_) | Ended::Unknown), "{id} ended with {ended:?}");
    }
    let stop = |it: &Value| is_end(it).then(|| it["stopReason"].clone());
    assert_eq!(child.update("end of its turn", 0, stop).await?, "error");
    until_subagents(&session, &[]).await?;
    child.until_dead().await?;
    let turn = session.turn(&Script::new().step(say("Back again.")).prompt("hello?")).await?;
    assert_eq!(session.text(turn.from), "Back again.");
    session.at_rest().await?;
    child.at_rest().await?;
    client.end().await?;
    Ok(())
}

/// A review and a compaction are Codex's own affair: no session, and in nobody's list.
#[tokio::test]
async fn reviews_and_compactions_are_none() {
    play(async |stage| {
        let client = stage.client(Casting::v2()).await?;
        let session = stage.open(&client).await?;
        session.turn(&Script::new().step(say("remember 42")).prompt("go")).await?;
        let git = |args: &[&str]| {
            let run =
                std::process::Command::new("git").args(args).current_dir(stage.home.workspace()).output();
            run.context("git runs").map(drop)
        };
        git(&["init", "-q"])?;
        std::fs::write(stage.home.workspace().join("new.txt"), "new\n")?;
        let found = json!({
            "findings": [], "overall_correctness": "patch is correct",
            "overall_explanation": "All of it is fine.", "overall_confidence_score": 0.9,
        });
        stage.model.push(say(found.to_string()));
        session.turn("/review").await?;
        stage.model.push(say("a summary"));
        session.turn("/compact").await?;
        assert_eq!(client.look(|it| it.belief.subagents()), [""; 0]);
        let lists = session.lists(0);
        ensure!(lists.iter().all(|it| *it == json!([])), "listed: {lists:?}");
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// SDK 2.4.0 knows subagents in version 1, and leaves out what a call refers to them by.
const LEFT_OUT: &str = r#""path":"/update/content"#;

/// A client of version 1 that knows subagents has the same sessions, without lists.
async fn in_version_1(stage: &Stage, tools: &str) -> anyhow::Result<()> {
    let casting = || {
        let capabilities = json!({"subagents": {}, "_meta": {"terminal_output": true}});
        Casting::of(Version::V1)
            .capabilities(capabilities)
            .env("ACP_SDK_ENTRY", "@agentclientprotocol/sdk/unstable")
    };
    let mut client = stage.client(casting()).await?;
    client.expect_fault(LEFT_OUT);
    let session = stage.open(&client).await?;
    let child = Script::new().step(exec(forever("dev")).id("dev").yield_ms(300)).step(say("child left it"));
    session.turn(&Script::new().step(spawn(tools, &child)).step(say("root leaves")).prompt("spawn")).await?;
    let child = subagent(&client, &session).await?;
    let rests = |session: &Session<'_>, child: &str| {
        let is_its = |it: &Value| it["sessionUpdate"] == "subagent_update" && it["sessionId"] == child;
        session.client.look(|it| {
            let states =
                it.updates(&session.id, 0).filter(|(_, it)| is_its(it)).map(|(_, it)| it["state"].clone());
            states.filter(|it| it.is_object()).last()
        })
    };
    let id = child.id.clone();
    let is_idle = move |it: &Value| {
        let is_its = it["sessionUpdate"] == "subagent_update" && it["sessionId"] == id.as_str();
        (is_its && it["state"]["stopReason"] == "end_turn").then_some(())
    };
    session.update("the end of its turn", 0, is_idle).await?;
    ensure!(child.text(0).contains("child left it"), "its message is lost");
    child.until_running("dev").await?;
    let listed = session.turn("/ps").await?;
    ensure!(session.text(listed.from).contains("In subagents"), "/ps does not know of it");
    let refers = client.look(|it| {
        it.updates(&session.id, 0).any(|(_, it)| {
            let content = it["content"].as_array().into_iter().flatten();
            content.clone().any(|it| it["type"] == "session" && it["sessionId"] == child.id.as_str())
        })
    });
    ensure!(refers, "no call refers to it");
    session.turn("/stop dev").await?;
    child.ended("dev").await?;
    child.until_dead().await?;
    session.at_rest().await?;
    let (root_id, child_id) = (session.id.clone(), child.id.clone());
    client.end().await?;

    let mut client = stage.client(casting()).await?;
    client.expect_fault(LEFT_OUT);
    let args = json!({"sessionId": root_id, "cwd": stage.home.workspace(), "replay": true});
    client.call("resume", args).await?;
    let session = Session { client: &client, id: root_id };
    let child = Session { client: &client, id: child_id };
    ensure!(child.text(0).contains("child left it"), "its history is lost");
    assert_eq!(rests(&session, &child.id), Some(json!({"state": "idle"})));
    session.at_rest().await?;
    client.end().await?;
    Ok(())
}

/// A client that knows no subagents is asked in the session at the top about a change of files, and shown it.
#[tokio::test]
async fn a_change_of_files_is_put_in_the_session_at_the_top() {
    let asking =
        |it: testkit::home::Config| older(it).approval_policy("on-request").sandbox_mode("read-only");
    play_with(asking, async |stage| {
        let client = stage.client(Casting::v1()).await?;
        let session = stage.open(&client).await?;
        client.call("answer", json!({"permission": "hold"})).await?;
        let patch = "*** Begin Patch\n*** Add File: new.txt\n+made by a subagent\n*** End Patch";
        // The way of a model that has no tool for it.
        let cmd = format!("apply_patch <<'EOF'\n{patch}\nEOF\n");
        let child = Script::new().step(exec(cmd).id("patch").yield_ms(30_000)).step(say("child is done"));
        session
            .turn(&Script::new().step(spawn("multi_agent_v1", &child)).step(say("left")).prompt("go"))
            .await?;
        let asked = |it: &Seen| {
            let is_ask = |it: &&Value| it["method"] == "session/request_permission";
            it.wire.iter().map(|it| &it.body).find(is_ask).cloned()
        };
        let ask = client.wait("a permission request", asked).await?;
        assert_eq!(ask["params"]["sessionId"], session.id.as_str());
        ensure!(ask.to_string().contains("A subagent asks"), "it does not say who asks: {ask}");
        let call = ask["params"]["toolCall"]["toolCallId"].as_str().context("a call")?.to_owned();
        let shown = |it: &Value| {
            let is_its = it["toolCallId"] == call.as_str() && it["content"][0]["type"] == "diff";
            is_its.then(|| it["content"][0]["newText"].clone())
        };
        assert_eq!(session.update("the change", 0, shown).await?, "made by a subagent\n");
        ensure!(!stage.home.workspace().join("new.txt").exists(), "it did not wait");
        client.call("release", json!({"kind": "allow_once"})).await?;
        stage.file("new.txt").await?;
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Codex takes nothing for the model of a subagent: that of the root is told, which can tell it.
#[tokio::test]
async fn cancelled_under_a_subagent_that_waits() {
    let code = |config: testkit::home::Config| config.model("gpt-6.2-sol");
    play_with(code, async |stage| {
        let client = stage.client(Casting::v2()).await?;
        let session = stage.open(&client).await?;
        let leaf =
            Script::new().step(exec(forever("leaf")).yield_ms(600_000).in_code()).step(say("never said"));
        let wait = || call("wait_agent", json!({"timeout_ms": 600_000})).namespace("collaboration");
        let middle = Script::new().step(spawn("collaboration", &leaf)).step(wait()).step(say("never said"));
        let script =
            Script::new().step(spawn("collaboration", &middle)).step(wait()).step(say("root goes on"));
        let turn = session.prompt(&script.prompt("spawn"));
        let middle = subagent(&client, &session).await?;
        let leaf = subagent(&client, &middle).await?;
        leaf.until_announced(0, 1).await?;
        until_waiting(&middle).await?;
        until_waiting(&session).await?;
        leaf.cancel().await?;
        assert_eq!(session.finish(&turn).await?, "end_turn");
        ensure_told(stage, &session.id)?;
        leaf.until_dead().await?;
        // It waits on, and is ended with its session.
        until_subagents(&session, &[&middle]).await?;
        session.close().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}
