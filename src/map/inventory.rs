//! The names that one version of Codex can say, read from its own JSON schema.
//!
//! Owns which definitions count. Knows names only: no fields, no types, no texts.

use crate::map::error::MapError;
use crate::map::schema::names;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::OnceLock;

/// The one schema file that holds every definition.
const BUNDLE: &str = "codex_app_server_protocol.schemas.json";

/// Value sets and the definition each is read from.
const VALUE_SETS: [(&str, &str); 39] = [
    ("approval.policy", "AskForApproval"),
    ("collab.agent", "CollabAgentStatus"),
    ("collab.status", "CollabAgentToolCallStatus"),
    ("collab.tool", "CollabAgentTool"),
    ("command.action", "CommandAction"),
    ("command.approval", "CommandExecutionApprovalKind"),
    ("command.decision", "CommandExecutionApprovalDecision"),
    ("command.source", "CommandExecutionSource"),
    ("command.status", "CommandExecutionStatus"),
    ("dynamic.content", "DynamicToolCallOutputContentItem"),
    ("dynamic.status", "DynamicToolCallStatus"),
    ("elicitation.action", "McpServerElicitationAction"),
    ("elicitation.mode", "McpServerElicitationRequestParams"),
    ("error.info", "CodexErrorInfo"),
    ("file.change", "PatchChangeKind"),
    ("file.decision", "FileChangeApprovalDecision"),
    ("file.status", "PatchApplyStatus"),
    ("goal.status", "ThreadGoalStatus"),
    ("hook.event", "HookEventName"),
    ("hook.status", "HookRunStatus"),
    ("image.failure", "ImageGenerationFailure"),
    ("mcp.status", "McpToolCallStatus"),
    ("message.delivery", "AgentMessageDelivery"),
    ("message.phase", "MessagePhase"),
    ("network.action", "NetworkPolicyRuleAction"),
    ("permission.scope", "PermissionGrantScope"),
    ("plan.status", "TurnPlanStepStatus"),
    ("raw.item", "ResponseItem"),
    ("reroute.reason", "ModelRerouteReason"),
    ("review.action", "GuardianApprovalReviewAction"),
    ("review.status", "GuardianApprovalReviewStatus"),
    ("sandbox.mode", "SandboxMode"),
    ("subagent.activity", "SubAgentActivityKind"),
    ("thread.flag", "ThreadActiveFlag"),
    ("thread.status", "ThreadStatus"),
    ("thread.unsubscribe", "ThreadUnsubscribeStatus"),
    ("turn.status", "TurnStatus"),
    ("user.input", "UserInput"),
    ("web.action", "WebSearchAction"),
];

/// The inventory of the Codex version that this build was made for.
pub(crate) fn pinned() -> &'static Inventory {
    static PINNED: OnceLock<Inventory> = OnceLock::new();
    PINNED.get_or_init(|| {
        let text = include_str!("../../protocol-map/inventory.toml");
        toml::from_str(text).expect("held by the test that parses the inventory")
    })
}

/// Sorted names of one Codex version.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Inventory {
    /// Its version, such as `0.171.0`.
    pub codex: String,
    pub client_requests: BTreeSet<String>,
    pub client_notifications: BTreeSet<String>,
    pub server_notifications: BTreeSet<String>,
    pub server_requests: BTreeSet<String>,
    pub item_kinds: BTreeSet<String>,
    /// Set name, such as `command.status`, to its values.
    pub values: BTreeMap<String, BTreeSet<String>>,
}

impl Inventory {
    /// Read what `codex app-server generate-json-schema --experimental --out DIR` wrote.
    ///
    /// A value set whose definition is gone is empty; a missing list of methods is an error,
    /// because then the directory is no such schema.
    pub fn of_schema(dir: &Path, codex: String) -> Result<Self, MapError> {
        let path = dir.join(BUNDLE);
        let text = std::fs::read(&path).map_err(|source| MapError::File {
            action: "read",
            path: path.clone(),
            source,
        })?;
        let bundle: Value =
            serde_json::from_slice(&text).map_err(|source| MapError::Json { path, source })?;
        let required = |definition: &str| match names_under(&bundle, definition) {
            found if found.is_empty() => Err(MapError::Schema(definition.to_owned())),
            found => Ok(found),
        };
        Ok(Self {
            codex,
            client_requests: required("ClientRequest")?,
            client_notifications: required("ClientNotification")?,
            server_notifications: required("ServerNotification")?,
            server_requests: required("ServerRequest")?,
            item_kinds: required("ThreadItem")?,
            values: VALUE_SETS
                .iter()
                .map(|(set, definition)| ((*set).to_owned(), names_under(&bundle, definition)))
                .collect(),
        })
    }

    /// Every group with its names, value sets last.
    pub fn groups(&self) -> impl Iterator<Item = (Group<'_>, &BTreeSet<String>)> {
        let values = self.values.iter().map(|(set, names)| (Group::Values(set), names));
        [
            (Group::ClientRequests, &self.client_requests),
            (Group::ClientNotifications, &self.client_notifications),
            (Group::ServerNotifications, &self.server_notifications),
            (Group::ServerRequests, &self.server_requests),
            (Group::ItemKinds, &self.item_kinds),
        ]
        .into_iter()
        .chain(values)
    }
}

/// One of the lists of an [`Inventory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group<'a> {
    ClientRequests,
    ClientNotifications,
    ServerNotifications,
    ServerRequests,
    ItemKinds,
    /// A value set by its name.
    Values(&'a str),
}

impl Group<'_> {
    /// The key in the inventory file.
    #[must_use]
    pub const fn as_str(&self) -> &str {
        match self {
            Self::ClientRequests => "client_requests",
            Self::ClientNotifications => "client_notifications",
            Self::ServerNotifications => "server_notifications",
            Self::ServerRequests => "server_requests",
            Self::ItemKinds => "item_kinds",
            Self::Values(set) => set,
        }
    }
}

/// Prints the text of `protocol-map/inventory.toml`.
impl fmt::Display for Inventory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "codex = {:?}", self.codex)?;
        let (values, messages): (Vec<_>, Vec<_>) =
            self.groups().partition(|(group, _)| matches!(group, Group::Values(_)));
        for (group, names) in messages {
            writeln!(f, "\n{} = [", group.as_str())?;
            write_names(f, names)?;
        }
        writeln!(f, "\n[values]")?;
        for (group, names) in values {
            writeln!(f, "{:?} = [", group.as_str())?;
            write_names(f, names)?;
        }
        Ok(())
    }
}

fn write_names(f: &mut fmt::Formatter<'_>, names: &BTreeSet<String>) -> fmt::Result {
    for name in names {
        writeln!(f, "    {name:?},")?;
    }
    writeln!(f, "]")
}

fn names_under(bundle: &Value, definition: &str) -> BTreeSet<String> {
    let definitions = bundle.get("definitions");
    let found = definitions.and_then(|all| all.get(definition).or_else(|| all.get("v2")?.get(definition)));
    found.map(names).unwrap_or_default()
}
