//! Tests of the edge, all through `read`, `call` and `answer`.

mod asks;
mod calls;
mod events;
mod inquiry;
mod items;
mod recordings;
mod standing;
mod wire;

use super::{ClientInfo, Edge, Heard, Read};
use crate::core::codex::{Event, FromCodex, Item, ItemKind};
use crate::core::ids::Generation;
use serde_json::{Value, json};

fn edge() -> Edge {
    let mut edge =
        Edge::new(ClientInfo { name: "adapter".into(), title: "Adapter".into(), version: "1".into() });
    edge.start(Generation(1));
    edge
}

fn read(edge: &mut Edge, message: &Value) -> Read {
    edge.read(message.to_string().as_bytes())
}

/// The event of one notification.
fn event(method: &str, params: Value) -> Event {
    match read(&mut edge(), &json!({"method": method, "params": params})).heard {
        Heard::Codex(FromCodex::Event(event)) => event,
        other => panic!("no event: {other:?}"),
    }
}

/// The kind of an item that just completed.
fn completed(item: Value) -> ItemKind {
    match event("item/completed", json!({"threadId": "t", "turnId": "u", "item": item})) {
        Event::ItemCompleted { item: Item { kind, .. }, .. } => kind,
        other => panic!("no item: {other:?}"),
    }
}
