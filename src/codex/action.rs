//! What a command does, from Codex's own parse of it: title, kind and places.
//!
//! Owns which places are certain. The command itself is in `command`.

use super::bound::{Room, json_len};
use super::place::{absolute, one_line};
use crate::core::heading::shown;
use crate::core::update::{Location, ToolKind};
use serde::Deserialize;

/// Most that the places of a command take in a line, in bytes.
const PLACES_MAX: usize = 256 << 10;
/// Most steps that a title names.
const TITLES_MAX: usize = 16;
/// Parts of a path that Codex leaves out when it names a place by its last part.
const PASSED_OVER: [&str; 4] = ["build", "dist", "node_modules", "src"];

/// One step of a command. `path` of a `read` is absolute; of the others it is no path but the last part of one,
/// as Codex 0.171.0 was seen to say it: `deep` for `rg x src/deep`.
#[derive(Deserialize)]
pub(crate) struct WireAction {
    #[serde(rename = "type")]
    kind: String,
    /// The step alone, shell-quoted.
    #[serde(default, deserialize_with = "crate::codex::misfit::or_default")]
    command: String,
    path: Option<String>,
    query: Option<String>,
}

/// Title, kind and places of a command.
pub(crate) struct Summary {
    pub(crate) title: String,
    pub(crate) kind: ToolKind,
    pub(crate) locations: Vec<Location>,
}

/// What one step says about the whole command.
struct Step {
    title: String,
    kind: ToolKind,
    location: Option<Location>,
}

/// What `script` does in `cwd`.
pub(crate) fn summary(script: &str, cwd: &str, actions: &[WireAction]) -> Summary {
    let steps: Option<Vec<Step>> = actions.iter().map(|it| decode_step(it, script, cwd)).collect();
    match steps {
        Some(steps) if !steps.is_empty() => sum_up(steps),
        _ => Summary { title: one_line(script), kind: ToolKind::Execute, locations: Vec::new() },
    }
}

// `None` for a step that Codex could not read: the script says more than half a summary.
fn decode_step(action: &WireAction, script: &str, cwd: &str) -> Option<Step> {
    let name = action.path.as_deref().filter(|it| !it.is_empty());
    let words = shlex::split(&action.command).unwrap_or_default();
    let is_read = action.kind == "read";
    let path = name.and_then(|name| if is_read { Some(name) } else { written(name, &words, action) });
    let place = path.or(name).map(|it| shown(it, cwd));
    let (title, kind) = match (action.kind.as_str(), place, action.query.as_deref()) {
        ("read", Some(place), _) => (format!("Read {place}"), ToolKind::Read),
        ("listFiles", Some(place), _) => (format!("List {place}"), ToolKind::Search),
        ("listFiles", None, _) => ("List files".to_owned(), ToolKind::Search),
        ("search", Some(place), Some(query)) => (format!("Search {place} for {query}"), ToolKind::Search),
        ("search", Some(place), None) => (format!("Search {place}"), ToolKind::Search),
        ("search", None, Some(query)) => (format!("Search for {query}"), ToolKind::Search),
        _ => return None,
    };
    // Codex follows a `cd` for what is read, and for nothing else.
    let certain = path.filter(|path| is_read || path.starts_with('/') || !changes_folder(script));
    let line = if is_read { first_line(&words) } else { None };
    let location = certain.map(|path| Location { path: absolute(path, cwd), line });
    Some(Step { title, kind, location })
}

/// The word of the step that Codex names by its last part, if it can be no other.
fn written<'a>(name: &str, words: &'a [String], action: &WireAction) -> Option<&'a str> {
    let last_part = |word: &str| {
        let mut parts = word.split('/').filter(|it| !it.is_empty());
        parts.rfind(|it| !PASSED_OVER.contains(it)).unwrap_or(word.trim_end_matches('/')) == name
    };
    let words = words.iter().skip(1).map(String::as_str);
    let is_path =
        |word: &&str| !word.starts_with('-') && Some(*word) != action.query.as_deref() && last_part(word);
    let mut its = words.filter(is_path);
    let first = its.next()?;
    its.all(|it| it == first).then_some(first)
}

fn changes_folder(script: &str) -> bool {
    script.split(|it: char| !it.is_ascii_alphanumeric()).any(|it| matches!(it, "cd" | "pushd" | "popd"))
}

