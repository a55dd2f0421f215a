//! What Codex says of a thread before anybody here knows that thread.

use crate::rig::{Rig, SESSION, idle};
use serde_json::json;

/// Codex may warn of a thread, or of a tool server of it, before it answers the request that opens it.
#[test]
fn what_is_said_of_a_thread_before_its_opening_is_answered_is_told() {
    let said = |rig: &Rig, what: &str| rig.updates().filter(|it| it.to_string().contains(what)).count();
    let early = |rig: &mut Rig, thread: &str| {
        rig.notify("warning", json!({"threadId": thread, "message": "under development"}));
        let failed =
            json!({"threadId": thread, "name": "tools", "status": "failed", "error": "no such file"});
        rig.notify("mcpServer/startupStatus/updated", failed);
    };
    for version in [1, 2] {
        // With no session, and beside one.
        for mut rig in [Rig::new(version), Rig::open(version)] {
            rig.request("second", "session/new", json!({"cwd": "/w", "mcpServers": []}));
            rig.ok("fs/getMetadata", json!({"isDirectory": true}));
            early(&mut rig, "U");
            rig.want(said(&rig, "under development") == 0, "told before its session is known");
            rig.ok("thread/start", json!({"thread": {"id": "U", "cwd": "/w"}, "cwd": "/w", "model": "m"}));
            rig.want(rig.answer("second").is_some(), "it is open");
            rig.want(said(&rig, "under development") == 1 && said(&rig, "tools did not start") == 1, "lost");
        }
        let mut rig = Rig::resuming(version, false);
        early(&mut rig, SESSION);
        rig.ok("thread/resume", idle());
        rig.pass(10, &json!([]));
        rig.want(said(&rig, "under development") == 1 && said(&rig, "tools did not start") == 1, "lost");
    }
}
