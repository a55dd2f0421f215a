//! What must be true of what the client of a round saw.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::ensure;
use serde_json::Value;

use super::peer::{Peer, answer};
use crate::seen::{Dir, Seen};

/// Announced terminals by session and id, with how often the end of each was told.
pub(super) type Terminals = BTreeMap<(String, String), usize>;

/// The requests of the client that have no answer.
pub(super) fn unanswered(seen: &Seen) -> Vec<String> {
    let ours = seen.wire.iter().filter(|it| it.dir == Dir::ToAdapter);
    let requests = ours.filter_map(|it| Some((it.body["id"].as_u64()?, it.body["method"].as_str()?)));
    let open = requests.filter(|(id, _)| answer(seen, *id).is_none());
    open.map(|(id, method)| format!("{method} {id}")).collect()
}

/// Every terminal that was announced.
pub(super) fn terminals(seen: &Seen) -> Terminals {
    let mut terminals = Terminals::new();
    for message in seen.wire.iter().filter(|it| it.body["method"] == "session/update") {
        let params = &message.body["params"];
        let update = &params["update"];
        let meta = &update["_meta"];
        let session = params["sessionId"].as_str().unwrap_or_default();
        let mut note = |id: &Value, n_ends: usize| {
            if let Some(id) = id.as_str() {
                *terminals.entry((session.to_owned(), id.to_owned())).or_default() += n_ends;
            }
        };
        match update["sessionUpdate"].as_str() {
            Some("terminal_update") => {
                note(&update["terminalId"], usize::from(update["exitStatus"].is_object()))
            }
            _ => {
                note(&meta["terminal_info"]["terminal_id"], 0);
                note(&meta["terminal_exit"]["terminal_id"], 1);
            }
        }
    }
    terminals
}

/// Whether everything is over: each request answered, the end of each terminal told.
pub(super) fn is_settled(seen: &Seen) -> bool {
    unanswered(seen).is_empty() && terminals(seen).values().all(|n| *n > 0) && is_idle(seen)
}

/// Whether the last state (v2) is that no turn runs.
fn is_idle(seen: &Seen) -> bool {
    let updates = seen.wire.iter().rev().map(|it| &it.body["params"]["update"]);
    let last = updates.filter(|it| it["sessionUpdate"] == "state_update").map(|it| &it["state"]).next();
    last.is_none_or(|state| state == "idle")
}

/// At the end of a round whose client lived on: nothing is open, nothing was told twice, no rule is broken.
pub(super) fn check(peer: &Peer) -> anyhow::Result<Terminals> {
    let told = |what: &str| format!("{what}; {}", peer.look(|it| it.tail(60)));
    let open = peer.look(unanswered);
    ensure!(open.is_empty(), told(&format!("unanswered: {}", open.join(", "))));
    let terminals = peer.look(terminals);
    let wrong: Vec<_> = terminals.iter().filter(|(_, n)| **n != 1).collect();
    ensure!(wrong.is_empty(), told(&format!("ends that were not told once: {wrong:?}")));
    let mut faults = peer.look(|it| it.faults(&[]));
    let sessions: BTreeSet<&String> = terminals.keys().map(|(session, _)| session).collect();
    for session in sessions {
        // Nothing runs any more: whatever is believed to is a ghost.
        faults.extend(peer.change(|it| it.at_rest(session, &BTreeSet::new())));
    }
    ensure!(faults.is_empty(), told(&format!("faults:\n{}", faults.join("\n"))));
    Ok(terminals)
}
