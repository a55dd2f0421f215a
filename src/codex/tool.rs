//! Tools of no special kind, put into words.
//!
//! Messages, commands and file changes are not here.

mod agent;
mod image;
mod text;

use super::bound::{bounded, places};
use super::item::decode_status;
use super::misfit::{Misfit, decode_json};
use super::place::one_line;
use super::said::said;
use crate::core::codex::{ItemStatus, REVIEW, REVIEW_STARTS, ToolItem};
use crate::core::ids::Json;
use crate::core::update::ToolKind;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The tool behind an item of type `tag`; `None` for a type that is none of ours.
///
/// # Errors
/// The first field that does not fit.
pub(crate) fn decode_tool(
    tag: &str,
    raw: &RawValue,
    unstated: ItemStatus,
) -> Result<Option<ToolItem>, Misfit> {
    Ok(Some(match tag {
        "mcpToolCall" => mcp_call(decode_json(raw)?, unstated),
        "dynamicToolCall" => dynamic_call(decode_json(raw)?, unstated)?,
        "webSearch" => web_search(decode_json(raw)?, unstated),
        "imageView" => image_view(decode_json(raw)?, unstated),
        "imageGeneration" => image_generation(decode_json(raw)?, unstated),
        "sleep" => {
            let WireSleep { duration_ms } = decode_json(raw)?;
            plain("sleep", format!("Wait {}", duration(duration_ms)), ToolKind::Other, unstated)
        }
        "enteredReviewMode" => review(REVIEW_STARTS, decode_json(raw)?, unstated),
        "exitedReviewMode" => review("Finish the review", decode_json(raw)?, unstated),
        "collabAgentToolCall" => agent::decode_call(decode_json(raw)?, unstated),
        "subAgentActivity" => agent::decode_activity(decode_json(raw)?, unstated),
        _ => return Ok(None),
    }))
}

/// A tool of which there is nothing but this.
pub(crate) fn plain(name: &str, title: String, kind: ToolKind, status: ItemStatus) -> ToolItem {
    ToolItem {
        name: bounded(name.to_owned()),
        title,
        kind,
        status,
        input: None,
        output: None,
        text: None,
        images: Vec::new(),
        locations: Vec::new(),
        collab: None,
    }
}

/// Largest JSON of a tool that is handed on, in bytes.
const JSON_MAX: usize = 1 << 20;

// What is too large is replaced by a note of the same JSON, so that the client can show that.
fn json(raw: Option<&RawValue>) -> Option<Json> {
    raw.map(|it| match it.get().len() {
        n_bytes if n_bytes > JSON_MAX => Json::trusted(format!("{{\"leftOut\":\"{n_bytes} bytes\"}}")),
        _ => Json::trusted(it.get()),
    })
}

#[derive(Deserialize)]
struct WireMcpCall<'a> {
    server: String,
    tool: String,
    status: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<WireMessage>,
}

#[derive(Deserialize)]
struct WireMessage {
    message: String,
}

#[derive(Deserialize)]
struct WireMcpResult<'a> {
    #[serde(borrow, default, deserialize_with = "crate::codex::misfit::or_default")]
    content: Vec<&'a RawValue>,
}

