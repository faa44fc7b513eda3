//! What services cannot do, as problems: errors of the store and of secrets, and things that are not there.

use trunkline_catalog::name::escaped;
use trunkline_store::StoreError;

use crate::fault::{Pointer, Problem, ProblemKind, RequestFault};
use crate::secrets::SecretError;

pub(super) fn no_such_tool(id: &str) -> Problem {
    Problem::new(ProblemKind::NoSuchTool, format!("there is no tool `{}`", escaped(id)))
}

pub(super) fn no_such_server(id: &str) -> Problem {
    Problem::new(ProblemKind::NoSuchServer, format!("there is no server `{}`", escaped(id)))
}

/// The store has refused something.
pub fn store_problem(error: &StoreError) -> Problem {
    let kind = match error {
        StoreError::Conflict { .. } => ProblemKind::NameTaken,
        StoreError::Stale => ProblemKind::Stale,
        StoreError::NotFound => ProblemKind::NoSuchServer,
        StoreError::Full { .. } => ProblemKind::StoreFull,
        StoreError::Invalid { .. } => ProblemKind::Invalid,
        StoreError::Unavailable { .. } | StoreError::Uncertain { .. } => {
            ProblemKind::StoreUnavailable
        }
        StoreError::Corrupt { .. } | StoreError::Newer { .. } => ProblemKind::StoreUnavailable,
    };
    Problem::new(kind, error.to_string())
}

/// `at` is the place of the caller's mistake, if it is one.
pub(super) fn secret_problem(error: &SecretError, at: &Pointer) -> Problem {
    match error {
        SecretError::Locked => Problem::new(ProblemKind::StoreUnavailable, error.to_string())
            .hint("start Trunkline with the key that this store was sealed with"),
        SecretError::Store(error) => store_problem(error),
        error if error.is_the_callers() => {
            Problem::invalid(vec![RequestFault::at(at, error.to_string())])
        }
        error => Problem::new(ProblemKind::Internal, error.to_string()),
    }
}
