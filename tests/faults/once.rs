//! Every question of Codex's is answered once, or withdrawn once: whatever kind it is, however it is put,
//! and whatever the client says. Only an offered allow is one.

use crate::rig::{Rig, SESSION, active, idle};
use serde_json::{Value, json};

/// A question of Codex's, and how it is put.
struct Case {
    name: &'static str,
    method: &'static str,
    params: Value,
    version: u32,
    /// The client has forms and pages.
    has_forms: bool,
}

/// Request ids of the two questions.
const FIRST: u32 = 900;
const SECOND: u32 = 901;

fn cases() -> Vec<Case> {
    let question = |secret: bool, options: Value| json!({"questions": [{"id": "q", "header": "H", "question": "Which?", "isOther": false, "isSecret": secret, "options": options}]});
    let options = json!([{"label": "A", "description": "a"}, {"label": "B", "description": "b"}]);
    let form = json!({"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]});
    let mcp = |more: Value| {
        let mut params =
            json!({"serverName": "docs", "environmentId": null, "_meta": null, "message": "Hm?"});
        if let (Some(params), Value::Object(more)) = (params.as_object_mut(), more) {
            params.extend(more);
        }
        params
    };
    let approval = json!({"codex_approval_kind": "mcp_tool_call", "persist": "session", "tool_name": "wipe"});
    let nothing = json!({"type": "object", "properties": {}});
    let command = json!({"kind": "command", "command": "echo hi", "cwd": "/w", "availableDecisions": ["accept", "acceptForSession", "decline", "cancel"]});
    let mut network = command.clone();
    network["networkApprovalContext"] = json!({"host": "x", "protocol": "https"});
    let permissions = json!({"environmentId": null, "startedAtMs": 0, "cwd": "/w", "reason": null, "permissions": {"network": {"enabled": true}}});
    let kinds = [
        ("command", "item/commandExecution/requestApproval", command),
        ("network", "item/commandExecution/requestApproval", network),
        (
            "file",
            "item/fileChange/requestApproval",
            json!({"reason": null, "grantRoot": null, "startedAtMs": 0}),
        ),
        ("permissions", "item/permissions/requestApproval", permissions),
        ("question", "item/tool/requestUserInput", question(false, options)),
        (
            "tool",
            "mcpServer/elicitation/request",
            mcp(json!({"mode": "form", "requestedSchema": nothing, "_meta": approval})),
        ),
        ("form", "mcpServer/elicitation/request", mcp(json!({"mode": "form", "requestedSchema": form}))),
        (
            "page",
            "mcpServer/elicitation/request",
            mcp(json!({"mode": "url", "url": "https://x.example", "elicitationId": "e"})),
        ),
    ];
    let mut cases = Vec::new();
    for (name, method, params) in kinds {
        for (version, has_forms) in [(1, false), (1, true), (2, false), (2, true)] {
            cases.push(Case { name, method, params: params.clone(), version, has_forms });
        }
    }
    cases
}

impl Case {
    fn rig(&self) -> Rig {
        let elicitation = if self.has_forms { json!({"form": {}, "url": {}}) } else { json!(null) };
        let mut rig = Rig::greeted_with(self.version, &json!({"elicitation": elicitation}));
        rig.booted();
        rig.request("new", "session/new", json!({"cwd": "/w", "mcpServers": []}));
        rig.ok("fs/getMetadata", json!({"isDirectory": true}));
        rig.ok("thread/start", idle());
        rig.prompt("p1");
        rig.started("A");
        rig
    }

    fn ask(&self, rig: &mut Rig, request: u32) {
        let mut params = self.params.clone();
        params["threadId"] = json!(SESSION);
        params["turnId"] = json!("A");
        params["itemId"] = json!(format!("c{request}"));
        rig.codex(json!({"id": request, "method": self.method, "params": params}));
    }

    fn told(&self, what: &str) -> String {
        let forms = if self.has_forms { "with forms" } else { "without forms" };
        format!("{} in v{} {forms}: {what}", self.name, self.version)
    }
}

/// The questions that were put to the client.
fn questions(rig: &Rig) -> Vec<Value> {
    let is_ask =
        |it: &&Value| it["method"] == "session/request_permission" || it["method"] == "elicitation/create";
    rig.told.iter().filter(is_ask).cloned().collect()
}

fn withdrawals(rig: &Rig, question: &Value) -> usize {
    let is_it =
        |it: &&Value| it["method"] == "$/cancel_request" && it["params"]["requestId"] == question["id"];
    rig.told.iter().filter(is_it).count()
}

/// How Codex was answered, errors too.
fn answers(rig: &Rig, request: u32) -> Vec<Value> {
    let mut answers = rig.answered(request);
    if rig.refused(request) {
        answers.push(json!("refused"));
    }
    answers
}

fn is_yes(answer: &Value) -> bool {
    let is_full = |it: &Value| it.as_object().is_some_and(|it| !it.is_empty());
    let is_allowed = |it: &Value| it.as_str().is_some_and(|it| it.starts_with("accept"));
    is_allowed(&answer["decision"])
        || is_allowed(&answer["action"])
        || is_full(&answer["permissions"])
        || answer["answers"]["q"]["answers"].as_array().is_some_and(|it| !it.is_empty())
}

/// What a client can say that is no yes, to either kind of request.
fn no_answers() -> Vec<Value> {
    vec![
        json!({"result": {"outcome": {"outcome": "selected", "optionId": "made-up"}}}),
        json!({"result": {"outcome": {"outcome": "selected", "optionId": "decision-99"}}}),
        json!({"result": {"outcome": {"outcome": "selected", "optionId": "answer-99"}}}),
        json!({"result": {"outcome": {"outcome": "selected", "optionId": "answer-+0"}}}),
        json!({"result": {"outcome": {"outcome": "selected", "optionId": "answer-00"}}}),
        json!({"result": {"outcome": {"outcome": "selected"}}}),
        json!({"result": {"outcome": {"outcome": "cancelled"}}}),
        json!({"result": {"outcome": {"outcome": "surprise"}}}),
        json!({"result": {"action": "decline"}}),
        json!({"result": {"action": "cancel"}}),
        json!({"result": {"action": "surprise"}}),
        json!({"result": {}}),
        json!({"error": {"code": -32800, "message": "cancelled"}}),
        json!({"error": {"code": -32601, "message": "no such method"}}),
    ]
}

fn reply(rig: &mut Rig, question: &Value, answer: &Value) {
    let mut line = answer.clone();
    line["jsonrpc"] = json!("2.0");
    line["id"] = question["id"].clone();
    rig.client(&line);
}

#[test]
fn what_is_no_offered_allow_is_a_no_and_is_said_once() {
    for case in cases() {
        for answer in no_answers() {
            let mut rig = case.rig();
            case.ask(&mut rig, FIRST);
            let question = questions(&rig).pop().unwrap_or_else(|| panic!("{}", case.told("not asked")));
            reply(&mut rig, &question, &answer);
            reply(&mut rig, &question, &answer);
            let answers = answers(&rig, FIRST);
            rig.want(answers.len() == 1, &case.told(&format!("{answer} gave {answers:?}")));
            rig.want(!is_yes(&answers[0]), &case.told(&format!("{answer} became {answers:?}")));
        }
    }
}

/// The first offered allow, or the form filled in.
fn yes(question: &Value) -> Value {
    if question["method"] == "elicitation/create" {
        return match question["params"]["mode"].as_str() {
            Some("url") => json!({"result": {"action": "accept"}}),
            _ => json!({"result": {"action": "accept", "content": {"q": "A", "sure": true}}}),
        };
    }
    let options = question["params"]["options"].as_array().into_iter().flatten();
    let mut allows = options.filter(|it| it["kind"] == "allow_once");
    let id = allows.next().expect("an allow is offered")["optionId"].clone();
    json!({"result": {"outcome": {"outcome": "selected", "optionId": id}}})
}

#[test]
fn an_offered_allow_is_a_yes_and_is_said_once() {
    for case in cases() {
        let mut rig = case.rig();
        case.ask(&mut rig, FIRST);
        let question = questions(&rig).pop().expect("it is put");
        for _ in 0..2 {
            reply(&mut rig, &question, &yes(&question));
        }
        let answers = answers(&rig, FIRST);
        rig.want(answers.len() == 1 && is_yes(&answers[0]), &case.told(&format!("{answers:?}")));
    }
}

#[test]
fn of_two_at_once_each_gets_its_own_answer() {
    for case in cases() {
        let mut rig = case.rig();
        case.ask(&mut rig, FIRST);
        case.ask(&mut rig, SECOND);
        let asked = questions(&rig);
        rig.want(asked.len() == 2, &case.told("two questions"));
        reply(&mut rig, &asked[1], &yes(&asked[1]));
        rig.want(answers(&rig, FIRST).is_empty(), &case.told("the first has no answer yet"));
        rig.want(is_yes(&answers(&rig, SECOND)[0]), &case.told("the second is allowed"));
        reply(&mut rig, &asked[0], &json!({"error": {"code": -32603, "message": "no window"}}));
        rig.want(!is_yes(&answers(&rig, FIRST)[0]), &case.told("the first is not"));
        rig.want(answers(&rig, FIRST).len() == 1, &case.told("once"));
        rig.want(answers(&rig, SECOND).len() == 1, &case.told("once"));
    }
}

type End = (&'static str, fn(&mut Rig));

#[test]
fn what_is_settled_elsewhere_is_withdrawn_once_and_not_answered() {
    let ends: [End; 5] = [
        ("resolved", |rig| rig.notify("serverRequest/resolved", json!({"requestId": FIRST}))),
        ("the end of the turn", |rig| rig.done("A", "completed")),
        ("a cancel", |rig| rig.cancel()),
        ("a close", |rig| rig.close()),
        ("a death", |rig| rig.dies()),
    ];
    for case in cases() {
        for (end, settle) in ends {
            let mut rig = case.rig();
            case.ask(&mut rig, FIRST);
            let question = questions(&rig).pop().expect("it is put");
            settle(&mut rig);
            rig.want(withdrawals(&rig, &question) == 1, &case.told(&format!("withdrawn by {end}")));
            reply(&mut rig, &question, &yes(&question));
            settle(&mut rig);
            rig.want(answers(&rig, FIRST).is_empty(), &case.told(&format!("answered after {end}")));
            rig.want(withdrawals(&rig, &question) == 1, &case.told(&format!("withdrawn twice by {end}")));
        }
    }
}

/// The one who was asked before is gone; Codex asks again with the same id while the thread is loaded.
#[test]
fn what_is_asked_again_on_a_resume_is_put_once_and_answered_once() {
    for case in cases() {
        let elicitation = if case.has_forms { json!({"form": {}, "url": {}}) } else { json!(null) };
        let mut rig = Rig::greeted_with(case.version, &json!({"elicitation": elicitation}));
        rig.booted();
        rig.resume(false);
        rig.ok("thread/resume", active());
        case.ask(&mut rig, FIRST);
        rig.pass(10, &json!([]));
        let asked = questions(&rig);
        rig.want(asked.len() == 1, &case.told("put once"));
        rig.want(rig.answer("res").is_some(), &case.told("the resume is answered"));
        let call = asked[0]["params"]["toolCall"]["toolCallId"].clone();
        let statuses = |rig: &Rig| {
            let its = rig.updates().filter(|it| !call.is_null() && it["toolCallId"] == call);
            its.map(|it| it["status"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
        };
        rig.want(call.is_null() || !statuses(&rig).is_empty(), &case.told("about a call that nobody knows"));
        reply(&mut rig, &asked[0], &yes(&asked[0]));
        let answers = answers(&rig, FIRST);
        rig.want(answers.len() == 1 && is_yes(&answers[0]), &case.told(&format!("{answers:?}")));
        // A call that was only there for the question.
        let is_left = statuses(&rig).last().is_some_and(|it| it != "completed");
        rig.want(!is_left, &case.told("its call is left open"));
    }
}
