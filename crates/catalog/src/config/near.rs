//! Which known key a misspelt one was meant to be.

/// (a spelling people use, the key it means)
pub(crate) type Spellings<'s, 'k> = &'s [(&'k str, &'k str)];

/// The key whose spelling is nearest to `word`, if one is near enough to ask about.
pub(crate) fn nearest<'k>(word: &str, spellings: Spellings<'_, 'k>) -> Option<&'k str> {
    let word = fold(word);
    let rated = spellings.iter().map(|(spelling, key)| {
        let spelling = fold(spelling);
        let allowed = (word.len().max(spelling.len()) / 3).min(2);
        (letters_apart(&word, &spelling), allowed, *key)
    });
    let near = rated.filter(|(distance, allowed, _)| distance <= allowed);
    near.min_by_key(|(distance, ..)| *distance).map(|(.., key)| key)
}

/// `MCP_servers` and `mcp-servers` are the same word; so is anything in another case.
fn fold(word: &str) -> Vec<char> {
    let letters = word.chars().filter(|c| !matches!(c, '_' | '-' | '.' | ' '));
    letters.flat_map(char::to_lowercase).take(40).collect()
}

/// How many letters must be added, removed, replaced or swapped with their neighbour.
pub fn letters_apart(a: &[char], b: &[char]) -> usize {
    strsim::generic_damerau_levenshtein(a, b)
}

#[cfg(test)]
mod tests {
    use super::{letters_apart, nearest};

    const KEYS: [(&str, &str); 6] = [
        ("command", "command"),
        ("cmd", "command"),
        ("args", "args"),
        ("env", "env"),
        ("environment", "env"),
        ("cwd", "cwd"),
    ];

    #[test]
    fn sc_005_near_misses_are_recognised() {
        let table = [
            ("comand", Some("command")),
            ("Command", Some("command")),
            ("cmd", Some("command")),
            ("arg", Some("args")),
            ("agrs", Some("args")),
            ("enviroment", Some("env")),
            ("ENV", Some("env")),
            ("dev", None),
            ("timeout", None),
            ("trust", None),
            ("tools", None),
            ("", None),
        ];
        for (word, key) in table {
            assert_eq!(nearest(word, &KEYS), key, "{word}");
        }
        let servers = [("mcpServers", "mcpServers")];
        for word in ["mcpservers", "mcp_servers", "MCP-Servers", "mcpServer", "mcpSevers"] {
            assert_eq!(nearest(word, &servers), Some("mcpServers"), "{word}");
        }
    }

    #[test]
    fn distances() {
        let table = [
            ("", "abc", 3),
            ("abc", "", 3),
            ("ab", "ba", 1),
            ("kitten", "sitting", 3),
            ("a", "a", 0),
        ];
        for (a, b, expected) in table {
            let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
            assert_eq!(letters_apart(&a, &b), expected);
        }
    }
}
