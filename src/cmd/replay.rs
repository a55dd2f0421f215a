//! The `replay` subcommand: what arrived in a trace, once more, and every difference.
//!
//! Runs the bridge only: no process, no clock, no client.

#[cfg(test)]
mod tests;

use crate::bridge::Bridge;
use crate::core::settings::Settings;
use crate::trace::step::Step;
use crate::trace::{self, TraceError, line};
use serde_json::Value;
use std::io::{self, Write};
use std::path::PathBuf;

/// Exit code if there is a difference.
const DIFFERENT: u8 = 1;

/// Run a trace again and report every difference: exit code 0 same, 1 different, 2 could not run.
#[derive(Debug, clap::Args)]
pub struct ReplayArgs {
    /// A file that --trace wrote.
    file: PathBuf,
}

/// The trace could not be run again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error("write the result")]
    Write(#[from] io::Error),
}

/// Runs the subcommand; the exit code.
///
/// # Errors
/// If the trace cannot be read or the result cannot be written.
pub fn run(args: &ReplayArgs, out: &mut dyn Write) -> Result<u8, ReplayError> {
    let steps = trace::read(&args.file)?;
    let differences = differences(&steps);
    for difference in &differences {
        writeln!(out, "step {} of run {}", difference.seq, difference.run)?;
        for value in &difference.missing {
            writeln!(out, "  - {value}")?;
        }
        for value in &difference.extra {
            writeln!(out, "  + {value}")?;
        }
    }
    match differences.len() {
        0 => writeln!(out, "{} steps, the same as before", steps.len())?,
        n_different => writeln!(out, "{} steps, {n_different} different", steps.len())?,
    }
    Ok(if differences.is_empty() { 0 } else { DIFFERENT })
}

/// One step that did not do what the trace says.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Which run of the file, from 1.
    pub run: usize,
    pub seq: u64,
    /// What the trace has from the first difference on.
    pub missing: Vec<Value>,
    /// What is done instead.
    pub extra: Vec<Value>,
}

/// Offers every arrival to a new bridge and compares what departs.
pub fn differences(steps: &[Step]) -> Vec<Difference> {
    let mut differences = Vec::new();
    let mut run = 0;
    let mut bridge = Bridge::new(settings(None));
    for step in steps {
        if step.seq == 1 {
            run += 1;
            bridge = Bridge::new(settings(step.settings.clone()));
        }
        let mut departures = Vec::new();
        bridge.step(step.at, trace::arrival(step), &mut departures);
        let out: Vec<Value> = departures.iter().filter_map(line::departure).collect();
        if out != step.out {
            let same = out.iter().zip(&step.out).take_while(|(now, then)| now == then).count();
            differences.push(Difference {
                run,
                seq: step.seq,
                missing: step.out[same..].to_vec(),
                extra: out[same..].to_vec(),
            });
        }
    }
    differences
}

// A trace written by hand may do without.
fn settings(told: Option<Settings>) -> Settings {
    told.unwrap_or_else(|| Settings::plain("replay"))
}
