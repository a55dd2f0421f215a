//! The `doctor` subcommand: is this machine ready, and what to put into a client's settings.
//!
//! Starts Codex for a moment, or connects to one that runs, and asks who is logged in; changes nothing.

pub mod setup;
#[cfg(test)]
mod tests;

use self::setup::Setup;
use crate::child::{Child, FromChild, Program};
use crate::connect::{Connection, Target};
use crate::core::ids::Generation;
use crate::core::made_for;
use crate::locate::{NotFound, Sought, locate};
use crate::transport::Frame;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::mpsc::{self, Receiver};
use tokio::time::timeout;

/// Exit code if something is missing.
const NOT_READY: u8 = 1;
const PATIENCE: Duration = Duration::from_secs(15);
const INITIALIZE: i64 = 1;
const ACCOUNT: i64 = 2;

/// The examination could not be made.
#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    #[error("start the runtime")]
    Runtime(#[source] io::Error),
    #[error("write the findings")]
    Write(#[from] io::Error),
}

/// What was found; `Err` says what is wrong and what to do.
#[derive(Debug)]
struct Findings {
    program: Result<PathBuf, NotFound>,
    version: Result<String, String>,
    app_server: Result<(), String>,
    login: Result<String, String>,
}

/// What an app-server said.
#[derive(Debug)]
struct Answers {
    hello: Value,
    account: Value,
}

/// Runs the subcommand; the exit code.
///
/// # Errors
/// If the runtime cannot start or the findings cannot be written.
pub fn run(
    codex: &Sought,
    overrides: &[String],
    connect: Option<&Target>,
    setup: &Setup,
    out: &mut dyn Write,
) -> Result<u8, DoctorError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(DoctorError::Runtime)?;
    if let Some(target) = connect {
        let lines = runtime.block_on(examine_running(target, setup));
        runtime.shutdown_background();
        let is_ready = tell(&lines, out)?;
        setup.print(None, out)?;
        return Ok(if is_ready { 0 } else { NOT_READY });
    }
    let findings = runtime.block_on(examine(codex, overrides, setup));
    runtime.shutdown_background();
    let is_ready = report(&findings, out)?;
    // Found on PATH, it needs no word.
    let program = codex.named.as_deref().map(|named| findings.program.as_deref().unwrap_or(named));
    setup.print(program, out)?;
    Ok(if is_ready { 0 } else { NOT_READY })
}

async fn examine(codex: &Sought, overrides: &[String], setup: &Setup) -> Findings {
    let program = locate(codex);
    let Ok(path) = &program else {
        let skipped = || "not examined, there is no codex".to_owned();
        return Findings {
            program,
            version: Err(skipped()),
            app_server: Err(skipped()),
            login: Err(skipped()),
        };
    };
    let version = version(path).await;
    let (app_server, login) = match talk(path, overrides, setup).await {
        Ok(login) => (Ok(()), login),
        Err(why) => (Err(why), Err("not examined, the app-server does not answer".to_owned())),
    };
    Findings { version, app_server, login, program }
}

/// What is to be said of an app-server that runs.
async fn examine_running(target: &Target, setup: &Setup) -> Vec<Line> {
    let (events, mut heard) = mpsc::channel(16);
    let mut connection = Connection::open(target.clone(), Generation(1), events);
    let answers = timeout(PATIENCE, ask(&|line| connection.send(line), &mut heard)).await;
    let pid = connection.pid();
    connection.end();
    drained(&mut heard).await;
    let skipped = || Err("not examined, there is no connection".to_owned());
    let address = &target.address;
    let answers = match answers {
        Ok(Ok(answers)) => answers,
        Ok(Err(why)) => return vec![("connect", Err(why)), ("version", skipped()), ("login", skipped())],
        Err(_) => {
            let why = format!("what listens at {address} did not answer within {} s", PATIENCE.as_secs());
            return vec![("connect", Err(why)), ("version", skipped()), ("login", skipped())];
        }
    };
    let place = match pid {
        Some(pid) => format!("{address}, process {pid}"),
        None => format!("{address}, no process of yours on this host: what it runs is stopped by it alone"),
    };
    let agent = answers.hello["userAgent"].as_str().unwrap_or_default();
    let version = match made_for::version(agent) {
        Some(version) => {
            new_enough(&version, Some(&address.to_string())).map(|()| format!("codex {version}"))
        }
        None => Err("it does not say; is it a codex app-server?".to_owned()),
    };
    vec![("connect", Ok(place)), ("version", version), ("login", login(&answers.account, setup))]
}

