//! A session's subagents, as its client was told of them, and a subagent's place in the family.
//!
//! The list of the session is made of what was mirrored here, and of nothing else.

use crate::core::codex::{ItemKind, ToolItem};
use crate::core::cx::{Cx, News};
use crate::core::ids::{ItemId, SessionId, ThreadId, TurnId};
use crate::core::session::{Session, Tie};
use crate::core::subagents::collab::{CollabAct, CollabCall};
use crate::core::subagents::messages::Unmatched;
use crate::core::turn::Front;
use crate::core::update::{CallContent, Snapshot, State, SubagentChange, Update};
use std::collections::BTreeMap;

/// What the session of a subagent has beside any other.
#[derive(Debug)]
pub(crate) struct Lineage {
    /// Session that it works for.
    pub(crate) parent: SessionId,
    /// The session of a person at the top.
    pub(crate) root: SessionId,
    /// The client knows no such sessions: all of it is shown in a call of the root.
    pub(crate) is_in_call: bool,
}

/// The subagents of a session.
#[derive(Debug, Default)]
pub(crate) struct Children {
    by_session: BTreeMap<SessionId, Child>,
    n_seen: u32,
    /// Subagents that an open call waits for, by the call. One of the newer tools names none.
    waits: BTreeMap<ItemId, Vec<SessionId>>,
}

/// One subagent.
#[derive(Debug)]
struct Child {
    /// Order of appearance.
    order: u32,
    identity: Identity,
    /// What its client was told last.
    snapshot: Snapshot,
    unmatched: Unmatched,
    /// What its own session will tell when it is released, and this one after it.
    later: Vec<Snapshot>,
}

/// How a subagent is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) nickname: Option<String>,
    /// Name of its task.
    pub(crate) name: Option<String>,
    /// What it was told to do.
    pub(crate) task: Option<String>,
    pub(crate) cwd: Option<String>,
}

impl Identity {
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

impl Children {
    /// Whether none is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_session.is_empty()
    }

    /// Those that are at work, or have something running, and that no call waits for (V2-69).
    pub(crate) fn listed(&self) -> Vec<SessionId> {
        let is_awaited = |id: &SessionId| self.waits.values().any(|awaited| awaited.contains(id));
        let mut listed: Vec<_> = self
            .by_session
            .iter()
            .filter(|(id, child)| is_live(&child.snapshot) && !is_awaited(id))
            .collect();
        listed.sort_by_key(|(_, child)| child.order);
        listed.into_iter().map(|(id, _)| id.clone()).collect()
    }

    /// What is between it and this subagent.
    pub(crate) fn unmatched(&mut self, child: &SessionId) -> Option<&mut Unmatched> {
        self.by_session.get_mut(child).map(|it| &mut it.unmatched)
    }

    /// All of them, in order of appearance.
    pub(crate) fn all(&self) -> Vec<SessionId> {
        let mut all: Vec<_> = self.by_session.iter().collect();
        all.sort_by_key(|(_, child)| child.order);
        all.into_iter().map(|(id, _)| id.clone()).collect()
    }
}

impl Session {
    /// Announces a subagent of this session: nothing with its id may come before.
    pub(crate) fn announce_child(&mut self, cx: &mut Cx<'_>, child: &SessionId, identity: Identity) {
        self.associate_child(child, identity);
        if let Some(update) = self.child_in_full(child) {
            self.emit_of_child(cx, update);
        }
        self.choice_made(cx);
    }

    /// Notes a subagent of this session, quiet until told otherwise.
    pub(crate) fn associate_child(&mut self, child: &SessionId, identity: Identity) {
        self.children.n_seen += 1;
        let snapshot = Snapshot { state: State::Idle(None), background: Vec::new() };
        let (order, unmatched) = (self.children.n_seen, Unmatched::default());
        let known = Child { order, identity, snapshot, unmatched, later: Vec::new() };
        self.children.by_session.insert(child.clone(), known);
    }

