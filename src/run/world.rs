//! Does what departs: lines, processes, sweeps.
//!
//! Owns the queue to the client and the app-servers that live. Never waits.

use super::event::Event;
use super::link::{Link, Source};
use crate::bridge::departure::Departure;
use crate::child::FromChild;
use crate::core::effect::StopAct;
use crate::core::ids::{Generation, SessionId, StopId, ThreadId, WatchId};
use crate::core::input::{StopReport, SweepReport};
use crate::core::vitals::{WatchAct, WatchReport};
use crate::queue::Outbox;
use crate::stop::reach::Reach;
use crate::stop::survey::survey;
use crate::stop::sweep::sweep;
use crate::stop::tree::{Marked, Scope};
use crate::stop::watch::Watch;
use std::collections::BTreeMap;
use tokio::sync::mpsc::{Sender, UnboundedSender};

/// What the loop acts on. Dropping it ends every app-server and gives up every stop and watch.
#[derive(Debug)]
pub(crate) struct World {
    client: Outbox,
    source: Source,
    /// Marks everything that runs below our app-servers.
    nonce: String,
    from_children: Sender<FromChild>,
    happened: UnboundedSender<Event>,
    links: BTreeMap<Generation, Link>,
    /// Process ids of app-servers, dead ones too: their descendants outlive them.
    pids: BTreeMap<Generation, u32>,
    /// Opens a page; `None` leaves it to the desktop.
    pub(crate) browser: Option<String>,
    /// Started with the first stop.
    reach: Option<Reach>,
    /// Started with the first watch.
    watch: Option<Watch>,
}

impl World {
    pub(crate) fn new(
        client: Outbox,
        (source, nonce): (Source, String),
        from_children: Sender<FromChild>,
        happened: UnboundedSender<Event>,
    ) -> Self {
        Self {
            client,
            source,
            nonce,
            from_children,
            happened,
            links: BTreeMap::new(),
            pids: BTreeMap::new(),
            browser: None,
            reach: None,
            watch: None,
        }
    }

    /// Lets go of an app-server that has died, or that is not there.
    pub(crate) fn seen(&mut self, event: &Event) {
        match event {
            Event::Child(FromChild::Died { generation, .. } | FromChild::NotStarted { generation, .. }) => {
                let link = self.links.remove(generation);
                self.pids.extend(link.and_then(|it| it.pid()).map(|pid| (*generation, pid)));
            }
            Event::Child(FromChild::Frame { .. })
            | Event::ClientLine(_)
            | Event::ClientOversized(_)
            | Event::ClientEof
            | Event::NotStarted { .. }
            | Event::ClientQueue(_)
            | Event::Swept { .. }
            | Event::Stop { .. }
            | Event::Surveyed { .. }
            | Event::Watched { .. }
            | Event::PageNotOpened(_)
            | Event::Signal(_)
            | Event::Deadline => {}
        }
    }

    /// Does one thing. An exit is left to the loop, which gets its code.
    pub(crate) fn perform(&mut self, departure: Departure) -> Option<i32> {
        match departure {
            Departure::ToClient(line) => self.client.push(line),
            Departure::ToCodex { generation, line } => match self.links.get(&generation) {
                Some(link) => link.send(line),
                None => tracing::debug!(generation = generation.0, "a line for a codex that is gone"),
            },
            Departure::StartCodex(generation) => self.start(generation),
            Departure::EndCodex(generation) => {
                if let Some(link) = self.links.get_mut(&generation) {
                    link.end();
                }
            }
            Departure::Sweep { generation, threads, whole } => self.sweep(generation, threads, whole),
            Departure::Stop { stop, act } => self.stop(stop, act),
            Departure::Survey { session, thread } => self.survey(session, thread),
            Departure::Watch { watch, act } => self.watch(watch, act),
            Departure::OpenPage(url) => self.open_page(url),
            Departure::Exit { code } => return Some(code),
            Departure::Noted(_) => {}
        }
        None
    }

    fn start(&mut self, generation: Generation) {
        let run = self.run(generation);
        match self.source.start(generation, run, self.from_children.clone()) {
            Ok(link) => {
                tracing::info!(generation = generation.0, pid = link.pid(), "codex started");
                self.pids.extend(link.pid().map(|pid| (generation, pid)));
                self.links.insert(generation, link);
            }
            Err(message) => {
                tracing::error!(message, "codex not started");
                self.tell(Event::NotStarted { generation, message });
            }
        }
    }

