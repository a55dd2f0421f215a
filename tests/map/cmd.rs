//! The `map` subcommand as a user sees it.

use appserver_acp::cmd::map::{MapArgs, Outcome, exit_code, run};
use appserver_acp::locate::Sought;
use appserver_acp::map::error::MapError;
use clap::Parser;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    map: MapArgs,
}

#[test]
fn words_must_all_be_in_a_row() {
    let (result, text) = map(&["background", "CLEAN", "--side", "codex"]);
    assert_eq!(exit_code(&result), 0);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[0].starts_with("SIDE   RULE"), "{text}");
    assert!(lines[1].starts_with("codex  request.thread.background_terminals.clean  mapped"), "{text}");
    assert_eq!(lines[2], "1 rows, Codex 0.171.0");
}

#[test]
fn without_words_everything_is_printed() {
    let (_, text) = map(&[]);
    let n_values: usize = appserver_acp::map::value_sets().iter().map(|it| it.names().count()).sum();
    let n_rows = appserver_acp::map::rows().len();
    assert_eq!(text.lines().count(), n_rows + n_values + 2);
}

#[test]
fn json_has_a_field_per_column() {
    let (_, text) = map(&["--json", "rawresponse/completed"]);
    let lines: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        lines,
        serde_json::json!([{
            "side": "codex",
            "kind": "notification",
            "rule": "raw_response.completed",
            "verdict": "ignored",
            "from": "rawResponse/completed",
            "to": "",
            "note": "token counts of one response; thread/tokenUsage/updated has the sum",
        }])
    );
}

#[test]
fn a_codex_that_is_not_there_cannot_be_checked() {
    let (result, text) = map(&["check", "--codex", "/no/such/codex"]);
    assert_eq!(exit_code(&result), 2);
    let why = result.unwrap_err().to_string();
    assert!(why.starts_with("codex was not found: tried /no/such/codex (no such file); install it"), "{why}");
    assert_eq!(text, "");
}

#[cfg(unix)]
#[test]
fn a_codex_with_other_names_differs() {
    let codex = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/map/other-codex.sh");
    let (result, text) = map(&["check", "--codex", codex]);
    assert_eq!(exit_code(&result), 1);
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("Codex 9.9.9 differs from the map (made for 0.171.0): 4 new, "), "{first}");
    assert!(text.contains("\nserver_requests       new   item/new/ask "), "{text}");

    let (result, text) = map(&["check", "--json", "--codex", codex]);
    assert_eq!(exit_code(&result), 1);
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["installed"], "9.9.9");
    assert_eq!(report["differences"][0]["change"], "new");
}

#[cfg(unix)]
#[test]
fn a_codex_that_refuses_is_quoted() {
    let (result, _) = map(&["inventory", "--codex", "/bin/false"]);
    assert_eq!(exit_code(&result), 2);
    let text = result.unwrap_err().to_string();
    assert_eq!(
        text,
        "run /bin/false --version (exit status: 1): no message; if it is no codex, name one with --codex PATH or CODEX_PATH"
    );
}

#[cfg(unix)]
#[test]
fn a_program_without_a_schema_is_no_codex() {
    let (result, _) = map(&["check", "--codex", "/bin/true"]);
    assert_eq!(exit_code(&result), 2);
    let text = result.unwrap_err().to_string();
    assert!(text.starts_with("read the schema of /bin/true: it wrote none, so it is no codex"), "{text}");
}

#[test]
fn words_that_no_row_has_are_not_found() {
    let (result, text) = map(&["nosuchword"]);
    assert_eq!((exit_code(&result), text.as_str()), (1, ""));
    let (result, text) = map(&["--json", "nosuchword"]);
    assert_eq!((exit_code(&result), text.as_str()), (1, "[]\n"));
}

fn map(words: &[&str]) -> (Result<Outcome, MapError>, String) {
    let cli = Cli::try_parse_from(["map"].iter().chain(words)).expect("words of the command line");
    let mut out = Vec::new();
    let result = run(&cli.map, &Sought::default(), &mut out);
    (result, String::from_utf8(out).expect("text"))
}
