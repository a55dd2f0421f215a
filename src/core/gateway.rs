//! A model provider that the client gives us while we run: the sign-in `gateway`.
//!
//! In memory only. Codex is told of it with each thread, and writes it nowhere.

use super::Core;
use super::effect::Effects;
use super::ids::Tick;
use super::request::{Reply, Ticket};
use super::sign_in::Secret;
use std::fmt;
use std::sync::Arc;

/// Where the models are, and what opens the door.
#[derive(Clone, PartialEq, Eq)]
pub struct Gateway {
    /// `http` or `https`.
    pub base_url: String,
    /// For people.
    pub name: Option<String>,
    /// Headers of every request to it.
    pub headers: Vec<(String, Secret)>,
}

/// The address may have a secret in it.
impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gateway")
    }
}

impl Core {
    /// From now on sessions open with it, and those that have one get this one when their thread is loaded again.
    pub(super) fn use_gateway(&mut self, now: Tick, ticket: Ticket, gateway: Gateway, out: &mut Effects) {
        let gateway = Arc::new(gateway);
        for session in self.sessions.values_mut().filter(|it| it.place.gateway.is_some()) {
            session.place.gateway = Some(Arc::clone(&gateway));
        }
        self.account.gateway = Some(gateway);
        out.respond(ticket, Reply::SignedIn);
        self.enter_all(now, out);
    }
}
