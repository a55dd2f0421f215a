//! Requests about sessions that are cancelled in the moment in which they are made, with the real Codex.

use anyhow::ensure;
use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::model::{Script, exec, say};

use crate::client::Client;
use crate::seen::Dir;
use crate::session::Session;
use crate::stage::{Casting, Stage, forever, play};

in_both_versions!(of_a_session_that_is_not_open, of_an_open_session_with_a_command, of_a_copy_and_of_a_list,);

/// A client whose SDK meets answers to requests that it did not make.
async fn client(stage: &Stage, version: Version) -> anyhow::Result<Client> {
    let mut client = stage.client(Casting::of(version)).await?;
    client.expect_fault("unknown request");
    Ok(client)
}

/// Writes a request and its cancellation at once, past the SDK, and returns the answer.
async fn cancelled(client: &Client, id: &str, method: &str, params: Value) -> anyhow::Result<Value> {
    let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let cancel = json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": id}});
    let text = format!("{request}\n{cancel}\n");
    client.change(|it| {
        it.sent(0.0, request);
        it.sent(0.0, cancel);
    });
    client.call("raw", json!({"text": text})).await?;
    client
        .wait(&format!("answer to {method}"), |it| {
            let answer = it.wire.iter().find(|it| it.dir == Dir::FromAdapter && it.body["id"] == id);
            answer.map(|it| it.body.clone())
        })
        .await
}

fn resume(stage: &Stage, version: Version, id: &str) -> (&'static str, Value) {
    let params = json!({"sessionId": id, "cwd": stage.home.workspace(), "mcpServers": []});
    match version {
        Version::V1 => ("session/load", params),
        Version::V2 => {
            let mut params = params;
            params["replayFrom"] = json!({"type": "start"});
            ("session/resume", params)
        }
    }
}

fn is_cancelled(answer: &Value) -> anyhow::Result<()> {
    ensure!(answer["error"]["code"] == -32800, "it is not cancelled: {answer}");
    Ok(())
}

async fn of_a_session_that_is_not_open(version: Version) {
    play(async |stage| {
        let client = client(stage, version).await?;
        let session = stage.open(&client).await?;
        session.turn(&Script::new().step(say("First.")).prompt("hello")).await?;
        session.close().await?;
        let (method, params) = resume(stage, version, &session.id);
        is_cancelled(&cancelled(&client, "mine-1", method, params).await?)?;
        let error = client.refused("prompt", json!({"sessionId": session.id, "text": "x"})).await?;
        assert_eq!(error["code"], -32002, "it is open: {error}");
        // And it comes back as ever, once.
        let from = client.look(|it| it.wire.len());
        client
            .call("resume", json!({"sessionId": session.id, "cwd": stage.home.workspace(), "replay": true}))
            .await?;
        let session = Session { client: &client, id: session.id.clone() };
        assert_eq!(session.text(from), "First.");
        let turn = session.turn(&Script::new().step(say("Second.")).prompt("more")).await?;
        assert_eq!(session.text(turn.from), "Second.");
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn of_an_open_session_with_a_command(version: Version) {
    play(async |stage| {
        let client = client(stage, version).await?;
        let session = stage.open(&client).await?;
        // It writes when it is told to: a client that asks for a resume while output is on its way to it cannot say
        // which session that belongs to.
        let ticks = "n=0; until [ -e end-dev ]; do if [ -e go-$n ]; then n=$((n + 1)); echo tick $n; fi; sleep 0.02; done";
        let script = Script::new().step(exec(ticks).id("dev").yield_ms(300)).step(say("It runs."));
        session.turn(&script.prompt("serve")).await?;
        session.until_listed(&["dev"]).await?;
        for n in 0..10 {
            stage.signal_file(&format!("go-{n}"))?;
            session.until_output("dev", &format!("tick {}\n", n + 1)).await?;
            let (method, params) = resume(stage, version, &session.id);
            is_cancelled(&cancelled(&client, &format!("mine-{n}"), method, params).await?)?;
        }
        stage.signal_file("go-10")?;
        session.until_output("dev", "tick 11\n").await?;
        session.put_down(stage, "dev").await?;
        session.until_listed(&[]).await?;
        let output = session.output("dev");
        let whole: String = (1..=11).map(|n| format!("tick {n}\n")).collect();
        assert_eq!(output, whole);
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn of_a_copy_and_of_a_list(version: Version) {
    play(async |stage| {
        let client = client(stage, version).await?;
        let session = stage.open(&client).await?;
        let script = Script::new().step(exec(forever("dev")).id("dev").yield_ms(300)).step(say("It runs."));
        session.turn(&script.prompt("serve")).await?;
        let params = json!({"sessionId": session.id, "cwd": stage.home.workspace(), "mcpServers": []});
        is_cancelled(&cancelled(&client, "mine-1", "session/fork", params).await?)?;
        is_cancelled(&cancelled(&client, "mine-2", "session/list", json!({})).await?)?;
        // A copy that Codex has made all the same is deleted in the order of the requests.
        client.call("list", json!({})).await?;
        let list = client.call("list", json!({})).await?;
        let ids: Vec<&Value> =
            list["sessions"].as_array().into_iter().flatten().map(|it| &it["sessionId"]).collect();
        assert_eq!(ids, [session.id.as_str()], "{list}");
        session.until_listed(&["dev"]).await?;
        session.put_down(stage, "dev").await?;
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}
