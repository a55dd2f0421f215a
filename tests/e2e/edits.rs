//! File changes of the model as diffs, live and in a replay.

use std::fs;

use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::model::{Action, Script, custom, say};

use crate::session::Session;
use crate::stage::{Casting, play};

in_both_versions!(edits_are_shown_as_diffs, odd_files);

async fn edits_are_shown_as_diffs(version: Version) {
    play(async |stage| {
        let dir = stage.home.workspace();
        fs::write(dir.join("old.txt"), "one\ntwo\nthree\n")?;
        fs::write(dir.join("gone.txt"), "bye\n")?;
        fs::write(dir.join("here.txt"), "stays\n")?;
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let lines: String = (0..10_000).map(|n| format!("+line {n}\n")).collect();
        let small = "*** Begin Patch\n*** Update File: old.txt\n@@\n one\n-two\n+2\n three\n\
            *** Delete File: gone.txt\n*** Update File: here.txt\n*** Move to: there.txt\n@@\n-stays\n+moves\n*** End Patch";
        let large = format!("*** Begin Patch\n*** Add File: new.txt\n{lines}*** End Patch");
        let script = Script::new()
            .step(Action::from(custom("apply_patch", small).id("small")))
            .step(Action::from(custom("apply_patch", large).id("large")))
            .step(say("edited"));
        let turn = session.turn(&script.prompt("go")).await?;
        assert_eq!(fs::read_to_string(dir.join("old.txt"))?, "one\n2\nthree\n");
        // Codex tells them in the order of their paths.
        let live = [content(&session, turn.from, "small"), content(&session, turn.from, "large")];
        assert_eq!(session.final_status("small").await?, "completed");
        assert_eq!(session.final_status("large").await?, "completed");
        let path = |name: &str| json!(dir.join(name));
        let [small, large] = &live;
        match version {
            Version::V2 => {
                let operations: Vec<_> = small.iter().map(|it| &it["changes"][0]["operation"]).collect();
                assert_eq!(operations, ["delete", "move", "modify"], "{small:?}");
                assert_eq!(small[2]["changes"][0]["path"], path("old.txt"));
                let patch = small[2]["patch"].as_object().map(|it| format!("{it:?}")).unwrap_or_default();
                assert!(patch.contains("-two") && patch.contains("+2"), "{patch}");
                assert_eq!(large[0]["changes"][0]["operation"], "add");
            }
            Version::V1 => {
                let sides = |n: usize| (small[n]["oldText"].clone(), small[n]["newText"].clone());
                assert_eq!(sides(0), (json!("bye\n"), json!("")));
                assert_eq!((&small[1]["path"], sides(1)), (&path("there.txt"), (json!("stays\n"), json!("moves\n"))));
                // A line says that it was moved.
                assert_eq!(small[2]["type"], "content");
                assert_eq!((&small[3]["path"], sides(3)), (&path("old.txt"), (json!("one\ntwo\nthree\n"), json!("one\n2\nthree\n"))));
                assert_eq!(large[0]["oldText"], Value::Null);
            }
        }
        assert!(large[0].to_string().contains("line 9999"), "the whole of it");
        session.close().await?;

        let from = client.look(|it| it.wire.len());
        let args = json!({"sessionId": session.id, "cwd": dir, "replay": true});
        client.call("resume", args).await?;
        let replayed = [content(&session, from, "small"), content(&session, from, "large")];
        assert!(replayed == live, "a replay shows the same: {:?}", replayed[0]);
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Without a newline at the end, with the line ends of Windows, with bytes that no editor shows, under odd names.
/// A binary file Codex does not patch at all: its model is told so, and there is no item.
async fn odd_files(version: Version) {
    play(async |stage| {
        let dir = stage.home.workspace();
        fs::write(dir.join("end.txt"), "no newline")?;
        fs::write(dir.join("dos.txt"), "a\r\nb\r\n")?;
        fs::write(dir.join("bin.dat"), b"\xff\xfe\0one\n")?;
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let patch = |body: &str| format!("*** Begin Patch\n{body}\n*** End Patch");
        let cases = [
            ("end", "*** Update File: end.txt\n@@\n-no newline\n+with"),
            ("dos", "*** Update File: dos.txt\n@@\n a\n-b\n+c"),
            ("nul", "*** Add File: nul.dat\n+a\0b\u{1b}[31m"),
            ("name", "*** Add File: a b\u{e9}.txt\n+x"),
            ("bin", "*** Update File: bin.dat\n@@\n-one\n+two"),
        ];
        let mut script = Script::new();
        for (id, body) in cases {
            script = script.step(Action::from(custom("apply_patch", patch(body)).id(id)));
        }
        let turn = session.turn(&script.step(say("edited")).prompt("go")).await?;
        let path = |name: &str| json!(dir.join(name));
        let files = [
            ("end", "end.txt", Some("no newline"), "with\n"),
            ("dos", "dos.txt", Some("a\r\nb\r\n"), "a\r\nc\r\n"),
            ("nul", "nul.dat", None, "a\0b\u{1b}[31m\n"),
            ("name", "a b\u{e9}.txt", None, "x\n"),
        ];
        for (id, name, old, new) in files {
            assert_eq!(fs::read_to_string(dir.join(name))?, new, "{name}");
            assert_eq!(session.final_status(id).await?, "completed", "{name}");
            let shown = content(&session, turn.from, id).swap_remove(0);
            match version {
                Version::V1 => {
                    assert_eq!(shown["path"], path(name));
                    assert_eq!((&shown["oldText"], &shown["newText"]), (&json!(old), &json!(new)), "{name}");
                }
                Version::V2 => {
                    let operation = if old.is_some() { "modify" } else { "add" };
                    let change = &shown["changes"][0];
                    assert_eq!((&change["path"], &change["operation"]), (&path(name), &json!(operation)));
                }
            }
        }
        assert_eq!(content(&session, turn.from, "bin"), Vec::<Value>::new());
        assert_eq!(fs::read(dir.join("bin.dat"))?, b"\xff\xfe\0one\n");
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// What the call shows at last.
fn content(session: &Session<'_>, from: usize, call: &str) -> Vec<Value> {
    session.client.look(|it| {
        let updates = it.updates(&session.id, from).filter(|(_, it)| it["toolCallId"] == call);
        updates.filter_map(|(_, it)| it["content"].as_array().cloned()).last().unwrap_or_default()
    })
}
