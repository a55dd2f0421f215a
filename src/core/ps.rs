//! What `/ps` and `/stop` say, in Markdown.
//!
//! Numbers are in bold and in no ordered list: a client would count such a list anew.

use super::input::Found;
use super::update::OpenStatus;
use crate::background::ledger::{Command, Life};
use crate::background::standing::{Kind, Standing};
use anstream::adapter::strip_str;

/// Characters of a command or a line that are shown.
const SHOWN: usize = 120;
/// Bytes of output that are searched for the last line.
const TAIL: usize = 4 * 1024;

/// One running command. `cost` is `None` where nobody looked, `Some(None)` where nothing was found.
pub(crate) fn running(number: u32, id: &str, command: &Command, cost: Option<Option<&Found>>) -> String {
    let place = match (&command.life, &command.stop) {
        (_, Some(_)) => "is being stopped",
        (Life::Running(_), None) => "the turn waits on it",
        (Life::Background(_) | Life::Waiting, None) => "in the background",
    };
    let cost = match cost {
        None => "what it costs could not be looked up".to_owned(),
        // Its processes may be gone, and its exit on its way.
        Some(None) if command.stop.is_some() => "its exit is awaited".to_owned(),
        Some(None) => "its processes cannot be seen (another user's, or a wiped environment)".to_owned(),
        Some(Some(found)) => cost_in_words(found),
    };
    let last = command.live().and_then(|live| last_line(&live.output.view(TAIL)));
    let last = last.map(|line| format!("\n  last line: {}", code(&line))).unwrap_or_default();
    format!("- **{number}** {}: {place}, {cost}, id {id}{last}", code(&command.command))
}

/// A goal or a queued message.
pub(crate) fn standing(number: u32, id: &str, it: &Standing) -> String {
    let place = match (it.stop, it.status) {
        (Some(_), _) => "is being ended",
        (None, OpenStatus::Pending) => "waits",
        (None, OpenStatus::InProgress) => "is at work",
        (None, OpenStatus::Paused) => "was cut off and goes on after the next turn",
    };
    format!("- **{number}** {}: {place}, id {id}", code(&it.title()))
}

/// A goal or a queued message that is ended now.
pub(crate) fn ending(number: u32, it: &Standing) -> String {
    let name = code(&it.title());
    match (it.stop, &it.kind) {
        (Some(_), _) => format!("**{number}** {name} is being ended already."),
        (None, Kind::Goal(_)) => format!("Ending **{number}** {name}: Codex forgets it."),
        (None, Kind::Queued { .. }) => format!("Taking **{number}** {name} out of the queue."),
    }
}

/// What an ended command left.
pub(crate) fn left(number: u32, found: &Found) -> String {
    format!("- **{number}** {}: {}", code(&found.line), cost_in_words(found))
}

/// A subagent at work.
pub(crate) fn subagent(number: u32, id: &str, title: &str, waits_on: &[String]) -> String {
    let commands: Vec<String> = waits_on.iter().map(|command| code(command)).collect();
    let place = match commands.as_slice() {
        [] => "is at work".to_owned(),
        commands => format!("is at work and waits on {}", commands.join(", ")),
    };
    format!("- **{number}** {title}: {place}, id {id}")
}

/// A command in the background of a subagent.
pub(crate) fn of_subagent(number: u32, id: &str, title: &str, command: &str) -> String {
    format!("- **{number}** {}: in the background of {title}, id {id}", code(command))
}

/// Such a command is asked to end now.
pub(crate) fn stopping_in_subagent(number: u32, command: &str, title: &str, grace: u64) -> String {
    format!("Stopping **{number}** {} of {title}: {}", code(command), asked(grace))
}

/// Everything that runs.
pub(crate) fn table(running: &[String], standing: &[String], below: &[String], left: &[String]) -> String {
    let mut parts = Vec::new();
    match running {
        [] => parts.push("No command is running.".to_owned()),
        [one] => parts.push(format!("**One command is running:**\n\n{one}")),
        rows => parts.push(format!("**{} commands are running:**\n\n{}", rows.len(), rows.join("\n"))),
    }
    if !standing.is_empty() {
        parts.push(format!("**Going on by itself:**\n\n{}", standing.join("\n")));
    }
    if !below.is_empty() {
        parts.push(format!("**In subagents:**\n\n{}", below.join("\n")));
    }
    if !left.is_empty() {
        parts.push(format!("**Left running by commands that ended:**\n\n{}", left.join("\n")));
    }
    match running.len() + standing.len() + below.len() + left.len() {
        0 => {}
        1 => parts.push("`/stop` stops it.".to_owned()),
        _ => parts
            .push("`/stop` with a number stops one, `/stop all` all but what the turn waits on.".to_owned()),
    }
    parts.join("\n\n")
}

