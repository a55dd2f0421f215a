//! The commands, who ends them, and what the client must be told.

use anyhow::ensure;
use serde_json::{Value, json};
use testkit::processes::Signal;

/// A command and its end.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    /// `UP` stands for a file that it makes when it is ready.
    script: &'static str,
    pub(super) end: End,
    kind: Kind,
}

/// Who ends it.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    /// The client, by `terminal/cancel`.
    Stopped,
    /// Somebody who sends this signal to the process that Codex started.
    Outside(Signal),
    /// It waits for a file and goes.
    Itself,
}

/// Where a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Pipe,
    Tty,
    SandboxedPipe,
    SandboxedTty,
}

/// What ends are told alike.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// By its handler, with code 3.
    Handled,
    /// By the request, with so many processes outside of its group.
    Asked {
        escaped: u32,
    },
    /// By the request; two processes outside of its group take none.
    AskedInVain,
    Killed,
    Unfound,
    Code(u32),
    /// By this signal, which nobody saw; `code` where there is no tty.
    Foreign {
        code: u32,
        looks_like: &'static str,
    },
}

/// `exitStatus`, and `_meta` without `durationMs`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Told {
    pub(super) status: Value,
    pub(super) meta: Value,
}

pub(super) const CASES: &[Case] = &[
    case(
        "handler",
        "trap 'echo bye; exit 3' TERM INT; touch UP; while :; do sleep 0.1; done",
        End::Stopped,
        Kind::Handled,
    ),
    case("no-handler", "touch UP; sleep 1000; echo never", End::Stopped, Kind::Asked { escaped: 0 }),
    case(
        "ignored",
        "trap '' TERM INT HUP; touch UP; while :; do sleep 0.1; done",
        End::Stopped,
        Kind::Killed,
    ),
    case("child", "sleep 1000 & touch UP; wait", End::Stopped, Kind::Asked { escaped: 0 }),
    case(
        "setsid",
        "setsid sh -c 'touch UP; exec sleep 1000' & wait",
        End::Stopped,
        Kind::Asked { escaped: 1 },
    ),
    case("jobs", "set -m; sleep 1000 & touch UP; wait", End::Stopped, Kind::Asked { escaped: 1 }),
    case(
        "stubborn-setsid",
        "(setsid sh -c 'trap \"\" TERM INT; sleep 1000 & touch UP; wait' &); sleep 1000; echo never",
        End::Stopped,
        Kind::AskedInVain,
    ),
    case("wiped", "touch UP; exec env -i sleep 1000", End::Stopped, Kind::Unfound),
    case(
        "terminated",
        "touch UP; while :; do sleep 0.1; done",
        End::Outside(Signal::TERM),
        Kind::Foreign { code: 143, looks_like: "SIGTERM" },
    ),
    case(
        "killed",
        "touch UP; while :; do sleep 0.1; done",
        End::Outside(Signal::KILL),
        Kind::Foreign { code: 137, looks_like: "SIGKILL" },
    ),
    case("failed", "touch UP; until [ -e go ]; do sleep 0.05; done; exit 3", End::Itself, Kind::Code(3)),
    case("done", "touch UP; until [ -e go ]; do sleep 0.05; done", End::Itself, Kind::Code(0)),
    case(
        "left-in-group",
        "sleep 1001 >/dev/null 2>&1 & touch UP; until [ -e go ]; do sleep 0.05; done",
        End::Itself,
        Kind::Code(0),
    ),
    case(
        "left-in-session-of-its-own",
        "setsid sh -c 'touch UP; exec sleep 1001' >/dev/null 2>&1 & until [ -e go ]; do sleep 0.05; done",
        End::Itself,
        Kind::Code(0),
    ),
];

const fn case(name: &'static str, script: &'static str, end: End, kind: Kind) -> Case {
    Case { name, script, end, kind }
}

const HANDLED: &str = "ended by its own handler, or by itself, after it was asked to";
const SEEN: &str = "ended by the signal it was sent";
const UNSEEN: &str = "ended on request; codex did not report the signal";
const UNSEEN_IN_TTY: &str = "ended on request; in a tty codex does not report the signal";
const UNFOUND: &str = "its processes could not be found, so codex ended its process group at once";
const AMBIGUOUS: &str = "its processes could not be found, so codex ended its process group at once; \
                         the code may be its own or stand for that";

impl Way {
    pub(super) fn is_tty(self) -> bool {
        matches!(self, Self::Tty | Self::SandboxedTty)
    }

    fn is_sandboxed(self) -> bool {
        matches!(self, Self::SandboxedPipe | Self::SandboxedTty)
    }
}

