//! What a stop finds where commands are played: no processes, or what a story says.

use appserver_acp::core::effect::StopAct;
use appserver_acp::core::ids::StopId;
use appserver_acp::core::input::{Gentle, StopReport};
use serde::Deserialize;
use std::collections::VecDeque;

/// By itself nothing is found, so that Codex ends what is stopped.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    /// Stops take every turn that they can take.
    varies: bool,
    on_ask: VecDeque<StopReport>,
    on_finish: VecDeque<StopReport>,
    newest: Option<StopId>,
}

/// When a story's stop is told what it found.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum On {
    /// When it asks the next time.
    Ask,
    /// When it takes its last look the next time.
    Finish,
    /// Now, without being asked.
    Now,
}

/// A `StopReport` as a story writes it.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Finding {
    /// They were sent SIGINT.
    Int {
        members: u32,
    },
    /// They were sent SIGTERM.
    Term {
        members: u32,
    },
    NotFound,
    Gone {
        escaped: u32,
        killed: u32,
    },
    Left {
        left: u32,
        escaped: u32,
        killed: u32,
    },
}

impl Finding {
    pub(crate) fn report(self) -> StopReport {
        match self {
            Self::Int { members } => StopReport::Signalled { with: Gentle::Int, members },
            Self::Term { members } => StopReport::Signalled { with: Gentle::Term, members },
            Self::NotFound => StopReport::NotFound,
            Self::Gone { escaped, killed } => StopReport::Gone { escaped, killed },
            Self::Left { left, escaped, killed } => StopReport::Left { left, escaped, killed },
        }
    }
}

impl Reach {
    /// Some stops are asked in vain and are gone after the last look, or never heard of again.
    pub(crate) fn varying() -> Self {
        Self { varies: true, ..Self::default() }
    }

    pub(crate) fn asked_next(&mut self, report: StopReport) {
        self.on_ask.push_back(report);
    }

    pub(crate) fn finished_next(&mut self, report: StopReport) {
        self.on_finish.push_back(report);
    }

    /// The stop that was asked last.
    pub(crate) fn newest(&self) -> Option<StopId> {
        self.newest
    }

    /// What is found at once; `None` where nothing is ever reported.
    pub(crate) fn act(&mut self, stop: StopId, act: &StopAct) -> Option<StopReport> {
        let found = match act {
            StopAct::Ask { .. } => {
                self.newest = Some(stop);
                self.on_ask.pop_front()
            }
            StopAct::Finish => self.on_finish.pop_front(),
            StopAct::Forget => None,
        };
        found.or(match (act, stop.0 % 3) {
            (StopAct::Ask { .. }, 1 | 2) if self.varies => {
                Some(StopReport::Signalled { with: Gentle::Term, members: 1 })
            }
            (StopAct::Ask { .. }, _) => Some(StopReport::NotFound),
            (StopAct::Finish, 1) => Some(StopReport::Gone { escaped: 0, killed: 1 }),
            (StopAct::Finish | StopAct::Forget, _) => None,
        })
    }
}
