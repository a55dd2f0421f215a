//! What runs in the subagents of a session, as `/ps` shows it and `/stop` names it.
//!
//! A look at one moment; what is stopped by it is stopped in the subagent's own session.

use super::Core;
use super::cx::{Cx, News};
use super::ids::{ItemId, SessionId};
use super::ps;
use super::session::Session;
use super::turn::Front;
use super::update::EndedBy;
use crate::background::ledger::Call;

/// One thing that can be stopped.
#[derive(Debug)]
pub(crate) struct Below {
    /// Its name in the session at the top.
    pub(crate) item: ItemId,
    kid: SessionId,
    /// The subagent's name.
    title: String,
    what: What,
}

#[derive(Debug)]
enum What {
    /// Its turn, and the commands that it waits on.
    Turn(Vec<String>),
    /// A command in its background.
    Command(String),
}

impl Core {
    /// Tells a session what runs below it now.
    pub(super) fn look_below(&mut self, root: &SessionId) {
        let mut tree = self.tree(root);
        tree.reverse();
        let mut below = Vec::new();
        for kid in tree.iter().filter(|id| *id != root) {
            let (Some(session), Some(parent)) = (self.sessions.get(kid), self.children.parent(&kid.thread()))
            else {
                continue;
            };
            let name = self.sessions.get(parent).and_then(|it| it.kid_name(kid)).unwrap_or_default();
            session.add_below(&name, &mut below);
        }
        if let Some(root) = self.sessions.get_mut(root) {
            root.locals.below = below;
        }
    }
}

impl Session {
    fn add_below(&self, name: &str, below: &mut Vec<Below>) {
        let title = if name.is_empty() { "subagent".to_owned() } else { format!("subagent {name}") };
        let commands = |is_it: fn(&Call) -> bool| {
            let its = self.ledger.in_order().into_iter().filter(move |(_, call)| is_it(call));
            its.filter_map(|(item, call)| Some((item.clone(), call.command()?.command.clone())))
        };
        if !matches!(self.front, Front::Idle) {
            let waits_on = commands(Call::is_foreground_process).map(|(_, command)| command).collect();
            let item = ItemId::new(format!("subagent-{}", self.id));
            below.push(Below {
                item,
                kid: self.id.clone(),
                title: title.clone(),
                what: What::Turn(waits_on),
            });
        }
        below.extend(commands(Call::is_background).map(|(item, command)| Below {
            item,
            kid: self.id.clone(),
            title: title.clone(),
            what: What::Command(command),
        }));
    }

    pub(crate) fn rows_below(&self) -> Vec<String> {
        let rows = self.locals.below.iter().filter_map(|it| {
            let number = self.locals.jobs.number(&it.item)?;
            Some(match &it.what {
                What::Turn(waits_on) => ps::subagent(number, it.item.as_str(), &it.title, waits_on),
                What::Command(command) => ps::of_subagent(number, it.item.as_str(), &it.title, command),
            })
        });
        rows.collect()
    }

    /// Stops something of a subagent; what is said of it. `None` if this is none.
    pub(crate) fn stop_below(&mut self, cx: &mut Cx<'_>, item: &ItemId) -> Option<String> {
        let it = self.locals.below.iter().find(|it| it.item == *item)?;
        let number = self.locals.jobs.number(item).unwrap_or_default();
        let kid = it.kid.clone();
        match &it.what {
            What::Turn(_) => {
                cx.desk.news.push_back(News::Cancel { kid });
                Some(format!("Stopping **{number}** {}: what it does now is cut off.", it.title))
            }
            What::Command(command) => {
                cx.desk.news.push_back(News::Stop { kid, item: item.clone() });
                Some(ps::stopping_below(number, command, &it.title, cx.settings.stop_grace))
            }
        }
    }

    /// A person wants a command of this subagent stopped.
    pub(crate) fn stop_by_name(&mut self, cx: &mut Cx<'_>, item: &ItemId) {
        self.stop_command(cx, item, EndedBy::Client);
    }
}
