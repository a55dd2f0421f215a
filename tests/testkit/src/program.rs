//! Programs made of a shell script.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a program that runs `script` by `/bin/sh`.
///
/// A process of its own writes it. A file that we have open ourselves is inherited, until its exec, by whatever another
/// test starts at that moment; and what somebody can still write to, the system refuses to run ("text file busy").
///
/// # Errors
/// When it cannot be written.
pub fn script(path: &Path, script: &str) -> io::Result<()> {
    let mut writer = Command::new("sh")
        .args(["-c", r#"cat > "$0" && chmod 755 "$0""#])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()?;
    let mut stdin = writer.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    stdin.write_all(format!("#!/bin/sh\n{script}\n").as_bytes())?;
    drop(stdin);
    match writer.wait()?.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("{} could not be written", path.display()))),
    }
}
