use super::run;
use crate::locate::Sought;
use std::os::unix::fs::PermissionsExt;

/// What the doctor says of a `codex` made of this shell script, and its exit code.
fn examine(script: &str) -> (String, u8) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("codex");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let sought = Sought { named: Some(path), ..Sought::default() };
    let mut out = Vec::new();
    let code = run(&sought, &[], &mut out).unwrap();
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
fn no_codex_at_all() {
    let mut out = Vec::new();
    let code = run(&Sought::default(), &[], &mut out).unwrap();
    let said = String::from_utf8(out).unwrap();
    assert_eq!(code, 1);
    assert!(
        said.contains("NOT   codex       codex was not found") && said.contains("npm install -g"),
        "{said}"
    );
}
