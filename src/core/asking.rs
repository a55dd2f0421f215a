//! Slash commands that are answered with what Codex says: what is asked, and what comes of it.

use super::codex::{CodexError, CodexReply, CodexRequest};
use super::cx::Cx;
use super::failure::Failure;
use super::goals::{Goal, GoalStatus};
use super::ids::PromptKey;
use super::inquiry::{Account, Inquiry, McpServerState, RateLimit, Told};
use super::link::Purpose;
use super::locals::Need;
use super::request::Version;
use super::rules::CollaborationMode;
use super::session::{Session, Tie};
use super::slash::{GoalAct, Task};
use super::status::{self, Asked};
use super::timer::Timer;
use super::update::{EndedBy, Update};
use super::{mcp, skills, tree_diff};
use crate::background::standing::Kind;

/// How long an answer of ours waits for Codex's, in ms: tool servers take their time to start.
const TOLD_BOUND: u64 = 20_000;
/// Pages of tool servers that are read.
const PAGES: usize = 20;

/// What Codex was asked, for a prompt that is answered here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    Account,
    RateLimits,
    Logout,
    Servers,
    Skills,
    /// Diff of what git knows, names of what it does not, diff of one of these.
    Tracked,
    Untracked,
    Added,
    Rename,
    /// What the goal is.
    Goal,
    /// It is set, paused, resumed or cleared.
    GoalChange,
}

/// One answer of Codex's.
#[derive(Debug)]
pub(crate) struct Heard {
    question: Question,
    result: Result<CodexReply, CodexError>,
}

/// What follows from the answers so far.
enum Next {
    Say(String),
    /// These are kept, and more is asked.
    Ask(Vec<Heard>, Vec<(Question, CodexRequest)>),
}

impl Session {
    /// A command that needs Codex.
    pub(crate) fn inquire(&mut self, cx: &mut Cx<'_>, key: &PromptKey, task: Task) {
        if let Err(failure) = cx.link.ensure(cx.now, cx.out) {
            return self.answer_local(cx, key, &format!("{}.", capital(&failure.to_string())));
        }
        let bound = Timer::Local { session: self.id.clone(), key: key.clone() };
        cx.timers.arm(cx.now.plus(TOLD_BOUND), bound);
        if needs_thread(&task) && self.tie != Tie::Loaded {
            self.locals.needs(key, Need::Thread(task));
            if self.tie == Tie::Unloaded {
                self.revive(cx);
            }
            return;
        }
        let thread = self.thread.clone();
        let cwd = self.place.cwd.clone();
        let goal = |objective: Option<String>| {
            CodexRequest::Inquiry(Inquiry::Goal { thread: thread.clone(), objective })
        };
        let questions = match &task {
            Task::Start(start) => return self.begin(cx, key, start),
            Task::Status => vec![
                (Question::Account, CodexRequest::AccountRead),
                (Question::RateLimits, CodexRequest::Inquiry(Inquiry::RateLimits)),
            ],
            Task::Diff => vec![
                (Question::Tracked, self.exec(tree_diff::tracked())),
                (Question::Untracked, self.exec(tree_diff::untracked())),
            ],
            Task::Mcp => vec![(Question::Servers, self.servers(None))],
            Task::Skills => {
                vec![(Question::Skills, CodexRequest::Inquiry(Inquiry::Skills { cwd, afresh: true }))]
            }
            Task::Logout => vec![(Question::Logout, CodexRequest::Logout)],
            Task::Rename(name) => {
                let request = Inquiry::Rename { thread, name: name.clone() };
                vec![(Question::Rename, CodexRequest::Inquiry(request))]
            }
            Task::Goal(GoalAct::Show) => vec![(Question::Goal, CodexRequest::GoalGet { thread })],
            Task::Goal(GoalAct::Set(objective)) => {
                self.tell_choices(cx);
                vec![(Question::GoalChange, goal(Some(objective.clone())))]
            }
            Task::Goal(GoalAct::Resume) => {
                self.tell_choices(cx);
                vec![(Question::GoalChange, goal(None))]
            }
            Task::Goal(GoalAct::Pause) => vec![(Question::GoalChange, CodexRequest::GoalPause { thread })],
            Task::Goal(GoalAct::Clear) => match self.standing_item(|it| matches!(it.kind, Kind::Goal(_))) {
                // As if its call were cancelled: its turn ends too.
                Some(item) => {
                    self.locals.needs(key, Need::GoalEnd);
                    return self.stop_goal(cx, &item, EndedBy::Client);
                }
                None => vec![(Question::Goal, CodexRequest::GoalGet { thread })],
            },
        };
        self.ask_for_local(cx, key, (task, Vec::new()), questions);
    }

