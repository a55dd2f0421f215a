//! `session/cancel`: the foreground stops, the background stays.

use anyhow::Context;
use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::home::Config;
use testkit::model::{Action, Script, call, custom, exec, say};

use crate::seen::Seen;
use crate::session::{Ended, is_end};
use crate::stage::{Casting, forever, play, play_with};
use crate::tools::{open_with_tools, tool};

in_both_versions!(
    during_a_command,
    while_the_model_talks,
    before_anything_runs,
    right_behind_the_prompt,
    in_every_phase,
);

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
            .step(exec(forever("first")).id("first").yield_ms(30_000))
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

/// What a turn can be at when it is cancelled: its script, and a text of the update or request that shows it.
fn phases() -> Vec<(&'static str, Script, &'static str)> {
    let last = || say("never said");
    let patch = "*** Begin Patch\n*** Add File: made.txt\n+x\n*** End Patch";
    let escalated = exec("touch made")
        .id("asked")
        .arg("sandbox_permissions", "require_escalated")
        .arg("justification", "The test wants it.");
    vec![
        (
            "reasoning",
            Script::new().step((Action::reason("Hm"), Action::gate("never"), last())),
            "agent_thought_chunk",
        ),
        (
            "a command",
            Script::new().step(exec(forever("cmd")).id("cmd").yield_ms(30_000)).step(last()),
            "\"cmd\"",
        ),
        (
            "an approval of a command",
            Script::new().step(escalated.yield_ms(30_000)).step(last()),
            "\"session/request_permission\"",
        ),
        (
            "an approval of a file change",
            Script::new().step(custom("apply_patch", patch).id("patch")).step(last()),
            "\"session/request_permission\"",
        ),
        (
            "an approval of a tool",
            Script::new().step(tool("wipe", "wipe")).step(last()),
            "\"session/request_permission\"",
        ),
        ("a tool", Script::new().step(tool("hang", "hang")).step(last()), "\"hang\""),
        (
            "a question",
            Script::new().step(call("request_user_input", question()).id("question")).step(last()),
            "\"session/request_permission\"",
        ),
    ]
}

fn question() -> Value {
    let options = json!([{"label": "A", "description": "first"}, {"label": "B", "description": "second"}]);
    json!({"questions": [{"id": "q", "header": "Pick", "question": "Which?", "options": options}]})
}

/// The turn ends, what it was at is closed, nothing of it happens any more, and the next prompt works.
async fn in_every_phase(version: Version) {
    let asking = |config: Config| {
        let features = "default_mode_request_user_input = true";
        config.approval_policy("on-request").sandbox_mode("read-only").feature(features)
    };
    play_with(asking, async |stage| {
        // Without forms every question is a permission, which can be left open.
        let casting = match version {
            Version::V1 => Casting::v1(),
            Version::V2 => Casting::v2().capabilities(json!({})),
        };
        let client = stage.client(casting).await?;
        let session = open_with_tools(stage, &client, &[]).await?;
        client.call("answer", json!({"permission": "hold"})).await?;
        for (phase, script, sign) in phases() {
            let turn = session.prompt(&script.prompt(phase));
            let is_sign = |it: &Value| {
                let is_ours = it["method"] != "session/prompt" && it.to_string().contains(sign);
                is_ours.then_some(())
            };
            client
                .wait(phase, |it| it.wire.iter().skip(turn.from).find_map(|it| is_sign(&it.body)))
                .await
                .with_context(|| phase.to_owned())?;
            session.cancel().await?;
            let reason = session.finish(&turn).await.with_context(|| phase.to_owned())?;
            assert_eq!(reason, "cancelled", "{phase}");
            session.at_rest().await.with_context(|| phase.to_owned())?;
            let after = session.turn(&Script::new().step(say("Here.")).prompt("still there?")).await?;
            assert!(session.text(after.from).ends_with("Here."), "after {phase}");
            assert!(!session.text(turn.from).contains("never said"), "{phase} went on");
        }
        for made in ["made", "made.txt"] {
            assert!(!stage.home.workspace().join(made).exists(), "{made} was made");
        }
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
