//! A value table: the names of one enum of a wire, and what each becomes.

use crate::map::row::{RuleId, Side};
use std::collections::BTreeMap;

/// One table. Rust matches spell the same pairs; tests compare the two.
#[derive(Debug, PartialEq, Eq)]
pub struct Values {
    pub side: Side,
    /// Its name, such as `command.status` or `v1.tool.status`.
    pub set: &'static str,
    /// The set whose names are the keys: itself, unless it translates another set.
    pub keys: &'static str,
    /// The set that every mapped value is a name of; without it the values are words for people.
    pub into: Option<&'static str>,
    pub rule: RuleId,
    pub note: &'static str,
    /// Name to value.
    pub map: BTreeMap<&'static str, &'static str>,
    /// Name to the reason why it has no value.
    pub ignored: BTreeMap<&'static str, &'static str>,
}

impl Values {
    /// Every name that has a value or a reason.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.map.keys().chain(self.ignored.keys()).copied()
    }
}
