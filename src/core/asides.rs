//! What goes on beside the model's own work: hooks of the user, reviews of approvals.
//!
//! They are tool calls of the turn; outside of one, what they have to say is a notice.

use super::codex::{HOOK, ToolItem};
use super::cx::Cx;
use super::ids::{ItemId, TurnId};
use super::items::{Opening, final_status};
use super::session::Session;
use super::turn::Front;
use super::update::{CallChange, FinalStatus, Severity};

impl Session {
    /// One begins. Its id may come again in the same turn.
    pub(crate) fn aside_started(&mut self, cx: &mut Cx<'_>, turn: &TurnId, item: &ItemId, tool: &ToolItem) {
        self.learn_turn(cx, turn);
        if self.ledger.get(item).is_some() {
            return self.repeated(cx, item, "start of an aside");
        }
        if self.is_current(turn) {
            self.open_tool(cx, turn, item, Opening::of(tool));
            self.report(cx);
        }
    }

    /// One is over; one that was not shown and has nothing to say never is.
    pub(crate) fn aside_ended(
        &mut self,
        cx: &mut Cx<'_>,
        turn: Option<&TurnId>,
        item: &ItemId,
        tool: ToolItem,
    ) {
        let status = final_status(tool.status);
        self.note_hook(&tool, status);
        let is_quiet = tool.text.is_none() && status == FinalStatus::Completed;
        if self.ledger.get(item).is_none() {
            match turn.filter(|turn| self.is_current(turn)) {
                _ if is_quiet => return,
                Some(turn) => self.open_tool(cx, turn, item, Opening::of(&tool)),
                None => {
                    let is_well = status == FinalStatus::Completed;
                    let severity = if is_well { Severity::Info } else { Severity::Warning };
                    return self.notice(cx, severity, tool.title, tool.text);
                }
            }
        }
        let opening = Opening::of(&tool);
        let change = CallChange {
            title: Some(opening.title),
            content: (!opening.content.is_empty()).then_some(opening.content),
            ..CallChange::default()
        };
        self.close_call(cx, item, status, change);
        self.report(cx);
    }

    fn note_hook(&mut self, tool: &ToolItem, status: FinalStatus) {
        if let Front::Active(turn) = &mut self.front
            && tool.name == HOOK
            && status == FinalStatus::Failed
        {
            let text = tool.text.iter().map(|text| format!("\n{text}")).collect::<String>();
            turn.hook = Some(format!("{}{text}", tool.title));
        }
    }
}
