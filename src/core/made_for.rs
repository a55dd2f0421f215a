//! Which Codex this was made for, and what is said of one that is older: a child of ours or one that runs already.
//!
//! A newer one says at most what is not known yet, which harms nobody; an older one lacks what is asked of it.

/// The version that the protocol map is of.
const MADE_FOR: [u32; 3] = [0, 171, 0];

/// The version in a `userAgent`: `name/0.171.0 (system; …) …`.
pub(crate) fn version(user_agent: &str) -> Option<String> {
    let (_, rest) = user_agent.split_once('/')?;
    rest.split_whitespace().next().map(str::to_owned)
}

/// Title and description of the warning about this version; `None` where nothing is to be said.
pub(crate) fn warning(version: Option<&str>, address: Option<&str>) -> Option<(String, String)> {
    let version = version?;
    if numbers(version)? >= MADE_FOR {
        return None;
    }
    let [major, minor, patch] = MADE_FOR;
    let (who, what) = match address {
        None => {
            ("Codex".to_owned(), "Update it (npm install -g @openai/codex), or name another one with --codex")
        }
        Some(address) => (format!("The app-server at {address}"), "Start it again with a newer Codex"),
    };
    Some((
        format!(
            "{who} has version {version} and is older than {major}.{minor}.{patch}, which this agent is made for"
        ),
        format!("What it cannot do yet fails or is missing, background work above all. {what}."),
    ))
}

/// `0.171.0-alpha.1` counts as `0.171.0`. `None` for what is no version.
fn numbers(version: &str) -> Option<[u32; 3]> {
    let plain = version.split(['-', '+']).next()?;
    let mut parts = plain.split('.').map(str::parse::<u32>);
    let mut next = || parts.next()?.ok();
    Some([next()?, next()?, next()?])
}

#[cfg(test)]
mod tests {
    use super::{MADE_FOR, numbers, version, warning};

    #[test]
    fn it_is_the_version_of_the_map() {
        assert_eq!(numbers(&crate::map::pinned().codex), Some(MADE_FOR));
    }

    #[test]
    fn only_an_older_one_is_warned_about() {
        let older = ["0.170.9", "0.99.0", "0.0.0"];
        let others = ["0.171.0", "0.171.0-alpha.3", "0.172.0", "1.0.0", "dev", "1", ""];
        for address in [None, Some("unix:/s")] {
            assert!(older.iter().all(|it| warning(Some(it), address).is_some()));
            assert!(others.iter().all(|it| warning(Some(it), address).is_none()));
            assert_eq!(warning(None, address), None);
        }
    }

    #[test]
    fn a_user_agent_names_the_version() {
        assert_eq!(version("codex_vscode/0.171.0 (Linux; x86_64) zed").as_deref(), Some("0.171.0"));
        assert_eq!(version("something else"), None);
    }
}
