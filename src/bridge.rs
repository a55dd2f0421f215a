//! Both codecs around the core: one arrival in, an ordered list of departures out.
//!
//! Owns which app-server is listened to. No I/O, no clock, no process: whoever drives it has those.

pub mod arrival;
pub mod departure;
#[cfg(test)]
mod tests;

use crate::acp;
use crate::codex;
use crate::core::Core;
use crate::core::asked::CodexAsk;
use crate::core::away::KEPT;
use crate::core::codex::FromCodex;
use crate::core::effect::{Anomaly, Effect, Effects};
use crate::core::ids::{Generation, Tick};
use crate::core::input::{FromClient, Input};
use crate::core::request::Version;
use crate::core::settings::Settings;
use crate::transport::{CLIENT_LINE_MAX, CODEX_LINE_MAX};
use arrival::Arrival;
use departure::{Departure, Note};
use std::collections::VecDeque;

/// So many lines in a row that are no JSON-RPC, and what writes them is no app-server any more.
pub const GARBAGE_MAX: u32 = 20;

/// One connection of a client, and the app-servers that serve it one after the other.
#[derive(Debug)]
pub struct Bridge {
    core: Core,
    acp: acp::Edge,
    codex: codex::Edge,
    /// The app-server whose lines count; `None` before the first and after a death.
    heard: Option<Generation>,
    /// Lines in a row that were no JSON-RPC.
    garbage: u32,
    /// Inputs that came of the last one, in order.
    inputs: VecDeque<Input>,
    effects: Effects,
}

