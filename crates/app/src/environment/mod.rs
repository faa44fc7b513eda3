//! The environment variables, read once. No other module reads them.

mod runtime_place;

use std::ffi::OsString;

use crate::console;
use crate::terminal::{Colour, Paint};
pub(crate) use runtime_place::runtime_place;

#[derive(Clone, Debug)]
pub(crate) struct Environment {
    all: Vec<(OsString, OsString)>,
    /// What the command line said.
    colour: Colour,
    /// This process is a shared runtime: its parent only started it.
    is_of_runtime: bool,
}

impl Environment {
    pub(crate) fn read() -> Self {
        Self { all: std::env::vars_os().collect(), colour: Colour::default(), is_of_runtime: false }
    }

    #[cfg(test)]
    pub(crate) fn of(variables: &[(&str, &str)]) -> Self {
        let owned = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
        Self {
            all: variables.iter().map(owned).collect(),
            colour: Colour::Never,
            is_of_runtime: false,
        }
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

    pub(crate) fn choose(&mut self, colour: Colour) {
        self.colour = colour;
    }

    pub(crate) fn become_runtime(&mut self) {
        self.is_of_runtime = true;
    }

    pub(crate) fn is_of_runtime(&self) -> bool {
        self.is_of_runtime
    }

    /// By what a test divides the waits of a debug build that it would have to sit out.
    pub(crate) fn wait_divisor(&self) -> Option<u32> {
        self.get("TRUNKLINE_TEST_WAIT_DIVISOR")?.parse().ok()
    }

    /// Whether standard error has colours.
    pub(crate) fn colours(&self) -> bool {
        self.coloured(console::stderr_is_terminal())
    }

    /// For what goes to standard output.
    pub(crate) fn paint(&self) -> Paint {
        Paint::new(self.coloured(console::stdout_is_terminal()))
    }

    /// For what goes to standard error.
    pub(crate) fn paint_stderr(&self) -> Paint {
        Paint::new(self.colours())
    }

    fn coloured(&self, terminal: bool) -> bool {
        let forced = self.filled("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        self.colour.is_on(terminal, forced, self.filled("NO_COLOR").is_some())
    }
}
