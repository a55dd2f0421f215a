//! The story: what happens in which order, and what must be true at each point.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use serde_json::json;
use testkit::processes::{Census, Found};

use super::belief::Belief;
use super::claim::{Claim, Proofs};
use super::event::End;
use super::project::{self, DEV_SERVER, TESTS};
use super::stage::{Left, Stage};
use super::wire::Version;

/// What every command that Codex runs carries in its environment: the id of its session ..
const OF_SESSION: &str = "CODEX_THREAD_ID";
/// .. and of its own call, which is the id of its terminal.
const OF_COMMAND: &str = "CODEX_TOOL_CALL_ID";
/// What the adapter, Codex and all commands of this demo carry.
const OF_DEMO: &str = "CODEX_HOME";

/// How long processes may take to show in the system's list, and to vanish from it.
const VANISH: Duration = Duration::from_secs(60);

/// The pauses for a person who watches; nothing depends on them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Between two words of the agent.
    pub(crate) word: Duration,
    /// To take in what was just shown.
    pub(crate) look: Duration,
}

impl Pace {
    pub(crate) const FOR_A_PERSON: Self =
        Self { word: Duration::from_millis(80), look: Duration::from_millis(2500) };
    pub(crate) const QUICK: Self = Self { word: Duration::ZERO, look: Duration::ZERO };
}

/// The parts of the story, and what they hand on.
pub(crate) struct Story<'a> {
    stage: &'a mut Stage,
    proofs: &'a mut Proofs,
    pace: Pace,
    /// When the first turn ended, and what the server had said by then.
    turn_over: f64,
    lines_by_then: usize,
}

impl<'a> Story<'a> {
    pub(crate) fn new(stage: &'a mut Stage, proofs: &'a mut Proofs, pace: Pace) -> Self {
        Self { stage, proofs, pace, turn_over: 0.0, lines_by_then: 0 }
    }

    /// Tells the story up to the close of the session. [`Proofs::at`] is what a failure leaves unproved.
    pub(crate) async fn tell(mut self) -> anyhow::Result<()> {
        self.open().await?;
        self.start_the_server().await?;
        self.watch_the_server().await?;
        self.second_turn().await?;
        self.take_stock();
        if self.can_stop() {
            self.stop_the_server().await?;
        }
        self.end_the_tests().await?;
        self.close().await
    }

    async fn open(&mut self) -> anyhow::Result<()> {
        self.proofs.at = Claim::Starts;
        let adapter = self.stage.initialize().await?;
        self.stage.new_session().await?;
        self.stage.screen.known("ready", format_args!("{adapter} has started Codex and opened a session"));
        Ok(())
    }

    async fn start_the_server(&mut self) -> anyhow::Result<()> {
        self.proofs.at = Claim::OutlivesItsTurn;
        self.stage.screen.title("1  The agent starts a dev server, and its turn ends");
        project::script_first_turn(&self.stage.model, self.pace.word);
        self.prompt("Start the dev server and leave it running.", 1).await?;
        self.turn_over = self.stage.screen.seconds();
        self.lines_by_then = lines(&self.stage.belief, DEV_SERVER);
        let server = running(&self.stage.belief, DEV_SERVER)?;
        // In the middle of an exec a process shows nothing.
        let processes = Census::new(OF_COMMAND, server).wait(VANISH, |found| !found.is_empty()).await;
        let processes =
            processes.map_err(|_| anyhow!("`{DEV_SERVER}` is said to run, but there is no such process"))?;
        self.check_list(&[DEV_SERVER])?;
        self.stage.screen.known("counted", format_args!("{} of the dev server", count(&processes)));
        Ok(())
    }

    async fn watch_the_server(&mut self) -> anyhow::Result<()> {
        self.proofs.at = Claim::KeepsTalking;
        self.stage.screen.title("2  The turn is over, the server is not");
        let wanted = self.lines_by_then + 2;
        self.stage.until("more output of the dev server", |it| lines(it, DEV_SERVER) >= wanted).await?;
        self.stage.until("the address of the dev server", |it| address(it).is_some()).await?;
        self.stage.let_watch(self.pace.look).await
    }

