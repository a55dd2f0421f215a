//! The app-server that the loop talks to: a child of ours, or one that runs already.

use crate::child::{Child, FromChild, Program};
use crate::connect::{Connection, Target};
use crate::core::ids::Generation;
use crate::locate::{Sought, locate};
use tokio::sync::mpsc::Sender;

/// Where app-servers come from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// One of our own is started: of this program, with these `key=value` of `-c`.
    Program { codex: Sought, overrides: Vec<String> },
    /// One that runs already.
    Running(Target),
}

/// Hold of one app-server. Dropping it lets go of it: a child ends, a connection closes.
#[derive(Debug)]
pub(crate) enum Link {
    Child(Child),
    Connection(Connection),
}

impl Source {
    /// Starts or connects. `run` marks what a child starts.
    ///
    /// # Errors
    /// What is told to people, where there is not even a process.
    pub(super) fn start(
        &self,
        generation: Generation,
        run: String,
        events: Sender<FromChild>,
    ) -> Result<Link, String> {
        match self {
            Self::Program { codex, overrides } => {
                let path = locate(codex).map_err(|error| error.to_string())?;
                let program = Program { path, overrides: overrides.clone(), run: Some(run) };
                let child = Child::start(&program, generation, events).map_err(|error| error.to_string())?;
                Ok(Link::Child(child))
            }
            Self::Running(target) => {
                Ok(Link::Connection(Connection::open(target.clone(), generation, events)))
            }
        }
    }

    /// Whether it was started by somebody else.
    pub(super) fn is_foreign(&self) -> bool {
        matches!(self, Self::Running(_))
    }
}

impl Link {
    /// Pid of the app-server, where it is known.
    pub(super) fn pid(&self) -> Option<u32> {
        match self {
            Self::Child(child) => child.pid(),
            Self::Connection(connection) => connection.pid(),
        }
    }

    pub(super) fn send(&self, line: String) {
        match self {
            Self::Child(child) => child.send(line),
            Self::Connection(connection) => connection.send(line),
        }
    }

    pub(super) fn end(&mut self) {
        match self {
            Self::Child(child) => child.end(),
            Self::Connection(connection) => connection.end(),
        }
    }
}
