//! Headers that a client gives for requests to others.
//!
//! What HTTP does not take, Codex would leave out without a word, and the other side would refuse somebody unknown.
//! Errors name the place and no value: headers are secrets.

use std::collections::BTreeSet;

/// Checks names (tokens, by RFC 9110) and values (no line breaks or other controls); each name once.
///
/// # Errors
/// Which header does not fit, counted from 0, and why, to be said after its place.
pub(crate) fn check<'a>(
    headers: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<(), (usize, &'static str)> {
    let mut names = BTreeSet::new();
    for (n, (name, value)) in headers.enumerate() {
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err((n, "must have a name that HTTP allows"));
        }
        if !names.insert(name.to_ascii_lowercase()) {
            return Err((n, "must have a name of its own"));
        }
        if value.chars().any(|it| it.is_control() && it != '\t') {
            return Err((n, "must have a value without line breaks and other control characters"));
        }
    }
    Ok(())
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn what_http_does_not_take_is_found_by_its_place() {
        let long = "x".repeat(10_000);
        for good in [
            &[("Authorization", "Bearer a b\tc=")][..],
            &[("x-a.b_c~1", "\u{e4}"), ("X-Other", long.as_str())],
            &[("X-Empty", "")],
            &[],
        ] {
            assert_eq!(check(good.iter().copied()), Ok(()), "{good:?}");
        }
        let fine = ("X-A", "1");
        for (bad, at) in [
            (&[("", "v")][..], 0),
            (&[fine, ("X B", "v")], 1),
            (&[fine, ("X:B", "v")], 1),
            (&[("X\r\nB", "v")], 0),
            (&[("\u{dc}", "v")], 0),
            (&[fine, ("x-a", "2")], 1),
            (&[fine, ("X", "a\r\nHost: b")], 1),
            (&[("X", "a\nb")], 0),
            (&[("X", "a\0b")], 0),
            (&[("X", "a\u{7f}b")], 0),
        ] {
            assert_eq!(check(bad.iter().copied()).map_err(|(n, _)| n), Err(at), "{bad:?}");
        }
    }
}
