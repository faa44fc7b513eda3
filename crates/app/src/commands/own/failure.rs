//! Why a config was not changed, and how that is told.

use std::io;

use trunkline_catalog::config::{Problems, Style};

use crate::commands::check::{Row, table};
use crate::commands::runtime::{broke, refuse};
use crate::environment::Environment;
use crate::own_config::OwnConfigError;
use crate::settings::SettingsError;
use crate::{FAILED, USAGE, console};

pub(super) enum ChangeFailure {
    Settings(SettingsError),
    Config(OwnConfigError),
    /// The config would not be valid.
    Invalid(Problems),
    /// Servers do not start.
    NotStarted(Vec<Row>),
    Broke(io::Error),
}

impl From<OwnConfigError> for ChangeFailure {
    fn from(error: OwnConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<SettingsError> for ChangeFailure {
    fn from(error: SettingsError) -> Self {
        Self::Settings(error)
    }
}

impl From<io::Error> for ChangeFailure {
    fn from(error: io::Error) -> Self {
        Self::Broke(error)
    }
}

impl ChangeFailure {
    /// What was asked for cannot be.
    pub(super) fn usage(words: impl Into<String>) -> Self {
        Self::Config(OwnConfigError::Usage(words.into()))
    }

    /// On standard error; returns the exit code.
    pub(super) fn tell(&self, environment: &Environment) -> u8 {
        let style = if environment.colours() { Style::Colour } else { Style::Plain };
        match self {
            Self::Settings(error) => refuse(error, environment),
            Self::Config(error) => {
                let code = if error.is_usage() { USAGE } else { FAILED };
                console::problem(&format!("error: {error}\n"), code)
            }
            Self::Invalid(problems) => {
                console::problem(&problems.render(style), USAGE);
                console::problem("the config would not be valid; nothing was written\n", USAGE)
            }
            Self::NotStarted(rows) => {
                console::problem(&table(rows, environment.paint_stderr()), FAILED);
                let bad = rows.iter().filter(|row| !row.is_good()).map(|row| row.key.as_str());
                let bad = bad.collect::<Vec<_>>().join(", ");
                let words = format!(
                    "error: {bad} did not start, so nothing was written; --no-check writes it all the same\n"
                );
                console::problem(&words, FAILED)
            }
            Self::Broke(error) => broke(error),
        }
    }
}
