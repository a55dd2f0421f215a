//! The model fails: every kind is told with Codex's words, and the next prompt works.

use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::model::{Action, Script, Step, say};

use crate::seen::Dir;
use crate::session::{Session, Turn};
use crate::stage::{Casting, play, play_with};

in_both_versions!(
    every_failure_is_told,
    a_key_is_shown_to_nobody,
    an_outage_is_one_line,
    limits_are_told_once,
    what_codex_does_not_take
);

struct Case {
    step: Step,
    code: i64,
    kind: &'static str,
    status: Option<u16>,
    says: &'static str,
}

fn http(status: u16, kind: &str, code: Option<&str>) -> Step {
    let error = json!({"message": "scripted", "type": kind, "code": code, "plan_type": "plus"});
    Action::http_body(status, json!({"error": error})).into()
}

fn cases() -> Vec<Case> {
    let case = |step, code, kind, status, says| Case { step, code, kind, status, says };
    let fail = |code: &str| Step::from(Action::fail(code, "scripted"));
    let http_failed = "httpConnectionFailed";
    vec![
        case(
            http(500, "server_error", None),
            -32603,
            "internalServerError",
            None,
            "The model's server failed: ",
        ),
        case(
            http(401, "x", Some("invalid_api_key")),
            -32000,
            http_failed,
            Some(401),
            "refused the sign-in; sign in again",
        ),
        case(http(403, "x", None), -32603, http_failed, Some(403), "provider refused the request: "),
        case(http(404, "x", Some("model_not_found")), -32603, "modelNotFound", None, "does not exist"),
        case(http(400, "x", None), -32603, "other", None, "scripted"),
        case(
            Action::http_body(400, json!({"detail": "not with this account"})).into(),
            -32603,
            "other",
            None,
            "not with this account",
        ),
        case(http(429, "x", None), -32603, "responseTooManyFailedAttempts", Some(429), "Too many requests"),
        case(
            http(429, "usage_limit_reached", None),
            -32603,
            "usageLimitExceeded",
            None,
            "usage limit is reached: ",
        ),
        case(
            http(503, "x", Some("server_is_overloaded")),
            -32603,
            "serverOverloaded",
            None,
            "is overloaded: ",
        ),
        case(fail("context_length_exceeded"), -32603, "contextWindowExceeded", None, "window is full: "),
        case(fail("insufficient_quota"), -32603, "usageLimitExceeded", None, "usage limit is reached: "),
        case(fail("cyber_policy"), -32603, "cyberPolicy", None, "policy on cybersecurity: scripted"),
        case(fail("bio_policy"), -32603, "bioPolicy", None, "policy on biology: scripted"),
        case(fail("rate_limit_exceeded"), -32603, "rateLimitExceeded", None, "Too many requests for now: "),
        case(fail("invalid_prompt"), -32603, "other", None, "scripted"),
        case(Action::Cut.into(), -32603, "other", None, "stream disconnected"),
    ]
}

async fn every_failure_is_told(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        for case in cases() {
            let turn = session.prompt(&Script::new().step(case.step).prompt("go"));
            let error = error(&session, &turn, version).await?;
            assert_eq!(error["code"], case.code, "{error}");
            assert_eq!(error["data"]["codexErrorInfo"], case.kind, "{error}");
            assert_eq!(error["data"].get("httpStatusCode"), case.status.map(Value::from).as_ref(), "{error}");
            let message = error["message"].as_str().unwrap_or_default();
            assert!(message.contains(case.says), "{error}");
            assert!(!message.contains(['{', '}']), "JSON is nothing to read: {message}");
            session.at_rest().await?;
        }
        let after = session.turn(&Script::new().step(say("Again.")).prompt("and now?")).await?;
        assert_eq!(session.text(after.from), "Again.");
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Some providers quote the key that they refuse. It goes to the model provider, and to nobody else.
async fn a_key_is_shown_to_nobody(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let key = "sk-proj-0123456789abcdefghij";
        for status in [400, 401, 403] {
            let quoted =
                json!({"message": format!("Incorrect API key provided: {key}."), "code": "invalid_api_key"});
            let step = Step::from(Action::http_body(status, json!({"error": quoted})));
            let turn = session.prompt(&Script::new().step(step).prompt("go"));
            let error = error(&session, &turn, version).await?;
            assert!(
                error["message"].to_string().contains("Incorrect API key provided: [redacted]"),
                "{error}"
            );
            session.at_rest().await?;
        }
        let shown = client.look(|it| {
            let told =
                it.wire.iter().filter(|it| it.dir == Dir::FromAdapter && it.body.to_string().contains(key));
            // The prompt with the script is the user's own.
            told.filter(|it| !it.body.to_string().contains("@@SCRIPT"))
                .map(|it| it.body.clone())
                .collect::<Vec<_>>()
        });
        assert!(shown.is_empty(), "{shown:?}");
        client.end().await?;
        Ok(())
    })
    .await;
}

