//! Which rows of the protocol map speak of what arrived.

use crate::bridge::arrival::Arrival;

/// The rules of an arrival, most special first.
pub fn rules_of(_arrival: &Arrival<'_>) -> Vec<&'static str> {
    Vec::new()
}
