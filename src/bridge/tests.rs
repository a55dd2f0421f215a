use super::arrival::Arrival;
use super::departure::{Departure, Note};
use super::{Bridge, GARBAGE_MAX};
use crate::core::effect::Anomaly;
use crate::core::ids::{Generation, Tick};
use crate::core::settings::Settings;
use crate::envelope::remains::Remains;
use serde_json::Value;

const ONE: Generation = Generation(1);
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}"#;

struct Rig(Bridge);

impl Rig {
    fn new() -> Self {
        Self(Bridge::new(Settings::plain("n")))
    }

    /// A bridge whose client has initialized and whose first app-server runs.
    fn started() -> Self {
        let mut rig = Self::new();
        let started = rig.client(INITIALIZE);
        assert!(started.contains(&"start 1".to_owned()), "{started:?}");
        rig
    }

    fn step(&mut self, arrival: Arrival<'_>) -> Vec<String> {
        let mut out = Vec::new();
        self.0.step(Tick(0), arrival, &mut out);
        out.iter().map(show).collect()
    }

    fn client(&mut self, line: &str) -> Vec<String> {
        self.step(Arrival::ClientLine(line.as_bytes()))
    }

    fn codex(&mut self, generation: Generation, line: &str) -> Vec<String> {
        self.step(Arrival::CodexLine { generation, line: line.as_bytes() })
    }
}

fn show(departure: &Departure) -> String {
    match departure {
        Departure::ToClient(line) => format!("client {}", words(line)),
        Departure::ToCodex { generation, line } => format!("codex {} {}", generation.0, words(line)),
        Departure::StartCodex(generation) => format!("start {}", generation.0),
        Departure::EndCodex(generation) => format!("end {}", generation.0),
        Departure::Sweep { .. } => "sweep".to_owned(),
        Departure::Stop { stop, .. } => format!("stop {}", stop.0),
        Departure::Survey { .. } => "survey".to_owned(),
        Departure::Watch { watch, .. } => format!("watch {}", watch.0),
        Departure::OpenPage(url) => format!("open {url}"),
        Departure::Exit { code } => format!("exit {code}"),
        Departure::Noted(Note::Anomaly(Anomaly::StaleGeneration { generation })) => {
            format!("stale {}", generation.0)
        }
        Departure::Noted(Note::Anomaly(Anomaly::Undecodable { .. })) => "undecodable".to_owned(),
        Departure::Noted(note) => format!("{note:?}"),
    }
}

fn words(line: &str) -> String {
    assert!(!line.contains('\n'), "{line}");
    let message: Value = serde_json::from_str(line).unwrap();
    match (message["method"].as_str(), message["error"]["code"].as_i64()) {
        (Some(method), _) => method.to_owned(),
        (None, Some(code)) => format!("error {code}"),
        (None, None) => format!("answer {}", message["id"]),
    }
}

#[test]
fn initialize_is_answered_before_codex_is_started() {
    assert_eq!(Rig::new().client(INITIALIZE), ["client answer 1", "start 1", "codex 1 initialize"]);
}

#[test]
fn what_is_no_message_is_answered_at_once() {
    let mut rig = Rig::new();
    assert_eq!(rig.client("nope"), ["client error -32700"]);
    assert_eq!(rig.client("[]"), ["client error -32600"]);
    assert_eq!(rig.step(Arrival::ClientOversized(&Remains::default())), ["client error -32600"]);
    assert_eq!(rig.client(INITIALIZE).first().unwrap(), "client answer 1");
}

