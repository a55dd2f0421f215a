//! The trace file: one JSON line per step, without secrets, that can be run again.
//!
//! A trace that cannot be written is given up and never disturbs work.

pub mod line;
pub mod rules;
pub mod step;
#[cfg(test)]
mod tests;

use crate::bridge::arrival::Arrival;
use crate::bridge::departure::Departure;
use crate::core::ids::Tick;
use anyhow::Context;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use step::Step;

/// A trace file being written.
#[derive(Debug)]
pub struct Trace {
    /// `None` once writing failed.
    file: Option<File>,
    seq: u64,
}

/// One step, as the loop saw it.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    pub now: Tick,
    /// Why the deadline was set, if the arrival is one.
    pub deadline: Option<&'a str>,
    pub arrival: Arrival<'a>,
    pub departures: &'a [Departure],
}

impl Trace {
    /// Opens `path` for appending, readable for its owner only.
    ///
    /// # Errors
    /// If the file cannot be opened or its mode cannot be set.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        restrict(&file)?;
        Ok(Self { file: Some(file), seq: 0 })
    }

    /// Writes one step. The first failure is logged and ends the trace.
    pub fn record(&mut self, record: &Record<'_>) {
        let Some(file) = &mut self.file else {
            return;
        };
        self.seq += 1;
        let text = line::of_step(self.seq, record);
        if let Err(error) = file.write_all(text.as_bytes()) {
            tracing::warn!(%error, "the trace cannot be written and ends here");
            self.file = None;
        }
    }
}

// An older file keeps its mode when it is opened. What is no file (a pipe, a terminal) stays as it is.
#[cfg(unix)]
fn restrict(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    match file.metadata()?.is_file() {
        true => file.set_permissions(std::fs::Permissions::from_mode(0o600)),
        false => Ok(()),
    }
}

#[cfg(not(unix))]
fn restrict(_: &File) -> io::Result<()> {
    Ok(())
}

/// All steps of a trace. A last line without its newline was cut off and is left out.
///
/// # Errors
/// If the file cannot be read, or a line is no step; says which.
pub fn read(path: &Path) -> anyhow::Result<Vec<Step>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let lines = whole.split('\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty());
    lines
        .map(|(at, line)| {
            Step::parse(line).with_context(|| format!("read {}, line {}", path.display(), at + 1))
        })
        .collect()
}

/// What arrived in this step, to offer it to a bridge again.
pub fn arrival(step: &Step) -> Arrival<'_> {
    step.input.arrival()
}
