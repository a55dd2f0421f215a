//! What a person sees. Writes to stdout, in colours where the terminal has them.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Write;

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use serde_json::Value;
use tokio::time::Instant;

use super::belief::Belief;
use super::event::{End, Event};
use super::project;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const YOU: Style = AnsiColor::Blue.on_default().bold();
/// One per command, in order of appearance.
const COMMANDS: [Style; 3] =
    [AnsiColor::Cyan.on_default(), AnsiColor::Magenta.on_default(), AnsiColor::Yellow.on_default()];

/// Whether every message is shown as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    Story,
    Raw,
}

/// What was shown of a terminal.
struct Shown {
    style: Style,
    label: String,
    lines: Vec<String>,
}

pub(crate) struct Screen {
    out: AutoStream<std::io::Stdout>,
    started: Instant,
    detail: Detail,
    /// What the agent is saying: shown when it is whole.
    saying: Option<(String, String)>,
    terminals: BTreeMap<String, Shown>,
}

impl Screen {
    pub(crate) fn new(detail: Detail) -> Self {
        Self {
            out: anstream::stdout(),
            started: Instant::now(),
            detail,
            saying: None,
            terminals: BTreeMap::new(),
        }
    }

    /// Since the screen was made.
    pub(crate) fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    pub(crate) fn title(&mut self, text: &str) {
        self.line(format_args!("\n{BOLD}{text}{BOLD:#}"));
    }

    /// A line of the head, before the story.
    pub(crate) fn fact(&mut self, name: &str, text: impl Display) {
        self.line(format_args!("  {DIM}{name:<9}{DIM:#} {text}"));
    }

    /// What the person at the editor does.
    pub(crate) fn you(&mut self, text: &str) {
        self.entry(YOU, "you", text);
    }

    /// What became known otherwise: an answer, a count of processes.
    pub(crate) fn known(&mut self, who: &str, text: impl Display) {
        self.entry(BOLD, who, text);
    }

    /// A message as it is on the wire, if that is wanted. `arrow` says which way it went.
    pub(crate) fn raw(&mut self, arrow: &str, message: &Value) {
        if self.detail == Detail::Raw {
            self.line(format_args!("          {DIM}{arrow} {message}{DIM:#}"));
        }
    }

    /// What the adapter said, after `belief` took it in.
    pub(crate) fn show(&mut self, event: &Event, belief: &Belief) {
        match event {
            Event::Said { message, text } => match &mut self.saying {
                Some((said, whole)) if said == message => whole.push_str(text),
                Some(_) | None => {
                    self.flush();
                    self.saying = Some((message.clone(), text.clone()));
                }
            },
            Event::SaidWhole { message, text } => {
                if self.saying.as_ref().is_some_and(|(said, _)| said != message) {
                    self.flush();
                }
                self.saying = Some((message.clone(), text.clone()));
            }
            Event::Started { terminal, command } => {
                self.flush();
                let style = COMMANDS[self.terminals.len() % COMMANDS.len()];
                let label = project::label(command);
                self.entry(style, &label, format_args!("▶ running: {style}{command}{style:#}"));
                self.terminals.insert(terminal.clone(), Shown { style, label, lines: Vec::new() });
            }
            Event::Output { terminal, .. } | Event::WholeOutput { terminal, .. } => {
                self.output(terminal, belief);
            }
            Event::Ended { terminal, end } => {
                self.flush();
                self.output(terminal, belief);
                self.ended(terminal, end);
            }
            Event::Busy { .. } => self.flush(),
            Event::Idle { reason, background } => {
                self.flush();
                let turn = match reason.as_deref() {
                    Some("end_turn") => "the turn is over; ",
                    Some("cancelled") => "the turn was cancelled; ",
                    Some(_) => "the turn failed; ",
                    None => "",
                };
                match background {
                    Some(_) => self.background(turn, belief),
                    None => self.entry(BOLD, "idle", turn.trim_end_matches("; ")),
                }
            }
            Event::Lost => self.entry(BAD, "lost", "the adapter has lost Codex"),
            Event::Commands(_) => {}
            Event::Notice(text) => {
                self.flush();
                self.entry(BOLD, "notice", text);
            }
        }
    }

    /// A claim that was proved.
    pub(crate) fn proved(&mut self, claim: impl Display, seen: &str) {
        self.line(format_args!("  {GOOD}✓{GOOD:#} {claim}  {DIM}{seen}{DIM:#}"));
    }

    pub(crate) fn closing(&mut self, text: &str) {
        self.line(format_args!("\n{GOOD}{text}{GOOD:#}"));
    }

    pub(crate) fn failed(&mut self, text: &str) {
        self.flush();
        self.line(format_args!("\n{BAD}{text}{BAD:#}"));
    }

    pub(crate) fn hint(&mut self, text: &str) {
        self.line(format_args!("{DIM}{text}{DIM:#}"));
    }

    fn background(&mut self, turn: &str, belief: &Belief) {
        let listed = belief.listed();
        let count = match listed.len() {
            0 => "nothing is running in the background".to_owned(),
            1 => "1 thing is running in the background:".to_owned(),
            n => format!("{n} things are running in the background:"),
        };
        self.entry(BOLD, "idle", format_args!("{turn}{BOLD}{count}{BOLD:#}"));
        for id in belief.background.iter().flatten() {
            let style = self.terminals.get(id).map_or(Style::new(), |it| it.style);
            let command = belief.terminals.get(id).map_or(id, |it| &it.command);
            self.more(format_args!("{style}● {command}{style:#}"));
        }
    }

    /// Shows the lines that are new. What came late, at the beginning, is said to be so.
    fn output(&mut self, terminal: &str, belief: &Belief) {
        let Some(it) = belief.terminals.get(terminal) else { return };
        let Some(shown) = self.terminals.get_mut(terminal) else { return };
        let lines = it.lines();
        let (style, label) = (shown.style, shown.label.clone());
        let (new, note) = if lines.starts_with(&shown.lines) {
            (&lines[shown.lines.len()..], "")
        } else if lines.ends_with(&shown.lines) {
            (&lines[..lines.len() - shown.lines.len()], "  (its first output, told later)")
        } else {
            (&*lines, "  (its whole output, again)")
        };
        shown.lines.clone_from(&lines);
        for line in new {
            self.entry(style, &label, format_args!("{DIM}│{DIM:#} {line}{note}"));
        }
    }

    fn ended(&mut self, terminal: &str, end: &End) {
        let Some(shown) = self.terminals.get(terminal) else { return };
        let (style, label) = (shown.style, shown.label.clone());
        self.entry(style, &label, format_args!("■ ended: {BOLD}{}{BOLD:#}", end.in_words()));
        if let Some(reason) = &end.reason {
            self.more(format_args!("{DIM}({reason}){DIM:#}"));
        }
    }

    fn flush(&mut self) {
        if let Some((_, text)) = self.saying.take().filter(|(_, text)| !text.is_empty()) {
            for line in text.lines() {
                self.entry(BOLD, "agent", line);
            }
        }
    }

    fn entry(&mut self, style: Style, who: &str, text: impl Display) {
        let seconds = self.seconds();
        self.line(format_args!("{DIM}{seconds:>6.1} s{DIM:#}  {style}{who:<10}{style:#} {text}"));
    }

    /// A line that goes on with the entry above.
    fn more(&mut self, text: impl Display) {
        self.line(format_args!("{:21}{text}", ""));
    }

    fn line(&mut self, text: impl Display) {
        // A closed pipe means that nobody watches; what is proved still counts, by the exit code.
        let _ = writeln!(self.out, "{text}");
    }
}
