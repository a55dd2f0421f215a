//! An app-server that already runs: shared with other clients, lost and found again, and left alive.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::home::Config;
use testkit::model::{Script, exec, say};
use testkit::processes::{self, Signal};

use crate::client::Client;
use crate::live;
use crate::server::{Listen, Server, Wire};
use crate::session::{Ended, Session, is_end};
use crate::stage::{Casting, Stage, forever, play, play_with, wait_for};

in_both_versions!(
    the_main_job,
    the_main_job_over_a_port,
    a_client_that_goes_leaves_everything_alive,
    a_terminated_adapter_leaves_everything_alive,
    an_idle_thread_is_joined_as_it_is,
    a_turn_is_shared,
    an_approval_is_answered_by_the_other,
    closed_by_one,
    closed_in_mid_turn,
    killed_and_started_again,
    killed_in_a_turn,
    a_prompt_finds_it_again,
    cut_off_in_a_turn_that_goes_on,
    cut_off_from_a_turn_that_ends,
    much_output,
    nobody_there,
);

async fn resume<'a>(stage: &Stage, client: &'a Client, id: &str) -> anyhow::Result<Session<'a>> {
    client.call("resume", json!({"sessionId": id, "cwd": stage.home.workspace(), "replay": false})).await?;
    Ok(Session { client, id: id.to_owned() })
}

fn dev() -> Script {
    Script::new().step(exec(forever("dev")).id("dev").yield_ms(300)).step(say("It runs."))
}

async fn the_main_job(version: Version) {
    main_job(version, Listen::Unix).await;
}

async fn the_main_job_over_a_port(version: Version) {
    main_job(version, Listen::Port).await;
}

async fn main_job(version: Version, listen: Listen) {
    play(async |stage| {
        let mut server = Server::start(stage, listen).await?;
        let trace = stage.home.workspace().join("trace.jsonl");
        let casting = Casting::of(version).env("APPSERVER_ACP_TRACE", &trace);
        let client = stage.client(server.casting(casting)).await?;
        let session = stage.open(&client).await?;
        let turn = session.turn(&dev().prompt("serve")).await?;
        assert_eq!(session.text(turn.from), "It runs.");
        session.until_listed(&["dev"]).await?;
        session.at_rest().await?;
        assert_eq!(stage.app_servers(), [server.pid()], "no other was started");
        let status = session.turn("/status").await?;
        let shown = format!("connected to `{}`", server.address);
        session
            .update("where it is", status.from, |it| it.to_string().contains(&shown).then_some(()))
            .await?;
        // Gently, so that its processes were found.
        session.put_down(stage, "dev").await?;
        session.until_listed(&[]).await?;
        session.at_rest().await?;
        session.close().await?;
        assert_eq!(client.end().await?.code, Some(0));
        assert!(server.lives());
        replays(&trace).await?;
        let doctor = stage.adapter().args(["doctor", "--connect", &server.address]).output().await?;
        let found = String::from_utf8_lossy(&doctor.stdout).into_owned();
        assert!(
            found.contains(&format!("ok    connect     {}, process {}", server.address, server.pid())),
            "{found}"
        );
        assert!(found.contains("ok    version     codex "), "{found}");
        server.end().await
    })
    .await;
}

/// Running the trace again gives the same.
async fn replays(trace: &Path) -> anyhow::Result<()> {
    let run =
        tokio::process::Command::new(env!("CARGO_BIN_EXE_appserver-acp")).arg("replay").arg(trace).output();
    let run = run.await?;
    anyhow::ensure!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
    Ok(())
}

async fn a_client_that_goes_leaves_everything_alive(version: Version) {
    gone_and_back(version, async |client| client.end().await.map(|exit| exit.code)).await;
}

async fn a_terminated_adapter_leaves_everything_alive(version: Version) {
    gone_and_back(version, async |client| {
        client.signal_adapter(Signal::TERM)?;
        Ok(client.end().await?.code.map(|code| code - 143))
    })
    .await;
}

