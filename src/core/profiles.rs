//! The permission profiles of Codex's configuration, which depend on the directory of a session.
//!
//! Asked for beside the thread that is opened, so that a session is answered with them, or without after a bound:
//! v1 names its modes nowhere else.

use super::Core;
use super::codex::{CodexError, CodexReply, CodexRequest, Profile};
use super::effect::{Anomaly, Effects};
use super::ids::Tick;
use super::link::Purpose;
use super::timer::Timer;
use super::update::Update;
use std::collections::BTreeMap;

/// How long the answer of a session waits for them, in ms, from when it is asked for them.
const PROFILES_BOUND: u64 = 2_000;

/// What one app-server has said of them.
#[derive(Debug, Default)]
pub(crate) struct Profiles {
    by_cwd: BTreeMap<String, Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// As they were told last.
    list: Vec<Profile>,
    /// They are being asked for: until when an answer waits.
    due: Option<Tick>,
}

impl Profiles {
    /// Whether an answer about a session in `cwd` waits for them.
    pub(crate) fn are_awaited(&self, cwd: &str) -> bool {
        self.by_cwd.get(cwd).is_some_and(|known| known.due.is_some())
    }

    /// Those of `cwd`, as far as they are known.
    pub(crate) fn of(&self, cwd: &str) -> &[Profile] {
        self.by_cwd.get(cwd).map_or(&[], |known| &known.list)
    }
}

impl Core {
    /// A session opens in `cwd`: which are there? Configurations change.
    pub(super) fn ask_profiles(&mut self, now: Tick, cwd: &str, out: &mut Effects) {
        let known = self.profiles.by_cwd.entry(cwd.to_owned()).or_default();
        if known.due.is_some() {
            return;
        }
        let due = now.plus(PROFILES_BOUND);
        known.due = Some(due);
        self.timers.arm(due, Timer::Profiles { cwd: cwd.to_owned() });
        let request = CodexRequest::ProfileList { cwd: cwd.to_owned() };
        self.link.call(Purpose::Profiles { cwd: cwd.to_owned() }, request, out);
    }

    /// Codex answered `permissionProfile/list`, maybe late; most configurations have none.
    pub(super) fn profiles_told(
        &mut self,
        now: Tick,
        cwd: &str,
        result: Result<CodexReply, CodexError>,
        out: &mut Effects,
    ) {
        match result {
            Ok(CodexReply::Profiles(list)) => {
                self.profiles.by_cwd.entry(cwd.to_owned()).or_default().list = list;
            }
            Ok(_) => out.anomaly(Anomaly::UnknownAnswer { what: "no profiles in their list" }),
            Err(error) => {
                let method = "permissionProfile/list";
                out.anomaly(Anomaly::CodexRefused { method, message: error.message });
            }
        }
        self.profiles_known(now, cwd, out);
    }

    /// Codex may be taking too long.
    pub(super) fn profiles_bound(&mut self, now: Tick, cwd: &str, out: &mut Effects) {
        let due = self.profiles.by_cwd.get(cwd).and_then(|known| known.due);
        if due.is_some_and(|due| now >= due) {
            out.anomaly(Anomaly::UnknownAnswer { what: "no answer to permissionProfile/list" });
            self.profiles_known(now, cwd, out);
        }
    }

    /// Sessions of this directory are told what is new, and answered if they waited for this.
    fn profiles_known(&mut self, now: Tick, cwd: &str, out: &mut Effects) {
        if let Some(known) = self.profiles.by_cwd.get_mut(cwd) {
            known.due = None;
        }
        let (sessions, mut cx) = self.split(now, out);
        for session in sessions.values_mut().filter(|it| it.place.cwd == cwd && it.lineage.is_none()) {
            if session.learn_profiles(&cx) && session.is_open {
                let options = session.chosen.list(cx.models);
                session.emit(&mut cx, Update::Options(options));
            }
            session.answer_resume(&mut cx);
        }
        self.answer_opened(now, out);
    }
}