/// A command that is asked to end now, or is ended for good because it was asked before.
pub(crate) fn stopping(number: u32, command: &Command, grace: u64) -> String {
    let name = code(&command.command);
    match &command.stop {
        Some(stop) if stop.ladder.is_some() => {
            format!("Stopping **{number}** {name} at once: it was asked to end before.")
        }
        Some(_) => format!("**{number}** {name} is being stopped already."),
        None => format!("Stopping **{number}** {name}: {}", asked(grace)),
    }
}

/// What an ended command left is asked to end.
pub(crate) fn stopping_left(number: u32, found: &Found, grace: u64) -> String {
    format!("Stopping **{number}** {}: {}", code(&found.line), asked(grace))
}

fn asked(grace: u64) -> String {
    match grace {
        0 => "it is killed if it does not end at once.".to_owned(),
        _ => format!("it is asked to end, and killed if it still runs after {}.", seconds(grace)),
    }
}

fn seconds(millis: u64) -> String {
    match millis % 1_000 {
        0 => format!("{} s", millis / 1_000),
        rest => {
            let decimals = format!("{rest:03}");
            format!("{}.{} s", millis / 1_000, decimals.trim_end_matches('0'))
        }
    }
}

fn cost_in_words(found: &Found) -> String {
    let processes = match found.processes {
        1 => String::new(),
        n => format!(", {n} processes"),
    };
    format!(
        "for {}, pid {}{processes}, {} % CPU, {}",
        age(found.age),
        found.pid,
        found.cpu_percent,
        memory(found.memory)
    )
}

fn age(seconds: u64) -> String {
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds:02} s"),
        (hours, minutes, _) => format!("{hours} h {minutes:02} min"),
    }
}

fn memory(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    match bytes {
        0..MIB => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes / MIB),
    }
}

fn last_line(output: &str) -> Option<String> {
    let plain = strip_str(output).to_string();
    // What a program wrote over with a carriage return is gone.
    let lines = plain.lines().rev().map(|line| line.rsplit('\r').find(|it| !it.trim().is_empty()));
    lines.flatten().next().map(|line| line.trim().to_owned())
}

/// One line in a code span that its own backticks do not end.
fn code(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default().trim();
    let mut shown: String = first.chars().filter(|it| !it.is_control()).take(SHOWN).collect();
    if shown.len() < first.len() || lines.next().is_some() {
        shown.push_str(" ...");
    }
    match shown.contains('`') {
        false => format!("`{shown}`"),
        true => {
            let longest = shown.split(|it| it != '`').map(str::len).max().unwrap_or_default();
            let fence = "`".repeat(longest + 1);
            format!("{fence} {shown} {fence}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{age, code, last_line, memory, seconds, table};

    #[test]
    fn figures_are_for_people() {
        assert_eq!([age(4), age(192), age(7_500)], ["4 s", "3 min 12 s", "2 h 05 min"]);
        assert_eq!([memory(500 << 10), memory(85 << 20), memory(3 << 30)], ["500 KiB", "85 MiB", "3072 MiB"]);
        assert_eq!([seconds(3_000), seconds(500), seconds(1_250)], ["3 s", "0.5 s", "1.25 s"]);
    }

    #[test]
    fn the_last_line_is_what_a_terminal_would_show() {
        assert_eq!(last_line("a\n\u{1b}[32mready\u{1b}[0m\r\n\n").as_deref(), Some("ready"));
        assert_eq!(last_line("10 %\r55 %\r").as_deref(), Some("55 %"));
        assert_eq!(last_line(" \n"), None);
    }

    #[test]
    fn a_command_stays_in_its_code_span() {
        assert_eq!(code("echo `date`\nsleep 1"), "`` echo `date` ... ``");
        assert_eq!(code("\n  make \n"), "`make`");
    }

    #[test]
    fn nothing_offers_nothing() {
        assert_eq!(table(&[], &[], &[], &[]), "No command is running.");
        assert!(table(&["- **1** `a`".to_owned()], &[], &[], &[]).ends_with("`/stop` stops it."));
    }
}
