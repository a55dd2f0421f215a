//! `session/cancel` while the model does nothing but wait: Codex leaves such an item open, and it is closed here.

use anyhow::Context;
use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::home::Config;
use testkit::model::{Action, Script, call, custom, exec, found_text, say};

use crate::session::Session;
use crate::stage::{Casting, Stage, forever, play_with};
use crate::tools::asking;

in_both_versions!(
    a_sleep,
    a_subagent_that_is_waited_for,
    a_cell_of_code,
    a_file_change_that_is_made,
    an_outage,
    a_review_of_an_approval,
);

/// Cancels the turn in which the call `sign` is open, and sees it closed, and the next prompt answered.
async fn cancelled(stage: &Stage, session: &Session<'_>, script: &Script, sign: &str) -> anyhow::Result<()> {
    let turn = session.prompt(&script.prompt("wait"));
    let open = |it: &Value| {
        let is_it = it["title"].as_str().is_some_and(|it| it.starts_with(sign));
        (is_it && it["status"] == "in_progress").then(|| it["toolCallId"].as_str().map(str::to_owned))?
    };
    let id = session.update(sign, turn.from, open).await?;
    session.cancel().await?;
    assert_eq!(session.finish(&turn).await?, "cancelled");
    let status = if session.client.version == Version::V1 { "failed" } else { "cancelled" };
    assert_eq!(session.final_status(&id).await?, status, "{sign}");
    let ends = session.client.look(|it| {
        let is_end = |it: &Value| it["toolCallId"] == *id && it["status"] == status;
        it.updates(&session.id, turn.from).filter(|(_, it)| is_end(it)).count()
    });
    assert_eq!(ends, 1, "{sign} ended more than once");
    let before = stage.model.request_count();
    let after = session.turn(&Script::new().step(say("Here.")).prompt("still there?")).await?;
    assert!(session.text(after.from).ends_with("Here."), "{}", session.text(after.from));
    assert_eq!(stage.model.request_count(), before + 1, "more than the prompt went to the model");
    Ok(())
}

