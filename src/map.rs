//! The protocol-map: what becomes of every name that either wire can say.
//!
//! Owns the embedded rows and the lookups into them. Does not know messages, only names.

pub mod drift;
pub mod error;
mod installed;
pub mod inventory;
pub mod row;
pub mod schema;
pub mod table;
pub mod values;

use self::inventory::Inventory;
use self::row::{ItemEvent, Kind, Row, RuleId, Side};
use self::table::Table;
use self::values::Values;
use std::collections::BTreeSet;

/// The row of a notification that Codex sends.
#[must_use]
pub fn codex_notification(method: &str) -> Option<&'static Row> {
    table().get(Side::Codex, Kind::CodexNotification, method)
}

/// The row of a request that Codex sends to us.
#[must_use]
pub fn codex_server_request(method: &str) -> Option<&'static Row> {
    table().get(Side::Codex, Kind::CodexServerRequest, method)
}

/// The row of a request that Codex accepts from us.
#[must_use]
pub fn codex_request(method: &str) -> Option<&'static Row> {
    table().get(Side::Codex, Kind::CodexRequest, method)
}

/// The row of a thread item: the one for this event, else the one for all events of the kind.
#[must_use]
pub fn codex_item(kind: &str, event: ItemEvent) -> Option<&'static Row> {
    table().item(kind, event)
}

/// The row of a method that an ACP client sends to us; `None` for [`Side::Codex`].
#[must_use]
pub fn acp_method(version: Side, method: &str) -> Option<&'static Row> {
    let table = table();
    table
        .get(version, Kind::AcpClientRequest, method)
        .or_else(|| table.get(version, Kind::AcpClientNotification, method))
}

/// The row of a method that we send to an ACP client.
#[must_use]
pub fn acp_sent(version: Side, method: &str) -> Option<&'static Row> {
    let table = table();
    table
        .get(version, Kind::AcpAgentRequest, method)
        .or_else(|| table.get(version, Kind::AcpAgentNotification, method))
}

/// The row of a `sessionUpdate` kind of `session/update`.
#[must_use]
pub fn acp_update(version: Side, kind: &str) -> Option<&'static Row> {
    table().get(version, Kind::AcpUpdate, kind)
}

/// The row that carries this rule.
#[must_use]
pub fn rule(id: RuleId) -> Option<&'static Row> {
    rows().iter().find(|row| row.rule == id)
}

/// The value table of a set, such as `command.status`.
#[must_use]
pub fn values(set: &str) -> Option<&'static Values> {
    value_sets().iter().find(|values| values.set == set)
}

/// All rows, in the order of the files.
#[must_use]
pub fn rows() -> &'static [Row] {
    table().rows()
}

/// All value tables, in the order of the files.
#[must_use]
pub fn value_sets() -> &'static [Values] {
    table().values()
}

/// Mapped rows of messages whose rule is not in `hit`: what no transcript has shown to work.
///
/// Capabilities are left out, they are answers of `initialize` and no messages.
#[must_use]
pub fn unhit(hit: &BTreeSet<String>) -> Vec<&'static Row> {
    rows().iter().filter(|row| row.is_mapped_message() && !hit.contains(row.rule.as_str())).collect()
}

/// The names of the Codex version that this build was made for.
#[must_use]
pub fn pinned() -> &'static Inventory {
    inventory::pinned()
}

fn table() -> &'static Table {
    table::embedded()
}
