use super::{Heard, edge, event, read};
use crate::core::codex::{CodexReply, CodexRequest, Event, FromCodex};
use crate::core::goals::{Goal, GoalStatus};
use crate::core::ids::{CodexCallId, PromptKey, ThreadId, TurnId};
use crate::core::queued::QueuedMessage;
use serde_json::{Value, json};

fn goal() -> Value {
    json!({"threadId": "t", "objective": "do it", "status": "budgetLimited", "tokenBudget": 300,
        "tokensUsed": 330, "timeUsedSeconds": 2, "createdAt": 7, "updatedAt": 9})
}

fn decoded() -> Goal {
    Goal {
        objective: "do it".to_owned(),
        status: GoalStatus::BudgetLimited,
        token_budget: Some(300),
        tokens_used: 330,
        seconds_used: 2,
        created_at: 7,
    }
}

/// What this result of the request comes to.
fn reply(request: &CodexRequest, result: Value) -> CodexReply {
    let mut edge = edge();
    edge.call(CodexCallId(5), request);
    match read(&mut edge, &json!({"id": 5, "result": result})).heard {
        Heard::Codex(FromCodex::Answered { result: Ok(reply), .. }) => reply,
        other => panic!("no answer: {other:?}"),
    }
}

fn requests() -> [CodexRequest; 5] {
    let thread = || ThreadId::new("t");
    [
        CodexRequest::GoalGet { thread: thread() },
        CodexRequest::GoalPause { thread: thread() },
        CodexRequest::GoalClear { thread: thread() },
        CodexRequest::QueueList { thread: thread(), cursor: Some("2".to_owned()) },
        CodexRequest::QueueDelete { thread: thread(), message: "q".to_owned() },
    ]
}

#[test]
fn what_is_said_of_a_goal_and_a_queue() {
    let thread = || ThreadId::new("t");
    let turn = Some(TurnId::new("u"));
    let cases = [
        (
            "thread/goal/updated",
            json!({"threadId": "t", "turnId": "u", "goal": goal()}),
            Event::Goal { thread: thread(), turn, goal: Some(decoded()) },
        ),
        (
            "thread/goal/cleared",
            json!({"threadId": "t"}),
            Event::Goal { thread: thread(), turn: None, goal: None },
        ),
        ("thread/queue/changed", json!({"threadId": "t"}), Event::QueueChanged { thread: thread() }),
    ];
    for (method, params, expected) in cases {
        assert_eq!(event(method, params), expected, "{method}");
    }
}

#[test]
fn answers_about_goals_and_queues() {
    let [get, pause, clear, list, delete] = requests();
    assert_eq!(reply(&get, json!({"goal": null})), CodexReply::Goal(None));
    for request in [get, pause] {
        assert_eq!(reply(&request, json!({"goal": goal()})), CodexReply::Goal(Some(decoded())));
    }
    assert_eq!(reply(&clear, json!({"cleared": false})), CodexReply::Goal(None));
    assert_eq!(reply(&delete, json!({"deleted": true})), CodexReply::Deleted(true));
    let input = json!([{"type": "text", "text": "look"}, {"type": "image", "url": "data:image/png;base64,AA"},
        {"type": "mention", "name": "a.rs", "path": "/w/a.rs"}]);
    let data =
        json!([{"id": "q", "clientUserMessageId": "k", "input": input, "responsesapiClientMetadata": null}]);
    let text = "look\n[image]\na.rs".to_owned();
    let messages = vec![QueuedMessage { id: "q".to_owned(), key: PromptKey::new("k"), text }];
    assert_eq!(
        reply(&list, json!({"data": data, "nextCursor": "2"})),
        CodexReply::Queued { messages, next: Some("2".to_owned()) }
    );
}

#[test]
fn of_a_goal_only_the_pause_is_ever_set() {
    let params = requests().map(|request| {
        let line = edge().call(CodexCallId(5), &request);
        serde_json::from_str::<Value>(&line).unwrap()["params"].clone()
    });
    let expected = [
        json!({"threadId": "t"}),
        json!({"threadId": "t", "status": "paused", "origin": "user"}),
        json!({"threadId": "t", "origin": "user"}),
        json!({"threadId": "t", "cursor": "2"}),
        json!({"threadId": "t", "queuedSubmissionId": "q"}),
    ];
    assert_eq!(params, expected);
}
