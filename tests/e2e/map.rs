//! The shipped inventory against the pinned Codex itself.

use appserver_acp::map;
use appserver_acp::map::inventory::Inventory;

#[test]
fn the_shipped_inventory_is_what_the_pinned_codex_says() {
    let codex = testkit::codex::install().expect("the pinned Codex is installed");
    let installed = Inventory::of_codex(codex.binary()).expect("codex prints its schema");
    assert_eq!(installed.to_string(), map::pinned().to_string());
}
