//! The `map` subcommand: print, search and check the protocol-map.
//!
//! Writes to the writer it is given. Does not decide the process's exit, only its code.

use crate::locate::{Sought, locate};
use crate::map;
use crate::map::drift::{Change, Difference, differences};
use crate::map::error::MapError;
use crate::map::inventory::Inventory;
use crate::map::row::{Row, Side};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// Show what the adapter makes of every message of both protocols.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct MapArgs {
    #[command(subcommand)]
    action: Option<MapAction>,
    /// Show only rows that contain all of these words.
    words: Vec<String>,
    /// Show only one protocol.
    #[arg(long)]
    side: Option<Side>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum MapAction {
    /// Compare the installed Codex with the map: exit code 0 same, 1 different, 2 could not run.
    Check(CodexArgs),
    /// Print the names of the installed Codex in the format of protocol-map/inventory.toml.
    Inventory(CodexArgs),
}

#[derive(Debug, clap::Args)]
struct CodexArgs {
    /// The codex program: a path, or a name to look up on PATH [env: CODEX_PATH]
    #[arg(long, value_name = "PATH")]
    codex: Option<PathBuf>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// How `map` ended when it could run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Printed, or checked and the same.
    Same,
    /// Checked and different.
    Different,
    /// No row has all of the words.
    NoRow,
}

/// The exit code of a result: 0 same, 1 different or nothing found, 2 could not run.
#[must_use]
pub const fn exit_code(result: &Result<Outcome, MapError>) -> u8 {
    match result {
        Ok(Outcome::Same) => 0,
        Ok(Outcome::Different | Outcome::NoRow) => 1,
        Err(_) => 2,
    }
}

/// Run the subcommand. An error is for the caller to print; nothing of an answer is written then,
/// unless writing itself failed. `codex` is where to look if the arguments do not name one.
pub fn run(args: &MapArgs, codex: &Sought, out: &mut dyn Write) -> Result<Outcome, MapError> {
    match &args.action {
        None => print_rows(args, out),
        Some(MapAction::Check(args)) => check(args, codex, out),
        Some(MapAction::Inventory(args)) => print_inventory(args, codex, out),
    }
}

fn print_rows(args: &MapArgs, out: &mut dyn Write) -> Result<Outcome, MapError> {
    let words: Vec<_> = args.words.iter().map(|word| word.to_lowercase()).collect();
    let lines: Vec<_> = map::rows()
        .iter()
        .map(Line::of_row)
        .chain(map::value_sets().iter().flat_map(Line::of_values))
        .filter(|line| args.side.is_none_or(|side| line.side == side))
        .filter(|line| words.iter().all(|word| line.contains(word)))
        .collect();
    let outcome = if lines.is_empty() { Outcome::NoRow } else { Outcome::Same };
    if args.json {
        print_json(&lines, out)?;
        return Ok(outcome);
    }
    if lines.is_empty() {
        return Ok(outcome);
    }
    let cells: Vec<_> = lines.iter().map(Line::cells).collect();
    print_table(["SIDE", "RULE", "VERDICT", "FROM", "TO", "NOTE"], &cells, out)?;
    writeln!(out, "{} rows, Codex {}", lines.len(), map::pinned().codex)?;
    Ok(outcome)
}

fn print_inventory(args: &CodexArgs, codex: &Sought, out: &mut dyn Write) -> Result<Outcome, MapError> {
    let installed = installed(args, codex)?;
    if args.json {
        print_json(&installed, out)?;
    } else {
        write!(out, "{installed}")?;
    }
    Ok(Outcome::Same)
}

fn check(args: &CodexArgs, codex: &Sought, out: &mut dyn Write) -> Result<Outcome, MapError> {
    let installed = installed(args, codex)?;
    let report = Report {
        pinned: &map::pinned().codex,
        installed: &installed.codex,
        differences: differences(map::pinned(), &installed),
    };
    if args.json {
        print_json(&report, out)?;
    } else {
        print_report(&report, out)?;
    }
    Ok(if report.differences.is_empty() { Outcome::Same } else { Outcome::Different })
}

fn installed(args: &CodexArgs, codex: &Sought) -> Result<Inventory, MapError> {
    let named = args.codex.clone().or_else(|| codex.named.clone());
    Inventory::of_codex(&locate(&Sought { named, ..codex.clone() })?)
}

#[derive(Serialize)]
struct Report<'a> {
    pinned: &'a str,
    installed: &'a str,
    differences: Vec<Difference>,
}

fn print_report(report: &Report<'_>, out: &mut dyn Write) -> Result<(), MapError> {
    let Report { pinned, installed, differences } = report;
    if differences.is_empty() {
        writeln!(out, "Codex {installed} says the same names as the map (made for {pinned}).")?;
        return Ok(());
    }
    let count = |change| differences.iter().filter(|it| it.change == change).count();
    let (new, gone) = (count(Change::New), count(Change::Gone));
    writeln!(out, "Codex {installed} differs from the map (made for {pinned}): {new} new, {gone} gone.")?;
    let cells: Vec<_> = differences
        .iter()
        .map(|it| {
            let change = match it.change {
                Change::New => "new",
                Change::Gone => "gone",
            };
            [it.group.clone(), change.to_owned(), it.name.clone(), it.meaning.clone()]
        })
        .collect();
    print_table(["LIST", "", "NAME", "MEANING"], &cells, out)
}

/// A row as it is printed; values of a table are rows here too.
#[derive(Serialize)]
struct Line {
    side: Side,
    kind: &'static str,
    rule: &'static str,
    verdict: &'static str,
    from: String,
    to: String,
    note: &'static str,
}

impl Line {
    fn of_row(row: &Row) -> Self {
        let name = match row.event {
            Some(event) => format!("{} ({})", row.name, event.as_str()),
            None => row.name.to_owned(),
        };
        let other = row.other.to_owned();
        let (from, to) = if row.kind.is_sent() { (other, name) } else { (name, other) };
        Self {
            side: row.side,
            kind: row.kind.as_str(),
            rule: row.rule.as_str(),
            verdict: row.verdict.as_str(),
            from,
            to,
            note: row.note,
        }
    }

    fn of_values(values: &'static map::values::Values) -> impl Iterator<Item = Self> {
        let line = |verdict: &'static str, name: &str, to: &str, note| Self {
            side: values.side,
            kind: "value",
            rule: values.rule.as_str(),
            verdict,
            from: format!("{}: {name}", values.keys),
            to: to.to_owned(),
            note,
        };
        let mapped = values.map.iter().map(move |(name, to)| line("mapped", name, to, values.note));
        let ignored = values.ignored.iter().map(move |(name, why)| line("ignored", name, "", why));
        mapped.chain(ignored)
    }

    fn contains(&self, word: &str) -> bool {
        [self.kind, self.rule, self.verdict, &self.from, &self.to, self.note]
            .iter()
            .any(|cell| cell.to_lowercase().contains(word))
    }

    fn cells(&self) -> [String; 6] {
        [self.side.as_str(), self.rule, self.verdict, &self.from, &self.to, self.note].map(str::to_owned)
    }
}

fn print_json(answer: &impl Serialize, out: &mut dyn Write) -> Result<(), MapError> {
    serde_json::to_writer_pretty(&mut *out, answer)?;
    writeln!(out)?;
    Ok(())
}

fn print_table<const N: usize>(
    head: [&str; N],
    rows: &[[String; N]],
    out: &mut dyn Write,
) -> Result<(), MapError> {
    let mut widths = head.map(str::len);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    for row in [head.map(str::to_owned)].iter().chain(rows) {
        let cells: Vec<_> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        writeln!(out, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}
