//! One round: a story, the fault in the middle of it, and what must be true afterwards.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use serde_json::{Value, json};
use testkit::PATIENCE;
use testkit::belief::Version;
use testkit::model::{Action, Script, Step, say};
use testkit::processes::{self, Census, Signal};
use tokio::time::Instant;

use super::peer::{Peer, answer};
use super::plan::{ESCAPEE, Fault, Foreground, Plan, Request, Sandbox, background_id};
use super::verdict;
use crate::seen::{Dir, Seen};
use crate::session::is_end;
use crate::stage::Stage;

/// What a round came to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outcome {
    /// Terminals that the client was told of, and ends that it was told of.
    pub(super) n_terminals: usize,
    pub(super) n_exits: usize,
    /// What outlived the adapter because it was killed and Codex ends groups only.
    pub(super) n_escaped: usize,
    /// From the fault until the adapter was gone, or everything was told.
    pub(super) longest: Duration,
}

impl Outcome {
    pub(super) fn add(&mut self, other: Self) {
        self.n_terminals += other.n_terminals;
        self.n_exits += other.n_exits;
        self.n_escaped += other.n_escaped;
        self.longest = self.longest.max(other.longest);
    }
}

/// Runs a round in a runtime of its own.
pub(super) fn run(plan: &Plan) -> anyhow::Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mode = match plan.sandbox {
            Sandbox::None => "danger-full-access",
            Sandbox::Workspace => "workspace-write",
        };
        let stage = Stage::new(|config| config.sandbox_mode(mode)).await?;
        let outcome = Round { plan, stage: &stage }.play().await;
        if outcome.is_err() {
            stage.clear();
        }
        outcome
    })
}

struct Round<'a> {
    plan: &'a Plan,
    stage: &'a Stage,
}

