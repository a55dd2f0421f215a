//! Which processes belong to a thread of Codex or to one of its commands, and which of them are ours to end.
//!
//! Codex marks every command and all its descendants in the environment. Sends nothing.

use crate::core::ids::{ItemId, ThreadId};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use sysinfo::{Pid, Process, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System, UpdateKind};

/// Name of the variable that holds the thread id.
pub const MARKER: &str = "CODEX_THREAD_ID";
/// Name of the variable that holds the item id of the command.
pub const COMMAND_MARKER: &str = "CODEX_TOOL_CALL_ID";

/// Name of the variable by which everything below an app-server of ours tells whose it is.
pub const RUN_MARKER: &str = "APPSERVER_ACP_RUN";

// The sandbox around a command: it passes no signal on, and reports its own death as the command's.
const WRAPPERS: [&str; 2] = ["codex-linux-sandbox", "bwrap"];
// As many characters of a program's name as Linux keeps.
const NAME_MAX: usize = 15;

// Ends of the name of a program that is Codex.
const PROGRAMS: [&str; 4] = ["-tui", "-app-server", "-x86_64", "-aarch64"];

/// Identity of a process: a pid alone may belong to somebody else by the next look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProcessKey {
    pub pid: u32,
    /// Seconds since the epoch.
    pub started: u64,
}

/// What a process costs.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Milliseconds of CPU since it started; that of its children is not in it.
    pub cpu_ms: u64,
    /// Resident bytes.
    pub memory: u64,
    /// Seconds since it started.
    pub age: u64,
}

/// What a process is to a gentle stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Member,
    /// A member that is stopped and takes no signal before it continues.
    Stopped,
    /// A sandbox around members.
    Wrapper,
}

/// Whose processes are sought.
#[derive(Clone, Debug)]
pub struct Scope {
    pub marked: Marked,
    /// Pid of our app-server, alive or dead.
    pub app_server: Option<u32>,
}

/// What the environment must say.
#[derive(Clone, Debug)]
pub enum Marked {
    /// Any of these threads.
    Threads(BTreeSet<ThreadId>),
    /// Anything below any app-server of this run of ours, by its nonce; the app-server too.
    Run(String),
    /// Anything that this app-server of ours has started, by its mark, and any of these threads.
    AppServer { run: String, threads: BTreeSet<ThreadId> },
    /// This command of this thread.
    Command { thread: ThreadId, item: ItemId },
}

/// The table of all processes, as of the last look.
#[derive(Debug)]
pub struct Processes(System);

impl Processes {
    /// A table without a look.
    ///
    /// # Errors
    /// On systems whose processes cannot be listed.
    pub(crate) fn empty() -> Result<Self, sysinfo::Error> {
        Ok(Self(System::new()?))
    }

    /// A look at all processes; a few milliseconds per hundred.
    ///
    /// # Errors
    /// On systems whose processes cannot be listed.
    pub fn look() -> Result<Self, sysinfo::Error> {
        let mut processes = Self::empty()?;
        processes.look_again();
        Ok(processes)
    }

    /// Looks at all processes again.
    pub fn look_again(&mut self) {
        let what =
            ProcessRefreshKind::nothing().with_environ(UpdateKind::Always).with_cmd(UpdateKind::Always);
        let what = what.without_tasks();
        self.0.refresh_processes_specifics(ProcessesToUpdate::All, true, what);
    }

    /// Looks at these processes only, and says which of them are alive. A zombie is not.
    pub fn alive(&mut self, keys: impl IntoIterator<Item = ProcessKey>) -> BTreeSet<ProcessKey> {
        let keys: Vec<ProcessKey> = keys.into_iter().collect();
        let pids: Vec<Pid> = keys.iter().map(|key| Pid::from_u32(key.pid)).collect();
        let what = ProcessRefreshKind::nothing().without_tasks();
        self.0.refresh_processes_specifics(ProcessesToUpdate::Some(&pids), true, what);
        keys.into_iter().filter(|key| self.find(*key).is_some_and(is_alive)).collect()
    }

    /// Looks at all processes again, and at their cost.
    pub fn look_at_cost(&mut self) {
        let what = ProcessRefreshKind::nothing()
            .with_environ(UpdateKind::Always)
            .with_cmd(UpdateKind::Always)
            .with_cpu()
            .with_memory()
            .without_tasks();
        self.0.refresh_processes_specifics(ProcessesToUpdate::All, true, what);
    }

    /// What this process cost at the last look at it, if it is still the same one.
    pub fn cost(&self, key: ProcessKey) -> Option<Cost> {
        self.find(key).map(cost)
    }

    /// The command that this process is marked with.
    pub fn item(&self, key: ProcessKey) -> Option<ItemId> {
        marker(self.find(key)?.environ(), COMMAND_MARKER).map(ItemId::new)
    }

