use super::{Sought, locate};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

fn program(path: &Path, mode: u32) {
    fs::write(path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn found(named: Option<&Path>, folders: &[&Path]) -> Result<PathBuf, String> {
    let path = std::env::join_paths(folders).unwrap();
    let sought = Sought { named: named.map(Path::to_owned), path: Some(path), extensions: None };
    locate(&sought).map_err(|error| error.to_string())
}

#[test]
fn the_first_program_on_path_is_taken() {
    let (a, b, c) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    program(&a.path().join("codex"), 0o644);
    program(&b.path().join("codex"), 0o755);
    program(&c.path().join("codex"), 0o755);
    assert_eq!(found(None, &[a.path(), b.path(), c.path()]), Ok(b.path().join("codex")));
}

#[test]
fn a_named_path_wins_and_nothing_else_is_tried() {
    let dir = tempfile::tempdir().unwrap();
    let on_path = dir.path().join("codex");
    program(&on_path, 0o755);
    let named = dir.path().join("mine");
    let error = found(Some(&named), &[dir.path()]).unwrap_err();
    assert!(error.contains("mine (no such file)"), "{error}");
    program(&named, 0o600);
    let error = found(Some(&named), &[dir.path()]).unwrap_err();
    assert!(error.contains("mine (there, but no program)"), "{error}");
    program(&named, 0o700);
    assert_eq!(found(Some(&named), &[dir.path()]), Ok(named));
}

#[test]
fn a_bare_name_is_looked_up_on_path() {
    let dir = tempfile::tempdir().unwrap();
    program(&dir.path().join("codex-dev"), 0o755);
    assert_eq!(found(Some(Path::new("codex-dev")), &[dir.path()]), Ok(dir.path().join("codex-dev")));
}

#[test]
fn the_error_says_what_was_tried_and_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(
        found(None, &[dir.path()]).unwrap_err(),
        "codex was not found: tried --codex and CODEX_PATH (not set), `codex` on PATH (1 folders); install it \
         with `npm install -g @openai/codex`, or say where it is with --codex PATH or CODEX_PATH"
    );
}
