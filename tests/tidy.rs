//! House rules that no compiler checks: pure rooms stay pure, files stay small and say what they are.

use std::fs;
use std::path::{Path, PathBuf};

/// Rooms where time, chance and the outside world come in as values only.
const PURE: [&str; 11] = [
    "src/core.rs",
    "src/core/",
    "src/background.rs",
    "src/background/",
    "src/bridge.rs",
    "src/bridge/",
    "src/acp.rs",
    "src/acp/",
    "src/codex.rs",
    "src/codex/",
    "src/stop/plan.rs",
];

/// Words that have no place there.
const BANNED: [&str; 11] = [
    "async",
    "await",
    "tokio",
    "std::process",
    "std::net",
    "std::fs",
    "std::env",
    "Instant",
    "SystemTime",
    "rand",
    "spawn_blocking",
];

const LINES_MAX: usize = 600;
const FORBIDDEN_NAMES: [&str; 4] = ["utils.rs", "helpers.rs", "types.rs", "common.rs"];

struct Source {
    /// Relative to the project, with `/`.
    path: String,
    text: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["src", "tests"] {
        collect(&root.join(folder), &mut files);
    }
    let read = |file: PathBuf| Source {
        path: file.strip_prefix(root).expect("it was found there").to_string_lossy().replace('\\', "/"),
        text: fs::read_to_string(&file).expect("sources are text"),
    };
    files.into_iter().map(read).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        match path.extension() {
            _ if path.is_dir() => collect(&path, files),
            Some(extension) if extension == "rs" => files.push(path),
            _ => {}
        }
    }
}

fn is_test(source: &Source) -> bool {
    source.path.ends_with("/tests.rs") || source.path.contains("/tests/") || source.path.starts_with("tests/")
}

/// Whether `text` has `word` where no name goes on at either side.
fn has_word(text: &str, word: &str) -> bool {
    let is_name = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    text.match_indices(word).any(|(at, _)| {
        let bytes = text.as_bytes();
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        !is_name(before) && !is_name(bytes.get(at + word.len()))
    })
}

/// The code of a line: comments and texts may use any word. `env!` is the compiler's, not the process's.
fn code(line: &str) -> String {
    let line = line.split("//").next().unwrap_or_default();
    line.split('"').step_by(2).collect::<Vec<_>>().join("\"\"")
}

#[test]
fn words_are_found_as_words() {
    assert!(has_word("use std::fs;", "std::fs") && has_word("async fn", "async"));
    assert!(!has_word("operand", "rand") && !has_word("asynchronous", "async"));
    assert_eq!(code("let x = \"async\"; // tokio").trim(), "let x = \"\";");
}

#[test]
fn pure_rooms_are_pure() {
    let mut seen = 0;
    for source in sources().iter().filter(|source| !is_test(source)) {
        if !PURE.iter().any(|room| source.path.starts_with(room)) {
            continue;
        }
        seen += 1;
        // Unit tests at the end of a file may do what they like.
        let body = source.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for (at, line) in body.lines().enumerate() {
            let found = BANNED.iter().find(|word| has_word(&code(line), word));
            assert!(found.is_none(), "{}:{}: {} in a pure room", source.path, at + 1, found.unwrap());
        }
    }
    assert!(seen > 10, "the pure rooms were found");
}

#[test]
fn files_are_small_say_what_they_are_and_have_a_name() {
    for source in sources() {
        let Source { path, text } = &source;
        let n_lines = text.lines().count();
        assert!(n_lines <= LINES_MAX, "{path} has {n_lines} lines");
        let name = path.rsplit('/').next().unwrap_or_default();
        assert!(!FORBIDDEN_NAMES.contains(&name), "{path} says nothing by its name");
        if path.starts_with("src/") && !is_test(&source) {
            assert!(text.starts_with("//! "), "{path} does not say what it is");
        }
    }
}

#[test]
fn only_the_shell_starts_tasks() {
    for source in sources().iter().filter(|source| source.path.starts_with("src/") && !is_test(source)) {
        let may = ["src/run.rs", "src/child.rs", "src/connect.rs"].contains(&source.path.as_str());
        assert!(may || !source.text.contains("tokio::spawn("), "{} starts tasks", source.path);
    }
}
