//! How an installed Codex differs from the one the map was made for, and what that means.

use crate::map::inventory::{Group, Inventory};
use crate::map::row::{Kind, Row, Side, Verdict};
use crate::map::table::{self, Table};
use serde::Serialize;
use std::collections::BTreeSet;

/// Whether a name came or went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    New,
    Gone,
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The list it is in, as in the inventory file.
    pub group: String,
    pub change: Change,
    pub name: String,
    /// One sentence for the user.
    pub meaning: String,
}

/// Differences between two inventories, in the order of their groups; the versions are not
/// compared.
#[must_use]
pub fn differences(pinned: &Inventory, installed: &Inventory) -> Vec<Difference> {
    let table = table::embedded();
    let empty = BTreeSet::new();
    let mut found = Vec::new();
    for (group, ours) in pinned.groups() {
        let theirs = installed.groups().find(|(it, _)| *it == group).map_or(&empty, |it| it.1);
        let new = theirs.difference(ours).map(|name| (Change::New, name));
        let gone = ours.difference(theirs).map(|name| (Change::Gone, name));
        found.extend(new.chain(gone).map(|(change, name)| Difference {
            group: group.as_str().to_owned(),
            change,
            name: name.clone(),
            meaning: match change {
                Change::New => meaning_of_new(group).to_owned(),
                Change::Gone => meaning_of_gone(group, name, table),
            },
        }));
    }
    found
}

fn meaning_of_new(group: Group<'_>) -> &'static str {
    match group {
        Group::ClientRequests | Group::ClientNotifications => "nothing to do: the adapter does not send it",
        Group::ServerNotifications => "dropped and logged as unmapped, the client sees nothing of it",
        Group::ServerRequests => "answered with error -32601, so that Codex goes on without it",
        Group::ItemKinds => "no row: logged as unmapped",
        Group::Values(_) => "no row: treated as an unknown value",
    }
}

fn meaning_of_gone(group: Group<'_>, name: &str, table: &Table) -> String {
    let kind = match group {
        Group::ClientRequests => Kind::CodexRequest,
        Group::ClientNotifications => Kind::CodexClientNotification,
        Group::ServerNotifications => Kind::CodexNotification,
        Group::ServerRequests => Kind::CodexServerRequest,
        Group::ItemKinds => Kind::CodexItem,
        Group::Values(set) => return meaning_of_gone_value(set, name, table),
    };
    let is_it = |row: &&Row| row.side == Side::Codex && row.kind == kind && row.name == name;
    let Some(row) = table.rows().iter().find(is_it) else {
        return "nothing to do: it has no row".to_owned();
    };
    match (row.verdict, kind.is_sent()) {
        (Verdict::Ignored | Verdict::Refused, _) => "nothing to do: it had no effect".to_owned(),
        (Verdict::Mapped, true) => format!("BREAKS: the adapter sends it ({})", row.other),
        (Verdict::Mapped, false) => format!("missing: {} is no longer made from it", row.other),
    }
}

fn meaning_of_gone_value(set: &str, name: &str, table: &Table) -> String {
    let mapped = table.values().iter().find(|it| it.set == set).and_then(|it| it.map.get(name));
    match mapped {
        Some(value) => format!("missing: {value} is no longer made from it"),
        None => "nothing to do: it had no effect".to_owned(),
    }
}