    async fn second_turn(&mut self) -> anyhow::Result<()> {
        self.proofs.at = Claim::SecondTurn;
        self.stage.screen.title("3  A second turn, beside the running server");
        let url = address(&self.stage.belief).context("the dev server has no address")?;
        project::script_second_turn(&self.stage.model, &url, self.pace.word);
        self.prompt("Start the tests, and see whether the server answers.", 2).await?;
        let check = end(&self.stage.belief, &project::check_command(&url)).context("the check goes on")?;
        ensure!(check.code == Some(0), "the dev server did not answer: {}", check.in_words());
        running(&self.stage.belief, DEV_SERVER)?;
        running(&self.stage.belief, TESTS)?;
        self.check_list(&[DEV_SERVER, TESTS])?;
        self.stage.until("the request in the server's own output", saw_the_request).await?;
        self.stage.let_watch(self.pace.look).await
    }

    fn take_stock(&mut self) {
        let lived = self.stage.screen.seconds() - self.turn_over;
        let said = lines(&self.stage.belief, DEV_SERVER).saturating_sub(self.lines_by_then);
        self.proofs.prove(Claim::OutlivesItsTurn, format!("by {lived:.1} s, and runs on"));
        self.proofs.prove(Claim::KeepsTalking, format!("{said} lines after the turn"));
        self.proofs.prove(Claim::SecondTurn, "it asked the server, which answered");
    }

    /// Version 1 has no message that stops one command; an adapter may offer `/stop`.
    fn can_stop(&mut self) -> bool {
        let can = self.stage.version == Version::V2 || self.stage.belief.commands.contains("stop");
        if !can {
            self.stage.screen.title("4  No way to stop only the server");
            self.stage
                .screen
                .known("note", "ACP version 1 cannot stop one command, and there is no /stop here");
        }
        can
    }

    async fn stop_the_server(&mut self) -> anyhow::Result<()> {
        self.proofs.at = Claim::StoppedAlone;
        self.stage.screen.title("4  You stop the server, and only the server");
        let server = running(&self.stage.belief, DEV_SERVER)?.to_owned();
        let tests = running(&self.stage.belief, TESTS)?.to_owned();
        self.ask_to_stop(&server).await?;
        self.stage.until("the end of the dev server", |it| end(it, DEV_SERVER).is_some()).await?;
        self.await_list(&[TESTS]).await?;
        let rest = Census::new(OF_COMMAND, &server).wait_gone(VANISH).await;
        if let Err(found) = rest {
            bail!("its end was told, but {} of it are there: {}", count(&found), names(&found));
        }
        let beside = Census::of_env(OF_COMMAND, &tests);
        ensure!(!beside.is_empty(), "the tests were ended too");
        let counted = format!("0 processes of the dev server, {} of the tests", count(&beside));
        self.stage.screen.known("counted", counted);
        let before = lines(&self.stage.belief, TESTS);
        self.stage.until("more output of the tests", |it| lines(it, TESTS) > before).await?;
        self.proofs.prove(Claim::StoppedAlone, "the tests beside it went on");

        self.proofs.at = Claim::ToldTruly;
        let told = end(&self.stage.belief, DEV_SERVER).context("the dev server goes on")?;
        let words = told.in_words();
        ensure!(told.by.as_deref() == Some("client"), "it was stopped on request, but is told as: {words}");
        ensure!(told.signal.is_some(), "it was stopped by a signal, but is told as: {words}");
        self.proofs.prove(Claim::ToldTruly, words);
        self.stage.let_watch(self.pace.look).await
    }

    async fn end_the_tests(&mut self) -> anyhow::Result<()> {
        self.proofs.at = Claim::EndsByItself;
        running(&self.stage.belief, TESTS)?;
        project::end_tests(self.stage.workspace())?;
        self.stage.until("the end of the tests", |it| end(it, TESTS).is_some()).await?;
        let told = end(&self.stage.belief, TESTS).context("the tests go on")?;
        ensure!(told.code == Some(0), "the tests passed, but are told as: {}", told.in_words());
        self.proofs.prove(Claim::EndsByItself, told.in_words());
        if self.stage.version == Version::V2 {
            self.proofs.at = Claim::ListEmpties;
            self.await_list(&[]).await?;
            self.proofs.prove(Claim::ListEmpties, "each end was told before its entry went");
        }
        Ok(())
    }

    async fn close(&mut self) -> anyhow::Result<()> {
        self.proofs.at = Claim::NothingLeft;
        self.stage.screen.title("5  You close the session");
        self.stage.screen.you("[close]");
        let close = json!({"sessionId": self.stage.session});
        self.stage.call("session/close", close).await?;
        self.stage.screen.known("closed", "nothing of the session is at work any more");
        if let Some(told) = end(&self.stage.belief, DEV_SERVER).filter(|_| !self.proofs.has(Claim::ToldTruly))
        {
            self.proofs.prove(Claim::ToldTruly, told.in_words());
        }
        let faults = &self.stage.belief.faults;
        ensure!(faults.is_empty(), "the adapter contradicted itself: {}", faults.join("; "));
        Ok(())
    }

