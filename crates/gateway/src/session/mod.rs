//! One client's conversation: what it may say when, and what it is answered.

mod legacy;
mod waiting;

pub(crate) use legacy::{Session, SessionContext};
