//! What the client chooses is what Codex works with: instructions, speed, permission profiles.

use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::home::Config;
use testkit::model::{Action, Script, call, exec, say};

use crate::session::Session;
use crate::stage::{Casting, Stage, play, play_with};

in_both_versions!(
    instructions,
    speed,
    profile,
    what_is_not_offered,
    model_effort_and_mode,
    a_goal_goes_on_with_what_was_chosen,
    a_goal_begins_when_plan_mode_is_off,
    what_the_environment_says,
    additional_directories,
);

async fn instructions(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        for (mode, text) in [("append", "Speak like a pirate."), ("override", "Speak like a sailor.")] {
            let prompt = json!({"mode": mode, "content": [{"type": "text", "text": text}]});
            let params = json!({"cwd": stage.home.workspace(), "mcpServers": [], "systemPrompt": prompt});
            let answer = client.call("new", params).await?;
            let id = answer["sessionId"].as_str().context("a session has an id")?.to_owned();
            let session = Session { client: &client, id };
            session.turn(&Script::new().step(say("Arr.")).prompt("hello")).await?;
            let requests = stage.model.requests();
            let request = &requests.last().context("the model was asked")?.body;
            let input = request["input"].to_string();
            assert!(input.contains(text), "{mode}: {input}");
            let has_codexs = input.contains("You are Codex");
            assert_eq!(has_codexs, mode == "append", "{mode}: {input}");
        }
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Sets an option and returns all of them as they are then.
async fn choose(session: &Session<'_>, option: &str, value: &str) -> anyhow::Result<Value> {
    let choice = json!({"sessionId": session.id, "configId": option, "value": value});
    session.client.call("setOption", choice).await
}

fn current(answer: &Value, option: &str) -> Value {
    let options = answer["configOptions"].as_array().into_iter().flatten();
    let mut its = options.filter(|it| it["id"] == option || it["configId"] == option);
    its.next().map(|it| it["currentValue"].clone()).unwrap_or_default()
}

async fn speed(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let answer = choose(&session, "speed", "priority").await?;
        assert_eq!(current(&answer, "speed"), "priority");
        for (value, sent) in [("priority", json!("priority")), ("default", Value::Null)] {
            choose(&session, "speed", value).await?;
            session.turn(&Script::new().step(say("Hi.")).prompt("hello")).await?;
            let requests = stage.model.requests();
            let request = &requests.last().context("the model was asked")?.body;
            assert_eq!(request["service_tier"], sent, "{value}");
        }
        client.end().await?;
        Ok(())
    })
    .await;
}

/// The answer that opens a session names the profile, in v1 among the modes too.
#[track_caller]
fn offers_careful(version: Version, opened: &Value) {
    let has = |list: &Value, key: &str| {
        list.as_array().into_iter().flatten().any(|it| it[key] == "permissions:careful")
    };
    let options = opened["configOptions"].as_array().into_iter().flatten();
    let mut modes = options.filter(|it| it["id"] == "mode" || it["configId"] == "mode");
    assert!(modes.any(|it| has(&it["options"], "value")), "not among the options: {opened}");
    let is_mode = has(&opened["modes"]["availableModes"], "id");
    assert_eq!(is_mode, version == Version::V1, "{opened}");
}

