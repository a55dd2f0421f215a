//! The state of the model server: what was asked, what is to be answered, which gates are open.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::conversation;
use super::placeholder::{fill, fill_text};
use super::request::Request;
use super::script::{Action, Step};

/// How many requests are kept; older ones are counted only.
pub(super) const KEPT_REQUESTS: usize = 128;

#[derive(Debug, Default)]
pub(super) struct Desk {
    pub(super) requests: VecDeque<Request>,
    pub(super) request_count: usize,
    /// Responses that the other side left before their end.
    pub(super) abandoned: usize,
    pub(super) queue: VecDeque<Step>,
    pub(super) open_gates: BTreeSet<String>,
    pub(super) reached_gates: BTreeSet<String>,
    pub(super) errors: Vec<String>,
    /// Steps used, by thread and by the text that carries the script.
    used: BTreeMap<(Option<String>, String), usize>,
}

impl Desk {
    /// Takes a request down and decides its answer.
    pub(super) fn answer(&mut self, request: Request) -> Step {
        let step = match self.next_step(&request) {
            Ok(step) => step,
            Err(error) => {
                self.errors.push(error.clone());
                Action::say(format!("SCRIPT ERROR: {error}")).into()
            }
        };
        self.request_count += 1;
        self.requests.push_back(request);
        if self.requests.len() > KEPT_REQUESTS {
            self.requests.pop_front();
        }
        step
    }

    fn next_step(&mut self, request: &Request) -> Result<Step, String> {
        let scripted = match conversation::script(request.input())? {
            Some((script, text)) => {
                let used = self.used.entry((request.thread.clone(), text)).or_default();
                let step = script.0.get(*used).cloned();
                *used += 1;
                step
            }
            None => None,
        };
        match scripted.or_else(|| self.queue.pop_front()) {
            Some(step) => filled(step, &request.outputs().join("\n")),
            None => Ok(Action::say("DONE").into()),
        }
    }
}

fn filled(step: Step, outputs: &str) -> Result<Step, String> {
    let fill_action = |action| {
        Ok(match action {
            Action::Call(mut call) => {
                call.args = fill(&call.args, outputs)?;
                Action::Call(call)
            }
            Action::Custom(mut custom) => {
                custom.input = fill_text(&custom.input, outputs)?;
                Action::Custom(custom)
            }
            action @ (Action::Say(_)
            | Action::Reason(_)
            | Action::WaitMs(_)
            | Action::Gate(_)
            | Action::Http(_)
            | Action::EndTurn(_)
            | Action::Cut
            | Action::Fail(_)
            | Action::Header(..)
            | Action::Item(_)) => action,
        })
    };
    step.0.into_iter().map(fill_action).collect::<Result<_, _>>().map(Step)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Script;
    use super::*;

    fn request(thread: &str, text: &str) -> Request {
        Request {
            authorization: None,
            thread: Some(thread.to_owned()),
            body: json!({"input": [{"type": "message", "role": "user", "content": text}]}),
        }
    }

    #[test]
    fn steps_count_per_thread_then_the_queue_then_done() {
        let mut desk = Desk::default();
        let say = |text: &str| Step::from(Action::say(text));
        desk.queue.push_back(say("queued"));
        let prompt = Script::new().step(Action::say("1")).step(Action::say("2")).prompt("x");
        let mut ask = |thread| desk.answer(request(thread, &prompt));
        assert_eq!(ask("a"), say("1"));
        assert_eq!(ask("b"), say("1"));
        assert_eq!(ask("a"), say("2"));
        assert_eq!(ask("a"), say("queued"));
        assert_eq!(ask("a"), say("DONE"));
        assert_eq!(desk.request_count, 5);
    }

    #[test]
    fn a_script_in_error_is_said_and_kept() {
        let mut desk = Desk::default();
        let args = json!({"session_id": super::super::found("nothing")});
        desk.queue.push_back(Action::call("write_stdin", args).into());
        let Action::Say(said) = desk.answer(request("a", "x")).0.remove(0) else {
            panic!("an error is said");
        };
        assert_eq!(desk.errors, ["no tool output so far has nothing"]);
        assert_eq!(said, super::super::say(format!("SCRIPT ERROR: {}", desk.errors[0])));
    }
}
