//! What Codex holds back while a question is open must not be taken for an end.

use crate::rig::Rig;
use serde_json::{Value, json};

/// Codex says nothing of the first command's end while the second question is open.
#[test]
fn a_command_whose_end_is_held_back_by_another_question_did_not_fail() {
    let mut rig = Rig::running(2);
    for (request, id) in [(100, "c1"), (101, "c2")] {
        rig.command("A", id, None);
        rig.asks(request, "command", "A", id);
    }
    rig.allow();
    rig.notify("serverRequest/resolved", json!({"requestId": 100}));
    rig.pass(1_500, &json!([]));
    rig.command_ended("A", "c1", "hi\n", 0);
    rig.want(ends(&rig, "c1") == ["completed"], "a command that succeeded is told otherwise");
}

#[test]
fn a_command_with_a_second_question_is_not_over() {
    let mut rig = Rig::running(2);
    rig.command("A", "c1", None);
    rig.asks(100, "command", "A", "c1");
    rig.allow();
    rig.asks(101, "network", "A", "c1");
    rig.pass(5_000, &json!([]));
    rig.want(ends(&rig, "c1").is_empty(), "it has ended while its question is open");
}

/// The command itself is shown with the question.
#[test]
fn the_title_of_a_question_is_one_line_that_fits() {
    let mut rig = Rig::running(2);
    let (long, offered) = (
        format!("echo {}\necho b", "x".repeat(5_000)),
        json!({"acceptWithExecpolicyAmendment":
        {"execpolicy_amendment": ["echo", format!("{}\necho b", "x".repeat(5_000))]}}),
    );
    let params = json!({"kind": "command", "turnId": "A", "itemId": "c1", "cwd": "/w", "command": long,
        "availableDecisions": ["accept", offered, "cancel"]});
    let mut line = json!({"id": 900, "method": "item/commandExecution/requestApproval", "params": params});
    line["params"]["threadId"] = json!(crate::rig::SESSION);
    rig.codex(line);
    let question = rig.told.iter().find(|it| it["method"] == "session/request_permission");
    let question = question.expect("the user is asked")["params"].clone();
    let names = question["options"].as_array().into_iter().flatten().map(|it| &it["name"]);
    for text in names.chain([&question["title"]]) {
        let text = text.as_str().unwrap_or_default();
        rig.want(!text.is_empty() && text.lines().count() == 1, "not one line");
        rig.want(text.chars().count() < 200, "too long");
    }
    rig.want(question["subject"]["command"] == json!(long), "the command is not whole");
}

/// What does not fit into its title is said below it.
#[test]
fn a_long_question_of_a_tool_server_is_whole() {
    let mut rig = Rig::running(2);
    let message = "Delete it?\nReally, all of it?";
    let schema = json!({"type": "object", "properties": {"sure": {"type": "boolean"}}});
    let params = json!({"threadId": crate::rig::SESSION, "turnId": "A", "serverName": "docs", "mode": "form",
        "message": message, "requestedSchema": schema});
    rig.codex(json!({"id": 900, "method": "mcpServer/elicitation/request", "params": params}));
    let question = rig.told.iter().find(|it| it["method"] == "session/request_permission");
    let question = question.expect("the user is asked")["params"].clone();
    rig.want(question["title"] == "Delete it?", "the title is not one line");
    let below = question["description"].as_str().unwrap_or_default();
    rig.want(below.contains(message) && below.contains("docs"), "it is not whole");
}

/// Every final status that the call was given.
fn ends<'a>(rig: &'a Rig, call: &str) -> Vec<&'a str> {
    let own = rig.updates().filter(|it| it["toolCallId"] == call);
    let status = |it: &'a Value| it["status"].as_str();
    own.filter_map(status).filter(|it| ["completed", "failed", "cancelled"].contains(it)).collect()
}

#[test]
fn only_an_offered_allow_is_an_approval() {
    let answers = [
        json!({"result": {"outcome": {"outcome": "selected", "optionId": "made-up"}}}),
        json!({"result": {"outcome": {"outcome": "cancelled"}}}),
        json!({"result": {"outcome": {"outcome": "surprise"}}}),
        json!({"result": {}}),
        json!({"error": {"code": -32800, "message": "cancelled"}}),
        json!({"error": {"code": -32603, "message": "no window"}}),
    ];
    for answer in answers {
        let mut rig = Rig::running(2);
        rig.asks(900, "command", "A", "c1");
        let is_ask = |it: &&Value| it["method"] == "session/request_permission";
        let question = rig.told.iter().find(is_ask).expect("the user is asked").clone();
        let mut line = answer.clone();
        line["id"] = question["id"].clone();
        rig.client(&line);
        rig.want(rig.answered(900) == vec![json!({"decision": "cancel"})], &format!("{answer}"));
        // A second answer is none.
        rig.client(&line);
        rig.want(rig.answered(900).len() == 1, &format!("{answer} twice"));
        let is_told = rig.updates().any(|it| it.to_string().contains("could not ask you"));
        let is_failure = answer["error"]["code"] == -32603 || answer["result"] == json!({});
        rig.want(is_told == is_failure, &format!("{answer}: the user is told {is_told}"));
        let is_told = rig.updates().any(|it| it.to_string().contains("was not offered"));
        let is_made_up = answer["result"]["outcome"]["outcome"] == "selected";
        rig.want(is_told == is_made_up, &format!("{answer}: the user is told {is_told}"));
    }
}