    /// A session that comes back names its subagents, before anything else of theirs. What they do is told
    /// when it is known.
    pub(crate) fn name_child(&self, cx: &mut Cx<'_>, child: &SessionId) {
        let named =
            self.child_in_full(child).map(|it| SubagentChange { can_cancel: None, state: None, ..it });
        if let Some(named) = named.filter(|_| cx.client.subagents) {
            self.emit_ahead(cx, Update::Subagent(named));
        }
    }

    /// A subagent of a session that comes back is as its own session was just told.
    pub(crate) fn child_is_back(&mut self, cx: &mut Cx<'_>, child: &SessionId, snapshot: Snapshot) {
        let Some(known) = self.children.by_session.get_mut(child) else { return };
        known.snapshot = snapshot;
        known.later.clear();
        // What was held back of it is older than what is told now, and no more.
        let is_its = |it: &Update| matches!(it, Update::Subagent(change) if change.session == *child);
        self.held.iter_mut().for_each(|held| held.retain(|it| !is_its(it)));
        if let Some(change) = self.child_in_full(child).filter(|_| cx.client.subagents) {
            self.emit_ahead(cx, Update::Subagent(change));
        }
    }

    /// More is known of a subagent.
    pub(crate) fn child_described(&mut self, cx: &mut Cx<'_>, child: &SessionId, more: Identity) {
        let Some(known) = self.children.by_session.get_mut(child) else { return };
        if known.identity.learn(more) {
            let identity = known.identity.clone();
            let change = SubagentChange {
                session: child.clone(),
                title: Some(identity.title()),
                description: identity.task,
                cwd: identity.cwd,
                can_cancel: None,
                state: None,
            };
            self.emit_of_child(cx, change);
        }
    }

    /// A subagent's own session was told this state: the same is told here (V2-82).
    pub(crate) fn mirror_child(&mut self, cx: &mut Cx<'_>, child: &SessionId, snapshot: Snapshot) {
        let Some(known) = self.children.by_session.get_mut(child) else { return };
        // Its own session is held back together with this one, and is to tell it first.
        if self.held.is_some() {
            return known.later.push(snapshot);
        }
        known.snapshot = snapshot.clone();
        let change = SubagentChange {
            session: child.clone(),
            title: None,
            description: None,
            cwd: None,
            can_cancel: None,
            state: Some(snapshot),
        };
        self.emit_of_child(cx, change);
        self.report(cx);
    }

    /// A subagent's own session has told what was held back of it.
    pub(crate) fn mirror_released(&mut self, cx: &mut Cx<'_>, child: &SessionId) {
        let Some(known) = self.children.by_session.get_mut(child) else { return };
        for snapshot in std::mem::take(&mut known.later) {
            self.mirror_child(cx, child, snapshot);
        }
    }

    /// The session of a subagent is closed.
    pub(crate) fn child_closed(&mut self, cx: &mut Cx<'_>, child: &SessionId) {
        self.children.by_session.remove(child);
        self.report(cx);
        self.close_if_done(cx);
    }

    /// All of a subagent that the client may have to be told again.
    pub(crate) fn child_in_full(&self, child: &SessionId) -> Option<SubagentChange> {
        let known = self.children.by_session.get(child)?;
        Some(SubagentChange {
            session: child.clone(),
            title: Some(known.identity.title()),
            description: known.identity.task.clone(),
            cwd: known.identity.cwd.clone(),
            can_cancel: Some(true),
            state: Some(known.snapshot.clone()),
        })
    }

    /// The end of a subagent is told by its state; a call that says so would stand in no turn.
    pub(crate) fn is_told_by_state(&self, cx: &Cx<'_>, tool: &ToolItem) -> bool {
        let Some(collab) = &tool.collab else { return false };
        let is_moment = collab.act == CollabAct::Ends && tool.name == "subAgentActivity";
        is_moment && (self.replaying || collab.threads.iter().all(|thread| cx.subagents.is_announced(thread)))
    }

