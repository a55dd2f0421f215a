//! A session's subagents, as its client was told of them, and a subagent's place in the family.
//!
//! The list of the session is made of what was mirrored here, and of nothing else.

use super::codex::{ItemKind, ToolItem};
use super::crew::{Crew, CrewAct};
use super::cx::{Cx, News};
use super::ids::{ItemId, MessageId, SessionId, TurnId};
use super::session::Session;
use super::turn::Front;
use super::update::{CallContent, Content, Snapshot, State, SubagentChange, Update};
use std::collections::BTreeMap;

/// What the session of a subagent has beside any other.
#[derive(Debug)]
pub(crate) struct Kin {
    /// Session that it works for.
    pub(crate) parent: SessionId,
    /// The session of a person at the top.
    pub(crate) root: SessionId,
    /// The client knows no such sessions: all of it is shown in a call of the root.
    pub(crate) is_folded: bool,
}

/// The subagents of a session.
#[derive(Debug, Default)]
pub(crate) struct Kids {
    kids: BTreeMap<SessionId, Kid>,
    n_seen: u32,
    /// Subagents that an open call waits for, by the call.
    waits: BTreeMap<ItemId, Vec<SessionId>>,
}

/// One subagent.
#[derive(Debug)]
struct Kid {
    /// Order of appearance.
    order: u32,
    face: Face,
    /// What its client was told last.
    snapshot: Snapshot,
}

/// How a subagent is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Face {
    pub(crate) nickname: Option<String>,
    /// Name of its task.
    pub(crate) name: Option<String>,
    /// What it was told to do.
    pub(crate) task: Option<String>,
    pub(crate) cwd: Option<String>,
}

impl Face {
    /// Empty where it has no name.
    fn name(&self) -> String {
        match (&self.name, &self.nickname) {
            (Some(name), Some(nickname)) => format!("{name} ({nickname})"),
            (Some(name), None) => name.clone(),
            (None, Some(nickname)) => nickname.clone(),
            (None, None) => String::new(),
        }
    }

    fn title(&self) -> String {
        Some(self.name()).filter(|it| !it.is_empty()).unwrap_or_else(|| "Subagent".to_owned())
    }

    /// Takes over what is known of it now. Returns whether anything shown changed.
    fn learn(&mut self, more: Self) -> bool {
        let before = self.clone();
        self.nickname = more.nickname.or_else(|| self.nickname.take());
        self.name = more.name.or_else(|| self.name.take());
        // What it was told first is what it is there for.
        self.task = self.task.take().or(more.task);
        self.cwd = more.cwd.or_else(|| self.cwd.take());
        *self != before
    }
}

impl Kids {
    /// Whether none is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.kids.is_empty()
    }

    /// Those that are at work, or have something running, and that no call waits for (V2-69).
    pub(crate) fn listed(&self) -> Vec<SessionId> {
        let is_awaited = |id: &SessionId| self.waits.values().any(|awaited| awaited.contains(id));
        let mut listed: Vec<_> =
            self.kids.iter().filter(|(id, kid)| is_live(&kid.snapshot) && !is_awaited(id)).collect();
        listed.sort_by_key(|(_, kid)| kid.order);
        listed.into_iter().map(|(id, _)| id.clone()).collect()
    }

    /// All of them, in order of appearance.
    pub(crate) fn all(&self) -> Vec<SessionId> {
        let mut all: Vec<_> = self.kids.iter().collect();
        all.sort_by_key(|(_, kid)| kid.order);
        all.into_iter().map(|(id, _)| id.clone()).collect()
    }
}

impl Session {
    /// Announces a subagent of this session: nothing with its id may come before.
    pub(crate) fn adopt(&mut self, cx: &mut Cx<'_>, kid: &SessionId, face: Face) {
        self.kids.n_seen += 1;
        let snapshot = Snapshot { state: State::Idle(None), background: Vec::new() };
        self.kids.kids.insert(kid.clone(), Kid { order: self.kids.n_seen, face, snapshot });
        if let Some(update) = self.portrait(kid) {
            self.emit_of_kid(cx, update);
        }
    }

    /// More is known of a subagent.
    pub(crate) fn kid_described(&mut self, cx: &mut Cx<'_>, kid: &SessionId, more: Face) {
        let Some(known) = self.kids.kids.get_mut(kid) else { return };
        if known.face.learn(more) {
            let face = known.face.clone();
            let change = SubagentChange {
                session: kid.clone(),
                title: Some(face.title()),
                description: face.task,
                cwd: face.cwd,
                can_cancel: None,
                state: None,
            };
            self.emit_of_kid(cx, change);
        }
    }

    /// A subagent's own session was told this state: the same is told here (V2-82).
    pub(crate) fn mirror(&mut self, cx: &mut Cx<'_>, kid: &SessionId, snapshot: Snapshot) {
        let Some(known) = self.kids.kids.get_mut(kid) else { return };
        known.snapshot = snapshot.clone();
        let change = SubagentChange {
            session: kid.clone(),
            title: None,
            description: None,
            cwd: None,
            can_cancel: None,
            state: Some(snapshot),
        };
        self.emit_of_kid(cx, change);
        self.report(cx);
    }

    /// The session of a subagent is closed.
    pub(crate) fn kid_closed(&mut self, cx: &mut Cx<'_>, kid: &SessionId) {
        self.kids.kids.remove(kid);
        self.report(cx);
        self.close_if_done(cx);
    }

