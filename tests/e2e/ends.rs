//! Every way in which a part of it can end, and that nothing is left behind.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::model::{Script, call, exec, say};
use testkit::processes::{self, Census, Signal};

use crate::seen::Seen;
use crate::session::{Ended, Session, is_end};
use crate::stage::{Casting, Stage, forever, play, play_with};

in_both_versions!(
    client_gone_while_idle,
    client_gone_with_terminals,
    client_gone_in_mid_turn,
    client_gone_with_what_took_its_marks_off,
    client_gone_with_a_subagents_commands,
    closed_with_a_subagents_commands,
    adapter_terminated_twice,
    adapter_terminated,
    adapter_killed,
    app_server_killed_in_a_turn,
    app_server_terminated_in_a_stop,
    app_server_killed_at_idle,
    app_server_killed_before_the_first_prompt,
    app_server_killed_before_held_prompts,
    no_codex,
    a_configuration_that_codex_refuses,
);

/// A session with one command in the background, id `dev`.
async fn with_terminal(session: &Session<'_>) -> anyhow::Result<()> {
    let script = Script::new().step(exec(forever("dev")).id("dev").yield_ms(300)).step(say("It runs."));
    session.turn(&script.prompt("serve")).await?;
    session.until_listed(&["dev"]).await
}

async fn client_gone_while_idle(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        session.turn(&Script::new().step(say("Hi.")).prompt("hello")).await?;
        let exit = client.end().await?;
        assert_eq!((exit.code, exit.signal), (Some(0), Value::Null));
        assert_eq!(exit.remarks, Vec::<String>::new(), "a leave is no accident");
        Ok(())
    })
    .await;
}

async fn client_gone_with_terminals(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let stubborn = format!("trap '' TERM INT HUP; {}", forever("stubborn"));
        let calls = [
            exec("setsid sleep 1000 & sleep 1000").id("parent").yield_ms(300),
            exec(stubborn).id("stubborn").yield_ms(300),
        ];
        session.turn(&Script::new().step(calls).step(say("They run.")).prompt("go")).await?;
        session.until_listed(&["parent", "stubborn"]).await?;
        let id = session.id.clone();
        let exit = client.end().await?;
        assert_eq!(exit.code, Some(0));
        crate::live::until_none(&id).await?;
        Ok(())
    })
    .await;
}

async fn client_gone_in_mid_turn(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let cmd = format!("touch up; {}", forever("build"));
        let script = Script::new().step(exec(cmd).id("build").yield_ms(30_000));
        session.prompt(&script.prompt("build"));
        stage.file("up").await?;
        let id = session.id.clone();
        let exit = client.end().await?;
        assert_eq!(exit.code, Some(0));
        crate::live::until_none(&id).await?;
        Ok(())
    })
    .await;
}

async fn adapter_terminated(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        with_terminal(&session).await?;
        let id = session.id.clone();
        client.signal_adapter(Signal::TERM)?;
        let exit = client.end().await?;
        assert_eq!(exit.code, Some(143), "{exit:?}");
        crate::live::until_none(&id).await?;
        Ok(())
    })
    .await;
}

/// Codex sees the end of its input and ends its groups.
async fn adapter_killed(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        with_terminal(&session).await?;
        client.signal_adapter(Signal::KILL)?;
        let exit = client.end().await?;
        assert_eq!(exit.signal, "SIGKILL");
        Ok(())
    })
    .await;
}

pub(crate) fn kill_app_server(stage: &Stage) -> anyhow::Result<()> {
    signal_app_server(stage, Signal::KILL)
}

fn signal_app_server(stage: &Stage, signal: Signal) -> anyhow::Result<()> {
    let servers = stage.app_servers();
    let [pid] = servers.as_slice() else { anyhow::bail!("app-servers {servers:?}") };
    Ok(processes::signal(*pid, signal)?)
}

async fn works_again(session: &Session<'_>) -> anyhow::Result<()> {
    let turn = session.turn(&Script::new().step(say("Back again.")).prompt("hello?")).await?;
    assert_eq!(session.text(turn.from), "Back again.");
    session.at_rest().await
}

