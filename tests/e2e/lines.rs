//! Lines that are no messages cost one error each and nothing else.

use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::model::{Script, exec, say};

use crate::seen::{Dir, Seen};
use crate::stage::{Casting, play};

in_both_versions!(bad_lines_while_a_terminal_runs);

async fn bad_lines_while_a_terminal_runs(version: Version) {
    play(async |stage| {
        let mut client = stage.client(Casting::of(version)).await?;
        // What the SDK says about an error that belongs to none of its requests.
        client.expect_fault("unknown request");
        client.expect_fault("Invalid message");
        // The request that is too long was written past it.
        client.expect_fault("no request \"mine\" is open");
        let session = stage.open(&client).await?;
        let dev = "n=0; until [ -e end-dev ]; do n=$((n + 1)); echo tick $n; sleep 0.05; done";
        let script = Script::new().step(exec(dev).id("dev").yield_ms(300)).step(say("It runs."));
        session.turn(&script.prompt("serve")).await?;

        let bad: [&[u8]; 7] = [
            b"no json\n",
            b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"meth\n",
            b"[]\n",
            b"[{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"session/list\", \"params\": {}}]\n",
            b"\xff\xfe{}\n",
            b"42\n",
            b"{\"jsonrpc\": \"2.0\", \"id\": null, \"method\": \"session/list\", \"params\": {}}\n",
        ];
        for line in bad {
            client.garbage(line).await?;
        }
        // Of the second one nothing tells what it was.
        for head in
            [r#"{"jsonrpc": "2.0", "id": "mine", "method": "session/prompt", "params": ""#, r#"{"x": ""#]
        {
            let mut huge = head.as_bytes().to_vec();
            huge.resize((32 << 20) + 100_000, b'x');
            huge.extend(b"\"}\n");
            client.garbage(&huge).await?;
        }
        let n_errors = bad.len() + 1;
        let codes = client
            .wait("an error for each bad line", |it| {
                let codes = refusals(it);
                (codes.len() >= n_errors).then_some(codes)
            })
            .await?;
        let wanted = [-32700, -32700, -32600, -32600, -32700, -32600, -32600, -32600];
        assert_eq!(codes, wanted.map(|it| json!(it)));

        let answered =
            client.look(|it| it.wire.iter().find(|it| it.body["id"] == "mine").map(|it| it.body.clone()));
        assert_eq!(
            answered.map(|it| it["error"]["code"].clone()),
            Some(json!(-32600)),
            "the request is answered"
        );

        // Everything works on.
        client.call("list", json!({})).await?;
        let n = session.output("dev").lines().count();
        session.until_output("dev", &format!("tick {}\n", n + 3)).await?;
        session.put_down(stage, "dev").await?;
        session.until_listed(&[]).await?;
        let output = session.output("dev");
        let whole: String = (1..=output.lines().count()).map(|n| format!("tick {n}\n")).collect();
        assert_eq!(output, whole);
        session.at_rest().await?;
        client.end().await?;
        Ok(())
    })
    .await;
}

/// The codes of the errors without an id, in wire order.
fn refusals(seen: &Seen) -> Vec<Value> {
    let is_refusal = |body: &Value| body["error"].is_object() && body["id"].is_null();
    let refusals = seen.wire.iter().filter(|it| it.dir == Dir::FromAdapter && is_refusal(&it.body));
    refusals.map(|it| it.body["error"]["code"].clone()).collect()
}
