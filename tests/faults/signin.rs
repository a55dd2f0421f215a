//! Accounts and sign-ins, and everything that can happen before they are answered.

use crate::rig::{Rig, idle};
use serde_json::{Value, json};

const NOBODY: &str = r#"{"account": null, "requiresOpenaiAuth": true}"#;

fn nobody() -> Value {
    serde_json::from_str(NOBODY).expect("it is JSON")
}

/// A client that opens pages; Codex has nobody signed in.
fn with_pages() -> Rig {
    let mut rig = Rig::greeted_with(2, &json!({"elicitation": {"url": {}}}));
    rig.ok("initialize", json!({"userAgent": "codex/1"}));
    rig.ok("model/list", json!({"data": [], "nextCursor": null}));
    rig.ok("account/read", nobody());
    rig
}

fn login(rig: &mut Rig, id: &str) {
    rig.request(id, "auth/login", json!({"methodId": "chatgpt"}));
}

fn page(rig: &mut Rig, login: &str) {
    rig.ok("account/login/start", json!({"type": "chatgpt", "loginId": login, "authUrl": "https://x/"}));
}

fn completed(rig: &mut Rig, login: &str, success: bool) {
    let params = json!({"loginId": login, "success": success, "error": null});
    rig.codex(json!({"method": "account/login/completed", "params": params}));
}

fn n_answers(rig: &Rig, id: &str) -> usize {
    rig.told.iter().filter(|it| it["id"] == id && it.get("method").is_none()).count()
}

#[test]
fn a_resume_that_waits_for_the_account_can_be_closed() {
    let mut rig = Rig::greeted(2);
    rig.ok("initialize", json!({"userAgent": "codex/1"}));
    rig.ok("model/list", json!({"data": [], "nextCursor": null}));
    rig.resume(false);
    rig.close();
    rig.ok("account/read", json!({"account": {"type": "apiKey"}, "requiresOpenaiAuth": true}));
    rig.pass(10_000, &json!([]));
    rig.want(!rig.is_called("thread/resume"), "what is closed is loaded");
    rig.want(rig.unanswered().is_empty(), "a request is not answered");
}

#[test]
fn an_account_that_comes_late_opens_once() {
    let mut rig = Rig::greeted(2);
    rig.ok("initialize", json!({"userAgent": "codex/1"}));
    rig.ok("model/list", json!({"data": [], "nextCursor": null}));
    rig.request("new", "session/new", json!({"cwd": "/w"}));
    rig.pass(2_000, &json!([]));
    rig.want(rig.n_called("thread/start") == 1, "it waits for ever");
    rig.ok("account/read", nobody());
    rig.ok("thread/start", idle());
    rig.pass(10_000, &json!([]));
    rig.want(rig.n_called("thread/start") == 1, "it opens twice");
    rig.want(n_answers(&rig, "new") == 1, "not one answer");
}

#[test]
fn a_later_session_does_not_wait_for_ever_for_an_old_question() {
    let mut rig = Rig::greeted(2);
    rig.ok("initialize", json!({"userAgent": "codex/1"}));
    rig.ok("model/list", json!({"data": [], "nextCursor": null}));
    rig.pass(10_000, &json!([]));
    rig.request("new", "session/new", json!({"cwd": "/w"}));
    rig.pass(2_000, &json!([]));
    rig.want(rig.is_called("thread/start"), "it waits for an answer that does not come");
}

#[test]
fn what_codex_says_of_a_cancelled_login_is_no_second_answer() {
    let mut rig = with_pages();
    login(&mut rig, "in");
    page(&mut rig, "one");
    rig.cancel_request("in");
    rig.want(rig.is_called("account/login/cancel"), "Codex goes on waiting");
    rig.ok("account/login/cancel", json!({"status": "canceled"}));
    completed(&mut rig, "one", false);
    rig.want(n_answers(&rig, "in") == 1, "not one answer");
    login(&mut rig, "again");
    page(&mut rig, "two");
    completed(&mut rig, "one", true);
    rig.want(rig.answer("again").is_none(), "the end of another login");
    completed(&mut rig, "two", true);
    rig.want(rig.answer("again").is_some_and(|it| it["result"] == json!({})), "its own end");
}

