//! `/diff`: the working tree against the last commit, with new files.
//!
//! Codex runs git for us, in a sandbox that writes nothing: its own diff is one to a remote, which few
//! folders have, and without new files.

use super::inquiry::ExecEnd;

/// New files that are shown whole.
pub(crate) const FILES: usize = 20;
/// Bytes of the answer.
const SHOWN: usize = 64 * 1024;

/// What is changed in files that git knows.
pub(crate) fn tracked() -> Vec<String> {
    git(&["diff", "--no-ext-diff", "--no-textconv", "--no-color", "HEAD"])
}

/// The names of new files, relative to the folder of the session.
pub(crate) fn untracked() -> Vec<String> {
    git(&["ls-files", "-z", "--others", "--exclude-standard", "--", ":/"])
}

/// A new file.
pub(crate) fn added(path: &str) -> Vec<String> {
    let diff =
        ["diff", "--no-index", "--no-ext-diff", "--no-textconv", "--no-color", "--", "/dev/null", path];
    git(&diff)
}

// A repository may name programs for git to run; none of them is.
fn git(args: &[&str]) -> Vec<String> {
    let fixed = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false"];
    fixed.iter().chain(args).map(|&arg| arg.to_owned()).collect()
}

/// The names in the output of `untracked`.
pub(crate) fn names(end: &ExecEnd) -> Vec<&str> {
    end.stdout.split('\0').filter(|name| !name.is_empty()).collect()
}

/// Why git said no, in words.
pub(crate) fn refusal(end: &ExecEnd) -> String {
    let said = end.stderr.to_ascii_lowercase();
    if said.contains("not a git repository") {
        return "The folder of this session is in no git repository.".to_owned();
    }
    if said.contains("ambiguous argument 'head'") {
        return "There is no commit yet to compare with.".to_owned();
    }
    let lines = || end.stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let told = lines().find(|line| line.starts_with("fatal:") || line.starts_with("error:"));
    match told.or_else(|| lines().next()) {
        Some(line) => format!("git could not tell: {line}"),
        None => format!("git could not tell: it ended with code {}.", end.code),
    }
}

/// All diffs as one; `more` new files are only counted.
pub(crate) fn text(diffs: &[&str], more: usize) -> String {
    let mut all = String::new();
    for diff in diffs.iter().filter(|diff| !diff.is_empty()) {
        all.push_str(diff);
        if !all.ends_with('\n') {
            all.push('\n');
        }
    }
    let more = match more {
        0 => String::new(),
        more => format!("\n\n{more} more new files are not shown."),
    };
    if all.is_empty() {
        return format!("Nothing is changed.{more}");
    }
    let cut = match all.get(..all.floor_char_boundary(SHOWN)) {
        Some(start) if start.len() < all.len() => {
            let left_out = all.len() - start.len();
            all.truncate(start.len());
            all.push('\n');
            format!("\n\n{left_out} more bytes are left out.")
        }
        Some(_) | None => String::new(),
    };
    let longest = all.split(|it| it != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}diff\n{all}{fence}{cut}{more}")
}

#[cfg(test)]
mod tests {
    use super::{SHOWN, names, refusal, text};
    use crate::core::inquiry::ExecEnd;

    fn end(code: i64, stdout: &str, stderr: &str) -> ExecEnd {
        ExecEnd { code, stdout: stdout.to_owned(), stderr: stderr.to_owned() }
    }

    #[test]
    fn the_diffs_are_one_in_a_fence_that_they_do_not_end() {
        assert_eq!(text(&["-a\n+b", "", "+```\n"], 0), "````diff\n-a\n+b\n+```\n````");
        assert_eq!(text(&[""], 0), "Nothing is changed.");
        assert!(text(&["+a\n"], 3).ends_with("```\n\n3 more new files are not shown."));
        let long = text(&["é".repeat(SHOWN).as_str()], 0);
        assert!(long.len() < SHOWN + 100 && long.ends_with("more bytes are left out."), "{}", long.len());
    }

    #[test]
    fn what_git_says_is_put_into_words() {
        let said = |stderr: &str| refusal(&end(128, "", stderr));
        assert_eq!(
            said("warning: Not a git repository. Use --no-index"),
            "The folder of this session is in no git repository."
        );
        assert_eq!(
            said("fatal: ambiguous argument 'HEAD': unknown revision"),
            "There is no commit yet to compare with."
        );
        assert_eq!(said("hint: x\nfatal: bad object\n"), "git could not tell: fatal: bad object");
        assert_eq!(said(""), "git could not tell: it ended with code 128.");
        assert_eq!(names(&end(0, "a b\0../c\0", "")), ["a b", "../c"]);
    }
}
