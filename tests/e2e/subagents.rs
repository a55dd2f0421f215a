//! Subagents of the real Codex, with both sets of its tools: announced, listed, asked for, stopped, closed.

mod lives;
mod restored;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::home::Config;
use testkit::model::{Action, Call, Script, call, exec, say};

use crate::client::Client;
use crate::seen::Seen;
use crate::session::{Ended, Session, is_end};
use crate::stage::{Casting, Stage, forever, play_with};

in_both_tool_sets!(a_command_outlives_both_turns, cancelled_and_then_closed_with_its_parent);

in_both_versions!(of_the_older_tools_in_no_list, of_the_newer_tools_in_no_list, woken_by_a_message);

/// The tools that Codex gives to a model that it does not know.
fn older(config: Config) -> Config {
    config.model("unknown-x")
}

/// Those that it gives where they are asked for.
fn newer(config: Config) -> Config {
    config.model("unknown-x").feature("multi_agent_v2 = true")
}

fn spawn(tools: &str, child: &Script) -> Call {
    let message = child.prompt("child task");
    match tools {
        "multi_agent_v1" => call("spawn_agent", json!({"message": message})).namespace(tools),
        _ => {
            let args = json!({"task_name": "worker", "fork_turns": "none", "message": message});
            call("spawn_agent", args).namespace(tools)
        }
    }
}

/// The session of the only subagent, once it is announced.
async fn subagent<'a>(client: &'a Client, parent: &Session<'_>) -> anyhow::Result<Session<'a>> {
    let pick = |it: &Value| {
        (it["sessionUpdate"] == "subagent_update").then(|| it["sessionId"].as_str().map(str::to_owned))?
    };
    let id = parent.update("announcement of a subagent", 0, pick).await?;
    Ok(Session { client, id })
}

async fn until_subagents(session: &Session<'_>, subagents: &[&Session<'_>]) -> anyhow::Result<()> {
    let wanted: Vec<String> = subagents.iter().map(|it| format!("subagent:{}", it.id)).collect();
    let is_so = |it: &Seen| (it.belief.listed(&session.id) == wanted).then_some(());
    session.client.wait(&format!("the list {wanted:?}"), is_so).await
}

/// A child that leaves a command running, whose parent does not wait for it.
async fn a_command_outlives_both_turns(stage: &Stage, tools: &str) -> anyhow::Result<()> {
    let client = stage.client(Casting::v2()).await?;
    let session = stage.open(&client).await?;
    let child = Script::new().step(exec(forever("dev")).id("dev").yield_ms(300)).step(say("child left it"));
    let script = Script::new().step(spawn(tools, &child)).step(say("root leaves"));
    session.turn(&script.prompt("spawn")).await?;
    let subagent = subagent(&client, &session).await?;
    subagent.update("end of the subagent's turn", 0, |it| is_end(it).then_some(())).await?;
    ensure!(subagent.text(0).contains("child left it"), "its message is lost");
    subagent.until_listed(&["dev"]).await?;
    until_subagents(&session, &[&subagent]).await?;
    subagent.at_rest().await?;
    // Its command is its own, and nobody else's.
    let wrong = client.call("cancelTerminal", json!({"sessionId": session.id, "terminalId": "dev"})).await;
    ensure!(wrong.is_err(), "a terminal of a subagent was stopped under its parent's name");
    subagent.stop("dev").await?;
    assert_eq!(subagent.ended("dev").await?, Ended::Signal("SIGTERM".to_owned()));
    until_subagents(&session, &[]).await?;
    session.at_rest().await?;
    subagent.at_rest().await?;
    client.end().await?;
    Ok(())
}

