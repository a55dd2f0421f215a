//! Images that tools give back, as `data:` URLs.

use crate::codex::bound::{Room, json_len};
use crate::codex::misfit::decode_json;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Most bytes of images that one call shows: a client takes lines of bounded size.
const MAX: usize = 8 << 20;

/// Longest name of a kind of image.
const MIME_MAX: usize = 127;

/// Every field that an image of MCP or of a dynamic tool has.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePart {
    #[serde(rename = "type")]
    kind: String,
    data: Option<String>,
    mime_type: Option<String>,
    image_url: Option<String>,
}

/// What a call shows of its images.
#[derive(Default)]
pub(super) struct Images {
    pub(super) urls: Vec<String>,
    /// Sizes of those that are too large to be carried, in bytes of their URLs.
    left_out: Vec<usize>,
}

impl Images {
    /// The text of the call, and what it does not show.
    pub(super) fn noted(&self, text: Option<String>) -> Option<String> {
        if self.left_out.is_empty() {
            return text;
        }
        let n_bytes: usize = self.left_out.iter().sum();
        let note = match self.left_out.len() {
            1 => format!("[image of {n_bytes} bytes, too large to be shown]"),
            n => format!("[{n} images of {n_bytes} bytes, too large to be shown]"),
        };
        Some(text.into_iter().chain([note]).collect::<Vec<_>>().join("\n\n"))
    }
}

/// The images among the parts of a result.
pub(super) fn of_parts(parts: &[&RawValue]) -> Images {
    let urls = parts.iter().filter_map(|raw| {
        let part: WirePart = decode_json(raw).ok()?;
        match (part.kind.as_str(), part.data, part.mime_type, part.image_url) {
            ("image", Some(data), Some(mime), _) if mime.len() <= MIME_MAX => {
                Some(format!("data:{mime};base64,{data}"))
            }
            ("inputImage", _, _, Some(url)) => Some(url),
            _ => None,
        }
    });
    bounded(urls)
}

/// The image that Codex made: its bytes in base64, empty until it is done.
pub(super) fn of_result(data: Option<String>) -> Images {
    let data = data.filter(|it| !it.is_empty());
    bounded(data.map(|data| format!("data:{};base64,{data}", mime(&data))).into_iter())
}

fn bounded(urls: impl Iterator<Item = String>) -> Images {
    let mut room = Room(MAX);
    let (urls, rest): (Vec<_>, Vec<_>) = urls.partition(|url| room.takes(json_len(url)));
    Images { urls, left_out: rest.iter().map(String::len).collect() }
}

/// By how the bytes begin; Codex does not say it.
fn mime(base64: &str) -> &'static str {
    match base64 {
        _ if base64.starts_with("/9j/") => "image/jpeg",
        _ if base64.starts_with("UklGR") => "image/webp",
        _ => "image/png",
    }
}