    fn ask_for_local(
        &mut self,
        cx: &mut Cx<'_>,
        key: &PromptKey,
        (task, heard): (Task, Vec<Heard>),
        questions: Vec<(Question, CodexRequest)>,
    ) {
        self.locals.needs(key, Need::Codex { task, open: questions.len(), heard });
        for (question, request) in questions {
            self.reads.goal_changes += usize::from(question == Question::GoalChange);
            let purpose = Purpose::Local { session: self.id.clone(), key: key.clone(), question };
            cx.link.call(purpose, request, cx.out);
        }
    }

    fn exec(&self, command: Vec<String>) -> CodexRequest {
        let (cwd, preset) = (self.place.cwd.clone(), self.chosen.preset());
        CodexRequest::Inquiry(Inquiry::Exec { command, cwd, preset })
    }

    fn servers(&self, cursor: Option<String>) -> CodexRequest {
        CodexRequest::Inquiry(Inquiry::McpServers { thread: self.thread.clone(), cursor })
    }

    /// Codex answered one of the questions.
    pub(crate) fn local_told(
        &mut self,
        cx: &mut Cx<'_>,
        key: &PromptKey,
        question: Question,
        result: Result<CodexReply, CodexError>,
    ) {
        let Some(Need::Codex { task, open, heard }) = self.locals.need(key) else {
            // Cancelled, or too late. A goal is set all the same, and a close must not leave it at work.
            if question == Question::GoalChange {
                self.reads.goal_changed();
                return match result {
                    Ok(CodexReply::Goal(goal)) => self.goal_told(cx, goal),
                    Ok(_) | Err(_) => self.close_if_done(cx),
                };
            }
            return;
        };
        if question == Question::GoalChange {
            self.reads.goal_changed();
        }
        *open -= 1;
        heard.push(Heard { question, result });
        if *open > 0 {
            return;
        }
        let (task, heard) = (task.clone(), std::mem::take(heard));
        match self.next(cx, &task, heard) {
            Next::Say(text) => self.answer_local(cx, key, &text),
            Next::Ask(heard, questions) => self.ask_for_local(cx, key, (task, heard), questions),
        }
    }

    /// Codex takes too long: said with what is known.
    pub(crate) fn told_bound(&mut self, cx: &mut Cx<'_>, key: &PromptKey) {
        let text = match self.locals.need(key) {
            Some(Need::Codex { task: Task::Status, heard, .. }) => {
                let heard = std::mem::take(heard);
                self.status(cx, heard)
            }
            Some(Need::Codex { task: Task::Mcp, .. }) => format!(
                "Codex has not answered within {} s, as it does not while a tool server is starting. Say it again later.",
                TOLD_BOUND / 1_000
            ),
            Some(Need::Codex { .. } | Need::GoalEnd) => {
                format!("Codex has not answered within {} s.", TOLD_BOUND / 1_000)
            }
            Some(Need::Thread(_)) => "Codex has not loaded the session again.".to_owned(),
            Some(Need::Nothing | Need::Survey(_)) | None => return,
        };
        self.answer_local(cx, key, &text);
    }

    /// The thread is loaded again: what waited for it goes on.
    pub(crate) fn locals_go_on(&mut self, cx: &mut Cx<'_>) {
        for (key, task) in self.locals.waiting_for_thread() {
            self.inquire(cx, &key, task);
        }
    }

    /// The app-server is gone, or the thread cannot be loaded.
    pub(crate) fn locals_lost(&mut self, cx: &mut Cx<'_>, failure: &Failure, is_for_good: bool) {
        for key in self.locals.waiting_for_codex(is_for_good) {
            self.answer_local(cx, &key, &format!("{}.", capital(&failure.to_string())));
        }
    }

