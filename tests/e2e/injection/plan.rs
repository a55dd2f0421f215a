//! What one round does, drawn from its seed.

use std::fmt;
use std::time::Duration;

use testkit::belief::Version;
use testkit::model::{Exec, exec};
use testkit::processes::Signal;

/// One round.
#[derive(Debug)]
pub(super) struct Plan {
    seed: u64,
    pub(super) version: Version,
    pub(super) sandbox: Sandbox,
    /// Handed back before the second turn.
    pub(super) background: Vec<Shape>,
    /// What the second turn waits for.
    pub(super) foreground: Foreground,
    /// What the client asks for while the second turn runs.
    pub(super) request: Request,
    pub(super) fault: Fault,
    /// The fault comes after so many messages of the adapter, or when nothing more is to come,
    pub(super) after: usize,
    /// and so much later.
    pub(super) later: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sandbox {
    None,
    Workspace,
}

/// A kind of command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Plain,
    /// Answers SIGTERM with exit code 3.
    Handler,
    /// Takes no SIGTERM, SIGINT, SIGHUP.
    Stubborn,
    /// With a child in a session of its own.
    Setsid,
    /// With a child in a process group of its own.
    Jobs,
    Tty,
    /// Writes all the time.
    Talker,
    /// Ends by itself before long.
    Short,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Foreground {
    /// There is no second turn.
    None,
    /// The model is in the middle of a message.
    Talk,
    Command(Shape),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    None,
    /// `terminal/cancel` of this one of the background (v2).
    StopTerminal(usize),
    /// `session/cancel`.
    Cancel,
    Close,
    /// One more prompt, which Codex takes into the turn.
    Prompt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    AppServer(Signal),
    /// Killed, and the next one too, as soon as it is there.
    AppServerTwice,
    /// The client closes the adapter's input and reads on.
    ClientEof,
    /// Both pipes of the client close at once.
    ClientKilled,
    /// The adapter gets a signal.
    Adapter(Signal),
}

const FAULTS: [Fault; 9] = [
    Fault::AppServer(Signal::KILL),
    Fault::ClientEof,
    Fault::Adapter(Signal::TERM),
    Fault::AppServerTwice,
    Fault::ClientKilled,
    Fault::Adapter(Signal::KILL),
    Fault::AppServer(Signal::TERM),
    Fault::Adapter(Signal::INT),
    Fault::Adapter(Signal::HUP),
];

const SHAPES: [Shape; 8] = [
    Shape::Plain,
    Shape::Handler,
    Shape::Stubborn,
    Shape::Setsid,
    Shape::Jobs,
    Shape::Tty,
    Shape::Talker,
    Shape::Short,
];

/// A story has about so many messages of the adapter.
const MESSAGES: usize = 36;

impl Plan {
    /// Draws a round. The kinds of fault take turns from seed to seed.
    pub(super) fn draw(seed: u64) -> Self {
        let mut dice = fastrand::Rng::with_seed(seed);
        let version = if dice.bool() { Version::V1 } else { Version::V2 };
        let shape = |dice: &mut fastrand::Rng| SHAPES[dice.usize(..SHAPES.len())];
        let background: Vec<Shape> = (0..dice.usize(..=3)).map(|_| shape(&mut dice)).collect();
        let foreground = match dice.usize(..6) {
            0 => Foreground::None,
            1 => Foreground::Talk,
            _ => Foreground::Command(shape(&mut dice)),
        };
        let request = match dice.usize(..6) {
            0 | 1 if version == Version::V2 && !background.is_empty() => {
                Request::StopTerminal(dice.usize(..background.len()))
            }
            2 => Request::Cancel,
            3 => Request::Close,
            4 if foreground != Foreground::None => Request::Prompt,
            _ => Request::None,
        };
        let sandbox = if dice.usize(..4) == 0 { Sandbox::Workspace } else { Sandbox::None };
        let fault = FAULTS[usize::try_from(seed % FAULTS.len() as u64).expect("there are few kinds")];
        let after = dice.usize(1..=MESSAGES);
        let later = Duration::from_millis(dice.u64(..30));
        Self { seed, version, sandbox, background, foreground, request, fault, after, later }
    }

    /// Every command by its id, which is also that of its terminal.
    pub(super) fn commands(&self) -> impl Iterator<Item = (String, Shape)> {
        let foreground = match self.foreground {
            Foreground::Command(shape) => Some(("front".to_owned(), shape)),
            Foreground::None | Foreground::Talk => None,
        };
        self.background.iter().enumerate().map(|(idx, shape)| (background_id(idx), *shape)).chain(foreground)
    }
}

/// The id of a background command.
pub(super) fn background_id(idx: usize) -> String {
    format!("back-{idx}")
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, version, sandbox, background, foreground, request, fault, after, later } = self;
        write!(
            f,
            "seed {seed}: {version:?}, sandbox {sandbox:?}, background {background:?}, foreground {foreground:?}, \
             request {request:?}, fault {} after message {after} and {later:?}",
            fault.name()
        )
    }
}

/// What leaves the process group of its command; nothing else is called so.
pub(super) const ESCAPEE: &str = "sleep 1001";

impl Shape {
    pub(super) fn exec(self) -> Exec {
        match self {
            Self::Plain => exec("sleep 1000"),
            Self::Handler => exec("trap 'echo bye; exit 3' TERM; while :; do sleep 0.1; done"),
            Self::Stubborn => exec("trap '' TERM INT HUP; while :; do sleep 0.1; done"),
            Self::Setsid => exec(format!("setsid {ESCAPEE} & sleep 1000")),
            Self::Jobs => exec(format!("set -m; {ESCAPEE} & wait")),
            Self::Tty => exec("sleep 1000").tty(true),
            Self::Talker => exec("n=0; while :; do n=$((n + 1)); echo tick $n; sleep 0.05; done"),
            Self::Short => exec("echo short; sleep 0.6; exit 5"),
        }
    }

    /// Whether Codex's own end of the process group leaves something.
    pub(super) fn escapes(self) -> bool {
        matches!(self, Self::Setsid | Self::Jobs)
    }
}

impl Fault {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::AppServer(Signal::KILL) => "app-server SIGKILL",
            Self::AppServer(_) => "app-server SIGTERM",
            Self::AppServerTwice => "app-server SIGKILL twice",
            Self::ClientEof => "client EOF",
            Self::ClientKilled => "client killed",
            Self::Adapter(Signal::KILL) => "adapter SIGKILL",
            Self::Adapter(Signal::INT) => "adapter SIGINT",
            Self::Adapter(Signal::HUP) => "adapter SIGHUP",
            Self::Adapter(_) => "adapter SIGTERM",
        }
    }
}
