//! A heading for people: one line, in which nothing can do more than be read.
//!
//! Commands, paths and names of others are in headings; a client may print them to a terminal.

use super::ask::Ask;
use super::update::Update;
use std::path::Path;

/// Longest heading, in characters: a path and a few words.
const MAX: usize = 1_000;

/// `text` as a heading.
pub(crate) fn heading(text: String) -> String {
    let is_long = text.len() > MAX && text.chars().nth(MAX).is_some();
    if !is_long && !text.contains(char::is_control) {
        return text;
    }
    let mut heading: String = text.chars().take(MAX).map(visible).collect();
    if is_long {
        heading.push('…');
    }
    heading
}

/// `path` as a person in `cwd` would write it.
pub(crate) fn shown<'a>(path: &'a str, cwd: &str) -> &'a str {
    match Path::new(path).strip_prefix(cwd) {
        Ok(rest) if !cwd.is_empty() => rest.to_str().filter(|it| !it.is_empty()).unwrap_or("."),
        _ => path,
    }
}

impl Update {
    /// With headings in the place of its titles.
    pub(crate) fn headed(mut self) -> Self {
        if let Self::CallOpened(opened) = &mut self {
            opened.title = heading(std::mem::take(&mut opened.title));
        }
        if let Self::CallChanged { change, .. } | Self::CallClosed { change, .. } = &mut self {
            change.title = change.title.take().map(heading);
        }
        self
    }
}

impl Ask {
    /// With headings in the place of its title and of the names of its options.
    pub(crate) fn headed(mut self) -> Self {
        if let Self::Permission(permission) = &mut self {
            permission.title = heading(std::mem::take(&mut permission.title));
            for option in &mut permission.options {
                option.name = heading(std::mem::take(&mut option.name));
            }
        }
        self
    }
}

/// White space as a space; what is not for reading by the picture that Unicode has of it.
fn visible(it: char) -> char {
    match it {
        '\t' | '\n' | '\r' => ' ',
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(it)).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\u{7f}' => '␡',
        it if it.is_control() => char::REPLACEMENT_CHARACTER,
        it => it,
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX, heading};

    #[test]
    fn a_heading_is_one_line_that_does_nothing() {
        let of = |text: &str| heading(text.to_owned());
        assert_eq!(of("Read src/a b\u{e9}.rs"), "Read src/a b\u{e9}.rs");
        assert_eq!(of("a\nb\tc\r\n"), "a b c  ");
        assert_eq!(of("\u{1b}[31mred\u{7}\0\u{7f}\u{9b}"), "␛[31mred␇␀␡\u{fffd}");
        assert_eq!(of(&"é".repeat(MAX)), "é".repeat(MAX));
        assert_eq!(of(&"é".repeat(MAX + 1)), format!("{}…", "é".repeat(MAX)));
    }
}
