//! What is being answered without the model, and what each answer still needs.
//!
//! Tells nobody anything: `local` does.

use super::asking::Heard;
use super::ids::{PromptKey, Tick};
use super::jobs::Jobs;
use super::leftovers::Leftovers;
use super::request::Ticket;
use super::slash::{Task, Which};
use super::subagents::ps::SubagentJob;

/// The local prompts of a session.
#[derive(Debug, Default)]
pub(crate) struct Locals {
    pub(super) open: Vec<Local>,
    /// Since when what runs is being looked at.
    pub(super) surveyed: Option<Tick>,
    pub(crate) jobs: Jobs,
    pub(crate) leftovers: Leftovers,
    /// What runs in subagents, at the last look.
    pub(crate) subagent_jobs: Vec<SubagentJob>,
}

/// A prompt that waits for what its answer needs.
#[derive(Debug)]
pub(super) struct Local {
    /// v1: answered at its end.
    pub(super) ticket: Option<Ticket>,
    pub(super) key: PromptKey,
    pub(super) need: Need,
}

/// What an answer needs.
#[derive(Debug)]
pub(crate) enum Need {
    /// Nothing.
    Nothing,
    /// A look at what runs: to show it, or to stop of it.
    Survey(Option<Which>),
    /// The thread, which is not loaded.
    Thread(Task),
    /// That the goal is gone, which is being cleared.
    GoalEnd,
    /// So many answers of Codex's, and those that came.
    Codex { task: Task, open: usize, heard: Vec<Heard> },
}

impl Locals {
    /// Whether a prompt is being answered.
    pub(crate) fn is_busy(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether a turn that is no answer to a message begins once its thread is loaded.
    pub(crate) fn begins(&self) -> bool {
        self.open.iter().any(|local| matches!(local.need, Need::Thread(Task::Start(_))))
    }

    /// What an answer needs now.
    pub(crate) fn needs(&mut self, key: &PromptKey, need: Need) {
        if let Some(local) = self.open.iter_mut().find(|local| local.key == *key) {
            local.need = need;
        }
    }

    /// The need of a prompt that is being answered.
    pub(crate) fn need(&mut self, key: &PromptKey) -> Option<&mut Need> {
        self.open.iter_mut().find(|local| local.key == *key).map(|local| &mut local.need)
    }

    pub(crate) fn waiting_for_thread(&self) -> Vec<(PromptKey, Task)> {
        let waiting = self.open.iter().filter_map(|local| match &local.need {
            Need::Thread(task) => Some((local.key.clone(), task.clone())),
            Need::Nothing | Need::Survey(_) | Need::GoalEnd | Need::Codex { .. } => None,
        });
        waiting.collect()
    }

    /// Whoever waits for the end of the goal.
    pub(crate) fn waiting_for_goal(&self) -> Vec<PromptKey> {
        let waiting = self.open.iter().filter(|local| matches!(local.need, Need::GoalEnd));
        waiting.map(|local| local.key.clone()).collect()
    }

    /// What an app-server that is gone does not answer, and with `is_for_good` what waits for the next.
    pub(crate) fn waiting_for_codex(&self, is_for_good: bool) -> Vec<PromptKey> {
        let waits = |local: &&Local| match local.need {
            Need::Codex { .. } | Need::GoalEnd => true,
            Need::Thread(_) => is_for_good,
            Need::Nothing | Need::Survey(_) => false,
        };
        self.open.iter().filter(waits).map(|local| local.key.clone()).collect()
    }

    /// A prompt that is no longer answered here; v1: with its answer.
    pub(crate) fn hand_over(&mut self, key: &PromptKey) -> Option<Ticket> {
        let at = self.open.iter().position(|local| local.key == *key)?;
        self.open.remove(at).ticket
    }
}
