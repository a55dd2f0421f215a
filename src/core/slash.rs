//! Slash commands that are answered here, without the model.
//!
//! Reads a prompt; what a command does is in `local.rs`.

use super::request::PromptPart;
use super::update::Command;

/// A prompt that is a command of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Slash {
    /// `/ps`.
    Ps,
    /// `/stop`.
    Stop(Which),
    /// A command of ours with arguments that it does not take: how it is used.
    Misused(&'static str),
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

const STOP_USAGE: &str = "`/stop` takes one number or id from `/ps`, or `all`";

/// The commands that a client may offer, complete.
pub(crate) fn commands() -> Vec<Command> {
    vec![
        Command {
            name: "ps",
            description: "Show the commands that are running, with process, CPU, memory and last line",
            hint: None,
        },
        Command {
            name: "stop",
            description: "Stop a running command; it gets time to end by itself",
            hint: Some("number or id from /ps, or all"),
        },
    ]
}

/// The command of ours that a prompt is. What a client attaches to it by itself is left aside.
pub(crate) fn parse(parts: &[PromptPart]) -> Option<Slash> {
    let mut texts = parts.iter().filter_map(|part| match part {
        PromptPart::Text(text) => Some(text.trim()).filter(|text| !text.is_empty()),
        PromptPart::Link { .. } | PromptPart::Embedded { .. } | PromptPart::Image { .. } => None,
    });
    let text = texts.next()?;
    if texts.next().is_some() || text.contains('\n') {
        return None;
    }
    let mut words = text.split_whitespace();
    let (name, argument, more) = (words.next()?, words.next(), words.next());
    match (name, argument, more) {
        ("/ps", None, _) => Some(Slash::Ps),
        ("/ps", Some(_), _) => Some(Slash::Misused("`/ps` takes no argument")),
        ("/stop", None, _) => Some(Slash::Stop(Which::Only)),
        ("/stop", Some("all"), None) => Some(Slash::Stop(Which::All)),
        ("/stop", Some(one), None) => Some(Slash::Stop(Which::Named(one.to_owned()))),
        ("/stop", Some(_), Some(_)) => Some(Slash::Misused(STOP_USAGE)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{STOP_USAGE, Slash, Which, parse};
    use crate::core::request::PromptPart;

    fn of(text: &str) -> Option<Slash> {
        parse(&[PromptPart::Text(text.to_owned())])
    }

    #[test]
    fn only_a_line_of_its_own_is_a_command() {
        assert_eq!(of(" /ps\n"), Some(Slash::Ps));
        assert_eq!(of("/ps aux"), Some(Slash::Misused("`/ps` takes no argument")));
        assert_eq!(of("/stop"), Some(Slash::Stop(Which::Only)));
        assert_eq!(of("/stop  all"), Some(Slash::Stop(Which::All)));
        assert_eq!(of("/stop 2"), Some(Slash::Stop(Which::Named("2".to_owned()))));
        assert_eq!(of("/stop 1 2"), Some(Slash::Misused(STOP_USAGE)));
        for other in ["", "/pstree", "/Stop", "stop", "please /stop", "/stop\nand then go on", "/ status"] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn what_a_client_attaches_does_not_hide_it() {
        let file = PromptPart::Link { name: "a".to_owned(), uri: "file:///a".to_owned() };
        let text = |text: &str| PromptPart::Text(text.to_owned());
        assert_eq!(parse(&[file.clone(), text("/ps"), text(" ")]), Some(Slash::Ps));
        assert_eq!(parse(&[text("/ps"), text("and explain it")]), None);
        assert_eq!(parse(&[file]), None);
    }
}
