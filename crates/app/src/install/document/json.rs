//! A JSON file: the text is the truth, every change is made in it.

use serde_json::Value;

use super::jsonc::{self, EditError};
use super::{Dialect, Problem};

#[derive(Debug)]
pub(in crate::install) struct JsonText {
    text: String,
    dialect: Dialect,
}

impl JsonText {
    pub(super) fn parse(text: &str, dialect: Dialect) -> Result<Self, Problem> {
        jsonc::parse(text, dialect).map_err(Problem::from)?;
        Ok(Self { text: text.to_owned(), dialect })
    }

    pub(super) fn get(&self, path: &[&str]) -> Option<Value> {
        let document = jsonc::parse(&self.text, self.dialect).ok().flatten()?;
        let root = &document.root;
        let found = path.iter().try_fold(root, |node, key| Some(&jsonc::member(node, key)?.value));
        found.map(jsonc::to_value)
    }

    pub(super) fn set(&mut self, path: &[&str], value: &Value) -> Result<(), Problem> {
        self.text =
            jsonc::set(&self.text, self.dialect, path, value).map_err(|error| match error {
                EditError::Syntax(error) => Problem::from(error),
                EditError::NotAnObject { depth } => {
                    Problem::NotAnObject { key: path.get(..depth).unwrap_or_default().join(".") }
                }
            })?;
        Ok(())
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

impl From<jsonc::SyntaxError> for Problem {
    fn from(error: jsonc::SyntaxError) -> Self {
        let jsonc::SyntaxError { line, column, problem } = error;
        Self::Syntax { line, column, problem }
    }
}
