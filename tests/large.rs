//! Whatever of what Codex says is enormous: no line to the client grows with it, and none is lost.
//!
//! Each text and each list of each message is made long, one at a time.

#[path = "faults/rig.rs"]
#[expect(dead_code, reason = "the faults use all of it")]
mod rig;

use crate::rig::{Rig, SESSION, idle};
use appserver_acp::acp::dropped::Dropped;
use serde_json::{Value, json};

/// Bytes of JSON that one member of a message grows to.
const HUGE: usize = 5 << 18;

/// Names that Codex makes itself: nothing else is known by them, and a line with one of 16 MiB is left out.
const NAMES: [&str; 5] = ["/id", "/data/0/id", "/itemId", "/reviewId", "/run/id"];

/// What the user works with: carried whole up to several MiB, or in pieces.
const CONTENT: [&str; 29] = [
    "/questions/0/title",
    "/questions/0/options/0",
    "/questions/0/options",
    "/questions",
    "/data",
    "/changes",
    "/content/0/text",
    "/content/1/url",
    "/content/2/name",
    "/content/2/path",
    "/content/3/path",
    "/content/4/name",
    "/text",
    "/aggregatedOutput",
    "/result/content",
    "/contentItems",
    "/summary/0",
    "/summary",
    "/content",
    "/content/0",
    "/delta",
    "/changes/0/diff",
    "/changes/1/diff",
    "/changes/2/diff",
    "/changes/3/diff",
    "/result/content/1/data",
    "/contentItems/1/imageUrl",
    "/result",
    "/plan/0/step",
];

/// An item of each kind with everything that it can have.
fn items() -> Vec<Value> {
    let change = |kind: Value| json!({"path": "/w/a", "kind": kind, "diff": "@@ -1 +1 @@\n-a\n+b\n"});
    let image = json!({"type": "image", "data": "iVBO", "mimeType": "image/png"});
    let text = json!({"type": "text", "text": "said"});
    vec![
        json!({"type": "userMessage", "content": [
            {"type": "text", "text": "x"}, {"type": "image", "url": "data:image/png;base64,iVBO"},
            {"type": "mention", "name": "n", "path": "/w/a"}, {"type": "localImage", "path": "/w/a.png"},
            {"type": "skill", "name": "s", "path": "/s"}]}),
        json!({"type": "agentMessage", "text": "x", "questions": [{"title": "t", "options": ["o"]}]}),
        json!({"type": "plan", "text": "x"}),
        json!({"type": "reasoning", "summary": ["s"], "content": []}),
        json!({"type": "reasoning", "summary": [], "content": ["c"]}),
        json!({"type": "commandExecution", "command": "cat a", "cwd": "/w", "processId": "7", "source": "agent",
            "status": "completed", "commandActions": [{"type": "read", "command": "cat a", "name": "a", "path": "/w/a"}],
            "aggregatedOutput": "out", "exitCode": 0, "durationMs": 1}),
        json!({"type": "fileChange", "status": "completed", "changes": [
            change(json!({"type": "add"})), change(json!({"type": "update", "move_path": "/w/b"})),
            change(json!({"type": "update"})), change(json!({"type": "delete"}))]}),
        json!({"type": "mcpToolCall", "server": "s", "tool": "t", "status": "completed", "arguments": {"a": "b"},
            "result": {"content": [text, image]}}),
        json!({"type": "mcpToolCall", "server": "s", "tool": "t", "status": "failed", "arguments": {},
            "error": {"message": "m"}}),
        json!({"type": "dynamicToolCall", "namespace": "n", "tool": "t", "status": "completed", "arguments": {"a": "b"},
            "contentItems": [{"type": "inputText", "text": "x"}, {"type": "inputImage", "imageUrl": "data:image/png;base64,iVBO"}]}),
        json!({"type": "webSearch", "query": "q", "action": {"type": "findInPage", "url": "u", "pattern": "p"}, "results": ["r"]}),
        json!({"type": "webSearch", "query": "q", "action": {"type": "search", "queries": ["a"]}}),
        json!({"type": "imageView", "path": "/w/a.png"}),
        json!({"type": "imageGeneration", "status": "completed", "revisedPrompt": "r", "result": "iVBO", "savedPath": "/w/a.png"}),
        json!({"type": "imageGeneration", "status": "failed", "result": "", "failure": {"kind": "k"}}),
        json!({"type": "sleep", "durationMs": 5}),
        json!({"type": "enteredReviewMode", "review": "r"}),
        json!({"type": "exitedReviewMode", "review": "r"}),
        json!({"type": "collabAgentToolCall", "tool": "sendInput", "status": "completed", "senderThreadId": "a",
            "receiverThreadIds": ["b"], "prompt": "p", "agentsStates": {"b": {"status": "running"}}}),
        json!({"type": "subAgentActivity", "kind": "started", "agentThreadId": "a", "agentPath": "/root/a", "model": "m"}),
        json!({"type": "contextCompaction"}),
    ]
}