async fn gone_and_back(version: Version, go: impl AsyncFnOnce(Client) -> anyhow::Result<Option<i64>>) {
    play(async |stage| {
        let mut server = Server::start(stage, Listen::Unix).await?;
        let client = stage.client(server.casting(Casting::of(version))).await?;
        let session = stage.open(&client).await?;
        session.turn(&dev().prompt("serve")).await?;
        session.until_listed(&["dev"]).await?;
        // A turn under way goes on, too.
        let script =
            Script::new().step(exec(format!("touch up; {}", forever("build"))).id("build").yield_ms(30_000));
        session.prompt(&script.step(say("Built.")).prompt("build"));
        stage.file("up").await?;
        let id = session.id.clone();
        assert_eq!(go(client).await?, Some(0));
        assert!(server.lives());
        assert_eq!(live::commands(&id), BTreeSet::from(["build".to_owned(), "dev".to_owned()]));

        let client = stage.client(server.casting(Casting::of(version))).await?;
        let from = client.look(|it| it.wire.len());
        let session = resume(stage, &client, &id).await?;
        session.until_running("dev").await?;
        stage.signal_file("end-build")?;
        session.update("the end of the turn", from, |it| said(it, "Built.").then_some(())).await?;
        session.until_listed(&["dev"]).await?;
        session.put_down(stage, "dev").await?;
        session.until_listed(&[]).await?;
        session.at_rest().await?;
        client.end().await?;
        server.end().await
    })
    .await;
}

fn said(update: &Value, text: &str) -> bool {
    update["sessionUpdate"] == "agent_message_chunk" && update["content"]["text"] == text
}

/// What the one begins the other sees, steers, and sees the end of.
async fn a_turn_is_shared(version: Version) {
    play(async |stage| {
        let server = Server::start(stage, Listen::Unix).await?;
        let one = stage.client(server.casting(Casting::of(version))).await?;
        let mine = stage.open(&one).await?;
        mine.turn(&Script::new().step(say("Hi.")).prompt("hello")).await?;
        let other = stage.client(server.casting(Casting::v2())).await?;
        let theirs = resume(stage, &other, &mine.id).await?;
        let from = other.look(|it| it.wire.len());

        let cmd = exec(format!("touch up; {}; echo built", wait_for("go"))).id("build").yield_ms(30_000);
        let script = Script::new().step(cmd).step(say("Built."));
        let turn = mine.prompt(&script.prompt("build it"));
        stage.file("up").await?;
        theirs.until_running("build").await?;
        theirs.update("their prompt", from, |it| user_said(it, "build it").then_some(())).await?;
        let running =
            |it: &Value| (it["sessionUpdate"] == "state_update" && it["state"] == "running").then_some(());
        theirs.update("running", from, running).await?;
        // The model answers to the newest message, which this one may be at either of its steps.
        let quick = Script::new().step(say("Built."));
        let steering = theirs.prompt(&quick.prompt("and be quick"));
        let inserted = other.outcome(steering.answer);
        stage.signal_file("go")?;
        assert_eq!(mine.finish(&turn).await?, "end_turn");
        inserted.await?.expect("a prompt that steers is inserted");
        mine.update("what the other said", turn.from, |it| user_said(it, "and be quick").then_some(()))
            .await?;
        theirs.update("the end", from, |it| is_end(it).then_some(())).await?;
        for session in [&mine, &theirs] {
            assert_eq!(session.ended("build").await?, Ended::Code(0));
            assert!(session.text(0).contains("Built."), "{}", session.text(0));
            session.at_rest().await?;
        }
        one.end().await?;
        // The other is not touched by that.
        let turn = theirs.turn(&Script::new().step(say("Still here.")).prompt("and now?")).await?;
        assert_eq!(theirs.text(turn.from), "Still here.");
        other.end().await?;
        server.end().await
    })
    .await;
}

fn user_said(update: &Value, text: &str) -> bool {
    let kind = update["sessionUpdate"].as_str().unwrap_or_default();
    kind.starts_with("user_message") && update["content"].to_string().contains(text)
}

