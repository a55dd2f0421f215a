//! Which thread an event is about.

use crate::core::codex::Event;
use crate::core::ids::ThreadId;

impl Event {
    /// `None` for what concerns the whole app-server.
    pub(crate) fn thread(&self) -> Option<&ThreadId> {
        match self {
            Self::ThreadStatus { thread, .. }
            | Self::ThreadClosed { thread }
            | Self::ThreadRemoved { thread, .. }
            | Self::ThreadRenamed { thread, .. }
            | Self::Settings { thread, .. }
            | Self::TurnStarted { thread, .. }
            | Self::TurnCompleted { thread, .. }
            | Self::ItemStarted { thread, .. }
            | Self::ItemCompleted { thread, .. }
            | Self::AgentDelta { thread, .. }
            | Self::PlanDelta { thread, .. }
            | Self::ThoughtDelta { thread, .. }
            | Self::OutputDelta { thread, .. }
            | Self::LookedAt { thread, .. }
            | Self::TerminalInput { thread, .. }
            | Self::RawOutput { thread, .. }
            | Self::Patch { thread, .. }
            | Self::Progress { thread, .. }
            | Self::Plan { thread, .. }
            | Self::TokenUsage { thread, .. }
            | Self::Goal { thread, .. }
            | Self::QueueChanged { thread }
            | Self::RequestResolved { thread, .. }
            | Self::AsideStarted { thread, .. }
            | Self::AsideEnded { thread, .. }
            | Self::ToolServer { thread, .. }
            | Self::Misfit { thread } => Some(thread),
            Self::Error { thread, .. } | Self::Warning { thread, .. } | Self::Notice { thread, .. } => {
                thread.as_ref()
            }
            Self::SkillsChanged
            | Self::AccountUpdated
            | Self::LoginCompleted { .. }
            | Self::RateLimit(_)
            | Self::Ignored { .. }
            | Self::Unmapped { .. } => None,
        }
    }
}
