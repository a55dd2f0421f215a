use super::{Envelope, EnvelopeError};

fn shape(line: &str) -> String {
    match Envelope::parse(line.as_bytes()) {
        Ok(Envelope::Request { id, method, .. }) => format!("request {id} {method}"),
        Ok(Envelope::Notification { method, .. }) => format!("notification {method}"),
        Ok(Envelope::Response { id, .. }) => format!("response {id}"),
        Ok(Envelope::Error { id: Some(id), error }) => format!("error {id} {}", error.code),
        Ok(Envelope::Error { id: None, error }) => format!("error null {}", error.code),
        Err(error) => format!("{}", error.code()),
    }
}

#[test]
fn messages_are_told_apart_by_shape() {
    let cases = [
        (r#"{"id":1,"method":"a","params":{}}"#, "request 1 a"),
        (r#"{"id":"x","method":"a"}"#, "request \"x\" a"),
        (r#" {"method":"a","params":null}"#, "notification a"),
        (r#"{"id":7,"result":null}"#, "response 7"),
        (r#"{"id":7,"error":{"code":-1,"message":"m"}}"#, "error 7 -1"),
        (r#"{"id":null,"error":{"code":-32700}}"#, "error null -32700"),
        (r#"{"method":"a","emittedAtMs":5}"#, "notification a"),
    ];
    for (line, expected) in cases {
        assert_eq!(shape(line), expected, "{line}");
    }
}

#[test]
fn what_is_no_message_gets_its_code() {
    let invalid = [
        "[]",
        r#"[{"id":1,"method":"a"}]"#,
        "7",
        "null",
        "{}",
        r#"{"id":null,"method":"a"}"#,
        r#"{"id":1.5,"method":"a"}"#,
        r#"{"id":{},"method":"a"}"#,
        r#"{"id":1,"method":7}"#,
        r#"{"id":1,"method":"a","params":5}"#,
        r#"{"id":1,"result":1,"error":{"code":1}}"#,
        r#"{"id":1,"id":2,"method":"a"}"#,
        r#"{"id":1,"method":"a","result":1}"#,
    ];
    for line in invalid {
        assert_eq!(shape(line), "-32600", "{line}");
    }
    for line in ["", "{", "nope", r#"{"id":1,"method":"a""#, "[1,"] {
        assert_eq!(shape(line), "-32700", "{line}");
    }
    assert_eq!(Envelope::parse(b"{\"id\":1,\"method\":\"\xff\"}").unwrap_err(), EnvelopeError::NotUtf8);
}
