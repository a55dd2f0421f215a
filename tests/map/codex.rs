//! The Codex side against the inventory, and the inventory against the binary.

use appserver_acp::map;
use appserver_acp::map::drift::{Change, differences};
use appserver_acp::map::error::MapError;
use appserver_acp::map::inventory::Inventory;
use appserver_acp::map::row::{Kind, Side};
use std::collections::BTreeSet;

#[test]
fn every_message_of_the_inventory_has_a_row_and_every_row_a_message() {
    let pinned = map::pinned();
    for (kind, declared) in [
        (Kind::CodexRequest, &pinned.client_requests),
        (Kind::CodexClientNotification, &pinned.client_notifications),
        (Kind::CodexNotification, &pinned.server_notifications),
        (Kind::CodexServerRequest, &pinned.server_requests),
        (Kind::CodexItem, &pinned.item_kinds),
    ] {
        assert_eq!(rows_of(kind, false), borrowed(declared), "{kind:?}");
    }
}

#[test]
fn undeclared_rows_are_not_in_the_inventory() {
    let undeclared = rows_of(Kind::CodexNotification, true);
    assert_eq!(undeclared, BTreeSet::from(["rawResponse/completed", "rawResponseItem/completed"]));
    assert!(undeclared.is_disjoint(&borrowed(&map::pinned().server_notifications)));
}

#[test]
fn every_value_set_of_the_inventory_has_a_table_and_every_table_a_set() {
    let pinned = map::pinned();
    let tables: BTreeSet<_> = map::value_sets()
        .iter()
        .filter(|values| values.side == Side::Codex && values.keys == values.set)
        .map(|values| values.set)
        .collect();
    assert_eq!(tables, pinned.values.keys().map(String::as_str).collect());
    for (set, names) in &pinned.values {
        let table = map::values(set).unwrap();
        assert_eq!(table.names().collect::<BTreeSet<_>>(), borrowed(names), "{set}");
        assert!(!names.is_empty(), "{set} is empty: its definition has another name");
    }
}

#[test]
fn printing_an_inventory_gives_its_file() {
    let file = include_str!("../../protocol-map/inventory.toml");
    assert_eq!(map::pinned().to_string(), file);
}

#[test]
fn the_same_inventory_does_not_differ() {
    assert_eq!(differences(map::pinned(), map::pinned()), []);
}

#[test]
fn differences_say_what_they_mean() {
    let mut other = map::pinned().clone();
    other.server_notifications.remove("turn/completed");
    other.server_notifications.remove("fs/changed");
    other.server_notifications.insert("turn/finished".to_owned());
    other.client_requests.remove("turn/start");
    other.server_requests.insert("item/new/ask".to_owned());
    other.item_kinds.insert("thought".to_owned());
    other.values.remove("thread.flag");
    other.values.remove("image.failure");
    let lines: Vec<_> = differences(map::pinned(), &other)
        .into_iter()
        .map(|it| {
            let sign = match it.change {
                Change::New => '+',
                Change::Gone => '-',
            };
            format!("{sign} {} {}: {}", it.group, it.name, it.meaning)
        })
        .collect();
    assert_eq!(
        lines,
        [
            "- client_requests turn/start: BREAKS: the adapter sends it (session/prompt)",
            "+ server_notifications turn/finished: dropped and logged as unmapped, the client sees nothing of it",
            "- server_notifications fs/changed: nothing to do: it had no effect",
            "- server_notifications turn/completed: missing: State is no longer made from it",
            "+ server_requests item/new/ask: answered with error -32601, so that Codex goes on without it",
            "+ item_kinds thought: no row: logged as unmapped",
            "- image.failure usageLimitExceeded: missing: failed is no longer made from it",
            "- thread.flag waitingOnApproval: nothing to do: it had no effect",
            "- thread.flag waitingOnUserInput: nothing to do: it had no effect",
        ]
    );
}

#[test]
fn a_schema_is_read_in_every_spelling_of_a_name() {
    let dir = tempfile::tempdir().unwrap();
    let message = |name: &str| serde_json::json!({"oneOf": [{"properties": {"method": {"enum": [name]}}}]});
    let bundle = serde_json::json!({"definitions": {
        "ClientRequest": message("initialize"),
        "ClientNotification": message("initialized"),
        "ServerNotification": message("error"),
        "ServerRequest": message("ask"),
        "v2": {
            "ThreadItem": {"oneOf": [{"properties": {"id": {"type": "string"}, "type": {"enum": ["plan"]}}}]},
            "TurnStatus": {"enum": ["completed", "failed"]},
            "CodexErrorInfo": {"anyOf": [
                {"enum": ["other"]},
                {"properties": {"httpConnectionFailed": {}}, "additionalProperties": false},
                {"type": ["string", "object"]},
            ]},
        },
    }});
    std::fs::write(dir.path().join("codex_app_server_protocol.schemas.json"), bundle.to_string()).unwrap();
    let inventory = Inventory::of_schema(dir.path(), "1.2.3".to_owned()).unwrap();
    assert_eq!(borrowed(&inventory.client_requests), BTreeSet::from(["initialize"]));
    assert_eq!(borrowed(&inventory.server_requests), BTreeSet::from(["ask"]));
    assert_eq!(borrowed(&inventory.item_kinds), BTreeSet::from(["plan"]));
    assert_eq!(borrowed(&inventory.values["turn.status"]), BTreeSet::from(["completed", "failed"]));
    assert_eq!(borrowed(&inventory.values["error.info"]), BTreeSet::from(["httpConnectionFailed", "other"]));
    assert!(inventory.values["user.input"].is_empty());
}

#[test]
fn a_directory_without_a_schema_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let missing = Inventory::of_schema(dir.path(), String::new());
    assert!(matches!(missing, Err(MapError::File { action: "read", .. })));

    std::fs::write(dir.path().join("codex_app_server_protocol.schemas.json"), "{}").unwrap();
    let empty = Inventory::of_schema(dir.path(), String::new()).unwrap_err();
    assert_eq!(empty.to_string(), "find names under ClientRequest in the schema");
}

fn rows_of(kind: Kind, undeclared: bool) -> BTreeSet<&'static str> {
    map::rows()
        .iter()
        .filter(|row| row.side == Side::Codex && row.kind == kind && row.undeclared == undeclared)
        .map(|row| row.name)
        .collect()
}

fn borrowed(names: &BTreeSet<String>) -> BTreeSet<&str> {
    names.iter().map(String::as_str).collect()
}