impl Round<'_> {
    async fn play(&self) -> anyhow::Result<Outcome> {
        let mut peer = Peer::start(self.stage, self.plan.version)?;
        self.until_moment(&peer).await?;
        let since = Instant::now();
        let mut n_escaped = 0;
        let mut longest = None;
        match self.plan.fault {
            Fault::AppServer(signal) => {
                let from = self.end_app_server(&peer, signal).await?;
                longest = Some(self.until_settled(&peer, since).await?);
                self.works_again(&peer, from).await?;
                self.leave(&mut peer).await?;
            }
            Fault::AppServerTwice => {
                self.end_app_server(&peer, Signal::KILL).await?;
                let first = self.until_settled(&peer, since).await?;
                self.bring_app_server(&peer).await?;
                let since = Instant::now();
                let from = self.end_app_server(&peer, Signal::KILL).await?;
                longest = Some(first.max(self.until_settled(&peer, since).await?));
                self.works_again(&peer, from).await?;
                self.leave(&mut peer).await?;
            }
            Fault::ClientEof => self.leave(&mut peer).await?,
            Fault::ClientKilled => {
                peer.hang_up().await;
                let status = peer.exit().await?;
                ensure!(status.code() == Some(0), "the adapter ended with {status}");
            }
            Fault::Adapter(Signal::KILL) => {
                peer.signal(Signal::KILL)?;
                let status = peer.exit().await?;
                ensure!(status.signal() == Some(9), "the adapter ended with {status}");
                n_escaped = self.end_escaped().await?;
            }
            Fault::Adapter(signal) => {
                peer.signal(signal)?;
                let status = peer.exit().await?;
                expect_code(status, 128 + signal.as_raw())?;
            }
        }
        let longest = longest.unwrap_or_else(|| since.elapsed());
        let census = Census::new("CODEX_HOME", self.stage.home.codex_home().display());
        let tail = || peer.look(|it| it.tail(60));
        census.wait_gone(PATIENCE).await.map_err(|left| anyhow!("left behind: {left:#?}; {}", tail()))?;
        let terminals = match self.plan.fault {
            Fault::ClientKilled | Fault::Adapter(Signal::KILL) => peer.look(verdict::terminals),
            Fault::AppServer(_) | Fault::AppServerTwice | Fault::ClientEof | Fault::Adapter(_) => {
                verdict::check(&peer)?
            }
        };
        self.stage.check()?;
        Ok(Outcome { n_terminals: terminals.len(), n_exits: terminals.values().sum(), n_escaped, longest })
    }

    /// Plays the story up to the moment of the fault.
    async fn until_moment(&self, peer: &Peer) -> anyhow::Result<()> {
        let n_received = |it: &Seen| it.wire.iter().filter(|it| it.dir == Dir::FromAdapter).count();
        let moment = async {
            peer.wait("message", |it| (n_received(it) >= self.plan.after).then_some(())).await?;
            tokio::time::sleep(self.plan.later).await;
            Ok(())
        };
        let story = async {
            self.story(peer).await?;
            tokio::time::sleep(self.plan.later).await;
            Ok(())
        };
        tokio::select! {
            reached = moment => reached,
            played = story => played,
        }
    }

    async fn story(&self, peer: &Peer) -> anyhow::Result<()> {
        let capabilities = json!({"_meta": {"terminal_output": true}});
        let (name, version) = ("appserver-acp-tests", "1");
        let hello = match self.plan.version {
            Version::V1 => json!({
                "protocolVersion": 1,
                "clientInfo": {"name": name, "version": version},
                "clientCapabilities": capabilities,
            }),
            Version::V2 => json!({
                "protocolVersion": 2,
                "info": {"name": name, "version": version},
                "capabilities": {},
            }),
        };
        succeeded(peer, peer.request("initialize", hello)).await?;
        let answer = succeeded(peer, self.new_session(peer)).await?;
        let session = answer["sessionId"].as_str().context("a session has an id")?;

        if !self.plan.background.is_empty() {
            let calls = self.plan.background.iter().enumerate();
            let calls = calls.map(|(idx, shape)| shape.exec().id(background_id(idx)).yield_ms(250).into());
            let step: Step = calls.collect::<Vec<Action>>().into();
            self.turn(peer, session, &Script::new().step(step).step(say("They run."))).await?;
        }
        let from = peer.look(|it| it.wire.len());
        match self.plan.foreground {
            Foreground::None => {}
            Foreground::Talk => {
                let talk = Script::new().step((say("Well"), Action::gate("never"), say("never said")));
                self.prompt(peer, session, &talk);
                let is_text = |update: &Value| update["sessionUpdate"] == "agent_message_chunk";
                peer.wait("text", |it| it.updates(session, from).any(|(_, it)| is_text(it)).then_some(()))
                    .await?;
            }
            Foreground::Command(shape) => {
                let call = shape.exec().id("front").yield_ms(30_000);
                self.prompt(peer, session, &Script::new().step(call).step(say("over")));
                peer.wait("foreground command", |it| it.belief.is_running(session, "front").map(drop))
                    .await?;
            }
        }
        match self.plan.request {
            Request::None => {}
            Request::StopTerminal(idx) => {
                let params = json!({"sessionId": session, "terminalId": background_id(idx)});
                // One that ended by itself by now is refused.
                let _ = peer.outcome(peer.request("terminal/cancel", params)).await?;
            }
            Request::Cancel => peer.notify("session/cancel", json!({"sessionId": session})),
            Request::Close => drop(peer.request("session/close", json!({"sessionId": session}))),
            Request::Prompt => drop(self.prompt(peer, session, &Script::new().step(say("One more.")))),
        }
        Ok(())
    }

    fn new_session(&self, peer: &Peer) -> u64 {
        peer.request("session/new", json!({"cwd": self.stage.home.workspace(), "mcpServers": []}))
    }

    fn prompt(&self, peer: &Peer, session: &str, script: &Script) -> u64 {
        let prompt = json!([{"type": "text", "text": script.prompt("go")}]);
        peer.request("session/prompt", json!({"sessionId": session, "prompt": prompt}))
    }

    /// Runs a whole turn that must end by itself.
    async fn turn(&self, peer: &Peer, session: &str, script: &Script) -> anyhow::Result<()> {
        let from = peer.look(|it| it.wire.len());
        let answer = succeeded(peer, self.prompt(peer, session, script)).await?;
        let reason = match self.plan.version {
            Version::V1 => answer["stopReason"].clone(),
            Version::V2 => {
                let end = |update: &Value| is_end(update).then(|| update["stopReason"].clone());
                peer.wait("end of the turn", |it| it.updates(session, from).find_map(|(_, it)| end(it)))
                    .await?
            }
        };
        ensure!(reason == "end_turn", "the turn ended with {reason}; {}", peer.look(|it| it.tail(40)));
        Ok(())
    }

    /// Sends a signal to the app-server as soon as it is there, and waits for its end; where on the wire that began.
    async fn end_app_server(&self, peer: &Peer, signal: Signal) -> anyhow::Result<usize> {
        let pid = poll("app-server", || self.app_server(peer)).await?;
        let from = peer.look(|it| it.wire.len());
        processes::signal(pid, signal)?;
        poll("end of the app-server", || (self.app_server(peer) != Some(pid)).then_some(())).await?;
        Ok(from)
    }

    /// Sends a prompt, or asks for a session for want of one, which starts the next app-server; again where that still
    /// went to the last one.
    async fn bring_app_server(&self, peer: &Peer) -> anyhow::Result<()> {
        loop {
            let request = match open_session(peer) {
                Some(session) => self.prompt(peer, &session, &Script::new().step(say("lost?"))),
                None => self.new_session(peer),
            };
            let is_lost = poll("next app-server", || {
                let is_lost = matches!(peer.look(|it| answer(it, request)), Some(Err(_)));
                (is_lost || self.app_server(peer).is_some()).then_some(is_lost)
            });
            if !is_lost.await? {
                return Ok(());
            }
        }
    }

    fn app_server(&self, peer: &Peer) -> Option<u32> {
        self.stage.app_server_processes().iter().find(|it| peer.owns(it)).map(|it| it.pid)
    }

    /// Waits until the end of everything was told; how long that took.
    async fn until_settled(&self, peer: &Peer, since: Instant) -> anyhow::Result<Duration> {
        peer.wait("end of everything", |it| verdict::is_settled(it).then_some(())).await.with_context(
            || format!("open: {:?} {:?}", peer.look(verdict::unanswered), peer.look(verdict::terminals)),
        )?;
        Ok(since.elapsed())
    }

    /// The next prompt works, in the session or, if it is closed or never came to be, in a new one. Before the end of
    /// the app-server, at message `from`, was told, one may still go to it, and is lost with that reason.
    async fn works_again(&self, peer: &Peer, from: usize) -> anyhow::Result<()> {
        let is_told = peer.look(|it| it.wire.iter().skip(from).any(|it| tells_end(&it.body.to_string())));
        match self.back_again(peer).await {
            Err(lost) if !is_told && tells_end(&lost.to_string()) => self.back_again(peer).await,
            outcome => outcome,
        }
    }

    async fn back_again(&self, peer: &Peer) -> anyhow::Result<()> {
        let session = match open_session(peer) {
            Some(session) => session,
            None => {
                let answer = succeeded(peer, self.new_session(peer)).await?;
                answer["sessionId"].as_str().context("a session has an id")?.to_owned()
            }
        };
        self.turn(peer, &session, &Script::new().step(say("Back again."))).await
    }

    /// The client closes the adapter's input, and the adapter leaves.
    async fn leave(&self, peer: &mut Peer) -> anyhow::Result<()> {
        peer.close_input();
        expect_code(peer.exit().await?, 0)
    }

    /// After a SIGKILL of the adapter: waits until Codex has ended its groups, ends what left them, and counts it.
    async fn end_escaped(&self) -> anyhow::Result<usize> {
        let census = Census::new("CODEX_HOME", self.stage.home.codex_home().display());
        let escaping = self.plan.commands().filter(|(_, shape)| shape.escapes());
        let ids: BTreeSet<String> = match self.plan.sandbox {
            Sandbox::None => escaping.map(|(id, _)| id).collect(),
            // Nothing leaves a process namespace.
            Sandbox::Workspace => BTreeSet::new(),
        };
        let may_stay = |pid: u32| ids.iter().any(|id| has(&Census::of_env("CODEX_TOOL_CALL_ID", id), pid));
        let left = census
            .wait(PATIENCE, |all| all.iter().all(|it| it.cmd == ESCAPEE && may_stay(it.pid)))
            .await
            .map_err(|left| anyhow!("not ended by Codex, of {ids:?}: {left:#?}"))?;
        for process in &left {
            // It may have ended since it was listed.
            let _ = processes::signal(process.pid, Signal::KILL);
        }
        Ok(left.len())
    }
}

