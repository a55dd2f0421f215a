//! The skills that Codex has for a session, and the commands that a client may offer because of them.

use super::codex::{CodexError, CodexReply, CodexRequest};
use super::cx::Cx;
use super::effect::Anomaly;
use super::inquiry::{Inquiry, Skill, SkillList, Told};
use super::link::Purpose;
use super::session::Session;
use super::slash;
use super::update::{Command, Update};

/// What is known of a session's skills.
#[derive(Debug, Default)]
pub(crate) struct Skills {
    list: Vec<Skill>,
    is_known: bool,
    /// Number of the newest question, and of the newest one that is answered.
    asked: u64,
    answered: u64,
}

impl Skills {
    /// Whether a name that is not among them is none of a skill.
    pub(crate) fn is_known(&self) -> bool {
        self.is_known
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.list.iter().any(|skill| skill.name == name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|skill| skill.name.as_str())
    }

    /// The app-server is gone: nothing is answered any more.
    pub(crate) fn give_up(&mut self) {
        self.is_known = true;
    }

    /// All commands: a command of ours goes before a skill of the same name.
    pub(crate) fn commands(&self) -> Vec<Command> {
        let skills =
            self.list.iter().filter(|skill| slash::own(&skill.name).is_none()).map(|skill| Command {
                name: skill.name.clone(),
                description: skill.description.clone(),
                hint: Some("what the skill is for"),
            });
        slash::commands().chain(skills).collect()
    }
}

impl Session {
    /// Asks for the skills: the session opens, or Codex says that they changed.
    pub(crate) fn read_skills(&mut self, cx: &mut Cx<'_>) {
        if cx.link.is_down() {
            return self.skills.give_up();
        }
        self.skills.asked += 1;
        let request = Inquiry::Skills { cwd: self.place.cwd.clone(), afresh: false };
        let purpose = Purpose::Skills { session: self.id.clone(), asked: self.skills.asked };
        cx.link.call(purpose, CodexRequest::Inquiry(request), cx.out);
    }

    /// Codex answered; without skills their names are unknown commands.
    pub(crate) fn skills_read(
        &mut self,
        cx: &mut Cx<'_>,
        asked: u64,
        result: Result<CodexReply, CodexError>,
    ) {
        // What was asked later is known already.
        if asked < self.skills.answered {
            return;
        }
        self.skills.answered = asked;
        match result {
            Ok(CodexReply::Told(Told::Skills(list))) => self.skills_are(cx, &list),
            Ok(_) => {}
            Err(error) => {
                cx.out.anomaly(Anomaly::CodexRefused { method: "skills/list", message: error.message });
            }
        }
        self.skills.is_known = true;
        self.pump(cx);
    }

    /// The skills as they are now.
    pub(crate) fn skills_are(&mut self, cx: &mut Cx<'_>, list: &SkillList) {
        let mut skills = list.skills.clone();
        // One name is one command; Codex has two where two folders have a skill of that name.
        let mut seen = std::collections::BTreeSet::new();
        skills.retain(|skill| seen.insert(skill.name.clone()));
        self.skills.is_known = true;
        if skills == self.skills.list {
            return;
        }
        self.skills.list = skills;
        self.emit(cx, Update::Commands(self.skills.commands()));
    }
}

/// What `/skills` says.
pub(crate) fn table(list: &SkillList) -> String {
    let mut parts = Vec::new();
    match list.skills.as_slice() {
        [] => parts.push("There are no skills.".to_owned()),
        skills => {
            let rows = skills.iter().map(|skill| {
                let command = if slash::own(&skill.name).is_some() { '$' } else { '/' };
                format!("- `{command}{}` ({}): {}", skill.name, skill.scope, skill.description)
            });
            parts.push(format!("**Skills:**\n\n{}", rows.collect::<Vec<_>>().join("\n")));
        }
    }
    if !list.errors.is_empty() {
        let rows = list.errors.iter().map(|(path, message)| format!("- `{path}`: {message}"));
        parts.push(format!("**Could not be read:**\n\n{}", rows.collect::<Vec<_>>().join("\n")));
    }
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::{Skills, table};
    use crate::core::inquiry::{Skill, SkillList};

    fn skill(name: &str) -> Skill {
        Skill { name: name.to_owned(), description: "Does it".to_owned(), scope: "repo".to_owned() }
    }

    #[test]
    fn a_skill_is_a_command_unless_one_of_ours_has_its_name() {
        let skills = Skills { list: vec![skill("greet"), skill("review")], ..Skills::default() };
        let names: Vec<String> = skills.commands().into_iter().map(|it| it.name).collect();
        assert_eq!(names.iter().filter(|it| *it == "review").count(), 1);
        assert_eq!(names.last().map(String::as_str), Some("greet"));
    }

    #[test]
    fn the_table_says_how_a_skill_is_called_and_what_is_broken() {
        let list = SkillList {
            skills: vec![skill("greet"), skill("review")],
            errors: vec![("/s/SKILL.md".to_owned(), "no front matter".to_owned())],
        };
        assert_eq!(
            table(&list),
            "**Skills:**\n\n- `/greet` (repo): Does it\n- `$review` (repo): Does it\n\n\
             **Could not be read:**\n\n- `/s/SKILL.md`: no front matter"
        );
        assert_eq!(table(&SkillList::default()), "There are no skills.");
    }
}
