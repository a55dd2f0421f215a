//! D14: what the model has to be told of work that ended without it.
//!
//! Given with the next prompt, beside the user's text and never in it.

use super::update::{EndedBy, Exit, ExitStatus};
use std::collections::VecDeque;

/// Ends that are remembered; of more the newest count.
const KEPT: usize = 32;
/// Bytes of a command that are told.
const COMMAND_MAX: usize = 200;

/// What the model does not know yet.
#[derive(Debug, Default)]
pub(crate) struct Untold {
    lines: VecDeque<String>,
    left_out: usize,
    /// With Codex, and not yet shown to be in the thread.
    telling: VecDeque<String>,
}

/// The user cut off what a subagent was doing; `name` is empty where it has none.
pub(crate) fn subagent_cancelled(name: &str) -> String {
    let which = if name.is_empty() { "A subagent".to_owned() } else { format!("The subagent {name}") };
    format!("{which} was interrupted by the user and has not finished its task.")
}

impl Untold {
    /// A command ended. What ended by itself is told to a model that is woken by it; else the model
    /// may find it out as ever. A closed session has no next turn.
    pub(crate) fn ended(&mut self, command: &str, process: Option<&str>, exit: &Exit, wakes: bool) {
        let who = match exit.account.by {
            EndedBy::Client => "was stopped by the user",
            EndedBy::Cancel => "was stopped together with the turn that the user cancelled",
            EndedBy::Codex | EndedBy::AppServerLost => "is no longer running",
            EndedBy::Itself if wakes => "ended by itself",
            EndedBy::Itself | EndedBy::Close => return,
        };
        let how = match &exit.status {
            ExitStatus::Code(code) => format!("exit code {code}"),
            ExitStatus::Signal(name) => format!("ended by {name}"),
            ExitStatus::Unknown => exit.account.reason.unwrap_or("how it ended is not known").to_owned(),
        };
        let session = process.map(|id| format!(" (session ID {id})")).unwrap_or_default();
        let end = command.floor_char_boundary(COMMAND_MAX);
        let cut = if end < command.len() { "..." } else { "" };
        self.add(format!("The command `{}{cut}`{session} {who}: {how}.", &command[..end]));
    }

    pub(crate) fn add(&mut self, line: String) {
        self.lines.push_back(line);
        if self.lines.len() > KEPT {
            self.lines.pop_front();
            self.left_out += 1;
        }
    }

    /// What to give with a prompt that goes to Codex now. Told again with the next one unless
    /// `told` comes first.
    pub(crate) fn take(&mut self) -> Option<String> {
        self.telling.append(&mut self.lines);
        while self.telling.len() > KEPT {
            self.telling.pop_front();
            self.left_out += 1;
        }
        let mut lines: Vec<&str> = self.telling.iter().map(String::as_str).collect();
        let left_out = format!("{} earlier ends of commands are left out.", self.left_out);
        if self.left_out > 0 {
            lines.insert(0, &left_out);
        }
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// The prompt is in the thread, and so is what was given with it.
    pub(crate) fn told(&mut self) {
        self.telling.clear();
        self.left_out = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT, Untold};
    use crate::core::update::{EndedBy, Exit, ExitAccount, ExitStatus};

    fn exit(by: EndedBy, status: ExitStatus) -> Exit {
        Exit { status, account: ExitAccount { by, ..ExitAccount::default() } }
    }

    #[test]
    fn told_once_and_again_if_the_prompt_did_not_get_there() {
        let mut untold = Untold::default();
        untold.ended("npm run dev", Some("7"), &exit(EndedBy::Client, ExitStatus::Signal("SIGTERM")), false);
        let line = "The command `npm run dev` (session ID 7) was stopped by the user: ended by SIGTERM.";
        assert_eq!(untold.take().as_deref(), Some(line));
        assert_eq!(untold.take().as_deref(), Some(line));
        untold.told();
        assert_eq!(untold.take(), None);
    }

    #[test]
    fn what_the_model_can_find_out_is_left_to_it() {
        let mut untold = Untold::default();
        untold.ended("make", None, &exit(EndedBy::Itself, ExitStatus::Code(2)), false);
        untold.ended("make", None, &exit(EndedBy::Close, ExitStatus::Signal("SIGTERM")), true);
        assert_eq!(untold.take(), None);
        untold.ended("make", None, &exit(EndedBy::Itself, ExitStatus::Code(2)), true);
        assert_eq!(untold.take().as_deref(), Some("The command `make` ended by itself: exit code 2."));
    }

    #[test]
    fn many_ends_are_counted() {
        let mut untold = Untold::default();
        for n in 0..KEPT + 2 {
            untold.ended(&format!("c{n}"), None, &exit(EndedBy::Codex, ExitStatus::Unknown), false);
        }
        let told = untold.take().unwrap_or_default();
        assert_eq!(told.lines().count(), KEPT + 1);
        assert!(told.starts_with("2 earlier ends of commands are left out."), "{told}");
        untold.told();
        assert_eq!(untold.take(), None);
    }
}
