//! A user's message in both directions: prompt parts to `UserInput`, and back to content.
//!
//! Does not know turns or prompts' ids.

use super::misfit::{Misfit, decode_json};
use crate::core::request::PromptPart;
use crate::core::update::Content;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Codex's own `mention` never reaches the model for a file, so links go as Markdown text.
pub(crate) fn encode_input(parts: &[PromptPart]) -> Vec<Value> {
    parts.iter().map(encode_part).collect()
}

/// Most bytes of image data that one message carries: a client takes lines of bounded size.
const IMAGES_MAX: usize = 8 << 20;

/// The parts of a `userMessage` item; images beyond the bound are named only.
///
/// # Errors
/// The first part that does not fit; a part of a new kind is shown by its name.
pub(crate) fn decode_content(parts: &[&RawValue]) -> Result<Vec<Content>, Misfit> {
    let mut left = IMAGES_MAX;
    parts
        .iter()
        .enumerate()
        .map(|(idx, part)| {
            let content = decode_part(part).map_err(|it| it.under(&format!("content[{idx}]")))?;
            Ok(bounded(content, &mut left))
        })
        .collect()
}

fn bounded(content: Content, left: &mut usize) -> Content {
    match content {
        Content::Image { url } => match left.checked_sub(url.len()) {
            Some(rest) => {
                *left = rest;
                Content::Image { url }
            }
            None => Content::Text(format!("[image of {} bytes, too large to be shown again]", url.len())),
        },
        Content::Text(_) | Content::Link { .. } => content,
    }
}

#[derive(Deserialize)]
struct WirePart {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    url: Option<String>,
    path: Option<String>,
    name: Option<String>,
}

fn decode_part(raw: &RawValue) -> Result<Content, Misfit> {
    let WirePart { kind, text, url, path, name } = decode_json(raw)?;
    Ok(match (kind.as_str(), text, url, path, name) {
        ("text", Some(text), ..) => Content::Text(text),
        ("image", _, Some(url), ..) => Content::Image { url },
        ("localImage" | "localAudio", _, _, Some(path), _) => {
            Content::Link { name: base_name(&path).to_owned(), uri: file_uri(&path) }
        }
        ("mention", _, _, Some(path), Some(name)) => Content::Link { name, uri: file_uri(&path) },
        ("skill", _, _, _, Some(name)) => Content::Text(format!("${name}")),
        _ => Content::Text(format!("[{kind}]")),
    })
}

fn encode_part(part: &PromptPart) -> Value {
    match part {
        PromptPart::Text(text) => text_part(text.clone()),
        PromptPart::Link { name, uri } => {
            let name = if name.is_empty() { base_name(uri) } else { name };
            text_part(format!("[{}]({uri})", name.replace(['[', ']'], "")))
        }
        PromptPart::Embedded { uri, text } => {
            text_part(format!("<context ref=\"{}\">\n{text}\n</context>", uri.replace('"', "%22")))
        }
        PromptPart::Image { url } => json!({"type": "image", "url": url}),
    }
}

fn text_part(text: String) -> Value {
    json!({"type": "text", "text": text, "text_elements": []})
}

fn file_uri(path: &str) -> String {
    if path.starts_with('/') { format!("file://{path}") } else { path.to_owned() }
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').find(|it| !it.is_empty()).unwrap_or(path)
}
