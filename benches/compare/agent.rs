//! A running agent and the client that measures it: plain lines of JSON, ACP v2, no SDK in the way.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};
use testkit::home::Home;
use testkit::processes::Census;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::{Contender, clock};

/// Enough for the slowest flood on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

#[derive(Debug)]
pub(crate) struct Agent {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    next_id: u64,
    session: String,
}

/// What one prompt brought.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    pub(crate) n_updates: usize,
    pub(crate) n_bytes: usize,
    /// Bytes of command output that the client holds at the end, all terminals together.
    pub(crate) n_held: usize,
    pub(crate) millis: f64,
    /// When each piece of the assistant's text came, and how long it was.
    pub(crate) texts: Vec<(u64, usize)>,
}

/// Processor time and memory of one process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) cpu_millis: f64,
    pub(crate) rss_mb: f64,
}

impl Agent {
    pub(crate) fn start(
        contender: &Contender,
        home: &Home,
        env: &[(&str, std::path::PathBuf)],
    ) -> anyhow::Result<Self> {
        let (program, args) = contender.command.split_first().context("an agent needs a command")?;
        let mut child = Command::new(program)
            .args(args)
            .env_clear()
            .envs(home.env())
            .env("INITIAL_AGENT_MODE", "agent-full-access")
            .envs(env.iter().map(|(name, value)| (name, value)))
            .current_dir(home.workspace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("start {program}"))?;
        let stdin = child.stdin.take().context("stdin is a pipe")?;
        let stdout = BufReader::with_capacity(1 << 18, child.stdout.take().context("stdout is a pipe")?);
        Ok(Self { child, stdin, stdout, next_id: 0, session: String::new() })
    }

    pub(crate) async fn initialize(&mut self) -> anyhow::Result<()> {
        let info = json!({"name": "compare", "version": "1"});
        let answer = self
            .request("initialize", json!({"protocolVersion": 2, "info": info, "capabilities": {}}))
            .await?;
        ensure!(answer["protocolVersion"] == 2, "the agent does not speak ACP v2: {answer}");
        Ok(())
    }

    pub(crate) async fn open_session(&mut self, home: &Home) -> anyhow::Result<()> {
        let answer = self.request("session/new", json!({"cwd": home.workspace(), "mcpServers": []})).await?;
        self.session = answer["sessionId"].as_str().context("a session has an id")?.to_owned();
        Ok(())
    }

    /// Sends a prompt and reads until the session is idle again.
    pub(crate) async fn prompt(&mut self, text: &str) -> anyhow::Result<Turn> {
        let start = clock::micros();
        let mut turn = Turn::default();
        let params = json!({"sessionId": self.session, "prompt": [{"type": "text", "text": text}]});
        let id = self.send("session/prompt", params).await?;
        let mut answered = false;
        let mut idle = false;
        while !(answered && idle) {
            let (message, n_bytes) = self.receive().await?;
            let at = clock::micros();
            if message["id"] == id && message.get("method").is_none() {
                ensure!(message.get("error").is_none(), "the prompt failed: {message}");
                answered = true;
            }
            if message["method"] != "session/update" {
                continue;
            }
            turn.n_updates += 1;
            turn.n_bytes += n_bytes;
            let update = &message["params"]["update"];
            match update["sessionUpdate"].as_str().unwrap_or_default() {
                "agent_message_chunk" => {
                    let text = update["content"]["text"].as_str().unwrap_or_default();
                    turn.texts.push((at, text.len()));
                }
                "terminal_output_chunk" => turn.n_held += decoded_len(&update["data"]),
                // A snapshot replaces what came before; a prompt of the bench runs one command.
                "terminal_update" if update["output"].is_object() => {
                    turn.n_held = decoded_len(&update["output"]["data"]);
                }
                "state_update" => {
                    idle = update["state"] == "idle" && !update["stopReason"].is_null();
                    ensure!(!idle || update["stopReason"] == "end_turn", "the turn ended in {update}");
                }
                _ => {}
            }
        }
        turn.millis = clock::millis_since(start);
        Ok(turn)
    }

    /// Closes the agent's input and returns how many milliseconds it took to go.
    pub(crate) async fn end(mut self) -> anyhow::Result<f64> {
        let start = clock::micros();
        drop(self.stdin);
        let waited = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        waited.context("the agent does not end after its input did")??;
        Ok(clock::millis_since(start))
    }

    /// The load of the agent's own process.
    pub(crate) fn own_load(&self) -> anyhow::Result<Load> {
        let pid = self.child.id().context("the agent has ended")?;
        loads(&[pid]).pop().context("the agent has ended")
    }

    /// The memory of the agent with everything that it started.
    pub(crate) fn total_mb(home: &Home) -> f64 {
        let family = Census::of_env("CODEX_HOME", home.codex_home().display());
        let pids: Vec<u32> = family.iter().map(|it| it.pid).collect();
        loads(&pids).iter().map(|it| it.rss_mb).sum()
    }

    async fn request(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let id = self.send(method, params).await?;
        loop {
            let (mut message, _) = self.receive().await?;
            if message["id"] == id && message.get("method").is_none() {
                ensure!(message.get("error").is_none(), "{method} failed: {message}");
                return Ok(message["result"].take());
            }
        }
    }

    async fn send(&mut self, method: &str, params: Value) -> anyhow::Result<u64> {
        self.next_id += 1;
        let id = self.next_id;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await?;
        Ok(id)
    }

    async fn write(&mut self, message: &Value) -> anyhow::Result<()> {
        self.stdin.write_all(format!("{message}\n").as_bytes()).await?;
        Ok(self.stdin.flush().await?)
    }

    /// The next message of the agent; its requests are refused.
    async fn receive(&mut self) -> anyhow::Result<(Value, usize)> {
        let mut line = Vec::new();
        let read = tokio::time::timeout(PATIENCE, self.stdout.read_until(b'\n', &mut line)).await;
        if read.context("the agent fell silent")?? == 0 {
            bail!("the agent ended");
        }
        let message: Value = serde_json::from_slice(&line).context("the agent wrote no JSON")?;
        if let (Some(id), Some(_)) = (message.get("id"), message.get("method")) {
            let error = json!({"code": -32601, "message": "not here"});
            self.write(&json!({"jsonrpc": "2.0", "id": id, "error": error})).await?;
        }
        Ok((message, line.len()))
    }
}

fn decoded_len(base64: &Value) -> usize {
    let text = base64.as_str().unwrap_or_default();
    text.len() / 4 * 3 - text.bytes().rev().take_while(|it| *it == b'=').count()
}

#[expect(clippy::cast_precision_loss, reason = "memory and processor time are far below 2^52")]
fn loads(pids: &[u32]) -> Vec<Load> {
    let pids: Vec<Pid> = pids.iter().map(|it| Pid::from_u32(*it)).collect();
    let mut system = System::new().expect("sysinfo knows the systems that Codex runs on");
    let wanted = ProcessRefreshKind::nothing().with_memory().with_cpu().without_tasks();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&pids), true, wanted);
    let load = |pid: &Pid| {
        let process = system.process(*pid)?;
        let cpu_millis = process.accumulated_cpu_time() as f64;
        Some(Load { cpu_millis, rss_mb: process.memory() as f64 / 1e6 })
    };
    pids.iter().filter_map(load).collect()
}
