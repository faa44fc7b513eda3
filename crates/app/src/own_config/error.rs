//! Why the config was not changed. In every case the file is as it was.

use std::io;
use std::path::{Path, PathBuf};

use crate::install::{DocumentProblem, InstallError};

#[derive(Debug, thiserror::Error)]
pub(crate) enum OwnConfigError {
    #[error(transparent)]
    File(#[from] InstallError),
    #[error("cannot {doing} {}: {error}", path.display())]
    Io { doing: &'static str, path: PathBuf, error: io::Error },
    #[error(
        "config file not found: {}; name one that is there, or none to use your own (`trunkline path`)",
        path.display()
    )]
    Missing { path: PathBuf },
    #[error(
        "{} has been in use by another trunkline command for {seconds} s; try again when that has ended",
        path.display()
    )]
    Locked { path: PathBuf, seconds: u64 },
    #[error("{}:{line}:{column}: {problem}; mend it first (`trunkline edit`); the file was not touched", path.display())]
    Syntax { path: PathBuf, line: usize, column: usize, problem: String },
    #[error("{}: `{key}` is not an object; mend it first (`trunkline edit`); the file was not touched", path.display())]
    NotAnObject { path: PathBuf, key: String },
    #[error("{0}")]
    Usage(String),
    #[error("{} kept changing while it was edited; try again", path.display())]
    KeepsChanging { path: PathBuf },
}

impl OwnConfigError {
    /// Whether something was asked for that cannot be (exit 2), or it failed (exit 1).
    pub(crate) fn is_usage(&self) -> bool {
        match self {
            Self::File(error) => error.is_usage(),
            Self::Missing { .. }
            | Self::Syntax { .. }
            | Self::NotAnObject { .. }
            | Self::Usage(_) => true,
            Self::Io { .. } | Self::Locked { .. } | Self::KeepsChanging { .. } => false,
        }
    }

    /// For `map_err`: what was being done, and to which file.
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Io { doing, path, error }
    }

    /// Why the text of this file cannot be edited.
    pub(super) fn document(path: &Path, problem: DocumentProblem) -> Self {
        let path = path.to_owned();
        match problem {
            DocumentProblem::Syntax { line, column, problem } => {
                Self::Syntax { path, line, column, problem }
            }
            DocumentProblem::NotAnObject { key } => Self::NotAnObject { path, key },
            DocumentProblem::Unusual => Self::NotAnObject { path, key: "the file".to_owned() },
        }
    }
}
