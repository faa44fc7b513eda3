//! The one warning for a client that is known to refuse our names and was not given a profile.

use std::fmt;

use super::admissible::escaped;
use crate::client::{Client, ENTRY, Fate, NameRules};

/// Tells whether a client that calls itself `client_info_name` loses any of these names.
///
/// Only speaks; the protocol says not to change behaviour by `clientInfo`.
pub fn refuses<'a>(
    client_info_name: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<Advice> {
    let client = Client::by_client_info(client_info_name)?;
    let rules = &client.spec().names;
    let lost = |name: &&str| fault(rules, name).is_some();
    let mut lost = names.into_iter().filter(lost);
    let example = lost.next()?;
    let reason = fault(rules, example)?;
    Some(Advice { client, example: escaped(example), reason, others: lost.count() })
}

/// What to tell the user, once, on stderr.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    pub client: Client,
    /// One of the names, escaped.
    pub example: String,
    reason: String,
    others: usize,
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} refuses the tool name \"{}\"", self.client.title(), self.example)?;
        if self.others > 0 {
            write!(f, " and {} more", self.others)?;
        }
        write!(f, " ({}); start Trunkline with `--for {}`", self.reason, self.client.id())
    }
}

/// Why the client would lose this name, if it would.
fn fault(rules: &NameRules, name: &str) -> Option<String> {
    let foreign = name.chars().find(|c| !rules.alphabet.allows(*c));
    if let (Fate::Refused, Some(c)) = (rules.bad_character, foreign) {
        let c = escaped(c.encode_utf8(&mut [0; 4]));
        return Some(format!("'{c}' is not in {}", rules.alphabet));
    }
    let room = rules.total.saturating_sub(rules.prefix_len(ENTRY));
    if rules.too_long == Fate::Refused && name.chars().count() > room {
        return Some(format!("longer than {room} characters"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_names_the_client_an_example_and_the_flag() {
        let advice = refuses("claude-ai", ["fs:read", "fs:write", "ok"]).unwrap();
        assert_eq!(
            advice.to_string(),
            "Claude Desktop refuses the tool name \"fs:read\" and 1 more \
             (':' is not in [a-zA-Z0-9_-]); start Trunkline with `--for claude-desktop`"
        );
    }

    #[test]
    fn only_clients_that_lose_the_name_are_warned_about() {
        let long = "x".repeat(200);
        let table = [
            ("claude-ai", "fs.read", true),
            ("claude-ai", "fs__read", false),
            ("cursor-vscode", "fs:read", true),
            ("cursor-vscode", "fs-read", true),
            ("openai-mcp", "fs:read", true),
            ("claude-code", "fs:read", false),
            ("claude-code", long.as_str(), true),
            ("codex-mcp-client", long.as_str(), false),
            ("gemini-cli-mcp-client", "fs:read", false),
            ("Zed", "fs:read", false),
            ("some-other-client", "fs:read", false),
        ];
        for (client, name, expected) in table {
            assert_eq!(refuses(client, [name]).is_some(), expected, "{client} {name}");
        }
    }
}
