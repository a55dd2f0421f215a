//! The call that shows a question of Codex's which has no item: what is asked, and at its end what was answered.
//!
//! Asks nobody, and knows no answer to a secret: none is ever asked for.

use super::ask::{Answer, Ask};
use super::asked::{OTHER, Question};
use super::cx::Cx;
use super::ids::ItemId;
use super::request::FormAnswers;
use super::session::Session;
use super::update::{CallChange, CallContent, FinalStatus};

/// Most that is shown of what is asked, and of what was answered, in bytes.
const MAX: usize = 64 << 10;
const UNANSWERED: &str = "*Not answered.*";
const SECRET: &str = "*Not asked: the answer is a secret.*";

/// Question id to answers.
pub(crate) type Answers = Vec<(String, Vec<String>)>;

/// What is asked in such a call.
#[derive(Debug)]
pub(crate) enum AskCall {
    /// What is answered by one of the options: Markdown, which may be empty, and what each is called, by its id.
    Choice { asked: String, options: Vec<(String, String)> },
    /// Questions of the model.
    Questions(Vec<Question>),
}

/// Such a call that is open.
#[derive(Debug)]
pub(crate) struct AskShown {
    /// What the question of a subagent is about: the content of a call that the client has no session for.
    about: Vec<CallContent>,
    asked: AskCall,
}

