//! Goals that the model sets and messages that wait in Codex's queue: listed, stopped, brought back.

use std::process::Stdio;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::model::{Action, Script, call, say};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::ends::kill_app_server;
use crate::session::{Session, is_end};
use crate::stage::{Casting, Stage, play};

in_both_versions!(
    reached,
    cut_off_and_taken_up,
    closed,
    set_in_the_moment_of_a_close,
    back_after_a_crash,
    whose_turn_fails,
    queued
);

/// A script whose turn sets a goal; what is added to it comes in the turns after that.
fn goal_setter() -> Script {
    Script::new().step(call("create_goal", json!({"objective": "All green"}))).step(say("I am at it."))
}

/// Sets a goal whose first own turn stands at a gate.
fn held_goal(gate: &str) -> String {
    goal_setter().step((Action::gate(gate), say("never said"))).prompt("make it green")
}

/// The id of the newest call with this title.
async fn call_of(session: &Session<'_>, title: &str, from: usize) -> anyhow::Result<String> {
    let pick = |it: &Value| (it["title"] == title).then(|| it["toolCallId"].as_str().map(str::to_owned))?;
    session.update(title, from, pick).await
}

async fn until_listed(session: &Session<'_>, calls: &[&str]) -> anyhow::Result<()> {
    let wanted: Vec<String> = calls.iter().map(|id| format!("tool_call:{id}")).collect();
    let is_so = |it: &crate::seen::Seen| match session.client.version {
        Version::V1 => calls.iter().all(|id| it.belief.is_running(&session.id, id) == Some(true)),
        Version::V2 => it.belief.listed(&session.id) == wanted,
    };
    session.client.wait(&format!("the list {calls:?}"), |it| is_so(it).then_some(())).await
}

/// The text that the last update of a call ends with.
fn last_line(session: &Session<'_>, call: &str) -> String {
    session.client.look(|it| {
        let updates = it.updates(&session.id, 0).filter(|(_, it)| it["toolCallId"] == call);
        let content = updates.filter_map(|(_, it)| it["content"].as_array()?.last().cloned()).last();
        content.unwrap_or_default()["content"]["text"].as_str().unwrap_or_default().to_owned()
    })
}

fn cancelled(version: Version) -> &'static str {
    if version == Version::V1 { "failed" } else { "cancelled" }
}

async fn cancel_call(session: &Session<'_>, call: &str) -> anyhow::Result<()> {
    let args = json!({"sessionId": session.id, "toolCallId": call});
    let answer = session.client.call("cancelTool", args).await?;
    ensure!(answer == json!({}), "tool_call/cancel answered {answer}");
    Ok(())
}

