//! Text that arrives in pieces: the hot path of the wire.
//!
//! Ids are borrowed from the line; the text is copied once.

use crate::codex::bound::bounded;
use crate::codex::misfit::{Misfit, decode_json};
use crate::core::codex::Event;
use crate::core::ids::{ItemId, ThreadId};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireDelta<'a> {
    #[serde(borrow)]
    thread_id: Cow<'a, str>,
    #[serde(borrow)]
    item_id: Cow<'a, str>,
    delta: String,
    summary_index: Option<u32>,
}

impl WireDelta<'_> {
    fn read(params: &RawValue) -> Result<(ThreadId, ItemId, String, u32), Misfit> {
        let WireDelta { thread_id, item_id, delta, summary_index } = decode_json(params)?;
        Ok((ThreadId::new(thread_id), ItemId::new(item_id), delta, summary_index.unwrap_or(0)))
    }
}

pub(super) fn output(params: &RawValue) -> Result<Event, Misfit> {
    let (thread, item, text, _) = WireDelta::read(params)?;
    Ok(Event::OutputDelta { thread, item, text })
}

pub(super) fn agent(params: &RawValue) -> Result<Event, Misfit> {
    let (thread, item, text, _) = WireDelta::read(params)?;
    Ok(Event::AgentDelta { thread, item, text })
}

pub(super) fn plan(params: &RawValue) -> Result<Event, Misfit> {
    let (thread, item, text, _) = WireDelta::read(params)?;
    Ok(Event::PlanDelta { thread, item, text })
}

pub(super) fn summary(params: &RawValue) -> Result<Event, Misfit> {
    let (thread, item, text, part) = WireDelta::read(params)?;
    Ok(Event::ThoughtDelta { thread, item, part, text })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireReasoningDelta {
    thread_id: String,
    item_id: String,
    delta: String,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    content_index: u32,
}

pub(super) fn reasoning(params: &RawValue) -> Result<Event, Misfit> {
    let WireReasoningDelta { thread_id, item_id, delta, content_index } = decode_json(params)?;
    Ok(Event::ThoughtDelta {
        thread: ThreadId::new(thread_id),
        item: ItemId::new(item_id),
        part: content_index,
        text: delta,
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireInput {
    thread_id: String,
    item_id: String,
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    stdin: String,
}

pub(super) fn input(params: &RawValue) -> Result<Event, Misfit> {
    let WireInput { thread_id, item_id, stdin } = decode_json(params)?;
    Ok(Event::TerminalInput { thread: ThreadId::new(thread_id), item: ItemId::new(item_id), text: stdin })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireProgress {
    thread_id: String,
    item_id: String,
    message: String,
}

pub(super) fn progress(params: &RawValue) -> Result<Event, Misfit> {
    let WireProgress { thread_id, item_id, message } = decode_json(params)?;
    Ok(Event::Progress {
        thread: ThreadId::new(thread_id),
        item: ItemId::new(item_id),
        message: bounded(message),
    })
}