/// How the question was settled.
pub(crate) enum Settled<'a> {
    /// With this answer of the client.
    By(&'a Answer),
    /// With an answer to each question.
    Each(&'a Answers),
    /// It needs no answer any more.
    Withdrawn,
}

impl AskCall {
    pub(super) fn choice(asked: Option<String>) -> Self {
        Self::Choice { asked: asked.unwrap_or_default(), options: Vec::new() }
    }

    fn asked(&self) -> String {
        match self {
            Self::Choice { asked, options: _ } => asked.clone(),
            Self::Questions(questions) => paragraphs(questions.iter().map(asked)),
        }
    }

    fn told(&self, settled: &Settled<'_>) -> String {
        match (self, settled) {
            (Self::Questions(questions), Settled::Each(answers)) => {
                let parts = questions.iter().map(|it| format!("{}\n\n{}", asked(it), answer(it, answers)));
                paragraphs(parts)
            }
            (Self::Choice { options, .. }, Settled::By(Answer::Selected(id))) => {
                let name = options.iter().find(|(option, _)| option == id).map(|(_, name)| name.as_str());
                let answer = name.map_or_else(|| "*Refused.*".to_owned(), said);
                paragraphs([self.asked(), answer].into_iter())
            }
            (
                _,
                Settled::By(Answer::Selected(_) | Answer::Accepted(_) | Answer::Declined | Answer::Cancelled),
            ) => paragraphs([self.asked(), "*Refused.*".to_owned()].into_iter()),
            (_, Settled::By(Answer::Failed { .. }) | Settled::Each(_) | Settled::Withdrawn) => {
                paragraphs([self.asked(), UNANSWERED.to_owned()].into_iter())
            }
        }
    }
}

impl Session {
    /// A question needs a call to refer to; where Codex has no item for it, one of ours.
    pub(super) fn show_call(
        &mut self,
        cx: &mut Cx<'_>,
        item: &ItemId,
        (name, title): (&str, &str),
        asked: AskCall,
    ) {
        if self.ledger.get(item).is_some() {
            return;
        }
        let mut opening = self.question_call(name, title);
        let about = opening.content.clone();
        opening.content.extend(content(asked.asked()));
        let turn = self.current_turn();
        self.open_tool(cx, &turn, item, opening);
        self.ask_calls.insert(item.clone(), AskShown { about, asked });
    }

    /// What the options of a question are called is told with its answer.
    pub(super) fn note_options(&mut self, item: Option<&ItemId>, question: &Ask) {
        let call = item.and_then(|item| self.ask_calls.get_mut(item));
        let asked = call.map(|it| &mut it.asked);
        if let (Some(AskCall::Choice { options, .. }), Ask::Permission(permission)) = (asked, question) {
            *options = permission.options.iter().map(|it| (it.id.clone(), it.name.clone())).collect();
        }
    }

    /// The question is settled, and so is the call that was only there for it.
    pub(super) fn hide_call(
        &mut self,
        cx: &mut Cx<'_>,
        item: Option<&ItemId>,
        status: FinalStatus,
        settled: &Settled<'_>,
    ) {
        let Some((item, AskShown { about, asked })) = item.and_then(|item| self.ask_calls.remove_entry(item))
        else {
            return;
        };
        let content = [about, content(asked.told(settled))].concat();
        let change = CallChange { content: Some(content), ..CallChange::default() };
        self.close_call(cx, &item, status, change);
    }
}

/// What the fields of a form answer to each question, something else included. Forms send what nobody filled
/// in as an empty text, which answers nothing.
pub(super) fn answers(questions: Vec<Question>, form: Option<FormAnswers>) -> Answers {
    let fields = form.map(|it| it.fields).unwrap_or_default();
    let of = |name: &str| {
        let its = fields.iter().filter(|(field, _)| field == name).flat_map(|(_, texts)| texts);
        its.filter(|text| !text.trim().is_empty()).cloned().collect::<Vec<_>>()
    };
    let answer = |Question { id, .. }: Question| {
        let texts = [of(&id), of(&format!("{id}{OTHER}"))].concat();
        (id, texts)
    };
    questions.into_iter().map(answer).collect()
}

fn asked(question: &Question) -> String {
    let Question { header, question, options, .. } = question;
    let mut lines = match header.as_str() {
        "" => question.clone(),
        header => format!("**{header}:** {question}"),
    };
    for (label, about) in options {
        lines.push_str(&match about.as_str() {
            "" => format!("\n- {label}"),
            about => format!("\n- {label}: {about}"),
        });
    }
    lines
}

fn answer(question: &Question, answers: &Answers) -> String {
    let texts = answers.iter().filter(|(id, _)| *id == question.id).flat_map(|(_, texts)| texts);
    let texts: Vec<&str> = texts.map(String::as_str).collect();
    match (question.is_secret, texts.is_empty()) {
        // Whatever was said to it is shown nowhere.
        (true, _) => SECRET.to_owned(),
        (false, true) => UNANSWERED.to_owned(),
        (false, false) => said(&texts.join(", ")),
    }
}

fn said(answer: &str) -> String {
    format!("**Answer:** {answer}")
}

fn paragraphs(parts: impl Iterator<Item = String>) -> String {
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn content(mut text: String) -> Vec<CallContent> {
    if text.len() > MAX {
        let n_bytes = text.len();
        text.truncate(text.floor_char_boundary(MAX));
        text.push_str(&format!("\n[{} more bytes left out]", n_bytes - text.len()));
    }
    if text.is_empty() { Vec::new() } else { vec![CallContent::Text(text)] }
}

#[cfg(test)]
mod tests {
    use super::{AskCall, Settled, answers};
    use crate::core::ask::Answer;
    use crate::core::asked::Question;
    use crate::core::ids::Json;
    use crate::core::request::FormAnswers;

    fn question(id: &str, header: &str, is_secret: bool, options: &[(&str, &str)]) -> Question {
        Question {
            id: id.to_owned(),
            header: header.to_owned(),
            question: format!("What {id}?"),
            is_other: true,
            is_secret,
            options: options
                .iter()
                .map(|(label, about)| ((*label).to_owned(), (*about).to_owned()))
                .collect(),
        }
    }

    #[test]
    fn each_question_is_told_with_its_answer_and_a_secret_without() {
        let questions = vec![
            question("db", "Database", false, &[("A", "one file"), ("B", "")]),
            question("key", "", true, &[]),
            question("os", "", false, &[]),
        ];
        let given = vec![
            ("db".to_owned(), vec!["B".to_owned(), "or C".to_owned()]),
            ("key".to_owned(), vec!["hunter2".to_owned()]),
        ];
        assert_eq!(
            AskCall::Questions(questions).told(&Settled::Each(&given)),
            "**Database:** What db?\n- A: one file\n- B\n\n**Answer:** B, or C\n\nWhat key?\n\n\
             *Not asked: the answer is a secret.*\n\nWhat os?\n\n*Not answered.*"
        );
    }

    #[test]
    fn a_choice_is_told_by_its_name() {
        let options = vec![("answer-0".to_owned(), "Allow once".to_owned())];
        let call = AskCall::Choice { asked: "Why".to_owned(), options };
        let told = |answer| call.told(&Settled::By(&answer));
        assert_eq!(told(Answer::Selected("answer-0".to_owned())), "Why\n\n**Answer:** Allow once");
        assert_eq!(told(Answer::Selected("answer-00".to_owned())), "Why\n\n*Refused.*");
        assert_eq!(told(Answer::Cancelled), "Why\n\n*Refused.*");
        assert_eq!(told(Answer::Failed { message: "x".to_owned() }), "Why\n\n*Not answered.*");
        assert_eq!(AskCall::choice(None).told(&Settled::Withdrawn), "*Not answered.*");
    }

    #[test]
    fn a_form_answers_its_questions_and_no_others() {
        let field = |name: &str, texts: &[&str]| {
            (name.to_owned(), texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
        };
        let form = FormAnswers {
            json: Json::trusted("{}"),
            fields: vec![
                field("q1", &["A"]),
                field("q1/other", &["or C"]),
                field("q2", &[" "]),
                field("q4", &["7"]),
            ],
        };
        let questions = ["q1", "q2", "q3"].map(|id| question(id, "", false, &[])).to_vec();
        let expected = vec![field("q1", &["A", "or C"]), field("q2", &[]), field("q3", &[])];
        assert_eq!(answers(questions, Some(form)), expected);
    }
}
