use super::{message, text};
use serde_json::Value;
use std::borrow::Cow;

fn redacted(json: &str) -> Value {
    serde_json::from_str(&message(json)).unwrap()
}

#[test]
fn keys_in_text_are_taken_out() {
    let cases = [
        ("key sk-proj-abcdefghijklmno123 rejected", "key [redacted] rejected"),
        ("Authorization: Bearer abc.def-ghi_jkl123456", "Authorization: Bearer [redacted]"),
        ("authorization: bearer abcdefghijklmnop", "authorization: bearer [redacted]"),
        ("two ghp_0123456789abcdef and sk-0123456789abcdef", "two [redacted] and [redacted]"),
        ("api_key=0123456789abcdef&x=1", "api_key=[redacted]&x=1"),
        ("é sk-0123456789abcdefg é", "é [redacted] é"),
    ];
    for (dirty, clean) in cases {
        assert_eq!(text(dirty), clean);
        assert_eq!(text(clean), clean, "redacting twice changes nothing");
    }
}

#[test]
fn ordinary_text_stays() {
    for plain in
        ["", "task-0123456789abcdefghij", "sk-short", "bearer of bad news", "disk-0123456789abcdef", "ü"]
    {
        assert!(matches!(text(plain), Cow::Borrowed(same) if same == plain), "{plain}");
    }
}

#[test]
fn values_under_secret_names_are_taken_out() {
    let clean = redacted(
        r#"{"apiKey":"x","nested":{"access_token":"y","OPENAI_API_KEY":"z"},"tokenUsage":{"total":5},"token":null}"#,
    );
    let expected = r#"{"apiKey":"[redacted]","nested":{"access_token":"[redacted]","OPENAI_API_KEY":"[redacted]"},"tokenUsage":{"total":5},"token":null}"#;
    assert_eq!(clean, serde_json::from_str::<Value>(expected).unwrap());
}

#[test]
fn env_and_headers_of_tool_servers_are_taken_out_in_both_spellings() {
    let clean = redacted(
        r#"{"mcpServers":[{"name":"a","env":[{"name":"K","value":"v"}],"headers":[{"name":"X","value":"w"}]}],
           "mcp_servers":{"b":{"env":{"K":"v"},"http_headers":{"X":"w"},"command":"run"}}}"#,
    );
    let expected = r#"{"mcpServers":[{"name":"a","env":[{"name":"K","value":"[redacted]"}],"headers":[{"name":"X","value":"[redacted]"}]}],
        "mcp_servers":{"b":{"env":{"K":"[redacted]"},"http_headers":{"X":"[redacted]"},"command":"run"}}}"#;
    assert_eq!(clean, serde_json::from_str::<Value>(expected).unwrap());
}

#[test]
fn a_message_without_secrets_keeps_its_very_text() {
    let line = r#"{"method":"b", "a":1.50,"params":{"z":1,"a":"text"}}"#;
    assert!(matches!(message(line), Cow::Borrowed(same) if same == line));
}

#[test]
fn redacting_a_message_twice_changes_nothing() {
    let once = message(r#"{"env":{"A":"b"},"text":"sk-0123456789abcdef0"}"#).into_owned();
    assert!(matches!(message(&once), Cow::Borrowed(_)), "{once}");
}

#[test]
fn what_is_no_json_is_treated_as_text() {
    assert_eq!(message("panic: sk-0123456789abcdef0"), "panic: [redacted]");
}
