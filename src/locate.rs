//! Where the `codex` program is: named outright, or found on PATH.
//!
//! Does not run it and does not read the environment; both come in.

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where to look.
#[derive(Clone, Debug, Default)]
pub struct Sought {
    /// `--codex` or `CODEX_PATH`: a path, or a name to look up on PATH. Nothing else is tried then.
    pub named: Option<PathBuf>,
    /// `PATH`.
    pub path: Option<OsString>,
    /// `PATHEXT`, on Windows.
    pub extensions: Option<OsString>,
}

/// `codex` is nowhere; says what was tried and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "codex was not found: tried {}; install it with `npm install -g @openai/codex`, or say where it is with --codex PATH or CODEX_PATH",
    list(tried)
)]
pub struct NotFound {
    /// What was tried, for people.
    tried: Vec<String>,
}

/// The program to run.
///
/// # Errors
/// `NotFound` if no candidate is an executable file.
pub fn locate(sought: &Sought) -> Result<PathBuf, NotFound> {
    let name = match &sought.named {
        Some(named) if named.components().count() > 1 => return named_file(named),
        Some(named) => named.clone(),
        None => PathBuf::from("codex"),
    };
    let folders: Vec<PathBuf> = sought.path.iter().flat_map(std::env::split_paths).collect();
    let names = spellings(&name, sought);
    for folder in &folders {
        if let Some(found) = names.iter().map(|name| folder.join(name)).find(|file| is_program(file)) {
            return Ok(found);
        }
    }
    let mut tried = vec![format!("`{}` on PATH ({} folders)", name.display(), folders.len())];
    if sought.named.is_none() {
        tried.insert(0, "--codex and CODEX_PATH (not set)".to_owned());
    }
    Err(NotFound { tried })
}

fn named_file(named: &Path) -> Result<PathBuf, NotFound> {
    match (is_program(named), named.exists()) {
        (true, _) => Ok(named.to_owned()),
        (false, true) => {
            Err(NotFound { tried: vec![format!("{} (there, but no program)", named.display())] })
        }
        (false, false) => Err(NotFound { tried: vec![format!("{} (no such file)", named.display())] }),
    }
}

fn spellings(name: &Path, sought: &Sought) -> Vec<PathBuf> {
    if !cfg!(windows) || name.extension().is_some() {
        return vec![name.to_owned()];
    }
    let extensions = sought.extensions.clone().unwrap_or_else(|| ".EXE;.CMD;.BAT".into());
    extensions
        .to_string_lossy()
        .split(';')
        .map(|extension| name.with_extension(extension.trim_start_matches('.')))
        .collect()
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}

fn list(tried: &[String]) -> String {
    tried.join(", ")
}
