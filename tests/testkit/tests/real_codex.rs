//! The model server and the pinned Codex fit together.

mod app_server;

use serde_json::{Value, json};
use testkit::PATIENCE;
use testkit::codex;
use testkit::home::{Config, Home};
use testkit::model::{Action, Model, Script, Step, call, exec, exec_code, found, say};
use testkit::processes::{Census, NoneLeft};

use app_server::AppServer;

struct Rig {
    model: Model,
    /// Kept until the end of the test: dropping it deletes the directories.
    _home: Home,
    server: AppServer,
    thread: String,
    none_left: NoneLeft,
}

impl Rig {
    async fn start(model_name: &str) -> anyhow::Result<Self> {
        let codex = codex::install()?;
        let model = Model::start().await?;
        let home = Config::new(model.base_url()).model(model_name).build()?;
        let none_left = NoneLeft::new("CODEX_HOME", home.codex_home().display());
        let mut server = AppServer::start(codex.binary(), &home).await?;
        let cwd = home.workspace();
        let started = server.request("thread/start", json!({"cwd": cwd})).await?;
        let thread = started["thread"]["id"].as_str().expect("a thread has an id").to_owned();
        Ok(Self { model, _home: home, server, thread, none_left })
    }

    /// Starts a turn and waits for its end.
    async fn turn(&mut self, prompt: &str) -> anyhow::Result<Value> {
        let turn = self.start_turn(prompt).await?;
        self.server.notification("turn/completed", |it| it["turn"]["id"] == turn).await
    }

    async fn start_turn(&mut self, prompt: &str) -> anyhow::Result<Value> {
        let input = json!([{"type": "text", "text": prompt}]);
        let params = json!({"threadId": self.thread, "input": input});
        let mut started = self.server.request("turn/start", params).await?;
        Ok(started["turn"]["id"].take())
    }

    async fn item(&mut self, method: &str, kind: &str) -> anyhow::Result<Value> {
        let mut params = self.server.notification(method, |it| it["item"]["type"] == kind).await?;
        Ok(params["item"].take())
    }

    async fn terminals(&mut self) -> anyhow::Result<Value> {
        let params = json!({"threadId": self.thread});
        let mut list = self.server.request("thread/backgroundTerminals/list", params).await?;
        Ok(list["data"].take())
    }

    async fn end(self) -> anyhow::Result<()> {
        assert_eq!(self.model.errors(), Vec::<String>::new());
        assert!(self.server.stop().await?.success());
        self.model.stop().await;
        self.none_left.check_within(PATIENCE).await;
        Ok(())
    }
}

#[tokio::test]
async fn plain_turn() -> anyhow::Result<()> {
    let mut rig = Rig::start("gpt-5.5").await?;
    let pause = std::time::Duration::from_millis(1);
    let answer = say("Hello, streamed.").chunks(4, pause);
    let prompt = Script::new().step((Action::reason("thinking"), answer)).prompt("hi");
    let done = rig.turn(&prompt).await?;
    assert_eq!(done["turn"]["status"], "completed");
    assert_eq!(done["turn"]["items"][0]["text"], "Hello, streamed.");

    let requests = rig.model.wait_requests(1).await?;
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].thread.as_deref(), Some(&*rig.thread));
    assert!(requests[0].messages().iter().any(|it| it.contains(&prompt)));
    rig.end().await
}

#[tokio::test]
async fn background_command_of_direct_mode() -> anyhow::Result<()> {
    let mut rig = Rig::start("gpt-5.5").await?;
    let command = exec("read line; echo got $line; exit 3").tty(true).yield_ms(250).id("call_reader");
    rig.model.push(command);
    rig.model.push(Action::say("it waits for input"));
    let done = rig.turn("Start the reader, please.").await?;
    assert_eq!(done["turn"]["items"][0]["text"], "it waits for input");
    assert_eq!(rig.terminals().await?[0]["itemId"], "call_reader");
    let carriers = Census::of_env("CODEX_TOOL_CALL_ID", "call_reader");
    assert!(!carriers.is_empty(), "the command is to be found by its marker");

    let input = json!({"session_id": found(r"session ID (\d+)"), "chars": "tea\n"});
    rig.model.push(call("write_stdin", input));
    rig.turn("Now type tea.").await?;
    let ended = rig.item("item/completed", "commandExecution").await?;
    assert_eq!((&ended["id"], &ended["exitCode"]), (&json!("call_reader"), &json!(3)));
    assert!(ended["aggregatedOutput"].as_str().is_some_and(|it| it.contains("got tea")), "{ended}");
    rig.end().await
}

#[tokio::test]
async fn background_command_of_code_mode() -> anyhow::Result<()> {
    let mut rig = Rig::start("gpt-6.2-sol").await?;
    let script =
        Script::new().step(exec("echo up; sleep 300").yield_ms(250).in_code()).step(Action::say("it runs"));
    let done = rig.turn(&script.prompt("serve")).await?;
    assert_eq!(done["turn"]["items"][0]["text"], "it runs");
    let started = rig.item("item/started", "commandExecution").await?;
    let listed = rig.terminals().await?;
    assert_eq!(listed[0]["itemId"], started["id"]);

    let js = format!(
        r#"text(await tools.write_stdin({{session_id: {}, chars: "\u0003"}}))"#,
        found(r#""session_id":(\d+)"#)
    );
    rig.model.push(exec_code(&js));
    rig.turn("Press control-C.").await?;
    let ended = rig.item("item/completed", "commandExecution").await?;
    assert_eq!((&ended["id"], &ended["exitCode"]), (&started["id"], &json!(130)));
    assert!(rig.terminals().await?.as_array().is_some_and(Vec::is_empty));
    rig.end().await
}

#[tokio::test]
async fn a_gate_holds_the_turn_until_it_opens() -> anyhow::Result<()> {
    let mut rig = Rig::start("gpt-5.5").await?;
    rig.model.push((say("so far"), Action::gate("more"), say("the rest")));
    let turn = rig.start_turn("Tell me.").await?;
    rig.model.wait_gate("more").await?;
    rig.item("item/completed", "agentMessage").await?;
    rig.model.open("more");
    let rest = rig.item("item/completed", "agentMessage").await?;
    assert_eq!(rest["text"], "the rest");
    rig.server.notification("turn/completed", |it| it["turn"]["id"] == turn).await?;

    rig.model.push(Step::from(Action::gate("never")));
    let turn = rig.start_turn("Again.").await?;
    rig.model.wait_gate("never").await?;
    let params = json!({"threadId": rig.thread, "turnId": turn});
    rig.server.request("turn/interrupt", params).await?;
    rig.model.wait_abandoned(1).await?;

    rig.model.push(Action::http(500));
    let failed = rig.turn("Once more.").await?;
    assert_eq!(failed["turn"]["status"], "failed");
    rig.end().await
}
