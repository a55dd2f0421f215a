//! `/ps` and `/stop`: answered by the adapter, without the model, between turns and during one.

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::model::{Action, Script, call, exec, found, say};
use testkit::processes::Census;

use crate::seen::Seen;
use crate::session::{Ended, Session, is_end};
use crate::stage::{Casting, GRACE, Stage, forever, play, wait_for};

in_both_versions!(
    shown,
    stopped,
    shown_and_stopped_in_mid_turn,
    left_behind,
    the_model_is_told,
    the_model_is_woken
);

const SERVER: &str = "echo ready on port 1; sleep 1000 & touch up; wait";

/// Starts the background command `web`.
async fn serve(stage: &Stage, session: &Session<'_>, cmd: &str) -> anyhow::Result<()> {
    let exec = exec(cmd).id("web").yield_ms(250);
    session.turn(&Script::new().step(exec).step(say("started")).prompt("start")).await?;
    stage.file("up").await
}

/// What a local prompt is answered with; the model must not hear of it.
async fn local(stage: &Stage, session: &Session<'_>, prompt: &str) -> anyhow::Result<String> {
    let before = stage.model.request_count();
    let turn = session.turn(prompt).await?;
    ensure!(stage.model.request_count() == before, "{prompt} went to the model");
    let texts = session.client.look(|it| {
        let said = it.updates(&session.id, turn.from).filter_map(|(_, update)| said(update));
        said.collect::<Vec<_>>()
    });
    texts.into_iter().last().with_context(|| format!("no answer to {prompt}"))
}

fn said(update: &Value) -> Option<String> {
    match update["sessionUpdate"].as_str()? {
        "agent_message" => update["content"][0]["text"].as_str().map(str::to_owned),
        "agent_message_chunk" => update["content"]["text"].as_str().map(str::to_owned),
        _ => None,
    }
}

