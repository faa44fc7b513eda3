//! One client's conversation: what it may say when, and what it is answered.

mod announce;
mod asked;
mod batch;
mod filter;
mod forward;
mod legacy;
mod listen;
mod look_up;
mod private;
mod seek;
mod stateless;
mod tag;
mod talk;
mod tasks;
mod turned_away;
mod unknown;
mod waiting;

pub(crate) use asked::{SessionRequest, refuse_oversize};
pub(crate) use talk::{Session, SessionContext, abandon, end_calls, leave, turn_out};
