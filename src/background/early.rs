//! Reads what Codex told the model when a command was handed back.
//!
//! Only direct mode has it (raw `function_call_output`); code mode shows nothing of the kind.

use crate::core::ids::ProcessId;

/// A command was handed back while it runs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Yielded<'a> {
    /// Codex's handle of the process.
    pub(crate) process: ProcessId,
    /// Its output up to then, from the start, unless Codex cut it for the model.
    pub(crate) output: &'a str,
}

const MARK: &str = "Process running with session ID ";
const OUTPUT: &str = "\nOutput:\n";

/// What `text`, the result of `exec_command` given to the model, says of a running process.
pub(crate) fn yielded(text: &str) -> Option<Yielded<'_>> {
    let (header, output) = text.split_once(OUTPUT).unwrap_or((text, ""));
    let line = header.lines().find_map(|line| line.strip_prefix(MARK))?;
    let digits = line.trim_end();
    let is_handle = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_handle.then(|| Yielded { process: ProcessId::new(digits), output })
}

#[cfg(test)]
mod tests {
    use super::yielded;

    #[test]
    fn the_header_names_the_process_and_the_output_follows() {
        let text = "Chunk ID: 7a\nWall time: 1.0 seconds\nProcess running with session ID 91566\n\
                    Original token count: 2\nOutput:\ntick 1\nOutput:\nx";
        let it = yielded(text).unwrap();
        assert_eq!((it.process.as_str(), it.output), ("91566", "tick 1\nOutput:\nx"));
    }

    #[test]
    fn output_cannot_pose_as_the_header() {
        assert_eq!(yielded("Process exited with code 0\nOutput:\nProcess running with session ID 7\n"), None);
        assert_eq!(yielded("aborted by user"), None);
        assert_eq!(yielded("Process running with session ID x\nOutput:\n"), None);
    }
}
