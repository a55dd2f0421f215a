use super::step::{Received, Step};
use super::{Record, Trace, arrival, line, read};
use crate::bridge::arrival::Arrival;
use crate::bridge::departure::{Departure, Note};
use crate::core::codex::Preset;
use crate::core::effect::{Anomaly, StopAct};
use crate::core::ids::{Generation, ItemId, RequestId, SessionId, StopId, ThreadId, Tick, WatchId};
use crate::core::input::{Found, Gentle, Pressure, StopReport, SweepReport};
use crate::core::settings::Settings;
use crate::core::vitals::{Vitals, WatchAct, WatchReport};
use crate::envelope::remains::Remains;
use serde_json::{Value, json};
use std::path::PathBuf;
use tempfile::TempDir;

const ONE: Generation = Generation(1);
const VITALS: Vitals =
    Vitals { pid: 71, processes: 2, cpu_percent: 30, memory: 5_000_000_000, started: 1_790_000_000 };

fn file() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace.jsonl");
    (dir, path)
}

fn settings() -> Settings {
    Settings { preset: Some(Preset::ReadOnly), stop_grace: 500, ..Settings::plain("n1") }
}

fn record<'a>(arrival: Arrival<'a>, departures: &'a [Departure]) -> Record<'a> {
    Record { now: Tick(5), deadline: Some("flush output"), version: None, arrival, departures }
}

fn written(arrival: Arrival<'_>, departures: &[Departure]) -> Value {
    serde_json::from_str(&line::of_step(7, &record(arrival, departures), None)).unwrap()
}

