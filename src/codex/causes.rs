//! A chain of causes as Codex quotes it about a tool server, for people.

use crate::redact;

/// Most of it, in characters.
const MAX: usize = 300;

/// The chain in one line: each cause once, without the names of Rust types, which are longer than all the rest.
pub(crate) fn causes(chain: &str) -> String {
    let chain = without_types(&redact::text(chain)).split_whitespace().collect::<Vec<_>>().join(" ");
    let mut causes: Vec<&str> = Vec::new();
    for cause in chain.split(": ") {
        if !causes.contains(&cause) {
            causes.push(cause);
        }
    }
    let mut text = causes.join(": ");
    if let Some((cut, _)) = text.char_indices().nth(MAX) {
        text.truncate(cut);
        text.push('…');
    }
    text
}

/// Without what stands in brackets and is a generic type of Rust.
fn without_types(mut rest: &str) -> String {
    let mut kept = String::new();
    while let Some((before, (inside, after))) =
        rest.split_once('[').and_then(|(before, it)| Some((before, it.split_once(']')?)))
    {
        kept.push_str(before);
        if !(inside.contains("::") && inside.contains('<')) {
            kept.push_str(&rest[before.len()..=before.len() + 1 + inside.len()]);
        }
        rest = after;
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::{MAX, causes};

    #[test]
    fn the_last_cause_is_not_lost_behind_names_of_types() {
        let transport = "Send message error Transport [a::B<c::d::E<f::G>>>>] error: Client error: HTTP request \
                         failed: relative URL without a base, when send initialize request";
        let chain =
            format!("MCP startup failed: handshaking with MCP server failed: {transport}: {transport}");
        assert_eq!(
            causes(&chain),
            "MCP startup failed: handshaking with MCP server failed: Send message error Transport error: Client \
             error: HTTP request failed: relative URL without a base, when send initialize request"
        );
    }

    #[test]
    fn other_brackets_stay() {
        for kept in ["no such key [mcp]", "http://[fe80::1]:80/ ]", "at [a b::c] and [", ""] {
            assert_eq!(causes(kept), kept);
        }
        assert_eq!(causes("one\n  two"), "one two");
        assert_eq!(causes(&"é".repeat(MAX + 1)).chars().count(), MAX + 1);
    }
}
