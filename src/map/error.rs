//! What can go wrong while a map or an inventory is read.

use crate::locate::NotFound;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Why a map, a schema or a Codex could not be read. Read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// A file or directory of ours could not be used.
    #[error("{action} {}", path.display())]
    File {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// There is no binary.
    #[error(transparent)]
    NotFound(#[from] NotFound),
    /// The binary could not be started at all.
    #[error("run {}; name another codex with --codex PATH or CODEX_PATH", codex.display())]
    Spawn {
        codex: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// The binary ran and said no; `stderr` is its last line.
    #[error(
        "run {} {args} ({status}): {stderr}; if it is no codex, name one with --codex PATH or CODEX_PATH",
        codex.display()
    )]
    Codex { codex: PathBuf, args: &'static str, status: ExitStatus, stderr: String },
    /// The binary ran, said yes and wrote nothing.
    #[error(
        "read the schema of {}: it wrote none, so it is no codex; name one with --codex PATH or CODEX_PATH",
        codex.display()
    )]
    NoSchema { codex: PathBuf },
    /// A schema file is no JSON.
    #[error("read {} as JSON", path.display())]
    Json {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
    /// The schema has no list of names where one is needed.
    #[error("find names under {0} in the schema")]
    Schema(String),
    /// A map file does not have the shape of a map.
    #[error("parse {file}")]
    Toml {
        file: &'static str,
        #[source]
        source: Box<toml::de::Error>,
    },
    /// The answer could not be written.
    #[error("write the answer")]
    Write(#[from] std::io::Error),
    /// The answer could not be made into JSON.
    #[error("write the answer as JSON")]
    WriteJson(#[from] serde_json::Error),
}