/// The error that a turn ends with.
async fn error(session: &Session<'_>, turn: &Turn, version: Version) -> anyhow::Result<Value> {
    match version {
        Version::V1 => Ok(session.client.outcome(turn.answer).await?.expect_err("the turn fails")),
        Version::V2 => {
            assert_eq!(session.finish(turn).await?, "error");
            let of_end = |it: &Value| (it["stopReason"] == "error").then(|| it["error"].clone());
            session.update("error of the turn", turn.from, of_end).await
        }
    }
}

async fn an_outage_is_one_line(version: Version) {
    play_with(
        |config| config.stream_retries(3),
        async |stage| {
            let client = stage.client(Casting::of(version)).await?;
            let session = stage.open(&client).await?;
            let script = Script::new().step(Action::Cut).step(Action::Cut).step(say("Here again."));
            let turn = session.turn(&script.prompt("go")).await?;
            let told = notices(&session, turn.from);
            let lost = "The connection to the model was lost; Codex tries again";
            assert_eq!(told, [lost, "The model is back"]);
            assert!(session.text(turn.from).ends_with("Here again."), "{}", session.text(turn.from));
            client.end().await?;
            Ok(())
        },
    )
    .await;
}

async fn limits_are_told_once(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let from = client.look(|it| it.wire.len());
        for used in ["80", "91.5", "93", "96"] {
            let step = (
                Action::header("x-codex-primary-used-percent", used),
                Action::header("x-codex-primary-window-minutes", "300"),
                say("done"),
            );
            session.turn(&Script::new().step(step).prompt("go")).await?;
        }
        let of = |used| format!("{used} % of the 5-hour limit is used");
        assert_eq!(notices(&session, from), [of(80), of(92), of(96)]);
        client.end().await?;
        Ok(())
    })
    .await;
}

/// The titles of what a person was told beside the conversation.
fn notices(session: &Session<'_>, from: usize) -> Vec<String> {
    session.client.look(|it| {
        let titles = it.updates(&session.id, from).filter_map(|(_, update)| {
            let text = update["content"]["text"].as_str().unwrap_or_default();
            let title = match update["sessionUpdate"].as_str()? {
                "notice" => update["title"].as_str()?,
                "agent_message_chunk" => text.strip_prefix("\n\n**")?.split_once("** ")?.1,
                _ => return None,
            };
            title.lines().next().map(str::to_owned)
        });
        titles.collect()
    })
}

async fn what_codex_does_not_take(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let turn = session.prompt(&"x".repeat(2_000_000));
        let error = client.outcome(turn.answer).await?.expect_err("it is too long");
        assert_eq!(error["code"], -32602, "{error}");
        assert!(error.to_string().contains("1048576"), "{error}");
        session.at_rest().await?;
        let args = json!({"sessionId": "nope", "cwd": stage.home.workspace(), "replay": false});
        let error = client.refused("resume", args).await?;
        assert_eq!(
            (&error["code"], &error["data"]["sessionId"]),
            (&json!(-32002), &json!("nope")),
            "{error}"
        );
        let missing = stage.home.workspace().join("missing");
        let error = client.refused("new", json!({"cwd": missing})).await?;
        assert_eq!((&error["code"], &error["message"]), (&json!(-32602), &json!("cwd does not exist")));
        let after = session.turn(&Script::new().step(say("Still here.")).prompt("and now?")).await?;
        assert_eq!(session.text(after.from), "Still here.");

        // Another Codex cannot have the thread at the same time.
        let other = stage.client(Casting::of(version)).await?;
        let args = json!({"sessionId": session.id, "cwd": stage.home.workspace(), "replay": false});
        let error = other.refused("resume", args).await?;
        assert_eq!(error["code"], -32603, "{error}");
        let data = json!({"sessionId": session.id, "heldBy": "another Codex process"});
        assert_eq!(error["data"], data, "{error}");
        other.end().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}
