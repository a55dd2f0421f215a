//! Command output as text for people, inside a tool call.

use crate::core::update::{EndedBy, Exit, ExitStatus};

/// Most of a command's output that a text display carries, in bytes; each update repeats all of it.
pub(crate) const LIMIT: usize = 16 * 1024;

const LEFT_OUT: &str = "[earlier output left out]\n";

/// The end of a command's output, bounded.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    text: String,
    is_cut: bool,
    /// How the command ended, if that is worth a line.
    ending: Option<String>,
}

impl Tail {
    /// Adds output at the end.
    pub(crate) fn push(&mut self, text: &str) {
        self.text.push_str(text);
        if self.text.len() <= LIMIT {
            return;
        }
        let mut start = self.text.len() - LIMIT;
        while !self.text.is_char_boundary(start) {
            start += 1;
        }
        // A cut inside a line could leave half an escape sequence; the next line starts clean.
        if let Some(newline) = self.text[start..].find('\n') {
            start += newline + 1;
        }
        self.text.drain(..start);
        self.is_cut = true;
    }

    /// Replaces everything.
    pub(crate) fn replace(&mut self, text: &str) {
        self.text.clear();
        self.is_cut = false;
        self.push(text);
    }

    /// The command ended so.
    pub(crate) fn end(&mut self, exit: &Exit) {
        self.ending = ending(exit);
    }

    /// Whether `markdown` tells of an end.
    pub(crate) fn tells_end(&self) -> bool {
        self.ending.is_some()
    }

    /// Markdown that shows the output as it would stand on a screen and, below it, an end that was no
    /// success; `None` if there is neither.
    pub(crate) fn markdown(&self) -> Option<String> {
        let plain = plain(&self.text);
        if plain.is_empty() {
            return self.ending.clone();
        }
        let fence = fence(&plain);
        let head = if self.is_cut { LEFT_OUT } else { "" };
        let newline = if plain.ends_with('\n') { "" } else { "\n" };
        let last = self.ending.as_ref().map(|it| format!("\n{it}")).unwrap_or_default();
        Some(format!("{fence}\n{head}{plain}{newline}{fence}{last}"))
    }
}

/// One line on how a command ended; `None` for a plain success.
fn ending(exit: &Exit) -> Option<String> {
    let who = match exit.account.by {
        EndedBy::Client => Some("stopped by you"),
        EndedBy::Cancel => Some("stopped with its turn"),
        EndedBy::Close => Some("stopped with its session"),
        // The reason, if there is one, names them.
        EndedBy::Itself | EndedBy::Codex | EndedBy::AppServerLost => None,
    };
    let (how, reason) = match exit.status {
        ExitStatus::Code(0) => return None,
        ExitStatus::Code(code) => (format!("exit code {code}"), None),
        ExitStatus::Signal(name) => (format!("ended by {name}"), None),
        ExitStatus::Unknown => ("ended; how is not known".to_owned(), exit.account.reason),
    };
    let notes: Vec<_> = who.into_iter().chain(reason).collect();
    Some(if notes.is_empty() { how } else { format!("{how} ({})", notes.join("; ")) })
}

/// Without escape sequences, and with what a carriage return overwrote left out.
fn plain(text: &str) -> String {
    let text = anstream::adapter::strip_str(text).to_string().replace("\r\n", "\n");
    if !text.contains('\r') {
        return text;
    }
    let last = |line: &str| {
        let (body, end) = match line.strip_suffix('\n') {
            Some(body) => (body, "\n"),
            None => (line, ""),
        };
        let body = body.trim_end_matches('\r');
        format!("{}{end}", body.rsplit('\r').next().unwrap_or_default())
    };
    text.split_inclusive('\n').map(last).collect()
}

/// Longer than any run of backticks in the text.
fn fence(text: &str) -> String {
    let longest = text.split(|it| it != '`').map(str::len).max().unwrap_or_default();
    "`".repeat(longest.max(2) + 1)
}
