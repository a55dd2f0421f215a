//! What the demo proves, claim by claim.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The adapter, Codex and the session start.
    Starts,
    /// The command lives on after its turn, and the client is told so.
    OutlivesItsTurn,
    /// Its output goes on.
    KeepsTalking,
    /// Another turn runs beside it.
    SecondTurn,
    /// It can be stopped, and what runs beside it goes on.
    StoppedAlone,
    /// Its end is told as it was.
    ToldTruly,
    /// What ends by itself is told so.
    EndsByItself,
    /// Nothing stays listed.
    ListEmpties,
    /// Everything is gone after the end.
    NothingLeft,
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Starts => "the adapter started, with the real Codex",
            Self::OutlivesItsTurn => "a command outlived its turn",
            Self::KeepsTalking => "its output kept coming",
            Self::SecondTurn => "a second turn ran beside it",
            Self::StoppedAlone => "it was stopped alone",
            Self::ToldTruly => "its end was reported as it was",
            Self::EndsByItself => "what ended by itself was reported so",
            Self::ListEmpties => "the list emptied",
            Self::NothingLeft => "no process was left",
        })
    }
}

/// The claims proved so far, each with what was seen.
#[derive(Debug)]
pub(crate) struct Proofs {
    proved: Vec<(Claim, String)>,
    /// What is being shown, to be named if the story breaks off.
    pub(crate) at: Claim,
}

impl Proofs {
    pub(crate) fn new() -> Self {
        Self { proved: Vec::new(), at: Claim::Starts }
    }

    /// A claim holds; `seen` is what shows it.
    pub(crate) fn prove(&mut self, claim: Claim, seen: impl Into<String>) {
        self.proved.push((claim, seen.into()));
    }

    pub(crate) fn has(&self, claim: Claim) -> bool {
        self.proved.iter().any(|(it, _)| *it == claim)
    }

    /// Each claim with what was seen.
    pub(crate) fn each(&self) -> impl Iterator<Item = (Claim, &str)> {
        self.proved.iter().map(|(claim, seen)| (*claim, &**seen))
    }

    /// The main ones in one sentence.
    pub(crate) fn in_short(&self, seconds: f64) -> String {
        let main = self.each().filter_map(|(claim, seen)| match claim {
            Claim::OutlivesItsTurn | Claim::KeepsTalking | Claim::StoppedAlone => Some(claim.to_string()),
            Claim::ToldTruly => Some(format!("its end was reported as {}", seen.split(',').next()?)),
            Claim::NothingLeft => Some("0 processes are left".to_owned()),
            Claim::Starts | Claim::SecondTurn | Claim::EndsByItself | Claim::ListEmpties => None,
        });
        let main: Vec<_> = main.collect();
        format!("Proved, in {seconds:.1} s: {}.", main.join(", "))
    }
}