#[test]
fn every_arrival_comes_back_as_it_was() {
    let session = SessionId::new("t");
    let found = [Found {
        item: ItemId::new("c1"),
        pid: 7,
        processes: 2,
        cpu_percent: 150,
        memory: 5 << 30,
        age: 60,
        line: "npm run dev".to_owned(),
    }];
    let unknown = Remains::default();
    let request = Remains {
        id: Some(RequestId::Text("a".into())),
        method: Some("session/prompt".to_owned()),
        is_answer: false,
    };
    let answer = Remains { id: Some(RequestId::Number(3)), method: None, is_answer: true };
    let arrivals = [
        Arrival::ClientLine(br#"{"z":1,"a":1.50,"method":"x"}"#),
        Arrival::ClientLine(b"null"),
        Arrival::ClientOversized(&unknown),
        Arrival::ClientOversized(&request),
        Arrival::ClientOversized(&answer),
        Arrival::ClientEof,
        Arrival::CodexLine { generation: ONE, line: br#"{"id":1,"result":{}}"# },
        Arrival::CodexOversized { generation: Generation(2) },
        Arrival::CodexNotStarted { generation: ONE, message: "no such file" },
        Arrival::CodexDied { generation: ONE, how: "signal 9", stderr: Some("oops") },
        Arrival::CodexDied { generation: ONE, how: "exit code 0", stderr: None },
        Arrival::Deadline,
        Arrival::ClientQueue(Pressure::High),
        Arrival::ClientQueue(Pressure::Low),
        Arrival::Swept { generation: ONE, report: SweepReport { ended: 2, left: 1 } },
        Arrival::Stop { stop: StopId(3), report: StopReport::Signalled { with: Gentle::Int, members: 2 } },
        Arrival::Stop { stop: StopId(4), report: StopReport::Signalled { with: Gentle::Term, members: 1 } },
        Arrival::Stop { stop: StopId(3), report: StopReport::NotFound },
        Arrival::Stop { stop: StopId(3), report: StopReport::Gone { escaped: 1, killed: 2 } },
        Arrival::Stop { stop: StopId(3), report: StopReport::Left { left: 1, escaped: 2, killed: 3 } },
        Arrival::Surveyed { session: &session, found: &found },
        Arrival::Surveyed { session: &session, found: &[] },
        Arrival::Watched { watch: WatchId(5), report: WatchReport::Vitals(VITALS) },
        Arrival::Watched { watch: WatchId(5), report: WatchReport::Ended },
        Arrival::Watched { watch: WatchId(6), report: WatchReport::NotFound },
        Arrival::PageNotOpened("no such file"),
        Arrival::Signal(15),
    ];
    let (_dir, path) = file();
    let mut trace = Trace::create(&path, &settings()).unwrap();
    for arrival in arrivals {
        trace.record(&record(arrival, &[]));
    }
    let steps = read(&path).unwrap();
    let back: Vec<Arrival<'_>> = steps.iter().map(arrival).collect();
    assert_eq!(back, arrivals);
    assert_eq!(steps.iter().map(|step| step.seq).collect::<Vec<_>>(), (1..=27).collect::<Vec<_>>());
    assert!(steps.iter().all(|step| step.at == Tick(5)));
    assert_eq!(steps[11].input, Received::Deadline { reason: "flush output".to_owned() });
}

#[test]
fn of_what_is_no_message_nothing_is_written_but_what_is_wrong_with_it() {
    let (_dir, path) = file();
    let mut trace = Trace::create(&path, &settings()).unwrap();
    trace.record(&record(Arrival::ClientLine(br#"{"env":{"K":"hunter2"},}"#), &[]));
    trace.record(&record(Arrival::CodexLine { generation: ONE, line: b"hunter2\xff" }, &[]));
    assert!(!std::fs::read_to_string(&path).unwrap().contains("hunter2"));
    let steps = read(&path).unwrap();
    assert_eq!(arrival(&steps[0]), Arrival::ClientLine(format!("{}?", " ".repeat(23)).as_bytes()));
    assert_eq!(arrival(&steps[1]), Arrival::CodexLine { generation: ONE, line: b"\xff" });
    let Received::CodexUnread { unread, .. } = &steps[1].input else { panic!("{:?}", steps[1].input) };
    assert_eq!(unread.to_string(), "8 bytes that are not UTF-8");
}

#[test]
fn a_line_that_is_no_message_runs_again_as_it_did() {
    let (_dir, path) = file();
    let mut trace = Trace::create(&path, &settings()).unwrap();
    let mut bridge = crate::bridge::Bridge::new(settings());
    for line in [&b"{\"id\":1,}"[..], b"\xff", b"null"] {
        let mut departures = Vec::new();
        bridge.step(Tick(5), Arrival::ClientLine(line), &mut departures);
        assert!(!departures.is_empty());
        trace.record(&record(Arrival::ClientLine(line), &departures));
    }
    assert_eq!(crate::cmd::replay::differences(&read(&path).unwrap()), []);
}

#[test]
fn departures_keep_their_order_and_notes_stand_apart() {
    let departures = [
        Departure::StartCodex(ONE),
        Departure::ToCodex { generation: ONE, line: r#"{"id":0}"#.to_owned() },
        Departure::Noted(Note::Anomaly(Anomaly::UnknownAnswer { what: "ask" })),
        Departure::ToClient(r#"{"id":1,"result":{}}"#.to_owned()),
        Departure::Sweep { generation: ONE, threads: vec![ThreadId::new("t")], whole: true },
        Departure::Stop {
            stop: StopId(3),
            act: StopAct::Ask { thread: ThreadId::new("t"), item: ItemId::new("c1") },
        },
        Departure::Stop { stop: StopId(3), act: StopAct::Finish },
        Departure::Stop { stop: StopId(3), act: StopAct::Forget },
        Departure::Survey { session: SessionId::new("t"), thread: ThreadId::new("t") },
        Departure::Watch {
            watch: WatchId(5),
            act: WatchAct::Begin { thread: ThreadId::new("t"), item: ItemId::new("c1") },
        },
        Departure::Watch { watch: WatchId(5), act: WatchAct::End },
        Departure::OpenPage("https://example.com/?access_token=sk-abcdefghijklmnop".to_owned()),
        Departure::EndCodex(ONE),
        Departure::Exit { code: 143 },
    ];
    let expected = json!({
        "seq": 7, "at": 5, "in": {"signal": 15}, "rule": [],
        "out": [
            {"start_codex": 1}, {"codex": {"id": 0}, "generation": 1}, {"client": {"id": 1, "result": {}}},
            {"sweep": {"generation": 1, "threads": ["t"], "whole": true}},
            {"stop": {"id": 3, "act": "ask", "thread": "t", "item": "c1"}},
            {"stop": {"id": 3, "act": "finish"}}, {"stop": {"id": 3, "act": "forget"}},
            {"survey": {"session": "t", "thread": "t"}},
            {"watch": {"id": 5, "act": "begin", "thread": "t", "item": "c1"}},
            {"watch": {"id": 5, "act": "end"}},
            {"open_page": "https://example.com/?access_token=[redacted]"}, {"end_codex": 1}, {"exit": 143},
        ],
        "note": ["Anomaly(UnknownAnswer { what: \"ask\" })"],
    });
    assert_eq!(written(Arrival::Signal(15), &departures), expected);
}

#[test]
fn secrets_do_not_reach_the_file() {
    let client = br#"{"method":"session/new","params":{"mcpServers":[{"name":"m","env":[{"name":"K","value":"hidden-1"}],"headers":[{"name":"Authorization","value":"hidden-2"}]}]}}"#;
    let codex = Departure::ToCodex {
        generation: ONE,
        line: r#"{"params":{"config":{"mcp_servers":{"m":{"env":{"K":"hidden-1"}}},"api_key":"hidden-3"}}}"#
            .to_owned(),
    };
    let step = written(Arrival::ClientLine(client), &[codex]);
    assert_eq!(step["in"]["client"]["params"]["mcpServers"][0]["env"][0]["name"], "K");
    assert_eq!(step["out"][0]["codex"]["params"]["config"]["mcp_servers"]["m"]["env"]["K"], "[redacted]");
    let died = Arrival::CodexDied { generation: ONE, how: "x", stderr: Some("sk-hidden-45678901234") };
    let refused = Departure::Noted(Note::Anomaly(Anomaly::CodexRefused {
        method: "thread/start",
        message: "no Authorization: Basic hidden-5, no password=\"hidden-6\"".to_owned(),
    }));
    let text = format!("{step}{}{}", written(died, &[]), written(Arrival::Deadline, &[refused]));
    assert!(text.contains("CodexRefused"), "{text}");
    assert!(!text.contains("hidden"), "{text}");
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_it_even_if_it_was_there() {
    use std::os::unix::fs::PermissionsExt;
    let (_dir, path) = file();
    let mode = |path: &PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    drop(Trace::create(&path, &settings()).unwrap());
    assert_eq!(mode(&path), 0o600);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    drop(Trace::create(&path, &settings()).unwrap());
    assert_eq!(mode(&path), 0o600);
}

#[test]
fn a_second_run_appends_and_counts_from_one() {
    let (_dir, path) = file();
    for _ in 0..2 {
        let mut trace = Trace::create(&path, &settings()).unwrap();
        trace.record(&record(Arrival::ClientEof, &[]));
        trace.record(&record(Arrival::Deadline, &[]));
    }
    let steps = read(&path).unwrap();
    assert_eq!(steps.iter().map(|step| step.seq).collect::<Vec<_>>(), [1, 2, 1, 2]);
    let told_by = |step: &Step| step.settings.as_ref().map(|it| (it.nonce.clone(), it.preset, it.stop_grace));
    let told: Vec<_> = steps.iter().map(told_by).collect();
    let all = || Some(("n1".to_owned(), Some(Preset::ReadOnly), 500));
    assert_eq!(told, [all(), None, all(), None]);
}

#[test]
fn a_line_cut_off_by_a_crash_is_left_out_and_a_wrong_one_is_named() {
    let (_dir, path) = file();
    let good = r#"{"seq":1,"at":0,"in":{"client_eof":true}}"#;
    std::fs::write(&path, format!("{good}\n{{\"seq\":2,\"at")).unwrap();
    assert_eq!(read(&path).unwrap().len(), 1);
    std::fs::write(&path, format!("{good}\n{{\"seq\":2}}\n")).unwrap();
    let error = read(&path).unwrap_err().to_string();
    assert!(error.contains("line 2"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_the_trace_and_nothing_else() {
    let mut trace = Trace::create(std::path::Path::new("/dev/full"), &settings()).unwrap();
    trace.record(&record(Arrival::ClientEof, &[]));
    assert!(trace.file.is_none());
    trace.record(&record(Arrival::ClientEof, &[]));
}
