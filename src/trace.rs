//! The trace file: one JSON line per step, without secrets, that can be run again.
//!
//! A trace that cannot be written is given up and never disturbs work.

pub mod line;
mod oversized;
mod reach;
pub mod rules;
mod settings;
pub mod step;
mod survey;
#[cfg(test)]
mod tests;
mod watch;

use crate::bridge::arrival::Arrival;
use crate::bridge::departure::Departure;
use crate::core::ids::Tick;
use crate::core::request::Version;
use crate::core::settings::Settings;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use step::{Step, StepError};

/// A trace file being written.
#[derive(Debug)]
pub struct Trace {
    /// `None` once writing failed.
    file: Option<File>,
    seq: u64,
    /// Written with the first step.
    settings: Settings,
}

/// One step, as the loop saw it.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    pub now: Tick,
    /// Why the deadline was set, if the arrival is one.
    pub deadline: Option<&'a str>,
    /// What the client speaks, once it is known.
    pub version: Option<Version>,
    pub arrival: Arrival<'a>,
    pub departures: &'a [Departure],
}

impl Trace {
    /// Opens `path` for appending, readable for its owner only.
    ///
    /// # Errors
    /// If the file cannot be opened or its mode cannot be set.
    pub fn create(path: &Path, settings: &Settings) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        restrict(&file)?;
        Ok(Self { file: Some(file), seq: 0, settings: settings.clone() })
    }

    /// Writes one step. The first failure is logged and ends the trace.
    pub fn record(&mut self, record: &Record<'_>) {
        let Some(file) = &mut self.file else {
            return;
        };
        self.seq += 1;
        let settings = (self.seq == 1).then_some(&self.settings);
        let text = line::of_step(self.seq, record, settings);
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

/// A trace that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("read {}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// `line` counts from 1.
    #[error("read {}, line {line}", path.display())]
    NotAStep {
        path: PathBuf,
        line: usize,
        #[source]
        source: StepError,
    },
}

/// All steps of a trace. A last line without its newline was cut off and is left out.
///
/// # Errors
/// If the file cannot be read, or a line is no step.
pub fn read(path: &Path) -> Result<Vec<Step>, TraceError> {
    let unreadable = |source| TraceError::Unreadable { path: path.to_owned(), source };
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut steps = Vec::new();
    for (at, line) in whole.split('\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty()) {
        let wrong = |source| TraceError::NotAStep { path: path.to_owned(), line: at + 1, source };
        steps.push(Step::parse(line).map_err(wrong)?);
    }
    Ok(steps)
}

/// What arrived in this step, to offer it to a bridge again.
pub fn arrival(step: &Step) -> Arrival<'_> {
    step.input.arrival()
}
