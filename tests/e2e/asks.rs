//! What the real Codex asks besides approvals of commands: more permissions, questions, secrets.

use anyhow::Context;
use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::home::Config;
use testkit::model::{Call, Script, call, exec, say};

use crate::session::Session;
use crate::shown::titled;
use crate::stage::{Casting, Stage, play_with};

in_both_versions!(
    more_permissions_for_the_turn,
    more_permissions_for_the_session,
    more_permissions_with_reviews,
    more_permissions_refused,
    a_question_in_a_form,
    a_question_in_buttons,
    a_secret,
    questions_that_nothing_waits_for,
);

fn asking(config: Config) -> Config {
    config
        .approval_policy("on-request")
        .sandbox_mode("read-only")
        .feature("request_permissions_tool = true")
        .feature("default_mode_request_user_input = true")
}

/// With forms in both versions.
fn with_forms(version: Version) -> Casting {
    let mut capabilities = json!({"elicitation": {"form": {}, "url": {}}});
    if version == Version::V1 {
        capabilities["_meta"] = json!({"terminal_output": true});
    }
    Casting::of(version).capabilities(capabilities)
}

/// To write in `sub` of the workspace, which the sandbox forbids.
fn permission(stage: &Stage) -> anyhow::Result<Call> {
    let dir = stage.home.workspace().join("sub");
    std::fs::create_dir_all(&dir)?;
    let wanted = json!({"file_system": {"write": [dir]}});
    let args = json!({"reason": "It is where the build writes.", "permissions": wanted});
    Ok(call("request_permissions", args).id("permissions"))
}

/// What the model was told of its call.
fn told(stage: &Stage, id: &str) -> anyhow::Result<String> {
    let requests = stage.model.requests();
    let inputs = requests.iter().flat_map(|it| it.body["input"].as_array().into_iter().flatten());
    let outputs = inputs.filter(|it| it["call_id"] == id && it["type"] == "function_call_output");
    let output = outputs.last().with_context(|| format!("the model was told nothing of {id}"))?;
    Ok(output["output"].as_str().unwrap_or_default().to_owned())
}

/// The first request of this method, as the client got it.
async fn asked(session: &Session<'_>, method: &str) -> anyhow::Result<Value> {
    let is_it = |body: &Value| (body["method"] == method).then(|| body["params"].clone());
    session.client.wait(method, |it| it.wire.iter().find_map(|it| is_it(&it.body))).await
}

async fn policy(session: &Session<'_>, kind: &str) -> anyhow::Result<()> {
    session.client.call("answer", json!({"permission": kind})).await.map(drop)
}

fn touch(id: &str) -> Script {
    Script::new().step(exec(format!("touch sub/{id}")).id(id).yield_ms(30_000)).step(say("Tried."))
}

