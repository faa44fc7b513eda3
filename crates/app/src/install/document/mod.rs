//! A client's config file of any format: reads, sets and removes one value, and keeps every other byte.

mod json;
mod jsonc;
mod toml;
mod yaml;

use serde_json::Value;
use trunkline_catalog::client::FileFormat;
use trunkline_catalog::jsonc::Dialect;

use self::json::JsonText;
pub(super) use self::jsonc::inline;
use self::toml::TomlText;
pub(super) use self::toml::shown as shown_in_toml;
use self::yaml::YamlText;
pub(super) use self::yaml::shown_in_yaml;

#[derive(Debug)]
pub(crate) enum Document {
    Json(JsonText),
    Toml(TomlText),
    Yaml(YamlText),
}

/// Why a file cannot be edited.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DocumentProblem {
    Syntax {
        line: usize,
        column: usize,
        problem: String,
    },
    /// What has to be an object to hold us is something else.
    NotAnObject {
        key: String,
    },
    /// It is valid, but not written as the editor can edit it.
    Unusual,
}

impl Document {
    pub(crate) fn parse(text: &str, format: FileFormat) -> Result<Self, DocumentProblem> {
        match format {
            FileFormat::Json(dialect) => JsonText::parse(text, dialect).map(Self::Json),
            FileFormat::Toml => TomlText::parse(text).map(Self::Toml),
            FileFormat::Yaml => YamlText::parse(text).map(Self::Yaml),
        }
    }

    /// The value at `path`, if there is one.
    pub(crate) fn get(&self, path: &[&str]) -> Option<Value> {
        match self {
            Self::Json(json) => json.get(path),
            Self::Toml(toml) => toml.get(path),
            Self::Yaml(yaml) => yaml.get(path),
        }
    }

    /// Puts `value` at `path`, making the objects on the way; the rest of the text stays as it is.
    pub(crate) fn set(&mut self, path: &[&str], value: &Value) -> Result<(), DocumentProblem> {
        match self {
            Self::Json(json) => json.set(path, value),
            Self::Toml(toml) => toml.set(path, value),
            Self::Yaml(yaml) => yaml.set(path, value),
        }
    }

    /// Takes what is at `path` out; the rest of the text stays as it is.
    pub(crate) fn remove(&mut self, path: &[&str]) -> Result<(), DocumentProblem> {
        match self {
            Self::Json(json) => json.remove(path),
            Self::Toml(toml) => {
                toml.remove(path);
                Ok(())
            }
            Self::Yaml(yaml) => yaml.remove(path),
        }
    }

    /// Whether an object is at `path` with neither a member nor a comment in it.
    pub(crate) fn holds_nothing(&self, path: &[&str]) -> bool {
        match self {
            Self::Json(json) => json.holds_nothing(path),
            Self::Toml(toml) => toml.holds_nothing(path),
            Self::Yaml(yaml) => yaml.holds_nothing(path),
        }
    }

    /// What `other` has at `path`, as it is written there; nothing if it has nothing.
    pub(crate) fn adopt(&mut self, other: &Self, path: &[&str]) -> Result<(), DocumentProblem> {
        match (self, other) {
            (Self::Json(json), Self::Json(other)) => json.adopt(other, path),
            (Self::Toml(toml), Self::Toml(other)) => toml.adopt(other, path),
            (Self::Yaml(yaml), Self::Yaml(other)) => yaml.adopt(other, path),
            _ => Ok(()),
        }
    }

    pub(crate) fn text(&self) -> String {
        match self {
            Self::Json(json) => json.text().to_owned(),
            Self::Toml(toml) => toml.text(),
            Self::Yaml(yaml) => yaml.text(),
        }
    }
}

/// The byte order mark that some editors put first, and the text.
fn marked(text: &str) -> (&'static str, &str) {
    const MARK: &str = "\u{FEFF}";
    match text.strip_prefix(MARK) {
        Some(rest) => (MARK, rest),
        None => ("", text),
    }
}
