//! Images between ACP's two fields and the `data:` URL that the core and Codex use.

/// The `data:` URL of base64 `data`; `None` if the two are no image.
pub(crate) fn to_url(mime: &str, data: &str) -> Option<String> {
    let subtype = mime.strip_prefix("image/")?;
    let is_token = !subtype.is_empty()
        && subtype.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'+' | b'-' | b'_'));
    let is_base64 = !data.is_empty()
        && data.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'+' | b'/' | b'='));
    (is_token && is_base64).then(|| format!("data:{mime};base64,{data}"))
}

/// Media type and base64 data of a `data:` URL; `None` for any other URL.
pub(crate) fn from_url(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let mime = head.strip_suffix(";base64")?;
    let mime = mime.split(';').next().filter(|it| it.starts_with("image/"))?;
    Some((mime, data))
}