async fn app_server_killed_in_a_turn(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        with_terminal(&session).await?;
        let cmd = format!("touch up; {}", forever("build"));
        let script = Script::new().step(exec(cmd).id("build").yield_ms(30_000));
        let turn = session.prompt(&script.prompt("build"));
        stage.file("up").await?;
        session.until_running("build").await?;
        kill_app_server(stage)?;
        match version {
            // The prompt itself fails.
            Version::V1 => {
                let error = client.outcome(turn.answer).await?.expect_err("the turn was lost");
                assert_eq!(error["code"], -32603, "{error}");
            }
            Version::V2 => {
                let end = |it: &Value| is_end(it).then(|| it["stopReason"].clone());
                assert_eq!(session.update("end of the turn", turn.from, end).await?, "error");
            }
        }
        for id in ["dev", "build"] {
            session.ended(id).await?;
            assert_eq!(session.final_status(id).await?, "failed", "{id}");
        }
        session.until_listed(&[]).await?;
        session.until_dead().await?;
        works_again(&session).await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// While the ladder of a cancel runs: the command ignores the gentle signal.
async fn app_server_terminated_in_a_stop(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let cmd = format!("trap 'touch asked' TERM INT; touch up; {}", forever("build"));
        let script = Script::new().step(exec(cmd).id("build").yield_ms(30_000));
        let turn = session.prompt(&script.prompt("build"));
        stage.file("up").await?;
        session.until_running("build").await?;
        session.cancel().await?;
        stage.file("asked").await?;
        signal_app_server(stage, Signal::TERM)?;
        let ended = session.ended("build").await?;
        assert!(matches!(ended, Ended::Unknown | Ended::Signal(_)), "{ended:?}");
        match version {
            Version::V1 => {
                let answer = client.outcome(turn.answer).await?.expect("a cancelled prompt is no error");
                assert_eq!(answer["stopReason"], "cancelled");
            }
            Version::V2 => {
                let end = |it: &Value| is_end(it).then(|| it["stopReason"].clone());
                assert_eq!(session.update("end of the turn", turn.from, end).await?, "cancelled");
            }
        }
        session.until_dead().await?;
        works_again(&session).await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// The bounds are real here: 15 s of silence, 10 s for the probe, 2.5 s for the end of a process that
/// takes neither the end of its input nor SIGTERM.
#[tokio::test]
async fn an_app_server_that_is_stopped_is_found_out_and_replaced() {
    play(async |stage| {
        let client = stage.client(Casting::v2()).await?;
        let session = stage.open(&client).await?;
        with_terminal(&session).await?;
        let cmd = format!("touch up; {}", forever("build"));
        let script = Script::new().step(exec(cmd).id("build").yield_ms(30_000));
        let turn = session.prompt(&script.prompt("build"));
        stage.file("up").await?;
        session.until_running("build").await?;
        signal_app_server(stage, Signal::STOP)?;
        let start = tokio::time::Instant::now();
        let lost = session.prompt(&Script::new().step(say("Never said.")).prompt("are you there?"));
        let error = client.outcome(lost.answer).await?.expect_err("nobody took it");
        assert!(start.elapsed() >= Duration::from_secs(25), "given up after {:?}", start.elapsed());
        assert!(error.to_string().contains("hung: turn/steer was not answered"), "{error}");
        let end = |it: &Value| is_end(it).then(|| it["stopReason"].clone());
        assert_eq!(session.update("end of the turn", turn.from, end).await?, "error");
        for id in ["dev", "build"] {
            session.ended(id).await?;
        }
        session.until_listed(&[]).await?;
        session.until_dead().await?;
        works_again(&session).await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// A Codex that takes nothing and ends by SIGKILL only does not hold the adapter.
#[tokio::test]
async fn client_gone_while_the_app_server_is_stopped() {
    play(async |stage| {
        let client = stage.client(Casting::v2()).await?;
        let session = stage.open(&client).await?;
        with_terminal(&session).await?;
        signal_app_server(stage, Signal::STOP)?;
        let exit = client.end().await?;
        assert_eq!(exit.code, Some(0));
        Ok(())
    })
    .await;
}

async fn app_server_killed_at_idle(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        with_terminal(&session).await?;
        kill_app_server(stage)?;
        // It may have died with Codex, or by the sweep.
        let ended = session.ended("dev").await?;
        assert!(matches!(ended, Ended::Unknown | Ended::Signal(_)), "{ended:?}");
        session.until_listed(&[]).await?;
        session.until_dead().await?;
        works_again(&session).await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// What Codex had is lost and refused; what it never saw is sent to the next one.
async fn app_server_killed_before_held_prompts(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let cmd = format!("touch up; {}", forever("build"));
        let script = Script::new().step(exec(cmd).id("build").yield_ms(30_000));
        let one = session.prompt(&script.prompt("build"));
        stage.file("up").await?;
        session.until_running("build").await?;
        let two = session.prompt(&Script::new().step(say("two")).prompt("two"));
        let three = session.prompt(&Script::new().step(say("three")).prompt("three"));
        // Its answer says that both are with the adapter: the second steered, the third behind it.
        client.call("list", json!({})).await?;
        kill_app_server(stage)?;
        if version == Version::V1 {
            client.outcome(one.answer).await?.expect_err("the turn was lost");
        }
        client.outcome(two.answer).await?.expect_err("what was steered was lost");
        client.outcome(three.answer).await?.expect("what was held goes on");
        let is_text =
            |it: &Value| it["sessionUpdate"] == "agent_message_chunk" && it["content"]["text"] == "three";
        let text = |it: &Seen| {
            it.updates(&session.id, three.from).find_map(|(at, update)| is_text(update).then_some(at))
        };
        let said = client.wait("text of the third", text).await?;
        if version == Version::V2 {
            session.update("end of the third", said, |update| is_end(update).then_some(())).await?;
        }
        works_again(&session).await?;
        assert!(!session.text(0).contains("two"), "a refused prompt was run");
        client.end().await?;
        Ok(())
    })
    .await;
}

/// `initialize` needs no Codex; the session says what is wrong and what to do.
async fn no_codex(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version).env("CODEX_PATH", "/no/such/codex")).await?;
        let error = client.refused("new", json!({"cwd": stage.home.workspace()})).await?;
        assert_eq!(error["code"], -32603, "{error}");
        assert!(error.to_string().contains("/no/such/codex"), "{error}");
        let exit = client.end().await?;
        assert_eq!(exit.code, Some(0));
        Ok(())
    })
    .await;
}

