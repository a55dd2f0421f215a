//! Seconds since the epoch as ISO 8601.

/// For example `2026-11-30T00:00:00Z`; `None` outside the years that ISO 8601 spells plainly.
pub(crate) fn iso8601(seconds: i64) -> Option<String> {
    let time = jiff::Timestamp::from_second(seconds).ok()?;
    (seconds >= 0).then(|| time.to_string())
}
