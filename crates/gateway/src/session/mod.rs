//! One client's conversation: what it may say when, and what it is answered.

mod announce;
mod batch;
mod forward;
mod legacy;
mod private;
mod waiting;

pub(crate) use legacy::{Session, SessionContext, refuse_oversize};