async fn version(path: &Path) -> Result<String, String> {
    let output = tokio::process::Command::new(path).arg("--version").kill_on_drop(true).output();
    match timeout(PATIENCE, output).await {
        Ok(Ok(output)) if output.status.success() => {
            let said = String::from_utf8_lossy(&output.stdout);
            let said = said.lines().next().unwrap_or_default().trim();
            // `codex-cli 0.171.0`
            let version = said.split_whitespace().next_back().unwrap_or_default();
            new_enough(version, None).map(|()| said.to_owned())
        }
        Ok(Ok(output)) => Err(format!("`codex --version` ended with {}", output.status)),
        Ok(Err(error)) => Err(format!("`codex --version` could not run: {error}")),
        Err(_) => Err(format!("`codex --version` did not answer within {} s", PATIENCE.as_secs())),
    }
}

fn new_enough(version: &str, address: Option<&str>) -> Result<(), String> {
    match made_for::warning(Some(version), address) {
        Some((title, description)) => Err(format!("{title}. {description}")),
        None => Ok(()),
    }
}

/// Who is logged in; the outer error is of the app-server, the inner one of the login.
async fn talk(path: &Path, overrides: &[String], setup: &Setup) -> Result<Result<String, String>, String> {
    let (events, mut heard) = mpsc::channel(16);
    let program = Program { path: path.to_owned(), overrides: overrides.to_vec(), run: None };
    let mut child = Child::start(&program, Generation(1), events).map_err(|error| error.to_string())?;
    let answers = timeout(PATIENCE, ask(&|line| child.send(line), &mut heard)).await;
    child.end();
    drained(&mut heard).await;
    match answers {
        Ok(answers) => answers.map(|it| login(&it.account, setup)),
        Err(_) => Err(format!("it did not answer within {} s", PATIENCE.as_secs())),
    }
}

async fn ask(send: &dyn Fn(String), heard: &mut Receiver<FromChild>) -> Result<Answers, String> {
    let client = json!({"name": env!("CARGO_PKG_NAME"), "title": null, "version": env!("CARGO_PKG_VERSION")});
    send(json!({"id": INITIALIZE, "method": "initialize", "params": {"clientInfo": client}}).to_string());
    let hello = answer(heard, INITIALIZE).await?;
    send(json!({"method": "initialized"}).to_string());
    send(json!({"id": ACCOUNT, "method": "account/read", "params": {}}).to_string());
    Ok(Answers { hello, account: answer(heard, ACCOUNT).await? })
}

async fn drained(heard: &mut Receiver<FromChild>) {
    while let Some(event) = heard.recv().await {
        if matches!(event, FromChild::Died { .. } | FromChild::NotStarted { .. }) {
            break;
        }
    }
}

async fn answer(heard: &mut Receiver<FromChild>, id: i64) -> Result<Value, String> {
    loop {
        let line = match heard.recv().await {
            Some(FromChild::Frame { frame: Frame::Line(line), .. }) => line,
            Some(FromChild::Frame { frame: Frame::Oversized(_), .. }) => continue,
            Some(FromChild::NotStarted { message, .. }) => return Err(message),
            Some(FromChild::Died { how, stderr, .. }) => {
                let last_words = stderr.map(|it| format!("; {it}")).unwrap_or_default();
                return Err(format!("it ended: {how}{last_words}"));
            }
            None => return Err("it ended".to_owned()),
        };
        let message: Value = serde_json::from_slice(&line).unwrap_or_default();
        if message["id"] != id {
            continue;
        }
        return match message.get("error") {
            Some(error) => Err(format!("it refused: {}", error["message"].as_str().unwrap_or_default())),
            None => Ok(message["result"].clone()),
        };
    }
}

fn login(account: &Value, setup: &Setup) -> Result<String, String> {
    match account["account"]["type"].as_str() {
        Some("apiKey") => Ok("an API key".to_owned()),
        Some("chatgpt") => {
            Ok(format!("ChatGPT, plan {}", account["account"]["planType"].as_str().unwrap_or("unknown")))
        }
        Some(other) => Ok(other.to_owned()),
        None if account["requiresOpenaiAuth"] == false => Ok("not needed for this model provider".to_owned()),
        None if setup.has_codex_key => {
            Ok("nobody; the first session gives codex the key in CODEX_API_KEY".to_owned())
        }
        None => Err("nobody; run `codex login`, or set CODEX_API_KEY".to_owned()),
    }
}

/// What is said of one thing.
type Line = (&'static str, Result<String, String>);

fn report(findings: &Findings, out: &mut dyn Write) -> io::Result<bool> {
    let program = findings.program.as_ref().map(|path| path.display().to_string());
    let lines = [
        ("codex", program.map_err(ToString::to_string)),
        ("version", findings.version.clone()),
        ("app-server", findings.app_server.clone().map(|()| "answers".to_owned())),
        ("login", findings.login.clone()),
    ];
    tell(&lines, out)
}

/// Whether all is well.
fn tell(lines: &[Line], out: &mut dyn Write) -> io::Result<bool> {
    for (name, found) in lines {
        match found {
            Ok(good) => writeln!(out, "ok    {name:<12}{good}")?,
            Err(wrong) => writeln!(out, "NOT   {name:<12}{wrong}")?,
        }
    }
    Ok(lines.iter().all(|(_, found)| found.is_ok()))
}
