//! One argument as the user wrote it: `key=text`, `key=@file`, `key:=json`.

use std::io;

/// A key and what it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) key: String,
    pub(crate) value: PairValue,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PairValue {
    /// To be understood as the schema says.
    Text(String),
    /// JSON, whatever the schema says.
    Json(String),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum BadPair {
    #[error("`{0}` is not key=value (or key:=JSON, key=@FILE)")]
    NoKey(String),
    #[error("`{key}`: {file} cannot be read: {error} (text that starts with `@` is written `@@…`)")]
    File { key: String, file: String, error: io::Error },
}

/// Reads a file named on the command line; `-` is standard input.
pub(crate) type ReadFile<'r> = &'r dyn Fn(&str) -> io::Result<String>;

impl Pair {
    pub(crate) fn parse(argument: &str, read: ReadFile<'_>) -> Result<Self, BadPair> {
        let bad = || BadPair::NoKey(argument.to_owned());
        let (left, text) = argument.split_once('=').ok_or_else(bad)?;
        let (key, json) = match left.strip_suffix(':') {
            Some(key) => (key, true),
            None => (left, false),
        };
        if key.split('.').any(str::is_empty) {
            return Err(bad());
        }
        let text = resolve(key, text, read)?;
        let value = if json { PairValue::Json(text) } else { PairValue::Text(text) };
        Ok(Self { key: key.to_owned(), value })
    }
}

fn resolve(key: &str, text: &str, read: ReadFile<'_>) -> Result<String, BadPair> {
    let Some(file) = text.strip_prefix('@') else {
        return Ok(text.to_owned());
    };
    if file.starts_with('@') {
        return Ok(file.to_owned());
    }
    read(file).map_err(|error| BadPair::File { key: key.to_owned(), file: file.to_owned(), error })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(argument: &str) -> Option<(String, PairValue)> {
        let read = |file: &str| match file {
            "f" => Ok("content\n".to_owned()),
            _ => Err(io::Error::from(io::ErrorKind::NotFound)),
        };
        Pair::parse(argument, &read).ok().map(|pair| (pair.key, pair.value))
    }

    #[test]
    fn pairs_are_read() {
        let text = |text: &str| PairValue::Text(text.to_owned());
        for (argument, key, value) in [
            ("a=b", "a", text("b")),
            ("a=", "a", text("")),
            ("a=b=c", "a", text("b=c")),
            ("a.b=1", "a.b", text("1")),
            ("a=:=", "a", text(":=")),
            ("a:=[1]", "a", PairValue::Json("[1]".to_owned())),
            ("a=@f", "a", text("content\n")),
            ("a:=@f", "a", PairValue::Json("content\n".to_owned())),
            ("a=@@f", "a", text("@f")),
        ] {
            assert_eq!(pair(argument), Some((key.to_owned(), value)), "{argument}");
        }
        for argument in ["a", "=b", ":=1", "", "a..b=1", ".a=1", "a=@missing"] {
            assert_eq!(pair(argument), None, "{argument}");
        }
    }
}