/// A notification of each kind that says something to the user, with everything that it can have.
fn notifications() -> Vec<(&'static str, Value)> {
    let window = json!({"usedPercent": 90, "windowDurationMins": 300, "resetsAt": 1});
    let run = json!({"id": "r", "eventName": "stop", "status": "failed", "statusMessage": "m",
        "entries": [{"kind": "feedback", "text": "t"}]});
    let review = json!({"status": "denied", "riskLevel": "high", "rationale": "r"});
    let error = json!({"message": "m", "additionalDetails": "d", "codexErrorInfo": "other"});
    vec![
        ("item/agentMessage/delta", json!({"itemId": "i", "delta": "x"})),
        ("item/plan/delta", json!({"itemId": "i", "delta": "x"})),
        ("item/reasoning/summaryTextDelta", json!({"itemId": "i", "delta": "x", "summaryIndex": 0})),
        ("item/reasoning/textDelta", json!({"itemId": "i", "delta": "x", "contentIndex": 0})),
        ("item/commandExecution/outputDelta", json!({"itemId": "cmd", "delta": "x"})),
        (
            "item/commandExecution/terminalInteraction",
            json!({"itemId": "cmd", "processId": "7", "stdin": "x"}),
        ),
        ("item/mcpToolCall/progress", json!({"itemId": "tool", "message": "m"})),
        (
            "item/fileChange/patchUpdated",
            json!({"itemId": "tool", "changes": [
            {"path": "/w/a", "kind": {"type": "update"}, "diff": "@@ -1 +1 @@\n-a\n+b\n"}]}),
        ),
        ("turn/plan/updated", json!({"explanation": "e", "plan": [{"step": "s", "status": "pending"}]})),
        ("thread/name/updated", json!({"threadName": "n"})),
        (
            "thread/settings/updated",
            json!({"threadSettings": {"model": "m", "effort": "high", "serviceTier": "fast",
            "activePermissionProfile": {"id": "p"}, "approvalPolicy": "never", "sandboxPolicy": {"type": "readOnly"}}}),
        ),
        ("thread/goal/updated", json!({"goal": {"objective": "o", "status": "active", "createdAt": 1}})),
        ("hook/started", json!({"run": run})),
        ("hook/completed", json!({"run": run})),
        ("hook/completed", json!({"turnId": null, "run": run})),
        (
            "item/autoApprovalReview/completed",
            json!({"reviewId": "r", "review": review,
            "action": {"type": "applyPatch", "files": ["/w/a"]}}),
        ),
        (
            "item/autoApprovalReview/completed",
            json!({"reviewId": "r", "review": review,
            "action": {"type": "execve", "argv": ["a"]}}),
        ),
        (
            "account/rateLimits/updated",
            json!({"rateLimits": {"limitId": "l", "limitName": "n", "primary": window}}),
        ),
        ("error", json!({"error": error, "willRetry": true})),
        ("error", json!({"error": error, "willRetry": false})),
        ("warning", json!({"message": "m"})),
        ("guardianWarning", json!({"message": "m"})),
        ("configWarning", json!({"summary": "s", "details": "d"})),
        ("model/rerouted", json!({"fromModel": "a", "toModel": "b", "reason": "r"})),
        ("mcpServer/startupStatus/updated", json!({"name": "n", "status": "failed", "error": "e"})),
        ("turn/completed", json!({"turn": {"id": "A", "status": "failed", "error": error}})),
    ]
}

/// A question of each kind.
fn questions() -> Vec<(&'static str, Value)> {
    let form =
        json!({"type": "object", "properties": {"a": {"type": "string", "title": "t", "enum": ["x", "y"]}}});
    vec![
        (
            "item/commandExecution/requestApproval",
            json!({"itemId": "i", "reason": "r", "command": "c", "cwd": "/w",
            "additionalPermissions": {"fileSystem": {"entries": [{"access": "read", "path": {"path": "/a"}}]}},
            "availableDecisions": ["accept", {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["ls"]}}]}),
        ),
        ("item/fileChange/requestApproval", json!({"itemId": "i", "reason": "r", "grantRoot": "/w"})),
        (
            "item/permissions/requestApproval",
            json!({"itemId": "i", "reason": "r",
            "permissions": {"fileSystem": {"write": ["/a"]}}}),
        ),
        (
            "item/tool/requestUserInput",
            json!({"itemId": "i", "questions": [{"id": "q", "header": "h", "question": "?",
            "options": [{"label": "l", "description": "d"}]}]}),
        ),
        (
            "mcpServer/elicitation/request",
            json!({"mode": "form", "serverName": "s", "message": "m",
            "requestedSchema": form}),
        ),
        (
            "mcpServer/elicitation/request",
            json!({"mode": "url", "serverName": "s", "message": "m",
            "elicitationId": "e", "url": "https://x"}),
        ),
    ]
}

#[test]
fn no_item_makes_a_line_of_its_size() {
    for item in items() {
        each(&item, |version, item| {
            let mut rig = Rig::running(version);
            let mut item = item.clone();
            item["id"] = json!("i");
            if version == 1 {
                rig.item("item/started", "A", item.clone());
            }
            rig.item("item/completed", "A", item);
            rig
        });
    }
}

