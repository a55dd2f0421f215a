//! What tools give back, as text: words, links, resources, and the names of what cannot be shown.

use crate::codex::misfit::decode_json;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Every field that a part of MCP or of a dynamic tool has.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePart {
    #[serde(rename = "type")]
    kind: Option<String>,
    text: Option<String>,
    name: Option<String>,
    uri: Option<String>,
    mime_type: Option<String>,
    resource: Option<WireResource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireResource {
    uri: Option<String>,
    mime_type: Option<String>,
    text: Option<String>,
}

/// The parts in words, one below the other; images are shown beside them.
pub(super) fn of_parts(parts: &[&RawValue]) -> Option<String> {
    let texts: Vec<String> = parts.iter().filter_map(|raw| in_words(decode_json(raw).ok()?)).collect();
    if texts.is_empty() { None } else { Some(texts.join("\n")) }
}

fn in_words(part: WirePart) -> Option<String> {
    let WirePart { kind, text, name, uri, mime_type, resource } = part;
    match (kind.as_deref(), resource) {
        (Some("resource_link"), _) => {
            let uri = uri?;
            Some(format!("[{}]({uri})", name.as_deref().unwrap_or(&uri)))
        }
        (Some("resource"), Some(WireResource { text: Some(text), .. })) => Some(text),
        (Some("resource"), Some(WireResource { uri, mime_type, text: None })) => {
            Some(named("resource", uri.as_deref(), mime_type.as_deref()))
        }
        (Some("audio"), _) => Some(named("audio", None, mime_type.as_deref())),
        (Some(_) | None, _) => text,
    }
}

/// Of something that is no text.
fn named(what: &str, uri: Option<&str>, mime: Option<&str>) -> String {
    let words = [Some(what), mime, uri].into_iter().flatten().collect::<Vec<_>>();
    format!("[{}; not shown]", words.join(" "))
}
