//! One response as a stream of server-sent events.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use hyper::body::Frame;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::desk::Desk;
use super::script::{Action, Call, Custom, Say, Step};

type Desks = Arc<watch::Sender<Desk>>;

/// Streams the actions of a step between `response.created` and `response.completed`.
///
/// The stream is driven by the connection: when that ends, nothing of the response is left.
pub(super) fn events(desk: Desks, step: Step) -> impl Stream<Item = io::Result<Frame<Bytes>>> {
    async_stream::try_stream! {
        let mut unfinished = Unfinished(Some(Arc::clone(&desk)));
        let response_id = fresh("resp");
        yield event("response.created", json!({"response": {"id": response_id, "status": "in_progress"}}));
        let mut end_turn = None;
        let mut has_failed = false;
        for (index, action) in step.0.into_iter().enumerate() {
            match action {
                Action::Say(say) => {
                    let pause = Duration::from_millis(say.delay_ms);
                    let message = Message::new(say, index);
                    yield message.added();
                    for delta in message.deltas() {
                        yield delta;
                        if !pause.is_zero() {
                            tokio::time::sleep(pause).await;
                        }
                    }
                    yield message.done();
                }
                Action::Reason(text) => {
                    for it in reasoning(&text, index) {
                        yield it;
                    }
                }
                Action::Call(call) => yield function_call(call, index),
                Action::Custom(custom) => yield custom_call(custom, index),
                Action::WaitMs(_) | Action::Gate(_) => pass(&desk, &action).await,
                Action::Item(item) => {
                    yield added(&item, index);
                    yield done(&item, index);
                }
                Action::EndTurn(end) => end_turn = Some(end),
                Action::Cut => Err(io::Error::other("the script cuts the connection"))?,
                Action::Fail(fail) => {
                    let error = json!({"code": fail.code, "message": fail.message});
                    yield event("response.failed", json!({"response": {"id": response_id, "error": error}}));
                    has_failed = true;
                }
                Action::Header(..) => {}
                Action::Http(_) => Err(io::Error::other("an http error must come before the response"))?,
            }
        }
        unfinished.0 = None;
        if !has_failed {
            yield completed(&response_id, end_turn);
        }
    }
}

/// Waits where the action says so; every other action passes at once.
pub(super) async fn pass(desk: &watch::Sender<Desk>, action: &Action) {
    match action {
        Action::WaitMs(ms) => tokio::time::sleep(Duration::from_millis(*ms)).await,
        Action::Gate(name) => {
            desk.send_modify(|desk| {
                desk.reached_gates.insert(name.clone());
            });
            // The sender is at hand here, so the wait cannot fail.
            let _ = desk.subscribe().wait_for(|desk| desk.open_gates.contains(name)).await;
        }
        Action::Say(_)
        | Action::Reason(_)
        | Action::Call(_)
        | Action::Custom(_)
        | Action::Http(_)
        | Action::EndTurn(_)
        | Action::Cut
        | Action::Fail(_)
        | Action::Header(..)
        | Action::Item(_) => {}
    }
}

/// Counts a response as abandoned when it is dropped before its end.
struct Unfinished(Option<Desks>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(desk) = self.0.take() {
            desk.send_modify(|desk| desk.abandoned += 1);
        }
    }
}

struct Message {
    item: Value,
    say: Say,
    index: usize,
}

impl Message {
    fn new(say: Say, index: usize) -> Self {
        let mut item = json!({
            "type": "message", "role": "assistant", "id": fresh("msg"), "status": "in_progress", "content": [],
        });
        if let Some(phase) = &say.phase {
            item["phase"] = json!(phase);
        }
        Self { item, say, index }
    }

    fn added(&self) -> Frame<Bytes> {
        added(&self.item, self.index)
    }

    fn deltas(&self) -> impl Iterator<Item = Frame<Bytes>> {
        let chars: Vec<char> = self.say.text.chars().collect();
        let size = chars.len().div_ceil(self.say.chunks.max(1)).max(1);
        let chunks: Vec<String> = chars.chunks(size).map(|it| it.iter().collect()).collect();
        chunks.into_iter().map(|delta| {
            let id = &self.item["id"];
            let fields =
                json!({"output_index": self.index, "content_index": 0, "item_id": id, "delta": delta});
            event("response.output_text.delta", fields)
        })
    }

    fn done(&self) -> Frame<Bytes> {
        let mut item = self.item.clone();
        item["status"] = json!("completed");
        item["content"] = json!([{"type": "output_text", "text": self.say.text, "annotations": []}]);
        done(&item, self.index)
    }
}

fn reasoning(text: &str, index: usize) -> [Frame<Bytes>; 3] {
    let mut item = json!({"type": "reasoning", "id": fresh("rs"), "summary": []});
    let delta = json!({"item_id": item["id"], "output_index": index, "summary_index": 0, "delta": text});
    let opened = added(&item, index);
    item["summary"] = json!([{"type": "summary_text", "text": text}]);
    [opened, event("response.reasoning_summary_text.delta", delta), done(&item, index)]
}

fn function_call(call: Call, index: usize) -> Frame<Bytes> {
    let mut item = json!({
        "type": "function_call", "id": fresh("fc"), "status": "completed", "name": call.name,
        "call_id": call.call_id.unwrap_or_else(|| fresh("call")), "arguments": call.args.to_string(),
    });
    if let Some(namespace) = call.namespace {
        item["namespace"] = json!(namespace);
    }
    done(&item, index)
}

fn custom_call(custom: Custom, index: usize) -> Frame<Bytes> {
    let item = json!({
        "type": "custom_tool_call", "id": fresh("ctc"), "status": "completed", "name": custom.name,
        "call_id": custom.call_id.unwrap_or_else(|| fresh("call")), "input": custom.input,
    });
    done(&item, index)
}

fn completed(response_id: &str, end_turn: Option<bool>) -> Frame<Bytes> {
    let mut response = json!({"id": response_id, "status": "completed", "usage": {
        "input_tokens": 100, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 10, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 110,
    }});
    if let Some(end) = end_turn {
        response["end_turn"] = json!(end);
    }
    event("response.completed", json!({"response": response}))
}

fn added(item: &Value, index: usize) -> Frame<Bytes> {
    event("response.output_item.added", json!({"output_index": index, "item": item}))
}

fn done(item: &Value, index: usize) -> Frame<Bytes> {
    event("response.output_item.done", json!({"output_index": index, "item": item}))
}

fn event(kind: &str, mut fields: Value) -> Frame<Bytes> {
    fields["type"] = json!(kind);
    Frame::data(Bytes::from(format!("event: {kind}\ndata: {fields}\n\n")))
}

/// An id that no other response of any run of the server has.
fn fresh(prefix: &str) -> String {
    format!("{prefix}_{:016x}", fastrand::u64(..))
}
