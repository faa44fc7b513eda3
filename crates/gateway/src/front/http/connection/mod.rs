//! One client's connection, the reply that its request is owed, and events on it.

mod body_budget;
mod clock;
mod conn;
mod conn_accounts;
mod event_stream;
mod reply_mode;

pub(crate) use body_budget::{BodyBudget, BodySender, BodyShare};
pub(crate) use clock::Clock;
pub(crate) use conn::{
    Conn, ForwardedReply, HeaderFields, JSON, OpenReply, Reply, RequestStage, StatelessCall,
    SweepAction,
};
pub(crate) use event_stream::{EVENTS, EventStream, MESSAGE};
pub(crate) use reply_mode::ReplyMode;
