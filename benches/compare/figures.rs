//! The figures of one round of one contender.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use testkit::codex::{self, Codex};
use testkit::home::{Config, Home};
use testkit::model::{Model, Script, exec, say};

use crate::agent::{Agent, Turn};
use crate::{Contender, clock, tap};

/// Starts of the agent per round of which the median is taken.
const N_STARTS: usize = 7;
/// Pieces of text whose way through the agent is timed.
const N_PIECES: usize = 400;
const PIECE: &str = "piece";
const PIECE_PAUSE: Duration = Duration::from_millis(4);

/// 10 MB in pieces of 8 kB, each at once but not all at once: Codex then hands out nearly all of it.
const PACED_10_MB: &str = "s=$(printf 'x%.0s' {1..7999}); \
    for i in {1..1250}; do echo $s; for j in {1..400}; do :; done; done";
/// One write per line.
const LINES_400_000: &str = "for ((i = 0; i < 400000; i++)); do echo $i; done";

/// What all contenders share.
#[derive(Debug)]
pub(crate) struct Stand {
    codex: Codex,
    model: Model,
    dir: PathBuf,
}

impl Stand {
    pub(crate) async fn new(dir: PathBuf) -> anyhow::Result<Self> {
        Ok(Self { codex: codex::install()?, model: Model::start().await?, dir })
    }

    fn home(&self) -> anyhow::Result<Home> {
        Config::new(self.model.base_url()).build()
    }

    fn codex_env(&self) -> [(&'static str, PathBuf); 1] {
        [("CODEX_PATH", self.codex.binary().to_owned())]
    }
}

/// One figure: what it is and its value in this round.
pub(crate) type Figure = (&'static str, f64);

#[derive(Debug)]
pub(crate) struct Figures(pub(crate) Vec<Figure>);

impl Figures {
    pub(crate) async fn measure(stand: &Stand, contender: &Contender) -> anyhow::Result<Self> {
        let mut figures = start_and_end(stand, contender).await?;
        figures.extend(output(stand, contender).await?);
        figures.extend(latency(stand, contender).await?);
        Ok(Self(figures))
    }
}

/// From the start of the process to the answer of `initialize`; and from the end of its input to its own end.
async fn start_and_end(stand: &Stand, contender: &Contender) -> anyhow::Result<Vec<Figure>> {
    let home = stand.home()?;
    let mut starts = Vec::new();
    let mut ends = Vec::new();
    for _ in 0..N_STARTS {
        let start = clock::micros();
        let mut agent = Agent::start(contender, &home, &stand.codex_env())?;
        agent.initialize().await?;
        starts.push(clock::millis_since(start));
        agent.open_session(&home).await?;
        ends.push(agent.end().await?);
    }
    Ok(vec![
        ("spawn to initialize answer, ms", median(&mut starts)),
        ("exit after end of input, ms", median(&mut ends)),
    ])
}

/// Memory with a session, and what 10 MB and 400 000 lines of command output cost.
async fn output(stand: &Stand, contender: &Contender) -> anyhow::Result<Vec<Figure>> {
    let home = stand.home()?;
    let mut agent = Agent::start(contender, &home, &stand.codex_env())?;
    agent.initialize().await?;
    agent.open_session(&home).await?;
    // An agent may ask the model for a title first; that answer is not one of the scripted ones.
    agent.prompt("hello").await?;
    let quiet = agent.own_load()?;
    let total_mb = Agent::total_mb(&home);

    let paced = run(&mut agent, PACED_10_MB).await?;
    let after_paced = agent.own_load()?;
    let flood = run(&mut agent, LINES_400_000).await?;
    let after_flood = agent.own_load()?;
    agent.end().await?;
    ensure!(paced.n_held > 0 && flood.n_held > 0, "no output came");
    Ok(vec![
        ("own memory with a session, MB", quiet.rss_mb),
        ("memory with Codex, MB", total_mb),
        ("own memory after the flood, MB", after_flood.rss_mb),
        ("10 MB of output: own CPU, ms", after_paced.cpu_millis - quiet.cpu_millis),
        ("10 MB of output: updates", count(paced.n_updates)),
        ("10 MB of output: MB at the client", count(paced.n_held) / 1e6),
        ("400 000 lines: updates", count(flood.n_updates)),
        ("400 000 lines: MB of updates", count(flood.n_bytes) / 1e6),
        ("400 000 lines: MB at the client", count(flood.n_held) / 1e6),
        ("400 000 lines: wall time, ms", flood.millis),
        ("400 000 lines: own CPU, ms", after_flood.cpu_millis - after_paced.cpu_millis),
    ])
}

async fn run(agent: &mut Agent, command: &str) -> anyhow::Result<Turn> {
    let script = Script::new().step(exec(command).yield_ms(30_000)).step(say("done"));
    agent.prompt(&script.prompt("run")).await
}

/// What the agent adds to the way of a piece of text from Codex to the client.
async fn latency(stand: &Stand, contender: &Contender) -> anyhow::Result<Vec<Figure>> {
    let home = stand.home()?;
    let notes = stand.dir.join("compare-notes");
    let mut agent = Agent::start(contender, &home, &tap::env(stand.codex.binary(), &notes)?)?;
    agent.initialize().await?;
    agent.open_session(&home).await?;
    agent.prompt("hello").await?;
    let text = PIECE.repeat(N_PIECES);
    let script = Script::new().step(say(text).chunks(N_PIECES, PIECE_PAUSE));
    let turn = agent.prompt(&script.prompt("talk")).await?;
    agent.end().await?;
    let written = tap::read(&notes, PIECE)?;
    let mut delays = delays(&written, &turn.texts);
    ensure!(delays.len() >= N_PIECES / 2, "only {} of {N_PIECES} pieces were timed", delays.len());
    let p50 = median(&mut delays);
    Ok(vec![
        ("added latency of text, median, ms", p50),
        ("added latency of text, p99, ms", delays[delays.len() * 99 / 100]),
    ])
}

/// For every piece that Codex wrote: milliseconds until the client held all of it.
#[expect(clippy::cast_precision_loss, reason = "delays are small")]
fn delays(written: &[(u64, usize)], arrived: &[(u64, usize)]) -> Vec<f64> {
    let mut delays = Vec::new();
    let mut arrived = arrived.iter();
    let mut n_written = 0;
    let mut n_arrived = 0;
    let mut now = 0;
    for (at, len) in written {
        n_written += len;
        while n_arrived < n_written {
            let Some((came, len)) = arrived.next() else { return delays };
            now = *came;
            n_arrived += len;
        }
        delays.push(now.saturating_sub(*at) as f64 / 1000.0);
    }
    delays
}

/// Sorts and returns the middle one.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn count(n: usize) -> f64 {
    n as f64
}
