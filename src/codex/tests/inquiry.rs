use super::{Heard, edge, read};
use crate::core::codex::{CodexReply, CodexRequest, FromCodex, Preset};
use crate::core::ids::{CodexCallId, ThreadId, TurnId};
use crate::core::inquiry::{
    ExecEnd, Inquiry, McpServerState, RateLimit, ReviewTarget, Skill, SkillList, Told,
};
use serde_json::{Value, json};

/// The params of an inquiry, and what this result of it comes to.
fn asked(inquiry: Inquiry, result: Value) -> (Value, CodexReply) {
    called(&CodexRequest::Inquiry(inquiry), result)
}

fn called(request: &CodexRequest, result: Value) -> (Value, CodexReply) {
    let mut edge = edge();
    let line = edge.call(CodexCallId(5), request);
    let params = serde_json::from_str::<Value>(&line).unwrap()["params"].clone();
    match read(&mut edge, &json!({"id": 5, "result": result})).heard {
        Heard::Codex(FromCodex::Answered { result: Ok(reply), .. }) => (params, reply),
        other => panic!("no answer: {other:?}"),
    }
}

fn thread() -> ThreadId {
    ThreadId::new("t")
}

#[test]
fn an_account_is_put_into_words() {
    let who = |account: Value| {
        let result = json!({"account": account, "requiresOpenaiAuth": true});
        match called(&CodexRequest::AccountRead, result) {
            (_, CodexReply::Account { who, required: true }) => who,
            other => panic!("no account: {other:?}"),
        }
    };
    assert_eq!(who(Value::Null), None);
    assert_eq!(who(json!({"type": "apiKey"})).as_deref(), Some("an API key"));
    let chatgpt = json!({"type": "chatgpt", "email": "a@b", "planType": "plus", "workspaceName": "Team"});
    assert_eq!(who(chatgpt).as_deref(), Some("ChatGPT as a@b (plan plus, Team)"));
    assert_eq!(who(json!({"type": "newKind"})).as_deref(), Some("newKind"));
}

#[test]
fn each_window_of_each_limit_is_one() {
    let window = |used: u32| json!({"usedPercent": used, "windowDurationMins": 300, "resetsAt": 7});
    let limit =
        |id: &str| json!({"limitId": id, "limitName": null, "primary": window(12), "secondary": null});
    let limits = |by_id: Value| match asked(
        Inquiry::RateLimits,
        json!({"rateLimits": limit("codex"), "rateLimitsByLimitId": by_id}),
    ) {
        (_, CodexReply::Told(Told::RateLimits(limits))) => limits,
        other => panic!("no limits: {other:?}"),
    };
    let one = |name: Option<&str>| RateLimit {
        name: name.map(str::to_owned),
        minutes: Some(300),
        used_percent: 12.0,
        resets_at: Some(7),
    };
    assert_eq!(limits(Value::Null), [one(None)]);
    assert_eq!(limits(json!({"codex": limit("codex")})), [one(None)]);
    assert_eq!(limits(json!({"a": limit("a"), "b": limit("b")})), [one(Some("a")), one(Some("b"))]);
}