impl Case {
    /// The file that says that it is ready; also its id where one can be chosen.
    pub(super) fn up(&self, way: Way) -> String {
        format!("{}-{way:?}", self.name)
    }

    pub(super) fn script(&self, way: Way) -> String {
        self.script.replace("UP", &self.up(way))
    }

    /// How many of its processes outlive it by right, until the session closes.
    pub(super) fn n_left(&self, way: Way) -> usize {
        match (self.name, way) {
            // The end of a tty hangs up on what has it.
            ("left-in-group", Way::Pipe) | ("left-in-session-of-its-own", Way::Pipe | Way::Tty) => 1,
            _ => 0,
        }
    }

    /// Whether this is what has to be told of it.
    pub(super) fn check(&self, way: Way, found: &Told) -> anyhow::Result<()> {
        let expected = match (self.kind, way.is_sandboxed()) {
            (Kind::Handled, _) => {
                told(json!({"exitCode": 3}), json!({"by": "client", "reason": HANDLED, "rawCode": 3}))
            }
            (Kind::Asked { escaped: 0 }, _) => asked(way),
            (Kind::Asked { escaped }, _) => asked(way).with("escaped", escaped),
            // With the first process of a sandbox everything in it is gone.
            (Kind::AskedInVain, true) => asked(way).with("escaped", 2),
            (Kind::AskedInVain, false) => asked(way).with("escaped", 2).with("killed", 2),
            (Kind::Killed, _) => return is_one_of(found, &killed(UNSEEN, SEEN, UNSEEN_IN_TTY)),
            // The sandbox around it keeps its marks: what descends from that is found.
            (Kind::Unfound, _) if way.is_sandboxed() => asked(way),
            (Kind::Unfound, _) => return check_unfound(found),
            (Kind::Code(code), _) => {
                told(json!({"exitCode": code}), json!({"by": "itself", "rawCode": code}))
            }
            (Kind::Foreign { .. }, _) if way.is_tty() => {
                told(json!({"exitCode": 1}), json!({"by": "itself", "rawCode": 1}))
            }
            (Kind::Foreign { code, looks_like }, _) => told(
                json!({"exitCode": code}),
                json!({"by": "itself", "rawCode": code, "looksLike": looks_like}),
            ),
        };
        is_one_of(found, &[expected])
    }
}

/// The end of a command that could not be found.
pub(super) fn check_unfound(told: &Told) -> anyhow::Result<()> {
    let [unseen, seen, _] = killed(UNFOUND, UNFOUND, UNFOUND);
    // 1 is Codex's word for its own SIGKILL in a tty, and a code like any other elsewhere.
    let meta = json!({"by": "client", "reason": AMBIGUOUS, "rawCode": 1});
    is_one_of(told, &[unseen, seen, self::told(json!({"exitCode": 1}), meta)])
}

/// By Codex, which says so by a code of its own; now and then it reports the signal instead.
fn killed(unseen: &str, seen: &str, in_tty: &str) -> [Told; 3] {
    let status = || json!({"signal": "SIGKILL"});
    [
        told(status(), json!({"by": "client", "reason": unseen, "rawCode": -1, "inferred": true})),
        told(status(), json!({"by": "client", "reason": seen, "rawCode": 137})),
        // What becomes of that in a tty.
        told(status(), json!({"by": "client", "reason": in_tty, "rawCode": 1, "inferred": true})),
    ]
}

fn is_one_of(told: &Told, expected: &[Told]) -> anyhow::Result<()> {
    ensure!(expected.contains(told), "{told:?} is none of {expected:?}");
    Ok(())
}

/// Ended by the signal that it was asked with. Inside of a sandbox the tty is another one, so that the signal is seen.
fn asked(way: Way) -> Told {
    match way {
        Way::Pipe | Way::SandboxedPipe => {
            told(json!({"signal": "SIGTERM"}), json!({"by": "client", "reason": SEEN, "rawCode": 143}))
        }
        Way::SandboxedTty => {
            told(json!({"signal": "SIGINT"}), json!({"by": "client", "reason": SEEN, "rawCode": 130}))
        }
        Way::Tty => told(
            json!({"signal": "SIGINT"}),
            json!({"by": "client", "reason": UNSEEN_IN_TTY, "rawCode": 1, "inferred": true}),
        ),
    }
}

fn told(status: Value, meta: Value) -> Told {
    Told { status, meta }
}

impl Told {
    fn with(mut self, name: &str, count: u32) -> Self {
        self.meta[name] = count.into();
        self
    }
}
