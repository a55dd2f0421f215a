//! What a person sees of what the model does beside talking and running commands.

use anyhow::Context;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::model::{Action, Script, call, exec, say};

use crate::session::Session;
use crate::stage::{Casting, play, play_with};
use crate::tools::{asking, open_with_tools, tool};

in_both_versions!(
    a_search_and_an_image,
    a_tool_of_a_server,
    what_a_command_does,
    a_plan_with_its_reason,
    a_plan_that_is_talked_over,
    an_approval_reviewed,
);

/// A red pixel.
pub(crate) const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/// Everything that was told of the calls for which `is_it` holds, folded: the last word on each field counts.
fn calls(session: &Session<'_>, from: usize) -> Vec<Value> {
    let mut calls: Vec<Value> = Vec::new();
    session.client.look(|it| {
        for (_, update) in it.updates(&session.id, from) {
            let (Some(id), Some(fields)) = (update["toolCallId"].as_str(), update.as_object()) else {
                continue;
            };
            let call = match calls.iter_mut().find(|it| it["toolCallId"] == id) {
                Some(call) => call,
                None => {
                    calls.push(json!({}));
                    calls.last_mut().expect("one was pushed")
                }
            };
            for (name, value) in fields {
                call[name] = value.clone();
            }
        }
    });
    calls
}

/// The one call whose title begins so.
pub(crate) fn titled(session: &Session<'_>, from: usize, title: &str) -> Value {
    let all = calls(session, from);
    let mut its = all.iter().filter(|it| it["title"].as_str().is_some_and(|it| it.starts_with(title)));
    match (its.next(), its.next()) {
        (Some(call), None) => call.clone(),
        (Some(_), Some(_)) | (None, _) => panic!("not one call {title:?} in {all:#?}"),
    }
}

async fn a_search_and_an_image(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let path = stage.home.workspace().join("pixel.png");
        std::fs::write(&path, STANDARD.decode(PIXEL)?)?;
        let search = json!({
            "type": "web_search_call", "id": "ws_1", "status": "completed",
            "action": {"type": "search", "query": "how to park", "queries": ["how to park"]},
        });
        let script = Script::new()
            .step((Action::item(search), call("view_image", json!({"path": path})).id("look")))
            .step(say("Seen."));
        let turn = session.turn(&script.prompt("look")).await?;
        let from = turn.from;
        let search = titled(&session, from, "Search the web for how to park");
        assert_eq!((&search["kind"], &search["status"]), (&json!("fetch"), &json!("completed")), "{search}");
        let view = titled(&session, from, "View ");
        assert_eq!((&view["kind"], &view["status"]), (&json!("read"), &json!("completed")), "{view}");
        assert_eq!(view["locations"], json!([{"path": path}]), "{view}");
        client.end().await?;
        Ok(())
    })
    .await;
}

