//! What nobody meant to be read: control characters, bytes that are no text, enormous names, floods of small pieces.

use serde_json::{Value, json};
use std::time::Duration;
use testkit::belief::Version;
use testkit::model::{Action, Script, custom, exec, say};

use crate::shown::titled;
use crate::stage::{Casting, play, play_with};

in_both_versions!(
    output_that_is_no_text,
    titles_of_anything,
    a_flood_of_pieces,
    texts_with_control_characters
);

const ODD: &str = r"printf '\033[31mred\033[0m\007\000x\377\376y\r\nover\rwritten\n'";

/// What it writes, as Codex hands it on.
const AS_TEXT: &str = "\u{1b}[31mred\u{1b}[0m\u{7}\0x\u{fffd}\u{fffd}y\r\nover\rwritten\n";

/// A terminal gets it all; text for people has nothing in it that a terminal would obey.
async fn output_that_is_no_text(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let script = Script::new().step(exec(ODD).id("odd").yield_ms(30_000)).step(say("Done."));
        session.turn(&script.prompt("go")).await?;
        assert_eq!(session.output("odd"), AS_TEXT);
        client.end().await?;
        if version == Version::V1 {
            let client = stage.client(Casting::of(version).capabilities(json!({}))).await?;
            let session = stage.open(&client).await?;
            let turn = session.turn(&script.prompt("go")).await?;
            let call = titled(&session, turn.from, "printf");
            let shown = call["content"][0]["content"]["text"].as_str().unwrap_or_default();
            assert!(shown.contains("red") && shown.contains("written"), "{shown:?}");
            let obeyed = |it: char| it.is_control() && it != '\n' && it != '\t';
            assert!(!shown.contains(obeyed), "{shown:?}");
            client.end().await?;
        }
        Ok(())
    })
    .await;
}

/// One readable line, whatever a command, a file or a question is called; also where it is asked about.
async fn titles_of_anything(version: Version) {
    let asking =
        |config: testkit::home::Config| config.approval_policy("on-request").sandbox_mode("read-only");
    play_with(asking, async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        client.call("answer", json!({"permission": "allow_once"})).await?;
        let escaped = "echo \u{1b}[2Jhidden\u{7}";
        let long = format!("true {}", "x".repeat(300_000));
        let patch = "*** Begin Patch\n*** Add File: odd\u{1b}[2J\u{7}.txt\n+x\n*** End Patch";
        let escalated = exec("echo \u{1b}[2Jasked")
            .id("asked")
            .arg("sandbox_permissions", "require_escalated")
            .arg("justification", "The test wants it.");
        let script = Script::new()
            .step(exec(escaped).id("escaped").yield_ms(30_000))
            .step(exec("\n\n  echo one\necho two").id("lines").yield_ms(30_000))
            .step(exec(long).id("long").yield_ms(30_000))
            .step(Action::from(custom("apply_patch", patch).id("patch")))
            .step(escalated.yield_ms(30_000))
            .step(say("Done."));
        let turn = session.turn(&script.prompt("go")).await?;
        let titles: Vec<String> = client.look(|it| {
            let ours = it.wire.iter().skip(turn.from).map(|it| &it.body["params"]);
            let places = |it: &Value| {
                let options = it["options"].as_array().into_iter().flatten().map(|it| it["name"].clone());
                let titles = [&it["update"]["title"], &it["title"], &it["toolCall"]["title"]];
                titles
                    .into_iter()
                    .cloned()
                    .chain(options)
                    .filter_map(|it| it.as_str().map(str::to_owned))
                    .collect::<Vec<_>>()
            };
            ours.flat_map(places).collect()
        });
        for title in &titles {
            assert!(!title.contains(char::is_control), "{title:?}");
            assert!(title.chars().count() <= 1_001 && !title.trim().is_empty(), "{title:?}");
        }
        for shown in ["echo ␛[2Jhidden␇", "echo one", "odd␛[2J␇.txt", "Run echo ␛[2Jasked?"] {
            let is_told = titles.iter().any(|it| it.contains(shown));
            // A permission of v1 has the title of its call.
            assert!(
                is_told || version == Version::V1 && shown.starts_with("Run"),
                "no {shown:?} in {titles:#?}"
            );
        }
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Every piece arrives, in order.
async fn a_flood_of_pieces(version: Version) {
    const N: usize = 20_000;
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let text: String = (0..N).map(|n| format!("{n:05} ")).collect();
        let script = Script::new().step(say(&text).chunks(N, Duration::ZERO));
        let turn = session.turn(&script.prompt("talk")).await?;
        assert!(session.text(turn.from) == text, "{} bytes of {}", session.text(turn.from).len(), text.len());
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// What the model says is handed on as it is: it is the client that shows it.
async fn texts_with_control_characters(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let odd = "a\u{1b}[31mb\u{7}\0c\u{2028}d\u{202e}e\u{fffd}\r\nf";
        let turn = session.turn(&Script::new().step((Action::reason(odd), say(odd))).prompt(odd)).await?;
        assert_eq!(session.text(turn.from), odd);
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}
