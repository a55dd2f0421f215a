//! The app-server dies at a bad moment: nothing hangs, nothing is forgotten, nothing is done twice.

use crate::rig::{Rig, SESSION, command, idle, thread};
use serde_json::json;

#[test]
fn a_held_prompt_goes_on_after_a_death() {
    for version in [1, 2] {
        let mut rig = Rig::running(version);
        // The first is steered and lost with Codex, the second waits behind it.
        rig.prompt("p2");
        rig.prompt("p3");
        rig.dies();
        rig.recovers();
        rig.pass(120_000, &json!([]));
        rig.want(rig.answer("p2").is_some_and(|it| it["error"].is_object()), "p2 was lost with Codex");
        rig.want(rig.is_called("turn/start") || rig.answer("p3").is_some(), "p3 hangs");
    }
}

#[test]
fn a_key_is_looked_up_again_when_codex_dies_under_the_search() {
    let mut rig = Rig::resuming(2, false);
    rig.ok("thread/resume", idle());
    rig.pass(10, &json!([]));
    rig.prompt_with_key("p1", "k");
    rig.want(rig.is_called("thread/items/list"), "the thread may hold the key");
    rig.dies();
    rig.recovers();
    rig.pass(120_000, &json!([]));
    rig.prompt("p2");
    let goes_on = rig.is_called("thread/items/list") || rig.is_called("turn/start");
    rig.want(goes_on || rig.answer("p1").is_some(), "p1 and what is behind it hang");
}

/// Codex may have saved the prompt before it died: sent again unseen, it would run twice.
#[test]
fn a_prompt_tried_again_after_a_death_is_first_looked_for() {
    let mut rig = Rig::open(2);
    rig.prompt_with_key("a", "k");
    rig.want(rig.is_called("turn/start"), "a is sent");
    rig.dies();
    rig.want(rig.answer("a").is_some_and(|it| it["error"].is_object()), "nobody knows what became of a");
    rig.prompt_with_key("b", "k");
    rig.booted();
    rig.ok("thread/resume", idle());
    rig.pass(10, &json!([]));
    rig.want(!rig.is_called("turn/start"), "b is sent without a look into the thread");
    rig.want(rig.is_called("thread/items/list"), "nobody looks");
}

/// What the sweep must end would else pass for what the new app-server runs.
#[test]
fn a_resume_waits_for_the_sweep_after_a_death() {
    for version in [1, 2] {
        let mut rig = Rig::running(version);
        rig.command("A", "c1", Some("7"));
        rig.dies();
        rig.resume(false);
        rig.want(!rig.is_called("thread/resume"), "the old processes still live");
        rig.swept();
        rig.recovers();
        rig.pass(120_000, &json!([]));
        rig.want(rig.answer("res").is_some_and(|it| it["result"].is_object()), "the resume hangs");
        match version {
            1 => rig.want(rig.answer("p1").is_some(), "the lost prompt hangs"),
            _ => rig.want(rig.state()["state"] == "idle", "running for ever"),
        }
    }
}

#[test]
fn the_mcp_servers_come_back_with_the_app_server() {
    let mut rig = Rig::new(2);
    let server = json!({"type": "stdio", "name": "s", "command": "/bin/s", "args": [], "env": []});
    rig.request("new", "session/new", json!({"cwd": "/w", "mcpServers": [server]}));
    rig.ok("thread/start", idle());
    rig.dies();
    rig.prompt("p");
    rig.booted();
    let resume = rig.call("thread/resume");
    rig.want(resume["params"]["config"]["mcp_servers"]["s"].is_object(), "s is gone");
}

#[test]
fn an_app_server_that_cannot_be_started_is_not_tried_for_ever() {
    let mut rig = Rig::open(2);
    rig.dies();
    rig.prompt("p");
    let mut n_starts = 0;
    let mut tried = None;
    while tried != Some(rig.generation()) && n_starts < 1000 {
        tried = Some(rig.generation());
        n_starts += 1;
        rig.not_started();
    }
    assert!(n_starts < 10, "{n_starts} starts");
    rig.want(rig.answer("p").is_some_and(|it| it["error"].is_object()), "the prompt hangs");
}

#[test]
fn a_session_closed_while_its_thread_comes_back_leaves_no_thread() {
    let mut rig = Rig::open(2);
    rig.dies();
    rig.prompt("p");
    rig.booted();
    rig.close();
    rig.ok("thread/resume", idle());
    rig.want(rig.is_called("thread/unsubscribe"), "the thread stays loaded and nobody owns it");
}

#[test]
fn a_new_session_works_while_the_old_ones_are_swept() {
    let mut rig = Rig::running(2);
    rig.command("A", "c1", Some("7"));
    rig.dies();
    opens_another(&mut rig);
    rig.swept();
    rig.want(n_exits(&rig, SESSION) == 1, "what the sweep ended is not told");
    rig.want(n_exits(&rig, "U") == 0, "the sweep of the old app-server ends something of the new one");
}

/// Both app-servers are dead, and the first one's sweep says nothing of the second one's commands.
#[test]
fn each_loss_waits_for_its_own_sweep() {
    let mut rig = Rig::running(2);
    rig.command("A", "c1", Some("7"));
    rig.dies();
    opens_another(&mut rig);
    rig.dies();
    rig.swept();
    rig.want(n_exits(&rig, SESSION) == 1, "what the first sweep ended is not told");
    rig.want(n_exits(&rig, "U") == 0, "told as ended, and no sweep has looked for it");
    rig.swept();
    rig.want(n_exits(&rig, "U") == 1, "what the second sweep ended is not told");
}

/// A session `U` on the next app-server, with a command that runs.
fn opens_another(rig: &mut Rig) {
    rig.request("new2", "session/new", json!({"cwd": "/w"}));
    rig.booted();
    rig.ok("thread/start", thread("U", "idle"));
    rig.want(rig.answer("new2").is_some_and(|it| it["result"]["sessionId"] == "U"), "it waits");
    rig.notify("turn/started", json!({"threadId": "U", "turn": {"id": "B"}}));
    let item = command("d1", Some("9"), "inProgress");
    rig.notify("item/started", json!({"threadId": "U", "turnId": "B", "item": item}));
}

fn n_exits(rig: &Rig, session: &str) -> usize {
    let own = rig.told.iter().filter(|it| it["params"]["sessionId"] == session);
    own.filter(|it| it["params"]["update"]["exitStatus"].is_object()).count()
}