async fn an_approval_is_answered_by_the_other(version: Version) {
    let asking = |it: Config| it.approval_policy("on-request").sandbox_mode("read-only");
    play_with(asking, async |stage| {
        let server = Server::start(stage, Listen::Unix).await?;
        let one = stage.client(server.casting(Casting::of(version))).await?;
        let mine = stage.open(&one).await?;
        mine.turn(&Script::new().step(say("Hi.")).prompt("hello")).await?;
        let other = stage.client(server.casting(Casting::v2())).await?;
        let theirs = resume(stage, &other, &mine.id).await?;
        one.call("answer", json!({"permission": "hold"})).await?;
        other.call("answer", json!({"permission": "hold"})).await?;
        let cmd = exec("touch ran")
            .id("cmd")
            .arg("sandbox_permissions", "require_escalated")
            .arg("justification", "The test wants it.")
            .yield_ms(30_000);
        let turn = mine.prompt(&Script::new().step(cmd).step(say("Done.")).prompt("run"));
        for client in [&one, &other] {
            client.wait("question", |it| has(it, "session/request_permission")).await?;
        }
        assert!(!stage.home.workspace().join("ran").exists());
        other.call("release", json!({"kind": "allow_once"})).await?;
        one.wait("withdrawal", |it| has(it, "$/cancel_request")).await?;
        assert_eq!(mine.finish(&turn).await?, "end_turn");
        assert!(stage.home.workspace().join("ran").exists(), "the first answer counted");
        for session in [&mine, &theirs] {
            assert_eq!(session.final_status("cmd").await?, "completed");
            session.at_rest().await?;
        }
        one.end().await?;
        other.end().await?;
        server.end().await
    })
    .await;
}

fn has(seen: &crate::seen::Seen, method: &str) -> Option<()> {
    seen.wire.iter().any(|it| it.body["method"] == method).then_some(())
}

async fn closed_by_one(version: Version) {
    play(async |stage| {
        let mut server = Server::start(stage, Listen::Unix).await?;
        let one = stage.client(server.casting(Casting::of(version))).await?;
        let mine = stage.open(&one).await?;
        let escaping = format!("setsid sleep 1000 & {}", forever("dev"));
        let script = Script::new().step(exec(escaping).id("dev").yield_ms(300)).step(say("It runs."));
        mine.turn(&script.prompt("serve")).await?;
        mine.until_listed(&["dev"]).await?;
        let other = stage.client(server.casting(Casting::v2())).await?;
        let theirs = resume(stage, &other, &mine.id).await?;
        theirs.until_listed(&["dev"]).await?;
        mine.close().await?;
        mine.until_dead().await?;
        theirs.until_listed(&[]).await?;
        theirs.ended("dev").await?;
        theirs.at_rest().await?;
        let turn = theirs.turn(&Script::new().step(say("Still here.")).prompt("and now?")).await?;
        assert_eq!(theirs.text(turn.from), "Still here.");
        assert!(server.lives());
        one.end().await?;
        other.end().await?;
        server.end().await
    })
    .await;
}

async fn closed_in_mid_turn(version: Version) {
    play(async |stage| {
        let mut server = Server::start(stage, Listen::Port).await?;
        let client = stage.client(server.casting(Casting::of(version))).await?;
        let session = stage.open(&client).await?;
        let cmd = format!("touch up; {}", forever("build"));
        let turn =
            session.prompt(&Script::new().step(exec(cmd).id("build").yield_ms(30_000)).prompt("build"));
        stage.file("up").await?;
        session.close().await?;
        session.until_dead().await?;
        if version == Version::V1 {
            assert_eq!(session.finish(&turn).await?, "cancelled");
        }
        assert!(server.lives());
        client.end().await?;
        server.end().await
    })
    .await;
}

/// Waits until the client believes this of the session's state; a v1 client has no word for it.
async fn until_state(session: &Session<'_>, from: usize, state: &str) -> anyhow::Result<()> {
    let is_so = |it: &Value| (it["sessionUpdate"] == "state_update" && it["state"] == state).then_some(());
    match session.client.version {
        Version::V1 => Ok(()),
        Version::V2 => session.update(state, from, is_so).await,
    }
}

