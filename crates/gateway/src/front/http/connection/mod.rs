//! One client's connection, the reply that its request is owed, and events on it.

mod body_budget;
mod clock;
mod conn;
mod event_stream;
mod reply;

pub(crate) use body_budget::{BodyBudget, BodyShare};
pub(crate) use clock::Clock;
pub(crate) use conn::{Conn, OpenReply, Stage, StatelessCall, SweepAction};
pub(crate) use event_stream::{EVENTS, EventStream, MESSAGE};
pub(crate) use reply::{Fields, JSON, Reply, ReplyMode};
