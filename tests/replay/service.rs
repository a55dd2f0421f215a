//! What a played Codex answers to slash commands that are about no turn.

use serde_json::{Value, json};

/// The result of a request that any app-server answers; `None` for one about a thread.
pub(crate) fn answer(method: &str, params: &Value) -> Option<Value> {
    Some(match method {
        "account/read" => json!({
            "account": {"type": "chatgpt", "email": "a@example.com", "planType": "plus", "workspaceName": null},
            "requiresOpenaiAuth": true, "userId": null,
        }),
        "account/rateLimits/read" => {
            let limit = json!({
                "limitId": "codex", "limitName": null,
                "primary": {"usedPercent": 12, "windowDurationMins": 300, "resetsAt": 1_796_090_000},
                "secondary": {"usedPercent": 40, "windowDurationMins": 10080, "resetsAt": null},
            });
            json!({"rateLimits": limit, "rateLimitsByLimitId": {"codex": limit}})
        }
        "account/logout" => json!({}),
        "skills/list" => json!({"data": [{"cwd": params["cwds"][0], "skills": [], "errors": []}]}),
        "mcpServerStatus/list" => json!({"data": [], "nextCursor": null}),
        "command/exec" => exec(&params["command"]),
        _ => return None,
    })
}

/// One changed file, one new one.
fn exec(command: &Value) -> Value {
    let words: Vec<&str> = command.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let (code, stdout) = match words.as_slice() {
        [.., "HEAD"] => (0, "--- a/old\n+++ b/old\n@@ -1 +1 @@\n-one\n+two\n".to_owned()),
        [.., "/dev/null", name] => (1, format!("--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+new\n")),
        _ => (0, "new\0".to_owned()),
    };
    json!({"exitCode": code, "stdout": stdout, "stderr": ""})
}
