//! Paths as Codex spells them, absolute for the client; and lines for people.
//!
//! Lexical only: no file is looked at.

use std::path::{Path, PathBuf};

/// `path` as an absolute path; relative ones are taken from `cwd`.
pub(crate) fn absolute(path: &str, cwd: &str) -> String {
    // Through `components`, because Codex says `.` for the directory itself.
    let joined: PathBuf = Path::new(cwd).join(path).components().collect();
    joined.to_str().map_or_else(|| path.to_owned(), str::to_owned)
}

/// The first line of `text` with something in it, at most 120 characters.
pub(crate) fn one_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|it| !it.is_empty()).unwrap_or_default();
    match line.char_indices().nth(119) {
        Some((cut, last)) if cut + last.len_utf8() < line.len() => format!("{}…", &line[..cut]),
        _ => line.to_owned(),
    }
}