fn mcp_call(wire: WireMcpCall<'_>, unstated: ItemStatus) -> ToolItem {
    let answered = wire.result.and_then(|it| decode_json::<WireMcpResult<'_>>(it).ok());
    let images = answered.as_ref().map(|it| image::of_parts(&it.content)).unwrap_or_default();
    let text = match wire.error {
        Some(error) => Some(said(&error.message)),
        None => answered.and_then(|it| text::of_parts(&it.content)).map(bounded),
    };
    ToolItem {
        status: decode_status(wire.status.as_deref(), unstated),
        input: json(wire.arguments),
        output: json(wire.result),
        text: images.noted(text),
        images: images.urls,
        ..plain(
            &format!("{}.{}", wire.server, wire.tool),
            one_line(&format!("{} ({})", wire.tool, wire.server)),
            ToolKind::Other,
            unstated,
        )
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireDynamicCall<'a> {
    namespace: Option<String>,
    tool: String,
    status: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    content_items: Option<&'a RawValue>,
}

fn dynamic_call(wire: WireDynamicCall<'_>, unstated: ItemStatus) -> Result<ToolItem, Misfit> {
    let parts: Vec<&RawValue> = match wire.content_items {
        Some(raw) => serde_json::from_str(raw.get()).map_err(|_| Misfit::at("contentItems"))?,
        None => Vec::new(),
    };
    let (name, title) = match wire.namespace {
        Some(space) => (format!("{space}.{}", wire.tool), format!("{} ({space})", wire.tool)),
        None => (wire.tool.clone(), wire.tool),
    };
    let images = image::of_parts(&parts);
    Ok(ToolItem {
        status: decode_status(wire.status.as_deref(), unstated),
        input: json(wire.arguments),
        output: json(wire.content_items),
        text: images.noted(text::of_parts(&parts).map(bounded)),
        images: images.urls,
        ..plain(&name, one_line(&title), ToolKind::Other, unstated)
    })
}

#[derive(Deserialize)]
struct WireWebSearch<'a> {
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    query: String,
    action: Option<WireWebAction>,
    #[serde(borrow)]
    results: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireWebAction {
    #[serde(rename = "type")]
    kind: String,
    query: Option<String>,
    queries: Option<Vec<String>>,
    url: Option<String>,
    pattern: Option<String>,
}

fn web_search(wire: WireWebSearch<'_>, unstated: ItemStatus) -> ToolItem {
    let title = match wire.action {
        Some(WireWebAction { kind, url: Some(url), .. }) if kind == "openPage" => format!("Open {url}"),
        Some(WireWebAction { kind, url: Some(url), pattern: Some(pattern), .. }) if kind == "findInPage" => {
            format!("Find {pattern} in {url}")
        }
        action => {
            let asked = action.and_then(|it| it.query.or_else(|| it.queries?.into_iter().next()));
            match asked.unwrap_or(wire.query).as_str() {
                "" => "Search the web".to_owned(),
                query => format!("Search the web for {query}"),
            }
        }
    };
    ToolItem { output: json(wire.results), ..plain("webSearch", one_line(&title), ToolKind::Fetch, unstated) }
}

#[derive(Deserialize)]
struct WireImageView {
    path: String,
}

fn image_view(wire: WireImageView, unstated: ItemStatus) -> ToolItem {
    let title = one_line(&format!("View {}", wire.path));
    ToolItem {
        locations: places(std::iter::once(wire.path)),
        ..plain("imageView", title, ToolKind::Read, unstated)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireImageGeneration<'a> {
    status: Option<String>,
    revised_prompt: Option<String>,
    saved_path: Option<String>,
    result: Option<String>,
    #[serde(borrow)]
    failure: Option<&'a RawValue>,
}

// The image is shown, where it is not too large, and not carried a second time in the output.
fn image_generation(wire: WireImageGeneration<'_>, unstated: ItemStatus) -> ToolItem {
    let status = match wire.failure {
        Some(_) => ItemStatus::Failed,
        None => decode_status(wire.status.as_deref(), unstated),
    };
    let images = image::of_result(wire.result);
    ToolItem {
        status,
        output: json(wire.failure),
        text: images.noted(wire.revised_prompt.map(bounded)),
        images: images.urls,
        locations: places(wire.saved_path.into_iter()),
        ..plain("imageGeneration", "Generate an image".to_owned(), ToolKind::Other, unstated)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSleep {
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    duration_ms: u64,
}

fn duration(millis: u64) -> String {
    let (seconds, rest) = (millis / 1000, millis % 1000);
    match (seconds, rest) {
        (0, _) => format!("{millis} ms"),
        (_, 0) => format!("{seconds} s"),
        _ => format!("{seconds}.{} s", rest / 100),
    }
}

#[derive(Deserialize)]
struct WireReview {
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    review: String,
}

fn review(title: &str, wire: WireReview, unstated: ItemStatus) -> ToolItem {
    ToolItem {
        text: Some(wire.review).filter(|it| !it.is_empty()).map(bounded),
        ..plain(REVIEW, title.to_owned(), ToolKind::Think, unstated)
    }
}
