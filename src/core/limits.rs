//! How much of the account's usage limits is used: told at three marks, once each.
//!
//! Running into a limit is a failure of the turn and not told here.

use super::Core;
use super::effect::Effects;
use super::ids::Tick;
use super::update::Severity;
use std::collections::BTreeMap;

/// Percent used at which people are told, lowest first.
const MARKS: [u32; 3] = [75, 90, 95];
/// From here on it is a warning.
const WARN: u32 = 90;

/// One limit as Codex reports it; what a report leaves out keeps what was known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Tells limits apart.
    pub id: String,
    /// For people, where it is not the ordinary one.
    pub name: Option<String>,
    /// Shorter one first; an entry keeps its place.
    pub windows: Vec<Option<LimitWindow>>,
}

/// A window of time that a limit counts in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitWindow {
    pub used_percent: u32,
    pub minutes: Option<u64>,
    /// When it starts anew, ISO 8601.
    pub resets_at: Option<String>,
}

/// The highest mark that was told, by limit and window.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    told: BTreeMap<(String, usize), u32>,
}

impl Limits {
    /// Whether this is news, and its weight.
    fn take(&mut self, limit: &str, window: usize, used: u32) -> Option<Severity> {
        let Some(mark) = MARKS.into_iter().rev().find(|mark| used >= *mark) else {
            // It started anew: every mark counts again.
            self.told.remove(&(limit.to_owned(), window));
            return None;
        };
        let told = self.told.entry((limit.to_owned(), window)).or_default();
        if mark <= *told {
            return None;
        }
        *told = mark;
        Some(if mark >= WARN { Severity::Warning } else { Severity::Info })
    }
}

impl Core {
    /// `account/rateLimits/updated`: the account is everybody's.
    pub(super) fn rate_limit(&mut self, now: Tick, limit: &RateLimit, out: &mut Effects) {
        for (idx, window) in limit.windows.iter().enumerate() {
            let Some(window) = window else { continue };
            let Some(severity) = self.limits.take(&limit.id, idx, window.used_percent) else { continue };
            let of = limit.name.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
            let title =
                format!("{} % of the {} limit{of} is used", window.used_percent, span(window.minutes));
            let description = window.resets_at.as_ref().map(|at| format!("It starts anew at {at}."));
            self.tell_all(now, severity, title, description, out);
        }
    }
}

fn span(minutes: Option<u64>) -> String {
    const HOUR: u64 = 60;
    const DAY: u64 = 24 * HOUR;
    match minutes {
        None => "usage".to_owned(),
        Some(minutes) if minutes == 7 * DAY => "weekly".to_owned(),
        Some(DAY) => "daily".to_owned(),
        Some(minutes) if minutes > 0 && minutes % DAY == 0 => format!("{}-day", minutes / DAY),
        Some(minutes) if minutes > 0 && minutes % HOUR == 0 => format!("{}-hour", minutes / HOUR),
        Some(minutes) => format!("{minutes}-minute"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Limits, Severity, span};

    #[test]
    fn each_mark_is_told_once_until_the_window_starts_anew() {
        let mut limits = Limits::default();
        let mut seen = Vec::new();
        for used in [10, 74, 75, 80, 89, 91, 92, 90, 94, 95, 100, 3, 76, 96, 97] {
            seen.extend(limits.take("codex", 0, used).map(|severity| (used, severity)));
        }
        let (info, warning) = (Severity::Info, Severity::Warning);
        assert_eq!(seen, [(75, info), (91, warning), (95, warning), (76, info), (96, warning)]);
        assert_eq!(limits.take("codex", 1, 80), Some(info), "another window has its own marks");
        assert_eq!(limits.take("other", 0, 80), Some(info), "and so has another limit");
    }

    #[test]
    fn windows_have_names() {
        let spans = [None, Some(10_080), Some(1_440), Some(2_880), Some(300), Some(90), Some(0)].map(span);
        assert_eq!(spans, ["usage", "weekly", "daily", "2-day", "5-hour", "90-minute", "0-minute"]);
    }
}