    /// Looks at these processes only, and weighs those that live.
    pub(crate) fn weigh(&mut self, pids: impl IntoIterator<Item = u32>) -> BTreeMap<ProcessKey, Cost> {
        let pids: Vec<Pid> = pids.into_iter().map(Pid::from_u32).collect();
        let what = ProcessRefreshKind::nothing().with_cpu().with_memory().without_tasks();
        self.0.refresh_processes_specifics(ProcessesToUpdate::Some(&pids), true, what);
        let found = pids.iter().filter_map(|pid| self.0.process(*pid)).filter(|it| is_alive(it));
        found.map(|it| (key(it), cost(it))).collect()
    }

    /// Living processes with these marks that are ours to end: below our app-server, or below no
    /// living Codex at all (another app-server, a `codex resume` of somebody). Never ourselves or what
    /// we descend from.
    pub fn members(&self, scope: &Scope) -> BTreeMap<ProcessKey, Role> {
        self.ours(scope, |process| scope.marked.is_in(process.environ()))
    }

    /// The same of this session, whatever their environment says.
    pub fn in_session(&self, session: u32, scope: &Scope) -> BTreeMap<ProcessKey, Role> {
        self.ours(scope, |process| process.session_id() == Some(Pid::from_u32(session)))
    }

    /// What descends from this process, if it is still the same one, whatever its environment says.
    pub fn below(&self, leader: ProcessKey, scope: &Scope) -> BTreeMap<ProcessKey, Role> {
        match self.find(leader) {
            Some(_) => self.ours(scope, |process| {
                self.ancestors(process.pid().as_u32()).any(|above| above == leader.pid)
            }),
            None => BTreeMap::new(),
        }
    }

    /// Those of these that are still the same and live.
    pub fn living<'a>(&self, keys: impl Iterator<Item = &'a ProcessKey>) -> BTreeMap<ProcessKey, Role> {
        let living = keys.filter_map(|key| self.find(*key).filter(|it| is_alive(it)));
        living.map(|process| (key(process), role(process))).collect()
    }

    /// The one of these that Codex started: the child of the app-server; of an app-server that died,
    /// the first to lead a session.
    pub(crate) fn leader(
        &self,
        members: &BTreeMap<ProcessKey, Role>,
        app_server: Option<u32>,
    ) -> Option<ProcessKey> {
        let leads_session = |key: &ProcessKey| self.session(*key) == Some(key.pid);
        let age = |key: &ProcessKey| (key.started, key.pid);
        let child = members.keys().find(|key| app_server.is_some() && self.parent(**key) == app_server);
        let first = || members.keys().filter(|key| leads_session(key)).min_by_key(|key| age(key));
        let oldest = || members.keys().min_by_key(|key| age(key));
        child.or_else(first).or_else(oldest).copied()
    }

    #[cfg(test)]
    pub(super) fn key(&self, pid: u32) -> Option<ProcessKey> {
        self.0.process(Pid::from_u32(pid)).map(key)
    }

    /// Session of this process, if it is still the same one.
    pub fn session(&self, key: ProcessKey) -> Option<u32> {
        self.find(key)?.session_id().map(Pid::as_u32)
    }

    /// Parent of this process, if it is still the same one.
    pub fn parent(&self, key: ProcessKey) -> Option<u32> {
        self.find(key)?.parent().map(Pid::as_u32)
    }

    /// Command line of this process, if it is still the same one.
    pub fn command(&self, key: ProcessKey) -> Option<&[OsString]> {
        self.find(key).map(Process::cmd)
    }

    /// Processes that show neither command line nor environment, as each does in the middle of its exec: for a
    /// moment, or for longer on a busy machine. They may belong to anybody.
    pub(crate) fn unread(&self) -> BTreeSet<ProcessKey> {
        // Elsewhere these of strangers cannot be read at any time.
        if !cfg!(target_os = "linux") {
            return BTreeSet::new();
        }
        let is_unread = |process: &&Process| {
            is_alive(process)
                && process.thread_kind().is_none()
                && process.cmd().is_empty()
                && process.environ().is_empty()
        };
        self.0.processes().values().filter(is_unread).map(key).collect()
    }

    fn ours(&self, scope: &Scope, is_sought: impl Fn(&Process) -> bool) -> BTreeMap<ProcessKey, Role> {
        let ourselves = std::process::id();
        let above_us: BTreeSet<u32> = self.ancestors(ourselves).collect();
        self.0
            .processes()
            .values()
            .filter(|process| process.thread_kind().is_none() && is_alive(process))
            .filter(|process| is_sought(process))
            .filter(|process| {
                scope.marked.is_run(process.environ()) || self.is_ours(process.pid().as_u32(), scope)
            })
            .map(|process| (key(process), role(process)))
            .filter(|(key, _)| key.pid > 1 && key.pid != ourselves && !above_us.contains(&key.pid))
            .filter(|(key, _)| Some(key.pid) != scope.app_server)
            .collect()
    }

    /// The process, if it is still the same one.
    pub(crate) fn find(&self, sought: ProcessKey) -> Option<&Process> {
        self.0.process(Pid::from_u32(sought.pid)).filter(|process| key(process) == sought)
    }

    fn is_ours(&self, pid: u32, scope: &Scope) -> bool {
        let ourselves = std::process::id();
        let is_foreign = |above: u32| self.0.process(Pid::from_u32(above)).is_some_and(is_living_codex);
        // A command of ours may run an app-server of its own.
        scope.app_server.is_some_and(|ours| self.ancestors(pid).any(|above| above == ours))
            // What is above ourselves, and how we were called, says nothing of what is below.
            || !self.ancestors(pid).take_while(|above| *above != ourselves).any(is_foreign)
    }

    fn ancestors(&self, pid: u32) -> impl Iterator<Item = u32> {
        let parent = |pid: &u32| Some(self.0.process(Pid::from_u32(*pid))?.parent()?.as_u32());
        // Two looks at different times could make a circle; nobody is this deep.
        std::iter::successors(parent(&pid), parent).take(1000)
    }
}