#[test]
fn no_notification_makes_a_line_of_its_size() {
    for (method, params) in notifications() {
        each(&params, |version, params| {
            let mut rig = Rig::running(version);
            rig.command("A", "cmd", Some("7"));
            let tool = json!({"type": "mcpToolCall", "id": "tool", "server": "s", "tool": "t", "status": "inProgress"});
            rig.item("item/started", "A", tool);
            let mut params = params.clone();
            if params.get("turnId").is_none() {
                params["turnId"] = json!("A");
            }
            rig.notify(method, params);
            rig.pass(10_000, &json!([]));
            rig
        });
    }
}

#[test]
fn no_question_makes_a_line_of_its_size() {
    for (method, params) in questions() {
        each(&params, |version, params| {
            let capabilities = json!({"elicitation": {"form": {}, "url": {}}});
            let mut rig = Rig::running_with(version, &capabilities);
            let mut params = params.clone();
            params["threadId"] = json!(SESSION);
            params["turnId"] = json!("A");
            rig.codex(json!({"id": 9, "method": method, "params": params}));
            // Too much to be shown is no question: it is answered, and somebody is told.
            rig.want(rig.refused(9), "neither asked nor refused");
            let is_told = rig.updates().any(|it| it.to_string().contains("too large to be shown"));
            rig.want(is_told, "the user is not told");
            rig
        });
    }
}

#[test]
fn no_answer_makes_a_line_of_its_size() {
    let models = json!({"data": [{"model": "m", "displayName": "n", "description": "d",
        "supportedReasoningEfforts": [{"reasoningEffort": "e", "description": "d"}],
        "serviceTiers": [{"id": "i", "name": "n", "description": "d"}]}]});
    each(&models, |version, models| {
        let mut rig = Rig::greeted(version);
        rig.ok("initialize", json!({"userAgent": "codex/1"}));
        rig.ok("model/list", models.clone());
        rig.ok("account/read", json!({"account": null, "requiresOpenaiAuth": false}));
        rig.request("new", "session/new", json!({"cwd": "/w", "mcpServers": []}));
        rig.ok("fs/getMetadata", json!({"isDirectory": true}));
        rig.ok("thread/start", idle());
        rig.want(rig.answer("new").is_some_and(|it| it["result"].is_object()), "no session");
        rig
    });
    let threads = json!({"data": [{"id": "t", "cwd": "/w", "name": "n", "preview": "p", "updatedAt": 1}]});
    each(&threads, |version, threads| {
        let mut rig = Rig::new(version);
        rig.request("list", "session/list", json!({}));
        rig.ok("thread/list", threads.clone());
        rig.want(rig.answer("list").is_some(), "no answer");
        rig
    });
    each(&json!({"message": "m"}), |version, error| {
        let mut rig = Rig::open(version);
        rig.prompt("p1");
        let id = rig.call("turn/start")["id"].clone();
        rig.codex(json!({"id": id, "error": {"code": -32600, "message": error["message"]}}));
        rig.want(rig.answer("p1").is_some(), "no answer");
        rig
    });
}

/// Plays `message` once for each member of it that grows, in both versions.
#[track_caller]
fn each(message: &Value, play: impl Fn(u32, &Value) -> Rig) {
    let mut faults = Vec::new();
    for (member, message) in grown(message) {
        for version in [1, 2] {
            let rig = play(version, &message);
            let is_content = CONTENT.contains(&member.as_str()) || NAMES.contains(&member.as_str());
            if !is_content && rig.longest >= HUGE {
                faults.push(format!("v{version}: {member} makes a line of {} bytes", rig.longest));
            }
            if rig.dropped.contains(&Dropped::TooLarge) {
                faults.push(format!("v{version}: {member} is lost"));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?} of {message}");
}

/// The message with each of its texts and lists grown to a huge one, by the path of that.
fn grown(message: &Value) -> Vec<(String, Value)> {
    let mut paths = Vec::new();
    members(message, String::new(), &mut paths);
    let mut all = Vec::new();
    for path in paths {
        let member = message.pointer(&path).expect("a path of its own");
        let huge = enlarged(member);
        let mut message = message.clone();
        *message.pointer_mut(&path).expect("a path of its own") = huge;
        all.push((path, message));
    }
    all
}

fn enlarged(member: &Value) -> Value {
    let Some(items) = member.as_array() else {
        return json!(format!("{}{}", member.as_str().unwrap_or_default(), "x".repeat(HUGE)));
    };
    let n_bytes = member.to_string().len();
    items.iter().cycle().take(items.len() * (HUGE / n_bytes)).cloned().collect()
}

fn members(value: &Value, path: String, paths: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            // What tells kinds apart has no length.
            for (name, field) in
                fields.iter().filter(|(name, _)| !["type", "status", "mode"].contains(&name.as_str()))
            {
                members(field, format!("{path}/{name}"), paths);
            }
        }
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                members(item, format!("{path}/{n}"), paths);
            }
            if !items.is_empty() {
                paths.push(path);
            }
        }
        Value::String(_) => paths.push(path),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
