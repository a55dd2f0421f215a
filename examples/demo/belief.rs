//! What an editor would believe after all that it was told, and where it was told wrong.

use std::collections::{BTreeMap, BTreeSet};

use super::event::{End, Event};

/// The session as the client sees it.
#[derive(Debug, Default)]
pub(crate) struct Belief {
    pub(crate) terminals: BTreeMap<String, Terminal>,
    /// What runs in the background; `None` until the adapter says it.
    pub(crate) background: Option<Vec<String>>,
    pub(crate) turn: Turn,
    /// How many turns have ended.
    pub(crate) turns_ended: usize,
    pub(crate) commands: BTreeSet<String>,
    /// Breaches of the protocol's promises, in words.
    pub(crate) faults: Vec<String>,
}

/// A command as the client sees it.
#[derive(Debug, Default)]
pub(crate) struct Terminal {
    pub(crate) command: String,
    pub(crate) output: Vec<u8>,
    pub(crate) end: Option<End>,
}

/// The foreground.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Turn {
    #[default]
    None,
    Running,
    /// Over, for this reason.
    Over(String),
    Lost,
}

impl Belief {
    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::Started { terminal, command } => {
                let command = command.clone();
                self.terminals.insert(terminal.clone(), Terminal { command, ..Terminal::default() });
            }
            Event::Output { terminal, bytes } => {
                if let Some(it) = self.open_terminal(terminal, "output") {
                    it.output.extend(bytes);
                }
            }
            Event::WholeOutput { terminal, bytes } => {
                if let Some(it) = self.open_terminal(terminal, "output") {
                    it.output.clone_from(bytes);
                }
            }
            Event::Ended { terminal, end } => {
                if let Some(it) = self.open_terminal(terminal, "an end") {
                    it.end = Some(end.clone());
                }
            }
            Event::Busy { background } => {
                self.turn = Turn::Running;
                self.list(background.as_deref());
            }
            Event::Idle { reason, background } => {
                if let Some(reason) = reason {
                    self.turn = Turn::Over(reason.clone());
                    self.turns_ended += 1;
                }
                self.list(background.as_deref());
            }
            Event::Lost => self.turn = Turn::Lost,
            Event::Commands(names) => self.commands = names.iter().cloned().collect(),
            Event::Said { .. } | Event::SaidWhole { .. } | Event::Notice(_) => {}
        }
    }

    /// The terminal of a command, by its exact text.
    pub(crate) fn of(&self, command: &str) -> Option<(&str, &Terminal)> {
        let found = self.terminals.iter().find(|(_, it)| it.command == command);
        found.map(|(id, it)| (id.as_str(), it))
    }

    /// The commands of the background list.
    pub(crate) fn listed(&self) -> Vec<&str> {
        let ids = self.background.iter().flatten();
        ids.map(|id| self.terminals.get(id).map_or(id.as_str(), |it| &it.command)).collect()
    }

    fn list(&mut self, background: Option<&[String]>) {
        let Some(background) = background else { return };
        for id in background {
            match self.terminals.get(id) {
                None => self.faults.push(format!("{id} was listed before it was announced")),
                Some(it) if it.end.is_some() => {
                    self.faults.push(format!("`{}` is listed, but has ended", it.command));
                }
                Some(_) => {}
            }
        }
        for gone in self.background.iter().flatten().filter(|it| !background.contains(it)) {
            if let Some(it) = self.terminals.get(gone).filter(|it| it.end.is_none()) {
                self.faults.push(format!("`{}` left the list before its end was told", it.command));
            }
        }
        self.background = Some(background.to_vec());
    }

    fn open_terminal(&mut self, id: &str, what: &str) -> Option<&mut Terminal> {
        match self.terminals.get_mut(id) {
            Some(it) if it.end.is_none() => Some(it),
            Some(it) => {
                self.faults.push(format!("`{}` got {what} after its end", it.command));
                None
            }
            None => {
                self.faults.push(format!("{id} got {what} and was never announced"));
                None
            }
        }
    }
}

impl Terminal {
    /// The lines so far, without the one that is being written.
    pub(crate) fn lines(&self) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.output);
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(str::to_owned).collect()
    }
}
