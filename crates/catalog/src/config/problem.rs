//! What is wrong with a config: every problem with its code, path and place.

use std::fmt;

use super::escape::shown;
use super::path::Path;
use super::quote::Quote;
use crate::place::{LineColumn, Span};

/// Everything found in one file, in file order: errors when loading failed, else warnings.
///
/// Holds no value of the file or the environment: quoted lines are masked when they are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    pub(crate) file: String,
    pub(crate) list: Vec<Problem>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub severity: Severity,
    /// `$.mcpServers.fs.args[2]`; `$` where the file as a whole is meant.
    pub path: String,
    pub message: String,
    pub help: Option<String>,
    /// The variable, for `missing_env_var`.
    pub variable: Option<String>,
    /// Bytes in the file; none for a file that could not be read.
    pub span: Option<Span>,
    pub place: Option<LineColumn>,
    pub(crate) quote: Option<Quote>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Error(Code),
    Warning,
}

/// The codes of the data model (001), for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    FileNotFound,
    InvalidJson,
    InvalidSchema,
    MissingEnvVar,
}

impl Code {
    pub fn as_str(self) -> &'static str {
        match self {
            Code::FileNotFound => "file_not_found",
            Code::InvalidJson => "invalid_json",
            Code::InvalidSchema => "invalid_schema",
            Code::MissingEnvVar => "missing_env_var",
        }
    }
}

impl Problems {
    /// For the caller that found no file of that name.
    pub fn file_not_found(file: &str) -> Problems {
        let message = format!("config file not found: {}", shown(file));
        let help = "check the path given with --config";
        Problems::one(file, Problem::new(Severity::Error(Code::FileNotFound), message).help(help))
    }

    /// For the caller that found something there, but could not read it (`reason`: a directory,
    /// no permission). 001 has no code of its own for this: it counts as not found.
    pub fn file_unreadable(file: &str, reason: &str) -> Problems {
        let message = format!("config file {} cannot be read: {}", shown(file), shown(reason));
        Problems::one(file, Problem::new(Severity::Error(Code::FileNotFound), message))
    }

    pub(crate) fn one(file: &str, problem: Problem) -> Problems {
        Problems { file: file.to_owned(), list: vec![problem] }
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.list.iter()
    }

    /// Those that are not among `known`, wherever in the file they stand.
    pub fn without(&self, known: &Problems) -> Problems {
        let is_new = |problem: &&Problem| {
            let same = |other: &Problem| {
                (&other.path, &other.message) == (&problem.path, &problem.message)
            };
            !known.list.iter().any(same)
        };
        let list = self.list.iter().filter(is_new).cloned().collect();
        Problems { file: self.file.clone(), list }
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The file's name as the user wrote it.
    pub fn file(&self) -> &str {
        &self.file
    }
}

impl<'p> IntoIterator for &'p Problems {
    type Item = &'p Problem;
    type IntoIter = std::slice::Iter<'p, Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Problem {
    fn new(severity: Severity, message: String) -> Problem {
        Problem {
            severity,
            path: Path::root().as_str().to_owned(),
            message,
            help: None,
            variable: None,
            span: None,
            place: None,
            quote: None,
        }
    }

    pub(crate) fn syntax(span: Span, message: impl Into<String>) -> Problem {
        let problem = Problem::new(Severity::Error(Code::InvalidJson), message.into());
        Problem { span: Some(span), ..problem }
    }

    pub(crate) fn schema(path: &Path, span: Span, message: impl Into<String>) -> Problem {
        Problem::new(Severity::Error(Code::InvalidSchema), message.into()).at(path, span)
    }

    pub(crate) fn warning(path: &Path, span: Span, message: impl Into<String>) -> Problem {
        Problem::new(Severity::Warning, message.into()).at(path, span)
    }

    /// A warning about one server as a whole, found after the file was read.
    pub(crate) fn about_server(key: &str, message: impl Into<String>) -> Problem {
        let path = Path::root().key("mcpServers").key(key);
        let problem = Problem::new(Severity::Warning, message.into());
        Problem { path: path.as_str().to_owned(), ..problem }
    }

    pub(crate) fn missing_variable(path: &Path, span: Span, variable: &str) -> Problem {
        let name = shown(variable);
        let message = format!("environment variable `{name}` is not set ({})", path.location());
        let problem = Problem::new(Severity::Error(Code::MissingEnvVar), message).at(path, span);
        Problem { variable: Some(variable.to_owned()), ..problem }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Problem {
        Problem { help: Some(help.into()), ..self }
    }

    fn at(self, path: &Path, span: Span) -> Problem {
        Problem { path: path.as_str().to_owned(), span: Some(span), ..self }
    }

    pub fn is_error(&self) -> bool {
        self.code().is_some()
    }

    pub fn code(&self) -> Option<Code> {
        match self.severity {
            Severity::Error(code) => Some(code),
            Severity::Warning => None,
        }
    }

    /// The message with its path, unless the message has it or the whole file is meant.
    pub(crate) fn headline(&self) -> String {
        match &self.variable {
            None if self.path != "$" => format!("{} ({})", self.message, self.path),
            _ => self.message.clone(),
        }
    }
}

/// One line for each problem, for a log; `render` is for people.
impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.list.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{}", shown(&self.file))?;
            if let Some(LineColumn { line, column }) = problem.place {
                write!(f, ":{line}:{column}")?;
            }
            write!(f, ": {}", problem.headline())?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
