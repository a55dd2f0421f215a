//! What `/status` says, in Markdown.

use super::inquiry::{Account, RateLimit};

/// Everything that it tells beside what Codex is asked for.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) session: &'a str,
    pub(crate) folders: Vec<&'a str>,
    pub(crate) model: &'a str,
    pub(crate) effort: Option<&'a str>,
    pub(crate) mode: String,
    /// Approval and sandbox in Codex's words.
    pub(crate) rules: Option<(&'a str, &'a str)>,
    pub(crate) collaboration: &'a str,
    /// Tokens in the context, and its size.
    pub(crate) usage: Option<(u64, u64)>,
    pub(crate) commands: usize,
    pub(crate) standing: usize,
    pub(crate) codex: Option<&'a str>,
    /// Where it runs without us.
    pub(crate) address: Option<&'a str>,
    pub(crate) protocol: u8,
}

/// What Codex was asked for: the answer, or why there is none.
pub(crate) type Asked<T> = Result<T, String>;

/// The whole answer.
pub(crate) fn text(facts: &Facts<'_>, account: &Asked<Account>, limits: &Asked<Vec<RateLimit>>) -> String {
    let effort = facts.effort.map(|effort| format!(", effort {effort}")).unwrap_or_default();
    let rules = match facts.rules {
        Some((approval, sandbox)) => format!("{sandbox}; approvals: {approval}"),
        None => "not known".to_owned(),
    };
    let tokens = match facts.usage {
        Some((used, size)) => {
            let percent = used.saturating_mul(100).checked_div(size).unwrap_or_default();
            format!("{} of {} in the context ({percent} %)", grouped(used), grouped(size))
        }
        None => "not known before the next turn".to_owned(),
    };
    let folders: Vec<String> = facts.folders.iter().map(|it| format!("`{it}`")).collect();
    let running = match (facts.commands, facts.standing) {
        (0, 0) => "nothing".to_owned(),
        (commands, 0) => counted(commands, "command"),
        (commands, standing) => {
            format!("{}, {} by itself", counted(commands, "command"), counted(standing, "thing"))
        }
    };
    let codex = match (facts.codex.unwrap_or("not known"), facts.address) {
        (version, None) => version.to_owned(),
        (version, Some(address)) => {
            format!("{version}, connected to `{address}`; what it runs outlives this agent")
        }
    };
    let rows = [
        ("session", format!("`{}`", facts.session)),
        ("folders", folders.join(", ")),
        ("model", format!("{}{effort}", facts.model)),
        ("mode", facts.mode.clone()),
        ("sandbox", rules),
        ("collaboration", facts.collaboration.to_owned()),
        ("tokens", tokens),
        ("account", account_in_words(account)),
        ("rate limits", limits_in_words(limits)),
        ("running", running),
        ("Codex", codex),
        ("appserver-acp", format!("{}, ACP version {}", env!("CARGO_PKG_VERSION"), facts.protocol)),
    ];
    let rows: Vec<String> = rows.iter().map(|(name, value)| format!("- **{name}**: {value}")).collect();
    rows.join("\n")
}

fn account_in_words(account: &Asked<Account>) -> String {
    match account {
        Ok(Account { who: Some(who), .. }) => format!("signed in with {who}"),
        Ok(Account { who: None, required: true }) => "not signed in".to_owned(),
        Ok(Account { who: None, required: false }) => {
            "not signed in; the model provider needs no account".to_owned()
        }
        Err(why) => format!("not known: {why}"),
    }
}

fn limits_in_words(limits: &Asked<Vec<RateLimit>>) -> String {
    match limits {
        Ok(limits) if limits.is_empty() => "none".to_owned(),
        Ok(limits) => limits.iter().map(limit_in_words).collect::<Vec<_>>().join("; "),
        Err(why) => format!("not known: {why}"),
    }
}

fn limit_in_words(limit: &RateLimit) -> String {
    let name = limit.name.as_ref().map(|name| format!("{name}, ")).unwrap_or_default();
    let window = match limit.minutes {
        None => "limit".to_owned(),
        Some(minutes) if minutes % 1_440 == 0 => {
            counted(usize::try_from(minutes / 1_440).unwrap_or(0), "day")
        }
        Some(minutes) if minutes % 60 == 0 => counted(usize::try_from(minutes / 60).unwrap_or(0), "hour"),
        Some(minutes) => counted(usize::try_from(minutes).unwrap_or(0), "minute"),
    };
    let resets = limit.resets_at.and_then(|at| jiff::Timestamp::from_second(at).ok());
    let resets = resets.map(|at| format!(", resets {at}")).unwrap_or_default();
    format!("{name}{window}: {:.0} % used{resets}", limit.used_percent)
}

fn counted(n: usize, noun: &str) -> String {
    match n {
        1 => format!("1 {noun}"),
        n => format!("{n} {noun}s"),
    }
}

/// With a space between thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{account_in_words, grouped, limits_in_words};
    use crate::core::inquiry::{Account, RateLimit};

    #[test]
    fn figures_are_for_people() {
        assert_eq!([grouped(7), grouped(1_234), grouped(258_400)], ["7", "1 234", "258 400"]);
    }

    #[test]
    fn accounts_and_limits_are_in_words() {
        let account = |who: Option<&str>, required| Ok(Account { who: who.map(str::to_owned), required });
        assert_eq!(account_in_words(&account(Some("ChatGPT as a@b"), true)), "signed in with ChatGPT as a@b");
        assert_eq!(account_in_words(&account(None, true)), "not signed in");
        assert_eq!(account_in_words(&Err("no answer".to_owned())), "not known: no answer");
        let limit = |minutes, resets_at| RateLimit { name: None, minutes, used_percent: 12.4, resets_at };
        assert_eq!(
            limits_in_words(&Ok(vec![
                limit(Some(300), Some(0)),
                limit(Some(10_080), None),
                limit(None, None)
            ])),
            "5 hours: 12 % used, resets 1970-01-01T00:00:00Z; 7 days: 12 % used; limit: 12 % used"
        );
        assert_eq!(limits_in_words(&Ok(Vec::new())), "none");
    }
}
