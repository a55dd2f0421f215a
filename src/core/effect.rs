//! What the shell must do, in the order it must be done.

use super::ask::Ask;
use super::asked::CodexAnswer;
use super::codex::CodexRequest;
use super::failure::Failure;
use super::ids::{AskId, CodexCallId, Generation, ItemId, RequestId, SessionId, StopId, ThreadId, WatchId};
use super::pieces;
use super::request::{Reply, Ticket};
use super::update::Update;
use super::vitals::WatchAct;

/// One thing to do.
#[derive(Debug, PartialEq)]
pub enum Effect {
    /// Answer a request of the client.
    Respond { ticket: Ticket, reply: Reply },
    /// Send a `session/update`.
    Update { session: SessionId, update: Update },
    /// Ask the client.
    Ask { ask: AskId, session: SessionId, question: Ask },
    /// Ask the client about one of its own requests, outside of any session.
    AskBeside { ask: AskId, request: RequestId, question: Ask },
    /// Open a page in the browser of this machine; answered by `Input::PageNotOpened`, or not at all.
    OpenPage { url: String },
    /// The page of this elicitation is done with, however it ended.
    PageOver { elicitation: String },
    /// Withdraw a question with `$/cancel_request`.
    Withdraw { ask: AskId },
    /// Call Codex.
    Call { call: CodexCallId, request: CodexRequest },
    /// Answer a request of Codex.
    AnswerCodex { request: RequestId, answer: CodexAnswer },
    /// Spawn the app-server.
    StartCodex { generation: Generation },
    /// End the app-server: close its stdin, then TERM, then KILL of its group.
    EndCodex { generation: Generation },
    /// End every process that carries one of these threads' markers (D10).
    /// `whole`: and everything else that the app-server has started.
    Sweep { generation: Generation, threads: Vec<ThreadId>, whole: bool },
    /// Reach for the processes of a command (D5); off the loop, answered by `Input::Stop`.
    Stop { stop: StopId, act: StopAct },
    /// Look at everything that the commands of a thread have running; answered by `Input::Surveyed`.
    Survey { session: SessionId, thread: ThreadId },
    /// Watch the processes of a command, or no longer (D11); off the loop, answered by `Input::Watched`.
    Watch { watch: WatchId, act: WatchAct },
    /// Leave with this exit code, once everything before is written.
    Exit { code: i32 },
    /// Something did not fit; counted, logged, harmless.
    Anomaly(Anomaly),
}

/// What to do with the processes of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopAct {
    /// Take everything that carries the marker of `item` (`CODEX_TOOL_CALL_ID`) of `thread`, leader
    /// and members, and ask all of it to end at once: SIGINT where the leader has a tty, else
    /// SIGTERM, SIGCONT for the stopped, nothing for sandbox wrappers. Answered by `Signalled` or
    /// `NotFound`; then by `Gone` once none of it, nor what it started meanwhile, is alive.
    Ask { thread: ThreadId, item: ItemId },
    /// Take what is left once more: SIGTERM, then SIGKILL. Answered by `Gone` or `Left`.
    Finish,
    /// Nobody waits any more; nothing is answered.
    Forget,
}

/// Input that does not fit what came before. Names no payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Anomaly {
    /// A message about a thread that is no session of ours.
    UnknownThread { thread: ThreadId, what: &'static str },
    /// A message about an item that was never started.
    UnknownItem { thread: ThreadId, item: ItemId, what: &'static str },
    /// Output of a command that already ended.
    OutputAfterClose { thread: ThreadId, item: ItemId },
    /// An item started twice or ended twice.
    Repeated { thread: ThreadId, item: ItemId, what: &'static str },
    /// An answer to a question or call that is not open.
    UnknownAnswer { what: &'static str },
    /// A method of Codex that the map does not know.
    Unmapped { method: String },
    /// A line that could not be decoded; `at` is a path, never a value.
    Undecodable { side: &'static str, method: String, at: String },
    /// A terminal that a complete list does not name and whose end nobody reported.
    SilentEnd { thread: ThreadId, item: ItemId },
    /// Codex refused something that should have worked.
    CodexRefused { method: &'static str, message: String },
    /// A message of a former app-server process.
    StaleGeneration { generation: Generation },
}

/// The ordered list of effects of one step.
#[derive(Debug, Default)]
pub struct Effects(Vec<Effect>);

impl Effects {
    /// Adds one effect at the end.
    pub fn push(&mut self, effect: Effect) {
        self.0.push(effect);
    }

    /// Answers a request; the ticket is used up.
    pub fn respond(&mut self, ticket: Ticket, reply: Reply) {
        self.0.push(Effect::Respond { ticket, reply });
    }

    /// Answers a request with an error; the ticket is used up.
    pub fn refuse(&mut self, ticket: Ticket, failure: Failure) {
        self.respond(ticket, Reply::Failed(failure));
    }

    /// Sends an update of a session.
    pub fn update(&mut self, session: &SessionId, update: Update) {
        let pieces = pieces::of(update);
        self.0.extend(pieces.map(|update| Effect::Update { session: session.clone(), update }));
    }

    /// Notes that something did not fit.
    pub fn anomaly(&mut self, anomaly: Anomaly) {
        self.0.push(Effect::Anomaly(anomaly));
    }

    /// Takes everything out, in order.
    pub fn drain(&mut self) -> std::vec::Drain<'_, Effect> {
        self.0.drain(..)
    }

    /// Whether nothing is to be done.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
