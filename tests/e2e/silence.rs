//! Turns in which the model says nothing: told as such, and only those.

use serde_json::Value;
use testkit::belief::Version;
use testkit::model::{Action, Script, Step, exec, found, say};

use crate::session::{Ended, Session};
use crate::stage::{Casting, forever, play};

in_both_versions!(
    nothing_at_all_is_told,
    what_can_be_seen_is_no_silence,
    what_the_background_says_is_no_answer
);

const TOLD: &str = "Codex ended the turn without an answer";

/// How often it was told from message `from` on.
fn n_told(session: &Session<'_>, from: usize) -> usize {
    session.client.look(|it| {
        let tells = |it: &Value| it.to_string().contains(TOLD);
        it.updates(&session.id, from).filter(|(_, it)| tells(it)).count()
    })
}

async fn nothing_at_all_is_told(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let steps: [(&str, Step); 4] = [
            ("nothing", Vec::new().into()),
            ("an empty message", say("").into()),
            ("blanks", say(" \n").into()),
            ("thoughts alone", Action::reason("Hm").into()),
        ];
        for (what, step) in steps {
            let turn = session.turn(&Script::new().step(step).prompt(what)).await?;
            assert_eq!(n_told(&session, turn.from), 1, "{what}: {}", client.look(|it| it.tail(20)));
        }
        let after = session.turn(&Script::new().step(say("Here.")).prompt("and now?")).await?;
        assert_eq!((session.text(after.from).as_str(), n_told(&session, after.from)), ("Here.", 0));
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Nor is a turn that was cancelled, or one that failed: both say so.
async fn what_can_be_seen_is_no_silence(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let silent = || Step::from(Vec::new());
        let call = Script::new().step(exec("true").id("call").yield_ms(30_000)).step(silent());
        let turn = session.turn(&call.prompt("run")).await?;
        assert_eq!(n_told(&session, turn.from), 0, "a call is seen");
        let turn = session.prompt(&Script::new().step((Action::gate("never"), say("x"))).prompt("wait"));
        stage.model.wait_gate("never").await?;
        session.cancel().await?;
        assert_eq!(session.finish(&turn).await?, "cancelled");
        assert_eq!(n_told(&session, turn.from), 0, "a cancel is known");
        let turn = session.prompt(&Script::new().step(Action::http(500)).prompt("fail"));
        // Of v2 it is the state that has the error.
        session.client.outcome(turn.answer).await?.ok();
        session.at_rest().await?;
        assert_eq!(n_told(&session, turn.from), 0, "a failure is told");
        client.end().await?;
        Ok(())
    })
    .await;
}

/// A command of an earlier turn writes while the model is silent; what the model types into it is seen.
async fn what_the_background_says_is_no_answer(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let cmd = format!("read line; echo \"heard $line\"; {}", forever("dev"));
        let script = Script::new().step(exec(cmd).id("dev").tty(true).yield_ms(300)).step(say("It runs."));
        session.turn(&script.prompt("serve")).await?;
        let process = found(r"session ID (\d+)");
        let poll = |chars: &str| {
            let args = serde_json::json!({"session_id": process, "chars": chars, "yield_time_ms": 300});
            Script::new().step(testkit::model::call("write_stdin", args)).step(Vec::new())
        };
        let turn = session.turn(&poll("").prompt("look")).await?;
        assert_eq!(n_told(&session, turn.from), 1, "looking shows nothing");
        let turn = session.turn(&poll("you\n").prompt("say it")).await?;
        session.until_output("dev", "heard you").await?;
        assert_eq!(n_told(&session, turn.from), 0, "what it types is shown");
        stage.signal_file("end-dev")?;
        assert_eq!(session.ended("dev").await?, Ended::Code(0));
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}
