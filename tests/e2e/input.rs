//! What a prompt is made of, as it reaches the model.

use anyhow::Context;
use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::model::{Script, say};

use crate::shown::PIXEL;
use crate::stage::{Casting, play};

in_both_versions!(every_kind_of_content, names_are_checked);

async fn every_kind_of_content(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let text = Script::new().step(say("Seen.")).prompt("look");
        let prompt = json!([
            {"type": "text", "text": text},
            {"type": "resource_link", "name": "main.rs", "uri": "file:///w/src/main.rs"},
            {"type": "resource", "resource": {"uri": "file:///w/notes.md", "mimeType": "text/markdown", "text": "mind the gap"}},
            {"type": "image", "data": PIXEL, "mimeType": "image/png"},
        ]);
        let from = client.look(|it| it.wire.len());
        client.call("prompt", json!({"sessionId": session.id, "prompt": prompt})).await?;
        let said = |it: &Value| (it["content"]["text"] == "Seen.").then_some(());
        session.update("the answer", from, said).await?;
        let request = stage.model.requests().pop().context("a request")?;
        let input = request.body["input"].as_array().context("an input")?;
        let is_it = |it: &&Value| it["role"] == "user" && it.to_string().contains("@@SCRIPT");
        let message = input.iter().find(is_it).context("the message")?;
        let parts = message["content"].as_array().context("its parts")?;
        let texts: Vec<_> = parts.iter().filter_map(|it| it["text"].as_str()).collect();
        for part in [
            text.as_str(),
            "[main.rs](file:///w/src/main.rs)",
            "<context ref=\"file:///w/notes.md\">\nmind the gap\n</context>",
        ] {
            assert!(texts.contains(&part), "no {part:?} in {texts:?}");
        }
        let is_image = |it: &&Value| it["type"] == "input_image";
        let image = parts.iter().find(is_image).context("the image")?;
        assert_eq!(image["image_url"], format!("data:image/png;base64,{PIXEL}"));
        client.end().await?;
        Ok(())
    })
    .await;
}

/// Two servers of one name could not be told apart.
async fn names_are_checked(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let mut server = json!({"name": "tools", "command": "/usr/bin/env", "args": ["true"], "env": []});
        if version == Version::V2 {
            server["type"] = json!("stdio");
        }
        let params = json!({"cwd": stage.home.workspace(), "mcpServers": [server, server]});
        let error = client.refused("new", params).await?;
        assert_eq!(error["code"], -32602, "{error}");
        assert!(error.to_string().contains("mcpServers[1].name is used twice"), "{error}");
        client.end().await?;
        Ok(())
    })
    .await;
}
