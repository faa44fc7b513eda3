//! `Precondition`: which revision of a server or a policy a change is meant for.

use crate::fault::{Problem, ProblemKind};

/// What an `If-Match` header says (RFC 9110, 13.1.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Precondition {
    /// There is none: every change goes on.
    None,
    /// It names no tag. Its sender did not want every change to go on.
    Unreadable,
    /// Any revision will do.
    Any,
    /// One of these; empty if it names only tags of something else.
    Revisions(Vec<i64>),
}

impl Precondition {
    pub(crate) fn check(&self, revision: i64) -> Result<(), Problem> {
        match self {
            Self::None | Self::Any => Ok(()),
            Self::Unreadable => {
                Err(Problem::new(ProblemKind::BadHeader, "`If-Match` names no tag"))
            }
            Self::Revisions(named) if named.contains(&revision) => Ok(()),
            Self::Revisions(_) => {
                let detail =
                    format!("the revision is {revision} now, and `If-Match` names another");
                Err(Problem::new(ProblemKind::Stale, detail))
            }
        }
    }

    /// There is nothing yet, so that no revision fits, not even any (RFC 9110, 13.1.1).
    pub(crate) fn check_absent(&self) -> Result<(), Problem> {
        match self {
            Self::None => Ok(()),
            Self::Unreadable => self.check(0),
            Self::Any | Self::Revisions(_) => {
                let detail = "there is none yet, and `If-Match` wants one";
                Err(Problem::new(ProblemKind::Stale, detail))
            }
        }
    }

    pub(super) fn is_given(&self) -> bool {
        *self != Self::None
    }
}
