//! Another client of a shared app-server, and what only it can answer.

use anyhow::{Context, bail};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::model::{Script, call, say};
use tokio::net::UnixStream;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::server::{Listen, Server};
use crate::session::Session;
use crate::shown::titled;
use crate::stage::{Casting, play};

in_both_versions!(its_tools_are_its_own);

/// It speaks for itself, in Codex's own protocol.
struct Neighbour {
    socket: WebSocketStream<UnixStream>,
    n_calls: u64,
}

impl Neighbour {
    async fn join(server: &Server) -> anyhow::Result<Self> {
        let path = server.address.strip_prefix("unix:").context("a server on a socket")?;
        let stream = UnixStream::connect(path).await?;
        let (socket, _) = tokio_tungstenite::client_async("ws://localhost/", stream).await?;
        let mut neighbour = Self { socket, n_calls: 0 };
        let info = json!({"name": "neighbour", "title": "neighbour", "version": "0"});
        let hello = json!({"clientInfo": info, "capabilities": {"experimentalApi": true}});
        neighbour.call("initialize", hello).await?;
        neighbour.say(&json!({"method": "initialized"})).await?;
        Ok(neighbour)
    }

    async fn say(&mut self, message: &Value) -> anyhow::Result<()> {
        Ok(self.socket.send(Message::text(message.to_string())).await?)
    }

    /// The first message that fits; those before it are lost.
    async fn hear(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
        let heard = timeout(testkit::PATIENCE, async {
            while let Some(message) = self.socket.next().await {
                let Message::Text(text) = message? else { continue };
                let message: Value = serde_json::from_str(&text)?;
                if fits(&message) {
                    return Ok(message);
                }
            }
            bail!("it hung up")
        });
        heard.await.with_context(|| format!("no {what}"))?
    }

    async fn call(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.n_calls += 1;
        let id = self.n_calls;
        self.say(&json!({"id": id, "method": method, "params": params})).await?;
        let answer = self.hear(method, |it| it["id"] == id && it["method"].is_null()).await?;
        answer.get("result").cloned().with_context(|| format!("{method}: {answer}"))
    }
}

/// Codex asks every client for the result of a tool, and the first answer counts: ours must be none.
async fn its_tools_are_its_own(version: Version) {
    play(async |stage| {
        let server = Server::start(stage, Listen::Unix).await?;
        let mut neighbour = Neighbour::join(&server).await?;
        let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
        let tool = json!({"name": "weather", "description": "The weather.", "inputSchema": schema});
        let params = json!({"cwd": stage.home.workspace(), "dynamicTools": [tool]});
        let started = neighbour.call("thread/start", params).await?;
        let id = started["thread"]["id"].as_str().context("a thread has an id")?.to_owned();
        let input = json!([{"type": "text", "text": Script::new().step(say("Hi.")).prompt("hello")}]);
        neighbour.call("turn/start", json!({"threadId": id, "input": input})).await?;
        neighbour.hear("end of its turn", |it| it["method"] == "turn/completed").await?;

        let client = stage.client(server.casting(Casting::of(version))).await?;
        let args = json!({"sessionId": id, "cwd": stage.home.workspace(), "replay": false});
        client.call("resume", args).await?;
        let session = Session { client: &client, id };
        let script = Script::new()
            .step(call("weather", json!({"city": "Berlin"})).id("weather"))
            .step(say("It rains."));
        let turn = session.prompt(&script.prompt("what is the weather?"));
        let is_call = |it: &Value| (it["toolCallId"] == "weather").then_some(());
        session.update("the call", turn.from, is_call).await?;
        let asked = neighbour.hear("request for the tool", |it| it["method"] == "item/tool/call").await?;
        assert_eq!(asked["params"]["arguments"], json!({"city": "Berlin"}), "{asked}");
        // Codex answers this after it has asked us, too.
        client.call("list", json!({})).await?;
        let rain = json!({"contentItems": [{"type": "inputText", "text": "rain"}], "success": true});
        neighbour.say(&json!({"id": asked["id"], "result": rain})).await?;
        session.finish(&turn).await?;
        assert_eq!(session.final_status("weather").await?, "completed");
        let call = titled(&session, turn.from, "weather");
        assert!(call["content"].to_string().contains("rain"), "{call}");
        assert!(session.text(turn.from).ends_with("It rains."), "{}", session.text(turn.from));
        client.end().await?;
        drop(neighbour);
        server.end().await
    })
    .await;
}
