//! Rules that hold for every row of every side.

use appserver_acp::map;
use appserver_acp::map::row::{ItemEvent, Kind, Row, Side, Verdict};
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn no_name_has_two_rows() {
    let mut seen = BTreeSet::new();
    let doubled: Vec<_> = map::rows()
        .iter()
        .filter(|row| !seen.insert((row.side, row.kind, row.name, row.event)))
        .map(|row| row.name)
        .collect();
    assert!(doubled.is_empty(), "two rows: {doubled:?}");
}

#[test]
fn no_rule_is_used_twice() {
    let rules = map::rows().iter().map(|row| row.rule);
    let value_rules = map::value_sets().iter().map(|values| values.rule);
    let mut seen = BTreeSet::new();
    let doubled: Vec<_> = rules.chain(value_rules).filter(|rule| !seen.insert(*rule)).collect();
    assert!(doubled.is_empty(), "used twice: {doubled:?}");
}

#[test]
fn rules_are_lower_case_words_with_dots() {
    let is_good = |rule: &str| {
        rule.split('.').all(|word| {
            !word.is_empty()
                && word.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_')
        })
    };
    for rule in map::rows().iter().map(|row| row.rule.as_str()) {
        assert!(is_good(rule), "rule {rule:?}");
    }
}

#[test]
fn ignored_and_refused_rows_say_why_and_mapped_rows_say_what() {
    for row in map::rows() {
        let said = match row.verdict {
            Verdict::Mapped => !row.other.is_empty(),
            Verdict::Ignored => row.other.is_empty() && !row.note.is_empty(),
            Verdict::Refused => row.other.is_empty() && row.note.starts_with("-32"),
        };
        assert!(said, "{:?} {} does not say enough", row.kind, row.name);
    }
}

#[test]
fn only_requests_to_us_are_refused() {
    for row in map::rows().iter().filter(|row| row.verdict == Verdict::Refused) {
        let is_request = matches!(row.kind, Kind::CodexServerRequest | Kind::AcpClientRequest);
        assert!(is_request, "{:?} {} cannot be refused", row.kind, row.name);
    }
}

#[test]
fn no_request_of_codex_is_ignored() {
    for row in map::rows().iter().filter(|row| row.kind == Kind::CodexServerRequest) {
        assert_ne!(row.verdict, Verdict::Ignored, "{} would wait forever", row.name);
    }
}

#[test]
fn every_row_is_found_by_its_lookup() {
    for row in map::rows() {
        let found = match row.kind {
            Kind::CodexRequest => map::codex_request(row.name),
            Kind::CodexNotification => map::codex_notification(row.name),
            Kind::CodexServerRequest => map::codex_server_request(row.name),
            Kind::CodexItem => map::codex_item(row.name, row.event.unwrap_or(ItemEvent::Started)),
            Kind::AcpClientRequest | Kind::AcpClientNotification => map::acp_method(row.side, row.name),
            Kind::AcpAgentRequest | Kind::AcpAgentNotification => map::acp_sent(row.side, row.name),
            Kind::AcpUpdate => map::acp_update(row.side, row.name),
            Kind::CodexClientNotification | Kind::AcpAgentCapability | Kind::AcpClientCapability => {
                map::rule(row.rule)
            }
        };
        assert_eq!(found, Some(row));
    }
}

#[test]
fn unknown_names_have_no_row() {
    assert_eq!(map::codex_notification("no/such"), None);
    assert_eq!(map::codex_item("noSuch", ItemEvent::Started), None);
    assert_eq!(map::acp_method(Side::Codex, "session/new"), None);
    assert_eq!(map::acp_update(Side::V2, "no_such"), None);
    assert_eq!(map::values("no.such"), None);
}

#[test]
fn every_item_kind_has_a_row_for_every_event() {
    for kind in &map::pinned().item_kinds {
        for event in ItemEvent::ALL {
            assert!(map::codex_item(kind, event).is_some(), "{kind} {}", event.as_str());
        }
    }
}

#[test]
fn a_name_in_two_files_of_values_has_one_table() {
    let mut sets = BTreeSet::new();
    for values in map::value_sets() {
        assert!(sets.insert(values.set), "two tables {}", values.set);
        let doubled: Vec<_> = values.map.keys().filter(|name| values.ignored.contains_key(*name)).collect();
        assert!(doubled.is_empty(), "{}: both mapped and ignored: {doubled:?}", values.set);
        assert!(values.ignored.values().all(|why| !why.is_empty()), "{} without why", values.set);
    }
}

#[test]
fn values_go_into_names_that_are_mapped_there() {
    for values in map::value_sets() {
        let Some(into) = values.into else { continue };
        let target = map::values(into).unwrap_or_else(|| panic!("no table {into}"));
        for (name, value) in &values.map {
            assert!(target.map.contains_key(value), "{}: {name} to {value}", values.set);
        }
    }
}

#[test]
fn a_translation_has_the_names_of_the_set_it_translates() {
    let mut n_translations = 0;
    for values in map::value_sets().iter().filter(|values| values.keys != values.set) {
        let source = map::values(values.keys).unwrap_or_else(|| panic!("no table {}", values.keys));
        let names = |it: &map::values::Values| it.names().collect::<BTreeSet<_>>();
        assert_eq!(names(values), names(source), "{}", values.set);
        n_translations += 1;
    }
    assert!(n_translations > 0);
}

#[test]
fn value_tables_are_readable_from_rust() {
    let values = map::values("command.status").unwrap();
    let expected = BTreeMap::from([
        ("completed", "completed"),
        ("declined", "cancelled"),
        ("failed", "failed"),
        ("inProgress", "in_progress"),
    ]);
    assert_eq!(values.map, expected);
}

#[test]
fn unhit_lists_mapped_messages_that_nobody_saw() {
    let all = map::rows().iter().map(|row| row.rule.to_string()).collect();
    assert_eq!(map::unhit(&all), Vec::<&Row>::new());

    let mut all_but_one: BTreeSet<_> = all;
    all_but_one.remove("turn.completed");
    all_but_one.remove("fs.changed");
    all_but_one.remove("v1.cap.load_session");
    let names: Vec<_> = map::unhit(&all_but_one).iter().map(|row| row.name).collect();
    assert_eq!(names, ["turn/completed"]);
}
