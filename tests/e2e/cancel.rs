//! `session/cancel`: the foreground stops, the background stays.

use anyhow::Context;
use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::home::Config;
use testkit::model::{Action, Script, call, custom, exec, say};

use crate::seen::Seen;
use crate::session::{Ended, Session, Turn, is_end};
use crate::stage::{Casting, Stage, forever, play, play_with};
use crate::tools::{open_with_tools, tool};

in_both_versions!(
    during_a_command,
    while_the_model_talks,
    before_anything_runs,
    right_behind_the_prompt,
    in_every_phase,
    during_a_compaction,
    during_a_review,
    with_a_steered_prompt,
    with_a_held_prompt,
    by_its_request,
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

/// What is being summed up stays as it was.
async fn during_a_compaction(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        session.turn(&Script::new().step(say("remember 42")).prompt("go")).await?;
        stage.model.push((Action::gate("never"), say("never said")));
        let turn = session.prompt("/compact");
        stage.model.wait_gate("never").await?;
        session.cancel().await?;
        assert_eq!(session.finish(&turn).await?, "cancelled");
        stage.model.wait_abandoned(1).await?;
        let is_compaction = |it: &Value| match version {
            Version::V1 => it["title"] == "Compact the context",
            Version::V2 => it["sessionUpdate"] == "compaction_update",
        };
        let id = if version == Version::V1 { "toolCallId" } else { "compactionId" };
        let compaction =
            session.update("a compaction", turn.from, |it| is_compaction(it).then(|| it[id].clone())).await?;
        let end = |it: &Value| (it[id] == compaction).then(|| it["status"].clone());
        let last = client.look(|it| it.updates(&session.id, turn.from).filter_map(|(_, it)| end(it)).last());
        let ended = if version == Version::V1 { "failed" } else { "cancelled" };
        assert_eq!(last, Some(json!(ended)));
        assert!(!session.text(turn.from).contains("is compacted"), "{}", session.text(turn.from));
        session.at_rest().await?;
        works_on(stage, &session).await?;
        let request = stage.model.requests().pop().context("a request")?;
        assert!(request.body["input"].to_string().contains("remember 42"), "what was said is lost");
        client.end().await?;
        Ok(())
    })
    .await;
}

/// The reviewer's own command ends with it.
async fn during_a_review(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        stage.model.push(exec(format!("touch up; {}", forever("look"))).id("look").yield_ms(30_000));
        let turn = session.prompt("/review");
        stage.file("up").await?;
        session.until_running("look").await?;
        session.cancel().await?;
        assert_eq!(session.finish(&turn).await?, "cancelled");
        // Codex ends the reviewer's thread at once: whether it still tells of the end is chance.
        let ended = session.ended("look").await?;
        assert!(matches!(&ended, Ended::Unknown | Ended::Signal(_)), "{ended:?}");
        session.at_rest().await?;
        works_on(stage, &session).await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// A prompt that was to be steered into the turn, and that Codex has not taken yet, ends with it.
async fn with_a_steered_prompt(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let script = Script::new().step((Action::gate("never"), say("never said")));
        let turn = session.prompt(&script.prompt("go"));
        stage.model.wait_gate("never").await?;
        let second = session.prompt(&Script::new().step(say("never said")).prompt("and this"));
        // Behind the prompt on the wire, so that the cancel finds it.
        session.cancel().await?;
        assert_eq!(session.finish(&turn).await?, "cancelled");
        gone_or_inserted(&session, &second).await?;
        session.at_rest().await?;
        works_on(stage, &session).await?;
        assert!(!session.text(turn.from).contains("never said"));
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Nothing can be steered into a review: what waits for its end is cancelled with it.
async fn with_a_held_prompt(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        stage.model.push((Action::gate("never"), say("never said")));
        let turn = session.prompt("/review");
        stage.model.wait_gate("never").await?;
        let held = session.prompt(&Script::new().step(say("never said")).prompt("and this"));
        session.cancel().await?;
        assert_eq!(session.finish(&turn).await?, "cancelled");
        gone(&session, &held).await?;
        session.at_rest().await?;
        works_on(stage, &session).await?;
        assert!(!session.text(turn.from).contains("never said"));
        client.end().await?;
        Ok(())
    })
    .await;
}

/// The prompt was cancelled, as its version says that: v2 has an error for one that was not inserted.
async fn gone(session: &Session<'_>, turn: &Turn) -> anyhow::Result<()> {
    match session.client.outcome(turn.answer).await? {
        Ok(answer) => assert_eq!(answer["stopReason"], "cancelled", "{answer}"),
        Err(error) => assert_eq!(error["code"], -32800, "{error}"),
    }
    Ok(())
}

/// As `gone`; or in v2 inserted before, for Codex takes what is steered at a time of its own.
async fn gone_or_inserted(session: &Session<'_>, turn: &Turn) -> anyhow::Result<()> {
    match session.client.outcome(turn.answer).await? {
        Ok(answer) if session.client.version == Version::V2 && answer["messageId"].is_string() => Ok(()),
        Ok(_) | Err(_) => gone(session, turn).await,
    }
}

/// The next prompt is answered, and by a turn of its own.
async fn works_on(stage: &Stage, session: &Session<'_>) -> anyhow::Result<()> {
    let before = stage.model.request_count();
    let after = session.turn(&Script::new().step(say("Here.")).prompt("still there?")).await?;
    assert!(session.text(after.from).ends_with("Here."), "{}", session.text(after.from));
    assert_eq!(stage.model.request_count(), before + 1, "more than the prompt went to the model");
    Ok(())
}

/// How often the client was told that a turn was cancelled.
fn n_cancelled(seen: &Seen, session: &str) -> usize {
    let answers = seen.wire.iter().filter(|it| it.body["result"]["stopReason"] == "cancelled").count();
    let states = seen.updates(session, 0).filter(|(_, it)| it["stopReason"] == "cancelled").count();
    answers + states
}

/// `$/cancel_request` of a prompt that runs is its `session/cancel` in v1; in v2 it is answered, and nothing is left of it.
async fn by_its_request(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let cmd = format!("touch up; {}", forever("build"));
        let script = Script::new().step(exec(cmd).id("build").yield_ms(30_000)).step(say("never said"));
        let turn = session.prompt(&script.prompt("build"));
        stage.file("up").await?;
        session.until_running("build").await?;
        let is_prompt = |body: &Value| (body["method"] == "session/prompt").then(|| body["id"].clone());
        let request = client.look(|it| it.wire.iter().filter_map(|it| is_prompt(&it.body)).last());
        let cancel = json!({"method": "$/cancel_request", "params": {"requestId": request}});
        client.call("notify", cancel).await?;
        if version == Version::V2 {
            session.cancel().await?;
        }
        assert_eq!(session.finish(&turn).await?, "cancelled");
        assert_eq!(session.ended("build").await?, Ended::Signal("SIGTERM".to_owned()));
        session.at_rest().await?;
        session.turn(&Script::new().step(say("Here.")).prompt("still there?")).await?;
        client.end().await?;
        Ok(())
    })
    .await;
}
