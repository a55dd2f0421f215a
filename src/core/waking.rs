//! Turns that the end of background work starts (D14), where the option `wake` asks for it.
//!
//! Owns when: not for what the model watched itself, not once for each of many ends, not for ever.

use super::codex::CodexRequest;
use super::cx::Cx;
use super::ids::{PromptKey, Tick, TurnId};
use super::link::Purpose;
use super::session::{Session, Tie};
use super::timer::Timer;
use super::turn::Front;
use super::update::Severity;

/// Ends within so many ms are told together.
const TOGETHER: u64 = 1_000;
/// So many turns in a row are started without a prompt of the user's.
const IN_A_ROW: u32 = 5;

/// What opens such a turn in v1.
const LINE: &str = "*A command in the background has ended: Codex goes on without a prompt.*\n\n";

/// The waking of one session.
#[derive(Debug, Default)]
pub(crate) struct Waking {
    /// When the turn is due; the first end counts.
    due: Option<Tick>,
    /// Turns started since the last prompt.
    in_a_row: u32,
    /// The turn that is being started.
    key: Option<PromptKey>,
}

impl Waking {
    /// A prompt of the user's goes to Codex, and takes along what there is to tell.
    pub(crate) fn prompted(&mut self) {
        *self = Self::default();
    }

    /// Whether this turn was asked for here.
    pub(crate) fn is_key(&self, key: &PromptKey) -> bool {
        self.key.as_ref() == Some(key)
    }
}

impl Session {
    /// Whether the end of a command should wake the model: it has not looked at it in the turn that runs,
    /// where it saw the end itself.
    pub(crate) fn wakes(&self, looked_at: Option<&TurnId>) -> bool {
        let is_watched = looked_at.is_some_and(|turn| self.is_current(turn));
        self.chosen.wakes() && !is_watched
    }

    /// A command ended by which the model is woken.
    pub(crate) fn wake_later(&mut self, cx: &mut Cx<'_>) {
        if self.waking.due.is_none() {
            let due = cx.now.plus(TOGETHER);
            self.waking.due = Some(due);
            cx.timers.arm(due, Timer::Wake { session: self.id.clone() });
        }
    }

    /// Starts a turn without a prompt, if one is due and nothing else runs.
    pub(crate) fn wake(&mut self, cx: &mut Cx<'_>) {
        let is_quiet = matches!(self.front, Front::Idle)
            && self.prompts.is_empty()
            && self.closing.is_none()
            && self.held.is_none()
            && self.tie == Tie::Loaded;
        if !is_quiet || self.waking.due.is_none_or(|due| due > cx.now) {
            return;
        }
        self.waking.due = None;
        if self.waking.in_a_row == IN_A_ROW {
            // What there is to tell goes with the next prompt.
            let title =
                format!("The agent was woken {IN_A_ROW} times without a prompt and now waits for yours");
            return self.notice(cx, Severity::Warning, title, None);
        }
        let Some(context) = self.untold.take() else { return };
        self.waking.in_a_row += 1;
        self.open_by_itself(cx, LINE);
        let key = PromptKey::new(format!("{}-wake-{}", cx.settings.nonce, cx.desk.next_key()));
        self.waking.key = Some(key.clone());
        let choices = self.chosen.take_fresh();
        self.front = Front::Starting { cancelled: false, waiting: Vec::new(), choices: choices.clone() };
        let request = CodexRequest::TurnStart {
            thread: self.thread.clone(),
            key: key.clone(),
            input: Vec::new(),
            context: Some(context),
            choices,
        };
        cx.link.call(Purpose::TurnStart { session: self.id.clone(), key }, request, cx.out);
    }
}