async fn shown(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        assert_eq!(local(stage, &session, "/ps").await?, "No command is running.");
        serve(stage, &session, SERVER).await?;
        session.until_output("web", "ready").await?;
        let pid = session.leader("web")?;
        // Until its child is a program of its own, and what made the file is gone.
        let of_two = format!("pid {pid}, 2 processes, ");
        let deadline = tokio::time::Instant::now() + testkit::PATIENCE;
        let shown = loop {
            let shown = local(stage, &session, "/ps").await?;
            if shown.contains(&of_two) || tokio::time::Instant::now() > deadline {
                break shown;
            }
        };
        for part in [
            "**One command is running:**",
            "- **1** `echo ready on port 1; sleep 1000 & touch up; wait`: in the background, for ",
            &of_two,
            " % CPU, ",
            "last line: `ready on port 1`",
        ] {
            ensure!(shown.contains(part), "no {part:?} in {shown}");
        }
        // What a panic of ours would be swept by.
        let environment = std::fs::read(format!("/proc/{pid}/environ"))?;
        let is_marked = environment.split(|byte| *byte == 0).any(|it| it.starts_with(b"APPSERVER_ACP_RUN="));
        ensure!(is_marked, "codex did not pass our mark on");
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn stopped(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        assert_eq!(local(stage, &session, "/stop").await?, "Nothing is running.");
        serve(stage, &session, SERVER).await?;
        let answer = local(stage, &session, "/stop").await?;
        ensure!(answer.starts_with("Stopping **1** `echo ready on port 1;"), "{answer}");
        assert_eq!(session.ended("web").await?, Ended::Signal("SIGTERM".to_owned()));
        session.until_dead().await?;
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// The turn goes on when the command that it waits on is stopped, and says so itself.
async fn shown_and_stopped_in_mid_turn(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        serve(stage, &session, SERVER).await?;
        let cmd = format!("touch waits; {}", wait_for("never"));
        let script = Script::new()
            .step(exec(cmd).id("waited").yield_ms(30_000))
            .step(Action::gate("hold"))
            .step(say("went on"));
        let turn = session.prompt(&script.prompt("wait"));
        stage.file("waits").await?;
        session.until_running("waited").await?;
        let from = client.look(|it| it.wire.len());
        let answered = |text: &'static str| {
            session.update(text, from, move |update| said(update).filter(|said| said.contains(text)))
        };
        let shown = session.prompt("/ps");
        answered("**2 commands are running:**").await?;
        let text =
            answered("- **2** `touch waits; until [ -e never ]; do sleep 0.05; done`: the turn waits on it")
                .await?;
        ensure!(text.contains("- **1** `echo ready on port 1;"), "{text}");
        client.outcome(shown.answer).await?.map_err(|error| anyhow::anyhow!("{error}"))?;
        let stop = session.prompt("/stop 2");
        client.outcome(stop.answer).await?.map_err(|error| anyhow::anyhow!("{error}"))?;
        assert_eq!(session.ended("waited").await?, Ended::Signal("SIGTERM".to_owned()));
        stage.model.open("hold");
        assert_eq!(session.finish(&turn).await?, "end_turn");
        session.until_running("web").await?;
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// D6: a command may end by itself and leave processes; they are shown, and can be stopped.
async fn left_behind(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let cmd = format!("setsid sleep 1000 >/dev/null 2>&1 & touch up; {}", wait_for("go"));
        serve(stage, &session, &cmd).await?;
        stage.signal_file("go")?;
        assert_eq!(session.ended("web").await?, Ended::Code(0));
        let left = Census::of_env("CODEX_THREAD_ID", &session.id);
        assert_eq!(left.len(), 1, "{left:?}");
        let shown = local(stage, &session, "/ps").await?;
        ensure!(shown.contains("**Left running by commands that ended:**"), "{shown}");
        ensure!(shown.contains("- **1** `sleep 1000`: for "), "{shown}");
        ensure!(shown.contains(&format!("pid {}", left[0].pid)), "{shown}");
        let answer = local(stage, &session, "/stop 1").await?;
        ensure!(answer.starts_with("Stopping **1** `sleep 1000`"), "{answer}");
        session.until_dead().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// D14: with the next prompt, beside the user's text.
async fn the_model_is_told(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        serve(stage, &session, SERVER).await?;
        local(stage, &session, "/stop 1").await?;
        session.ended("web").await?;
        session.turn(&Script::new().step(say("I see")).prompt("what now?")).await?;
        session.turn(&Script::new().step(say("still")).prompt("and now?")).await?;
        let requests = stage.model.requests();
        let told: Vec<usize> = requests
            .iter()
            .map(|request| {
                request.body["input"].to_string().matches("was stopped by the user: ended by SIGTERM").count()
            })
            .collect();
        ensure!(told.ends_with(&[0, 1, 1]), "told so often in each request: {told:?}");
        let shown =
            client.look(|it| it.updates(&session.id, 0).map(|(_, it)| it.to_string()).collect::<String>());
        ensure!(!shown.contains("was stopped by the user"), "the client was shown what the model was told");
        client.end().await?;
        Ok(())
    })
    .await;
}

/// `--stop-grace`, by its variable: what ignores the request is ended as soon as that says.
#[tokio::test]
async fn a_grace_of_nothing_is_none() {
    play(async |stage| {
        let casting = Casting::v2().env(GRACE, "0");
        let client = stage.client(casting).await?;
        let session = stage.open(&client).await?;
        serve(stage, &session, "trap '' TERM; touch up; while :; do sleep 0.1; done").await?;
        let answer = local(stage, &session, "/stop").await?;
        ensure!(answer.ends_with("it is killed if it does not end at once."), "{answer}");
        assert_eq!(session.ended("web").await?, Ended::Signal("SIGKILL".to_owned()));
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// What the model itself saw end does not wake it; ends that come together wake it once.
#[tokio::test]
async fn the_model_is_woken_for_what_it_does_not_know_and_once() {
    play(async |stage| {
        let client = stage.client(Casting::v2()).await?;
        let session = stage.open(&client).await?;
        let wake = json!({"sessionId": session.id, "configId": "wake", "value": "on"});
        client.call("setOption", wake).await?;
        // It asks for the output until the end.
        let process = found(r"session ID (\d+)");
        let poll = call("write_stdin", json!({"session_id": process, "chars": "", "yield_time_ms": 20_000}));
        let watched = exec(format!("touch up; {}", wait_for("go"))).id("watched").yield_ms(250);
        let script = Script::new().step(watched).step(poll).step(say("it ended"));
        let turn = session.prompt(&script.prompt("watch"));
        session.until_listed(&["watched"]).await?;
        stage.model.wait_requests(2).await?;
        stage.signal_file("go")?;
        assert_eq!(session.finish(&turn).await?, "end_turn");
        let before = stage.model.request_count();
        // Two that end together.
        let two = ["a", "b"].map(|id| exec(format!("touch {id}; {}", wait_for("both"))).id(id).yield_ms(250));
        session.turn(&Script::new().step(two).step(say("two")).prompt("two")).await?;
        ensure!(stage.model.request_count() == before + 2, "the end that the model saw woke it");
        // While a turn runs nothing wakes: by its end both have ended, however far apart.
        let hold = session.prompt(&Script::new().step((Action::gate("hold"), say("held"))).prompt("hold"));
        stage.model.wait_gate("hold").await?;
        stage.model.push(say("both ended"));
        stage.signal_file("both")?;
        for id in ["a", "b"] {
            session.ended(id).await?;
        }
        stage.model.open("hold");
        assert_eq!(session.finish(&hold).await?, "end_turn");
        let woken = |it: &Seen| {
            let n_ends = it.updates(&session.id, hold.from).filter(|(_, update)| is_end(update)).count();
            (n_ends >= 2).then_some(())
        };
        client.wait("the woken turn", woken).await?;
        let heard = stage.model.requests()[before + 3].body["input"].to_string();
        ensure!(heard.matches("ended by itself: exit code 0.").count() == 2, "the model heard {heard}");
        session.at_rest().await?;
        ensure!(stage.model.request_count() == before + 4, "woken more than once");
        client.end().await?;
        Ok(())
    })
    .await;
}

/// A model that starts something short each time that it is woken is not woken for ever.
#[tokio::test]
async fn the_model_is_not_woken_for_ever() {
    play(async |stage| {
        let client = stage.client(Casting::v2()).await?;
        let session = stage.open(&client).await?;
        let wake = json!({"sessionId": session.id, "configId": "wake", "value": "on"});
        client.call("setOption", wake).await?;
        for n in 0..8 {
            let id = format!("again-{n}");
            stage.model.push(exec(forever(&id)).id(&id).yield_ms(250));
            stage.model.push(say("and again"));
        }
        session.turn("begin").await?;
        // One of the prompt, and one of each woken turn.
        for n in 0..6 {
            let id = format!("again-{n}");
            session.until_listed(&[&id]).await?;
            stage.signal_file(&format!("end-{id}"))?;
            session.ended(&id).await?;
        }
        let is_told = |update: &Value| {
            update["title"].as_str().is_some_and(|title| title.contains("5 times")).then_some(())
        };
        session.update("the end of it", 0, is_told).await?;
        session.at_rest().await?;
        assert_eq!(stage.model.request_count(), 12, "two of the prompt, two of each woken turn");
        client.end().await?;
        Ok(())
    })
    .await;
}

/// D14: an option of the session, off by default.
async fn the_model_is_woken(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let wake = json!({"sessionId": session.id, "configId": "wake", "value": "on"});
        client.call("setOption", wake).await?;
        serve(stage, &session, &format!("touch up; {}; exit 3", wait_for("go"))).await?;
        let before = stage.model.request_count();
        let from = client.look(|it| it.wire.len());
        stage.model.push(say("I saw it end"));
        stage.signal_file("go")?;
        assert_eq!(session.ended("web").await?, Ended::Code(3));
        let woken = |update: &Value| said(update).filter(|said| said.contains("I saw it end"));
        session.update("the woken model", from, woken).await?;
        if version == Version::V2 {
            session.update("end of the turn", from, |update| is_end(update).then_some(())).await?;
        }
        let requests = stage.model.requests();
        ensure!(requests.len() == before + 1, "woken more than once: {} requests", requests.len() - before);
        let heard = requests[before].body["input"].to_string();
        ensure!(heard.contains("ended by itself: exit code 3."), "the model heard {heard}");
        let is_user =
            |update: &Value| update["sessionUpdate"].as_str().is_some_and(|it| it.starts_with("user"));
        let users = client.look(|it| it.updates(&session.id, from).filter(|(_, it)| is_user(it)).count());
        ensure!(users == 0, "a message of the user that nobody wrote");
        // What the user stops does not wake it.
        serve(stage, &session, SERVER).await?;
        let before = stage.model.request_count();
        local(stage, &session, "/stop").await?;
        session.until_listed(&[]).await?;
        session.at_rest().await?;
        ensure!(stage.model.request_count() == before, "the user's own stop woke the model");
        client.end().await?;
        Ok(())
    })
    .await;
}
