//! A user's message in both directions: prompt parts to `UserInput`, and back to content.
//!
//! Does not know turns or prompts' ids.

use super::bound::{Room, json_len};
use super::misfit::{Misfit, decode_json};
use super::place::one_line;
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
/// Most bytes of everything else: Codex takes texts of 1 MiB.
const TEXTS_MAX: usize = 4 << 20;
/// Most parts of one message.
const PARTS_MAX: usize = 10_000;

/// The parts of a `userMessage` item; what is beyond the bounds is named only.
///
/// # Errors
/// The first part that does not fit; a part of a new kind is shown by its name.
pub(crate) fn decode_content(parts: &[&RawValue]) -> Result<Vec<Content>, Misfit> {
    let (mut images, mut texts) = (Room(IMAGES_MAX), Room(TEXTS_MAX));
    parts
        .iter()
        .take(PARTS_MAX)
        .enumerate()
        .map(|(idx, part)| {
            let content = decode_part(part).map_err(|it| it.under(&format!("content[{idx}]")))?;
            Ok(bounded(content, &mut images, &mut texts))
        })
        .collect()
}

fn bounded(content: Content, images: &mut Room, texts: &mut Room) -> Content {
    match content {
        Content::Image { url } => match images.takes(json_len(&url)) {
            true => Content::Image { url },
            false => Content::Text(format!("[image of {} bytes, too large to be shown again]", url.len())),
        },
        Content::Text(text) => match texts.takes(json_len(&text)) {
            true => Content::Text(text),
            false => Content::Text(format!("[text of {} bytes, too large to be shown again]", text.len())),
        },
        Content::Link { name, uri } => match texts.takes(json_len(&name) + json_len(&uri)) {
            true => Content::Link { name, uri },
            false => Content::Text("[link, too large to be shown again]".to_owned()),
        },
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
        _ => Content::Text(format!("[{}]", one_line(&kind))),
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