async fn more_permissions_for_the_turn(version: Version) {
    play_with(asking, async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        policy(&session, "allow_once").await?;
        let script = Script::new()
            .step(permission(stage)?)
            .step(exec("touch sub/made").id("made").yield_ms(30_000))
            .step(say("Tried."));
        session.turn(&script.prompt("make")).await?;
        let ask = asked(&session, "session/request_permission").await?.to_string();
        for word in ["It is where the build writes.", "Read and write", "/sub"] {
            assert!(ask.contains(word), "no word of {word:?}: {ask}");
        }
        assert!(told(stage, "permissions")?.contains("\"scope\":\"turn\""));
        assert!(stage.home.workspace().join("sub/made").exists(), "the permission is not in force");
        assert_eq!(session.final_status("permissions").await?, "completed");
        session.turn(&touch("later").prompt("again")).await?;
        assert!(!stage.home.workspace().join("sub/later").exists(), "it outlives its turn");
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn more_permissions_for_the_session(version: Version) {
    play_with(asking, async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        policy(&session, "allow_always").await?;
        let script = Script::new().step(permission(stage)?).step(say("Thanks."));
        session.turn(&script.prompt("ask")).await?;
        assert!(told(stage, "permissions")?.contains("\"scope\":\"session\""));
        session.turn(&touch("later").prompt("make")).await?;
        assert!(stage.home.workspace().join("sub/later").exists(), "it does not outlive its turn");
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Codex's own reviewer looks at the next command of the turn, which then runs as it was granted.
async fn more_permissions_with_reviews(version: Version) {
    play_with(asking, async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        policy(&session, "Grant for this turn, with each further command of it reviewed by Codex").await?;
        let script = Script::new()
            .step(permission(stage)?)
            .step(exec("touch sub/made").id("made").yield_ms(30_000))
            .step(say("Tried."));
        session.turn(&script.prompt("make")).await?;
        let ask = asked(&session, "session/request_permission").await?;
        let options = ask["options"].as_array().context("there are options")?;
        let kinds: Vec<_> = options.iter().map(|it| it["kind"].as_str().unwrap_or_default()).collect();
        assert_eq!(kinds, ["allow_once", "allow_once", "allow_always", "reject_once"]);
        let told = told(stage, "permissions")?;
        assert!(told.contains("\"strict_auto_review\":true"), "{told}");
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn more_permissions_refused(version: Version) {
    play_with(asking, async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        for (answer, call) in [("reject_once", "permissions"), ("cancelled", "permissions#2")] {
            policy(&session, answer).await?;
            let script = Script::new()
                .step(permission(stage)?)
                .step(exec("touch sub/made").id(answer).yield_ms(30_000))
                .step(say("Tried."));
            session.turn(&script.prompt("make")).await?;
            let told = told(stage, "permissions")?;
            assert!(told.contains("\"file_system\":null"), "{answer}: {told}");
            assert!(!stage.home.workspace().join("sub/made").exists(), "{answer} is no grant");
            let is_v2_dismissal = (version, answer) == (Version::V2, "cancelled");
            let expected = if is_v2_dismissal { "cancelled" } else { "failed" };
            assert_eq!(session.final_status(call).await?, expected, "{answer}");
        }
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

fn question(secret: bool) -> Call {
    let options = json!([{"label": "A", "description": "first"}, {"label": "B", "description": "second"}]);
    let question = json!({"id": "q", "header": "Pick", "question": "Which one?", "options": options});
    let mut questions = json!({"questions": [question]});
    questions["questions"][0]["isSecret"] = json!(secret);
    call("request_user_input", questions).id("question")
}

async fn a_question_in_a_form(version: Version) {
    play_with(asking, async |stage| {
        let client = stage.client(with_forms(version)).await?;
        let session = stage.open(&client).await?;
        let answer = json!({"action": "accept", "content": {"q": "B", "q/other": "or C"}});
        client.call("answer", json!({"elicitation": answer})).await?;
        let script = Script::new().step(question(false)).step(say("Thanks."));
        session.turn(&script.prompt("ask")).await?;
        let form = asked(&session, "elicitation/create").await?;
        assert_eq!(form["requestedSchema"]["properties"]["q"]["oneOf"][1]["const"], "B", "{form}");
        let told = told(stage, "question")?;
        assert!(told.contains("\"B\"") && told.contains("or C"), "the model heard {told}");
        let shown = titled(&session, 0, "Ask the user");
        assert_eq!(shown["status"], "completed", "{shown}");
        let asked = "**Pick:** Which one?\n- A: first\n- B: second";
        assert_eq!(first_content(&session, "question"), asked);
        assert_eq!(shown["content"][0]["content"]["text"], format!("{asked}\n\n**Answer:** B, or C"));
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// The text in a call when it was told first.
fn first_content(session: &Session<'_>, call: &str) -> String {
    session.client.look(|it| {
        let mut its = it.updates(&session.id, 0).filter(|(_, it)| it["toolCallId"] == call);
        its.next()
            .and_then(|(_, it)| it["content"][0]["content"]["text"].as_str())
            .unwrap_or_default()
            .to_owned()
    })
}

/// A client without forms is asked by permissions, and dismisses one: the model goes on without an answer.
async fn a_question_in_buttons(version: Version) {
    play_with(asking, async |stage| {
        let mut casting = with_forms(version);
        casting.capabilities["elicitation"] = Value::Null;
        let client = stage.client(casting).await?;
        let session = stage.open(&client).await?;
        let (yes, no) = ("allow_once", "cancelled");
        for (answer, shown, status) in
            [(yes, "**Answer:** A", "completed"), (no, "*Not answered.*", "failed")]
        {
            policy(&session, answer).await?;
            let script = Script::new().step(question(false).id(answer)).step(say("Thanks."));
            session.turn(&script.prompt("ask")).await?;
            assert_eq!(session.final_status(answer).await?, status);
            let last = session.client.look(|it| {
                let its = it.updates(&session.id, 0).filter(|(_, it)| it["toolCallId"] == answer);
                its.last().map(|(_, it)| it["content"][0]["content"]["text"].clone())
            });
            let text = last.as_ref().and_then(Value::as_str).unwrap_or_default();
            assert!(text.starts_with("**Pick:** Which one?") && text.ends_with(shown), "{text}");
        }
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Nothing that the user could type goes anywhere: the question is not put, and everybody is told.
async fn a_secret(version: Version) {
    play_with(asking, async |stage| {
        let client = stage.client(with_forms(version)).await?;
        let session = stage.open(&client).await?;
        let script = Script::new().step(question(true)).step(say("Then not."));
        let turn = session.turn(&script.prompt("ask")).await?;
        let is_word = |it: &Value| it.to_string().contains("asked for a secret").then_some(());
        session.update("word of the secret", turn.from, is_word).await?;
        let is_form = |it: &crate::seen::Message| it.body["method"] == "elicitation/create";
        assert!(!client.look(|it| it.wire.iter().any(is_form)), "it is asked for");
        assert!(told(stage, "question")?.contains("\"answers\":[]"));
        let shown = titled(&session, 0, "Ask the user");
        assert!(shown.to_string().contains("Not asked: the answer is a secret"), "{shown}");
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// A message with its questions once; an ordinary prompt answers them, in the same turn.
async fn questions_that_nothing_waits_for(version: Version) {
    let config = |config: Config| config.model("gpt-6.2-sol");
    play_with(config, async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let questions = json!({"questions": [{"title": "Which port?", "options": ["80", "8080"]}]});
        let ask = call("request_user_input_async", questions).namespace("functions").id("later");
        let script = Script::new()
            .step(ask)
            .step(exec("until [ -e go ]; do sleep 0.05; done").id("wait"))
            .step(say("I go on."));
        let turn = session.prompt(&script.prompt("go"));
        let is_it = |it: &Value| it.to_string().contains("Answer with your next message").then_some(());
        session.update("the question", turn.from, is_it).await?;
        let text = session.text(turn.from);
        assert_eq!(text.matches("Which port?").count(), 1, "{text}");
        let answer = session.prompt("8080");
        stage.signal_file("go")?;
        session.finish(&turn).await?;
        session.finish(&answer).await?;
        let requests = stage.model.requests();
        let last = &requests.last().context("the model was asked")?.body["input"];
        assert!(last.to_string().contains("\"8080\""), "the model did not hear the answer: {last}");
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}
