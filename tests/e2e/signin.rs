//! Signing in to the real Codex: nobody, a key, a code, elsewhere. Keys stay out of what is written down.

use std::path::PathBuf;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::belief::Version;
use testkit::issuer::{Issuer, TOKEN_MARK, USER_CODE};
use testkit::model::{Script, say};
use tokio::process::Command;

use crate::client::Client;
use crate::seen::Dir;
use crate::session::Session;
use crate::stage::{Casting, Stage, play_with};

in_both_versions!(
    nobody_then_a_login_elsewhere,
    a_chosen_key,
    the_key_of_codex,
    a_code,
    a_code_that_is_cancelled,
    a_login_in_a_terminal,
    a_prompt_after_a_logout,
    a_gateway,
);

const KEY: &str = "sk-e2e-Zx81QmPz77LdWn04";

async fn nobody_then_a_login_elsewhere(version: Version) {
    play_with(
        |it| it.needs_account(),
        async |stage| {
            let client = stage.client(Casting::of(version)).await?;
            let error = client.refused("new", json!({"cwd": stage.home.workspace()})).await?;
            ensure!(error["code"] == -32000, "another error: {error}");
            let what_to_do = error["message"].as_str().unwrap_or_default();
            ensure!(what_to_do.contains("codex login"), "no word on what to do: {error}");
            let thread =
                json!({"sessionId": "01a22c4f-03d5-70f1-9613-a7a7b6a216b0", "cwd": stage.home.workspace()});
            let error = client.refused("resume", thread).await?;
            ensure!(error["code"] == -32000, "another error: {error}");

            login_elsewhere(stage).await?;
            answers(stage, &client).await?;
            client.end().await?;
            Ok(())
        },
    )
    .await;
}

async fn a_chosen_key(version: Version) {
    play_with(
        |it| it.needs_account(),
        async |stage| {
            let trace = stage.home.workspace().join("trace.jsonl");
            let casting = Casting::of(version).env("OPENAI_API_KEY", KEY).env("APPSERVER_ACP_TRACE", &trace);
            let client = stage.client(casting).await?;
            let error = client.refused("new", json!({"cwd": stage.home.workspace()})).await?;
            ensure!(error["code"] == -32000, "taken unasked: {error}");
            login(&client, "openai-api-key").await?;
            ensure!(auth(stage)?.contains(KEY), "codex has not kept the key");
            answers(stage, &client).await?;
            let logout = if version == Version::V1 { "logout" } else { "auth/logout" };
            client.call("request", json!({"method": logout, "params": {}})).await?;
            ensure!(auth(stage).is_err(), "codex has kept the key");
            let error = client.refused("new", json!({"cwd": stage.home.workspace()})).await?;
            ensure!(error["code"] == -32000, "another error: {error}");
            client.end().await?;
            let trace = std::fs::read_to_string(&trace)?;
            ensure!(trace.contains("account/login/start"), "the trace misses the login");
            ensure!(!trace.contains(KEY), "the key is in the trace");
            replays(&trace)
        },
    )
    .await;
}

async fn the_key_of_codex(version: Version) {
    play_with(
        |it| it.needs_account(),
        async |stage| {
            let client = stage.client(Casting::of(version).env("CODEX_API_KEY", KEY)).await?;
            answers(stage, &client).await?;
            client.end().await?;
            Ok(())
        },
    )
    .await;
}

async fn a_code(version: Version) {
    let issuer = Issuer::start().await.expect("the login server starts");
    play_with(
        |it| it.needs_account().top(&issuer.config()),
        async |stage| {
            let trace = stage.home.workspace().join("trace.jsonl");
            let casting = with_pages(version, &issuer).env("APPSERVER_ACP_TRACE", &trace);
            let client = stage.client(casting).await?;
            client.call("answer", json!({"elicitation": {"action": "accept"}})).await?;
            let pending = client.start("request", login_request(version, "chatgpt-device-code"));
            let page = page(&client).await?;
            ensure!(page.to_string().contains(USER_CODE), "the page has no code: {page}");
            issuer.grant();
            let outcome = client.outcome(pending).await?;
            ensure!(outcome == Ok(json!({})), "the login ended otherwise: {outcome:?}");
            ensure!(auth(stage)?.contains(TOKEN_MARK), "codex has kept no token");
            stage.open(&client).await?;
            client.end().await?;
            let trace = std::fs::read_to_string(&trace)?;
            ensure!(!trace.contains(TOKEN_MARK), "a token is in the trace");
            replays(&trace)
        },
    )
    .await;
}