    /// All of a subagent that the client may have to be told again.
    pub(crate) fn portrait(&self, kid: &SessionId) -> Option<SubagentChange> {
        let known = self.kids.kids.get(kid)?;
        Some(SubagentChange {
            session: kid.clone(),
            title: Some(known.face.title()),
            description: known.face.task.clone(),
            cwd: known.face.cwd.clone(),
            can_cancel: Some(true),
            state: Some(known.snapshot.clone()),
        })
    }

    /// A resume tells the subagents again.
    pub(crate) fn reannounce_kids(&mut self, cx: &mut Cx<'_>) {
        for change in self.kids.all().iter().filter_map(|kid| self.portrait(kid)).collect::<Vec<_>>() {
            if cx.client.subagents {
                self.emit_ahead(cx, Update::Subagent(change));
            }
        }
    }

    /// The end of a subagent is told by its state; a call that says so would stand in no turn.
    pub(crate) fn is_told_by_state(&self, cx: &Cx<'_>, tool: &ToolItem) -> bool {
        let Some(crew) = &tool.crew else { return false };
        let is_moment = crew.act == CrewAct::Ends && tool.name == "subAgentActivity";
        is_moment && (self.replaying || crew.threads.iter().all(|thread| cx.children.is_announced(thread)))
    }

    pub(crate) fn kid_name(&self, kid: &SessionId) -> Option<String> {
        self.kids.kids.get(kid).map(|kid| kid.face.name())
    }

    fn emit_of_kid(&mut self, cx: &mut Cx<'_>, change: SubagentChange) {
        if cx.client.subagents {
            self.emit(cx, Update::Subagent(change));
        }
    }

    /// A call that has to do with subagents begins: while it waits for some, they are in nobody's background.
    pub(crate) fn crew_called(&mut self, item: &ItemId, crew: &Crew) {
        if crew.act == CrewAct::Waits && !crew.threads.is_empty() {
            let awaited = crew.threads.iter().map(SessionId::of).collect();
            self.kids.waits.insert(item.clone(), awaited);
        }
    }

    /// A call is over.
    pub(crate) fn crew_answered(&mut self, item: &ItemId) {
        self.kids.waits.remove(item);
    }

    /// The sessions that such a call is about, as far as the client knows them.
    pub(crate) fn crew_content(&self, cx: &Cx<'_>, crew: &Crew) -> Vec<CallContent> {
        if !cx.client.subagents || self.replaying {
            return Vec::new();
        }
        let known = crew.threads.iter().filter(|thread| cx.children.is_announced(thread));
        known.map(|thread| CallContent::Session(SessionId::of(thread))).collect()
    }

    /// What a subagent was told, where Codex shows it.
    pub(crate) fn told_by_parent(&mut self, cx: &mut Cx<'_>, message: MessageId, content: Vec<Content>) {
        if let Some(Kin { parent, .. }) = &self.kin {
            let from = parent.clone();
            self.emit(cx, Update::SessionMessage { message, from, content });
        }
    }

    /// A subagent is at work in a turn whose start we did not see.
    pub(crate) fn joins_unseen_turn(&mut self, cx: &mut Cx<'_>, turn: &TurnId, item: &ItemKind) {
        // The end of a subagent of its own may come long after the turn that it names.
        let is_of_old = match item {
            ItemKind::Tool(tool) => tool.crew.as_ref().is_some_and(|crew| crew.act == CrewAct::Ends),
            ItemKind::UserMessage { .. }
            | ItemKind::AgentMessage { .. }
            | ItemKind::Reasoning { .. }
            | ItemKind::Plan { .. }
            | ItemKind::Command(_)
            | ItemKind::Compaction
            | ItemKind::FileChange { .. }
            | ItemKind::Hidden => false,
        };
        let may_join = self.kin.is_some() && matches!(self.front, Front::Idle) && !self.replaying;
        if may_join && !is_of_old && !self.is_over(turn) {
            self.turn_is(cx, turn.clone());
            self.turn_runs(cx);
        }
    }

    /// Whether a turn of it runs that nobody has cancelled.
    pub(crate) fn may_be_cut_off(&self) -> bool {
        matches!(self.front, Front::Active(_)) && !self.is_cancelled()
    }

    /// A state goes to the client, and to the parent of a subagent in the same words.
    pub(crate) fn tell_state(&mut self, cx: &mut Cx<'_>, snapshot: Snapshot) {
        // What is held back is mirrored when it is told.
        if self.held.is_none() {
            self.is_mirrored(cx, &snapshot);
        }
        self.emit(cx, Update::State(snapshot));
    }

    /// The parent of a subagent is told a state of its own in the same words.
    pub(crate) fn is_mirrored(&self, cx: &mut Cx<'_>, snapshot: &Snapshot) {
        if let Some(kin) = &self.kin {
            let (parent, kid) = (kin.parent.clone(), self.id.clone());
            cx.desk.news.push_back(News::State { parent, kid, snapshot: snapshot.clone() });
        }
    }
}

/// Whether it is at work or has something running.
pub(crate) fn is_live(snapshot: &Snapshot) -> bool {
    !matches!(snapshot.state, State::Idle(_)) || !snapshot.background.is_empty()
}
