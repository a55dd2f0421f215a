//! The value tables of the protocol map against what the bridge makes of each name.
//!
//! Fails when a table and the code say different things, whichever of them changed.

use crate::client::Act;
use crate::scene::Scene;
use appserver_acp::map;
use appserver_acp::map::row::Side;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use testkit::belief::Version::{V1, V2};

/// What becomes of a name: the value of its table, `None` for nothing.
type Look = fn(&str) -> Option<String>;

const LOOKS: [(&str, Look); 37] = [
    ("command.status", |name| status(command(json!({})), name)),
    ("file.status", |name| status(json!({"type": "fileChange", "id": "i", "changes": []}), name)),
    ("mcp.status", |name| {
        status(json!({"type": "mcpToolCall", "id": "i", "server": "s", "tool": "t"}), name)
    }),
    ("dynamic.status", |name| status(json!({"type": "dynamicToolCall", "id": "i", "tool": "t"}), name)),
    ("collab.status", |name| status(json!({"type": "collabAgentToolCall", "id": "i", "tool": "wait"}), name)),
    ("collab.tool", |name| {
        call_field(json!({"type": "collabAgentToolCall", "id": "i", "tool": name}), "/title")
    }),
    ("subagent.activity", |name| {
        let item = json!({"type": "subAgentActivity", "id": "i", "kind": name, "agentThreadId": "t", "agentPath": "/root/scout"});
        Some(call_field(item, "/title")?.replace("scout", "{agent}"))
    }),
    ("command.action", |name| {
        let action = json!({"type": name, "command": "x", "path": "/workspace/project/a", "query": "q"});
        call_field(command(json!({"commandActions": [action]})), "/kind")
    }),
    ("command.source", |name| call_field(command(json!({"source": name})), "/kind")),
    ("command.approval", |name| {
        let asked = Scene::new(V2).ask(
            "item/commandExecution/requestApproval",
            json!({"kind": name, "itemId": "i", "command": "ls", "cwd": "/workspace/project"}),
        );
        (asked?["method"] == "session/request_permission").then(|| "Permission".to_owned())
    }),
    ("command.decision", |name| match name {
        "acceptWithExecpolicyAmendment" => decision(json!({name: {"execpolicy_amendment": ["ls"]}})),
        "applyNetworkPolicyAmendment" => network("allow"),
        _ => decision(json!(name)),
    }),
    ("network.action", network),
    ("file.decision", |name| {
        offered("item/fileChange/requestApproval", &json!({"itemId": "i"}), "decision", name)
    }),
    ("permission.scope", |name| {
        let permissions = json!({"network": {"enabled": true}});
        let params = json!({"itemId": "i", "permissions": permissions});
        offered("item/permissions/requestApproval", &params, "scope", name)
    }),
    ("elicitation.action", |name| {
        let mut scene = Scene::new(V2);
        let question = scene.ask("mcpServer/elicitation/request", elicitation("url"))?;
        let answer = scene.answer(&question, json!({"action": name}));
        answer["result"]["action"].as_str().map(str::to_owned)
    }),
    ("elicitation.mode", |name| {
        let question = Scene::new(V2).ask("mcpServer/elicitation/request", elicitation(name))?;
        question["params"]["mode"].as_str().map(str::to_owned)
    }),
    ("file.change", |name| {
        let change = json!({"path": "/workspace/project/a", "kind": {"type": name}, "diff": ""});
        let item = json!({"type": "fileChange", "id": "i", "status": "inProgress", "changes": [change]});
        call_field(item, "/content/0/changes/0/operation")
    }),
    ("plan.status", |name| {
        let mut scene = Scene::new(V2);
        scene.say("turn/plan/updated", json!({"plan": [{"step": "one", "status": name}]}));
        scene.newest("plan_update", "/plan/entries/0/status")
    }),
    ("turn.status", |name| match name {
        "inProgress" => {
            let mut scene = Scene::new(V2);
            scene.say("turn/started", turn(json!({"status": name})));
            scene.newest("state_update", "/stopReason")
        }
        _ => ended(json!({"status": name})),
    }),
    ("error.info", |name| {
        let fields = ["httpConnectionFailed", "responseTooManyFailedAttempts", "activeTurnNotSteerable"];
        let is_object = fields.contains(&name) || name.starts_with("responseStream");
        let info = if is_object { json!({name: {"httpStatusCode": null}}) } else { json!(name) };
        let error = json!({"message": "m", "codexErrorInfo": info});
        let mut scene = Scene::new(V2);
        scene.say("turn/completed", turn(json!({"status": "failed", "error": error})));
        assert_eq!(scene.newest("state_update", "/error/data/codexErrorInfo").as_deref(), Some(name));
        Some(scene.newest("state_update", "/error/message")?.strip_suffix(": m")?.to_owned())
    }),
    ("hook.event", |name| {
        let mut scene = Scene::new(V2);
        scene.say("hook/started", hook(json!({"eventName": name, "status": "running"})));
        Some(scene.newest("tool_call_update", "/title")?.strip_suffix(": m")?.to_owned())
    }),
    ("hook.status", |name| {
        let mut scene = Scene::new(V2);
        scene.say("hook/started", hook(json!({"eventName": "stop", "status": "running"})));
        if name != "running" {
            scene.say("hook/completed", hook(json!({"eventName": "stop", "status": name})));
        }
        scene.newest("tool_call_update", "/status")
    }),
    ("reroute.reason", |name| {
        let mut scene = Scene::new(V2);
        scene.say("model/rerouted", json!({"fromModel": "a", "toModel": "b", "reason": name}));
        scene.newest("notice", "/description")
    }),
    ("review.action", |name| {
        let mut scene = Scene::new(V2);
        scene.say("item/autoApprovalReview/started", review("inProgress", name));
        scene.newest("tool_call_update", "/title")
    }),
    ("review.status", |name| {
        let mut scene = Scene::new(V2);
        scene.say("item/autoApprovalReview/started", review("inProgress", "command"));
        if name != "inProgress" {
            scene.say("item/autoApprovalReview/completed", review(name, "command"));
        }
        scene.newest("tool_call_update", "/status")
    }),
    ("thread.status", |name| {
        let mut scene = Scene::new(V2);
        scene.say("thread/status/changed", json!({"status": {"type": name, "activeFlags": []}}));
        scene.pass(5000);
        scene.newest("state_update", "/state").filter(|state| state != "running")
    }),
    ("goal.status", |name| {
        let goal = |status: &str| json!({"goal": {"objective": "o", "status": status, "tokensUsed": 0, "timeUsedSeconds": 0, "createdAt": 1}});
        let mut scene = Scene::new(V2);
        scene.say("thread/goal/updated", goal("active"));
        scene.say("thread/goal/updated", goal(name));
        scene.newest("tool_call_update", "/status")
    }),
    ("image.failure", |name| {
        let item =
            json!({"type": "imageGeneration", "id": "i", "status": "completed", "failure": {"type": name}});
        let mut scene = Scene::new(V2);
        scene.completed(item);
        scene.newest("tool_call_update", "/status")
    }),
    ("message.phase", |name| said(json!({"phase": name}))),
    ("message.delivery", |name| said(json!({"delivery": name}))),
    ("approval.policy", |name| presets(|params| params["approvalPolicy"] == name)),
    ("sandbox.mode", |name| presets(|params| params["sandboxPolicy"]["type"] == camel(name))),
    ("thread.unsubscribe", |name| {
        let mut scene = Scene::opened(V2);
        scene.script("thread/unsubscribe", &json!({"status": name}));
        scene.act(&Act::Close { session: 0 });
        scene.answers().pop()?.get("result").map(|_| "closed".to_owned())
    }),
    ("user.input", |name| {
        let part = json!({"type": name, "text": "t", "url": "data:image/png;base64,AAAA", "path": "/a", "name": "n"});
        let mut scene = Scene::new(V2);
        scene.started(json!({"type": "userMessage", "id": "u", "clientId": null, "content": [part]}));
        let block = scene.updates("user_message").pop()?["content"][0].clone();
        // A part without a form of its own is named.
        (block["text"] != format!("[{name}]")).then(|| block["type"].as_str().map(str::to_owned))?
    }),
    ("dynamic.content", |name| {
        let mut part = json!({"type": name, "imageUrl": "data:image/png;base64,AAAA", "audioUrl": "data:audio/wav;base64,AAAA"});
        if name == "inputText" {
            part["text"] = json!("t");
        }
        let item = json!({"type": "dynamicToolCall", "id": "i", "tool": "t", "status": "completed", "contentItems": [part]});
        call_field(item, "/content/0/content/type")
    }),
    ("web.action", |name| {
        let item = json!({"type": "webSearch", "id": "i", "query": "q", "action": {"type": name, "query": "q", "url": "https://example.com", "pattern": "p"}});
        call_field(item, "/kind")
    }),
    ("raw.item", |name| {
        let mut scene = Scene::new(V2);
        scene.started(command(json!({})));
        let output = "Process running with session ID 7\nOutput:\nearly";
        scene.say(
            "rawResponseItem/completed",
            json!({"item": {"type": name, "call_id": "i", "output": output}}),
        );
        scene.newest("terminal_output_chunk", "/data").map(|_| "TerminalOutput".to_owned())
    }),
];