async fn a_code_that_is_cancelled(version: Version) {
    let issuer = Issuer::start().await.expect("the login server starts");
    play_with(
        |it| it.needs_account().top(&issuer.config()),
        async |stage| {
            let client = stage.client(with_pages(version, &issuer)).await?;
            client.call("answer", json!({"elicitation": {"action": "accept"}})).await?;
            let pending = client.start("request", login_request(version, "chatgpt-device-code"));
            let request = page(&client).await?["requestId"].clone();
            let cancel = json!({"method": "$/cancel_request", "params": {"requestId": request}});
            client.call("notify", cancel).await?;
            let error = client.outcome(pending).await?.err().context("the login is not cancelled")?;
            ensure!(error["code"] == -32800, "another error: {error}");
            // With Codex no login is under way either: the next one begins, and ends.
            issuer.grant();
            login(&client, "chatgpt-device-code").await?;
            stage.open(&client).await?;
            client.end().await?;
            Ok(())
        },
    )
    .await;
}

async fn a_login_in_a_terminal(version: Version) {
    play_with(
        |it| it.needs_account(),
        async |stage| {
            let terminal = if version == Version::V1 { json!(true) } else { json!({}) };
            let casting = Casting::of(version).capabilities(json!({"auth": {"terminal": terminal}}));
            let client = stage.client(casting).await?;
            let hello = client.look(|it| it.wire.iter().find(|it| it.dir == Dir::FromAdapter).cloned());
            let hello = hello.context("initialize is answered")?.body;
            let method = &hello["result"]["authMethods"][0];
            ensure!(method["type"] == "terminal", "no method for a terminal: {hello}");
            let args: Vec<&str> =
                method["args"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            // What a client runs: its own command line for the agent, and these arguments.
            let adapter = PathBuf::from(env!("CARGO_BIN_EXE_appserver-acp"));
            run(stage, &adapter, &[args.as_slice(), &["--with-api-key"]].concat()).await?;
            answers(stage, &client).await?;
            client.end().await?;
            Ok(())
        },
    )
    .await;
}

/// One after the other: Codex listens on a port that is always the same.
#[cfg(unix)]
#[tokio::test]
async fn pages_in_a_browser() {
    a_page_that_we_open().await;
    a_page_that_the_client_opens(Version::V1).await;
    a_page_that_the_client_opens(Version::V2).await;
}

#[cfg(unix)]
async fn a_page_that_the_client_opens(version: Version) {
    let issuer = Issuer::start().await.expect("the login server starts");
    play_with(
        |it| it.needs_account().top(&issuer.config()),
        async |stage| {
            let client = stage.client(with_pages(version, &issuer)).await?;
            client.call("answer", json!({"elicitation": {"action": "accept"}})).await?;
            let pending = client.start("request", login_request(version, "chatgpt"));
            let page = page(&client).await?;
            come_back(page["url"].as_str().context("the page has an address")?).await?;
            let outcome = client.outcome(pending).await?;
            ensure!(outcome == Ok(json!({})), "the login ended otherwise: {outcome:?}");
            ensure!(auth(stage)?.contains(TOKEN_MARK), "codex has kept no token");
            let is_over = |it: &crate::seen::Message| {
                it.body["method"] == "elicitation/complete"
                    && it.body["params"]["elicitationId"] == page["elicitationId"]
            };
            ensure!(client.look(|it| it.wire.iter().any(is_over)), "the client is not told that it is over");
            stage.open(&client).await?;
            client.end().await?;
            Ok(())
        },
    )
    .await;
}

/// The client shows no pages, so the adapter opens it.
#[cfg(unix)]
async fn a_page_that_we_open() {
    use std::os::unix::fs::PermissionsExt as _;

    let issuer = Issuer::start().await.expect("the login server starts");
    play_with(
        |it| it.needs_account().top(&issuer.config()),
        async |stage| {
            let (trace, browser) =
                (stage.home.workspace().join("trace.jsonl"), stage.home.workspace().join("browser"));
            std::fs::write(&browser, "#!/bin/sh\nprintf %s \"$1\" > page.part && mv page.part page\n")?;
            std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755))?;
            let (name, value) = issuer.env();
            let casting =
                Casting::v1().env(name, value).env("BROWSER", &browser).env("APPSERVER_ACP_TRACE", &trace);
            let client = stage.client(casting).await?;
            let pending = client.start("request", login_request(Version::V1, "chatgpt"));
            stage.file("page").await?;
            let page = std::fs::read_to_string(stage.home.workspace().join("page"))?;
            ensure!(page.starts_with("http://127.0.0.1:"), "another page: {page}");
            come_back(&page).await?;
            let outcome = client.outcome(pending).await?;
            ensure!(outcome == Ok(json!({})), "the login ended otherwise: {outcome:?}");
            ensure!(auth(stage)?.contains(TOKEN_MARK), "codex has kept no token");
            stage.open(&client).await?;
            client.end().await?;
            let trace = std::fs::read_to_string(&trace)?;
            ensure!(!trace.contains(TOKEN_MARK), "a token is in the trace");
            replays(&trace)
        },
    )
    .await;
}

