//! A JSON file, edited as text.

use serde_json::Value;

use super::jsonc::{self, EditError};
use super::{Dialect, DocumentProblem};

#[derive(Debug)]
pub(crate) struct JsonText {
    text: String,
    dialect: Dialect,
}

impl JsonText {
    pub(super) fn parse(text: &str, dialect: Dialect) -> Result<Self, DocumentProblem> {
        jsonc::parse(text, dialect).map_err(DocumentProblem::from)?;
        Ok(Self { text: text.to_owned(), dialect })
    }

    pub(super) fn get(&self, path: &[&str]) -> Option<Value> {
        let document = jsonc::parse(&self.text, self.dialect).ok().flatten()?;
        let root = &document.root;
        let found = path.iter().try_fold(root, |node, key| Some(&jsonc::member(node, key)?.value));
        found.map(jsonc::to_value)
    }

    pub(super) fn set(&mut self, path: &[&str], value: &Value) -> Result<(), DocumentProblem> {
        let edited = jsonc::set(&self.text, self.dialect, path, value);
        self.text = edited.map_err(|error| as_problem(error, path))?;
        Ok(())
    }

    /// Of equal names, all go.
    pub(super) fn remove(&mut self, path: &[&str]) -> Result<(), DocumentProblem> {
        while !path.is_empty() && self.get(path).is_some() {
            let edited = jsonc::remove(&self.text, self.dialect, path);
            self.text = edited.map_err(|error| as_problem(error, path))?;
        }
        Ok(())
    }

    /// Whether an object is there with neither a member nor a comment in it.
    pub(super) fn holds_nothing(&self, path: &[&str]) -> bool {
        let Some(document) = jsonc::parse(&self.text, self.dialect).ok().flatten() else {
            return false;
        };
        let root = &document.root;
        let node = path.iter().try_fold(root, |node, key| Some(&jsonc::member(node, key)?.value));
        let inside = node.and_then(|node| {
            node.span.of(&self.text).strip_prefix('{')?.strip_suffix('}').map(str::trim)
        });
        inside == Some("")
    }

    /// The value at `path` to the byte as `other` has it.
    pub(super) fn adopt(&mut self, other: &Self, path: &[&str]) -> Result<(), DocumentProblem> {
        let Some(value) = other.get(path) else {
            return self.remove(path);
        };
        self.set(path, &value)?;
        let span = |json: &Self| {
            let document = jsonc::parse(&json.text, json.dialect).ok().flatten()?;
            let root = &document.root;
            let found =
                path.iter().try_fold(root, |node, key| Some(&jsonc::member(node, key)?.value));
            found.map(|value| value.span)
        };
        if let (Some(mine), Some(theirs)) = (span(self), span(other)) {
            let (before, after) = (self.text.get(..mine.start), self.text.get(mine.end..));
            let parts = [before, Some(theirs.of(&other.text)), after];
            self.text = parts.map(Option::unwrap_or_default).concat();
        }
        Ok(())
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

fn as_problem(error: EditError, path: &[&str]) -> DocumentProblem {
    match error {
        EditError::Syntax(error) => DocumentProblem::from(error),
        EditError::NotAnObject { depth } => {
            DocumentProblem::NotAnObject { key: path.get(..depth).unwrap_or_default().join(".") }
        }
    }
}

impl From<jsonc::SyntaxError> for DocumentProblem {
    fn from(error: jsonc::SyntaxError) -> Self {
        let jsonc::SyntaxError { line, column, problem } = error;
        Self::Syntax { line, column, problem }
    }
}
