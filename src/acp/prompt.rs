//! The blocks of a prompt, the same on the wire in both versions.

use super::image;
use crate::core::failure::Failure;
use crate::core::ids::{PromptKey, SessionId};
use crate::core::request::{PromptPart, Request};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

/// ACP's longest idempotency key, in characters.
const KEY_LIMIT: usize = 255;

/// Params of `session/prompt`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PromptParams {
    session_id: String,
    prompt: Vec<BlockParams>,
    idempotency_key: Option<String>,
}

/// Every field that any content block has.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BlockParams {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    data: Option<String>,
    mime_type: Option<String>,
    name: Option<String>,
    uri: Option<String>,
    resource: Option<ResourceParams>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceParams {
    uri: String,
    text: Option<String>,
    blob: Option<String>,
    mime_type: Option<String>,
}

impl PromptParams {
    /// Checks what the wire types do not.
    ///
    /// # Errors
    /// `InvalidParams` that names the block.
    pub(crate) fn check(self) -> Result<Request, Failure> {
        if self.prompt.is_empty() {
            return Err(invalid("prompt must hold at least one content block"));
        }
        let key = match self.idempotency_key {
            None => None,
            Some(key) if key.is_empty() || key.chars().nth(KEY_LIMIT).is_some() => {
                return Err(invalid(format!("idempotencyKey must have 1 to {KEY_LIMIT} characters")));
            }
            Some(key) => Some(PromptKey::new(key)),
        };
        let parts = self
            .prompt
            .into_iter()
            .enumerate()
            .map(|(idx, block)| block.check().map_err(|why| invalid(format!("prompt[{idx}]: {why}"))))
            .collect::<Result<_, _>>()?;
        Ok(Request::Prompt { session: SessionId::new(self.session_id), parts, key })
    }
}

impl BlockParams {
    fn check(self) -> Result<PromptPart, &'static str> {
        match self.kind.as_str() {
            "text" => Ok(PromptPart::Text(self.text.ok_or("text is missing")?)),
            "image" => {
                let mime = self.mime_type.ok_or("mimeType is missing")?;
                let data = self.data.ok_or("data is missing")?;
                let url = image::to_url(&mime, &data).ok_or("not a base64 image with an image type")?;
                Ok(PromptPart::Image { url })
            }
            "resource_link" => Ok(PromptPart::Link {
                name: self.name.ok_or("name is missing")?,
                uri: self.uri.ok_or("uri is missing")?,
            }),
            "resource" => self.resource.ok_or("resource is missing")?.check(),
            "audio" => Err("audio is not supported"),
            _ => Err("this type of content is not supported"),
        }
    }
}

impl ResourceParams {
    fn check(self) -> Result<PromptPart, &'static str> {
        if let Some(text) = self.text {
            return Ok(PromptPart::Embedded { uri: self.uri, text });
        }
        let blob = self.blob.ok_or("resource has neither text nor blob")?;
        if let Some(url) = self.mime_type.and_then(|mime| image::to_url(&mime, &blob)) {
            return Ok(PromptPart::Image { url });
        }
        let bytes = STANDARD.decode(blob).map_err(|_| "resource.blob is not base64")?;
        let text = String::from_utf8(bytes).map_err(|_| "a binary resource is not supported, link it")?;
        Ok(PromptPart::Embedded { uri: self.uri, text })
    }
}

fn invalid(why: impl Into<String>) -> Failure {
    Failure::InvalidParams(why.into())
}
