//! A line that cannot be searched for secrets, and what may be told of it.

use std::fmt;

/// What stands for such a line: no byte of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unread {
    /// How long it was.
    pub bytes: usize,
    pub wrong: Wrong,
}

/// Why it cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    NotUtf8,
    /// No JSON from this column on, counted in bytes from 1.
    NotJson {
        column: usize,
    },
    /// JSON, but nested too deep, or with a number or text that has no value.
    Value,
}

impl Unread {
    /// Looks for what is wrong with a line that is no `serde_json::Value`.
    pub(super) fn of(line: &str) -> Self {
        let wrong = match serde_json::from_str::<serde::de::IgnoredAny>(line) {
            Ok(_) => Wrong::Value,
            Err(error) => Wrong::NotJson { column: error.column() },
        };
        Self { bytes: line.len(), wrong }
    }

    /// A line that is wrong in the same way and at the same place, to play a trace again. There is
    /// none for `Wrong::Value`: what is given then is no message at all.
    pub fn stand_in(&self) -> Vec<u8> {
        match self.wrong {
            Wrong::NotUtf8 => vec![0xff],
            Wrong::NotJson { column } => {
                let mut line = vec![b' '; column.min(self.bytes).saturating_sub(1)];
                line.push(b'?');
                line
            }
            Wrong::Value => b"{}".to_vec(),
        }
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, wrong } = self;
        match wrong {
            Wrong::NotUtf8 => write!(f, "{bytes} bytes that are not UTF-8"),
            Wrong::NotJson { column } => write!(f, "{bytes} bytes that are no JSON at column {column}"),
            Wrong::Value => write!(f, "{bytes} bytes of JSON that cannot be read"),
        }
    }
}