async fn profile(version: Version) {
    let careful = |config: Config| {
        config.tables("[permissions.careful]\ndescription = \"Reads only\"\nextends = \":read-only\"\n")
    };
    play_with(careful, async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let params = json!({"cwd": stage.home.workspace(), "mcpServers": []});
        let opened = client.call("new", params).await?;
        offers_careful(version, &opened);
        let id = opened["sessionId"].as_str().context("a session has an id")?.to_owned();
        let session = Session { client: &client, id };
        let answer = choose(&session, "mode", "permissions:careful").await?;
        assert_eq!(current(&answer, "mode"), "permissions:careful");
        let script =
            Script::new().step(exec("touch made").id("cmd").yield_ms(30_000)).step(say("Was it made?"));
        session.turn(&script.prompt("make")).await?;
        assert!(!stage.home.workspace().join("made").exists(), "the profile is not the one that holds");
        choose(&session, "mode", "full-access").await?;
        let script = Script::new().step(exec("touch made").id("again").yield_ms(30_000)).step(say("Now."));
        session.turn(&script.prompt("make")).await?;
        assert!(stage.home.workspace().join("made").exists(), "the profile still holds");
        let id = session.id.clone();
        client.end().await?;

        // Brought back by another process, and in v1 chosen as a mode.
        let client = stage.client(Casting::of(version)).await?;
        let params = json!({"sessionId": id, "cwd": stage.home.workspace()});
        offers_careful(version, &client.call("resume", params).await?);
        let session = Session { client: &client, id };
        if version == Version::V1 {
            let from = client.look(|it| it.wire.len());
            let mode = json!({"sessionId": session.id, "modeId": "permissions:careful"});
            client.call("request", json!({"method": "session/set_mode", "params": mode})).await?;
            let is_chosen = |it: &Value| {
                let options = it["configOptions"].as_array()?;
                let mode = options.iter().find(|it| it["id"] == "mode")?;
                (mode["currentValue"] == "permissions:careful").then_some(())
            };
            session.update("the profile as an option", from, is_chosen).await?;
            let from = client.look(|it| it.wire.len());
            choose(&session, "mode", "full-access").await?;
            choose(&session, "mode", "permissions:careful").await?;
            let is_mode = |it: &Value| (it["currentModeId"] == "permissions:careful").then_some(());
            session.update("the profile as a mode", from, is_mode).await?;
        }
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn what_is_not_offered(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let before = choose(&session, "mode", "read-only").await?;
        for (option, value) in
            [("speed", "warp"), ("mode", "permissions:none"), ("model", "none"), ("x", "y")]
        {
            let choice = json!({"sessionId": session.id, "configId": option, "value": value});
            let error = client.refused("setOption", choice).await?;
            assert_eq!(error["code"], -32602, "{option} {value}: {error}");
        }
        assert_eq!(choose(&session, "mode", "read-only").await?, before, "something changed");
        client.end().await?;
        Ok(())
    })
    .await;
}

/// What Codex asked the model for last.
fn asked(stage: &Stage) -> anyhow::Result<Value> {
    Ok(stage.model.requests().last().context("the model was asked")?.body.clone())
}

