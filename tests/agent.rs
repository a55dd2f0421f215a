//! The program as a client sees it: a real process, with a Codex made of a shell script.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use tempfile::TempDir;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}"#;

/// An agent and the client's ends of its pipes.
struct Agent {
    process: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    dir: TempDir,
}

impl Agent {
    /// An agent whose Codex is this shell script.
    fn start(codex: &str) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("codex");
        testkit::program::script(&path, codex).expect("the script is written");
        Self::with(&path, dir)
    }

    fn with(codex: &Path, dir: TempDir) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_appserver-acp"))
            .arg("--codex")
            .arg(codex)
            .arg("--trace")
            .arg(dir.path().join("trace.jsonl"))
            .env_remove("CODEX_CONFIG")
            .env_remove("MODEL_PROVIDER")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the agent starts");
        let stdin = process.stdin.take();
        let stdout = BufReader::new(process.stdout.take().expect("stdout is a pipe"));
        Self { process, stdin, stdout, dir }
    }

    fn send(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        writeln!(stdin, "{line}").expect("the agent reads");
    }

    fn line(&mut self) -> serde_json::Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("the agent writes");
        serde_json::from_str(&line).expect("stdout is protocol only")
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.process.id()).ok().and_then(rustix::process::Pid::from_raw);
        rustix::process::kill_process(pid.expect("a pid"), signal).expect("the agent is there");
    }

    /// Waits for the exit; what was left on stdout and stderr comes along.
    fn exit(&mut self) -> (ExitStatus, String, String) {
        let (mut out, mut err) = (String::new(), String::new());
        self.stdout.read_to_string(&mut out).expect("stdout ends");
        let stderr = self.process.stderr.as_mut().expect("stderr is a pipe");
        stderr.read_to_string(&mut err).expect("stderr ends");
        (self.process.wait().expect("the agent ends"), out, err)
    }

    /// Waits for the exit without reading a byte of stdout; what was said on stderr comes along.
    fn exit_unread(&mut self) -> (ExitStatus, String) {
        let mut err = String::new();
        let stderr = self.process.stderr.as_mut().expect("stderr is a pipe");
        stderr.read_to_string(&mut err).expect("stderr ends");
        (self.process.wait().expect("the agent ends"), err)
    }

    /// Makes it write more than its pipe holds, and reads nothing: until the pipe is full.
    fn choke(&mut self) {
        for _ in 0..5_000 {
            self.send("this is no json, and the answer says so");
        }
        // A pipe holds 64 KiB, and the rest of a page may stay free.
        while rustix::io::ioctl_fionread(self.stdout.get_ref()).expect("a pipe") < 60 << 10 {
            std::thread::yield_now();
        }
    }

    /// The pid that a Codex made of [`NAMED`] has written down.
    fn codex_pid(&self) -> String {
        let file = self.dir.path().join("pid");
        loop {
            match std::fs::read_to_string(&file) {
                Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
                Ok(_) | Err(_) => std::thread::yield_now(),
            }
        }
    }

    fn trace(&self) -> PathBuf {
        self.dir.path().join("trace.jsonl")
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It is gone already where a test waited for its exit.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A Codex that says nothing and leaves when its stdin ends.
const SILENT: &str = "while read line; do :; done";

/// The same, and it writes down its pid.
const NAMED: &str = r#"echo $$ > "$(dirname "$0")/pid"; while read line; do :; done"#;

/// Only a test that fails waits this long.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// Waits until a process is gone, or nobody has reaped it: what was killed needs a moment to take that.
fn assert_ends(pid: &str, why: &str) {
    let stat = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let is_alive = || stat().rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'));
    let start = tokio::time::Instant::now();
    while is_alive() {
        assert!(start.elapsed() < PATIENCE, "{why}");
        std::thread::yield_now();
    }
}

#[test]
fn initialize_is_answered_although_codex_says_nothing() {
    let mut agent = Agent::start(SILENT);
    agent.send(INITIALIZE);
    let answer = agent.line();
    assert_eq!((&answer["id"], &answer["result"]["protocolVersion"]), (&1.into(), &1.into()));
}

#[test]
fn a_request_that_is_too_long_is_answered_wherever_its_id_stands() {
    let mut agent = Agent::start(SILENT);
    agent.send(INITIALIZE);
    agent.line();
    let long = "x".repeat(33 << 20);
    let params = format!(r#""params":{{"sessionId":"s","prompt":[{{"type":"text","text":"{long}"}}]}}"#);
    agent.send(&format!(r#"{{"jsonrpc":"2.0","id":"a","method":"session/prompt",{params}}}"#));
    agent.send(&format!(r#"{{"jsonrpc":"2.0",{params},"method":"session/prompt","id":8}}"#));
    for id in [serde_json::json!("a"), serde_json::json!(8)] {
        let answer = agent.line();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &(-32600).into()), "{answer}");
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.starts_with("session/prompt: the line is longer than 33554432 bytes"), "{message}");
    }
    agent.stdin = None;
    assert_eq!(agent.exit().0.code(), Some(0));
    let trace = std::fs::read_to_string(agent.trace()).expect("there is a trace");
    assert!(trace.len() < 1 << 20, "{} bytes were written down", trace.len());
}

#[test]
fn the_end_of_stdin_is_an_exit_with_zero() {
    let mut agent = Agent::start(SILENT);
    agent.send(INITIALIZE);
    agent.line();
    agent.stdin = None;
    let (status, _, stderr) = agent.exit();
    assert_eq!(status.code(), Some(0), "{stderr}");
}

#[test]
fn a_signal_is_an_exit_with_its_number() {
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::INT, rustix::process::Signal::HUP]
    {
        let mut agent = Agent::start(SILENT);
        agent.send(INITIALIZE);
        agent.line();
        agent.signal(signal);
        let (status, _, stderr) = agent.exit();
        assert_eq!((status.code(), status.signal()), (Some(128 + signal.as_raw()), None), "{stderr}");
    }
}

#[test]
fn a_second_signal_cuts_the_end_short() {
    // This Codex takes its time: without the second signal its end would take seconds.
    let mut agent = Agent::start("trap '' TERM; for i in $(seq 100); do sleep 0.05; done");
    agent.send(INITIALIZE);
    agent.line();
    while agent.process.try_wait().expect("the agent can be waited for").is_none() {
        agent.signal(rustix::process::Signal::TERM);
        std::thread::yield_now();
    }
    let (status, _, stderr) = agent.exit();
    assert_eq!(status.code(), Some(143));
    assert!(stderr.contains("second signal"), "{stderr}");
}

#[test]
fn a_codex_that_is_not_there_is_said_at_session_new() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut agent = Agent::with(Path::new("/nonexistent/codex"), dir);
    agent.send(INITIALIZE);
    agent.line();
    agent.send(r#"{"id":2,"method":"session/new","params":{"cwd":"/tmp","mcpServers":[]}}"#);
    let error = agent.line()["error"].to_string();
    assert!(
        error.contains("/nonexistent/codex") && error.contains("npm install -g @openai/codex"),
        "{error}"
    );
}

#[test]
fn what_is_not_understood_costs_only_itself() {
    let mut agent = Agent::start(SILENT);
    agent.send("this is no json");
    assert_eq!(agent.line()["error"]["code"], -32700);
    agent.send(INITIALIZE);
    assert_eq!(agent.line()["id"], 1);
}

#[test]
fn a_trace_of_a_run_replays_the_same_and_can_be_told() {
    let mut agent = Agent::start("echo garbage; while read line; do :; done");
    agent.send(INITIALIZE);
    agent.line();
    agent.send(r#"{"id":2,"method":"session/list","params":{}}"#);
    agent.stdin = None;
    let (status, _, stderr) = agent.exit();
    assert_eq!(status.code(), Some(0), "{stderr}");
    let program = |command: &str| {
        Command::new(env!("CARGO_BIN_EXE_appserver-acp"))
            .arg(command)
            .arg(agent.trace())
            .output()
            .expect("it runs")
    };
    let replay = program("replay");
    let said = String::from_utf8_lossy(&replay.stdout).into_owned();
    assert!(replay.status.success() && said.contains("the same as before"), "{said}");
    let story = program("explain");
    let said = String::from_utf8_lossy(&story.stdout).into_owned();
    assert!(said.contains("-> initialize #1") && said.contains("<- initialize"), "{said}");
}

#[test]
fn a_codex_outlives_its_agent_in_no_case() {
    let mut agent = Agent::start(NAMED);
    agent.send(INITIALIZE);
    agent.line();
    let pid = agent.codex_pid();
    agent.signal(rustix::process::Signal::KILL);
    agent.exit();
    assert_ends(&pid, "it goes on");
}

/// Its last messages wait for two seconds, by its own clock, and for nobody who is gone.
#[test]
fn a_client_that_stops_reading_holds_nobody() {
    for ending in ["EOF", "TERM", "gone"] {
        let mut agent = Agent::start(NAMED);
        agent.send(INITIALIZE);
        agent.line();
        let pid = agent.codex_pid();
        agent.choke();
        let code = match ending {
            "EOF" => {
                agent.stdin = None;
                0
            }
            "TERM" => {
                agent.signal(rustix::process::Signal::TERM);
                143
            }
            // It dies: both pipes break.
            _ => {
                agent.stdin = None;
                let null = std::fs::File::open("/dev/null").expect("there is one");
                agent.stdout = BufReader::new(ChildStdout::from(std::os::fd::OwnedFd::from(null)));
                0
            }
        };
        let (status, stderr) = agent.exit_unread();
        assert_eq!((status.code(), status.signal()), (Some(code), None), "{ending}: {stderr}");
        let is_given_up = stderr.contains("the client did not take the last messages");
        assert_eq!(is_given_up, ending != "gone", "{ending}: {stderr}");
        assert_ends(&pid, &format!("{ending}: Codex is left"));
    }
}

/// A Codex that takes nothing any more, not even SIGTERM, is killed before we leave.
#[test]
fn a_codex_that_is_stopped_is_ended_all_the_same() {
    let mut agent = Agent::start(NAMED);
    agent.send(INITIALIZE);
    agent.line();
    let pid = agent.codex_pid();
    let raw = pid.parse().ok().and_then(rustix::process::Pid::from_raw).expect("a pid");
    rustix::process::kill_process(raw, rustix::process::Signal::STOP).expect("Codex is there");
    agent.stdin = None;
    let (status, _, stderr) = agent.exit();
    assert_eq!(status.code(), Some(0), "{stderr}");
    assert_ends(&pid, "a stopped process outlived us");
}