async fn killed_and_started_again(version: Version) {
    play(async |stage| {
        let mut server = Server::start(stage, Listen::Unix).await?;
        let client = stage.client(server.casting(Casting::of(version))).await?;
        let session = stage.open(&client).await?;
        session.turn(&dev().prompt("serve")).await?;
        session.until_listed(&["dev"]).await?;
        let from = client.look(|it| it.wire.len());
        server.kill().await?;
        until_state(&session, from, "unknown").await?;
        if version == Version::V2 {
            assert_eq!(session.lists(from)[0].as_array().map(Vec::len), Some(1), "the last list");
        }
        let server = server.again(stage).await?;
        assert_eq!(session.ended("dev").await?, Ended::Unknown, "nobody saw how");
        session.until_listed(&[]).await?;
        until_state(&session, from, "idle").await?;
        let turn = session.turn(&Script::new().step(say("Back again.")).prompt("hello?")).await?;
        assert!(session.text(turn.from).ends_with("Back again."));
        // What it had started dies with it, but for a moment.
        session.until_dead().await?;
        session.at_rest().await?;
        client.end().await?;
        server.end().await
    })
    .await;
}

async fn killed_in_a_turn(version: Version) {
    play(async |stage| {
        let mut server = Server::start(stage, Listen::Port).await?;
        let client = stage.client(server.casting(Casting::of(version))).await?;
        let session = stage.open(&client).await?;
        session.turn(&Script::new().step(say("Hi.")).prompt("hello")).await?;
        let cmd = format!("touch up; {}", forever("build"));
        let script = Script::new().step(exec(cmd).id("build").yield_ms(30_000));
        let turn = session.prompt(&script.prompt("build"));
        stage.file("up").await?;
        session.until_running("build").await?;
        server.kill().await?;
        until_state(&session, turn.from, "unknown").await?;
        let server = server.again(stage).await?;
        match version {
            Version::V1 => {
                let error = client.outcome(turn.answer).await?.expect_err("the turn failed");
                assert_eq!(error["code"], -32603, "{error}");
            }
            Version::V2 => {
                let end =
                    session.update("the end", turn.from, |it| is_end(it).then(|| it["stopReason"].clone()));
                assert_eq!(end.await?, "error");
            }
        }
        assert_eq!(session.ended("build").await?, Ended::Unknown);
        session.until_dead().await?;
        session.at_rest().await?;
        client.end().await?;
        server.end().await
    })
    .await;
}

/// While it is away prompts are refused with the reason, and the first after its return goes on.
async fn a_prompt_finds_it_again(version: Version) {
    play(async |stage| {
        let mut server = Server::start(stage, Listen::Port).await?;
        let client = stage.client(server.casting(Casting::of(version))).await?;
        let session = stage.open(&client).await?;
        session.turn(&Script::new().step(say("Hi.")).prompt("hello")).await?;
        let from = client.look(|it| it.wire.len());
        server.kill().await?;
        until_state(&session, from, "unknown").await?;
        let args = json!({"sessionId": session.id, "text": "anybody?"});
        let error = client.refused("prompt", args).await?;
        assert_eq!(error["code"], -32603, "{error}");
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains(&server.address), "{message}");
        let server = server.again(stage).await?;
        let turn = session.turn(&Script::new().step(say("Back again.")).prompt("hello?")).await?;
        assert!(session.text(turn.from).ends_with("Back again."));
        session.at_rest().await?;
        client.end().await?;
        server.end().await
    })
    .await;
}

/// A v1 client reads notices as text.
fn without_notices(text: &str) -> String {
    let paragraphs = text.split("\n\n").filter(|it| !it.starts_with("**Warning:**"));
    paragraphs.collect()
}

