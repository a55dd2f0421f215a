//! Warnings that Codex repeats while they hold, some with every turn: each is told once per session.

use super::cx::Cx;
use super::session::Session;
use super::update::Severity;
use std::collections::VecDeque;

/// So many are remembered; the one that was told longest ago is forgotten first.
const REMEMBERED: usize = 32;

/// Title and description of what was told.
#[derive(Debug, Default)]
pub(crate) struct Warnings(VecDeque<(String, Option<String>)>);

impl Warnings {
    /// Notes a warning; whether it is news.
    fn take(&mut self, title: &str, description: Option<&str>) -> bool {
        let is_known = self.0.iter().any(|(known, more)| known == title && more.as_deref() == description);
        if is_known {
            return false;
        }
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back((title.to_owned(), description.map(str::to_owned)));
        true
    }
}

impl Session {
    /// Codex warns of what holds until somebody mends it.
    pub(crate) fn warned(&mut self, cx: &mut Cx<'_>, title: String, description: Option<String>) {
        if self.warnings.take(&title, description.as_deref()) {
            self.notice(cx, Severity::Warning, title, description);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{REMEMBERED, Warnings};

    #[test]
    fn each_is_news_once_and_few_are_remembered() {
        let mut warnings = Warnings::default();
        assert!(warnings.take("a", None));
        assert!(warnings.take("a", Some("b")));
        assert!(!warnings.take("a", None));
        for n in 0..REMEMBERED {
            assert!(warnings.take(&n.to_string(), None));
        }
        assert_eq!(warnings.0.len(), REMEMBERED);
        assert!(warnings.take("a", None), "forgotten");
    }
}
