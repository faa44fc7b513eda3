//! The JSON path of a value: `$.mcpServers.fs.args[2]`.

use super::escape::push_json_string;
use super::harmless::{hidden_in_key, shown_key};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path(String);

impl Path {
    pub(crate) fn root() -> Path {
        Path("$".to_owned())
    }

    /// What a key should not hold (a pasted header, a token) is not in the path either.
    pub(crate) fn key(&self, key: &str) -> Path {
        let masked = hidden_in_key(key).map(|_| shown_key(key));
        let key = masked.as_deref().unwrap_or(key);
        let mut path = self.0.clone();
        if is_plain(key) {
            path.push('.');
            path.push_str(key);
        } else {
            path.push('[');
            push_json_string(&mut path, key);
            path.push(']');
        }
        Path(path)
    }

    pub(crate) fn index(&self, index: usize) -> Path {
        Path(format!("{}[{index}]", self.0))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Without the `$.`: how 001 writes the location of a variable.
    pub(crate) fn location(&self) -> &str {
        self.0.strip_prefix("$.").unwrap_or(&self.0)
    }
}

/// Stands behind a dot. `-` is allowed: most server keys have one, and 001 writes them so.
fn is_plain(key: &str) -> bool {
    let starts_well = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts_well && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::Path;

    #[test]
    fn keys_that_are_not_words_are_quoted() {
        let table = [
            ("fs", "$.fs"),
            ("brave-search", "$.brave-search"),
            ("_x1", "$._x1"),
            ("1mcp", "$[\"1mcp\"]"),
            ("my server", "$[\"my server\"]"),
            ("a\"b\n", "$[\"a\\\"b\\n\"]"),
            ("", "$[\"\"]"),
            ("Cookie: a=b", "$[\"Cookie: ***\"]"),
        ];
        for (key, path) in table {
            assert_eq!(Path::root().key(key).as_str(), path);
        }
        let deep = Path::root().key("mcpServers").key("a b").key("args").index(2);
        assert_eq!(deep.as_str(), "$.mcpServers[\"a b\"].args[2]");
        assert_eq!(deep.location(), "mcpServers[\"a b\"].args[2]");
    }
}
