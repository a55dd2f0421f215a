//! Opening, listing, resuming and closing sessions, and their options.

use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::model::{Script, exec, say};

use crate::session::{Ended, Session};
use crate::stage::{Casting, Stage, forever, play};

in_both_versions!(
    listed_and_resumed_by_another_process,
    resumed_while_a_terminal_runs,
    closed_with_running_terminals,
    closed_in_mid_turn,
    options,
    unknown_sessions,
);

async fn resume<'a>(
    stage: &Stage,
    client: &'a crate::client::Client,
    id: &str,
    replay: bool,
) -> anyhow::Result<Session<'a>> {
    let args = json!({"sessionId": id, "cwd": stage.home.workspace(), "replay": replay});
    client.call("resume", args).await?;
    Ok(Session { client, id: id.to_owned() })
}

async fn listed_and_resumed_by_another_process(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let cmd = exec("sleep 0.3; echo built").id("cmd").yield_ms(30_000);
        let script = Script::new().step((say("Building."), cmd)).step(say("Done building."));
        session.turn(&script.prompt("build it")).await?;
        let id = session.id.clone();
        client.end().await?;

        let client = stage.client(Casting::of(version)).await?;
        let list = client.call("list", json!({})).await?;
        let entry =
            list["sessions"].as_array().into_iter().flatten().find(|it| it["sessionId"] == id.as_str());
        let cwd = entry.map(|it| it["cwd"].clone());
        assert_eq!(cwd, Some(json!(stage.home.workspace())), "{list}");

        // With the history.
        let from = client.look(|it| it.wire.len());
        let session = resume(stage, &client, &id, true).await?;
        assert_eq!(session.text(from), "Building.Done building.");
        assert_eq!(session.final_status("cmd").await?, "completed");
        assert_eq!(session.output("cmd"), "built\n");
        assert!(user_text(&session, from).contains("build it"));
        session.until_listed(&[]).await?;
        session.at_rest().await?;
        let turn = session.turn(&Script::new().step(say("Welcome back.")).prompt("hello again")).await?;
        assert_eq!(session.text(turn.from), "Welcome back.");
        session.close().await?;
        client.end().await?;

        // Without.
        let client = stage.client(Casting::of(version)).await?;
        let from = client.look(|it| it.wire.len());
        let session = resume(stage, &client, &id, false).await?;
        assert_eq!(session.text(from), "");
        assert_eq!(user_text(&session, from), "");
        let turn = session.turn(&Script::new().step(say("Once more.")).prompt("and again")).await?;
        assert_eq!(session.text(turn.from), "Once more.");
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

fn user_text(session: &Session<'_>, from: usize) -> String {
    session.client.look(|it| {
        let mut text = String::new();
        for (_, update) in it.updates(&session.id, from) {
            match update["sessionUpdate"].as_str() {
                Some("user_message_chunk") => text += update["content"]["text"].as_str().unwrap_or_default(),
                Some("user_message") => text += &update["content"].to_string(),
                _ => {}
            }
        }
        text
    })
}

/// What runs is announced again and listed, whether or not the history is replayed.
async fn resumed_while_a_terminal_runs(version: Version) {
    for replay in [false, true] {
        play(async |stage| {
            let client = stage.client(Casting::of(version)).await?;
            let session = stage.open(&client).await?;
            let script =
                Script::new().step(exec(forever("dev")).id("dev").yield_ms(300)).step(say("It runs."));
            session.turn(&script.prompt("serve")).await?;
            session.until_listed(&["dev"]).await?;
            let session = resume(stage, &client, &session.id, replay).await?;
            session.until_listed(&["dev"]).await?;
            session.at_rest().await?;
            session.put_down(stage, "dev").await?;
            session.until_listed(&[]).await?;
            session.at_rest().await?;
            client.end().await?;
            Ok(())
        })
        .await;
    }
}

async fn closed_with_running_terminals(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let stubborn = format!("trap '' TERM INT HUP; {}", forever("stubborn"));
        let calls = [
            exec(forever("plain")).id("plain").yield_ms(300),
            exec(stubborn).id("stubborn").yield_ms(300),
            exec("sleep 1000 & sleep 1000").id("parent").yield_ms(300),
        ];
        session.turn(&Script::new().step(calls).step(say("They run.")).prompt("go")).await?;
        session.until_listed(&["parent", "plain", "stubborn"]).await?;
        session.close().await?;
        session.until_dead().await?;
        // Closing again, or what never was, succeeds.
        session.close().await?;
        // Another session of the same client works on.
        let other = stage.open(&client).await?;
        let turn = other.turn(&Script::new().step(say("Here.")).prompt("hello")).await?;
        assert_eq!(other.text(turn.from), "Here.");
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn closed_in_mid_turn(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let cmd = format!("touch up; {}", forever("build"));
        let script = Script::new().step(exec(cmd).id("build").yield_ms(30_000)).step(say("never said"));
        let turn = session.prompt(&script.prompt("build"));
        stage.file("up").await?;
        session.until_running("build").await?;
        session.close().await?;
        // The turn ended as a cancelled one, before the close was answered.
        assert_eq!(session.finish(&turn).await?, "cancelled");
        session.until_dead().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn options(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let opened = client.call("new", json!({"cwd": stage.home.workspace()})).await?;
        let id = opened["sessionId"].as_str().unwrap_or_default().to_owned();
        let session = Session { client: &client, id };
        let key = match version {
            Version::V1 => "id",
            Version::V2 => "configId",
        };
        for name in ["model", "effort", "mode"] {
            let all = opened["configOptions"].as_array().cloned().unwrap_or_default();
            let option = all.iter().find(|it| it[key] == name).cloned().unwrap_or_default();
            let current = &option["currentValue"];
            let values = option["options"].as_array().cloned().unwrap_or_default();
            let other = values.iter().map(|it| &it["value"]).find(|it| *it != current);
            let Some(other) = other else { anyhow::bail!("no other {name} than {current} in {option}") };
            let args = json!({"sessionId": session.id, "configId": name, "value": other});
            let set = client.call("setOption", args).await?;
            assert_eq!(value_of(&set, key, name), *other, "{name}");
        }
        let turn = session.turn(&Script::new().step(say("Set.")).prompt("hello")).await?;
        assert_eq!(session.text(turn.from), "Set.");

        for (name, value) in [("no such option", json!("x")), ("model", json!("no such model"))] {
            let args = json!({"sessionId": session.id, "configId": name, "value": value});
            assert_eq!(client.refused("setOption", args).await?["code"], -32602, "{name}");
        }
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

fn value_of(answer: &Value, key: &str, name: &str) -> Value {
    let options = answer["configOptions"].as_array().cloned().unwrap_or_default();
    options.iter().find(|it| it[key] == name).map(|it| it["currentValue"].clone()).unwrap_or_default()
}

async fn unknown_sessions(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let id = "01a00000-0000-7000-8000-000000000000";
        let error = client.refused("prompt", json!({"sessionId": id, "text": "hello"})).await?;
        assert_eq!((&error["code"], &error["data"]["sessionId"]), (&json!(-32002), &json!(id)));
        let args = json!({"sessionId": id, "cwd": stage.home.workspace()});
        let error = client.refused("resume", args).await?;
        assert_eq!(error["code"], -32002, "{error}");
        let error = client.refused("new", json!({"cwd": "not/absolute"})).await?;
        assert_eq!(error["code"], -32602);

        let session = stage.open(&client).await?;
        let script = Script::new().step(exec("exit 0").id("gone").yield_ms(30_000)).step(say("done"));
        session.turn(&script.prompt("run")).await?;
        assert_eq!(session.ended("gone").await?, Ended::Code(0));
        if version == Version::V2 {
            for terminal in ["gone", "never was"] {
                let params = json!({"sessionId": session.id, "terminalId": terminal});
                let args = json!({"method": "terminal/cancel", "params": params});
                assert_eq!(client.refused("request", args).await?["code"], -32602, "{terminal}");
            }
        }
        client.end().await?;
        Ok(())
    })
    .await;
}