/// What the client has to work with is given up for something else only when it has that.
#[test]
fn a_gateway_outlives_a_sign_in_that_failed_and_no_other() {
    let capabilities =
        json!({"elicitation": {"url": {}}, "auth": {"terminal": {}, "_meta": {"gateway": true}}});
    let mut rig = Rig::greeted_with(2, &capabilities);
    rig.ok("initialize", json!({"userAgent": "codex/1"}));
    rig.ok("model/list", json!({"data": [], "nextCursor": null}));
    rig.ok("account/read", nobody());
    let gateway = json!({"baseUrl": "https://gateway.example/v1", "headers": {}});
    rig.request("give", "auth/login", json!({"methodId": "gateway", "_meta": {"gateway": gateway}}));
    let is_used = |rig: &mut Rig, id: &str| {
        rig.request(id, "session/new", json!({"cwd": "/w"}));
        rig.call("thread/start").to_string().contains("gateway.example")
    };
    let is_its = is_used(&mut rig, "one");
    rig.want(is_its, "the gateway is not used");
    login(&mut rig, "fails");
    page(&mut rig, "one");
    completed(&mut rig, "one", false);
    rig.want(rig.answer("fails").is_some_and(|it| it["error"]["code"] == -32000), "no failure");
    login(&mut rig, "cancelled");
    page(&mut rig, "two");
    rig.cancel_request("cancelled");
    rig.request("nobody", "auth/login", json!({"methodId": "codex-login"}));
    rig.ok("account/read", nobody());
    rig.pass(2_000, &json!([]));
    rig.ok("account/read", nobody());
    rig.ok("config/read", json!({"config": {}}));
    rig.want(rig.answer("nobody").is_some_and(|it| it["error"]["code"] == -32000), "it is believed");
    let is_its = is_used(&mut rig, "two");
    rig.want(is_its, "it is forgotten for nothing");
    login(&mut rig, "works");
    page(&mut rig, "three");
    completed(&mut rig, "three", true);
    rig.want(rig.answer("works").is_some_and(|it| it["result"] == json!({})), "its own end");
    let is_its = is_used(&mut rig, "three");
    rig.want(!is_its, "the account is not used");
}

#[test]
fn a_login_that_is_cancelled_before_it_has_an_id_is_cancelled_with_it() {
    let mut rig = with_pages();
    login(&mut rig, "in");
    rig.cancel_request("in");
    rig.want(n_answers(&rig, "in") == 1, "the cancel waits");
    login(&mut rig, "early");
    rig.want(rig.answer("early").is_some_and(|it| it["error"]["code"] == -32600), "two at once");
    page(&mut rig, "one");
    rig.want(rig.is_called("account/login/cancel"), "Codex goes on waiting");
    rig.want(rig.place(|it| it["method"] == "elicitation/create").is_none(), "a page for nobody");
    login(&mut rig, "again");
    rig.want(rig.is_called("account/login/start"), "the next one cannot begin");
}

#[test]
fn the_client_leaves_with_a_page_open() {
    let mut rig = with_pages();
    login(&mut rig, "in");
    page(&mut rig, "one");
    rig.hangs_up();
    rig.dies();
    rig.want(n_answers(&rig, "in") == 1, "not one answer");
    rig.want(rig.exit == Some(0), "it does not leave");
}

#[test]
fn a_login_waits_for_hours() {
    let mut rig = with_pages();
    login(&mut rig, "in");
    page(&mut rig, "one");
    rig.pass(4 * 3_600_000, &json!([]));
    rig.want(rig.answer("in").is_none(), "a login has a deadline");
    completed(&mut rig, "one", true);
    rig.want(rig.answer("in").is_some(), "it is forgotten");
}

#[test]
fn nobody_signs_in_to_a_codex_that_is_not_there() {
    let mut rig = Rig::greeted_with(2, &json!({"elicitation": {"url": {}}}));
    login(&mut rig, "in");
    rig.not_started();
    rig.want(rig.answer("in").is_some_and(|it| it["error"]["code"] == -32603), "not refused");
    rig.request("out", "auth/logout", json!({}));
    rig.not_started();
    rig.want(rig.unanswered().is_empty(), "a request is not answered");
}
