//! Schemas of elicitation forms: what ACP can ask for.

use crate::core::ids::Json;
use serde_json::Value;

/// The schema and its number of properties, if it describes an object.
///
/// The schema crate leaves out what it cannot read; the number shows whether it did.
pub(crate) fn object(schema: &Json) -> Option<(Value, usize)> {
    let schema: Value = serde_json::from_str(schema.as_str()).ok()?;
    let n_properties = match schema.get("properties") {
        None => 0,
        Some(properties) => properties.as_object()?.len(),
    };
    (schema.get("type")? == "object").then_some((schema, n_properties))
}