/// The line from which a file is read, counted from 1: `sed -n 10,20p` and `tail -n +10`.
fn first_line(words: &[String]) -> Option<u32> {
    let of = |words: &[String]| match words {
        [sed, n, lines] if sed == "sed" && n == "-n" => {
            let lines = lines.strip_suffix('p')?;
            let (from, to) = lines.split_once(',').unwrap_or((lines, "$"));
            let is_end = to == "$" || to.parse::<u32>().is_ok();
            from.parse().ok().filter(|_| is_end)
        }
        [tail, n, from] if tail == "tail" && n == "-n" => from.strip_prefix('+')?.parse().ok(),
        _ => None,
    };
    words.windows(3).find_map(of).filter(|line| *line > 0)
}

fn sum_up(steps: Vec<Step>) -> Summary {
    let mut titles: Vec<String> = Vec::new();
    let mut locations: Vec<Location> = Vec::new();
    let mut kind = None;
    let mut room = Room(PLACES_MAX);
    for step in steps {
        kind = match kind {
            None => Some(step.kind),
            Some(kind) if kind == step.kind => Some(kind),
            Some(_) => Some(ToolKind::Execute),
        };
        // One line is all that is shown of them.
        if titles.len() < TITLES_MAX && !titles.contains(&step.title) {
            titles.push(step.title);
        }
        let is_new = |it: &Location| !locations.contains(it) && room.takes(json_len(&it.path));
        locations.extend(step.location.filter(is_new));
    }
    Summary { title: one_line(&titles.join(", ")), kind: kind.unwrap_or(ToolKind::Execute), locations }
}

#[cfg(test)]
mod tests {
    use super::{WireAction, summary};
    use serde_json::json;

    /// Title and places, of actions as Codex 0.171.0 told them.
    fn of(script: &str, actions: serde_json::Value) -> (String, Vec<(String, Option<u32>)>) {
        let actions: Vec<WireAction> = serde_json::from_value(actions).unwrap();
        let it = summary(script, "/w", &actions);
        (it.title, it.locations.into_iter().map(|it| (it.path, it.line)).collect())
    }

    #[test]
    fn a_place_is_told_only_where_it_is_certain() {
        let search = |command: &str, query: &str, path: &str| json!([{"type": "search", "command": command, "query": query, "path": path}]);
        let list =
            |command: &str, path: &str| json!([{"type": "listFiles", "command": command, "path": path}]);
        let cases = [
            (
                "rg x src/deep",
                search("rg x src/deep", "x", "deep"),
                "Search src/deep for x",
                Some("/w/src/deep"),
            ),
            ("rg x /etc/apt", search("rg x /etc/apt", "x", "apt"), "Search /etc/apt for x", Some("/etc/apt")),
            ("rg -n x src", search("rg -n x src", "x", "src"), "Search src for x", Some("/w/src")),
            ("rg x ../src", search("rg x ../src", "x", ".."), "Search ../src for x", Some("/w/../src")),
            (
                "rg x a/node_modules/b",
                search("rg x a/node_modules/b", "x", "b"),
                "Search a/node_modules/b for x",
                Some("/w/a/node_modules/b"),
            ),
            (
                "rg deep src/deep",
                search("rg deep src/deep", "deep", "deep"),
                "Search src/deep for deep",
                Some("/w/src/deep"),
            ),
            ("ls -la 'a dir/b'", list("ls -la 'a dir/b'", "b"), "List a dir/b", Some("/w/a dir/b")),
            ("cd src && ls deep", list("ls deep", "deep"), "List deep", None),
            ("cd src && ls /deep", list("ls /deep", "deep"), "List /deep", Some("/deep")),
            // Two words could be meant, or none.
            ("ls a/x b/x", list("ls a/x b/x", "x"), "List x", None),
            ("ls", list("ls", "x"), "List x", None),
        ];
        for (script, actions, title, place) in cases {
            let places = place.map(|it| (it.to_owned(), None)).into_iter().collect();
            assert_eq!(of(script, actions), (title.to_owned(), places), "{script}");
        }
    }

    #[test]
    fn a_file_is_followed_to_the_line_from_which_it_is_read() {
        let cases = [
            ("sed -n '10,20p' a.rs", Some(10)),
            ("sed -n 7p a.rs", Some(7)),
            ("nl -ba a.rs | sed -n '3,$p'", Some(3)),
            ("tail -n +12 a.rs", Some(12)),
            ("tail -n 12 a.rs", None),
            ("sed -n '0,3p' a.rs", None),
            ("sed -n '/x/,$p' a.rs", None),
            ("sed -n '1,99999999999p' a.rs", None),
            ("cat a.rs", None),
        ];
        for (script, line) in cases {
            let read = json!([{"type": "read", "command": script, "name": "a.rs", "path": "/w/src/a.rs"}]);
            let places = vec![("/w/src/a.rs".to_owned(), line)];
            assert_eq!(
                of(&format!("cd src && {script}"), read),
                ("Read src/a.rs".to_owned(), places),
                "{script}"
            );
        }
    }
}
