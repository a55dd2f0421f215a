//! Slash commands: which one a prompt is, and which there are.
//!
//! Reads a prompt; what a command does is in `local.rs`, `asking.rs` and `beginning.rs`.

use super::inquiry::ReviewTarget;
use super::request::PromptPart;
use super::update::Command;

/// A prompt that is a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Slash {
    /// `/ps`.
    Ps,
    /// `/stop`.
    Stop(Which),
    /// What Codex has to be asked for.
    Task(Task),
    /// `/model`, `/mode`: shown without a value, chosen with one.
    Choice(&'static str, Option<String>),
    /// `/init`.
    Init,
    /// `/plan`: a turn in plan mode with this text, else the mode is turned on or off.
    Plan(Option<String>),
    /// A command of ours with arguments that it does not take: how it is used.
    Misused(&'static str),
    /// Cannot be done at this moment, for this reason.
    NotNow(&'static str),
    /// A command of ours with more than it takes, which must not get lost.
    TooMuch(&'static str),
    /// Maybe a skill, else unknown.
    Other(String),
    /// No command has this name; the nearest, if any.
    Unknown { name: String, near: Option<String> },
}

/// What Codex is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// `/status`.
    Status,
    /// `/diff`.
    Diff,
    /// `/mcp`.
    Mcp,
    /// `/skills`.
    Skills,
    /// `/goal`.
    Goal(GoalAct),
    /// `/rename`.
    Rename(String),
    /// `/logout`.
    Logout,
    /// `/compact`, `/review`: a turn of its own.
    Start(Start),
}

/// A turn that is no answer to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    Compaction,
    Review(ReviewTarget),
}

/// What `/stop` is to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// Nothing was named: the only one there is.
    Only,
    /// All but what the turn waits on.
    All,
    /// A number that `/ps` gave, or an id.
    Named(String),
}

/// What `/goal` does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GoalAct {
    Show,
    Set(String),
    Pause,
    Resume,
    Clear,
}

const STOP_USAGE: &str = "`/stop` takes one number or id from `/ps`, or `all`";
const REVIEW_USAGE: &str = "`/review` takes nothing, `branch NAME` or `commit SHA`";

/// Name, description and argument of each command of ours, in the order in which they are offered.
const OWN: [(&str, &str, Option<&str>); 15] = [
    ("ps", "Show the commands that are running, with process, CPU, memory and last line", None),
    ("stop", "Stop a running command; it gets time to end by itself", Some("number or id from /ps, or all")),
    ("status", "Show session, model, mode, tokens, account, limits and versions", None),
    ("compact", "Summarise the conversation, to free the context", None),
    (
        "review",
        "Review the changes that are not committed, or those of a branch or a commit",
        Some("nothing, branch NAME, or commit SHA"),
    ),
    ("init", "Write an AGENTS.md that tells agents about this project", None),
    ("diff", "Show what the working tree has beyond the last commit, new files included", None),
    ("mcp", "Show the tool servers, their tools and what is wrong with them", None),
    ("skills", "Show the skills; each of them is a command", None),
    ("model", "Show the models, or choose one", Some("a model")),
    ("mode", "Show what Codex may do without asking, or choose it", Some("a mode")),
    (
        "plan",
        "Talk a plan over before anything is changed",
        Some("what to plan; without it the mode is turned on or off"),
    ),
    (
        "goal",
        "Show the goal that Codex works at by itself, or set, pause, resume or clear it",
        Some("a goal, pause, resume, or clear"),
    ),
    ("rename", "Give this session a title", Some("title")),
    ("logout", "Sign out of Codex", None),
];

/// The commands of ours.
pub(crate) fn commands() -> impl Iterator<Item = Command> {
    OWN.iter().map(|(name, description, hint)| Command {
        name: (*name).to_owned(),
        description: (*description).to_owned(),
        hint: *hint,
    })
}