#[test]
fn the_tables_of_codex_say_what_the_bridge_does() {
    let looked: BTreeSet<_> = LOOKS.iter().map(|(set, _)| *set).collect();
    let mapped = map::value_sets().iter().filter(|table| table.side == Side::Codex && !table.map.is_empty());
    assert_eq!(looked, mapped.map(|table| table.set).collect(), "tables with a value, and looks");
    let mut different = Vec::new();
    for (set, look) in LOOKS {
        let table = map::values(set).expect("compared above");
        for name in table.names() {
            let (seen, declared) = (look(name), table.map.get(name).copied());
            if seen.as_deref() != declared {
                different.push(format!("{set}: {name} becomes {seen:?}, its table says {declared:?}"));
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn a_dismissed_question_about_the_network_makes_no_rule() {
    let rule = json!({"network_policy_amendment": {"host": "example.com", "action": "deny"}});
    let rule = json!({"applyNetworkPolicyAmendment": rule});
    let decisions = json!(["accept", rule, "decline", "cancel"]);
    let params =
        json!({"itemId": "i", "command": "ls", "cwd": "/workspace/project", "availableDecisions": decisions});
    let mut scene = Scene::new(V2);
    let question = scene.ask("item/commandExecution/requestApproval", params).expect("a question");
    let answer = scene.answer(&question, json!({"outcome": {"outcome": "cancelled"}}));
    // Who closes a dialog has not asked for a rule that denies for ever.
    assert_eq!(answer["result"]["decision"], "decline");
}

#[test]
fn flags_of_a_thread_are_not_read() {
    for flag in map::values("thread.flag").expect("a table").names() {
        let mut scene = Scene::new(V2);
        let n_before = scene.updates("state_update").len();
        scene.say("thread/status/changed", json!({"status": {"type": "active", "activeFlags": [flag]}}));
        assert_eq!(scene.updates("state_update").len(), n_before, "{flag}");
    }
}

#[test]
fn a_status_of_v1_is_that_of_v2_translated() {
    let table = map::values("v1.tool.status.of_v2").expect("a table");
    for name in ["inProgress", "completed", "failed", "declined"] {
        let mut seen = [V1, V2].map(|version| {
            let mut scene = Scene::new(version);
            scene.started(command(json!({"status": "inProgress"})));
            if name != "inProgress" {
                scene.completed(command(json!({"status": name, "exitCode": 0})));
            }
            let newest = scene.newest("tool_call_update", "/status");
            newest.or_else(|| scene.newest("tool_call", "/status")).expect("a status")
        });
        let v2 = std::mem::take(&mut seen[1]);
        assert_eq!(table.map.get(v2.as_str()).copied(), Some(seen[0].as_str()), "{name}: {v2}");
    }
}

/// The status of a call in v2 after its item came with this one.
fn status(mut item: Value, name: &str) -> Option<String> {
    let mut scene = Scene::new(V2);
    item["status"] = json!("inProgress");
    scene.started(item.clone());
    if name != "inProgress" {
        item["status"] = json!(name);
        scene.completed(item);
    }
    scene.newest("tool_call_update", "/status")
}

/// A field of the call that this item opens.
fn call_field(item: Value, path: &str) -> Option<String> {
    let mut scene = Scene::new(V2);
    scene.started(item);
    scene.newest("tool_call_update", path)
}

fn command(fields: Value) -> Value {
    let mut item = json!({
        "type": "commandExecution", "id": "i", "command": "make", "cwd": "/workspace/project",
        "processId": "7", "source": "agent", "status": "inProgress", "commandActions": [],
    });
    for (name, value) in fields.as_object().into_iter().flatten() {
        item[name] = value.clone();
    }
    item
}

/// The kind of the one option for this decision, if choosing it gives Codex just that decision.
fn decision(value: Value) -> Option<String> {
    let mut scene = Scene::new(V2);
    let params =
        json!({"itemId": "i", "command": "ls", "cwd": "/workspace/project", "availableDecisions": [value]});
    let question = scene.ask("item/commandExecution/requestApproval", params)?;
    let [option] = question["params"]["options"].as_array()?.as_slice() else { return None };
    let answer = scene.answer(&question, selected(option));
    (answer["result"]["decision"] == value).then(|| option["kind"].as_str().map(str::to_owned))?
}

fn network(action: &str) -> Option<String> {
    let rule = json!({"host": "example.com", "action": action});
    decision(json!({"applyNetworkPolicyAmendment": {"network_policy_amendment": rule}}))
}

/// The kind of the option whose choice gives Codex an answer with this field.
fn offered(method: &str, params: &Value, field: &str, name: &str) -> Option<String> {
    let n_options = Scene::new(V2).ask(method, params.clone())?["params"]["options"].as_array()?.len();
    (0..n_options).find_map(|n| {
        let mut scene = Scene::new(V2);
        let question = scene.ask(method, params.clone())?;
        let option = &question["params"]["options"][n];
        let answer = scene.answer(&question, selected(option));
        (answer["result"][field] == name).then(|| option["kind"].as_str().map(str::to_owned))?
    })
}

fn selected(option: &Value) -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": option["optionId"]}})
}

fn elicitation(mode: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    json!({
        "mode": mode, "serverName": "s", "message": "m", "requestedSchema": schema,
        "url": "https://example.com", "elicitationId": "e", "title": "t", "description": "d", "challenge": "c",
    })
}

fn hook(mut run: Value) -> Value {
    run["id"] = json!("h");
    run["statusMessage"] = json!("m");
    run["entries"] = json!([]);
    json!({"turnId": "$turn", "run": run})
}

fn review(status: &str, action: &str) -> Value {
    let action = json!({
        "type": action, "command": "make", "argv": ["make", "-j"], "files": ["/workspace/project/a"],
        "host": "example.com", "server": "docs", "toolName": "search",
    });
    json!({"turnId": "$turn", "reviewId": "r", "review": {"status": status}, "action": action})
}

fn turn(fields: Value) -> Value {
    let mut turn = fields;
    turn["id"] = json!("$turn");
    turn["items"] = json!([]);
    json!({"turn": turn})
}

/// The stop reason after the turn ended like this.
fn ended(fields: Value) -> Option<String> {
    let mut scene = Scene::new(V2);
    scene.say("turn/completed", turn(fields));
    scene.newest("state_update", "/stopReason")
}

fn said(fields: Value) -> Option<String> {
    let mut item = fields;
    item["type"] = json!("agentMessage");
    item["id"] = json!("m");
    item["text"] = json!("hello");
    let mut scene = Scene::new(V2);
    scene.completed(item);
    scene.newest("agent_message_chunk", "/content/text").map(|_| "AgentText".to_owned())
}

/// The modes that a turn is started with like this.
fn presets(fits: impl Fn(&Value) -> bool) -> Option<String> {
    let modes = ["read-only", "auto", "full-access"].into_iter().filter(|mode| {
        let mut scene = Scene::opened(V2);
        scene.act(&Act::SetMode { mode: (*mode).to_owned(), session: 0 });
        scene.prompt();
        scene.called("turn/start").is_some_and(|params| fits(&params))
    });
    Some(modes.collect::<Vec<_>>().join(", ")).filter(|modes| !modes.is_empty())
}

fn camel(name: &str) -> String {
    let mut words = name.split('-').map(str::to_owned);
    let first = words.next().unwrap_or_default();
    words.fold(first, |all, word| all + &word[..1].to_uppercase() + &word[1..])
}