/// Cancelling a subagent ends what it waits on; closing its parent ends what it left.
async fn cancelled_and_then_closed_with_its_parent(stage: &Stage, tools: &str) -> anyhow::Result<()> {
    let client = stage.client(Casting::v2()).await?;
    let session = stage.open(&client).await?;
    let child = Script::new()
        .step(exec(forever("left")).id("left").yield_ms(300))
        .step(exec(forever("waited")).id("waited").yield_ms(600_000))
        .step(say("never said"));
    let script = Script::new().step(spawn(tools, &child)).step(say("root leaves"));
    session.turn(&script.prompt("spawn")).await?;
    let subagent = subagent(&client, &session).await?;
    subagent.until_running("waited").await?;
    until_subagents(&session, &[&subagent]).await?;
    subagent.cancel().await?;
    let stop = |it: &Value| is_end(it).then(|| it["stopReason"].clone());
    assert_eq!(subagent.update("end of the cancelled turn", 0, stop).await?, "cancelled");
    assert_eq!(subagent.final_status("waited").await?, "cancelled");
    subagent.until_listed(&["left"]).await?;
    until_subagents(&session, &[&subagent]).await?;
    subagent.at_rest().await?;
    session.close().await?;
    subagent.until_dead().await?;
    assert_eq!(subagent.final_status("left").await?, "cancelled");
    client.end().await?;
    Ok(())
}

/// A subagent of a subagent belongs to it, and the close of the root ends all of it.
#[tokio::test]
async fn two_levels_are_closed_together() {
    let code = |config: Config| config.model("gpt-6.2-sol");
    play_with(code, async |stage| {
        let client = stage.client(Casting::v2()).await?;
        let session = stage.open(&client).await?;
        let leaf =
            Script::new().step(exec(forever("leaf")).yield_ms(300).in_code()).step(say("leaf left it"));
        let middle = Script::new().step(spawn("collaboration", &leaf)).step(say("middle leaves"));
        let script = Script::new().step(spawn("collaboration", &middle)).step(say("root leaves"));
        session.turn(&script.prompt("spawn")).await?;
        let middle = subagent(&client, &session).await?;
        let leaf = subagent(&client, &middle).await?;
        let terminal = leaf.until_announced(0, 1).await?.remove(0);
        leaf.until_listed(&[&terminal]).await?;
        until_subagents(&middle, &[&leaf]).await?;
        until_subagents(&session, &[&middle]).await?;
        session.close().await?;
        leaf.until_dead().await?;
        assert_eq!(leaf.final_status(&terminal).await?, "cancelled");
        client.end().await?;
        Ok(())
    })
    .await;
}

