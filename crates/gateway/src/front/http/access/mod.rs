//! What the front accepts: Host, Origin, token and pass, and how it refuses the rest.

mod guard;
mod refusal;

pub(crate) use guard::{Guard, PassCache, SessionOwner};
pub(crate) use refusal::{HttpRefusal, PROBLEM, Rejection, problem};