    pub(crate) fn child_name(&self, child: &SessionId) -> Option<String> {
        self.children.by_session.get(child).map(|child| child.identity.name())
    }

    fn emit_of_child(&mut self, cx: &mut Cx<'_>, change: SubagentChange) {
        if cx.client.subagents {
            self.emit(cx, Update::Subagent(change));
        }
    }

    /// A call that has to do with subagents begins: while it waits for some, they are in nobody's background.
    pub(crate) fn collab_started(&mut self, item: &ItemId, collab: &CollabCall) {
        if collab.act == CollabAct::Waits {
            let awaited = collab.threads.iter().map(SessionId::of).collect();
            self.children.waits.insert(item.clone(), awaited);
        }
    }

    /// A call is over.
    pub(crate) fn collab_ended(&mut self, item: &ItemId) {
        self.children.waits.remove(item);
    }

    /// The sessions that such a call is about, as far as the client knows them.
    pub(crate) fn collab_content(&self, cx: &Cx<'_>, collab: &CollabCall) -> Vec<CallContent> {
        if !cx.client.subagents {
            return Vec::new();
        }
        collab.threads.iter().filter_map(|it| self.session_of(cx, it)).map(CallContent::Session).collect()
    }

    /// The session of another thread, if the client knows it: a subagent, or one that this one works for.
    fn session_of(&self, cx: &Cx<'_>, thread: &ThreadId) -> Option<SessionId> {
        let kin = self.lineage.iter().flat_map(|it| [&it.parent, &it.root]);
        let of_kin = kin.into_iter().find(|it| it.thread() == *thread).cloned();
        of_kin.or_else(|| cx.subagents.is_announced(thread).then(|| SessionId::of(thread)))
    }

    /// A subagent is at work in a turn whose start we did not see.
    pub(crate) fn joins_unseen_turn(&mut self, cx: &mut Cx<'_>, turn: &TurnId, item: &ItemKind) {
        // The end of a subagent of its own may come long after the turn that it names.
        let is_of_old = match item {
            ItemKind::Tool(tool) => tool.collab.as_ref().is_some_and(|collab| collab.act == CollabAct::Ends),
            ItemKind::UserMessage { .. }
            | ItemKind::AgentMessage { .. }
            | ItemKind::Reasoning { .. }
            | ItemKind::Plan { .. }
            | ItemKind::Command(_)
            | ItemKind::Compaction
            | ItemKind::FileChange { .. }
            | ItemKind::Hidden => false,
        };
        let may_join = self.lineage.is_some() && matches!(self.front, Front::Idle) && !self.replaying;
        if may_join && !is_of_old && !self.is_over(turn) {
            self.turn_is(cx, turn.clone());
            self.turn_runs(cx);
        }
    }

    /// Whether its turn waits for subagents.
    pub(crate) fn waits_for_subagents(&self) -> bool {
        !self.children.waits.is_empty() && self.may_be_cut_off() && self.tie == Tie::Loaded
    }

    /// Whether a turn of it runs that nobody has cancelled.
    pub(crate) fn may_be_cut_off(&self) -> bool {
        matches!(self.front, Front::Active(_)) && !self.is_cancelled()
    }

    /// A state goes to the client, and to the parent of a subagent in the same words.
    pub(crate) fn tell_state(&mut self, cx: &mut Cx<'_>, snapshot: Snapshot) {
        if let Some(lineage) = &self.lineage {
            let (parent, child) = (lineage.parent.clone(), self.id.clone());
            cx.desk.news.push_back(News::State { parent, child, snapshot: snapshot.clone() });
        }
        self.emit(cx, Update::State(snapshot));
    }
}

/// Whether it is at work or has something running.
pub(crate) fn is_live(snapshot: &Snapshot) -> bool {
    !matches!(snapshot.state, State::Idle(_)) || !snapshot.background.is_empty()
}