#[test]
fn lines_of_another_app_server_are_dropped_and_noted() {
    let mut rig = Rig::started();
    assert_eq!(rig.codex(Generation(7), r#"{"method":"x"}"#), ["stale 7"]);
    assert_eq!(rig.step(Arrival::CodexOversized { generation: Generation(7) }), ["stale 7"]);
    assert_eq!(rig.step(Arrival::CodexDied { generation: Generation(7), how: "x", stderr: None }), [""; 0]);
}

#[test]
fn the_initialized_notification_goes_out_before_what_the_core_says() {
    let mut rig = Rig::new();
    let mut out = Vec::new();
    rig.0.step(Tick(0), Arrival::ClientLine(INITIALIZE.as_bytes()), &mut out);
    let Some(Departure::ToCodex { line, .. }) = out.last() else { panic!("codex is called: {out:?}") };
    let call: Value = serde_json::from_str(line).unwrap();
    let said = rig.codex(ONE, &format!(r#"{{"id":{},"result":{{"userAgent":"codex/1"}}}}"#, call["id"]));
    assert_eq!(said.first().map(String::as_str), Some("codex 1 initialized"), "{said:?}");
}

#[test]
fn a_few_lines_of_garbage_are_only_noted() {
    let mut rig = Rig::started();
    for _ in 0..3 {
        for _ in 1..GARBAGE_MAX {
            assert_eq!(rig.codex(ONE, "warning: something"), ["undecodable"]);
        }
        // One message in between and the count starts again.
        rig.codex(ONE, r#"{"method":"thread/started","params":{}}"#);
    }
}

#[test]
fn output_that_stops_being_json_is_a_death_that_is_told_once() {
    let mut rig = Rig::started();
    for _ in 1..GARBAGE_MAX {
        rig.codex(ONE, "panicked");
    }
    let said = rig.codex(ONE, "panicked");
    assert_eq!(said[..2], ["undecodable", "end 1"], "{said:?}");
    assert_eq!(rig.codex(ONE, r#"{"method":"x"}"#), ["stale 1"]);
    assert_eq!(rig.step(Arrival::CodexDied { generation: ONE, how: "exit code 0", stderr: None }), [""; 0]);
}

#[test]
fn an_oversized_line_of_codex_costs_only_the_answer_it_was() {
    let mut rig = Rig::started();
    let mut out = Vec::new();
    rig.0.step(Tick(0), Arrival::CodexLine { generation: ONE, line: br#"{"id":0,"result":{}}"# }, &mut out);
    for _ in 0..2 {
        // At first the list of models is asked for, then nothing that is large.
        let said = rig.step(Arrival::CodexOversized { generation: ONE });
        assert_eq!(said[0], "undecodable", "{said:?}");
        assert!(!said.contains(&"end 1".to_owned()), "{said:?}");
    }
    assert_ne!(rig.codex(ONE, r#"{"method":"x"}"#), ["stale 1"]);
}

#[test]
fn a_request_of_ours_to_a_dead_app_server_goes_nowhere() {
    let mut rig = Rig::started();
    rig.step(Arrival::CodexDied { generation: ONE, how: "signal 9", stderr: Some("oops") });
    let said = rig.client(r#"{"id":2,"method":"session/list","params":{}}"#);
    assert!(said.iter().all(|line| !line.starts_with("codex 1")), "{said:?}");
}

#[test]
fn codex_may_be_left_unread_only_while_it_owes_nothing_and_nothing_ends() {
    let mut rig = Rig::new();
    assert!(!rig.0.needs_codex());
    rig.client(INITIALIZE);
    assert!(rig.0.needs_codex(), "it owes the answer to initialize");
    rig.codex(ONE, r#"{"id":1,"result":{"userAgent":"codex/1"}}"#);
    assert!(rig.0.needs_codex(), "it owes the models");
    rig.codex(ONE, r#"{"id":2,"result":{"data":[],"nextCursor":null}}"#);
    assert!(rig.0.needs_codex(), "it owes the account");
    rig.codex(ONE, r#"{"id":3,"result":{"account":null,"requiresOpenaiAuth":false}}"#);
    assert!(!rig.0.needs_codex(), "a deadline alone is no need: {:?}", rig.0.next_deadline());
    assert!(rig.0.next_deadline().is_some());
    rig.step(Arrival::ClientEof);
    assert!(rig.0.needs_codex(), "we are leaving");
}

#[test]
fn the_end_of_the_client_ends_codex_and_then_us() {
    let mut rig = Rig::started();
    let mut said = rig.step(Arrival::ClientEof);
    said.extend(rig.step(Arrival::CodexDied { generation: ONE, how: "exit code 0", stderr: None }));
    assert_eq!(said.first().map(String::as_str), Some("end 1"), "{said:?}");
    assert_eq!(said.last().map(String::as_str), Some("exit 0"), "{said:?}");
}

#[test]
fn a_signal_decides_the_exit_code() {
    let mut rig = Rig::started();
    let mut said = rig.step(Arrival::Signal(15));
    said.extend(rig.step(Arrival::CodexDied { generation: ONE, how: "exit code 0", stderr: None }));
    assert_eq!(said.last().map(String::as_str), Some("exit 143"), "{said:?}");
}
