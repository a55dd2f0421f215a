//! How a command in the background ends, and that the client is told exactly that.

use testkit::belief::Version;
use testkit::model::{Script, exec, say};
use testkit::processes::{self, Signal};

use crate::session::{Ended, Session};
use crate::stage::{Casting, GRACE, Stage, play, wait_for};

in_both_versions!(by_itself, killed_from_outside, killed_from_outside_in_a_tty,);

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

/// Asked first, ended by force only where that does not help; the exit says which it was (D5, D6).
#[tokio::test]
async fn stopped() {
    let signal = |name: &str| Ended::Signal(name.to_owned());
    // The last is the grace in seconds: much for what ends when asked, little for what does not.
    for (cmd, tty, ended, status, grace) in [
        ("touch up; while :; do sleep 0.1; done", false, signal("SIGTERM"), "failed", "60"),
        // Codex loses the signal of a command in a tty: it is concluded from what was sent.
        ("touch up; sleep 1000; echo never", true, signal("SIGINT"), "failed", "60"),
        (
            "trap 'echo bye; exit 3' TERM; touch up; while :; do sleep 0.1; done",
            false,
            Ended::Code(3),
            "failed",
            "60",
        ),
        (
            "trap 'exit 0' TERM; touch up; while :; do sleep 0.1; done",
            false,
            Ended::Code(0),
            "completed",
            "60",
        ),
        (
            "trap '' TERM INT HUP; touch up; while :; do sleep 0.1; done",
            false,
            signal("SIGKILL"),
            "failed",
            "1",
        ),
        ("sleep 1000 & touch up; wait", false, signal("SIGTERM"), "failed", "60"),
        // What left the process group ends with it: `expect` counts what carries its marker.
        ("setsid sleep 1000 & touch up; wait", false, signal("SIGTERM"), "failed", "60"),
        (
            "(setsid sh -c 'trap \"\" TERM; sleep 1000' &); touch up; sleep 1000",
            false,
            signal("SIGTERM"),
            "failed",
            "10",
        ),
        ("trap '' TERM; touch up; (set -m; sleep 1000 & wait)", false, signal("SIGKILL"), "failed", "1"),
    ] {
        play(async |stage| {
            let client = stage.client(Casting::v2().env(GRACE, grace)).await?;
            let session = stage.open(&client).await?;
            start(stage, &session, cmd, tty).await?;
            session.stop("cmd").await?;
            expect(&session, ended.clone(), status).await?;
            client.end().await?;
            Ok(())
        })
        .await;
    }
}

/// A second request does not wait for the grace.
#[tokio::test]
async fn stopped_twice() {
    play(async |stage| {
        let client = stage.client(Casting::v2()).await?;
        let session = stage.open(&client).await?;
        start(stage, &session, "trap '' TERM INT HUP; touch up; while :; do sleep 0.1; done", false).await?;
        session.stop("cmd").await?;
        session.stop("cmd").await?;
        expect(&session, Ended::Signal("SIGKILL".to_owned()), "failed").await?;
        client.end().await?;
        Ok(())
    })
    .await;
}