/// Whether a message or an error says that the app-server ended.
fn tells_end(text: &str) -> bool {
    text.contains("the codex app-server ended")
}

/// Waits for what the system has no event for.
async fn poll<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> anyhow::Result<T> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(it) = look() {
            return Ok(it);
        }
        ensure!(Instant::now() < deadline, "no {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn has(all: &[processes::Found], pid: u32) -> bool {
    all.iter().any(|it| it.pid == pid)
}

/// The session of the story, if it was opened and no close of it was answered.
fn open_session(peer: &Peer) -> Option<String> {
    peer.look(|seen| {
        let request = |method: &str| {
            let it = seen.wire.iter().rev().find(|it| it.body["method"] == method)?;
            answer(seen, it.body["id"].as_u64()?)?.ok()
        };
        let session = request("session/new")?["sessionId"].as_str()?.to_owned();
        request("session/close").is_none().then_some(session)
    })
}

async fn succeeded(peer: &Peer, id: u64) -> anyhow::Result<Value> {
    match peer.outcome(id).await? {
        Ok(result) => Ok(result),
        Err(error) => bail!("request {id} was refused: {error}; {}", peer.look(|it| it.tail(40))),
    }
}

fn expect_code(status: ExitStatus, code: i32) -> anyhow::Result<()> {
    ensure!(status.code() == Some(code), "the adapter ended with {status}, not with code {code}");
    Ok(())
}
