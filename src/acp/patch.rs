//! Codex's diffs as git patches (v2) and as old and new text (v1).
//!
//! A modification comes as unified hunks, an added or deleted file as its whole text.

#[cfg(test)]
mod tests;

use crate::core::update::{Diff, DiffOp};
use std::fmt::Write as _;

/// One hunk of a unified diff, checked against its own line counts.
pub(crate) struct Hunk<'a> {
    header: &'a str,
    lines: Vec<&'a str>,
}

impl Hunk<'_> {
    /// The text before and after.
    pub(crate) fn sides(&self) -> (String, String) {
        let (mut old, mut new) = (String::new(), String::new());
        let mut last = ' ';
        for line in &self.lines {
            let mark = line.chars().next().unwrap_or(' ');
            let text = line.get(1..).unwrap_or_default();
            if mark == '\\' {
                if last != '+' && old.ends_with('\n') {
                    old.pop();
                }
                if last != '-' && new.ends_with('\n') {
                    new.pop();
                }
                continue;
            }
            if mark != '+' {
                old.push_str(text);
                old.push('\n');
            }
            if mark != '-' {
                new.push_str(text);
                new.push('\n');
            }
            last = mark;
        }
        (old, new)
    }
}

/// The hunks of a unified diff; what stands between them is left out. `None` if one is broken.
pub(crate) fn hunks(text: &str) -> Option<Vec<Hunk<'_>>> {
    // Not `lines()`: a carriage return belongs to the file.
    let mut lines = text.strip_suffix('\n').unwrap_or(text).split('\n').peekable();
    let mut hunks = Vec::new();
    while let Some(line) = lines.next() {
        if !line.starts_with("@@ -") {
            continue;
        }
        let (mut n_old, mut n_new) = counts(line)?;
        let mut hunk = Hunk { header: line, lines: Vec::new() };
        while n_old > 0 || n_new > 0 {
            let line = lines.next()?;
            match line.bytes().next() {
                // Some tools strip the blank of an empty context line.
                Some(b' ') | None => {
                    n_old = n_old.checked_sub(1)?;
                    n_new = n_new.checked_sub(1)?;
                }
                Some(b'-') => n_old = n_old.checked_sub(1)?,
                Some(b'+') => n_new = n_new.checked_sub(1)?,
                Some(b'\\') => {}
                Some(_) => return None,
            }
            hunk.lines.push(if line.is_empty() { " " } else { line });
        }
        while let Some(line) = lines.next_if(|it| it.starts_with('\\')) {
            hunk.lines.push(line);
        }
        hunks.push(hunk);
    }
    Some(hunks)
}

/// The change as a git patch with absolute paths and no `a/` and `b/`; `None` if the text is no diff.
pub(crate) fn git_patch(diff: &Diff) -> Option<String> {
    let path = quoted(&diff.path);
    match &diff.op {
        DiffOp::Add => {
            let mut patch = format!("diff --git {path} {path}\nnew file mode 100644\n");
            if !diff.text.is_empty() {
                let (range, body) = whole_file('+', &diff.text);
                let _ = write!(patch, "--- /dev/null\n+++ {path}\n@@ -0,0 +{range} @@\n{body}");
            }
            Some(patch)
        }
        DiffOp::Delete => {
            let mut patch = format!("diff --git {path} {path}\ndeleted file mode 100644\n");
            if !diff.text.is_empty() {
                let (range, body) = whole_file('-', &diff.text);
                let _ = write!(patch, "--- {path}\n+++ /dev/null\n@@ -{range} +0,0 @@\n{body}");
            }
            Some(patch)
        }
        DiffOp::Modify => {
            let hunks = hunks(&diff.text).filter(|it| !it.is_empty())?;
            Some(format!("diff --git {path} {path}\n--- {path}\n+++ {path}\n{}", unified(&hunks)))
        }
        DiffOp::Move(target) => {
            let target = quoted(target);
            let hunks = hunks(&diff.text)?;
            let mut patch = format!("diff --git {path} {target}\n");
            if hunks.is_empty() {
                patch.push_str("similarity index 100%\n");
            }
            let _ = write!(patch, "rename from {path}\nrename to {target}\n");
            if !hunks.is_empty() {
                let _ = write!(patch, "--- {path}\n+++ {target}\n{}", unified(&hunks));
            }
            Some(patch)
        }
    }
}

/// What stands in the place of a diff that is too large to be carried.
pub(crate) fn left_out(diff: &Diff, n_bytes: usize) -> String {
    let what = match &diff.op {
        DiffOp::Add => format!("Added {}", diff.path),
        DiffOp::Delete => format!("Deleted {}", diff.path),
        DiffOp::Modify => format!("Changed {}", diff.path),
        DiffOp::Move(target) => format!("Moved {} to {target} and changed it", diff.path),
    };
    format!("{what} ({n_bytes} bytes of it are not shown)")
}

fn unified(hunks: &[Hunk<'_>]) -> String {
    let mut text = String::new();
    for line in hunks.iter().flat_map(|hunk| std::iter::once(&hunk.header).chain(&hunk.lines)) {
        text.push_str(line);
        text.push('\n');
    }
    text
}

fn whole_file(mark: char, text: &str) -> (String, String) {
    let mut body = String::with_capacity(text.len() + text.len() / 16);
    let mut n_lines = 0;
    for line in text.split_inclusive('\n') {
        n_lines += 1;
        body.push(mark);
        body.push_str(line);
    }
    if !text.ends_with('\n') {
        body.push_str("\n\\ No newline at end of file\n");
    }
    let range = if n_lines == 1 { "1".to_owned() } else { format!("1,{n_lines}") };
    (range, body)
}

/// `@@ -1,3 +1,4 @@ ...` as (3, 4); an omitted count is 1.
fn counts(header: &str) -> Option<(u32, u32)> {
    let (ranges, _) = header.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let count = |range: &str| match range.split_once(',') {
        Some((start, count)) => start.parse::<u32>().and(count.parse()).ok(),
        None => range.parse::<u32>().map(|_| 1).ok(),
    };
    Some((count(old)?, count(new)?))
}

/// Git's C-style quotes, for a path that holds a quote, a backslash or a control character.
fn quoted(path: &str) -> String {
    if !path.chars().any(|it| it.is_ascii_control() || matches!(it, '"' | '\\')) {
        return path.to_owned();
    }
    let mut text = String::from("\"");
    for it in path.chars() {
        match it {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '\r' => text.push_str("\\r"),
            it if it.is_ascii_control() => {
                let _ = write!(text, "\\{:03o}", u32::from(it));
            }
            it => text.push(it),
        }
    }
    text.push('"');
    text
}