/// What the login server makes a browser do: go back to Codex, with a code.
#[cfg(unix)]
async fn come_back(page: &str) -> anyhow::Result<()> {
    let of_query = |name: &str| {
        let (_, query) = page.split_once('?')?;
        query.split('&').find_map(|it| it.strip_prefix(name)?.strip_prefix('='))
    };
    let back = of_query("redirect_uri").context("a page to come back to")?;
    let back = back.replace("%3A", ":").replace("%2F", "/");
    let (host, path) = back.strip_prefix("http://").and_then(|it| it.split_once('/')).context("a host")?;
    let state = of_query("state").context("a state")?;
    let answer = get(host, &format!("{path}?code=code&state={state}")).await?;
    // As a browser does, and Codex waits for it.
    let next = answer.lines().find_map(|it| it.to_lowercase().starts_with("location: ").then(|| &it[10..]));
    let next = next.with_context(|| format!("codex took no code: {answer}"))?;
    let (host, path) = next.strip_prefix("http://").and_then(|it| it.split_once('/')).context("a page")?;
    let answer = get(host, path).await?;
    ensure!(answer.starts_with("HTTP/1.1 200"), "no word of success: {answer}");
    Ok(())
}

#[cfg(unix)]
async fn get(host: &str, path: &str) -> anyhow::Result<String> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let mut socket = tokio::net::TcpStream::connect(host).await?;
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// Codex would put it to the model, without an account.
async fn a_prompt_after_a_logout(version: Version) {
    play_with(
        |it| it.needs_account(),
        async |stage| {
            let client = stage.client(Casting::of(version).env("OPENAI_API_KEY", KEY)).await?;
            login(&client, "openai-api-key").await?;
            let session = stage.open(&client).await?;
            let hello = || Script::new().step(say("hello")).prompt("hi");
            session.turn(&hello()).await?;
            let asked = stage.model.requests().len();
            let logout = if version == Version::V1 { "logout" } else { "auth/logout" };
            client.call("request", json!({"method": logout, "params": {}})).await?;
            let error = client.refused("prompt", json!({"sessionId": session.id, "text": hello()})).await?;
            ensure!(error["code"] == -32000, "another error: {error}");
            ensure!(error.to_string().contains("codex login"), "no word on what to do: {error}");
            ensure!(stage.model.requests().len() == asked, "the model was asked");
            let ps = session.turn("/ps").await?;
            let is_answer = |it: &Value| it.to_string().contains("No command is running").then_some(());
            session.update("the answer of a command, which needs no account", ps.from, is_answer).await?;
            login_elsewhere(stage).await?;
            session.turn(&hello()).await?;
            session.at_rest().await?;
            client.end().await?;
            Ok(())
        },
    )
    .await;
}

