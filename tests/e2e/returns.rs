//! Sessions that come back, are copied, or are put away: processes in sequence and at once, on one Codex home.

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::model::{Script, custom, exec, say};

use crate::client::Client;
use crate::seen::Dir;
use crate::session::{Ended, Session};
use crate::stage::{Casting, Stage, forever, play};
use crate::states::rollout;
use crate::view::View;

in_both_versions!(
    a_replay_is_what_was_told_live,
    what_ended_meanwhile_is_told_as_ended,
    a_session_of_another_process_is_held_until_that_ends,
    a_damaged_thread_harms_no_other,
    copied_titled_and_put_away,
    deleted_in_mid_work,
);

async fn request(client: &Client, method: &str, params: Value) -> anyhow::Result<Value> {
    client.call("request", json!({"method": method, "params": params})).await
}

async fn refused(client: &Client, method: &str, params: Value) -> anyhow::Result<Value> {
    client.refused("request", json!({"method": method, "params": params})).await
}

async fn come_back<'a>(stage: &Stage, client: &'a Client, id: &str) -> anyhow::Result<Session<'a>> {
    let args = json!({"sessionId": id, "cwd": stage.home.workspace(), "replay": true});
    client.call("resume", args).await?;
    Ok(Session { client, id: id.to_owned() })
}

/// The ids in the list, most recent first.
async fn listed(client: &Client, params: Value) -> anyhow::Result<Vec<String>> {
    let list = request(client, "session/list", params).await?;
    let entries = list["sessions"].as_array().cloned().unwrap_or_default();
    Ok(entries.iter().filter_map(|it| it["sessionId"].as_str()).map(str::to_owned).collect())
}

/// What the client shows of a session, without what a history cannot hold.
pub(crate) fn shown(session: &Session<'_>) -> Vec<(String, Value)> {
    let version = session.client.version;
    let lines: Vec<Value> = session.client.look(|it| {
        let of = |dir| if dir == Dir::ToAdapter { "sent" } else { "got" };
        it.wire.iter().map(|it| json!({of(it.dir): it.body})).collect()
    });
    let view = View::of(version, &session.id, &session.id, &lines);
    let entries = view.entries().map(|(kind, id, entry)| {
        let mut entry = entry.clone();
        if let Some(fields) = entry.as_object_mut() {
            fields.remove("_meta");
        }
        (kind, id, entry)
    });
    // A v1 client shows what it sent by itself.
    let entries = entries.filter(|(kind, ..)| *kind != "user" || version == Version::V2);
    entries.map(|(kind, id, entry)| (format!("{kind} {id}"), entry)).collect()
}

