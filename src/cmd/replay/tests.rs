use super::{ReplayArgs, differences, run};
use crate::bridge::Bridge;
use crate::bridge::arrival::Arrival;
use crate::core::ids::{Generation, Tick};
use crate::core::settings::Settings;
use crate::trace::{Record, Trace, read};
use std::path::Path;

const INITIALIZE: &[u8] =
    br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}"#;

/// Writes the trace of a run over `arrivals` to `path`.
fn record(path: &Path, arrivals: &[Arrival<'_>]) {
    let settings = Settings::plain("n");
    let mut trace = Trace::create(path, &settings).unwrap();
    let mut bridge = Bridge::new(settings);
    for (at, arrival) in arrivals.iter().enumerate() {
        let mut departures = Vec::new();
        let now = Tick(at as u64);
        bridge.step(now, *arrival, &mut departures);
        let version = bridge.version();
        trace.record(&Record { now, deadline: None, version, arrival: *arrival, departures: &departures });
    }
}

fn arrivals() -> [Arrival<'static>; 5] {
    [
        Arrival::ClientLine(INITIALIZE),
        Arrival::ClientLine(b"not json"),
        Arrival::CodexLine { generation: Generation(9), line: b"{}" },
        Arrival::ClientLine(br#"{"id":2,"method":"nope"}"#),
        Arrival::ClientEof,
    ]
}

#[test]
fn a_trace_runs_the_same_again() {
    let file = tempfile::NamedTempFile::new().unwrap();
    record(file.path(), &arrivals());
    record(file.path(), &arrivals());
    let steps = read(file.path()).unwrap();
    assert!(steps.iter().any(|step| !step.out.is_empty()), "the trace says something");
    assert_eq!(differences(&steps), []);
}

#[test]
fn a_changed_answer_is_shown() {
    let file = tempfile::NamedTempFile::new().unwrap();
    record(file.path(), &arrivals());
    let text = std::fs::read_to_string(file.path()).unwrap();
    std::fs::write(file.path(), text.replace("-32700", "-1")).unwrap();
    let found = differences(&read(file.path()).unwrap());
    assert_eq!(found.iter().map(|it| (it.run, it.seq)).collect::<Vec<_>>(), [(1, 2)]);
    assert_eq!(found[0].missing[0]["client"]["error"]["code"], -1);
    assert_eq!(found[0].extra[0]["client"]["error"]["code"], -32700);
    let mut said = Vec::new();
    let code = run(&ReplayArgs { file: file.path().to_owned() }, &mut said).unwrap();
    let said = String::from_utf8(said).unwrap();
    assert_eq!(code, 1);
    assert!(said.starts_with("step 2 of run 1\n  - {") && said.ends_with("5 steps, 1 different\n"), "{said}");
}