/// The models come from where the client says, with its headers; these are written down nowhere.
async fn a_gateway(version: Version) {
    play_with(
        |it| it.needs_account(),
        async |stage| {
            let trace = stage.home.workspace().join("trace.jsonl");
            let able = json!({"auth": {"_meta": {"gateway": true}}});
            let casting =
                || Casting::of(version).capabilities(able.clone()).env("APPSERVER_ACP_TRACE", &trace);
            let client = stage.client(casting()).await?;
            let error = client.refused("new", json!({"cwd": stage.home.workspace()})).await?;
            ensure!(error["code"] == -32000, "another error: {error}");
            let mut request = login_request(version, "gateway");
            request["params"]["_meta"] = json!({"gateway": {
                "baseUrl": stage.model.base_url(), "headers": {"Authorization": format!("Bearer {KEY}")},
            }});
            client.call("request", request.clone()).await?;
            let session = stage.open(&client).await?;
            session.turn(&Script::new().step(say("hello")).prompt("hi")).await?;
            came_with_key(stage)?;
            let id = session.id.clone();
            client.end().await?;

            // Codex knows the thread's gateway by its name, and nobody else knows its key.
            let client = stage.client(casting()).await?;
            client.call("request", request).await?;
            let params = json!({"sessionId": id, "cwd": stage.home.workspace()});
            client.call("resume", params).await?;
            let session = Session { client: &client, id };
            session.turn(&Script::new().step(say("hello")).prompt("hi")).await?;
            came_with_key(stage)?;
            client.end().await?;

            let trace = std::fs::read_to_string(&trace)?;
            ensure!(trace.contains("model_providers"), "the trace misses the gateway");
            ensure!(!trace.contains(KEY), "the key is in the trace");
            ensure!(auth(stage).is_err(), "codex has kept something");
            replays(&trace)
        },
    )
    .await;
}

fn came_with_key(stage: &Stage) -> anyhow::Result<()> {
    let requests = stage.model.requests();
    let last = requests.last().context("the model was asked")?;
    ensure!(last.authorization.as_deref() == Some(&format!("Bearer {KEY}")), "another key");
    Ok(())
}

fn with_pages(version: Version, issuer: &Issuer) -> Casting {
    let (name, value) = issuer.env();
    Casting::of(version).capabilities(json!({"elicitation": {"form": {}, "url": {}}})).env(name, value)
}

fn login_request(version: Version, method: &str) -> Value {
    let name = if version == Version::V1 { "authenticate" } else { "auth/login" };
    json!({"method": name, "params": {"methodId": method}})
}

async fn login(client: &Client, method: &str) -> anyhow::Result<()> {
    client.call("request", login_request(client.version, method)).await.map(drop)
}

/// The page that the client is asked to open.
async fn page(client: &Client) -> anyhow::Result<Value> {
    client
        .wait("page to sign in", |it| {
            let page = |it: &&crate::seen::Message| it.body["method"] == "elicitation/create";
            it.wire.iter().find(page).map(|it| it.body["params"].clone())
        })
        .await
}

/// A session opens, and its first prompt is answered.
async fn answers(stage: &Stage, client: &Client) -> anyhow::Result<()> {
    let session = stage.open(client).await?;
    let turn = session.turn(&Script::new().step(say("hello")).prompt("hi")).await?;
    ensure!(session.text(turn.from) == "hello", "another answer");
    session.at_rest().await
}

/// What Codex keeps.
fn auth(stage: &Stage) -> anyhow::Result<String> {
    Ok(std::fs::read_to_string(stage.home.codex_home().join("auth.json"))?)
}

async fn login_elsewhere(stage: &Stage) -> anyhow::Result<()> {
    run(stage, stage.codex(), &["login", "--with-api-key"]).await
}

async fn run(stage: &Stage, program: &std::path::Path, args: &[&str]) -> anyhow::Result<()> {
    use tokio::io::AsyncWriteExt as _;
    let mut child = Command::new(program)
        .args(args)
        .env_clear()
        .envs(stage.home.env())
        .env("CODEX_PATH", stage.codex())
        .stdin(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut stdin = child.stdin.take().context("stdin is a pipe")?;
    stdin.write_all(KEY.as_bytes()).await?;
    drop(stdin);
    let status = tokio::time::timeout(testkit::PATIENCE, child.wait()).await??;
    ensure!(status.success(), "{} {args:?} ended with {status}", program.display());
    Ok(())
}

fn replays(trace: &str) -> anyhow::Result<()> {
    let steps = trace.lines().map(appserver_acp::trace::step::Step::parse).collect::<Result<Vec<_>, _>>()?;
    let differences = appserver_acp::cmd::replay::differences(&steps);
    ensure!(differences.is_empty(), "the trace runs otherwise: {differences:?}");
    Ok(())
}
