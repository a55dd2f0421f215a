use super::run;
use super::setup::Setup;
use crate::connect::Target;
use crate::connect::address::Address;
use crate::locate::Sought;

/// What the doctor says of a `codex` made of this shell script, and its exit code.
fn examine(script: &str) -> (String, u8) {
    examine_with(script, &Setup::default())
}

fn examine_with(script: &str, setup: &Setup) -> (String, u8) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("codex");
    testkit::program::script(&path, script).unwrap();
    let sought = Sought { named: Some(path), ..Sought::default() };
    let mut out = Vec::new();
    let code = run(&sought, &[], None, setup, &mut out).unwrap();
    (String::from_utf8(out).unwrap(), code)
}

fn codex(account: &str) -> String {
    format!(
        r#"if [ "$1" = --version ]; then echo codex-cli 9.9.9; exit; fi
read line; echo '{{"id":1,"result":{{}}}}'
read line; read line; echo '{{"method":"noise"}}'; echo '{{"id":2,"result":{account}}}'
read line"#
    )
}

#[test]
fn a_machine_that_is_ready() {
    let (said, code) = examine(&codex(r#"{"account":{"type":"chatgpt","planType":"plus"}}"#));
    assert_eq!(code, 0, "{said}");
    for line in [
        "ok    version     codex-cli 9.9.9",
        "ok    app-server  answers",
        "ok    login       ChatGPT, plan plus",
    ] {
        assert!(said.contains(line), "{said}");
    }
    assert!(said.contains("agent_servers") && said.contains("acpx --agent"), "{said}");
}

#[test]
fn nobody_is_logged_in() {
    let (said, code) = examine(&codex(r#"{"account":null,"requiresOpenaiAuth":true}"#));
    assert_eq!(code, 1);
    assert!(said.contains("NOT   login       nobody; run `codex login`"), "{said}");
}

#[test]
fn nobody_is_logged_in_and_there_is_a_key() {
    let setup = Setup { has_codex_key: true, ..Setup::default() };
    let (said, code) = examine_with(&codex(r#"{"account":null,"requiresOpenaiAuth":true}"#), &setup);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("ok    login       nobody; the first session gives"), "{said}");
}

#[test]
fn a_provider_of_ones_own_needs_no_login() {
    let (said, code) = examine(&codex(r#"{"account":null,"requiresOpenaiAuth":false}"#));
    assert_eq!(code, 0, "{said}");
}

#[test]
fn an_app_server_that_ends_says_why() {
    let (said, code) = examine("echo no such subcommand >&2; exit 2");
    assert_eq!(code, 1);
    assert!(said.contains("NOT   version     `codex --version` ended with exit status: 2"), "{said}");
    assert!(said.contains("NOT   app-server  it ended: exit code 2; no such subcommand"), "{said}");
}

#[test]
fn an_old_codex() {
    let script = codex(r#"{"account":null,"requiresOpenaiAuth":false}"#).replace("9.9.9", "0.99.1");
    let (said, code) = examine(&script);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("NOT   version     Codex has version 0.99.1 and is older than"), "{said}");
    assert!(said.contains("npm install -g @openai/codex"), "{said}");
}

#[test]
fn no_codex_at_all() {
    let mut out = Vec::new();
    let code = run(&Sought::default(), &[], None, &Setup::default(), &mut out).unwrap();
    let said = String::from_utf8(out).unwrap();
    assert_eq!(code, 1);
    assert!(
        said.contains("NOT   codex       codex was not found") && said.contains("npm install -g"),
        "{said}"
    );
}

#[test]
fn the_snippets_carry_what_was_said_outright() {
    let setup = Setup {
        config: vec!["model=\"x y\"".to_owned()],
        env: vec![("CODEX_HOME", "/my home".to_owned())],
        has_codex_config: true,
        has_codex_key: true,
        ..Setup::default()
    };
    let sought = Sought { named: Some("/no/such/codex".into()), ..Sought::default() };
    let mut out = Vec::new();
    run(&sought, &[], None, &setup, &mut out).unwrap();
    let said = String::from_utf8(out).unwrap();
    let (_, rest) = said.split_once("settings.json:\n").unwrap();
    let (zed, acpx) = rest.split_once("\n\n").unwrap();
    let zed: serde_json::Value = serde_json::from_str(zed).unwrap();
    let zed = &zed["agent_servers"]["Codex"];
    assert_eq!(zed["args"], serde_json::json!(["--codex", "/no/such/codex", "-c", "model=\"x y\""]));
    assert_eq!(zed["env"], serde_json::json!({"CODEX_HOME": "/my home"}));
    let us = std::env::current_exe().unwrap().display().to_string();
    let line = format!(
        r#"CODEX_HOME='/my home' acpx --agent '{us} --codex /no/such/codex -c '\''model="x y"'\''' sessions new"#
    );
    assert!(acpx.lines().any(|it| it == line), "{acpx}");
    assert!(acpx.contains("CODEX_API_KEY is set here: a client has to set it too.\n"), "{acpx}");
    assert!(acpx.ends_with("CODEX_CONFIG is set here: a client has to set it too.\n"), "{acpx}");
}

#[test]
fn without_a_word_the_snippets_need_none() {
    let mut out = Vec::new();
    run(&Sought::default(), &[], None, &Setup::default(), &mut out).unwrap();
    let said = String::from_utf8(out).unwrap();
    assert!(said.contains("\"args\": []") && said.contains("\"env\": {}"), "{said}");
}

#[cfg(unix)]
#[test]
fn an_app_server_that_should_run_and_does_not() {
    let path = tempfile::tempdir().unwrap().path().join("s");
    let target = Target { address: Address::Unix(path.clone()), token: None };
    let setup = Setup { connect: Some(target.address.to_string()), ..Setup::default() };
    let mut out = Vec::new();
    assert_eq!(run(&Sought::default(), &[], Some(&target), &setup, &mut out).unwrap(), 1);
    let said = String::from_utf8(out).unwrap();
    assert!(said.contains("NOT   connect     no connection to an app-server at unix:"), "{said}");
    assert!(said.contains(&format!("--connect unix:{}", path.display())), "{said}");
    assert!(said.contains("what still runs goes on"), "{said}");
}
