//! The names of Codex 0.171.0's wire and what we do with them.
//!
//! Names only: decoding is elsewhere, and a test holds the two together.

/// Notifications that become an event of their own.
pub const MAPPED: &[&str] = &[
    "account/login/completed",
    "account/rateLimits/updated",
    "account/updated",
    "configWarning",
    "error",
    "guardianWarning",
    "hook/completed",
    "hook/started",
    "item/agentMessage/delta",
    "item/autoApprovalReview/completed",
    "item/autoApprovalReview/started",
    "item/commandExecution/outputDelta",
    "item/commandExecution/terminalInteraction",
    "item/completed",
    "item/fileChange/patchUpdated",
    "item/mcpToolCall/progress",
    "item/plan/delta",
    "item/reasoning/summaryTextDelta",
    "item/reasoning/textDelta",
    "item/started",
    "mcpServer/startupStatus/updated",
    "model/rerouted",
    "rawResponseItem/completed",
    "serverRequest/resolved",
    "skills/changed",
    "thread/archived",
    "thread/closed",
    "thread/deleted",
    "thread/name/updated",
    "thread/settings/updated",
    "thread/status/changed",
    "thread/tokenUsage/updated",
    "turn/completed",
    "turn/plan/updated",
    "turn/started",
    "warning",
];

/// Notifications that are known and deliberately without effect. Sorted.
pub const IGNORED: &[&str] = &[
    "account/gatewayOAuth/changed",
    "app/list/updated",
    "autoApprovalReview/strictReviewRequired",
    "command/exec/outputDelta",
    "deprecationNotice",
    "externalAgentConfig/import/completed",
    "externalAgentConfig/import/progress",
    "fs/changed",
    "fuzzyFileSearch/sessionCompleted",
    "fuzzyFileSearch/sessionUpdated",
    "item/fileChange/outputDelta",
    "item/reasoning/summaryPartAdded",
    "mcpServer/event/stream/notification",
    "mcpServer/oauthLogin/completed",
    "model/safetyBuffering/updated",
    "model/verification",
    "modelProvider/authRecoveryCompleted",
    "modelProvider/authRecoveryStarted",
    "process/exited",
    "process/outputDelta",
    "project/changed",
    "rawResponse/completed",
    "remoteControl/status/changed",
    "thread/attachment/updated",
    "thread/compacted",
    "thread/environment/connected",
    "thread/environment/disconnected",
    "thread/prediction/updated",
    "thread/project/updated",
    "thread/readState/changed",
    "thread/realtime/closed",
    "thread/realtime/error",
    "thread/realtime/item/completed",
    "thread/realtime/item/started",
    "thread/realtime/item/transcript/delta",
    "thread/realtime/itemAdded",
    "thread/realtime/outputAudio/delta",
    "thread/realtime/sdp",
    "thread/realtime/started",
    "thread/realtime/transcript/delta",
    "thread/realtime/transcript/done",
    "thread/reverted",
    "thread/search/partial",
    "thread/section/changed",
    "thread/started",
    "thread/unarchived",
    "turn/diff/updated",
    "turn/moderationMetadata",
    "windows/worldWritableWarning",
    "windowsSandbox/setupCompleted",
];

/// Requests that are shown to the user; every other one is answered with an error.
pub const ASKED: &[&str] = &[
    "item/commandExecution/requestApproval",
    "item/fileChange/requestApproval",
    "item/permissions/requestApproval",
    "item/tool/requestUserInput",
    "mcpServer/elicitation/request",
];

/// Ignored notifications that Codex is told not to send: frequent, large, or both.
pub(crate) const OPTED_OUT: &[&str] =
    &["rawResponse/completed", "thread/readState/changed", "turn/diff/updated"];

/// Whether `method` is known and deliberately without effect.
pub(crate) fn is_ignored(method: &str) -> bool {
    IGNORED.binary_search(&method).is_ok()
}