/// Nobody is subscribed and no turn runs: in that state Codex would load a thread anew for any setting.
async fn an_idle_thread_is_joined_as_it_is(version: Version) {
    play(async |stage| {
        let server = Server::start(stage, Listen::Unix).await?;
        let client = stage.client(server.casting(Casting::of(version))).await?;
        let session = stage.open(&client).await?;
        session.turn(&dev().prompt("serve")).await?;
        session.until_listed(&["dev"]).await?;
        let (id, leader) = (session.id.clone(), session.leader("dev")?);
        client.end().await?;
        let client = stage.client(server.casting(Casting::of(version))).await?;
        let elsewhere = stage.home.workspace().join("elsewhere");
        std::fs::create_dir(&elsewhere)?;
        client.call("resume", json!({"sessionId": id, "cwd": elsewhere, "replay": true})).await?;
        let session = Session { client: &client, id };
        session.until_listed(&["dev"]).await?;
        assert_eq!(session.leader("dev")?, leader);
        session.at_rest().await?;
        session.put_down(stage, "dev").await?;
        session.until_listed(&[]).await?;
        client.end().await?;
        server.end().await
    })
    .await;
}

async fn cut_off_in_a_turn_that_goes_on(version: Version) {
    play(async |stage| {
        let server = Server::start(stage, Listen::Unix).await?;
        let wire = Wire::to(stage, &server)?;
        let client = stage.client(Casting::of(version).env("APPSERVER_ACP_CONNECT", &wire.address)).await?;
        let session = stage.open(&client).await?;
        session.turn(&dev().prompt("serve")).await?;
        let build = format!("touch up; {}; echo built", wait_for("go"));
        let script = Script::new().step((say("Building."), exec(build).id("build").yield_ms(30_000)));
        let turn = session.prompt(&script.step(say("Built.")).prompt("build"));
        stage.file("up").await?;
        session.until_running("build").await?;
        wire.cut();
        until_state(&session, turn.from, "unknown").await?;
        let from = client.look(|it| it.wire.len());
        wire.mend();
        until_state(&session, from, "running").await?;
        stage.signal_file("go")?;
        assert_eq!(session.finish(&turn).await?, "end_turn");
        assert_eq!(without_notices(&session.text(turn.from)), "Building.Built.");
        assert_eq!(session.ended("build").await?, Ended::Code(0));
        session.until_listed(&["dev"]).await?;
        session.at_rest().await?;
        stage.signal_file("end-dev")?;
        assert_eq!(session.ended("dev").await?, Ended::Code(0), "it was never taken for ended");
        session.until_listed(&[]).await?;
        client.end().await?;
        server.end().await
    })
    .await;
}

async fn cut_off_from_a_turn_that_ends(version: Version) {
    play(async |stage| {
        let server = Server::start(stage, Listen::Unix).await?;
        let wire = Wire::to(stage, &server)?;
        let client = stage.client(Casting::of(version).env("APPSERVER_ACP_CONNECT", &wire.address)).await?;
        let session = stage.open(&client).await?;
        session.turn(&dev().prompt("serve")).await?;
        let witness = stage.client(server.casting(Casting::v2())).await?;
        let seen = resume(stage, &witness, &session.id).await?;
        let build = format!("touch up; {}; echo built; exit 3", wait_for("go"));
        let script = Script::new().step((say("Building."), exec(build).id("build").yield_ms(30_000)));
        let turn = session.prompt(&script.step(say("Built.")).prompt("build"));
        stage.file("up").await?;
        session.until_running("build").await?;
        wire.cut();
        until_state(&session, turn.from, "unknown").await?;
        stage.signal_file("go")?;
        stage.signal_file("end-dev")?;
        seen.update("the end", 0, |it| said(it, "Built.").then_some(())).await?;
        seen.until_listed(&[]).await?;
        wire.mend();
        assert_eq!(session.finish(&turn).await?, "end_turn");
        assert_eq!(without_notices(&session.text(turn.from)), "Building.Built.", "what was missed, and once");
        for (terminal, code) in [("build", 3), ("dev", 0)] {
            assert_eq!(session.ended(terminal).await?, Ended::Code(code), "the history knows");
        }
        session.until_listed(&[]).await?;
        session.at_rest().await?;
        client.end().await?;
        witness.end().await?;
        server.end().await
    })
    .await;
}

