//! What the model types into a terminal is shown beside it, and never in its output.

use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::model::{Action, Script, exec, found, say};

use crate::session::Ended;
use crate::stage::{Casting, play};

in_both_versions!(typed_text_is_shown_beside_the_terminal);

async fn typed_text_is_shown_beside_the_terminal(version: Version) {
    play(async |stage| {
        let client = stage.client(Casting::of(version)).await?;
        let session = stage.open(&client).await?;
        let write = |chars: &str| {
            let id = found(r"session ID (\d+)");
            Action::call("write_stdin", json!({"session_id": id, "chars": chars, "yield_time_ms": 300}))
        };
        // Without an echo: what is typed must not get into the output by another way.
        let cmd = "stty -echo; echo ready; read a; echo got $a; read b; echo done";
        let script = Script::new()
            .step(exec(cmd).id("cmd").tty(true).yield_ms(1000))
            .step((Action::gate("ready"), write("hello\n")))
            .step(write(""))
            .step(write("\u{1b}[A\n"))
            .step(say("typed"));
        let turn = session.prompt(&script.prompt("go"));
        session.until_output("cmd", "ready").await?;
        stage.model.open("ready");
        assert_eq!(session.finish(&turn).await?, "end_turn");
        assert_eq!(session.ended("cmd").await?, Ended::Code(0));
        session.final_status("cmd").await?;
        assert_eq!(session.output("cmd"), "ready\r\ngot hello\r\ndone\r\n");
        let shown: Vec<Value> = client.look(|it| {
            let updates = it.updates(&session.id, turn.from).map(|(_, update)| update);
            let beside = updates.filter_map(|it| it["content"].as_array()?.get(1).cloned());
            beside.collect()
        });
        let text = |text: &str| json!({"type": "content", "content": {"type": "text", "text": text}});
        assert_eq!(shown, [text("Typed:\n\n    hello⏎"), text("Typed:\n\n    hello⏎\n    ^[[A⏎")]);
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}