/// The command that a prompt is: its first text begins with a slash and no blank, in whatever case. What a
/// client attaches to it by itself is left aside.
pub(crate) fn parse(parts: &[PromptPart]) -> Option<Slash> {
    let mut texts = parts.iter().filter_map(|part| match part {
        PromptPart::Text(text) => Some(text.trim_end()).filter(|text| !text.is_empty()),
        PromptPart::Link { .. } | PromptPart::Embedded { .. } | PromptPart::Image { .. } => None,
    });
    let text = texts.next()?;
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    let name = word.strip_prefix('/').filter(|name| !name.is_empty() && !name.contains('/'))?;
    let is_one = texts.next().is_none();
    let is_line = is_one && !text.contains('\n');
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let Some(name) = own(name) else { return Some(Slash::Other(name.to_owned())) };
    Some(match name {
        "init" => Slash::Init,
        // What follows in another part is what to plan.
        "plan" => Slash::Plan(some(rest).or_else(|| (!is_one).then(String::new))),
        "goal" if is_one => Slash::Task(Task::Goal(goal(rest))),
        _ if !is_line => Slash::TooMuch(name),
        "ps" if rest.is_empty() => Slash::Ps,
        "ps" => Slash::Misused("`/ps` takes no argument"),
        "stop" => stop(rest),
        "status" if rest.is_empty() => Slash::Task(Task::Status),
        "status" => Slash::Misused("`/status` takes no argument"),
        "diff" if rest.is_empty() => Slash::Task(Task::Diff),
        "diff" => Slash::Misused("`/diff` takes no argument"),
        "mcp" if rest.is_empty() => Slash::Task(Task::Mcp),
        "mcp" => Slash::Misused("`/mcp` takes no argument"),
        "skills" if rest.is_empty() => Slash::Task(Task::Skills),
        "skills" => Slash::Misused("`/skills` takes no argument; a skill is a command of its own"),
        "logout" if rest.is_empty() => Slash::Task(Task::Logout),
        "logout" => Slash::Misused("`/logout` takes no argument"),
        "compact" if rest.is_empty() => Slash::Task(Task::Start(Start::Compaction)),
        "compact" => Slash::Misused("`/compact` takes no argument"),
        "model" => Slash::Choice("model", some(rest)),
        "mode" => Slash::Choice("mode", some(rest)),
        "review" => review(rest),
        "rename" if rest.is_empty() => Slash::Misused("`/rename` takes the new title"),
        _ => Slash::Task(Task::Rename(rest.to_owned())),
    })
}

fn goal(rest: &str) -> GoalAct {
    match rest.to_ascii_lowercase().as_str() {
        "" => GoalAct::Show,
        "pause" => GoalAct::Pause,
        "resume" => GoalAct::Resume,
        "clear" => GoalAct::Clear,
        _ => GoalAct::Set(rest.to_owned()),
    }
}

fn stop(rest: &str) -> Slash {
    let mut words = rest.split_whitespace();
    match (words.next(), words.next()) {
        (None, _) => Slash::Stop(Which::Only),
        (Some(all), None) if all.eq_ignore_ascii_case("all") => Slash::Stop(Which::All),
        (Some(one), None) => Slash::Stop(Which::Named(one.to_owned())),
        (Some(_), Some(_)) => Slash::Misused(STOP_USAGE),
    }
}

fn review(rest: &str) -> Slash {
    let of = |target| Slash::Task(Task::Start(Start::Review(target)));
    let mut words = rest.split_whitespace();
    match (words.next(), words.next(), words.next()) {
        (None, ..) => of(ReviewTarget::Uncommitted),
        (Some("branch"), Some(name), None) => of(ReviewTarget::Branch(name.to_owned())),
        (Some("commit"), Some(sha), None) => of(ReviewTarget::Commit(sha.to_owned())),
        (Some(_), ..) => Slash::Misused(REVIEW_USAGE),
    }
}

/// The command of ours that has this name, in whatever case.
pub(crate) fn own(name: &str) -> Option<&'static str> {
    OWN.iter().map(|(own, ..)| *own).find(|own| own.eq_ignore_ascii_case(name))
}

/// Whether somebody who writes `/name` means a command, and not a path or something else.
pub(crate) fn is_name(name: &str) -> bool {
    let is_inner = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-');
    name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.chars().all(is_inner)
}