    fn next(&mut self, cx: &mut Cx<'_>, task: &Task, mut heard: Vec<Heard>) -> Next {
        match task {
            Task::Status => return Next::Say(self.status(cx, heard)),
            Task::Diff => return self.diff(heard),
            Task::Mcp | Task::Skills | Task::Goal(_) | Task::Rename(_) | Task::Logout | Task::Start(_) => {}
        }
        let Some(Heard { question, result }) = heard.pop() else {
            return Next::Say(UNREADABLE.to_owned());
        };
        let reply = match result {
            Ok(reply) => reply,
            Err(error) => return Next::Say(refused(&error)),
        };
        match (task, reply) {
            (Task::Mcp, CodexReply::Told(Told::McpServers { servers, next })) => match next {
                Some(cursor) if heard.len() < PAGES => {
                    let more = vec![(Question::Servers, self.servers(Some(cursor)))];
                    let reply = CodexReply::Told(Told::McpServers { servers, next: None });
                    heard.push(Heard { question, result: Ok(reply) });
                    Next::Ask(heard, more)
                }
                Some(_) | None => {
                    let mut all: Vec<_> = heard.into_iter().flat_map(|it| page(it.result)).collect();
                    all.extend(servers);
                    Next::Say(mcp::table(&all))
                }
            },
            (Task::Skills, CodexReply::Told(Told::Skills(list))) => {
                self.skills_are(cx, &list);
                Next::Say(skills::table(&list))
            }
            (Task::Logout, _) => Next::Say(SIGNED_OUT.to_owned()),
            (Task::Rename(name), _) => Next::Say(format!("This session is called “{name}” now.")),
            (Task::Goal(GoalAct::Clear), CodexReply::Goal(Some(_))) if question == Question::Goal => {
                let request = CodexRequest::GoalClear { thread: self.thread.clone() };
                Next::Ask(Vec::new(), vec![(Question::GoalChange, request)])
            }
            (Task::Goal(_), CodexReply::Goal(goal)) if question == Question::Goal => {
                Next::Say(goal_in_words(goal.as_ref()))
            }
            (Task::Goal(act), CodexReply::Goal(goal)) => {
                self.goal_told(cx, goal);
                Next::Say(changed_in_words(act))
            }
            _ => Next::Say(UNREADABLE.to_owned()),
        }
    }

    fn status(&self, cx: &Cx<'_>, heard: Vec<Heard>) -> String {
        let none = "Codex has not answered".to_owned();
        let mut account: Asked<Account> = Err(none.clone());
        let mut limits: Asked<Vec<RateLimit>> = Err(none);
        for Heard { question, result } in heard {
            match (question, result) {
                (_, Ok(CodexReply::Account { who, required })) => account = Ok(Account { who, required }),
                (_, Ok(CodexReply::Told(Told::RateLimits(it)))) => limits = Ok(it),
                (Question::Account, Err(error)) => account = Err(error.message),
                (Question::RateLimits, Err(error)) => limits = Err(error.message),
                _ => {}
            }
        }
        let options = self.chosen.list(cx.models);
        let current = |id: &str| options.iter().find(|option| option.id == id);
        let mode = current("mode").map(|option| {
            let chosen = option.values.iter().find(|value| value.value == option.current);
            chosen.map_or_else(|| option.current.clone(), |value| value.name.clone())
        });
        let place = &self.place;
        let folders = std::iter::once(&place.cwd).chain(&place.additional_directories);
        let facts = status::Facts {
            session: self.id.as_str(),
            folders: folders.map(String::as_str).collect(),
            model: current("model").map_or("", |option| &option.current),
            effort: current("effort").map(|option| option.current.as_str()),
            mode: mode.unwrap_or_default(),
            rules: self.chosen.rules().map(|it| (it.approval.as_str(), it.sandbox.as_str())),
            collaboration: match self.chosen.collaboration() {
                CollaborationMode::Default => "default",
                CollaborationMode::Plan => "plan",
            },
            usage: self.usage,
            commands: self.ledger.items(|call| call.live().is_some()).len(),
            standing: self.ledger.items(|call| call.standing().is_some()).len(),
            codex: cx.link.codex.as_deref(),
            address: cx.link.address(),
            protocol: match cx.version() {
                Version::V1 => 1,
                Version::V2 => 2,
            },
        };
        status::text(&facts, &account, &limits)
    }

    fn diff(&self, heard: Vec<Heard>) -> Next {
        let mut diffs = Vec::new();
        let mut names = Vec::new();
        let mut is_told = false;
        for it in &heard {
            let end = match &it.result {
                Ok(CodexReply::Told(Told::Exec(end))) => end,
                Ok(_) => return Next::Say(UNREADABLE.to_owned()),
                // One of many files: the rest is told.
                Err(_) if it.question == Question::Added => continue,
                Err(error) => return Next::Say(refused(error)),
            };
            // A difference is code 1 where two files are compared.
            let is_added = it.question == Question::Added;
            is_told |= is_added;
            if end.code != 0 && !is_added {
                return Next::Say(tree_diff::refusal(end));
            }
            match it.question == Question::Untracked {
                true => names = tree_diff::names(end),
                false => diffs.push(end.stdout.as_str()),
            }
        }
        if names.is_empty() || is_told {
            return Next::Say(tree_diff::text(&diffs, names.len().saturating_sub(tree_diff::FILES)));
        }
        let files = names.iter().take(tree_diff::FILES);
        let questions = files.map(|name| (Question::Added, self.exec(tree_diff::added(name)))).collect();
        Next::Ask(heard, questions)
    }