async fn a_configuration_that_codex_refuses(version: Version) {
    play(async |stage| {
        std::fs::write(stage.home.codex_home().join("config.toml"), "model = [what")?;
        let client = stage.client(Casting::of(version)).await?;
        let error = client.refused("new", json!({"cwd": stage.home.workspace()})).await?;
        assert_eq!(error["code"], -32603, "{error}");
        assert!(error.to_string().contains("config.toml"), "{error}");
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Codex has not saved a thread without a turn: the session goes on all the same, under its id.
async fn app_server_killed_before_the_first_prompt(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let signs = |it: &Seen| it.updates(&session.id, 0).any(|(_, it)| tells_loss(it)).then_some(());
        kill_app_server(stage)?;
        client.wait("word of the loss", signs).await?;
        works_again(&session).await?;
        // What Codex saved under another id is this session to the client.
        let sessions = client.call("list", json!({})).await?;
        let ids: Vec<_> = sessions["sessions"].as_array().into_iter().flatten().collect();
        assert_eq!(ids.iter().map(|it| it["sessionId"].as_str()).collect::<Vec<_>>(), [Some(&*session.id)]);

        with_terminal(&session).await?;
        session.put_down(stage, "dev").await?;
        session.until_listed(&[]).await?;
        session.close().await?;
        client.call("resume", json!({"sessionId": session.id, "cwd": stage.home.workspace()})).await?;
        works_again(&session).await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

fn tells_loss(update: &Value) -> bool {
    update.to_string().contains("the codex app-server ended")
}

/// Commands that take Codex's marks off and leave their session are below no command any more, but
/// never out of our own mark.
async fn client_gone_with_what_took_its_marks_off(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let cmd = "(setsid env -u CODEX_THREAD_ID -u CODEX_TOOL_CALL_ID sh -c \
                   'trap \"\" TERM; touch up; while :; do sleep 0.1; done' >/dev/null 2>&1 &); until [ -e up ]; do sleep 0.05; done";
        session.turn(&Script::new().step(exec(cmd).id("loose")).step(say("Done.")).prompt("go")).await?;
        stage.file("up").await?;
        let exit = client.end().await?;
        assert_eq!(exit.code, Some(0));
        // `play` finds whatever is left.
        Ok(())
    })
    .await;
}

/// A subagent's thread is no session of ours; what it started ends with us all the same.
async fn client_gone_with_a_subagents_commands(version: Version) {
    play_with(
        |config| config.model("unknown-x"),
        async |stage| {
            let client = stage.client(Casting::of(version)).await?;
            let session = stage.open(&client).await?;
            let work = "setsid sleep 1000 & trap '' TERM; touch up; while :; do sleep 0.1; done";
            let child = Script::new().step(exec(work).id("childs").yield_ms(250)).step(say("child done"));
            let spawn =
                call("spawn_agent", json!({"message": child.prompt("work")})).namespace("multi_agent_v1");
            session.turn(&Script::new().step(spawn).step(say("spawned")).prompt("spawn")).await?;
            stage.file("up").await?;
            let exit = client.end().await?;
            assert_eq!(exit.code, Some(0));
            Ok(())
        },
    )
    .await;
}

/// The second signal does not wait, and leaves nothing either.
async fn adapter_terminated_twice(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let cmd = "setsid sh -c 'trap \"\" TERM; while :; do sleep 0.1; done' & \
                   trap 'touch asked' TERM; touch up; while :; do sleep 0.1; done";
        let script = Script::new().step(exec(cmd).id("dev").yield_ms(300)).step(say("It runs."));
        session.turn(&script.prompt("serve")).await?;
        stage.file("up").await?;
        client.signal_adapter(Signal::TERM)?;
        // The first one is at work.
        stage.file("asked").await?;
        client.signal_adapter(Signal::INT)?;
        let exit = client.end().await?;
        assert_eq!(exit.code, Some(130), "{exit:?}");
        Ok(())
    })
    .await;
}

