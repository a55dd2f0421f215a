//! Reading the params and results of the client into flat structs.
//!
//! Errors name the place and never carry a value of the line: prompts and tokens stay out of logs.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// Where and why params do not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why} at {at}")]
pub(crate) struct Misfit {
    /// A path such as `mcpServers[0].name`; `params` is the whole.
    pub(crate) at: String,
    why: String,
}

impl Misfit {
    fn whole(why: &str) -> Self {
        Self { at: "params".into(), why: why.into() }
    }
}

/// Reads an object; absent and `null` params count as missing.
pub(crate) fn read<T: DeserializeOwned>(raw: Option<&RawValue>) -> Result<T, Misfit> {
    let raw = raw.ok_or_else(|| Misfit::whole("an object is missing"))?;
    // Serde reads a struct from an array too.
    if !raw.get().starts_with('{') {
        return Err(Misfit::whole("not an object"));
    }
    let mut input = serde_json::Deserializer::from_str(raw.get());
    serde_path_to_error::deserialize(&mut input).map_err(|error| {
        let path = error.path().to_string();
        let text = error.inner().to_string();
        // The text of every other error quotes the value it found; this one only a field's name.
        let why = match text.strip_prefix("missing field `").and_then(|rest| rest.split('`').next()) {
            Some(field) => format!("field `{field}` is missing"),
            None => "wrong type or value".to_owned(),
        };
        Misfit { at: if path == "." { "params".into() } else { path }, why }
    })
}
