//! The adapter, its client or Codex is ended at a random moment: no exit is lost, no process is left.
//!
//! A round is one adapter with a Codex of its own, drawn from one seed; several run at once.

mod peer;
mod plan;
mod round;
mod verdict;

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use plan::Plan;
use round::Outcome;

/// Number of rounds; with it the seed is a new one, unless it is given too.
const ROUNDS: &str = "APPSERVER_ACP_TEST_ROUNDS";
/// Seed of the first round; that of the next is one more.
const SEED: &str = "APPSERVER_ACP_TEST_SEED";

/// Rounds at once: mostly they wait.
const WORKERS: usize = 3;

#[test]
#[expect(
    clippy::print_stderr,
    reason = "whoever looks at a failure needs the seed, and figures are asked for"
)]
fn ends_at_random_moments() {
    let asked: Option<u64> = variable(ROUNDS);
    let n_rounds = asked.unwrap_or(20);
    let seed = variable(SEED).unwrap_or_else(|| if asked.is_some() { fastrand::u64(..1 << 32) } else { 1 });
    eprintln!("{n_rounds} rounds; again: {}", again(seed, n_rounds));

    let next = AtomicU64::new(seed);
    let outcomes = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let seed_of_round = next.fetch_add(1, Ordering::Relaxed);
                    if seed_of_round - seed >= n_rounds {
                        return;
                    }
                    let plan = Plan::draw(seed_of_round);
                    let outcome = round::run(&plan);
                    if let Err(error) = &outcome {
                        eprintln!("FAILED {plan}\n  {error:#}\n  again: {}", again(seed_of_round, 1));
                    }
                    outcomes.lock().expect("no worker panics with it").insert(seed_of_round, (plan, outcome));
                }
            });
        }
    });
    let outcomes = outcomes.into_inner().expect("no worker panics with it");
    eprint!("{}", table(outcomes.values()));
    let failed: Vec<u64> =
        outcomes.iter().filter(|(_, (_, it))| it.is_err()).map(|(seed, _)| *seed).collect();
    assert!(failed.is_empty(), "rounds with these seeds failed: {failed:?}");
}

fn variable<T: FromStr>(name: &str) -> Option<T> {
    let text = std::env::var_os(name)?.into_string().ok();
    let number = text.as_deref().and_then(|text| text.parse().ok());
    assert!(number.is_some(), "{name} is no number: {text:?}");
    number
}

/// The command that repeats these rounds.
fn again(seed: u64, n_rounds: u64) -> String {
    format!("{SEED}={seed} {ROUNDS}={n_rounds} cargo test --test e2e injection -- --nocapture")
}

/// What happened how often, by the kind of fault.
fn table<'a>(outcomes: impl Iterator<Item = &'a (Plan, anyhow::Result<Outcome>)>) -> String {
    let mut rows: BTreeMap<&str, (usize, Outcome)> = BTreeMap::new();
    for (plan, outcome) in outcomes {
        if let Ok(outcome) = outcome {
            let (n_rounds, sum) = rows.entry(plan.fault.name()).or_default();
            *n_rounds += 1;
            sum.add(*outcome);
        }
    }
    let line = |(name, (n, it)): (&&str, &(usize, Outcome))| {
        format!(
            "{name:<24} {n:>3} passed, {:>4} terminals, {:>4} exits told, {:>3} left by SIGKILL of us, at most {} ms to the end\n",
            it.n_terminals,
            it.n_exits,
            it.n_escaped,
            it.longest.as_millis()
        )
    };
    rows.iter().map(line).collect()
}
