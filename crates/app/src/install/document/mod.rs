//! A client's config file as text that can be asked for an entry and given one.

mod json;
mod jsonc;
mod toml;

use serde_json::Value;
pub(super) use trunkline_catalog::jsonc::Dialect;

use self::json::JsonText;
pub(super) use self::jsonc::inline;
use self::toml::TomlText;
pub(super) use self::toml::shown as shown_in_toml;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Json(Dialect),
    Toml,
}

#[derive(Debug)]
pub(super) enum Document {
    Json(JsonText),
    Toml(TomlText),
}

/// Why a file cannot be edited.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Problem {
    Syntax {
        line: usize,
        column: usize,
        problem: String,
    },
    /// What has to be an object to hold us is something else.
    NotAnObject {
        key: String,
    },
}

impl Document {
    pub(super) fn parse(text: &str, format: Format) -> Result<Self, Problem> {
        match format {
            Format::Json(dialect) => JsonText::parse(text, dialect).map(Self::Json),
            Format::Toml => TomlText::parse(text).map(Self::Toml),
        }
    }

    /// The value at `path`, if there is one.
    pub(super) fn get(&self, path: &[&str]) -> Option<Value> {
        match self {
            Self::Json(json) => json.get(path),
            Self::Toml(toml) => toml.get(path),
        }
    }

    /// Puts `value` at `path`, making the objects on the way; the rest of the text stays as it is.
    pub(super) fn set(&mut self, path: &[&str], value: &Value) -> Result<(), Problem> {
        match self {
            Self::Json(json) => json.set(path, value),
            Self::Toml(toml) => toml.set(path, value),
        }
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Json(json) => json.text().to_owned(),
            Self::Toml(toml) => toml.text(),
        }
    }
}
