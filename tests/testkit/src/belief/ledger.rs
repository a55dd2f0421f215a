//! Requests of one side that the other still owes an answer.
//!
//! Knows ids, methods and parameters; the meaning of a method is the sessions' affair.

use super::Findings;
use serde_json::Value;
use std::collections::BTreeMap;

/// A request on its way.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) method: String,
    pub(crate) params: Value,
    /// `$/cancel_request` came: it still gets its one answer, but nobody waits for a person.
    pub(crate) withdrawn: bool,
}

impl Call {
    pub(crate) fn session(&self) -> &str {
        self.params["sessionId"].as_str().unwrap_or_default()
    }
}

/// Open requests by id; the key is the id's JSON text, so that `1` and `"1"` differ.
#[derive(Debug, Default)]
pub(crate) struct Ledger(BTreeMap<String, Call>);

impl Ledger {
    pub(crate) fn open(&mut self, id: &Value, method: &str, params: &Value, found: &mut Findings) {
        let call = Call { method: method.to_owned(), params: params.clone(), withdrawn: false };
        if let Some(former) = self.0.insert(id.to_string(), call) {
            found.add("request-id-reused", format!("{id} of {method} is still that of {}", former.method));
        }
    }

    pub(crate) fn close(&mut self, id: &Value) -> Option<Call> {
        self.0.remove(&id.to_string())
    }

    pub(crate) fn withdraw(&mut self, id: &Value) {
        if let Some(call) = self.0.get_mut(&id.to_string()) {
            call.withdrawn = true;
        }
    }

    /// Requests of `session` that are still open, with their ids.
    pub(crate) fn of<'a>(&'a self, session: &'a str) -> impl Iterator<Item = (&'a str, &'a Call)> {
        self.0.iter().filter(move |(_, call)| call.session() == session).map(|(id, call)| (id.as_str(), call))
    }

    /// How many of `method` are open for `session`.
    pub(crate) fn count(&self, session: &str, method: &str) -> usize {
        self.of(session).filter(|(_, call)| call.method == method).count()
    }

    /// How many still want an answer from a person.
    pub(crate) fn waiting(&self, session: &str) -> usize {
        self.of(session).filter(|(_, call)| !call.withdrawn).count()
    }
}
