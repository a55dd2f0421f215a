//! What the client is told of the processes of a listed command, held against the processes themselves.

use anyhow::{Context, ensure};
use serde_json::Value;
use testkit::belief::Version;
use testkit::model::{Script, exec, say};
use testkit::processes::{self, Signal};

use crate::approvals::until_traced;
use crate::session::{Ended, Session};
use crate::stage::{Casting, Stage, play, wait_for};

in_both_versions!(a_busy_command, killed_from_outside, what_cannot_be_found,);

/// Starts a command in the background under this id; it must create the file `up-<id>` when it is ready.
async fn start(stage: &Stage, session: &Session<'_>, id: &str, cmd: &str) -> anyhow::Result<()> {
    let exec = exec(cmd).id(id).yield_ms(250);
    session.turn(&Script::new().step(exec).step(say("started")).prompt(id)).await?;
    stage.file(&format!("up-{id}")).await
}

/// Everything that was told of the processes of a terminal, in order.
fn vitals<'a>(
    updates: impl Iterator<Item = &'a Value> + 'a,
    terminal: &'a str,
) -> impl Iterator<Item = &'a Value> + 'a {
    let is_its = move |it: &&Value| it["terminalId"] == terminal || it["toolCallId"] == terminal;
    updates.filter(is_its).map(|it| &it["_meta"]["dev.appserver-acp"]).filter(|it| it["pid"].is_number())
}

/// Waits for vitals of a terminal that are so.
async fn until(
    session: &Session<'_>,
    terminal: &str,
    is_so: impl Fn(&Value) -> bool,
) -> anyhow::Result<Value> {
    let pick = |update: &Value| vitals(std::iter::once(update), terminal).find(|it| is_so(it)).cloned();
    session.update(&format!("vitals of {terminal}"), 0, pick).await
}

fn pid(vitals: &Value) -> anyhow::Result<u32> {
    vitals["pid"].as_u64().and_then(|pid| pid.try_into().ok()).context("a pid")
}

async fn a_busy_command(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let cmd = format!("(ulimit -t 60; while :; do :; done) & touch up-cmd; {}; kill $!", wait_for("go"));
        start(stage, &session, "cmd", &cmd).await?;
        let told = until(&session, "cmd", |it| it["cpuPercent"].as_u64() > Some(0)).await?;
        assert_eq!(pid(&told)?, session.leader("cmd")?);
        assert!(told["processes"].as_u64() >= Some(2), "the shell and the loop: {told}");
        assert!(told["memoryBytes"].as_u64() > Some(0), "{told}");
        assert!(told["startedAt"].is_string(), "{told}");
        stage.signal_file("go")?;
        assert_eq!(session.ended("cmd").await?, Ended::Code(0));
        session.until_listed(&[]).await?;
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// By the pid that the client was told, as a person would do it.
async fn killed_from_outside(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        start(stage, &session, "cmd", "touch up-cmd; while :; do sleep 0.1; done").await?;
        let told = until(&session, "cmd", |_| true).await?;
        processes::signal(pid(&told)?, Signal::KILL)?;
        assert_eq!(session.ended("cmd").await?, Ended::Code(137));
        session.until_listed(&[]).await?;
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Without its marks a command is not told of, and lives and ends as any other.
async fn what_cannot_be_found(version: Version) {
    play(async |stage| {
        let trace = stage.home.codex_home().join("trace.jsonl");
        let client = stage.client(Casting::of(version).env("APPSERVER_ACP_TRACE", &trace)).await?;
        let session = stage.open(&client).await?;
        start(stage, &session, "cmd", "echo $$ > pid; touch up-cmd; exec env -i sleep 1000").await?;
        until_traced(&trace, r#""report":"not_found""#, 1).await?;
        // Asked again and again, Codex goes on to list it.
        until_traced(&trace, "a listed command cannot be watched", 3).await?;
        session.until_listed(&["cmd"]).await?;
        let pid = std::fs::read_to_string(stage.home.workspace().join("pid"))?.trim().parse()?;
        processes::signal(pid, Signal::TERM)?;
        assert_eq!(session.ended("cmd").await?, Ended::Code(143));
        session.until_listed(&[]).await?;
        ensure!(
            client.look(|it| vitals(updates(it, &session.id), "cmd").count()) == 0,
            "told of what it cannot see"
        );
        client.end().await?;
        Ok(())
    })
    .await;
}

/// The quiet one is told once, and once more at most, until the other was told three times.
#[tokio::test]
async fn an_idle_command_causes_no_traffic() {
    play(async |stage| {
        let client = stage.client(Casting::v2()).await?;
        let session = stage.open(&client).await?;
        start(stage, &session, "idle", "touch up-idle; exec sleep 1000").await?;
        let restless = "i=0; touch up-other; while :; do i=$((i+1)); x=$(head -c 8000000 /dev/zero | tr '\\0' x)$x; sleep 2; done";
        start(stage, &session, "other", restless).await?;
        let enough = |it: &crate::seen::Seen| (vitals(updates(it, &session.id), "other").count() >= 3).then_some(());
        client.wait("three vitals of the restless one", enough).await?;
        let n = client.look(|it| vitals(updates(it, &session.id), "idle").count());
        assert!((1..=2).contains(&n), "{n} vitals of an idle command");
        for id in ["idle", "other"] {
            session.stop(id).await?;
            session.ended(id).await?;
        }
        session.until_listed(&[]).await?;
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// A child that holds the output open: the leader's end is the command's end, as Codex tells it.
#[tokio::test]
async fn a_leader_that_leaves_a_child_with_its_output() {
    play(async |stage| {
        let client = stage.client(Casting::v2()).await?;
        let session = stage.open(&client).await?;
        let cmd = format!("sleep 30 & echo $! > child; touch up-cmd; {}", wait_for("go"));
        start(stage, &session, "cmd", &cmd).await?;
        until(&session, "cmd", |it| it["processes"].as_u64() >= Some(2)).await?;
        stage.signal_file("go")?;
        assert_eq!(session.ended("cmd").await?, Ended::Code(0));
        let child = std::fs::read_to_string(stage.home.workspace().join("child"))?.trim().parse()?;
        processes::signal(child, Signal::KILL)?;
        session.until_listed(&[]).await?;
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

fn updates<'a>(seen: &'a crate::seen::Seen, session: &'a str) -> impl Iterator<Item = &'a Value> + 'a {
    seen.updates(session, 0).map(|(_, update)| update)
}

/// One more than Codex keeps: it ends the oldest, and says so; nothing else ends.
#[tokio::test]
async fn one_more_than_codex_keeps() {
    play(async |stage| {
        let client = stage.client(Casting::v2()).await?;
        let session = stage.open(&client).await?;
        let ids: Vec<String> = (0..65).map(|n| format!("cmd-{n}")).collect();
        // One after the other: the oldest is to be known.
        let script = ids
            .iter()
            .fold(Script::new(), |script, id| script.step(exec("exec sleep 1000").id(id).yield_ms(250)));
        session.turn(&script.step(say("started")).prompt("start")).await?;
        // Codex kills it, and says so only now and then.
        let ended = session.ended("cmd-0").await?;
        assert!([Ended::Unknown, Ended::Code(137)].contains(&ended), "{ended:?}");
        let kept: Vec<&str> = ids[1..].iter().map(String::as_str).collect();
        session.until_listed(&kept).await?;
        for id in &kept {
            until(&session, id, |_| true).await?;
        }
        session.until_listed(&kept).await?;
        session.close().await?;
        session.until_dead().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}