#[test]
fn servers_and_skills_are_read_with_what_is_wrong_with_them() {
    let inquiry = Inquiry::McpServers { thread: thread(), cursor: Some("2".to_owned()) };
    let server = json!({"name": "web", "runtimeStatus": "failed", "tools": {"b": {}, "a": {}},
        "toolsError": "no\nfile", "authStatus": "oAuth"});
    let (params, reply) = asked(inquiry, json!({"data": [server], "nextCursor": "3"}));
    assert_eq!(params, json!({"threadId": "t", "cursor": "2", "detail": "toolsAndAuthOnly"}));
    let server = McpServerState {
        name: "web".to_owned(),
        state: Some("failed".to_owned()),
        auth: "oAuth".to_owned(),
        tools: vec!["a".to_owned(), "b".to_owned()],
        error: Some("no file".to_owned()),
    };
    assert_eq!(
        reply,
        CodexReply::Told(Told::McpServers { servers: vec![server], next: Some("3".to_owned()) })
    );
    let skill = |name: &str, more: Value| {
        let mut skill = json!({"name": name, "description": "Long\nwords", "scope": "repo", "enabled": true});
        for (field, value) in more.as_object().into_iter().flatten() {
            skill[field] = value.clone();
        }
        skill
    };
    let skills = [
        skill("a", json!({})),
        skill("b", json!({"interface": {"shortDescription": "Short"}})),
        skill("off", json!({"enabled": false})),
    ];
    let errors = [json!({"path": "/p", "message": "broken"})];
    let inquiry = Inquiry::Skills { cwd: "/w".to_owned(), afresh: true };
    let (params, reply) =
        asked(inquiry, json!({"data": [{"cwd": "/w", "skills": skills, "errors": errors}]}));
    assert_eq!(params, json!({"cwds": ["/w"], "forceReload": true}));
    let skill = |name: &str, description: &str| Skill {
        name: name.to_owned(),
        description: description.to_owned(),
        scope: "repo".to_owned(),
    };
    let list = SkillList {
        skills: vec![skill("a", "Long"), skill("b", "Short")],
        errors: vec![("/p".to_owned(), "broken".to_owned())],
    };
    assert_eq!(reply, CodexReply::Told(Told::Skills(list)));
}

#[test]
fn git_runs_where_it_cannot_write() {
    let exec = |preset| {
        let inquiry = Inquiry::Exec { command: vec!["git".to_owned()], cwd: "/w".to_owned(), preset };
        asked(inquiry, json!({"exitCode": 1, "stdout": "o", "stderr": "e"}))
    };
    let read_only = json!({"type": "readOnly", "networkAccess": false});
    assert_eq!(exec(Some(Preset::Auto)).0["sandboxPolicy"], read_only);
    assert_eq!(exec(Some(Preset::ReadOnly)).0["sandboxPolicy"], read_only);
    assert_eq!(exec(Some(Preset::FullAccess)).0["sandboxPolicy"], json!({"type": "dangerFullAccess"}));
    let (params, reply) = exec(None);
    assert_eq!(params["sandboxPolicy"], Value::Null);
    let end = ExecEnd { code: 1, stdout: "o".to_owned(), stderr: "e".to_owned() };
    assert_eq!(reply, CodexReply::Told(Told::Exec(end)));
}

#[test]
fn reviews_goals_and_names_are_said_as_codex_takes_them() {
    let review = |target| {
        let result = json!({"turn": {"id": "u"}, "reviewThreadId": "t"});
        let (params, reply) = asked(Inquiry::Review { thread: thread(), target }, result);
        assert_eq!(reply, CodexReply::Told(Told::Review(TurnId::new("u"))));
        params["target"].clone()
    };
    assert_eq!(review(ReviewTarget::Uncommitted), json!({"type": "uncommittedChanges"}));
    assert_eq!(
        review(ReviewTarget::Branch("main".to_owned())),
        json!({"type": "baseBranch", "branch": "main"})
    );
    assert_eq!(
        review(ReviewTarget::Commit("a1".to_owned())),
        json!({"type": "commit", "sha": "a1", "title": null})
    );
    let goal = |objective: Option<&str>| {
        let objective = objective.map(str::to_owned);
        asked(Inquiry::Goal { thread: thread(), objective }, json!({"goal": null})).0
    };
    assert_eq!(goal(None), json!({"threadId": "t", "status": "active", "origin": "user"}));
    assert_eq!(
        goal(Some("do it")),
        json!({"threadId": "t", "status": "active", "origin": "user", "objective": "do it"})
    );
    let renamed = asked(Inquiry::Rename { thread: thread(), name: "n".to_owned() }, json!({}));
    assert_eq!(renamed, (json!({"threadId": "t", "name": "n"}), CodexReply::Done));
    let compacted = asked(Inquiry::Compact { thread: thread() }, json!({}));
    assert_eq!(compacted, (json!({"threadId": "t"}), CodexReply::Done));
    assert_eq!(called(&CodexRequest::Logout, json!({})), (json!({}), CodexReply::Done));
}