    /// `/model`, `/mode`.
    pub(crate) fn choose(&mut self, cx: &mut Cx<'_>, id: &'static str, wanted: Option<&str>) -> String {
        if let Some(wanted) = wanted {
            let value = super::request::OptionInput::Id(self.chosen.meant(id, wanted, cx.models));
            if let Err(failure) = self.chosen.set(id, &value, cx.models) {
                return format!("Nothing is changed: {failure}.");
            }
            let options = self.chosen.list(cx.models);
            self.emit(cx, Update::Options(options));
            self.choice_made(cx);
        }
        let options = self.chosen.list(cx.models);
        let Some(option) = options.iter().find(|option| option.id == id) else { return String::new() };
        let name = |value: &str| {
            let chosen = option.values.iter().find(|it| it.value == value);
            chosen.map_or_else(String::new, |it| it.name.clone())
        };
        if wanted.is_some() {
            let effort = options.iter().find(|it| it.id == "effort" && id == "model");
            let effort = effort.map(|it| format!(", effort {}", it.current)).unwrap_or_default();
            return format!("{}: {} from the next turn on{effort}.", option.name, name(&option.current));
        }
        let rows = option.values.iter().map(|value| {
            let now = if value.value == option.current { " **(now)**" } else { "" };
            let about = value.description.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
            format!("- `{}`{now} {}{about}", value.value, value.name)
        });
        let rows: Vec<String> = rows.collect();
        format!("**{}:**\n\n{}\n\n`/{id}` with one of them chooses it.", option.name, rows.join("\n"))
    }

    /// `/plan` alone: on, or off again.
    pub(crate) fn turn_plan_mode(&mut self, cx: &mut Cx<'_>) -> String {
        let (mode, text) = match self.chosen.collaboration() {
            CollaborationMode::Default => (
                CollaborationMode::Plan,
                "Plan mode is on: from the next turn on Codex plans with you and changes nothing. `/plan` turns it off.",
            ),
            CollaborationMode::Plan => (
                CollaborationMode::Default,
                "Plan mode is off: from the next turn on Codex does what you ask.",
            ),
        };
        self.collaborate(cx, mode);
        text.to_owned()
    }

    /// Chooses how Codex works, and tells the client if that is news.
    pub(crate) fn collaborate(&mut self, cx: &mut Cx<'_>, mode: CollaborationMode) {
        if self.chosen.collaboration() == mode {
            return;
        }
        self.chosen.collaborate(mode);
        let options = self.chosen.list(cx.models);
        self.emit(cx, Update::Options(options));
        self.choice_made(cx);
    }
}

const UNREADABLE: &str = "Codex answered in a way that could not be read.";
const SIGNED_OUT: &str = "You are signed out of Codex, and so is every Codex that shares its home folder. \
                          A model that needs an account answers again after the next sign-in (`codex login`).";

fn needs_thread(task: &Task) -> bool {
    match task {
        Task::Mcp | Task::Goal(_) | Task::Rename(_) | Task::Start(_) => true,
        Task::Status | Task::Diff | Task::Skills | Task::Logout => false,
    }
}

fn page(result: Result<CodexReply, CodexError>) -> Vec<McpServerState> {
    match result {
        Ok(CodexReply::Told(Told::McpServers { servers, .. })) => servers,
        Ok(_) | Err(_) => Vec::new(),
    }
}

/// Codex's refusal of what a command asked.
pub(crate) fn refused(error: &CodexError) -> String {
    match error.message.contains("no goal") {
        true => goal_in_words(None),
        false => format!("Codex refused: {}.", error.message.trim_end_matches('.')),
    }
}

fn goal_in_words(goal: Option<&Goal>) -> String {
    let Some(goal) = goal else {
        return "There is no goal. `/goal` with a text sets one.".to_owned();
    };
    let status = match goal.status {
        GoalStatus::Active => "Codex works at it by itself",
        GoalStatus::Paused => "paused; `/goal resume` lets Codex go on",
        GoalStatus::Blocked => "blocked: Codex cannot go on with it",
        GoalStatus::UsageLimited => "stopped by the usage limit of the account",
        GoalStatus::BudgetLimited => "stopped: its token budget is used up",
        GoalStatus::Complete => "reached",
    };
    let used = status::grouped(u64::try_from(goal.tokens_used).unwrap_or_default());
    let budget = goal.token_budget.and_then(|it| u64::try_from(it).ok());
    let budget = budget.map(|it| format!(" of {}", status::grouped(it))).unwrap_or_default();
    format!("**Goal:** {}\n\n{status}. {used}{budget} tokens used.", goal.objective)
}

fn changed_in_words(act: &GoalAct) -> String {
    match act {
        GoalAct::Set(objective) => {
            format!("The goal is set, and Codex goes on with it by itself: {objective}")
        }
        GoalAct::Resume => "The goal is active again: Codex goes on with it by itself.".to_owned(),
        GoalAct::Pause => "The goal is paused. A turn of it that runs goes on to its end.".to_owned(),
        GoalAct::Clear | GoalAct::Show => "The goal is cleared.".to_owned(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