async fn model_effort_and_mode(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let hello = || Script::new().step(say("Hi.")).prompt("hello");
        session.turn(&hello()).await?;
        assert_eq!(asked(stage)?["model"], "gpt-5.5");
        choose(&session, "mode", "read-only").await?;
        let script = Script::new().step(exec("touch made").id("cmd").yield_ms(30_000)).step(say("Was it?"));
        session.turn(&script.prompt("make")).await?;
        assert!(!stage.home.workspace().join("made").exists(), "the mode does not hold");
        choose(&session, "model", "gpt-5.6-luna").await?;
        choose(&session, "effort", "high").await?;
        session.turn(&hello()).await?;
        let request = asked(stage)?;
        assert_eq!(
            (&request["model"], &request["reasoning"]["effort"]),
            (&json!("gpt-5.6-luna"), &json!("high"))
        );
        choose(&session, "collaboration", "plan").await?;
        session.turn(&hello()).await?;
        let input = asked(stage)?["input"].to_string();
        assert!(input.contains("Plan Mode"), "the model is not told of the plan mode: {input}");
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Codex begins the turns of a goal by itself: they are turns like any other. The one that it has made ready already
/// when it hears of a choice may still begin as before.
async fn a_goal_goes_on_with_what_was_chosen(version: Version) {
    play(async |stage| {
        let trace = stage.home.workspace().join("trace.jsonl");
        let client = stage.client(Casting::of(version).env("APPSERVER_ACP_TRACE", &trace)).await?;
        let session = stage.open(&client).await?;
        let script = Script::new()
            .step(call("create_goal", json!({"objective": "All green"})))
            .step(say("I am at it."))
            .step((Action::gate("one"), say("One step.")))
            .step((Action::gate("two"), say("Another.")))
            .step((Action::gate("three"), say("Never said.")));
        session.turn(&script.prompt("make it green")).await?;
        stage.model.wait_gate("one").await?;
        choose(&session, "model", "gpt-5.6-luna").await?;
        choose(&session, "effort", "high").await?;
        until_codex_knows(&trace, r#""effort":"high""#).await?;
        stage.model.open("one");
        stage.model.wait_gate("two").await?;
        stage.model.open("two");
        stage.model.wait_gate("three").await?;
        let request = asked(stage)?;
        assert_eq!(
            (&request["model"], &request["reasoning"]["effort"]),
            (&json!("gpt-5.6-luna"), &json!("high"))
        );
        session.prompt("/goal clear");
        session.until_listed(&[]).await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Codex begins no turn of a goal in plan mode, so it has to know that it is off.
async fn a_goal_begins_when_plan_mode_is_off(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        session.turn(&format!("/plan {}", Script::new().step(say("A plan.")).prompt("think"))).await?;
        session.turn("/plan").await?;
        let asked = stage.model.request_count();
        session.turn("/goal All blue").await?;
        stage.model.wait_requests(asked + 1).await?;
        session.prompt("/goal clear");
        session.until_listed(&[]).await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Waits until Codex has said that this is among what holds.
async fn until_codex_knows(trace: &Path, what: &str) -> anyhow::Result<()> {
    let said = async {
        loop {
            let lines = std::fs::read_to_string(trace)?;
            if lines.lines().any(|it| it.contains("thread/settings/updated") && it.contains(what)) {
                return Ok(());
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(testkit::PATIENCE, said).await?
}

/// The names of other adapters, and `-c`, which wins.
async fn what_the_environment_says(version: Version) {
    play(async |stage| {
        let provider = json!({
            "name": "other", "base_url": stage.model.base_url(), "wire_api": "responses",
            "http_headers": {"Authorization": "Bearer of-the-other"},
        });
        let config = json!({
            "model": "gpt-5.4", "model_reasoning_effort": "low", "model_providers": {"other": provider},
        });
        let casting = Casting::of(version)
            .env("CODEX_CONFIG", config.to_string())
            .env("MODEL_PROVIDER", "other")
            .env("INITIAL_AGENT_MODE", "read-only")
            .arg("-c")
            .arg("model_reasoning_effort=\"high\"");
        let client = stage.client(casting).await?;
        let session = stage.open(&client).await?;
        let script = Script::new().step(exec("touch made").id("cmd").yield_ms(30_000)).step(say("Was it?"));
        session.turn(&script.prompt("make")).await?;
        let request = asked(stage)?;
        assert_eq!((&request["model"], &request["reasoning"]["effort"]), (&json!("gpt-5.4"), &json!("high")));
        let requests = stage.model.requests();
        let last = requests.last().context("the model was asked")?;
        assert_eq!(last.authorization.as_deref(), Some("Bearer of-the-other"));
        assert!(!stage.home.workspace().join("made").exists(), "the mode does not hold");
        let options = choose(&session, "wake", "off").await?;
        for (option, value) in [("mode", "read-only"), ("model", "gpt-5.4"), ("effort", "high")] {
            assert_eq!(current(&options, option), value, "{option}");
        }
        client.end().await?;

        // A mode that is none is left to Codex.
        let client = stage.client(Casting::of(version).env("INITIAL_AGENT_MODE", "careless")).await?;
        let session = stage.open(&client).await?;
        let options = choose(&session, "wake", "off").await?;
        assert_eq!(current(&options, "mode"), "full-access");
        client.end().await?;
        Ok(())
    })
    .await;
}

/// They are places of the session's like its own.
async fn additional_directories(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let beside = stage.home.user_home().join("beside");
        std::fs::create_dir(&beside)?;
        let params = json!({"cwd": stage.home.workspace(), "additionalDirectories": [beside]});
        let answer = client.call("new", params.clone()).await?;
        let id = answer["sessionId"].as_str().context("a session has an id")?.to_owned();
        let session = Session { client: &client, id };
        session.turn(&Script::new().step(say("Hi.")).prompt("hello")).await?;
        let input = asked(stage)?["input"].to_string();
        assert!(input.contains("/beside"), "the model does not know of it: {input}");
        let mut relative = params;
        relative["additionalDirectories"] = json!(["beside"]);
        let error = client.refused("new", relative).await?;
        assert_eq!(error["code"], -32602, "{error}");
        client.end().await?;
        Ok(())
    })
    .await;
}
