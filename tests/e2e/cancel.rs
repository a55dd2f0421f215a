//! `session/cancel`: the foreground stops, the background stays.

use serde_json::Value;
use testkit::belief::Version;
use testkit::model::{Action, Script, exec, say};

use crate::seen::Seen;
use crate::session::{Ended, is_end};
use crate::stage::{Casting, forever, play};

in_both_versions!(during_a_command, while_the_model_talks, before_anything_runs, right_behind_the_prompt);

async fn during_a_command(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let background =
            Script::new().step(exec(forever("dev")).id("dev").yield_ms(300)).step(say("It runs."));
        session.turn(&background.prompt("serve")).await?;
        session.until_listed(&["dev"]).await?;

        let cmd = format!("touch up; {}", forever("build"));
        let script = Script::new().step(exec(cmd).id("build").yield_ms(30_000)).step(say("never said"));
        let turn = session.prompt(&script.prompt("build"));
        stage.file("up").await?;
        session.until_running("build").await?;
        session.cancel().await?;
        assert_eq!(session.finish(&turn).await?, "cancelled");
        assert_eq!(session.ended("build").await?, Ended::Signal("SIGTERM".to_owned()));
        let status = match version {
            Version::V1 => "failed",
            Version::V2 => "cancelled",
        };
        assert_eq!(session.final_status("build").await?, status);
        session.until_listed(&["dev"]).await?;
        session.at_rest().await?;

        // The session works on.
        let after = session.turn(&Script::new().step(say("Here.")).prompt("still there?")).await?;
        assert_eq!(session.text(after.from), "Here.");
        session.until_listed(&["dev"]).await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn while_the_model_talks(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let script = Script::new().step((say("Well"), Action::gate("never"), say("never said")));
        let turn = session.prompt(&script.prompt("talk"));
        session
            .update("text", turn.from, |it| (it["sessionUpdate"] == "agent_message_chunk").then_some(()))
            .await?;
        session.cancel().await?;
        assert_eq!(session.finish(&turn).await?, "cancelled");
        assert_eq!(session.text(turn.from), "Well");
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// A cancel without a turn changes nothing.
async fn before_anything_runs(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        session.cancel().await?;
        let turn = session.turn(&Script::new().step(say("Hi.")).prompt("hello")).await?;
        assert_eq!(session.text(turn.from), "Hi.");
        session.cancel().await?;
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Codex takes no interrupt before its turn has an id: the cancel has to wait for that, and must not be lost.
async fn right_behind_the_prompt(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let script = Script::new()
            .step(exec("sleep 0.5; touch first").id("first").yield_ms(30_000))
            .step(exec("touch second").id("second").yield_ms(30_000))
            .step(say("never said"));
        let turn = session.prompt(&script.prompt("go"));
        session.cancel().await?;
        match version {
            Version::V1 => assert_eq!(session.finish(&turn).await?, "cancelled"),
            Version::V2 => {
                // Whether Codex had taken the message by then is chance; that its turn ends so is not.
                match client.outcome(turn.answer).await? {
                    Ok(answer) => assert!(answer["messageId"].is_string(), "{answer}"),
                    Err(error) => assert_eq!(error["code"], -32800, "{error}"),
                }
                let end = |it: &Value| is_end(it).then(|| it["stopReason"].clone());
                assert_eq!(session.update("end of the turn", turn.from, end).await?, "cancelled");
            }
        }

        // Were the old turn still there, this prompt would go into it, and come after all of its steps.
        let after = session.turn(&Script::new().step(say("Here.")).prompt("still there?")).await?;
        assert_eq!(session.text(after.from), "Here.");
        assert!(!stage.home.workspace().join("second").exists(), "the turn went on");
        assert_eq!(client.look(|it| n_cancelled(it, &session.id)), 1);
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// How often the client was told that a turn was cancelled.
fn n_cancelled(seen: &Seen, session: &str) -> usize {
    let answers = seen.wire.iter().filter(|it| it.body["result"]["stopReason"] == "cancelled").count();
    let states = seen.updates(session, 0).filter(|(_, it)| it["stopReason"] == "cancelled").count();
    answers + states
}
