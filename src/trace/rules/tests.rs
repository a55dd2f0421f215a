use super::rules_of;
use crate::bridge::arrival::Arrival;
use crate::core::ids::Generation;
use crate::core::request::Version;

fn codex(line: &str) -> Vec<&'static str> {
    rules_of(&Arrival::CodexLine { generation: Generation(1), line: line.as_bytes() }, None)
}

#[test]
fn an_item_has_its_own_rule_before_that_of_the_notification() {
    let rules = codex(r#"{"method":"item/started","params":{"item":{"type":"commandExecution","id":"c"}}}"#);
    assert_eq!(rules.len(), 2, "{rules:?}");
    assert!(rules[0].contains("command"), "{rules:?}");
}

#[test]
fn notifications_and_requests_of_codex_have_rules() {
    assert_eq!(codex(r#"{"method":"turn/completed","params":{}}"#).len(), 1);
    assert_eq!(codex(r#"{"id":1,"method":"item/commandExecution/requestApproval","params":{}}"#).len(), 1);
}

#[test]
fn the_version_decides_which_map_speaks_of_the_client() {
    let line = br#"{"id":1,"method":"session/prompt","params":{}}"#;
    let rules = |version| rules_of(&Arrival::ClientLine(line), version);
    assert_eq!(rules(Some(Version::V1)).len(), 1);
    assert_eq!(rules(Some(Version::V2)).len(), 1);
    assert_ne!(rules(Some(Version::V1)), rules(Some(Version::V2)));
}

#[test]
fn what_no_map_knows_has_no_rule() {
    for line in [r#"{"id":1,"result":{}}"#, r#"{"method":"new/thing"}"#, "nope", "[]", r#"{"method":7}"#] {
        assert_eq!(codex(line), Vec::<&str>::new(), "{line}");
    }
    assert_eq!(rules_of(&Arrival::Deadline, None), Vec::<&str>::new());
}