/// How far the tool is, its server says; Codex 0.171.0 keeps that to itself.
async fn a_tool_of_a_server(version: Version) {
    play_with(asking, async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = open_with_tools(stage, &client, &[]).await?;
        let script = Script::new().step(tool("paint", "paint")).step(tool("list", "list")).step(say("Done."));
        let turn = session.turn(&script.prompt("paint")).await?;
        let call = titled(&session, turn.from, "paint (tools)");
        let content = &call["content"];
        assert_eq!(content[0]["content"]["text"], "painted", "{call}");
        let image = json!({"type": "image", "data": PIXEL, "mimeType": "image/png"});
        assert_eq!(content[1]["content"], image, "{call}");
        let call = titled(&session, turn.from, "list (tools)");
        // A sound Codex itself leaves out, where the model cannot hear it.
        let text = call["content"][0]["content"]["text"].as_str().unwrap_or_default();
        assert!(text.starts_with("[a.md](file:///x/a.md)\nits text\n") && text.contains("audio"), "{call}");
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn what_a_command_does(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        std::fs::create_dir_all(stage.home.workspace().join("src/deep"))?;
        let file = stage.home.workspace().join("src/main.rs");
        std::fs::write(&file, "fn main() {}\n")?;
        let script = Script::new()
            .step(exec("cat src/main.rs").id("read"))
            .step(exec("rg main src").id("search"))
            .step(exec("ls src").id("list"))
            .step(exec("true && echo 1").id("run"))
            .step(exec("nl -ba src/main.rs | sed -n '1,7p'").id("lines"))
            .step(exec("rg main src/deep; true").id("deep"))
            .step(exec("cd src && ls deep").id("cd"))
            .step(
                exec("sed -n 3p main.rs")
                    .workdir(stage.home.workspace().join("src").display().to_string())
                    .id("workdir"),
            )
            .step(say("Read."));
        let turn = session.turn(&script.prompt("read")).await?;
        let all = calls(&session, turn.from);
        let told: Vec<_> = all.iter().map(|it| (it["title"].clone(), it["kind"].clone())).collect();
        let expected = [
            ("Read src/main.rs", "read"),
            ("Search src for main", "search"),
            ("List src", "search"),
            ("true && echo 1", "execute"),
            ("Read src/main.rs", "read"),
            ("Search src/deep for main", "search"),
            ("List deep", "search"),
            ("Read main.rs", "read"),
        ];
        assert_eq!(told, expected.map(|(title, kind)| (json!(title), json!(kind))));
        let place = |n: usize| {
            let places = all[n]["locations"].as_array().cloned().unwrap_or_default();
            places.iter().map(|it| (it["path"].clone(), it["line"].as_u64())).collect::<Vec<_>>()
        };
        let src = json!(stage.home.workspace().join("src"));
        assert_eq!(place(0), [(json!(file), None)]);
        assert_eq!((place(1), place(2)), (vec![(src.clone(), None)], vec![(src, None)]));
        assert_eq!((place(4), place(7)), (vec![(json!(file), Some(1))], vec![(json!(file), Some(3))]));
        // Codex names `deep` alone, and follows no `cd` for what is listed.
        assert_eq!(place(6), []);
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn a_plan_with_its_reason(version: Version) {
    play_with(
        |config| config.tables("[tools.update_plan]\nenabled = true"),
        async |stage| {
            let client = stage.client(Casting::of(version)).await?;
            let session = stage.open(&client).await?;
            let plan = json!({
                "explanation": "The lock comes first.",
                "plan": [{"step": "Lock", "status": "in_progress"}, {"step": "Write", "status": "pending"}],
            });
            let script = Script::new().step(call("update_plan", plan).id("plan")).step(say("Planned."));
            let turn = session.turn(&script.prompt("plan")).await?;
            let is_plan = |it: &Value| matches!(it["sessionUpdate"].as_str(), Some("plan" | "plan_update"));
            let plan = session.update("a plan", turn.from, |it| is_plan(it).then(|| it.to_string())).await?;
            assert!(plan.contains("Lock") && plan.contains("in_progress"), "{plan}");
            let is_reason = |it: &Value| {
                let text =
                    it["content"]["text"].as_str().filter(|_| it["sessionUpdate"] == "agent_thought_chunk");
                text.map(str::to_owned)
            };
            let reason = session.update("the reason", turn.from, is_reason).await?;
            assert_eq!(reason, "The lock comes first.");
            client.end().await?;
            Ok(())
        },
    )
    .await;
}

/// The text of a plan, between what is said around it; in a replay, too.
async fn a_plan_that_is_talked_over(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let said = "Before.\n<proposed_plan>\n# Plan\n1. one\n2. two\n</proposed_plan>\nAfter.";
        let script = Script::new().step(say(said));
        let turn = session.prompt(&format!("/plan {}", script.prompt("the move")));
        session.finish(&turn).await?;
        let live = messages(&session, turn.from);
        let texts: Vec<&str> = live.iter().map(|(_, text)| text.trim()).collect();
        assert_eq!(texts, ["Before.\nAfter.", "# Plan\n1. one\n2. two"], "{live:?}");
        session.close().await?;
        let from = client.look(|it| it.wire.len());
        let args = json!({"sessionId": session.id, "cwd": stage.home.workspace(), "replay": true});
        client.call("resume", args).await?;
        assert_eq!(messages(&session, from), live);
        client.end().await?;
        Ok(())
    })
    .await;
}

/// The agent's messages in the order in which they began, by their ids.
fn messages(session: &Session<'_>, from: usize) -> Vec<(String, String)> {
    let mut messages: Vec<(String, String)> = Vec::new();
    session.client.look(|it| {
        for (_, update) in it.updates(&session.id, from) {
            let (Some(id), "agent_message_chunk") =
                (update["messageId"].as_str(), update["sessionUpdate"].as_str().unwrap_or_default())
            else {
                continue;
            };
            let text = update["content"]["text"].as_str().unwrap_or_default();
            match messages.iter_mut().find(|(known, _)| known == id) {
                Some((_, all)) => all.push_str(text),
                None => messages.push((id.to_owned(), text.to_owned())),
            }
        }
    });
    messages
}

async fn an_approval_reviewed(version: Version) {
    play_with(
        |config| asking(config).top("approvals_reviewer = \"auto_review\""),
        async |stage| {
            let client = stage.client(Casting::of(version)).await?;
            let session = stage.open(&client).await?;
            let escalated = exec("echo 1 > made; cat made")
                .id("asked")
                .arg("sandbox_permissions", "require_escalated")
                .arg("justification", "The test wants it.");
            let verdict = json!({
                "risk_level": "low", "user_authorization": "high", "outcome": "allow", "rationale": "It was asked for.",
            });
            let script = Script::new().step(escalated).step(say("Made."));
            stage.model.push(say(verdict.to_string()));
            let turn = session.turn(&script.prompt("make it")).await?;
            let review = titled(&session, turn.from, "Approved by review: ");
            assert_eq!(review["status"], "completed", "{review}");
            stage.file("made").await.context("it ran")?;
            client.end().await?;
            Ok(())
        },
    )
    .await;
}