impl Bridge {
    /// A bridge that nothing has reached yet.
    pub fn new(settings: Settings) -> Self {
        let (name, version) = (env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        Self {
            acp: acp::Edge::new(acp::AgentInfo {
                name: name.into(),
                version: version.into(),
                sign_in: settings.sign_in.clone(),
            }),
            codex: codex::Edge::new(codex::ClientInfo {
                name: name.into(),
                title: name.into(),
                version: version.into(),
            })
            .keeping(settings.connect.as_ref().map(|_| KEPT)),
            core: Core::new(settings),
            heard: None,
            garbage: 0,
            inputs: VecDeque::new(),
            effects: Effects::default(),
        }
    }

    /// Takes in one arrival; what must be done is added to `out`, in the order to do it.
    pub fn step(&mut self, now: Tick, arrival: Arrival<'_>, out: &mut Vec<Departure>) {
        self.receive(arrival, out);
        while let Some(input) = self.inputs.pop_front() {
            self.core.step(now, input, &mut self.effects);
            self.perform(out);
        }
    }

    /// When to come back with `Arrival::Deadline` if nothing else happens, and why.
    pub fn next_deadline(&self) -> Option<(Tick, &'static str)> {
        self.core.next_deadline()
    }

    /// Whether Codex has to be read however slow the client is.
    pub fn needs_codex(&self) -> bool {
        self.core.needs_codex()
    }

    /// The protocol version of the client, once it has initialized.
    pub fn version(&self) -> Option<Version> {
        self.acp.profile().map(|profile| profile.version)
    }

    fn receive(&mut self, arrival: Arrival<'_>, out: &mut Vec<Departure>) {
        match arrival {
            Arrival::ClientLine(line) => {
                let read = self.acp.read(line);
                self.client_said(read, out);
            }
            Arrival::ClientOversized(remains) => {
                let read = self.acp.oversized(remains, CLIENT_LINE_MAX);
                self.client_said(read, out);
            }
            Arrival::ClientEof => self.inputs.push_back(Input::Client(FromClient::Eof)),
            Arrival::CodexLine { generation, line } => match self.is_heard(generation) {
                true => self.codex_line(generation, line, out),
                false => out.push(note(Anomaly::StaleGeneration { generation })),
            },
            Arrival::CodexOversized { generation } => match self.is_heard(generation) {
                true => self.codex_oversized(out),
                false => out.push(note(Anomaly::StaleGeneration { generation })),
            },
            Arrival::CodexNotStarted { generation, message } => {
                let message = message.to_owned();
                self.lost(FromCodex::NotStarted { generation, message }, generation);
            }
            Arrival::CodexDied { generation, how, stderr } => {
                let (how, stderr) = (how.to_owned(), stderr.map(str::to_owned));
                self.lost(FromCodex::Died { generation, how, stderr }, generation);
            }
            Arrival::Deadline => self.inputs.push_back(Input::Deadline),
            Arrival::ClientQueue(pressure) => self.inputs.push_back(Input::ClientQueue(pressure)),
            Arrival::Swept { generation, report } => {
                self.inputs.push_back(Input::Swept { generation, report });
            }
            Arrival::Stop { stop, report } => self.inputs.push_back(Input::Stop { stop, report }),
            Arrival::Surveyed { session, found } => {
                let (session, found) = (session.clone(), found.to_vec());
                self.inputs.push_back(Input::Surveyed { session, found });
            }
            Arrival::PageNotOpened(why) => {
                self.inputs.push_back(Input::PageNotOpened { why: why.to_owned() });
            }
            Arrival::Watched { watch, report } => self.inputs.push_back(Input::Watched { watch, report }),
            Arrival::Signal(number) => self.inputs.push_back(Input::Signal(number)),
        }
    }

    fn is_heard(&self, generation: Generation) -> bool {
        self.heard == Some(generation)
    }

    fn client_said(&mut self, read: acp::Read, out: &mut Vec<Departure>) {
        match read {
            acp::Read::Input(input) => self.inputs.push_back(Input::Client(input)),
            acp::Read::Reply(reply) => out.push(Departure::ToClient(reply)),
            acp::Read::Hello { reply, profile } => {
                out.push(Departure::ToClient(reply));
                self.inputs.push_back(Input::Client(FromClient::Hello(profile)));
            }
            acp::Read::Nothing => {}
            acp::Read::Anomaly(anomaly) => out.push(note(anomaly)),
        }
    }

    fn codex_line(&mut self, generation: Generation, line: &[u8], out: &mut Vec<Departure>) {
        let read = self.codex.read(line);
        if let Some(line) = read.reply {
            out.push(Departure::ToCodex { generation, line });
        }
        let is_garbage = matches!(&read.heard,
            codex::Heard::Anomaly(Anomaly::Undecodable { method, .. }) if method.is_empty());
        self.garbage = if is_garbage { self.garbage + 1 } else { 0 };
        self.inputs.push_back(Input::CodexHeard);
        match read.heard {
            codex::Heard::Codex(FromCodex::Asked { request, mut ask }) => {
                if let CodexAsk::McpForm { form, .. } = &mut ask {
                    form.fits = self.acp.fits(&form.schema);
                }
                self.inputs.push_back(Input::Codex(FromCodex::Asked { request, ask }));
            }
            codex::Heard::Codex(input) => self.inputs.push_back(Input::Codex(input)),
            codex::Heard::Anomaly(anomaly) => out.push(note(anomaly)),
            codex::Heard::Both(anomaly, input) => {
                out.push(note(anomaly));
                self.inputs.push_back(Input::Codex(input));
            }
        }
        if self.garbage >= GARBAGE_MAX {
            self.give_up(generation, "its output stopped being JSON".to_owned(), out);
        }
    }

    // The line costs itself and what waits for it; everything after it is read as ever.
    fn codex_oversized(&mut self, out: &mut Vec<Departure>) {
        let at = format!("a line of more than {CODEX_LINE_MAX} bytes");
        out.push(note(Anomaly::Undecodable { side: "codex", method: String::new(), at }));
        self.inputs.push_back(Input::CodexHeard);
        self.inputs.extend(self.codex.oversized(CODEX_LINE_MAX).map(Input::Codex));
    }

    // The process may live on for a while; the core hears of its end once, and that is now.
    fn give_up(&mut self, generation: Generation, how: String, out: &mut Vec<Departure>) {
        out.push(Departure::EndCodex(generation));
        self.lost(FromCodex::Died { generation, how, stderr: None }, generation);
    }

    fn lost(&mut self, input: FromCodex, generation: Generation) {
        if self.is_heard(generation) {
            self.heard = None;
            self.garbage = 0;
            self.inputs.push_back(Input::Codex(input));
        }
    }

    fn perform(&mut self, out: &mut Vec<Departure>) {
        for effect in self.effects.drain() {
            match effect {
                Effect::Respond { ticket, reply } => {
                    out.push(Departure::ToClient(self.acp.respond(ticket, reply)));
                }
                Effect::Update { session, update } => {
                    let encoded = self.acp.update(&session, &update);
                    out.extend(encoded.lines.into_iter().map(Departure::ToClient));
                    if let Some(why) = encoded.dropped {
                        out.push(Departure::Noted(Note::Dropped { session, why }));
                    }
                }
                Effect::Ask { ask, session, question } => match self.acp.ask(ask, &session, &question) {
                    Ok(line) => out.push(Departure::ToClient(line)),
                    Err(answer) => self.inputs.push_back(Input::Client(FromClient::Answered { ask, answer })),
                },
                Effect::AskBeside { ask, request, question } => {
                    match self.acp.ask_beside(ask, &request, &question) {
                        Ok(line) => out.push(Departure::ToClient(line)),
                        Err(answer) => {
                            self.inputs.push_back(Input::Client(FromClient::Answered { ask, answer }));
                        }
                    }
                }
                Effect::OpenPage { url } => out.push(Departure::OpenPage(url)),
                Effect::PageOver { elicitation } => {
                    out.push(Departure::ToClient(acp::Edge::page_over(&elicitation)));
                }
                Effect::Withdraw { ask } => out.extend(self.acp.withdraw(ask).map(Departure::ToClient)),
                Effect::Call { call, request } => {
                    let line = self.codex.call(call, &request);
                    out.extend(to_codex(self.heard, line));
                }
                Effect::AnswerCodex { request, answer } => {
                    let line = self.codex.answer(&request, &answer);
                    out.extend(to_codex(self.heard, line));
                }
                Effect::StartCodex { generation } => {
                    self.codex.start(generation);
                    self.heard = Some(generation);
                    self.garbage = 0;
                    out.push(Departure::StartCodex(generation));
                }
                Effect::EndCodex { generation } => out.push(Departure::EndCodex(generation)),
                Effect::Sweep { generation, threads, whole } => {
                    out.push(Departure::Sweep { generation, threads, whole });
                }
                Effect::Stop { stop, act } => out.push(Departure::Stop { stop, act }),
                Effect::Survey { session, thread } => out.push(Departure::Survey { session, thread }),
                Effect::Watch { watch, act } => out.push(Departure::Watch { watch, act }),
                Effect::Exit { code } => out.push(Departure::Exit { code }),
                Effect::Anomaly(anomaly) => out.push(note(anomaly)),
            }
        }
    }
}

fn to_codex(heard: Option<Generation>, line: String) -> Option<Departure> {
    heard.map(|generation| Departure::ToCodex { generation, line })
}

fn note(anomaly: Anomaly) -> Departure {
    Departure::Noted(Note::Anomaly(anomaly))
}