/// A client that knows no subagents sees each as a call of its session, and stops it with a word.
#[tokio::test]
async fn shown_as_a_call_and_stopped_by_its_id() {
    play_with(older, async |stage| {
        let client = stage.client(Casting::v1()).await?;
        let session = stage.open(&client).await?;
        let child =
            Script::new().step(exec(forever("dev")).id("dev").yield_ms(300)).step(say("child left it"));
        let script = Script::new().step(spawn("multi_agent_v1", &child)).step(say("root leaves"));
        session.turn(&script.prompt("spawn")).await?;
        let told = |it: &Value| {
            let text = it["content"][0]["content"]["text"].as_str().unwrap_or_default();
            let call = it["toolCallId"].as_str().filter(|it| it.starts_with("subagent-"))?;
            text.contains("child left it").then(|| call.to_owned())
        };
        let call = session.update("what the subagent said", 0, told).await?;
        let listed = session.turn("/ps").await?;
        ensure!(session.text(listed.from).contains("In subagents"), "/ps does not know of it");
        session.turn("/stop dev").await?;
        assert_eq!(session.final_status(&call).await?, "completed");
        let thread = call.strip_prefix("subagent-").context("it names its thread")?;
        Session { client: &client, id: thread.to_owned() }.until_dead().await?;
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Every session of every page.
async fn listed(client: &Client, params: &Value) -> anyhow::Result<Vec<String>> {
    let (mut ids, mut params) = (Vec::new(), params.clone());
    for n_pages in 1.. {
        let args = json!({"method": "session/list", "params": params});
        let page = client.call("request", args).await?;
        let entries = page["sessions"].as_array().into_iter().flatten();
        ids.extend(entries.filter_map(|it| it["sessionId"].as_str().map(str::to_owned)));
        ensure!(n_pages < 10, "pages without an end");
        match page["nextCursor"].as_str() {
            Some(cursor) => params["cursor"] = json!(cursor),
            None => break,
        }
    }
    Ok(ids)
}

/// Neither while they work nor after it, nor of an earlier process, nor archived with their parent.
async fn in_no_list(stage: &Stage, version: Version, tools: &str) -> anyhow::Result<()> {
    let client = stage.client(Casting::of(version)).await?;
    let session = stage.open(&client).await?;
    let child = Script::new().step(exec(forever("dev")).id("dev").yield_ms(300)).step(say("child left it"));
    let script = Script::new().step(spawn(tools, &child)).step(say("root leaves"));
    session.turn(&script.prompt("spawn")).await?;
    // It is there, and has left its command. What it is told holds its words, too.
    let says = |it: &Value| {
        let update = &it["params"]["update"];
        let text = update["content"]["text"].as_str().or(update["content"][0]["content"]["text"].as_str());
        let is_its = update["sessionUpdate"] == "agent_message_chunk" || update["toolCallId"].is_string();
        (is_its && text.is_some_and(|it| it.trim_end().ends_with("child left it"))).then_some(())
    };
    client.wait("the subagent's message", |it| it.wire.iter().find_map(|it| says(&it.body))).await?;
    let other = stage.open(&client).await?;
    other.turn(&Script::new().step(say("Other.")).prompt("hello")).await?;
    let here = json!({"cwd": stage.home.workspace()});
    let both = [other.id.clone(), session.id.clone()];
    for params in [&json!({}), &here, &json!({"archived": "include"})] {
        assert_eq!(listed(&client, params).await?, both, "{params}");
    }
    let id = session.id.clone();
    client.call("request", json!({"method": "session/archive", "params": {"sessionId": id}})).await?;
    session.until_dead().await?;
    client.end().await?;

    let client = stage.client(Casting::of(version)).await?;
    for (params, expected) in [
        (json!({}), &both[..1]),
        (here, &both[..1]),
        (json!({"archived": "only"}), &both[1..]),
        (json!({"archived": "include"}), &both[..]),
    ] {
        assert_eq!(listed(&client, &params).await?, expected, "{params}");
    }
    client.end().await?;
    Ok(())
}

async fn of_the_older_tools_in_no_list(version: Version) {
    play_with(older, async |stage| in_no_list(stage, version, "multi_agent_v1").await).await;
}

async fn of_the_newer_tools_in_no_list(version: Version) {
    play_with(newer, async |stage| in_no_list(stage, version, "collaboration").await).await;
}

/// The end of a subagent wakes its parent where Codex is configured so: a turn without a prompt, and the next prompt works.
async fn woken_by_a_message(version: Version) {
    let waking = |config: Config| newer(config).feature("wake_on_agent_messages = true");
    play_with(waking, async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let child = Script::new().step((Action::gate("child"), say("child result")));
        let script = Script::new()
            .step(spawn("collaboration", &child))
            .step(say("root leaves"))
            .step(say("woken by its result"));
        session.turn(&script.prompt("spawn")).await?;
        stage.model.wait_gate("child").await?;
        let from = client.look(|it| it.wire.len());
        stage.model.open("child");
        let says = |it: &Value| it.to_string().contains("woken by its result").then_some(());
        session.update("the message of the turn that nobody asked for", from, says).await?;
        match version {
            Version::V1 => {
                let text = session.text(from);
                let (before, _) = text.split_once("woken by its result").context("it was said")?;
                let is_announced = before.contains("*Codex goes on without a prompt from here.*");
                ensure!(is_announced, "not announced: {text}");
            }
            Version::V2 => {
                session.update("end of that turn", from, |it| is_end(it).then_some(())).await?;
                let states: Vec<String> = client.look(|it| {
                    let states = it.updates(&session.id, from).filter_map(|(_, it)| it["state"].as_str());
                    states.map(str::to_owned).collect()
                });
                assert!(states.iter().any(|it| it == "running"), "{states:?}");
            }
        }
        session.turn(&Script::new().step(say("Here.")).prompt("still there?")).await?;
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}
