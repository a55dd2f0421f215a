//! The clock of the bench: comparable between its own process and the taps.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Microseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "a bench reads the clock")]
pub(crate) fn micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// Milliseconds from `start` (of [`micros`]) until this moment.
#[expect(clippy::cast_precision_loss, reason = "a bench never runs for 285 years")]
pub(crate) fn millis_since(start: u64) -> f64 {
    micros().saturating_sub(start) as f64 / 1000.0
}
