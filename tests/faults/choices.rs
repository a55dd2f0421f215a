//! What is chosen holds from the next turn on, whoever begins that one.

use crate::rig::{Rig, SESSION};
use serde_json::{Value, json};

const TOLD: &str = "thread/settings/update";

fn goal(status: &str) -> Value {
    json!({"threadId": SESSION, "objective": "All green", "status": status, "tokenBudget": null,
        "tokensUsed": 0, "timeUsedSeconds": 0, "createdAt": 7, "updatedAt": 7})
}

fn says(rig: &mut Rig, id: &str, text: &str) {
    let prompt = json!([{"type": "text", "text": text}]);
    rig.request(id, "session/prompt", json!({"sessionId": SESSION, "prompt": prompt}));
}

/// Whether the next prompt takes a sandbox along.
fn is_told_with_a_prompt(rig: &mut Rig) -> bool {
    rig.prompt("last");
    rig.call("turn/start")["params"]["sandboxPolicy"].is_object()
}

#[test]
fn without_anything_that_begins_turns_it_is_told_with_the_next_prompt() {
    for version in [1, 2] {
        let mut rig = Rig::open(version);
        rig.set_mode("read-only");
        rig.want(!rig.is_called(TOLD), "nothing is coming");
        let is_told = is_told_with_a_prompt(&mut rig);
        rig.want(is_told, "it holds from here on");
    }
}

#[test]
fn beside_a_goal_it_is_told_at_once_and_once() {
    for version in [1, 2] {
        let mut rig = Rig::open(version);
        rig.notify("thread/goal/updated", json!({"turnId": null, "goal": goal("active")}));
        rig.set_mode("read-only");
        let told = rig.call(TOLD);
        rig.want(told["params"]["sandboxPolicy"]["type"] == "readOnly", "the goal goes on as it was");
        rig.codex(json!({"id": told["id"], "result": {}}));
        let is_told = is_told_with_a_prompt(&mut rig);
        rig.want(!is_told, "told twice");
    }
}

#[test]
fn before_a_goal_is_set_it_is_told() {
    for version in [1, 2] {
        let mut rig = Rig::open(version);
        rig.set_mode("read-only");
        says(&mut rig, "p1", "/goal All green");
        let methods: Vec<_> = rig.calls().iter().map(|it| it["method"].clone()).collect();
        let place = |method: &str| methods.iter().position(|it| it == method);
        rig.want(place(TOLD).is_some() && place(TOLD) < place("thread/goal/set"), &format!("{methods:?}"));
    }
}

#[test]
fn a_goal_that_comes_up_later_finds_what_was_chosen() {
    for version in [1, 2] {
        let mut rig = Rig::open(version);
        rig.set_mode("read-only");
        rig.notify("thread/goal/updated", json!({"turnId": null, "goal": goal("active")}));
        rig.want(rig.n_calls(TOLD) == 1, "its next turn would not know");
    }
}

/// The user believes that the goal works under another mode.
#[test]
fn what_codex_does_not_take_is_said_and_told_with_the_next_prompt() {
    for version in [1, 2] {
        let mut rig = Rig::open(version);
        rig.notify("thread/goal/updated", json!({"turnId": null, "goal": goal("active")}));
        rig.set_mode("read-only");
        rig.err(TOLD, "no such sandbox");
        let is_said = rig.updates().any(|it| it.to_string().contains("no such sandbox"));
        rig.want(is_said, "nobody knows");
        let is_told = is_told_with_a_prompt(&mut rig);
        rig.want(is_told, "it is still to be told");
    }
}

/// Two choices in a row: what Codex says of the first is from before the second.
#[test]
fn what_codex_says_of_a_former_choice_takes_no_later_one_back() {
    let settings = |sandbox: &str, mode: &str| {
        let approval = if sandbox == "readOnly" { "on-request" } else { "never" };
        let collaboration = json!({"mode": mode, "settings": {"model": "m"}});
        json!({"threadSettings": {"cwd": "/w", "model": "m", "approvalPolicy": approval,
            "sandboxPolicy": {"type": sandbox}, "collaborationMode": collaboration}})
    };
    let of = |rig: &Rig, id: &str| {
        let options = rig.updates().rfind(|it| it["sessionUpdate"] == "config_option_update").cloned();
        let options = options.map(|it| it["configOptions"].clone()).unwrap_or_default();
        let its = options.as_array().into_iter().flatten().find(|it| it["configId"] == id || it["id"] == id);
        its.map(|it| it["currentValue"].clone()).unwrap_or_default()
    };
    for version in [1, 2] {
        let mut rig = Rig::open(version);
        rig.notify("thread/goal/updated", json!({"turnId": null, "goal": goal("active")}));
        rig.set_mode("read-only");
        let params =
            json!({"sessionId": SESSION, "configId": "collaboration", "type": "id", "value": "plan"});
        rig.request("plan", "session/set_config_option", params);
        rig.want(rig.n_calls(TOLD) == 2, "each at once");
        let from = rig.updates().count();
        rig.notify("thread/settings/updated", settings("readOnly", "default"));
        rig.notify("thread/settings/updated", settings("readOnly", "plan"));
        rig.want(rig.updates().count() == from, "nothing of it is news");
        // Then somebody else chooses.
        rig.notify("thread/settings/updated", settings("dangerFullAccess", "default"));
        rig.want(of(&rig, "mode") == "full-access" && of(&rig, "collaboration") == "default", "that is news");
    }
}