/// Codex cuts off whoever does not keep up.
async fn much_output(version: Version) {
    play(async |stage| {
        let server = Server::start(stage, Listen::Unix).await?;
        let client = stage.client(server.casting(Casting::of(version))).await?;
        let session = stage.open(&client).await?;
        let cmd =
            exec("head -c 20000000 /dev/zero | tr '\\0' x | fold -w 99; echo end").id("cmd").yield_ms(30_000);
        let turn = session.turn(&Script::new().step(cmd).step(say("Done.")).prompt("go")).await?;
        assert_eq!(session.ended("cmd").await?, Ended::Code(0));
        assert!(session.output("cmd").ends_with("xend\n") || session.output("cmd").ends_with("\nend\n"));
        assert_eq!(session.text(turn.from), "Done.", "the connection was never lost");
        session.at_rest().await?;
        client.end().await?;
        server.end().await
    })
    .await;
}

async fn nobody_there(version: Version) {
    play(async |stage| {
        let path = stage.home.codex_home().join("none");
        let address = format!("unix:{}", path.display());
        let client = stage.client(Casting::of(version).env("APPSERVER_ACP_CONNECT", &address)).await?;
        let error = client.refused("new", json!({"cwd": stage.home.workspace()})).await?;
        assert_eq!(error["code"], -32603, "{error}");
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains(&address) && message.contains("codex app-server --listen"), "{message}");
        // It comes, and all is well.
        let server = Server::at(stage, &address, &[]).await?;
        let session = stage.open(&client).await?;
        let turn = session.turn(&Script::new().step(say("Hi.")).prompt("hello")).await?;
        assert_eq!(session.text(turn.from), "Hi.");
        client.end().await?;
        server.end().await
    })
    .await;
}

#[tokio::test]
async fn a_token_is_wanted_and_given() {
    play(async |stage| {
        let token = stage.home.codex_home().join("token");
        std::fs::write(&token, "sesame")?;
        let token = token.display().to_string();
        let args = ["--ws-auth", "capability-token", "--ws-token-file", &token];
        let server = Server::at(stage, "ws://127.0.0.1:0", &args).await?;
        let client = stage.client(server.casting(Casting::v2())).await?;
        let error = client.refused("new", json!({"cwd": stage.home.workspace()})).await?;
        let message = error["message"].as_str().unwrap_or_default();
        assert!(
            message.contains("wants a token") && message.contains("APPSERVER_ACP_CONNECT_TOKEN"),
            "{message}"
        );
        client.end().await?;
        let casting = server.casting(Casting::v2()).env("APPSERVER_ACP_CONNECT_TOKEN", "sesame");
        let client = stage.client(casting).await?;
        let session = stage.open(&client).await?;
        let turn = session.turn(&Script::new().step(say("Hi.")).prompt("hello")).await?;
        assert_eq!(session.text(turn.from), "Hi.");
        client.end().await?;
        server.end().await
    })
    .await;
}

/// So that they are asked to end before they are killed.
#[tokio::test]
async fn processes_are_found_below_whoever_listens() {
    play(async |stage| {
        for listen in [Listen::Unix, Listen::Port] {
            let server = Server::start(stage, listen).await?;
            let client = stage.client(server.casting(Casting::v2())).await?;
            let session = stage.open(&client).await?;
            // A handler shows that it was asked and not killed.
            let cmd = "trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 0.05; done";
            let script = Script::new().step(exec(cmd).id("dev").yield_ms(300)).step(say("It runs."));
            session.turn(&script.prompt("serve")).await?;
            session.until_output("dev", "ready").await?;
            session.stop("dev").await?;
            assert_eq!(session.ended("dev").await?, Ended::Code(3));
            assert!(session.output("dev").contains("asked\n"), "{}", session.output("dev"));
            client.end().await?;
            assert!(processes::signal(server.pid(), Signal::CONT).is_ok(), "it lives");
            server.end().await?;
        }
        Ok(())
    })
    .await;
}
