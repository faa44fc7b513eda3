//! The environment, read once: nothing else in the program looks at it.

use std::ffi::OsString;

use crate::speak;

#[derive(Debug)]
pub(crate) struct Environment {
    all: Vec<(OsString, OsString)>,
}

impl Environment {
    pub(crate) fn read() -> Self {
        Self { all: std::env::vars_os().collect() }
    }

    #[cfg(test)]
    pub(crate) fn of(variables: &[(&str, &str)]) -> Self {
        let owned = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
        Self { all: variables.iter().map(owned).collect() }
    }

    /// The value of a variable; one that is not valid UTF-8 counts as not set.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        self.raw(name)?.to_str().map(str::to_owned)
    }

    /// The value, unless it is empty.
    pub(crate) fn filled(&self, name: &str) -> Option<String> {
        self.get(name).filter(|value| !value.is_empty())
    }

    pub(crate) fn path(&self, name: &str) -> Option<std::path::PathBuf> {
        self.raw(name).filter(|value| !value.is_empty()).map(Into::into)
    }

    fn raw(&self, name: &str) -> Option<&OsString> {
        self.all.iter().find(|(held, _)| held == name).map(|(_, value)| value)
    }

    pub(crate) fn all(&self) -> Vec<(OsString, OsString)> {
        self.all.clone()
    }

    pub(crate) fn colours(&self) -> bool {
        self.filled("NO_COLOR").is_none() && speak::stderr_is_terminal()
    }
}