/// The model sets a goal, goes on by itself, and reaches it.
async fn reached(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let script = goal_setter()
            .step((Action::gate("work"), say("One step.")))
            .step(call("update_goal", json!({"status": "complete"})))
            .step(say("It is green."));
        let turn = session.turn(&script.prompt("make it green")).await?;
        let goal = call_of(&session, "Goal: All green", turn.from).await?;
        stage.model.wait_gate("work").await?;
        until_listed(&session, &[&goal]).await?;
        stage.model.open("work");
        assert_eq!(session.final_status(&goal).await?, "completed");
        let said = |it: &Value| {
            it["content"]["text"].as_str().is_some_and(|it| it.contains("It is green.")).then_some(())
        };
        session.update("the last word", turn.from, said).await?;
        assert_eq!(last_line(&session, &goal), "Reached.");
        session.until_listed(&[]).await?;
        let after = session.turn(&Script::new().step(say("Fine.")).prompt("thanks")).await?;
        assert!(session.text(after.from).contains("Fine."));
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// No prompt waits for the goal's own turn: that it failed is said all the same, with Codex's words.
async fn whose_turn_fails(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let error = json!({"error": {"message": "scripted", "type": "x", "code": "model_not_found"}});
        let script = goal_setter().step(Action::http_body(404, error));
        let turn = session.turn(&script.prompt("make it green")).await?;
        let goal = call_of(&session, "Goal: All green", turn.from).await?;
        assert_eq!(session.final_status(&goal).await?, "failed");
        let says = |it: &Value| it.to_string().contains("does not exist").then(|| it.clone());
        let said = session.update("why it failed", turn.from, says).await?;
        match version {
            Version::V1 => assert_eq!(said["sessionUpdate"], "agent_message_chunk", "{said}"),
            Version::V2 => assert_eq!(said["error"]["data"]["codexErrorInfo"], "modelNotFound", "{said}"),
        }
        session.until_listed(&[]).await?;
        let after = session.turn(&Script::new().step(say("Fine.")).prompt("and now?")).await?;
        assert!(session.text(after.from).contains("Fine."));
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn cancelled_in_mid_turn() {
    play(async |stage| {
        let client = stage.client(Casting::v2()).await?;
        let session = stage.open(&client).await?;
        let turn = session.turn(&held_goal("never")).await?;
        let goal = call_of(&session, "Goal: All green", turn.from).await?;
        stage.model.wait_gate("never").await?;
        let from = client.look(|it| it.wire.len());
        cancel_call(&session, &goal).await?;
        let end = |it: &Value| is_end(it).then(|| it["stopReason"].clone());
        assert_eq!(session.update("end of the goal's turn", from, end).await?, "cancelled");
        assert_eq!(session.final_status(&goal).await?, "cancelled");
        assert_eq!(last_line(&session, &goal), "Stopped by you.");
        session.until_listed(&[]).await?;
        session.at_rest().await?;
        // It is gone for good: the model may set another one.
        let n = stage.model.request_count();
        let turn = session.turn(&held_goal("again")).await?;
        let another = call_of(&session, "Goal: All green", turn.from).await?;
        assert_ne!(another, goal);
        stage.model.wait_gate("again").await?;
        assert_eq!(stage.model.request_count(), n + 3, "two of the prompt and one of the new goal");
        cancel_call(&session, &another).await?;
        assert_eq!(session.final_status(&another).await?, "cancelled");
        session.until_listed(&[]).await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// `session/cancel` ends the turn; the goal goes on after the next prompt.
async fn cut_off_and_taken_up(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let turn = session.turn(&held_goal("one")).await?;
        let goal = call_of(&session, "Goal: All green", turn.from).await?;
        stage.model.wait_gate("one").await?;
        session.cancel().await?;
        let waits = "Its turn was cut off: Codex goes on with it after the next turn.";
        let is_it = |it: &Value| {
            it["content"].as_array()?.iter().any(|it| it["content"]["text"] == waits).then_some(())
        };
        session.update("the goal waits", turn.from, is_it).await?;
        if version == Version::V2 {
            let end = |it: &Value| (it["stopReason"] == "cancelled").then_some(());
            session.update("the end of its turn", turn.from, end).await?;
        }
        until_listed(&session, &[&goal]).await?;
        let script = Script::new()
            .step(say("Hello."))
            .step(call("update_goal", json!({"status": "blocked"})))
            .step(say("It does not work."));
        session.turn(&script.prompt("hello")).await?;
        assert_eq!(session.final_status(&goal).await?, "failed");
        assert_eq!(last_line(&session, &goal), "Blocked: Codex cannot go on with it.");
        session.until_listed(&[]).await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// After a close nothing runs, also when the session is opened again.
async fn closed(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let turn = session.turn(&held_goal("one")).await?;
        let goal = call_of(&session, "Goal: All green", turn.from).await?;
        stage.model.wait_gate("one").await?;
        session.close().await?;
        assert_eq!(session.final_status(&goal).await?, cancelled(version));
        assert_eq!(last_line(&session, &goal), "Paused with its session.");
        stage.model.wait_abandoned(1).await?;
        let n = stage.model.request_count();
        let args = json!({"sessionId": session.id, "cwd": stage.home.workspace(), "replay": false});
        client.call("resume", args).await?;
        session.until_listed(&[]).await?;
        session.turn(&Script::new().step(say("Here.")).prompt("there?")).await?;
        assert_eq!(stage.model.request_count(), n + 1, "only the prompt asked the model");
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Waits until `/goal` has shown this goal as paused.
async fn assert_paused(session: &Session<'_>, goal: &str) -> anyhow::Result<()> {
    let shown = session.prompt("/goal");
    let is_shown = |it: &Value| {
        let text = it.to_string();
        text.contains(goal).then(|| text.contains("paused"))
    };
    let is_paused = session.update(goal, shown.from, is_shown).await?;
    ensure!(is_paused, "{goal} is not paused");
    Ok(())
}

/// A close, and the end of the client, in the moment in which the user sets a goal: it does not go on.
async fn set_in_the_moment_of_a_close(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        session.prompt("/goal All green");
        session.close().await?;
        let back = json!({"sessionId": session.id, "cwd": stage.home.workspace()});
        client.call("resume", back.clone()).await?;
        assert_paused(&session, "All green").await?;
        session.turn("/goal clear").await?;
        session.prompt("/goal All blue");
        let id = session.id.clone();
        client.end().await?;

        let client = stage.client(Casting::of(version)).await?;
        client.call("resume", back).await?;
        let session = Session { client: &client, id };
        assert_paused(&session, "All blue").await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// The app-server dies under a goal; the next prompt brings it back.
async fn back_after_a_crash(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let turn = session.turn(&held_goal("one")).await?;
        let goal = call_of(&session, "Goal: All green", turn.from).await?;
        stage.model.wait_gate("one").await?;
        kill_app_server(stage)?;
        assert_eq!(session.final_status(&goal).await?, "failed");
        let from = client.look(|it| it.wire.len());
        // Codex takes the goal up by itself, with or before the prompt.
        let script = Script::new().step((Action::gate("two"), say("x")));
        session.prompt(&script.prompt("go on"));
        let again = call_of(&session, "Goal: All green", from).await?;
        assert_eq!(again, format!("{goal}#2"));
        stage.model.wait_gate("two").await?;
        until_listed(&session, &[&again]).await?;
        session.close().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Two messages were queued before we came: one is started, the other waits, and is taken out (v1: started).
async fn queued(version: Version) {
    play(async |stage| {
        let thread = queue_up(stage).await?;
        let client = stage.client(Casting::of(version)).await?;
        let args = json!({"sessionId": thread, "cwd": stage.home.workspace(), "replay": false});
        client.call("resume", args).await?;
        let session = Session { client: &client, id: thread };
        let waiting = call_of(&session, "Queued: second", 0).await?;
        stage.model.wait_gate("first").await?;
        until_listed(&session, &[&waiting]).await?;
        match version {
            Version::V1 => {
                stage.model.open("first");
                assert_eq!(session.final_status(&waiting).await?, "completed");
                let text = |it: &Value| it["content"]["text"].as_str()?.contains("Second.").then_some(());
                session.update("its answer", 0, text).await?;
            }
            Version::V2 => {
                cancel_call(&session, &waiting).await?;
                assert_eq!(session.final_status(&waiting).await?, "cancelled");
                session.until_listed(&[]).await?;
                let n = stage.model.request_count();
                stage.model.open("first");
                session.update("end of the first", 0, |it| is_end(it).then_some(())).await?;
                session.turn(&Script::new().step(say("Here.")).prompt("there?")).await?;
                assert_eq!(stage.model.request_count(), n + 1, "only the prompt asked the model");
            }
        }
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Another client of Codex starts a thread, queues two messages behind a turn, and is killed.
async fn queue_up(stage: &Stage) -> anyhow::Result<String> {
    let mut codex = Other::start(stage)?;
    let info = json!({"name": "other", "title": "other", "version": "0"});
    codex.ask("initialize", json!({"clientInfo": info, "capabilities": {"experimentalApi": true}})).await?;
    let opened = codex.ask("thread/start", json!({"cwd": stage.home.workspace()})).await?;
    let thread = opened["thread"]["id"].as_str().context("a thread has an id")?.to_owned();
    let input = |text: String| json!([{"type": "text", "text": text}]);
    let script = Script::new().step((Action::gate("never"), say("never said")));
    codex.ask("turn/start", json!({"threadId": thread, "input": input(script.prompt("go"))})).await?;
    stage.model.wait_gate("never").await?;
    let first = Script::new().step((Action::gate("first"), say("First."))).prompt("first");
    let second = format!("second\n{}", Script::new().step(say("Second.")).prompt("in more lines"));
    for (key, text) in [("k1", first), ("k2", second)] {
        let params = json!({"threadId": thread, "clientUserMessageId": key, "input": input(text)});
        codex.ask("thread/queue/add", params).await?;
    }
    codex.child.kill().await?;
    Ok(thread)
}

/// An app-server with another client than ours.
struct Other {
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    n: u32,
}

impl Other {
    fn start(stage: &Stage) -> anyhow::Result<Self> {
        let mut child = Command::new(stage.codex_binary())
            .arg("app-server")
            .env_clear()
            .envs(stage.home.env())
            .current_dir(stage.home.workspace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let input = child.stdin.take().context("stdin is a pipe")?;
        let lines = BufReader::new(child.stdout.take().context("stdout is a pipe")?).lines();
        Ok(Self { child, input, lines, n: 0 })
    }

    async fn ask(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.n += 1;
        let line = json!({"id": self.n, "method": method, "params": params}).to_string();
        self.input.write_all(format!("{line}\n").as_bytes()).await?;
        let answered = async {
            while let Some(line) = self.lines.next_line().await? {
                let message: Value = serde_json::from_str(&line)?;
                if message["id"] == self.n && message.get("method").is_none() {
                    ensure!(message["error"].is_null(), "{method}: {message}");
                    return Ok(message["result"].clone());
                }
            }
            anyhow::bail!("no answer to {method}")
        };
        tokio::time::timeout(testkit::PATIENCE, answered).await?
    }
}
