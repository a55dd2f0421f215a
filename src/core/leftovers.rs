//! What commands left running when they ended, once a person wants it stopped.
//!
//! Climbs the same ladder as a command, without an end of Codex's to wait for.

use super::cx::Cx;
use super::effect::{Effect, StopAct};
use super::ids::ItemId;
use super::session::Session;
use super::timer::Timer;
use super::update::Severity;
use crate::background::exit::Ladder;
use crate::stop::plan::{self, Act, Event, Plan};
use std::collections::BTreeMap;

/// Ladders by the command that ended.
#[derive(Debug, Default)]
pub(crate) struct Leftovers(BTreeMap<ItemId, Ladder>);

impl Session {
    /// Starts the ladder for what an ended command left, or takes its next step.
    pub(crate) fn stop_leftover(&mut self, cx: &mut Cx<'_>, item: &ItemId) {
        if self.locals.leftovers.0.contains_key(item) {
            return self.climb_leftover(cx, item, Event::Hurry);
        }
        let id = cx.desk.stop(&self.id, item);
        let mut plan = Plan::asked();
        // Codex reported its end long ago.
        plan.on(Event::Ended);
        self.locals.leftovers.0.insert(item.clone(), Ladder { id, plan, held: None });
        let act = StopAct::Ask { thread: self.thread.clone(), item: item.clone() };
        cx.out.push(Effect::Stop { stop: id, act });
        cx.timers.arm(cx.now.plus(cx.settings.stop_grace), Timer::Grace { stop: id });
    }

    /// An event of such a ladder.
    pub(crate) fn climb_leftover(&mut self, cx: &mut Cx<'_>, item: &ItemId, event: Event) {
        let Some(ladder) = self.locals.leftovers.0.get_mut(item) else { return };
        let id = ladder.id;
        for act in ladder.plan.on(event) {
            match act {
                // It left what Codex could end.
                Act::Terminate => {}
                Act::Finish => {
                    cx.out.push(Effect::Stop { stop: id, act: StopAct::Finish });
                    cx.timers.arm(cx.now.plus(plan::BOUND), Timer::StopBound { stop: id });
                }
                Act::Report => {
                    let left = self.locals.leftovers.0.get(item).map_or(0, |it| it.plan.account().left);
                    self.forget_leftover(cx, item);
                    if left > 0 {
                        let title = format!("{left} processes of a command that ended could not be ended");
                        return self.notice(cx, Severity::Warning, title, None);
                    }
                    return;
                }
            }
        }
    }

    /// Gives all such ladders up: a sweep takes what is left.
    pub(crate) fn forget_leftovers(&mut self, cx: &mut Cx<'_>) {
        let items: Vec<ItemId> = self.locals.leftovers.0.keys().cloned().collect();
        for item in items {
            self.forget_leftover(cx, &item);
        }
    }

    fn forget_leftover(&mut self, cx: &mut Cx<'_>, item: &ItemId) {
        if let Some(ladder) = self.locals.leftovers.0.remove(item) {
            cx.desk.stop_over(ladder.id);
            cx.out.push(Effect::Stop { stop: ladder.id, act: StopAct::Forget });
        }
    }
}
