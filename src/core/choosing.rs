//! When Codex learns what was chosen: with the next turn of ours, or at once where it may begin one by itself.

use super::codex::{Choices, CodexError, CodexReply, CodexRequest};
use super::cx::Cx;
use super::effect::Anomaly;
use super::link::Purpose;
use super::session::{Session, Tie};
use super::update::Severity;

impl Session {
    /// Something was chosen. A goal, a queued message or a subagent makes Codex begin turns that we tell nothing.
    pub(crate) fn choice_made(&mut self, cx: &mut Cx<'_>) {
        if self.standing_item(|_| true).is_some() || !self.children.is_empty() {
            self.tell_choices(cx);
        }
    }

    /// A turn is coming that takes nothing along: it is told before.
    pub(crate) fn tell_choices(&mut self, cx: &mut Cx<'_>) {
        if self.tie != Tie::Loaded || self.lineage.is_some() {
            return;
        }
        let choices = self.chosen.take_fresh();
        if choices == Choices::default() {
            return;
        }
        self.chosen.tell(choices.clone());
        let purpose = Purpose::Settings { session: self.id.clone(), choices: choices.clone() };
        let thread = self.thread.clone();
        cx.link.call(purpose, CodexRequest::SettingsUpdate { thread, choices }, cx.out);
    }

    /// Codex took what was chosen, or did not: then the next turn of ours is told.
    pub(crate) fn choices_told(
        &mut self,
        cx: &mut Cx<'_>,
        choices: Choices,
        result: Result<CodexReply, CodexError>,
    ) {
        let Err(error) = result else { return };
        self.chosen.give_back(choices);
        let method = "thread/settings/update";
        cx.out.anomaly(Anomaly::CodexRefused { method, message: error.message.clone() });
        let title = "Codex did not take what was chosen; it is told again with your next prompt".to_owned();
        self.notice(cx, Severity::Warning, title, Some(error.message));
    }
}
