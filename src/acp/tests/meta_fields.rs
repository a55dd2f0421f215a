//! docs/META.md names what is said under `_meta`, and nothing else.

use crate::acp::error::{fault_data, rpc_error};
use crate::acp::meta;
use crate::core::failure::Failure;
use crate::core::fault::{Fault, FaultKind};
use crate::core::ids::{SessionId, ToolCallId};
use crate::core::update::{EndedBy, ExitAccount};
use crate::core::vitals::Vitals;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

const DOCUMENT: &str = include_str!("../../../docs/META.md");

/// The names in the first column of the first table of a section.
fn documented(section: &str) -> BTreeSet<&'static str> {
    let (_, rest) = DOCUMENT.split_once(section).unwrap_or_else(|| panic!("no section {section}"));
    let table =
        rest.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let names: BTreeSet<_> = table.filter_map(|row| row.strip_prefix("| `")?.split('`').next()).collect();
    assert!(!names.is_empty(), "{section} has no table of fields");
    names
}

fn said(meta: &Map<String, Value>) -> BTreeSet<&str> {
    assert_eq!(meta.keys().collect::<Vec<_>>(), [meta::KEY]);
    meta[meta::KEY].as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn the_end_of_a_terminal_is_documented() {
    let account = ExitAccount {
        by: EndedBy::Client,
        reason: Some("r"),
        raw_code: Some(-1),
        duration_ms: Some(1),
        inferred: true,
        escaped: 1,
        killed: 1,
        left: 1,
        looks_like: Some("SIGTERM"),
    };
    assert_eq!(said(&meta::exit(&account).unwrap()), documented("## On the end of a terminal"));
}

#[test]
fn who_ended_it_is_documented() {
    let all = [
        EndedBy::Itself,
        EndedBy::Client,
        EndedBy::Cancel,
        EndedBy::Close,
        EndedBy::Codex,
        EndedBy::AppServerLost,
    ];
    let accounts = all.map(|by| meta::exit(&ExitAccount { by, left: 1, ..ExitAccount::default() }).unwrap());
    let by: BTreeSet<&str> = accounts.iter().map(|it| it[meta::KEY]["by"].as_str().unwrap()).collect();
    assert_eq!(by, documented("\n| `by` | |\n").difference(&BTreeSet::from(["by"])).copied().collect());
}

#[test]
fn vitals_are_documented() {
    let vitals = Vitals { pid: 7, processes: 1, cpu_percent: 0, memory: 1, started: 1 };
    assert_eq!(said(&meta::vitals(&vitals)), documented("## On a terminal that runs in the background"));
}

#[test]
fn the_answer_of_a_prompt_is_documented() {
    assert_eq!(
        said(&meta::background(&[ToolCallId::new("t")])),
        documented("## On the answer of a v1 prompt")
    );
}

#[test]
fn the_data_of_errors_is_documented() {
    let fault = Fault {
        kind: Some(FaultKind::HttpConnectionFailed),
        http_status: Some(500),
        message: "m".to_owned(),
    };
    let names = |data: &Value| -> BTreeSet<String> { data.as_object().unwrap().keys().cloned().collect() };
    let documented = |section| documented(section).into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
    assert_eq!(names(&fault_data(&fault).unwrap()), documented("## In the `data` of an error"));
    let failures = [
        Failure::HeldElsewhere(SessionId::new("s")),
        Failure::HasForks(SessionId::new("s")),
        Failure::Archived(SessionId::new("s")),
        Failure::Damaged { session: SessionId::new("s"), cause: "c".to_owned() },
        Failure::AppServer { message: "m".to_owned(), stderr: Some("e".to_owned()) },
    ];
    let others = failures.iter().flat_map(|it| names(&rpc_error(it).data.unwrap())).collect();
    assert_eq!(documented("\nOther errors:\n"), others);
}
