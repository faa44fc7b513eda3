//! What is wrong with an argument.

use std::fmt;

/// One argument and what is wrong with it: "`count` must be an integer, not `ten`".
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ArgumentProblem {
    key: String,
    what: String,
}

impl ArgumentProblem {
    pub(super) fn new(key: &str, what: impl Into<String>) -> Self {
        Self { key: key.to_owned(), what: what.into() }
    }
}

impl fmt::Display for ArgumentProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.key, self.what)
    }
}
