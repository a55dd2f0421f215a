//! Images that tools give back, as `data:` URLs.

use crate::codex::misfit::decode_json;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Most bytes of images that one call shows: a client takes lines of bounded size.
const MAX: usize = 8 << 20;

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

/// The images among the parts of a result; what is too large stays out.
pub(super) fn of_parts(parts: &[&RawValue]) -> Vec<String> {
    let urls = parts.iter().filter_map(|raw| {
        let part: WirePart = decode_json(raw).ok()?;
        match (part.kind.as_str(), part.data, part.mime_type, part.image_url) {
            ("image", Some(data), Some(mime), _) => Some(format!("data:{mime};base64,{data}")),
            ("inputImage", _, _, Some(url)) => Some(url),
            _ => None,
        }
    });
    bounded(urls)
}

/// The image that Codex made: its bytes in base64, empty until it is done.
pub(super) fn of_result(data: Option<String>) -> Vec<String> {
    let data = data.filter(|it| !it.is_empty());
    bounded(data.map(|data| format!("data:{};base64,{data}", mime(&data))).into_iter())
}

fn bounded(urls: impl Iterator<Item = String>) -> Vec<String> {
    let mut left = MAX;
    let mut fits = |url: &String| left.checked_sub(url.len()).map(|rest| left = rest).is_some();
    urls.filter(|url| fits(url)).collect()
}

/// By how the bytes begin; Codex does not say it.
fn mime(base64: &str) -> &'static str {
    match base64 {
        _ if base64.starts_with("/9j/") => "image/jpeg",
        _ if base64.starts_with("UklGR") => "image/webp",
        _ => "image/png",
    }
}
