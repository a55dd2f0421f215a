//! What runs in the subagents of a session, as `/ps` shows it and `/stop` names it.
//!
//! A look at one moment; what is stopped by it is stopped in the subagent's own session.

use crate::background::ledger::Call;
use crate::core::Core;
use crate::core::cx::{Cx, News};
use crate::core::ids::{ItemId, SessionId};
use crate::core::ps;
use crate::core::session::Session;
use crate::core::turn::Front;
use crate::core::update::EndedBy;

/// One thing that can be stopped.
#[derive(Debug)]
pub(crate) struct SubagentJob {
    /// Its name in the session at the top.
    pub(crate) item: ItemId,
    child: SessionId,
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
    pub(in crate::core) fn find_subagent_jobs(&mut self, root: &SessionId) {
        let mut tree = self.tree(root);
        tree.reverse();
        let mut jobs = Vec::new();
        for child in tree.iter().filter(|id| *id != root) {
            let (Some(session), Some(parent)) =
                (self.sessions.get(child), self.subagents.parent(&child.thread()))
            else {
                continue;
            };
            let name = self.sessions.get(parent).and_then(|it| it.child_name(child)).unwrap_or_default();
            session.add_jobs(&name, &mut jobs);
        }
        if let Some(root) = self.sessions.get_mut(root) {
            root.locals.subagent_jobs = jobs;
        }
    }
}

impl Session {
    fn add_jobs(&self, name: &str, jobs: &mut Vec<SubagentJob>) {
        let title = if name.is_empty() { "subagent".to_owned() } else { format!("subagent {name}") };
        let commands = |is_it: fn(&Call) -> bool| {
            let its = self.ledger.in_order().into_iter().filter(move |(_, call)| is_it(call));
            its.filter_map(|(item, call)| Some((item.clone(), call.command()?.command.clone())))
        };
        if !matches!(self.front, Front::Idle) {
            let waits_on = commands(Call::is_foreground_process).map(|(_, command)| command).collect();
            let item = ItemId::new(format!("subagent-{}", self.id));
            jobs.push(SubagentJob {
                item,
                child: self.id.clone(),
                title: title.clone(),
                what: What::Turn(waits_on),
            });
        }
        jobs.extend(commands(Call::is_background).map(|(item, command)| SubagentJob {
            item,
            child: self.id.clone(),
            title: title.clone(),
            what: What::Command(command),
        }));
    }

    pub(crate) fn subagent_rows(&self) -> Vec<String> {
        let rows = self.locals.subagent_jobs.iter().filter_map(|it| {
            let number = self.locals.jobs.number(&it.item)?;
            Some(match &it.what {
                What::Turn(waits_on) => ps::subagent(number, it.item.as_str(), &it.title, waits_on),
                What::Command(command) => ps::of_subagent(number, it.item.as_str(), &it.title, command),
            })
        });
        rows.collect()
    }

    /// Stops something of a subagent; what is said of it. `None` if this is none.
    pub(crate) fn stop_subagent_job(&mut self, cx: &mut Cx<'_>, item: &ItemId) -> Option<String> {
        let it = self.locals.subagent_jobs.iter().find(|it| it.item == *item)?;
        let number = self.locals.jobs.number(item).unwrap_or_default();
        let child = it.child.clone();
        match &it.what {
            What::Turn(_) => {
                cx.desk.news.push_back(News::Cancel { child });
                Some(format!("Stopping **{number}** {}: what it does now is cut off.", it.title))
            }
            What::Command(command) => {
                cx.desk.news.push_back(News::Stop { child, item: item.clone() });
                Some(ps::stopping_in_subagent(number, command, &it.title, cx.settings.stop_grace))
            }
        }
    }

    /// A person wants a command of this subagent stopped.
    pub(crate) fn stop_by_name(&mut self, cx: &mut Cx<'_>, item: &ItemId) {
        self.stop_command(cx, item, EndedBy::Client);
    }
}
