//! The edge from outside: lines in, lines out, each line checked against the schema crate.

mod fuzz;
mod handshake;
mod input;
mod large;
mod meta_fields;
mod outcome;
mod v1_terminals;
mod v1_updates;
mod v2_updates;
mod wire;

use super::{AgentInfo, Edge, Read};
use crate::core::ids::{RequestId, SessionId};
use crate::core::input::FromClient;
use crate::core::request::{Request, Ticket};
use crate::core::sign_in::Means;
use crate::core::update::Update;
use serde_json::{Value, json};

const HELLO_V2: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":2,"info":{"name":"client","title":"Client","version":"1.0.0"},"capabilities":{"elicitation":{"form":{},"url":{}}}}}"#;
const HELLO_V1: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"elicitation":{"form":{},"url":{}}}}}"#;
const HELLO_ZED: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true,"session":{"notices":{}},"_meta":{"terminal_output":true,"terminal-auth":true}},"clientInfo":{"name":"zed","version":"1"}}}"#;

fn fresh() -> Edge {
    Edge::new(AgentInfo { name: "agent".into(), version: "1.0.0".into(), sign_in: Means::default() })
}

fn greeted(hello: &str) -> Edge {
    let mut edge = fresh();
    assert!(matches!(edge.read(hello.as_bytes()), Read::Hello { .. }));
    edge
}

fn session() -> SessionId {
    SessionId::new("sess_1")
}

/// Opens a request and returns its ticket.
fn ask_us(edge: &mut Edge, id: i64, method: &str, params: Value) -> (Ticket, Request) {
    let line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string();
    let read = edge.read(line.as_bytes());
    let Read::Input(FromClient::Request { ticket, request }) = read else {
        panic!("{method} was not taken: {read:?}");
    };
    assert_eq!(*ticket.id(), RequestId::Number(id));
    assert_eq!(ticket.method(), method);
    (ticket, request)
}

/// Code, message and id of an error that is answered at once.
fn refused(edge: &mut Edge, line: &str) -> (i64, String, Value) {
    let read = edge.read(line.as_bytes());
    let Read::Reply(reply) = read else { panic!("{line} was not refused: {read:?}") };
    wire::assert_error_valid(&reply);
    let reply: Value = serde_json::from_str(&reply).unwrap();
    let code = reply["error"]["code"].as_i64().unwrap();
    (code, reply["error"]["message"].as_str().unwrap().to_owned(), reply["id"].clone())
}

/// The `update` members that one update becomes, each line checked.
fn updates(edge: &mut Edge, update: &Update) -> Vec<Value> {
    let version = edge.profile().unwrap().version;
    let encoded = edge.update(&session(), update);
    encoded
        .lines
        .iter()
        .map(|line| {
            wire::assert_wire_valid(version, line);
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["params"]["sessionId"], "sess_1");
            line["params"]["update"].clone()
        })
        .collect()
}