    fn sweep(&self, generation: Generation, threads: Vec<ThreadId>, whole: bool) {
        if !self.may_signal() {
            return self.tell(Event::Swept { generation, report: SweepReport::default() });
        }
        let threads = threads.into_iter().collect();
        let marked = match whole {
            true => Marked::AppServer { run: self.run(generation), threads },
            false => Marked::Threads(threads),
        };
        let app_server = self.links.get(&generation).and_then(Link::pid);
        let scope = Scope { marked, app_server: app_server.or(self.pids.get(&generation).copied()) };
        let happened = self.happened.clone();
        tokio::task::spawn_blocking(move || {
            let report = sweep(&scope);
            // The loop may be over by now.
            let _ = happened.send(Event::Swept { generation, report });
        });
    }

    fn survey(&self, session: SessionId, thread: ThreadId) {
        let scope = Scope { marked: Marked::Threads([thread].into()), app_server: self.app_server() };
        let happened = self.happened.clone();
        tokio::task::spawn_blocking(move || {
            let found = survey(&scope);
            // The loop may be over by now.
            let _ = happened.send(Event::Surveyed { session, found });
        });
    }

    /// The mark of everything that this app-server starts.
    fn run(&self, generation: Generation) -> String {
        format!("{}.{}", self.nonce, generation.0)
    }

    /// Pid of the app-server that was started last. Commands of former ones are below none by now.
    fn app_server(&self) -> Option<u32> {
        let living = self.links.values().next_back().and_then(Link::pid);
        living.or(self.pids.values().next_back().copied())
    }

    /// What runs below an app-server of somebody else, on this host or another, is theirs to signal.
    fn may_signal(&self) -> bool {
        !self.source.is_foreign() || self.app_server().is_some()
    }

    fn stop(&mut self, stop: StopId, act: StopAct) {
        if !self.may_signal() {
            if let StopAct::Ask { .. } = act {
                self.tell(Event::Stop { stop, report: StopReport::NotFound });
            }
            return;
        }
        let app_server = self.app_server();
        let reach = match &self.reach {
            Some(reach) => reach,
            None => {
                let happened = self.happened.clone();
                let started = Reach::start(move |stop, report| {
                    // The loop may be over by now.
                    let _ = happened.send(Event::Stop { stop, report });
                });
                match started {
                    Ok(reach) => self.reach.insert(reach),
                    Err(error) => {
                        tracing::error!(%error, "no thread to end processes");
                        return self.tell(Event::Stop { stop, report: StopReport::NotFound });
                    }
                }
            }
        };
        reach.act(stop, act, app_server);
    }

    fn watch(&mut self, id: WatchId, act: WatchAct) {
        let app_server = self.app_server();
        let watch = match &self.watch {
            Some(watch) => watch,
            None => {
                let happened = self.happened.clone();
                let started = Watch::start(move |watch, report| {
                    // The loop may be over by now.
                    let _ = happened.send(Event::Watched { watch, report });
                });
                match started {
                    Ok(watch) => self.watch.insert(watch),
                    Err(error) => {
                        tracing::error!(%error, "no thread to watch processes");
                        return self.tell(Event::Watched { watch: id, report: WatchReport::NotFound });
                    }
                }
            }
        };
        watch.act(id, act, app_server);
    }

    // The browser outlives us, and has none of our pipes. Whether one came up is known within a moment.
    fn open_page(&self, url: String) {
        let (happened, browser) = (self.happened.clone(), self.browser.clone());
        tokio::task::spawn_blocking(move || {
            let opened = match browser {
                Some(browser) => open::with_detached(url, browser),
                None => open::that_detached(url),
            };
            if let Err(error) = opened {
                tracing::warn!(%error, "no page opened");
                // The loop may be over by now.
                let _ = happened.send(Event::PageNotOpened(error.to_string()));
            }
        });
    }

    fn tell(&self, event: Event) {
        // The loop holds the other end for as long as it holds this.
        let _ = self.happened.send(event);
    }
}
