//! What the model has typed into a command, to be read by people.
//!
//! Never part of the output: a tty echoes it there itself.

use std::collections::VecDeque;

/// Most that is kept of it, in bytes.
const MAX: usize = 4 * 1024;

/// The inputs of one command, the oldest left out first.
#[derive(Debug, Default)]
pub(crate) struct Typed {
    /// As shown, one per input.
    lines: VecDeque<String>,
    n_bytes: usize,
    is_cut: bool,
}

impl Typed {
    /// One input.
    pub(crate) fn push(&mut self, text: &str) {
        let mut line: String = text.chars().take(MAX).flat_map(visible).collect();
        if line.len() > MAX {
            line.truncate(line.floor_char_boundary(MAX));
            self.is_cut = true;
        }
        self.is_cut |= text.chars().nth(MAX).is_some();
        self.n_bytes += line.len();
        self.lines.push_back(line);
        while self.n_bytes > MAX {
            let Some(oldest) = self.lines.pop_front() else { break };
            self.n_bytes -= oldest.len();
            self.is_cut = true;
        }
    }

    /// Markdown; `None` if nothing was typed.
    pub(crate) fn markdown(&self) -> Option<String> {
        if self.lines.is_empty() {
            return None;
        }
        let head = if self.is_cut { "Typed (some of it is left out):" } else { "Typed:" };
        // An indented block needs no fence that the text could close.
        let lines: String = self.lines.iter().map(|line| format!("\n    {line}")).collect();
        Some(format!("{head}\n{lines}"))
    }
}

/// Control characters as a keyboard names them.
fn visible(it: char) -> Vec<char> {
    match it {
        '\n' | '\r' => vec!['⏎'],
        '\t' => vec!['⇥'],
        '\u{7f}' => vec!['^', '?'],
        '\0'..='\u{1f}' => vec!['^', char::from(it as u8 + b'@')],
        it => vec![it],
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX, Typed};

    #[test]
    fn keys_are_named() {
        let mut typed = Typed::default();
        assert_eq!(typed.markdown(), None);
        typed.push("ls `a`\n");
        typed.push("\u{3}\u{1b}[A\t\u{7f}");
        assert_eq!(typed.markdown().as_deref(), Some("Typed:\n\n    ls `a`⏎\n    ^C^[[A⇥^?"));
    }

    #[test]
    fn what_is_cut_is_said_to_be() {
        for long in ["é".repeat(MAX - 1), "\u{3}".repeat(MAX - 1), "x".repeat(MAX + 1)] {
            let mut typed = Typed::default();
            typed.push(&long);
            let shown = typed.markdown().unwrap();
            assert!(shown.starts_with("Typed (some of it is left out):"), "{}", &shown[..40]);
        }
    }

    #[test]
    fn only_the_last_of_much_is_kept() {
        let mut typed = Typed::default();
        for n in 0..3 {
            typed.push(&n.to_string().repeat(MAX / 2));
        }
        let shown = typed.markdown().unwrap();
        assert!(shown.starts_with("Typed (some of it is left out):"), "{}", &shown[..60]);
        assert!(!shown.contains('0') && shown.contains('1') && shown.contains('2'));
        typed.push(&"é".repeat(3 * MAX));
        let shown = typed.markdown().unwrap();
        assert!(shown.len() < MAX + 100 && !shown.contains('2'));
    }
}