/// Messages, reasoning, an edit, commands, one of which outlives its turn and ends in the next one.
async fn a_replay_is_what_was_told_live(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let patch = "*** Begin Patch\n*** Add File: new.txt\n+one\n+two\n*** End Patch\n";
        let script = Script::new()
            .step((
                testkit::model::Action::reason("Let me see."),
                say("First an edit."),
                custom("apply_patch", patch).id("edit"),
            ))
            .step(exec(format!("echo up; {}; echo down", forever("dev"))).id("dev").yield_ms(400))
            .step(exec("echo quick; exit 3").id("quick").yield_ms(30_000))
            .step(say("It runs."));
        session.turn(&script.prompt("build")).await?;
        session.until_listed(&["dev"]).await?;
        let turn = session.prompt(
            &Script::new().step(exec("true").id("look").yield_ms(30_000)).step(say("Second.")).prompt("and?"),
        );
        stage.signal_file("end-dev")?;
        session.finish(&turn).await?;
        assert_eq!(session.ended("dev").await?, Ended::Code(0));
        session.until_listed(&[]).await?;
        session.turn(&Script::new().step(say("Third.")).prompt("and then?")).await?;
        let live = shown(&session);
        let id = session.id.clone();
        client.end().await?;

        let client = stage.client(Casting::of(version)).await?;
        let session = come_back(stage, &client, &id).await?;
        let back = shown(&session);
        let keys = |view: &[(String, Value)]| view.iter().map(|it| it.0.clone()).collect::<Vec<_>>();
        assert_eq!(keys(&back), keys(&live));
        for (back, live) in back.iter().zip(&live) {
            assert_eq!(back, live);
        }
        ensure!(keys(&live).iter().any(|it| it.ends_with(" edit")), "there was no edit in {:?}", keys(&live));
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn what_ended_meanwhile_is_told_as_ended(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let script = Script::new()
            .step(exec(format!("echo up; {}", forever("dev"))).id("dev").yield_ms(400))
            .step(say("It runs."));
        session.turn(&script.prompt("serve")).await?;
        session.until_listed(&["dev"]).await?;
        let id = session.id.clone();
        // It ends with its process, which says so to Codex, or does not.
        client.end().await?;

        let client = stage.client(Casting::of(version)).await?;
        let session = come_back(stage, &client, &id).await?;
        session.until_listed(&[]).await?;
        let is_running = client.look(|it| it.belief.is_running(&id, "dev"));
        ensure!(is_running != Some(true), "it is believed to run");
        session.at_rest().await?;
        let turn = session.turn(&Script::new().step(say("Here.")).prompt("hello")).await?;
        assert_eq!(session.text(turn.from), "Here.");
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn a_session_of_another_process_is_held_until_that_ends(version: Version) {
    play(async |stage| {
        let first = stage.client(Casting::of(version)).await?;
        let second = stage.client(Casting::of(version)).await?;
        let session = stage.open(&first).await?;
        let script = Script::new().step(exec(forever("dev")).id("dev").yield_ms(400)).step(say("Mine."));
        session.turn(&script.prompt("serve")).await?;
        let own = stage.open(&second).await?;
        own.turn(&Script::new().step(say("Own.")).prompt("hello")).await?;

        // It is in the list of both, and open in one.
        let list = listed(&second, json!({"cwd": stage.home.workspace()})).await?;
        assert_eq!(list, [own.id.clone(), session.id.clone()]);
        let args = json!({"sessionId": session.id, "cwd": stage.home.workspace(), "replay": true});
        for method in ["session/archive", "session/delete"] {
            let error = refused(&second, method, json!({"sessionId": session.id})).await?;
            assert_eq!(
                (&error["code"], &error["data"]["heldBy"]),
                (&json!(-32603), &json!("another Codex process"))
            );
        }
        let error = second.refused("resume", args).await?;
        assert_eq!(
            (&error["code"], &error["data"]["sessionId"]),
            (&json!(-32603), &json!(session.id)),
            "{error}"
        );
        // Neither of them is any the worse for it.
        session.until_listed(&["dev"]).await?;
        let turn = own.turn(&Script::new().step(say("Still.")).prompt("hello?")).await?;
        assert_eq!(own.text(turn.from), "Still.");
        session.put_down(stage, "dev").await?;
        session.at_rest().await?;
        let id = session.id.clone();
        first.end().await?;

        let session = come_back(stage, &second, &id).await?;
        session.until_listed(&[]).await?;
        let turn = session.turn(&Script::new().step(say("Now mine.")).prompt("hello")).await?;
        assert_eq!(session.text(turn.from), "Now mine.");
        own.at_rest().await?;
        second.end().await?;
        Ok(())
    })
    .await;
}

async fn a_damaged_thread_harms_no_other(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let mut ids = Vec::new();
        for text in ["Whole.", "Broken."] {
            let session = stage.open(&client).await?;
            session.turn(&Script::new().step(say(text)).prompt("hello")).await?;
            ids.push(session.id.clone());
        }
        client.end().await?;
        let file = rollout(stage.home.codex_home().join("sessions"), &ids[1]).context("Codex saved it")?;
        std::fs::write(file, "this is no rollout\n")?;

        let client = stage.client(Casting::of(version)).await?;
        let args = json!({"sessionId": ids[1], "cwd": stage.home.workspace(), "replay": true});
        let error = client.refused("resume", args).await?;
        assert_eq!((&error["code"], &error["data"]["reason"]), (&json!(-32603), &json!("damaged")), "{error}");
        ensure!(listed(&client, json!({})).await?.contains(&ids[0]), "the list is gone with it");
        let from = client.look(|it| it.wire.len());
        let session = come_back(stage, &client, &ids[0]).await?;
        assert_eq!(session.text(from), "Whole.");
        let unknown = json!({"sessionId": "01a00000-0000-7000-8000-000000000000", "cwd": stage.home.workspace(), "replay": true});
        assert_eq!(client.refused("resume", unknown).await?["code"], -32002);
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn copied_titled_and_put_away(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let script = Script::new().step(exec(forever("dev")).id("dev").yield_ms(400)).step(say("Original."));
        session.turn(&script.prompt("serve")).await?;
        session.until_listed(&["dev"]).await?;
        let id = json!({"sessionId": session.id});
        let place = json!({"sessionId": session.id, "cwd": stage.home.workspace(), "mcpServers": []});

        let fork = request(&client, "session/fork", place).await?;
        let fork =
            Session { client: &client, id: fork["sessionId"].as_str().context("a new id")?.to_owned() };
        ensure!(fork.id != session.id, "a fork with the id of its source");
        let turn = fork.turn(&Script::new().step(say("A copy.")).prompt("who are you?")).await?;
        assert_eq!(fork.text(turn.from), "A copy.");
        fork.until_listed(&[]).await?;
        fork.at_rest().await?;
        // What runs, runs in the original.
        session.until_listed(&["dev"]).await?;
        session.at_rest().await?;

        let titled = request(
            &client,
            "session/set_title",
            json!({"sessionId": session.id, "title": " The\toriginal "}),
        )
        .await?;
        assert_eq!(titled, json!({"title": "The original"}));
        let list = request(&client, "session/list", json!({})).await?;
        let entry = list["sessions"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|it| it["sessionId"] == session.id.as_str());
        assert_eq!(
            entry.map(|it| (&it["title"], &it["archived"])),
            Some((&json!("The original"), &json!(false))),
            "{list}"
        );

        // It is in no archive, open or not, and nothing is to be done.
        request(&client, "session/unarchive", id.clone()).await?;
        session.until_listed(&["dev"]).await?;
        request(&client, "session/close", json!({"sessionId": fork.id})).await?;
        request(&client, "session/unarchive", json!({"sessionId": fork.id})).await?;

        // Archived: its work is stopped, and it is in no ordinary list.
        request(&client, "session/archive", id.clone()).await?;
        session.until_dead().await?;
        assert_eq!(listed(&client, json!({})).await?, [fork.id.clone()]);
        assert_eq!(listed(&client, json!({"archived": "only"})).await?, [session.id.clone()]);
        let args = json!({"sessionId": session.id, "cwd": stage.home.workspace(), "replay": true});
        let error = client.refused("resume", args).await?;
        assert_eq!(
            (&error["code"], &error["data"]["reason"]),
            (&json!(-32603), &json!("archived")),
            "{error}"
        );
        request(&client, "session/archive", id.clone()).await?;
        for method in ["session/unarchive", "session/unarchive"] {
            request(&client, method, id.clone()).await?;
        }
        let session = come_back(stage, &client, &session.id).await?;
        session.until_listed(&[]).await?;
        session.at_rest().await?;

        // Codex keeps what a fork was made of.
        let error = refused(&client, "session/delete", id.clone()).await?;
        assert_eq!(
            (&error["code"], &error["data"]["reason"]),
            (&json!(-32603), &json!("hasForks")),
            "{error}"
        );
        request(&client, "session/delete", json!({"sessionId": fork.id})).await?;
        request(&client, "session/delete", id.clone()).await?;
        request(&client, "session/delete", id.clone()).await?;
        assert_eq!(listed(&client, json!({"archived": "include"})).await?, [""; 0]);
        for method in ["session/archive", "session/unarchive"] {
            assert_eq!(refused(&client, method, id.clone()).await?["code"], -32002, "{method}");
        }
        let error =
            refused(&client, "session/set_title", json!({"sessionId": session.id, "title": "x"})).await?;
        assert_eq!(error["code"], -32002);
        client.end().await?;
        Ok(())
    })
    .await;
}

async fn deleted_in_mid_work(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let script = Script::new()
            .step(exec(format!("trap '' TERM INT HUP; {}", forever("dev"))).id("dev").yield_ms(400))
            .step(exec(format!("touch up; {}", forever("front"))).id("front").yield_ms(30_000))
            .step(say("never said"));
        let turn = session.prompt(&script.prompt("work"));
        stage.file("up").await?;
        session.until_running("front").await?;
        request(&client, "session/delete", json!({"sessionId": session.id})).await?;
        session.until_dead().await?;
        assert_eq!(session.finish(&turn).await?, "cancelled");
        assert_eq!(listed(&client, json!({})).await?, [""; 0]);
        let args = json!({"sessionId": session.id, "cwd": stage.home.workspace(), "replay": true});
        assert_eq!(client.refused("resume", args).await?["code"], -32002);
        client.end().await?;
        Ok(())
    })
    .await;
}
