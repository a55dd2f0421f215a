//! What is in the foreground, what is in the background, and when the one becomes the other.

use serde_json::json;
use testkit::belief::Version;
use testkit::model::{Action, Script, exec, exec_code, say};

use crate::session::Ended;
use crate::stage::{Casting, forever, play, play_with, wait_for};

in_both_versions!(
    foreground_is_never_listed,
    detached_while_the_turn_goes_on,
    several_terminals,
    code_mode,
    sixty_four_terminals,
    two_sessions_at_once,
    the_model_fails,
);

async fn foreground_is_never_listed(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let cmd = format!("echo begin; touch up; {}; echo end", wait_for("go"));
        let script = Script::new().step(exec(cmd).id("cmd").yield_ms(30_000)).step(say("done"));
        let turn = session.prompt(&script.prompt("run"));
        stage.file("up").await?;
        session.until_running("cmd").await?;
        stage.signal_file("go")?;
        assert_eq!(session.finish(&turn).await?, "end_turn");
        assert_eq!(session.ended("cmd").await?, Ended::Code(0));
        assert_eq!(session.final_status("cmd").await?, "completed");
        assert_eq!(session.output("cmd"), "begin\nend\n");
        assert_eq!(session.text(turn.from), "done");
        for list in session.lists(turn.from) {
            assert_eq!(list, json!([]));
        }
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn detached_while_the_turn_goes_on(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let step = (say("It runs, going on."), Action::gate("more"), say(" Done."));
        let script = Script::new().step(exec(forever("dev")).id("dev").yield_ms(300)).step(step);
        let turn = session.prompt(&script.prompt("go"));
        stage.model.wait_gate("more").await?;
        // The turn is not over: nobody opened the gate.
        session.until_listed(&["dev"]).await?;
        if version == Version::V2 {
            let state = client.look(|it| {
                let states = it.updates(&session.id, turn.from);
                states
                    .filter(|(_, it)| it["sessionUpdate"] == "state_update")
                    .last()
                    .map(|(_, it)| it.clone())
            });
            assert_eq!(state.map(|it| it["state"].clone()), Some(json!("running")));
        }
        // Its end leaves the turn alone.
        session.put_down(stage, "dev").await?;
        session.until_listed(&[]).await?;
        stage.model.open("more");
        assert_eq!(session.finish(&turn).await?, "end_turn");
        assert!(session.text(turn.from).contains("Done."));
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn several_terminals(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let run = |id: &str| exec(format!("echo I am {id}; {}", forever(id))).id(id).yield_ms(300);
        let script = Script::new().step([run("a"), run("b"), run("c")]).step(say("all run"));
        session.turn(&script.prompt("go")).await?;
        session.until_listed(&["a", "b", "c"]).await?;
        stage.signal_file("end-b")?;
        assert_eq!(session.ended("b").await?, Ended::Code(0));
        session.until_listed(&["a", "c"]).await?;
        session.put_down(stage, "a").await?;
        session.until_listed(&["c"]).await?;
        session.at_rest().await?;
        stage.signal_file("end-c")?;
        assert_eq!(session.ended("c").await?, Ended::Code(0));
        session.until_listed(&[]).await?;
        for id in ["b", "c"] {
            assert_eq!(session.output(id), format!("I am {id}\n"));
        }
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn code_mode(version: Version) {
    play_with(
        |config| config.model("gpt-6.2-sol"),
        async |stage| {
            let client = stage.client(Casting::of(version)).await?;
            let session = stage.open(&client).await?;
            let cmd = format!("echo begin; {}; echo end", wait_for("go"));
            let script = Script::new().step(exec(cmd).yield_ms(300).in_code()).step(say("It runs."));
            let turn = session.turn(&script.prompt("go")).await?;
            let ids = session.until_announced(turn.from, 1).await?;
            let [id] = ids.as_slice() else { anyhow::bail!("terminals {ids:?}") };
            session.until_listed(&[id]).await?;
            session.at_rest().await?;
            stage.signal_file("go")?;
            assert_eq!(session.ended(id).await?, Ended::Code(0));
            // Whatever was written before Codex began to listen comes with the exit at the latest.
            assert_eq!(session.output(id), "begin\nend\n");
            session.until_listed(&[]).await?;
            session.at_rest().await?;
            client.end().await?;
            Ok(())
        },
    )
    .await;
}

async fn sixty_four_terminals(version: Version) {
    play_with(
        |config| config.model("gpt-6.2-sol"),
        async |stage| {
            let client = stage.client(Casting::of(version)).await?;
            let session = stage.open(&client).await?;
            let js = r#"const all = Array.from({length: 64}, (_, i) =>
                tools.exec_command({cmd: `echo ${i}; sleep 1000`, yield_time_ms: 250}));
                text((await Promise.all(all)).length);"#;
            let script = Script::new().step(exec_code(js)).step(say("64 run"));
            let turn = session.turn(&script.prompt("go")).await?;
            let ids = session.until_announced(turn.from, 64).await?;
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            assert_eq!(ids.len(), 64);
            session.until_listed(&ids).await?;
            session.at_rest().await?;
            session.close().await?;
            session.until_dead().await?;
            client.end().await?;
            Ok(())
        },
    )
    .await;
}

async fn two_sessions_at_once(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let one = stage.open(&client).await?;
        let two = stage.open(&client).await?;
        let script = |id: &str, gate: &str| {
            let run = exec(forever(id)).id(id).yield_ms(300);
            Script::new().step(run).step((Action::gate(gate), say(id))).prompt("go")
        };
        let first = one.prompt(&script("of-one", "one"));
        let second = two.prompt(&script("of-two", "two"));
        stage.model.wait_gate("one").await?;
        stage.model.wait_gate("two").await?;
        one.until_listed(&["of-one"]).await?;
        two.until_listed(&["of-two"]).await?;
        // The second turn ends while the first still runs.
        stage.model.open("two");
        assert_eq!(two.finish(&second).await?, "end_turn");
        assert_eq!(two.text(second.from), "of-two");
        two.put_down(stage, "of-two").await?;
        two.until_listed(&[]).await?;
        one.until_listed(&["of-one"]).await?;
        stage.model.open("one");
        assert_eq!(one.finish(&first).await?, "end_turn");
        assert_eq!(one.text(first.from), "of-one");
        one.at_rest().await?;
        two.at_rest().await?;
        // A terminal of the other session is not for cancelling.
        if version == Version::V2 {
            let params = json!({"sessionId": two.id, "terminalId": "of-one"});
            let error =
                client.refused("request", json!({"method": "terminal/cancel", "params": params})).await?;
            assert_eq!(error["code"], -32602);
        }
        one.close().await?;
        one.until_dead().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn the_model_fails(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let script = Script::new().step(exec(forever("dev")).id("dev").yield_ms(300)).step(Action::http(500));
        let turn = session.prompt(&script.prompt("go"));
        match version {
            Version::V1 => {
                let error = client.outcome(turn.answer).await?.expect_err("the turn fails");
                assert_eq!(error["code"], -32603, "{error}");
            }
            Version::V2 => assert_eq!(session.finish(&turn).await?, "error"),
        }
        // What runs in the background survives it.
        session.until_listed(&["dev"]).await?;
        session.at_rest().await?;
        let after = session.turn(&Script::new().step(say("Again.")).prompt("and now?")).await?;
        assert_eq!(session.text(after.from), "Again.");
        session.put_down(stage, "dev").await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// A prompt during a turn goes into that turn.
#[tokio::test]
async fn a_second_prompt_joins_the_turn() {
    play(async |stage| {
        let client = stage.client(Casting::v2()).await?;
        let session = stage.open(&client).await?;
        let cmd = format!("touch up; {}", wait_for("go"));
        let script = Script::new().step(exec(cmd).id("cmd").yield_ms(30_000)).step(say("Both done."));
        let first = session.prompt(&script.prompt("first"));
        stage.file("up").await?;
        let second = session.prompt("second thoughts");
        let answer = client.outcome(second.answer);
        stage.signal_file("go")?;
        let answer = answer.await?.map_err(|error| anyhow::anyhow!("{error}"))?;
        assert_eq!(session.finish(&first).await?, "end_turn");
        let shown = |it: &serde_json::Value| {
            (it["sessionUpdate"] == "user_message" && it["messageId"] == answer["messageId"]).then_some(())
        };
        session.update("second message", second.from, shown).await?;
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}
