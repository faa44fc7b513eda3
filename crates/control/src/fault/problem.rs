//! `Problem`: why a request cannot be carried out, in words for the caller. `api` renders it.

use std::time::Duration;

use trunkline_catalog::name::escaped;
use trunkline_wire::is_json;

use super::{FaultPlace, ProblemKind, RequestFault};

/// The server a problem is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    pub id: String,
    pub name: String,
    pub status: &'static str,
}

/// An error of a service or of a request, small enough for a `Result`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub kind: ProblemKind,
    pub(crate) text: Box<ProblemText>,
}

/// Boxed, so that a `Result` stays small.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProblemText {
    pub(crate) detail: String,
    pub(crate) hint: Option<String>,
    pub(crate) instance: Option<String>,
    pub(crate) errors: Vec<RequestFault>,
    pub(crate) server: Option<About>,
    /// A JSON-RPC error as its server wrote it.
    pub(crate) error: Option<Vec<u8>>,
    /// When it is worth coming again.
    pub(crate) retry_after: Option<Duration>,
    /// What was asked for may have been done.
    pub(crate) may_have_run: bool,
}

impl Problem {
    pub fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            text: Box::new(ProblemText { detail: detail.into(), ..ProblemText::default() }),
        }
    }

    /// A request with mistakes, all of them.
    pub fn invalid(errors: Vec<RequestFault>) -> Self {
        let detail = match errors.as_slice() {
            [one] => format!("one mistake: {}", described(one)),
            [first, ..] => format!("{} mistakes; the first: {}", errors.len(), described(first)),
            [] => "the request cannot be used".to_owned(),
        };
        let mut problem = Self::new(ProblemKind::Invalid, detail);
        problem.text.errors = errors;
        problem
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.text.hint = Some(hint.into());
        self
    }

    /// The path of the request it belongs to.
    #[must_use]
    pub fn instance(mut self, path: impl Into<String>) -> Self {
        self.text.instance = Some(path.into());
        self
    }

    #[must_use]
    pub fn server(mut self, server: About) -> Self {
        self.text.server = Some(server);
        self
    }

    /// The error object of the server, to be passed on as it is. What is not JSON is left out.
    #[must_use]
    pub fn error(mut self, verbatim: &[u8]) -> Self {
        self.text.error = is_json(verbatim).then(|| verbatim.to_vec());
        self
    }

    /// When it is worth coming again.
    #[must_use]
    pub fn retry_after(mut self, again: Duration) -> Self {
        self.text.retry_after = Some(again);
        self
    }

    /// What was asked for may have been done all the same.
    #[must_use]
    pub(crate) fn may_have_run(mut self, may_have_run: bool) -> Self {
        self.text.may_have_run = may_have_run;
        self
    }

    pub fn detail(&self) -> &str {
        &self.text.detail
    }

    pub fn errors(&self) -> &[RequestFault] {
        &self.text.errors
    }
}

fn described(fault: &RequestFault) -> String {
    match &fault.place {
        FaultPlace::Body(pointer) if pointer.as_str().is_empty() => {
            format!("the body {}", fault.message)
        }
        FaultPlace::Body(pointer) => {
            format!("{} {}", escaped(pointer.as_str()), fault.message)
        }
        FaultPlace::Query(name) => {
            format!("parameter {} {}", escaped(name), fault.message)
        }
        FaultPlace::Header(name) => format!("header {name} {}", fault.message),
    }
}
