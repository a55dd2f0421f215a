//! What nobody thought of: a line that no client takes does not go out.

use super::{HELLO_V1, HELLO_V2, ask_us, greeted, session};
use crate::acp::LINE_MAX;
use crate::acp::dropped::Dropped;
use crate::core::ask::{Answer, Ask};
use crate::core::ids::AskId;
use crate::core::request::{Reply, SessionOpened};
use crate::core::update::{Command, Severity, Update};
use serde_json::{Value, json};

#[test]
fn a_line_that_no_client_takes_does_not_go_out() {
    let huge = "x".repeat(LINE_MAX);
    let commands = || vec![Command { name: huge.clone(), description: String::new(), hint: None }];
    for hello in [HELLO_V1, HELLO_V2] {
        let mut edge = greeted(hello);
        let told = edge.update(&session(), &Update::Commands(commands()));
        assert_eq!((told.lines.len(), told.dropped), (0, Some(Dropped::TooLarge)));
        let notice =
            Update::Notice { severity: Severity::Info, title: "small".to_owned(), description: None };
        assert_eq!(edge.update(&session(), &notice).lines.len(), 1);

        let (ticket, _) = ask_us(&mut edge, 5, "session/new", json!({"cwd": "/w", "mcpServers": []}));
        let opened = SessionOpened { session: session(), options: Vec::new(), commands: Vec::new() };
        let failed = Reply::Failed(crate::core::failure::Failure::InvalidParams(huge.clone()));
        let line: Value = serde_json::from_str(&edge.respond(ticket, failed)).unwrap();
        assert_eq!((&line["id"], &line["error"]["code"]), (&json!(5), &json!(-32603)));
        assert!(line["error"]["message"].as_str().unwrap().ends_with("more than a client takes"));
        let (ticket, _) = ask_us(&mut edge, 6, "session/new", json!({"cwd": "/w", "mcpServers": []}));
        let line: Value = serde_json::from_str(&edge.respond(ticket, Reply::SessionOpened(opened))).unwrap();
        assert!(line["result"].is_object());

        let question = Ask::Url { message: huge.clone(), elicitation: "e".into(), url: "https://x".into() };
        let answer = edge.ask(AskId(1), &session(), &question).unwrap_err();
        assert!(matches!(answer, Answer::Failed { .. }), "{answer:?}");
        assert_eq!(edge.withdraw(AskId(1)), None, "nothing is open");
    }
}