impl Marked {
    /// Whether the environment has a mark that only we can have made.
    fn is_run(&self, environ: &[OsString]) -> bool {
        let value = marker(environ, RUN_MARKER);
        match self {
            Self::Run(nonce) => {
                value.and_then(|it| it.strip_prefix(nonce.as_str())).is_some_and(|it| it.starts_with('.'))
            }
            Self::AppServer { run, .. } => value == Some(run),
            Self::Threads(_) | Self::Command { .. } => false,
        }
    }

    fn is_in(&self, environ: &[OsString]) -> bool {
        let value = |sought: &str| marker(environ, sought);
        let is_of = |threads: &BTreeSet<ThreadId>| {
            value(MARKER).is_some_and(|it| threads.contains(&ThreadId::new(it)))
        };
        match self {
            Self::Run(_) => self.is_run(environ),
            Self::AppServer { threads, .. } => self.is_run(environ) || is_of(threads),
            Self::Threads(threads) => is_of(threads),
            Self::Command { thread, item } => {
                value(COMMAND_MARKER) == Some(item.as_str()) && value(MARKER) == Some(thread.as_str())
            }
        }
    }
}

fn cost(process: &Process) -> Cost {
    Cost { cpu_ms: process.accumulated_cpu_time(), memory: process.memory(), age: process.run_time() }
}

fn marker<'a>(environ: &'a [OsString], sought: &str) -> Option<&'a str> {
    let mut entries = environ.iter().filter_map(|entry| entry.to_str()?.split_once('='));
    entries.find(|(name, _)| *name == sought).map(|(_, value)| value)
}

fn key(process: &Process) -> ProcessKey {
    ProcessKey { pid: process.pid().as_u32(), started: process.start_time() }
}

fn is_alive(process: &Process) -> bool {
    !matches!(process.status(), ProcessStatus::Zombie | ProcessStatus::Dead)
}

fn role(process: &Process) -> Role {
    if is_wrapper(process) {
        return Role::Wrapper;
    }
    match matches!(process.status(), ProcessStatus::Stop | ProcessStatus::Tracing) {
        true => Role::Stopped,
        false => Role::Member,
    }
}

// By its name or by what it is called: Codex starts its bundled `bwrap` by a file descriptor, and inside of
// that itself once more, and the system names both after the file.
fn is_wrapper(process: &Process) -> bool {
    let name = process.name().to_string_lossy();
    let called = process.cmd().first().and_then(|word| std::path::Path::new(word).file_name());
    WRAPPERS
        .iter()
        .any(|it| name.starts_with(&it[..it.len().min(NAME_MAX)]) || called == Some(OsStr::new(it)))
}

fn is_living_codex(process: &Process) -> bool {
    // The program itself, or the script that an interpreter runs.
    is_alive(process) && process.cmd().iter().take(2).any(|word| is_codex(word))
}

// By its plain name, as a script (`codex.js`) or with its platform (`codex-x86_64-...`). Not what Codex
// puts between itself and a command, which may outlive it: `codex-linux-sandbox` and the like.
fn is_codex(word: &OsStr) -> bool {
    let name = std::path::Path::new(word).file_name().unwrap_or_default().to_string_lossy();
    let Some(rest) = name.strip_prefix("codex") else {
        return false;
    };
    rest.is_empty() || rest.starts_with('.') || PROGRAMS.iter().any(|it| rest.starts_with(it))
}
