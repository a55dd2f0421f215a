//! Reading JSON into our structs, and where it does not fit.
//!
//! A `Misfit` names fields, never a value: it may go into logs and answers.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A message that does not have the shape we need.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it could not be read at {at}")]
pub(crate) struct Misfit {
    /// Path of field names and indices.
    pub(crate) at: String,
}

impl Misfit {
    /// A misfit at a path of ours.
    pub(crate) fn at(path: impl Into<String>) -> Self {
        Self { at: path.into() }
    }

    /// The same place, seen from a parent.
    pub(crate) fn under(self, parent: &str) -> Self {
        Self { at: format!("{parent}.{}", self.at) }
    }
}

/// Reads `raw` as a `T`.
///
/// # Errors
/// The first place that does not fit.
pub(crate) fn decode_json<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Result<T, Misfit> {
    // Serde reads a struct from an array too; no message of this wire has one there.
    if !raw.get().starts_with('{') {
        return Err(Misfit::at("."));
    }
    // Tracking the path costs time that only the failing line has to pay.
    serde_json::from_str(raw.get()).or_else(|_| locate(raw.get()))
}

/// Reads a field that may be left out, for `#[serde(default, deserialize_with)]`: `null` says no more than that.
pub(crate) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    input: D,
) -> Result<T, D::Error> {
    Option::<T>::deserialize(input).map(Option::unwrap_or_default)
}

fn locate<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Misfit> {
    let mut input = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut input).map_err(|error| {
        let path = error.path().to_string();
        // Only this one of serde's messages is free of values.
        match error.inner().to_string().strip_prefix("missing field `").and_then(|it| it.split_once('`')) {
            Some((field, _)) if path == "." => Misfit::at(field),
            Some((field, _)) => Misfit::at(format!("{path}.{field}")),
            None => Misfit::at(path),
        }
    })
}
