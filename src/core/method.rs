//! The names that our requests to Codex have on the wire.

use super::codex::CodexRequest;

impl CodexRequest {
    /// The wire's method name.
    pub fn method(&self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::ThreadStart { .. } => "thread/start",
            Self::ThreadResume { .. } | Self::ThreadRejoin { .. } => "thread/resume",
            Self::ThreadFork { .. } => "thread/fork",
            Self::ThreadPut { shelf, .. } => shelf.method(),
            Self::ThreadList { .. } | Self::ThreadDescendants { .. } | Self::ThreadFind { .. } => {
                "thread/list"
            }
            Self::TurnsList { .. } => "thread/turns/list",
            Self::ThreadRead { .. } => "thread/read",
            Self::ItemsList { .. } | Self::NewestItems { .. } => "thread/items/list",
            Self::Unsubscribe { .. } => "thread/unsubscribe",
            Self::TurnStart { .. } => "turn/start",
            Self::SettingsUpdate { .. } => "thread/settings/update",
            Self::TurnSteer { .. } => "turn/steer",
            Self::Inform { .. } => "thread/inject_items",
            Self::TurnInterrupt { .. } => "turn/interrupt",
            Self::TerminalsList { .. } => "thread/backgroundTerminals/list",
            Self::Terminate { .. } => "thread/backgroundTerminals/terminate",
            Self::Clean { .. } => "thread/backgroundTerminals/clean",
            Self::ModelList { .. } => "model/list",
            Self::AccountRead => "account/read",
            Self::LoginStart(_) => "account/login/start",
            Self::LoginCancel { .. } => "account/login/cancel",
            Self::Logout => "account/logout",
            Self::ProfileList { .. } => "permissionProfile/list",
            Self::LoadedList => "thread/loaded/list",
            Self::ConfigRead => "config/read",
            Self::LookAt { .. } => "fs/getMetadata",
            Self::GoalGet { .. } => "thread/goal/get",
            Self::GoalPause { .. } => "thread/goal/set",
            Self::GoalClear { .. } => "thread/goal/clear",
            Self::QueueList { .. } => "thread/queue/list",
            Self::QueueDelete { .. } => "thread/queue/delete",
            Self::Inquiry(inquiry) => inquiry.method(),
        }
    }
}
