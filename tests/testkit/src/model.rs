//! Scripted model: a server of the Responses API on loopback whose answers the test decides.
//!
//! What it answers comes from a [`Script`] inside the prompt, or else from the queue of [`Model::push`].

mod conversation;
mod desk;
mod exec;
mod placeholder;
mod request;
mod script;
mod server;
mod stream;

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use desk::Desk;

pub use exec::{Exec, exec, exec_code};
pub use placeholder::{found, found_nth, found_text};
pub use request::Request;
pub use script::{Action, Call, Custom, Say, Script, Step, call, custom, say};

/// A running model server. Dropping it ends the server and every connection.
#[derive(Debug)]
pub struct Model {
    address: SocketAddr,
    desk: Arc<watch::Sender<Desk>>,
    stop: oneshot::Sender<()>,
    server: JoinHandle<()>,
}

impl Model {
    /// Listens on a free port of 127.0.0.1. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn start() -> anyhow::Result<Self> {
        let listener =
            tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.context("bind the model server")?;
        let address = listener.local_addr()?;
        let desk = Arc::new(watch::Sender::new(Desk::default()));
        let (stop, stopped) = oneshot::channel();
        let server = tokio::spawn(server::serve(listener, Arc::clone(&desk), stopped));
        Ok(Self { address, desk, stop, server })
    }

    /// The `base_url` of a Codex model provider: `http://127.0.0.1:<port>/v1`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Queues the answer of one request whose prompt has no script (or none left).
    pub fn push(&self, step: impl Into<Step>) {
        self.desk.send_modify(|desk| desk.queue.push_back(step.into()));
    }

    /// Releases every response that waits, or will wait, at [`Action::gate`] of that name.
    pub fn open(&self, gate: &str) {
        self.desk.send_modify(|desk| {
            desk.open_gates.insert(gate.to_owned());
        });
    }

    /// Waits until a response stands at the gate (or went through it).
    ///
    /// # Errors
    /// After [`crate::PATIENCE`].
    pub async fn wait_gate(&self, gate: &str) -> anyhow::Result<()> {
        self.wait(&format!("a response at gate {gate}"), |desk| desk.reached_gates.contains(gate)).await
    }

    /// How many requests for a response came in so far.
    #[must_use]
    pub fn request_count(&self) -> usize {
        self.desk.borrow().request_count
    }

    /// The latest requests, oldest first; only the last 128 are kept.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.desk.borrow().requests.iter().cloned().collect()
    }

    /// Waits until at least `n` requests came in, and returns the kept ones, oldest first.
    ///
    /// # Errors
    /// After [`crate::PATIENCE`].
    pub async fn wait_requests(&self, n: usize) -> anyhow::Result<Vec<Request>> {
        self.wait(&format!("request {n}"), |desk| desk.request_count >= n).await?;
        Ok(self.requests())
    }

    /// Waits until Codex hung up on at least `n` unfinished responses, as it does at an interrupt.
    ///
    /// # Errors
    /// After [`crate::PATIENCE`].
    pub async fn wait_abandoned(&self, n: usize) -> anyhow::Result<()> {
        self.wait(&format!("abandoned response {n}"), |desk| desk.abandoned >= n).await
    }

    /// What was wrong with the scripts: text that is no script, placeholders that found nothing.
    ///
    /// Each is also said by the model as `SCRIPT ERROR: ...`.
    #[must_use]
    pub fn errors(&self) -> Vec<String> {
        self.desk.borrow().errors.clone()
    }

    /// Ends the server and returns when nothing of it is left.
    pub async fn stop(self) {
        drop(self.stop);
        // The only error is a panic of the server task, which tokio has printed already.
        let _ = self.server.await;
    }

    async fn wait(&self, what: &str, ready: impl FnMut(&Desk) -> bool) -> anyhow::Result<()> {
        let mut desk = self.desk.subscribe();
        let waited = tokio::time::timeout(crate::PATIENCE, desk.wait_for(ready)).await;
        match waited {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) => anyhow::bail!("the model server ended before {what}"),
            Err(_) => anyhow::bail!(
                "no {what} within {:?}; requests so far: {}, script errors: {:?}",
                crate::PATIENCE,
                self.request_count(),
                self.errors()
            ),
        }
    }
}