/// D8: a session closes with the subagents that work for it, their turns and their commands.
async fn closed_with_a_subagents_commands(version: Version) {
    play_with(
        |config| config.model("unknown-x"),
        async |stage| {
            let client = stage.client(Casting::of(version)).await?;
            let session = stage.open(&client).await?;
            let work = "setsid sleep 1000 & trap '' TERM; touch up; while :; do sleep 0.1; done";
            let child = Script::new()
                .step(exec(work).id("childs").yield_ms(30_000))
                .step(say("goes on"))
                .prompt("work");
            let spawn = call("spawn_agent", json!({"message": child})).namespace("multi_agent_v1");
            session.turn(&Script::new().step(spawn).step(say("spawned")).prompt("spawn")).await?;
            stage.file("up").await?;
            let n_requests = stage.model.request_count();
            session.close().await?;
            let of_command = Census::new("CODEX_TOOL_CALL_ID", "childs");
            let is_gone = |all: &Vec<_>| !all.iter().any(|it| of_command.take().contains(it));
            let home = Census::new("CODEX_HOME", stage.home.codex_home().display());
            let left = home.wait(testkit::PATIENCE, is_gone).await;
            anyhow::ensure!(left.is_ok(), "the subagent's command outlived the session: {left:?}");
            client.call("list", json!({})).await?;
            assert_eq!(stage.model.request_count(), n_requests, "the subagent went on");
            client.end().await?;
            Ok(())
        },
    )
    .await;
}