/// The name among `known` that `name` was most probably meant to be.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let name = name.to_ascii_lowercase();
    let name = name.as_str();
    let distance = |known: &str| match known.starts_with(name) && name.len() > 1 {
        true => 0,
        false => strsim::osa_distance(name, known),
    };
    let near = known.map(|known| (distance(known), known)).min()?;
    (near.0 <= 2 && near.0 * 2 < name.len()).then(|| near.1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{GoalAct, REVIEW_USAGE, STOP_USAGE, Slash, Start, Task, Which, is_name, nearest, parse};
    use crate::core::inquiry::ReviewTarget;
    use crate::core::request::PromptPart;

    fn of(text: &str) -> Option<Slash> {
        parse(&[PromptPart::Text(text.to_owned())])
    }

    fn other(name: &str) -> Option<Slash> {
        Some(Slash::Other(name.to_owned()))
    }

    fn review(target: ReviewTarget) -> Option<Slash> {
        Some(Slash::Task(Task::Start(Start::Review(target))))
    }

    #[test]
    fn a_text_that_begins_with_a_slash_is_a_command() {
        assert_eq!(of("/ps \n"), Some(Slash::Ps));
        assert_eq!(of("/ps aux"), Some(Slash::Misused("`/ps` takes no argument")));
        assert_eq!(of("/stop"), Some(Slash::Stop(Which::Only)));
        assert_eq!(of("/stop  all"), Some(Slash::Stop(Which::All)));
        assert_eq!(of("/stop 2"), Some(Slash::Stop(Which::Named("2".to_owned()))));
        assert_eq!(of("/stop 1 2"), Some(Slash::Misused(STOP_USAGE)));
        for none in
            ["", "stop", "please /stop", " /stop", "\n/stop", "/ status", "/", "/home/x", "/a/b c", "//stop"]
        {
            assert_eq!(of(none), None, "{none}");
        }
    }

    #[test]
    fn the_case_of_a_command_does_not_matter() {
        assert_eq!(of("/STOP All"), Some(Slash::Stop(Which::All)));
        assert_eq!(of("/Goal Clear"), Some(Slash::Task(Task::Goal(GoalAct::Clear))));
        assert_eq!(of("/Ps"), Some(Slash::Ps));
        assert_eq!(of("/Greet"), other("Greet"), "a skill has the name that it has");
    }

    #[test]
    fn what_takes_a_line_and_gets_more_does_nothing() {
        for name in [
            "ps", "stop", "status", "compact", "review", "diff", "mcp", "skills", "model", "mode", "rename",
            "logout",
        ] {
            assert_eq!(of(&format!("/{name}\nand then go on")), Some(Slash::TooMuch(name)));
            let texts = [format!("/{name} "), "and then go on".to_owned()].map(PromptPart::Text);
            assert_eq!(parse(&texts), Some(Slash::TooMuch(name)));
        }
    }

    #[test]
    fn arguments_are_read_where_there_are_some() {
        assert_eq!(of("/model"), Some(Slash::Choice("model", None)));
        assert_eq!(of("/mode  auto "), Some(Slash::Choice("mode", Some("auto".to_owned()))));
        assert_eq!(of("/review"), review(ReviewTarget::Uncommitted));
        assert_eq!(of("/review branch main"), review(ReviewTarget::Branch("main".to_owned())));
        assert_eq!(of("/review commit a1b2"), review(ReviewTarget::Commit("a1b2".to_owned())));
        for misused in ["/review main", "/review branch", "/review commit a b"] {
            assert_eq!(of(misused), Some(Slash::Misused(REVIEW_USAGE)), "{misused}");
        }
        assert_eq!(of("/rename A  title"), Some(Slash::Task(Task::Rename("A  title".to_owned()))));
        assert_eq!(of("/rename "), Some(Slash::Misused("`/rename` takes the new title")));
        assert_eq!(of("/goal"), Some(Slash::Task(Task::Goal(GoalAct::Show))));
        assert_eq!(of("/goal clear"), Some(Slash::Task(Task::Goal(GoalAct::Clear))));
        assert_eq!(
            of("/goal clear the path"),
            Some(Slash::Task(Task::Goal(GoalAct::Set("clear the path".to_owned()))))
        );
    }

    #[test]
    fn what_takes_a_text_takes_lines() {
        assert_eq!(of("/plan\n a\n b"), Some(Slash::Plan(Some("a\n b".to_owned()))));
        assert_eq!(of("/plan"), Some(Slash::Plan(None)));
        let goal = |text: &str| Some(Slash::Task(Task::Goal(GoalAct::Set(text.to_owned()))));
        assert_eq!(of("/goal mend it\n\n- and test it"), goal("mend it\n\n- and test it"));
        let texts = |text: &str| [text, "please"].map(|text| PromptPart::Text(text.to_owned()));
        assert_eq!(parse(&texts("/goal mend it")), Some(Slash::TooMuch("goal")));
        assert_eq!(parse(&texts("/plan ")), Some(Slash::Plan(Some(String::new()))));
        assert_eq!(of("/greet a\nb"), other("greet"));
    }

    #[test]
    fn what_nobody_knows_is_a_name_or_none() {
        assert_eq!(of("/pstree"), other("pstree"));
        assert_eq!(of("/a:b c d"), other("a:b"));
        for (name, expected) in [
            ("a1_b-c", true),
            ("a:b", false),
            ("Stpo", true),
            ("README.md", false),
            ("1a", false),
            ("", false),
        ] {
            assert_eq!(is_name(name), expected, "{name}");
        }
    }

    #[test]
    fn the_nearest_name_is_one_that_may_be_meant() {
        let near = |name: &str| nearest(name, ["ps", "stop", "status", "skills"].into_iter());
        assert_eq!(near("statsu").as_deref(), Some("status"));
        assert_eq!(near("stat").as_deref(), Some("status"));
        assert_eq!(near("stopp").as_deref(), Some("stop"));
        assert_eq!(near("STPO").as_deref(), Some("stop"));
        assert_eq!(near("xs"), None);
        assert_eq!(near("frobnicate"), None);
    }

    #[test]
    fn what_a_client_attaches_does_not_hide_it() {
        let file = PromptPart::Link { name: "a".to_owned(), uri: "file:///a".to_owned() };
        let text = |text: &str| PromptPart::Text(text.to_owned());
        assert_eq!(parse(&[file.clone(), text("/ps"), text(" ")]), Some(Slash::Ps));
        assert_eq!(parse(&[file]), None);
    }
}
