//! Codex's notifications, handed to the session of their thread.

use super::Core;
use super::codex::{Event, ThreadStatus};
use super::effect::{Anomaly, Effects};
use super::ids::Tick;
use super::update::{Patch, Severity, Update};

/// Notices kept for the first session.
const EARLY_NOTICES: usize = 8;

impl Core {
    pub(super) fn event(&mut self, now: Tick, event: Event, out: &mut Effects) {
        let Some(event) = self.keep_early(event) else { return };
        let Some(event) = self.hold_back(now, event, out) else { return };
        match event {
            Event::ThreadStatus { thread, status } => match status {
                ThreadStatus::NotLoaded => self.on(now, &thread, out, "status", |session, cx| {
                    session.thread_is_gone(cx, "codex unloaded the thread");
                }),
                ThreadStatus::Idle => {
                    self.on(now, &thread, out, "status", |session, cx| session.thread_is_idle(cx))
                }
                ThreadStatus::Active => {
                    self.on(now, &thread, out, "status", |session, _| session.idle_since = None);
                }
                ThreadStatus::SystemError => {}
            },
            Event::ThreadClosed { thread } => {
                self.asker_rests(now, &thread, out);
                self.on(now, &thread, out, "end", |session, cx| {
                    session.thread_is_gone(cx, "codex closed the thread")
                });
            }
            // One that is closed here, by its removal or before, has nothing left to be told.
            Event::ThreadRemoved { thread, .. }
                if !self.sessions.contains_key(&self.renewals.session(&thread)) => {}
            Event::ThreadRemoved { thread, to } => {
                self.on(now, &thread, out, "removal", |session, cx| session.thread_is_removed(cx, to));
            }
            Event::ThreadRenamed { thread, name } => self.on(now, &thread, out, "name", |session, cx| {
                session.emit(cx, Update::SessionInfo { title: Patch::from_option(name), updated_at: None });
            }),
            Event::Settings { thread, holds } => {
                self.on(now, &thread, out, "settings", |session, cx| {
                    if session.chosen.learn(&holds) && session.lineage.is_none() {
                        let options = session.chosen.list(cx.models);
                        session.emit(cx, Update::Options(options));
                    }
                });
            }
            Event::TurnStarted { thread, turn, root } => {
                self.on(now, &thread, out, "turn", |session, cx| {
                    session.expected_turn_came();
                    session.turn_started(cx, turn, root);
                });
            }
            Event::TurnCompleted { thread, turn, end } => {
                self.asker_rests(now, &thread, out);
                self.on(now, &thread, out, "end of a turn", |session, cx| {
                    session.turn_completed(cx, &turn, end)
                });
            }
            Event::ItemStarted { thread, turn, item } => {
                self.announce_named(now, &thread, &item.kind, out);
                self.on(now, &thread, out, "item", |session, cx| session.item_started(cx, &turn, item));
            }
            Event::ItemCompleted { thread, turn, item } => {
                self.announce_named(now, &thread, &item.kind, out);
                self.on(now, &thread, out, "end of an item", |session, cx| {
                    session.item_completed(cx, &turn, item)
                });
            }
            Event::AgentDelta { thread, item, text } | Event::PlanDelta { thread, item, text } => {
                self.on(now, &thread, out, "text", |session, cx| session.agent_delta(cx, &item, &text));
            }
            Event::ThoughtDelta { thread, item, part, text } => {
                self.on(now, &thread, out, "text", |session, cx| {
                    session.thought_delta(cx, &item, part, &text)
                });
            }
            Event::OutputDelta { thread, item, text } => {
                self.on(now, &thread, out, "output", |session, cx| session.output(cx, &item, &text));
            }
            Event::LookedAt { thread, process } => {
                self.on(now, &thread, out, "look", |session, _| session.looked_at(&process));
            }
            Event::TerminalInput { thread, item, text } => {
                self.on(now, &thread, out, "input", |session, cx| session.typed(cx, &item, &text));
            }
            Event::RawOutput { thread, turn: _, item, text } => {
                self.on(now, &thread, out, "raw output", |session, cx| session.raw_output(cx, &item, &text));
            }
            Event::Patch { thread, item, changes, n_more } => {
                self.on(now, &thread, out, "patch", |session, cx| session.patch(cx, &item, &changes, n_more));
            }
            Event::Progress { thread, item, message } => {
                self.on(now, &thread, out, "progress", |session, cx| session.progress(cx, &item, message));
            }
            Event::Plan { thread, reason, entries } => {
                self.on(now, &thread, out, "plan", |session, cx| session.plan(cx, reason, entries));
            }
            Event::TokenUsage { thread, turn, used, window } => {
                self.on(now, &thread, out, "usage", |session, cx| {
                    if let Some(size) = window {
                        session.usage = Some((used, size));
                        session.emit(cx, Update::Usage { used, size });
                    }
                    session.step_is_over(cx, &turn);
                });
            }
            Event::Goal { thread, turn, goal } => self.on(now, &thread, out, "goal", |session, cx| {
                if let Some(turn) = turn {
                    session.learn_turn(cx, &turn);
                }
                session.goal_told(cx, goal);
            }),
            Event::QueueChanged { thread } => {
                self.on(now, &thread, out, "queue", |session, cx| session.read_queue(cx));
            }
            Event::RequestResolved { thread, request } => {
                if let Some(session) = self.asker(&thread) {
                    return self.with(now, &session, out, |session, cx| session.resolved(cx, &request));
                }
                self.on(now, &thread, out, "answer", |session, cx| session.resolved(cx, &request));
            }
            Event::Error { thread: Some(thread), fault, will_retry } => {
                self.on(now, &thread, out, "error", |session, cx| session.turn_error(cx, fault, will_retry));
            }
            Event::Error { thread: None, fault, .. } => {
                self.tell_all(
                    now,
                    Severity::Error,
                    "Codex reports an error".to_owned(),
                    Some(fault.to_string()),
                    out,
                );
            }
            Event::Warning { thread: Some(thread), title, description } => {
                self.on(now, &thread, out, "warning", |session, cx| session.warned(cx, title, description));
            }
            Event::Warning { thread: None, title, description } => {
                self.warn_all(now, title, description, out)
            }
            Event::Notice { thread: Some(thread), severity, title, description } => {
                self.on(now, &thread, out, "notice", |session, cx| {
                    session.notice(cx, severity, title, description)
                });
            }
            Event::Notice { thread: None, severity, title, description } => {
                self.tell_all(now, severity, title, description, out);
            }
            Event::AccountUpdated => self.account_updated(now, out),
            Event::LoginCompleted { login, end } => self.login_completed(now, login.as_ref(), &end, out),
            Event::AsideStarted { thread, turn, item, tool } => {
                self.on(now, &thread, out, "aside", |session, cx| {
                    session.aside_started(cx, &turn, &item, &tool);
                });
            }
            Event::AsideEnded { thread, turn, item, tool } => {
                self.on(now, &thread, out, "end of an aside", |session, cx| {
                    session.aside_ended(cx, turn.as_ref(), &item, tool);
                });
            }
            Event::RateLimit(limit) => self.rate_limit(now, &limit, out),
            Event::ToolServer { thread, server, failure } => {
                self.on(now, &thread, out, "tool server", |session, cx| {
                    session.tool_server(cx, server, failure)
                });
            }
            Event::Misfit { thread } => {
                self.on(now, &thread, out, "misfit", |session, cx| session.poll_terminals(cx));
            }
            Event::SkillsChanged => {
                let (sessions, mut cx) = self.split(now, out);
                for session in sessions.values_mut().filter(|it| it.lineage.is_none()) {
                    session.read_skills(&mut cx);
                }
            }
            Event::Ignored { .. } => {}
            Event::Unmapped { method } => out.anomaly(Anomaly::Unmapped { method }),
        }
    }

    fn warn_all(&mut self, now: Tick, title: String, description: Option<String>, out: &mut Effects) {
        if self.sessions.is_empty() {
            return self.tell_all(now, Severity::Warning, title, description, out);
        }
        let (sessions, mut cx) = self.split(now, out);
        for session in sessions.values_mut().filter(|it| it.lineage.is_none()) {
            session.warned(&mut cx, title.clone(), description.clone());
        }
    }

    pub(super) fn tell_all(
        &mut self,
        now: Tick,
        severity: Severity,
        title: String,
        description: Option<String>,
        out: &mut Effects,
    ) {
        if self.sessions.is_empty() {
            if self.early_notices.len() < EARLY_NOTICES {
                self.early_notices.push((severity, title, description));
            }
            return;
        }
        let (sessions, mut cx) = self.split(now, out);
        for session in sessions.values_mut().filter(|it| it.lineage.is_none()) {
            session.notice(&mut cx, severity, title.clone(), description.clone());
        }
    }
}