async fn a_sleep(version: Version) {
    let config = |config: Config| config.model("gpt-6.2-sol");
    play_with(config, async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let sleep = call("sleep", json!({"duration_ms": 3_600_000})).namespace("clock");
        let script = Script::new().step(sleep).step(say("never said"));
        cancelled(stage, &session, &script, "Wait 3600 s").await?;
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// The subagent works on: only the wait ends.
async fn a_subagent_that_is_waited_for(version: Version) {
    let config = |config: Config| config.model("unknown-x");
    play_with(config, async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let child = Script::new().step((Action::gate("child"), say("child is done")));
        let spawn = json!({"message": child.prompt("child task")});
        let targets =
            json!({"targets": [found_text(r#""agent_id":\s*"([0-9a-f-]+)""#)], "timeout_ms": 3_600_000});
        let script = Script::new()
            .step(call("spawn_agent", spawn).namespace("multi_agent_v1"))
            .step(call("wait_agent", targets).namespace("multi_agent_v1"))
            .step(say("never said"));
        cancelled(stage, &session, &script, "Wait for").await?;
        stage.model.open("child");
        session.at_rest().await?;
        session.close().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// A cell is no item: the command that it runs is, and ends with the turn.
async fn a_cell_of_code(version: Version) {
    let config = |config: Config| config.model("gpt-6.2-sol");
    play_with(config, async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let js = format!(
            "const r = await tools.exec_command({}); text(r);",
            json!({"cmd": format!("touch up; {}", forever("cell")), "yield_time_ms": 30_000})
        );
        let script = Script::new().step(testkit::model::exec_code(&js)).step(say("never said"));
        let turn = session.prompt(&script.prompt("run"));
        stage.file("up").await?;
        session.until_announced(turn.from, 1).await?;
        session.cancel().await?;
        assert_eq!(session.finish(&turn).await?, "cancelled");
        session.until_dead().await?;
        session.at_rest().await?;
        let after = session.turn(&Script::new().step(say("Here.")).prompt("still there?")).await?;
        assert!(session.text(after.from).ends_with("Here."), "{}", session.text(after.from));
        client.end().await?;
        Ok(())
    })
    .await;
}

/// The cancel comes while it is made: it is whole or not there, and told as it is.
async fn a_file_change_that_is_made(version: Version) {
    play_with(
        |config| config,
        async |stage| {
            let client = stage.client(Casting::of(version)).await?;
            let session = stage.open(&client).await?;
            let lines: String = (0..50_000).map(|n| format!("+line {n}\n")).collect();
            let patch = format!("*** Begin Patch\n*** Add File: new.txt\n{lines}*** End Patch");
            let script = Script::new()
                .step(Action::from(custom("apply_patch", patch).id("patch")))
                .step((Action::gate("never"), say("never said")));
            let turn = session.prompt(&script.prompt("write"));
            let begins = |it: &Value| (it["toolCallId"] == "patch").then_some(());
            session.update("the change", turn.from, begins).await?;
            session.cancel().await?;
            assert_eq!(session.finish(&turn).await?, "cancelled");
            let status = session.final_status("patch").await?;
            let made = std::fs::read_to_string(stage.home.workspace().join("new.txt")).ok();
            match (status.as_str(), &made) {
                ("completed", Some(text)) => assert!(text.ends_with("line 49999\n"), "half of it"),
                ("cancelled" | "failed", _) => {}
                other => anyhow::bail!("told as {other:?}"),
            }
            session.at_rest().await?;
            let after = session.turn(&Script::new().step(say("Here.")).prompt("still there?")).await?;
            let text = session.text(after.from);
            anyhow::ensure!(text.ends_with("Here."), "{text}");
            client.end().await.context("the client ends")?;
            Ok(())
        },
    )
    .await;
}

/// Codex waits longer and longer between its tries; the cancel ends that at once.
async fn an_outage(version: Version) {
    play_with(
        |config| config.stream_retries(100),
        async |stage| {
            let client = stage.client(Casting::of(version)).await?;
            let session = stage.open(&client).await?;
            let script = (0..100).fold(Script::new(), |script, _| script.step(Action::Cut));
            let turn = session.prompt(&script.prompt("go"));
            let is_out = |it: &Value| it.to_string().contains("Codex tries again").then_some(());
            session.update("the outage", turn.from, is_out).await?;
            session.cancel().await?;
            assert_eq!(session.finish(&turn).await?, "cancelled");
            session.at_rest().await?;
            let before = stage.model.request_count();
            let after = session.turn(&Script::new().step(say("Here.")).prompt("still there?")).await?;
            assert!(session.text(after.from).ends_with("Here."), "{}", session.text(after.from));
            assert_eq!(stage.model.request_count(), before + 1, "it still tries");
            client.end().await?;
            Ok(())
        },
    )
    .await;
}

/// Codex's own reviewer looks at what the model wants to do, and is not done: nothing of it is done.
async fn a_review_of_an_approval(version: Version) {
    play_with(
        |config| asking(config).top("approvals_reviewer = \"auto_review\""),
        async |stage| {
            let client = stage.client(Casting::of(version)).await?;
            let session = stage.open(&client).await?;
            let escalated = exec("touch made")
                .id("asked")
                .arg("sandbox_permissions", "require_escalated")
                .arg("justification", "The test wants it.");
            stage.model.push((Action::gate("never"), say("never said")));
            let script = Script::new().step(escalated).step(say("never said"));
            let turn = session.prompt(&script.prompt("make it"));
            stage.model.wait_gate("never").await?;
            session.cancel().await?;
            assert_eq!(session.finish(&turn).await?, "cancelled");
            session.at_rest().await?;
            let after = session.turn(&Script::new().step(say("Here.")).prompt("still there?")).await?;
            assert!(session.text(after.from).ends_with("Here."), "{}", session.text(after.from));
            assert!(!stage.home.workspace().join("made").exists(), "it ran");
            client.end().await?;
            Ok(())
        },
    )
    .await;
}
