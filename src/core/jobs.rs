//! Numbers by which a person names what runs: `/ps` gives them, `/stop` takes them.
//!
//! A number that was shown means the same command until numbers are shown again.

use super::ids::ItemId;
use std::collections::BTreeMap;

/// The numbers of one session, from 1.
#[derive(Debug, Default)]
pub(crate) struct Jobs(BTreeMap<u32, ItemId>);

impl Jobs {
    /// Numbers are about to be shown: what is not in `running` gives its number up, what is new takes
    /// the lowest free one.
    pub(crate) fn renumber(&mut self, running: &[ItemId]) {
        self.0.retain(|_, item| running.contains(item));
        self.add(running, 1);
    }

    /// A number was named: what is new comes after all that were ever shown.
    pub(crate) fn extend(&mut self, running: &[ItemId]) {
        let after = self.0.last_key_value().map_or(0, |(number, _)| *number);
        self.add(running, after + 1);
    }

    pub(crate) fn number(&self, item: &ItemId) -> Option<u32> {
        self.0.iter().find(|(_, it)| *it == item).map(|(number, _)| *number)
    }

    pub(crate) fn item(&self, number: u32) -> Option<&ItemId> {
        self.0.get(&number)
    }

    fn add(&mut self, running: &[ItemId], from: u32) {
        let mut number = from;
        for item in running {
            if self.number(item).is_some() {
                continue;
            }
            while self.0.contains_key(&number) {
                number += 1;
            }
            self.0.insert(number, item.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Jobs;
    use crate::core::ids::ItemId;

    fn items(names: &[&str]) -> Vec<ItemId> {
        names.iter().map(ItemId::new).collect()
    }

    fn numbers(jobs: &Jobs, names: &[&str]) -> Vec<Option<u32>> {
        items(names).iter().map(|item| jobs.number(item)).collect()
    }

    #[test]
    fn a_shown_number_never_means_another_command() {
        let mut jobs = Jobs::default();
        jobs.renumber(&items(&["a", "b"]));
        assert_eq!(numbers(&jobs, &["a", "b"]), [Some(1), Some(2)]);
        // b ended and c began since the person looked.
        jobs.extend(&items(&["a", "c"]));
        assert_eq!(jobs.item(2), Some(&ItemId::new("b")));
        assert_eq!(numbers(&jobs, &["c"]), [Some(3)]);
        jobs.renumber(&items(&["a", "c", "d"]));
        assert_eq!(numbers(&jobs, &["a", "b", "c", "d"]), [Some(1), None, Some(3), Some(2)]);
    }
}
