//! What the client says.

use super::{Rig, SESSION};
use appserver_acp::bridge::arrival::Arrival;
use serde_json::{Value, json};

impl Rig {
    pub(crate) fn request(&mut self, id: &str, method: &str, params: Value) {
        self.asked.push(id.to_owned());
        self.client(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    pub(crate) fn prompt(&mut self, id: &str) {
        let text = json!([{"type": "text", "text": id}]);
        self.request(id, "session/prompt", json!({"sessionId": SESSION, "prompt": text}));
    }

    pub(crate) fn prompt_with_key(&mut self, id: &str, key: &str) {
        let text = json!([{"type": "text", "text": "x"}]);
        let params = json!({"sessionId": SESSION, "idempotencyKey": key, "prompt": text});
        self.request(id, "session/prompt", params);
    }

    pub(crate) fn resume(&mut self, replay: bool) {
        let mut params = json!({"sessionId": SESSION, "cwd": "/w", "mcpServers": []});
        if replay {
            params["replayFrom"] = json!({"type": "start"});
        }
        self.request("res", "session/resume", params);
    }

    pub(crate) fn close(&mut self) {
        self.request("close", "session/close", json!({"sessionId": SESSION}));
    }

    pub(crate) fn set_mode(&mut self, value: &str) {
        let params = json!({"sessionId": SESSION, "configId": "mode", "type": "id", "value": value});
        self.request("set", "session/set_config_option", params);
    }

    pub(crate) fn cancel(&mut self) {
        let params = json!({"sessionId": SESSION});
        self.client(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params}));
    }

    pub(crate) fn hangs_up(&mut self) {
        self.note("client", "EOF");
        self.step(Arrival::ClientEof);
    }

    pub(crate) fn cancel_request(&mut self, id: &str) {
        let params = json!({"requestId": id});
        self.client(&json!({"jsonrpc": "2.0", "method": "$/cancel_request", "params": params}));
    }

    /// Chooses the first option of the oldest permission request.
    pub(crate) fn allow(&mut self) {
        let ask = self.told.iter().find(|it| it["method"] == "session/request_permission");
        let id = ask.expect("the client was asked")["id"].clone();
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": "decision-0"}});
        self.client(&json!({"jsonrpc": "2.0", "id": id, "result": outcome}));
    }

    pub(crate) fn client(&mut self, message: &Value) {
        let line = message.to_string();
        self.note("client", &line);
        self.step(Arrival::ClientLine(line.as_bytes()));
    }
}
