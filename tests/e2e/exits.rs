//! How a command in the background ends, and that the client is told exactly that.

use testkit::belief::Version;
use testkit::model::{Script, exec, say};
use testkit::processes::{self, Signal};

use crate::session::{Ended, Session};
use crate::stage::{Casting, Stage, play, wait_for};

in_both_versions!(
    by_itself,
    killed_from_outside,
    killed_from_outside_in_a_tty,
    stopped_with_a_handler,
    stopped_though_it_ignores_signals,
    stopped_in_a_tty,
    stopped_with_its_children,
);

/// Starts `cmd` in the background under the id `cmd`; it must create the file `up` when it is ready.
async fn start(stage: &Stage, session: &Session<'_>, cmd: &str, tty: bool) -> anyhow::Result<()> {
    let exec = exec(cmd).id("cmd").yield_ms(250).tty(tty);
    session.turn(&Script::new().step(exec).step(say("started")).prompt("start")).await?;
    stage.file("up").await?;
    session.until_listed(&["cmd"]).await
}

/// After the end of `cmd`: told as it was, listed no more, nothing left.
async fn expect(session: &Session<'_>, ended: Ended, status: &str) -> anyhow::Result<()> {
    assert_eq!(session.ended("cmd").await?, ended);
    assert_eq!(session.final_status("cmd").await?, status);
    session.until_listed(&[]).await?;
    session.at_rest().await
}

fn signal(name: &str) -> Ended {
    Ended::Signal(name.to_owned())
}

async fn by_itself(version: Version) {
    for (code, status) in [(0, "completed"), (3, "failed")] {
        play(async |stage| {
            let client = stage.client(Casting::of(version)).await?;
            let session = stage.open(&client).await?;
            let cmd = format!("echo begin; touch up; {}; echo end; exit {code}", wait_for("go"));
            start(stage, &session, &cmd, false).await?;
            stage.signal_file("go")?;
            expect(&session, Ended::Code(code), status).await?;
            assert_eq!(session.output("cmd"), "begin\nend\n");
            client.end().await?;
            Ok(())
        })
        .await;
    }
}

async fn killed_from_outside(version: Version) {
    // Nobody saw the signal: the code is all that is known.
    for (sent, code) in [(Signal::TERM, 143), (Signal::KILL, 137)] {
        play(async |stage| {
            let client = stage.client(Casting::of(version)).await?;
            let session = stage.open(&client).await?;
            start(stage, &session, "touch up; while :; do sleep 0.1; done", false).await?;
            processes::signal(session.leader("cmd")?, sent)?;
            expect(&session, Ended::Code(code), "failed").await?;
            client.end().await?;
            Ok(())
        })
        .await;
    }
}

async fn killed_from_outside_in_a_tty(version: Version) {
    for sent in [Signal::TERM, Signal::KILL] {
        play(async |stage| {
            let client = stage.client(Casting::of(version)).await?;
            let session = stage.open(&client).await?;
            // An interactive shell would ignore TERM; this one is none.
            start(stage, &session, "touch up; while :; do sleep 0.1; done", true).await?;
            processes::signal(session.leader("cmd")?, sent)?;
            // Codex loses the signal of a command in a tty.
            expect(&session, Ended::Code(1), "failed").await?;
            client.end().await?;
            Ok(())
        })
        .await;
    }
}

async fn stopped_with_a_handler(version: Version) {
    for code in [0, 3] {
        play(async |stage| {
            let client = stage.client(Casting::of(version)).await?;
            let session = stage.open(&client).await?;
            let cmd = format!("trap 'echo bye; exit {code}' TERM; touch up; while :; do sleep 0.1; done");
            start(stage, &session, &cmd, false).await?;
            session.stop("cmd").await?;
            expect(&session, Ended::Code(code), if code == 0 { "completed" } else { "failed" }).await?;
            assert!(session.output("cmd").ends_with("bye\n"), "{:?}", session.output("cmd"));
            client.end().await?;
            Ok(())
        })
        .await;
    }
}

async fn stopped_though_it_ignores_signals(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let cmd = "trap '' TERM INT HUP; touch up; while :; do sleep 0.1; done";
        start(stage, &session, cmd, false).await?;
        session.stop("cmd").await?;
        expect(&session, signal("SIGKILL"), "failed").await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn stopped_in_a_tty(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        start(stage, &session, "touch up; while :; do sleep 0.1; done", true).await?;
        session.stop("cmd").await?;
        expect(&session, signal("SIGINT"), "failed").await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn stopped_with_its_children(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        // A child in a session of its own outlives what Codex does to the group.
        let cmd = "setsid sleep 1000 & sleep 1000 & touch up; wait";
        start(stage, &session, cmd, false).await?;
        session.stop("cmd").await?;
        expect(&session, signal("SIGTERM"), "failed").await?;
        session.until_dead().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}
