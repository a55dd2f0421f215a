//! What the map calls ignored has no effect, and what it calls refused is answered with its error.

use crate::scene::Scene;
use appserver_acp::map;
use appserver_acp::map::row::{Kind, Row, Side, Verdict};
use serde_json::{Value, json};
use testkit::belief::Version::{self, V1, V2};

#[test]
fn what_is_ignored_has_no_effect() {
    for row in rows(Side::Codex, Kind::CodexNotification, Verdict::Ignored) {
        for version in [V1, V2] {
            let mut scene = Scene::new(version);
            scene.started(json!({
                "type": "commandExecution", "id": "i", "command": "make", "cwd": "/workspace/project",
                "processId": "7", "source": "agent", "status": "inProgress", "commandActions": [],
            }));
            let before = scene.n_lines();
            scene.say(row.name, json!({"itemId": "i", "processId": "7", "stdin": "q", "summaryIndex": 1}));
            scene.pass(5000);
            assert_eq!(scene.n_lines(), before, "{} in {version:?}", row.name);
        }
    }
}

#[test]
fn items_that_are_ignored_are_not_shown() {
    for row in rows(Side::Codex, Kind::CodexItem, Verdict::Ignored) {
        let mut scene = Scene::new(V2);
        let before = scene.n_lines();
        let item = json!({"type": row.name, "id": "i", "fragments": [], "name": "n", "output": "text"});
        scene.started(item.clone());
        scene.completed(item);
        assert_eq!(scene.n_lines(), before, "{}", row.name);
    }
}

#[test]
fn requests_of_codex_that_are_refused_get_their_error() {
    for row in rows(Side::Codex, Kind::CodexServerRequest, Verdict::Refused) {
        let mut scene = Scene::new(V2);
        assert_eq!(scene.ask(row.name, json!({})), None, "{} asks nobody", row.name);
        assert_eq!(scene.answer_to_codex()["error"]["code"], code(row), "{}", row.name);
    }
}

#[test]
fn requests_of_the_client_that_are_refused_get_their_error() {
    for (side, version) in [(Side::V1, V1), (Side::V2, V2)] {
        for row in rows(side, Kind::AcpClientRequest, Verdict::Refused) {
            let answer = asked(version, row.name);
            assert_eq!(answer["error"]["code"], code(row), "{} in {version:?}: {answer}", row.name);
        }
    }
}

#[test]
fn requests_of_the_client_that_are_mapped_are_known() {
    for (side, version) in [(Side::V1, V1), (Side::V2, V2)] {
        for row in rows(side, Kind::AcpClientRequest, Verdict::Mapped) {
            let answer = asked(version, row.name);
            assert_ne!(answer["error"]["code"], -32601, "{} in {version:?}", row.name);
        }
    }
}

#[test]
fn capabilities_that_are_mapped_are_declared_and_no_others() {
    for (side, version, member) in [(Side::V1, V1, "agentCapabilities"), (Side::V2, V2, "capabilities")] {
        let hello = Scene::opened(version).answers().swap_remove(0);
        for row in map::rows().iter().filter(|row| (row.side, row.kind) == (side, Kind::AcpAgentCapability)) {
            let path = format!("/result/{member}/{}", row.name.replace('.', "/"));
            let declared = hello.pointer(&path).is_some_and(|value| *value != json!(false));
            assert_eq!(declared, row.verdict == Verdict::Mapped, "{} in {version:?}", row.name);
        }
    }
}

fn asked(version: Version, method: &str) -> Value {
    let more = json!({"toolCallId": "no-such", "methodId": "no-such", "cwd": "/workspace/project", "mcpServers": []});
    Scene::opened(version).client_asks(method, more)
}

fn rows(side: Side, kind: Kind, verdict: Verdict) -> Vec<&'static Row> {
    let is_it = |row: &&Row| (row.side, row.kind, row.verdict) == (side, kind, verdict);
    let rows: Vec<_> = map::rows().iter().filter(is_it).collect();
    assert!(!rows.is_empty(), "rows of {kind:?}");
    rows
}

/// The error code that the note of a refused row begins with.
fn code(row: &Row) -> i64 {
    let text = row.note.split(':').next().unwrap_or_default();
    text.parse().unwrap_or_else(|_| panic!("{}: {:?} begins with no code", row.name, row.note))
}
