//! Compares agents side by side: the same real Codex, the same scripted model, the same client.
//!
//! `cargo bench --bench compare [-- [--rounds N] [--only NAME] [NAME=COMMAND ...]]`: NAME=COMMAND adds an agent.
//! Medians over the rounds; the agents take turns, so that a busy machine is busy for all of them.

mod agent;
mod clock;
mod figures;
mod peer;
mod table;
mod tap;

use std::path::PathBuf;

use anyhow::{Context, ensure};

use figures::{Figures, Stand};
use table::Table;

/// What is measured: a name for the table and the command that starts the agent.
#[derive(Clone, Debug)]
pub(crate) struct Contender {
    pub(crate) name: String,
    pub(crate) command: Vec<String>,
}

fn main() -> anyhow::Result<()> {
    if tap::is_wanted() {
        return tap::run();
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --all-targets` starts benches too, without this argument.
    if !args.iter().any(|it| it == "--bench") {
        return Ok(());
    }
    let plan = Plan::parse(&args)?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(plan.run())
}

/// What the arguments ask for.
#[derive(Debug)]
struct Plan {
    rounds: usize,
    contenders: Vec<Contender>,
}

impl Plan {
    fn parse(args: &[String]) -> anyhow::Result<Self> {
        let own = Contender {
            name: "appserver-acp".to_owned(),
            command: vec![env!("CARGO_BIN_EXE_appserver-acp").to_owned()],
        };
        let mut plan = Self { rounds: 3, contenders: vec![own, peer::codex_acp()?] };
        let mut only = Vec::new();
        let mut rest = args.iter().filter(|it| *it != "--bench");
        while let Some(arg) = rest.next() {
            match arg.as_str() {
                "--rounds" => plan.rounds = rest.next().context("--rounds needs a number")?.parse()?,
                "--only" => only.push(rest.next().context("--only needs a name")?.clone()),
                agent => plan.contenders.push(Contender::parse(agent)?),
            }
        }
        if !only.is_empty() {
            plan.contenders.retain(|it| only.contains(&it.name));
        }
        ensure!(!plan.contenders.is_empty(), "no agent of that name");
        Ok(plan)
    }

    #[expect(clippy::print_stderr, reason = "a long run says where it is")]
    async fn run(&self) -> anyhow::Result<()> {
        let stand = Stand::new(PathBuf::from(env!("CARGO_TARGET_TMPDIR"))).await?;
        let mut table = Table::new(&self.contenders);
        for round in 1..=self.rounds {
            for contender in &self.contenders {
                eprintln!("round {round} of {}: {}", self.rounds, contender.name);
                let figures = Figures::measure(&stand, contender).await;
                table.add(&contender.name, figures.with_context(|| format!("measure {}", contender.name))?);
            }
        }
        table.print();
        Ok(())
    }
}

impl Contender {
    fn parse(text: &str) -> anyhow::Result<Self> {
        let (name, command) = text.split_once('=').context("an agent is given as NAME=COMMAND")?;
        let command = command.split_whitespace().map(str::to_owned).collect();
        Ok(Self { name: name.to_owned(), command })
    }
}
