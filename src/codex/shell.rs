//! The script inside `/bin/bash -lc '…'`.
//!
//! Codex shows a command as a shell-quoted line; people wrote only its last word.

/// The bare script of a command line; the line itself where it is not a shell with one script.
pub(crate) fn decode_script(line: &str) -> String {
    match shlex::split(line) {
        Some(words) => match words.as_slice() {
            [shell, flag, script] if is_shell(shell) && matches!(flag.as_str(), "-lc" | "-c") => {
                script.clone()
            }
            _ => line.to_owned(),
        },
        None => line.to_owned(),
    }
}

fn is_shell(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    matches!(name, "sh" | "bash" | "zsh" | "dash" | "ksh" | "fish")
}