    async fn prompt(&mut self, text: &str, turns: usize) -> anyhow::Result<()> {
        self.stage.screen.you(text);
        self.stage.prompt(text).await?;
        self.stage.turn_end(turns).await
    }

    async fn ask_to_stop(&mut self, terminal: &str) -> anyhow::Result<()> {
        match self.stage.version {
            Version::V2 => {
                self.stage.screen.you(&format!("[stop {DEV_SERVER}]"));
                let params = json!({"sessionId": self.stage.session, "terminalId": terminal});
                self.stage.call("terminal/cancel", params).await?;
                self.stage.screen.known("accepted", "the adapter is stopping it");
            }
            // The server was started first, so that it is the first of `/ps`.
            Version::V1 => {
                let ended = self.stage.belief.turns_ended;
                self.prompt("/ps", ended + 1).await?;
                self.prompt("/stop 1", ended + 2).await?;
            }
        }
        Ok(())
    }

    /// The list, as it is now: exactly these commands. In version 1 the answer to a prompt may name them.
    fn check_list(&self, commands: &[&str]) -> anyhow::Result<()> {
        let listed = self.stage.belief.listed();
        let is_said = self.stage.belief.background.is_some();
        ensure!(is_said || self.stage.version == Version::V1, "no list of background work came");
        ensure!(
            !is_said || same(&listed, commands),
            "the list should name {commands:?}, but it is {listed:?}"
        );
        Ok(())
    }

    async fn await_list(&mut self, commands: &[&str]) -> anyhow::Result<()> {
        if self.stage.version == Version::V2 {
            let what = format!("the list {commands:?}");
            self.stage.until(&what, |it| it.background.is_some() && same(&it.listed(), commands)).await?;
        }
        Ok(())
    }
}

/// After the adapter was sent away: nothing of it may be left.
pub(crate) async fn nothing_left(left: &mut Left, session: &str, proofs: &mut Proofs) -> anyhow::Result<()> {
    let status = left.adapter.as_ref().map_err(|error| anyhow!("{error:#}"))?;
    left.screen.known("goodbye", format_args!("the adapter has ended ({status})"));
    ensure!(status.success(), "the adapter ended with {status}");
    let home = left.home.codex_home().display();
    for census in [Census::new(OF_SESSION, session), Census::new(OF_DEMO, home)] {
        if let Err(found) = census.wait_gone(VANISH).await {
            bail!("{} left: {}", count(&found), names(&found));
        }
    }
    left.screen.known("counted", "0 processes: no command, no Codex, no adapter");
    proofs.prove(Claim::NothingLeft, "no command, no Codex, no adapter");
    Ok(())
}

fn same(listed: &[&str], commands: &[&str]) -> bool {
    listed.iter().collect::<BTreeSet<_>>() == commands.iter().collect::<BTreeSet<_>>()
        && listed.len() == commands.len()
}

/// The terminal of a command that should be running.
fn running<'a>(belief: &'a Belief, command: &str) -> anyhow::Result<&'a str> {
    let (id, terminal) = belief.of(command).with_context(|| format!("`{command}` was never announced"))?;
    match &terminal.end {
        None => Ok(id),
        Some(end) => bail!("`{command}` should be running, but: {}", end.in_words()),
    }
}

fn end<'a>(belief: &'a Belief, command: &str) -> Option<&'a End> {
    belief.of(command)?.1.end.as_ref()
}

fn lines(belief: &Belief, command: &str) -> usize {
    belief.of(command).map_or(0, |(_, it)| it.lines().len())
}

/// What the dev server says it listens on.
fn address(belief: &Belief) -> Option<String> {
    let (_, server) = belief.of(DEV_SERVER)?;
    server.lines().iter().find_map(|it| it.strip_prefix("ready on ").map(str::to_owned))
}

fn saw_the_request(belief: &Belief) -> bool {
    belief.of(DEV_SERVER).is_some_and(|(_, it)| it.lines().iter().any(|it| it == "GET /health 200"))
}

fn count(found: &[Found]) -> String {
    match found.len() {
        1 => "1 process".to_owned(),
        n => format!("{n} processes"),
    }
}

fn names(found: &[Found]) -> String {
    let each: Vec<_> = found.iter().map(|it| format!("{} ({})", it.cmd, it.pid)).collect();
    each.join(", ")
}
