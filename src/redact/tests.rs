use super::unread::Wrong;
use super::{line, message, text};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
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
        ("Authorization: Basic aHVudA==", "Authorization: Basic [redacted]"),
        (r#"-H "authorization: hunter2" x"#, r#"-H "authorization: [redacted]" x"#),
        ("use basic dXNlcjpodW50ZXIy", "use basic [redacted]"),
        ("run --token hunter2 --verbose", "run --token [redacted] --verbose"),
        ("run --api-key=hunter2 -v", "run --api-key=[redacted] -v"),
        ("run --password 'a b' --key k", "run --password '[redacted]' --key [redacted]"),
        ("OPENAI_API_KEY=hunter2 codex", "OPENAI_API_KEY=[redacted] codex"),
        ("https://u:hunter2@h/mcp?key=hunter2&n=1", "https://[redacted]@h/mcp?key=[redacted]&n=1"),
        ("http://h/?x=1&sig=abc#top", "http://h/?x=1&sig=[redacted]#top"),
        (r#"{"api_key": "hunter2", "n": 1}"#, r#"{"api_key": "[redacted]", "n": 1}"#),
        (r#"{\"token\":\"hunter2\"}"#, r#"{\"token\":\"[redacted]\"}"#),
        ("--token hunter2hunter2, again hunter2hunter2", "--token [redacted], again [redacted]"),
    ];
    for (dirty, clean) in cases {
        assert_eq!(text(dirty), clean);
        assert_eq!(text(clean), clean, "redacting twice changes nothing");
    }
}

#[test]
fn ordinary_text_stays() {
    for plain in [
        "",
        "task-0123456789abcdefghij",
        "sk-short",
        "bearer of bad news",
        "disk-0123456789abcdef",
        "ü",
        "Basic authentication is used",
        "the token: it is short",
        "if token == other { a => b }",
        "key=value",
        "a pre-secret matter",
        "https://h/a@b?page=2",
        "git log --author me",
        "max_output_tokens=500",
    ] {
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
fn what_cannot_be_read_is_not_shown() {
    let deep = format!(r#"{{"d":{}1{},"env":{{"K":"hunter2"}}}}"#, "[".repeat(130), "]".repeat(130));
    let cases = [
        (deep.as_bytes(), "289 bytes of JSON that cannot be read"),
        (br#"{"env":{"K":"hunter2"},}"#, "24 bytes that are no JSON at column 24"),
        (br#"{"env":{"K":"hunter2""#, "21 bytes that are no JSON at column 21"),
        (b"hunter2\xff", "8 bytes that are not UTF-8"),
    ];
    for (bytes, said) in cases {
        assert_eq!(line(bytes).unwrap_err().to_string(), said);
    }
    assert_eq!(message("hunter2"), "(7 bytes that are no JSON at column 1)");
}

#[test]
fn what_stands_for_an_unread_line_is_wrong_at_the_same_place() {
    use crate::envelope::Envelope;
    let broken = [
        r#"{"id":1,}"#,
        r#"{"id":1"#,
        "{",
        "no",
        r#"{"id":1} x"#,
        r#"{"a":tru}"#,
        r#"["#,
        r#"{"a":"\x"}"#,
        "-",
    ];
    for text in broken {
        let unread = line(text.as_bytes()).unwrap_err();
        assert!(matches!(unread.wrong, Wrong::NotJson { .. }), "{text}");
        let error = Envelope::parse(text.as_bytes()).unwrap_err();
        assert_eq!(Envelope::parse(&unread.stand_in()).unwrap_err(), error, "{text}");
    }
    let unread = line(b"\xff").unwrap_err();
    assert_eq!(Envelope::parse(&unread.stand_in()).unwrap_err(), Envelope::parse(b"\xff").unwrap_err());
}

#[test]
fn arguments_of_tool_servers_lose_what_their_flags_name() {
    let clean = redacted(
        r#"{"mcpServers":[{"name":"s","command":"/x","args":["--token","hunter2","-v","--password=hunter2","--key","hunter2"]},
           {"name":"w","type":"http","url":"https://u:hunter2@h/mcp?access_token=hunter2"}]}"#,
    );
    let expected = r#"{"mcpServers":[{"name":"s","command":"/x","args":["--token","[redacted]","-v","--password=[redacted]","--key","[redacted]"]},
        {"name":"w","type":"http","url":"https://[redacted]@h/mcp?access_token=[redacted]"}]}"#;
    assert_eq!(clean, serde_json::from_str::<Value>(expected).unwrap());
    let again = clean.to_string();
    assert!(matches!(message(&again), Cow::Borrowed(_)), "{again}");
}

#[test]
fn a_secret_of_a_message_is_taken_out_wherever_the_message_repeats_it() {
    let clean = redacted(
        r#"{"message":"bad value hunter2hunter2 for header Authorization: Basic hunter2hunter2","echo":["hunter2hunter2"]}"#,
    );
    let expected = r#"{"message":"bad value [redacted] for header Authorization: Basic [redacted]","echo":["[redacted]"]}"#;
    assert_eq!(clean, serde_json::from_str::<Value>(expected).unwrap());
}

#[test]
fn a_member_that_is_there_twice_hides_nothing() {
    let clean = message(r#"{"a:b\"":1,"env":{"K":"hunter2"},"env":{}}"#);
    assert!(!clean.contains("hunter2"), "{clean}");
    let once = r#"{"a:b\"" : 1, "c": ":"}"#;
    assert!(matches!(message(once), Cow::Borrowed(_)));
}

#[test]
fn output_of_a_terminal_is_searched_behind_its_base64() {
    let (dirty, clean) = (STANDARD.encode("--token hunter2\n"), STANDARD.encode("--token [redacted]\n"));
    let line = |data: &str| {
        format!(
            r#"[{{"sessionUpdate":"terminal_output_chunk","data":"{data}"}},{{"output":{{"data":"{data}"}},"sessionUpdate":"terminal_update"}}]"#
        )
    };
    assert_eq!(redacted(&line(&dirty)), serde_json::from_str::<Value>(&line(&clean)).unwrap());
}

#[test]
fn long_runs_cost_no_more_than_their_length() {
    for piece in ["a-", "-", "a:", "://", "token ", "authorization:", "\\\"", "basic "] {
        let long = piece.repeat(100_000);
        assert!(text(&long).len() <= long.len() * 2, "{piece}");
    }
}

#[test]
fn a_login_is_told_without_its_key() {
    let call = r#"{"id":4,"method":"account/login/start","params":{"type":"apiKey","apiKey":"none of your business"}}"#;
    let told = message(call);
    assert!(told.contains("account/login/start") && !told.contains("business"), "{told}");
}
