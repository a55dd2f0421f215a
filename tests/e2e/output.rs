//! Command output: whole, in order, bounded, and as Codex gives it.

use serde_json::json;
use testkit::belief::Version;
use testkit::model::{Script, exec, say};

use crate::seen::Seen;
use crate::session::{Ended, Session};
use crate::stage::{Casting, Stage, play, wait_for};

in_both_versions!(
    shown_at_the_yield,
    characters_in_pieces,
    a_megabyte_to_the_letter,
    twenty_megabytes,
    for_a_client_that_does_not_read,
    as_text_or_live,
);

/// Codex keeps this much of the head and of the tail of a command's output.
const KEPT: usize = 512 * 1024;

async fn run(stage: &Stage, session: &Session<'_>, cmd: &str) -> anyhow::Result<usize> {
    let script = Script::new().step(exec(cmd).id("cmd").yield_ms(30_000)).step(say("done"));
    let turn = session.turn(&script.prompt("run")).await?;
    assert_eq!(session.ended("cmd").await?, Ended::Code(0));
    assert_eq!(stage.model.errors(), Vec::<String>::new());
    Ok(turn.from)
}

async fn shown_at_the_yield(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        // Written before Codex begins to stream: the client sees it when the call returns, not at the exit.
        let cmd = format!("echo early; {}; echo late", wait_for("go"));
        let script = Script::new().step(exec(cmd).id("cmd").yield_ms(400)).step(say("It runs."));
        session.turn(&script.prompt("go")).await?;
        session.until_output("cmd", "early\n").await?;
        stage.signal_file("go")?;
        assert_eq!(session.ended("cmd").await?, Ended::Code(0));
        assert_eq!(session.output("cmd"), "early\nlate\n");
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn characters_in_pieces(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let cmd = r"printf 'caf\303'; sleep 0.4; printf '\251 \360\237'; sleep 0.2; printf '\246\200\n'
            printf '\033[31mre'; sleep 0.2; printf 'd\033'; sleep 0.2; printf '[0m\r\n'";
        run(stage, &session, cmd).await?;
        assert_eq!(session.output("cmd"), "café 🦀\n\u{1b}[31mred\u{1b}[0m\r\n");
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn a_megabyte_to_the_letter(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let from = run(stage, &session, "seq 1 150000").await?;
        let whole: String = (1..=150_000).map(|n| format!("{n}\n")).collect();
        let output = session.output("cmd");
        assert_eq!(output.len(), whole.len());
        assert!(output == whole, "the text differs");
        session.client.look(|it| assert_bounded(it, &session.id, from, whole.len()));
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn twenty_megabytes(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let from = run(stage, &session, "seq 1 2666666").await?;
        let whole: String = (1..=2_666_666).map(|n| format!("{n}\n")).collect();
        let output = session.output("cmd");
        // Codex drops some of such a flood: then the client holds its head and its tail.
        if output != whole {
            assert!(output.starts_with(&whole[..KEPT]), "the head differs: {:?}", &output[..200]);
            assert!(output.ends_with(&whole[whole.len() - KEPT..]), "the tail differs");
            let omitted = whole.len() - 2 * KEPT;
            assert!(output.contains(&format!("{omitted} bytes omitted")), "no mark of what is missing");
            assert!(output.len() < 2 * KEPT + 100, "{} bytes", output.len());
        }
        session.client.look(|it| assert_bounded(it, &session.id, from, whole.len()));
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// However it comes, at most an update per 64 KiB and per 30 ms (and some for the rest of the turn). The time counts
/// from the prompt, for a client on a busy machine sees late what was sent early.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn assert_bounded(seen: &Seen, session: &str, from: usize, n_bytes: usize) {
    let times: Vec<f64> = seen.updates(session, from).map(|(idx, _)| seen.wire[idx].at).collect();
    let millis = times.last().unwrap_or(&0.0) - seen.wire[from].at;
    let bound = n_bytes as f64 / 65536.0 + millis / 30.0 + 40.0;
    assert!((times.len() as f64) < bound, "{} updates in {millis} ms for {n_bytes} bytes", times.len());
}

/// A v1 client that declared no terminals reads the output as text.
async fn as_text_or_live(version: Version) {
    play(async |stage| {
        let casting = match version {
            Version::V1 => Casting::v1().capabilities(json!({})),
            Version::V2 => Casting::v2(),
        };
        let client = stage.client(casting).await?;
        let session = stage.open(&client).await?;
        let script = Script::new().step(exec("sleep 0.3; echo one; echo two").id("cmd").yield_ms(30_000));
        session.turn(&script.step(say("done")).prompt("run")).await?;
        assert_eq!(session.final_status("cmd").await?, "completed");
        let output = session.output("cmd");
        match version {
            // A code block shows lines: nobody sees whether the last one had an end.
            Version::V1 => assert_eq!(output.lines().collect::<Vec<_>>(), ["one", "two"]),
            Version::V2 => assert_eq!(output, "one\ntwo\n"),
        }
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// A client that stops reading still gets a cancel through, and later the whole text.
async fn for_a_client_that_does_not_read(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let cmd = "n=0; until [ -e end-cmd ]; do n=$((n + 1)); echo line $n of many;
            if [ $n = 60000 ]; then touch many; fi; done";
        let script = Script::new().step(exec(cmd).id("cmd").yield_ms(250)).step(say("It runs."));
        let turn = session.prompt(&script.prompt("go"));
        session.until_running("cmd").await?;
        client.call("pause", json!({})).await?;
        // By now it has written more than any pipe and any queue holds.
        stage.file("many").await?;
        let cancel = match version {
            Version::V1 => {
                stage.signal_file("end-cmd")?;
                None
            }
            Version::V2 => {
                Some(client.start("cancelTerminal", json!({"sessionId": session.id, "terminalId": "cmd"})))
            }
        };
        session.until_dead().await?;
        client.call("continue", json!({})).await?;
        if let Some(cancel) = cancel {
            assert_eq!(client.outcome(cancel).await?, Ok(json!({})));
        }
        assert_eq!(session.finish(&turn).await?, "end_turn");
        session.ended("cmd").await?;
        session.until_listed(&[]).await?;
        let output = session.output("cmd");
        assert!(output.starts_with("line 1 of many\nline 2 of many\n"), "{:?}", output.get(..100));
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}
